#include "free_words.hpp"

#include <fmt/format.h>

#include <cctype>

namespace godwit::cli {

tl::expected<std::vector<std::string>, Failed> free_words(const CLI::App& command,
                                                          const Invocation& invocation) {
  std::vector<std::string> words;
  for (const std::string& word : command.remaining()) {
    const bool number = word.size() > 1 &&
                        (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
    if (word.size() > 1 && word[0] == '-' && !number) {
      return tl::unexpected(Failed(
          Exit::usage, {ErrorCode::invalid_argument,
                        fmt::format("there is no option '{}'; an argument that looks like one goes "
                                    "after --",
                                    word)}));
    }
    words.push_back(word);
  }
  words.insert(words.end(), invocation.words.begin(), invocation.words.end());
  return words;
}

}  // namespace godwit::cli
