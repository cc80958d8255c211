#include "object_word.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command_line/columns.hpp"

namespace godwit::cli {
namespace {

using std::chrono::steady_clock;

// A client that has just joined hears of names within a few rounds of gossip.
constexpr std::chrono::seconds kNameFoundWithin{2};
constexpr std::string_view kSchemeMark = "://";

}  // namespace

Status check_object_name(std::string_view name) {
  const bool printing = std::ranges::all_of(
      name, [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 127; });
  if (name.empty() || name.size() > kMaxObjectName || !printing || name.starts_with('-') ||
      name.find(kSchemeMark) != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument,
                "'{}' cannot name an object: take 1 to {} characters without spaces, that do not "
                "begin with - or look like a handle",
                printable(name), kMaxObjectName);
  }
  return {};
}

tl::expected<ObjectWord, Failed> ObjectWord::parse(std::string word) {
  ObjectWord object(std::move(word));
  if (object.word_.find(kSchemeMark) != std::string::npos) {
    auto handle = Handle::parse(object.word_);
    if (!handle) return tl::unexpected(Failed(Exit::bad_arguments, std::move(handle).error()));
    object.handle_ = *handle;
    return object;
  }
  GODWIT_CHECK(check_object_name(object.word_));
  return object;
}

Result<Handle> ObjectWord::find(const Fleet& fleet) const {
  if (handle_) return *handle_;
  const std::string key = std::string(kObjectKeys) + word_;
  const auto until = steady_clock::now() + kNameFoundWithin;
  auto text = fleet.find_name(key);
  while (!text && steady_clock::now() < until) {
    ::poll(nullptr, 0, 5);
    text = fleet.find_name(key);
  }
  if (!text) {
    return fail(ErrorCode::not_found,
                "no object is called '{}'; a handle begins with gdw://, and `godwit put --name` "
                "gives names",
                word_);
  }
  return Handle::parse(*text);
}

std::string process_name(const Fleet& fleet, std::uint64_t id) {
  for (const NodeDescription& node : fleet.describe()) {
    if (node.id == id) return printable(node.name);
  }
  return to_hex(id);
}

}  // namespace godwit::cli
