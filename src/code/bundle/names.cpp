#include "code/bundle/names.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "code/bundle/limits.hpp"

namespace godwit::code {
namespace {

bool is_printable(char c) {
  return c >= 0x20 && c <= 0x7e;
}

constexpr std::size_t kShownBytes = 80;

}  // namespace

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, kShownBytes));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return !is_printable(c); }, '?');
  if (text.size() > kShownBytes) shown += "...";
  return shown;
}

Status check_text(std::string_view what, std::string_view text, std::size_t limit_bytes) {
  if (text.size() > limit_bytes) {
    return fail(ErrorCode::bad_format, "{} '{}' has {} characters; the limit is {}", what,
                printable(text), text.size(), limit_bytes);
  }
  if (!std::all_of(text.begin(), text.end(), is_printable)) {
    return fail(ErrorCode::bad_format, "{} '{}' has characters that are not printable ASCII", what,
                printable(text));
  }
  return {};
}

Status check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return fail(ErrorCode::bad_format, "{} is empty", what);
  GODWIT_CHECK(check_text(what, name, kMaxNameBytes));
  if (name.find('/') != std::string_view::npos || name.front() == '.' || name.front() == ' ') {
    return fail(ErrorCode::bad_format, "{} '{}' contains '/' or starts with '.' or a space", what,
                printable(name));
  }
  return {};
}

Status check_symbol(std::string_view what, std::string_view symbol) {
  if (symbol.empty()) return fail(ErrorCode::bad_format, "{} is empty", what);
  GODWIT_CHECK(check_text(what, symbol, kMaxSymbolBytes));
  if (symbol.find(' ') != std::string_view::npos) {
    return fail(ErrorCode::bad_format, "{} '{}' contains a space", what, printable(symbol));
  }
  return {};
}

}  // namespace godwit::code
