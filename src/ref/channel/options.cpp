// A channel as one line of text.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/fail.hpp"
#include "godwit/channel.hpp"

namespace godwit {
namespace {

constexpr std::size_t kMaxName = 64;

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('|'));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return items;
}

// "64k": a whole number and k, m or g for powers of 1024.
Result<std::uint64_t> size_in(std::string_view name, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (unit == "k" || unit == "K") shift = 10;
  if (unit == "m" || unit == "M") shift = 20;
  if (unit == "g" || unit == "G") shift = 30;
  if (error != std::errc() || (shift == 0 && !unit.empty()) ||
      value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return fail(ErrorCode::invalid_argument,
                "{}={}: expected a size: a whole number, with k, m or g for powers of 1024", name,
                text);
  }
  return value << shift;
}

Status set(ChannelPolicy& policy, std::string_view name, std::string_view value) {
  if (name == "min_size" || name == "max_size") {
    GODWIT_TRY(const std::uint64_t size, size_in(name, value));
    (name == "min_size" ? policy.min_size : policy.max_size) = size;
    return {};
  }
  if (name == "hosts" || name == "tags") {
    (name == "hosts" ? policy.hosts : policy.tags) = split(value);
    return {};
  }
  if (name != "priority") {
    return fail(ErrorCode::invalid_argument,
                "a channel has no '{}'; there are min_size, max_size, hosts, tags and priority",
                name);
  }
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), policy.priority);
  if (error != std::errc() || end != value.data() + value.size()) {
    return fail(ErrorCode::invalid_argument, "priority={}: expected a whole number", value);
  }
  return {};
}

}  // namespace

Result<ChannelOptions> ChannelOptions::parse(std::string_view text) {
  ChannelOptions options;
  options.name = next_word(text);
  options.url = next_word(text);
  const bool good = !options.name.empty() && options.name.size() <= kMaxName &&
                    std::all_of(options.name.begin(), options.name.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_';
                    });
  if (!good || options.name == "memory" || options.url.find(':') == std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                "a channel is 'NAME URL' and what follows; NAME has letters, digits, '-' and '_', "
                "and is not 'memory', which every home has");
  }
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    const std::size_t mark = word.find('=');
    if (mark == std::string_view::npos) {
      return fail(ErrorCode::invalid_argument, "channel {}: '{}' is not NAME=VALUE", options.name,
                  word);
    }
    if (const Status done = set(options.policy, word.substr(0, mark), word.substr(mark + 1));
        !done) {
      return fail(done.error().code, "channel {}: {}", options.name, done.error().message);
    }
  }
  return options;
}

}  // namespace godwit
