// Objects as command lines name them: by handle, or by a name that `godwit put --name` gave.
#pragma once

#include <optional>
#include <string>

#include "exit.hpp"
#include "godwit/fleet.hpp"
#include "godwit/handle.hpp"

namespace godwit::cli {

// Names of objects are names of the fleet, behind this.
inline constexpr std::string_view kObjectKeys = "object/";
inline constexpr std::size_t kMaxObjectName = 128;

// Letters, digits and punctuation, none of it mistakable for a handle or an option. Error:
// invalid_argument.
[[nodiscard]] Status check_object_name(std::string_view name);

class ObjectWord {
 public:
  // Finds what is wrong without a fleet: ends as bad_arguments.
  [[nodiscard]] static tl::expected<ObjectWord, Failed> parse(std::string word);
  // A name may be news that has not come yet, so it is waited for. Error: not_found.
  [[nodiscard]] Result<Handle> find(const Fleet& fleet) const;
  [[nodiscard]] const std::string& text() const noexcept { return word_; }
  [[nodiscard]] bool is_name() const noexcept { return !handle_; }

 private:
  explicit ObjectWord(std::string word) : word_(std::move(word)) {}
  std::string word_;
  std::optional<Handle> handle_;
};

// The name of a process, or its id if the fleet has no name for it.
[[nodiscard]] std::string process_name(const Fleet& fleet, std::uint64_t id);

}  // namespace godwit::cli
