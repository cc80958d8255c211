// Between a setting's value and its text.
#include <charconv>
#include <type_traits>

#include "base/fail.hpp"
#include "node/settings/table.hpp"

namespace godwit::node {
namespace {

constexpr std::size_t kMaxItems = 64;  // of a list

Result<std::int64_t> parse_number(const Setting& setting, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range ||
      (error == std::errc() && end == text.data() + text.size() &&
       (number < setting.least || number > setting.most))) {
    return fail(ErrorCode::invalid_argument, "must be from {} to {}", setting.least, setting.most);
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::invalid_argument, "expected a whole number from {} to {}", setting.least,
                setting.most);
  }
  return number;
}

Status check_text(const Setting& setting, std::string_view text) {
  if (setting.check != nullptr) return setting.check(text);
  if (setting.choices.empty()) return {};
  std::string_view rest = setting.choices;
  while (!rest.empty()) {
    const std::string_view choice = rest.substr(0, rest.find('|'));
    if (choice == text) return {};
    rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
  }
  return fail(ErrorCode::invalid_argument, "expected one of {}", setting.choices);
}

}  // namespace

Status assign(const Setting& setting, std::span<const std::string> texts, Settings& settings) {
  if (setting.is_list()) {
    if (texts.size() > kMaxItems) {
      return fail(ErrorCode::invalid_argument, "at most {} values are allowed", kMaxItems);
    }
    for (const std::string& text : texts) GODWIT_CHECK(check_text(setting, text));
    settings.*std::get<1>(setting.member) = {texts.begin(), texts.end()};
    return {};
  }
  if (texts.size() != 1) return fail(ErrorCode::invalid_argument, "expected one value");
  const std::string& text = texts.front();
  return std::visit(
      [&](auto member) -> Status {
        using Value = std::remove_reference_t<decltype(settings.*member)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          GODWIT_CHECK(check_text(setting, text));
          settings.*member = text;
        } else if constexpr (std::is_integral_v<Value>) {
          GODWIT_TRY(const std::int64_t number, parse_number(setting, text));
          settings.*member = static_cast<Value>(number);
        }
        return {};
      },
      setting.member);
}

std::string masked(const Setting& setting, std::string_view text) {
  return setting.mask != nullptr ? setting.mask(text) : std::string(text);
}

std::string text_of(const Setting& setting, const Settings& settings) {
  return std::visit(
      [&](auto member) -> std::string {
        using Value = std::remove_cvref_t<decltype(settings.*member)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return settings.*member;
        } else if constexpr (std::is_integral_v<Value>) {
          return std::to_string(settings.*member);
        } else {
          std::vector<std::string> items;
          for (const std::string& item : settings.*member) items.push_back(masked(setting, item));
          return fmt::format("{}", fmt::join(items, ","));
        }
      },
      setting.member);
}

}  // namespace godwit::node
