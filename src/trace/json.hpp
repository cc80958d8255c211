// Writing JSON text.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::trace {

// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so the
// output is valid JSON whatever the input: names and messages come from other nodes.
void append_json_string(std::string& out, std::string_view text);

// Builds one value, front to back; the caller keeps braces and keys in order.
//
//   json.open('{').field("name", "n0").key("list").open('[').value(1).close(']').close('}');
class Json {
 public:
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    separate();
    append_json_string(text_, name);
    text_ += ": ";
    fresh_ = true;
    return *this;
  }

  Json& value(std::string_view text) {
    separate();
    append_json_string(text_, text);
    return *this;
  }
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(const std::string& text) { return value(std::string_view(text)); }
  Json& value(bool truth) { return raw(truth ? "true" : "false"); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Json& value(Number number) {
    return raw(fmt::format("{}", number));
  }
  Json& value(double number) { return raw(fmt::format("{:.3f}", number)); }
  Json& value(const std::vector<std::string>& items) {
    open('[');
    for (const std::string& item : items) value(item);
    return close(']');
  }
  // Text that is JSON already.
  Json& raw(std::string_view json) {
    separate();
    text_ += json;
    return *this;
  }

  template <class Value>
  Json& field(std::string_view name, const Value& content) {
    return key(name).value(content);
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void separate() {
    if (!fresh_) text_ += ", ";
    fresh_ = false;
  }

  std::string text_;
  bool fresh_ = true;  // nothing stands before the next value in its place
};

}  // namespace godwit::trace
