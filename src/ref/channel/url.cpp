#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "base/fail.hpp"
#include "godwit/channel.hpp"

namespace godwit {
namespace {

constexpr std::size_t kMaxUrl = 4096;
constexpr std::size_t kMaxPassword = 4096;

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return fail(ErrorCode::bad_address,
                  "a channel's URL has a '%' that two hexadecimal digits do not follow; write %25 "
                  "for the character itself");
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

// What stands before the mark, which is taken away with it; all, if there is no mark.
std::string_view take_until(std::string_view& text, std::string_view marks) {
  const std::size_t at = text.find_first_of(marks);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

Result<std::string> first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    return fail(ErrorCode::io, "password-file={}: the file cannot be read, or is empty", path);
  }
  if (line.size() > kMaxPassword) {
    return fail(ErrorCode::bad_format, "password-file={}: its first line is no password", path);
  }
  return line;
}

Status read_password(ChannelUrl& url) {
  const std::string file(url.option("password-file"));
  const std::string variable(url.option("password-env"));
  if (!file.empty()) {
    GODWIT_TRY(url.password, first_line_of(file));
  } else if (!variable.empty()) {
    const char* value = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr) {
      return fail(ErrorCode::not_found, "password-env={}: there is no such variable", variable);
    }
    url.password = value;
  }
  return {};
}

Status parse_authority(std::string_view text, ChannelUrl& url) {
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    std::string_view login = text.substr(0, at);
    GODWIT_TRY(url.user, decoded(take_until(login, ":")));
    GODWIT_TRY(url.password, decoded(login));
    text = text.substr(at + 1);
  }
  while (!text.empty()) {
    const std::string_view host = take_until(text, ",;");
    if (!host.empty()) url.hosts.emplace_back(host);
  }
  return {};
}

}  // namespace

Result<ChannelUrl> ChannelUrl::parse(std::string_view text) {
  ChannelUrl url;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || text.size() > kMaxUrl) {
    return fail(ErrorCode::bad_address,
                "a channel's URL begins with a scheme and a colon, as in file:/shared/scratch or "
                "redis://host:6379/0");
  }
  url.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 1);
  std::string_view query;
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    // A password may have a '/' in it.
    const std::size_t login = rest.rfind('@');
    const std::size_t slash = rest.find('/', login == std::string_view::npos ? 0 : login);
    GODWIT_CHECK(parse_authority(rest.substr(0, slash), url));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  }
  GODWIT_TRY(url.path, decoded(rest));
  while (!query.empty()) {
    std::string_view pair = take_until(query, "&");
    const std::string name(take_until(pair, "="));
    GODWIT_TRY(std::string value, decoded(pair));
    if (!name.empty()) url.options.emplace_back(name, std::move(value));
  }
  GODWIT_CHECK(read_password(url));
  return url;
}

std::string ChannelUrl::shown() const {
  std::string text = scheme + ":";
  if (!hosts.empty() || !user.empty() || !password.empty()) {
    text += "//" + user;
    if (!password.empty()) text += ":***";
    if (!user.empty() || !password.empty()) text += "@";
    text += fmt::format("{}", fmt::join(hosts, ","));
  }
  text += path;
  for (std::size_t i = 0; i < options.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "?" : "&", options[i].first, options[i].second);
  }
  return text;
}

std::string_view ChannelUrl::option(std::string_view name) const noexcept {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& option) { return option.first == name; });
  return found == options.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::uint64_t> ChannelUrl::number(std::string_view name, std::uint64_t standard,
                                         std::uint64_t most) const {
  const std::string_view text = option(name);
  if (text.empty()) return standard;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) {
    return fail(ErrorCode::bad_address, "{}={} in {}: expected a whole number from 0 to {}", name,
                text, shown(), most);
  }
  return value;
}

Status ChannelUrl::allow_only(std::span<const std::string_view> names) const {
  for (const auto& [name, value] : options) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return fail(ErrorCode::bad_address, "{} has no option '{}'; there are {}", shown(), name,
                fmt::join(names, ", "));
  }
  return {};
}

}  // namespace godwit
