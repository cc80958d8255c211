#include "code/native/dl_error.hpp"

#include <fmt/format.h>

#include <string>

namespace godwit::code {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "libfoo.so.9: cannot open shared object file: ..." -> "libfoo.so.9"
std::string_view before_colon(std::string_view text) {
  return text.substr(0, text.find(':'));
}

// "...: undefined symbol: foo, version BAR" -> "foo"
std::string_view symbol_in(std::string_view text, std::string_view marker) {
  text.remove_prefix(text.find(marker) + marker.size());
  return text.substr(0, text.find_first_of(", ("));
}

}  // namespace

Error explain_dl_error(std::string_view name, std::string_view text) {
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (contains(text, "cannot open shared object file")) {
    return {ErrorCode::missing_library,
            fmt::format("'{}' needs the library {}, which this node does not have: install the "
                        "package that provides it (on Debian, 'apt-file search {}' names it)",
                        name, before_colon(text), before_colon(text))};
  }
  if (contains(text, kUndefined)) {
    return {
        ErrorCode::missing_symbol,
        fmt::format("'{}' uses the function {}, which nothing it is linked with defines on this "
                    "node: define it, or name its library when building (--needs)",
                    name, symbol_in(text, kUndefined))};
  }
  if (contains(text, "version `") && contains(text, "not found")) {
    return {ErrorCode::missing_library,
            fmt::format("'{}' was built against a newer library than this node has ({}): build it "
                        "on an older system, or ship it as bitcode",
                        name, text)};
  }
  if (contains(text, "Cannot allocate memory")) {
    return {ErrorCode::out_of_memory, fmt::format("no memory to load '{}': {}", name, text)};
  }
  return {ErrorCode::corrupt_code,
          fmt::format("'{}' cannot be loaded: the dynamic linker says: {}", name, text)};
}

}  // namespace godwit::code
