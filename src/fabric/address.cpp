#include "fabric/address.hpp"

#include <charconv>

#include "base/fail.hpp"
#include "base/ids.hpp"

namespace godwit::fabric {
namespace {

constexpr std::string_view kForms =
    "shm:/path/to.sock, tcp:host:port, tcp:[ipv6]:port, relay:host:port[/node id] or sim:number";

template <class Integer>
bool parse_number(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && !text.empty() && end == text.data() + text.size();
}

Result<Address> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::bad_address, "address '{}': {}; use {}", text, why, kForms);
}

// HOST:PORT
Result<Address> parse_host(std::string_view text, std::string_view rest) {
  Address address;
  address.scheme = Address::Scheme::tcp;
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return bad(text, "the port is missing");
  std::string_view host = rest.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad(text, "the host is missing");
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos)
    return bad(text, "an IPv6 address stands in brackets");
  if (host.find_first_of(" \t\r\n/") != std::string_view::npos || host.size() > 253)
    return bad(text, "that is no host name");
  if (!parse_number(rest.substr(colon + 1), address.port))
    return bad(text, "the port is a number from 0 to 65535");
  address.host = host;
  return address;
}

// HOST:PORT or HOST:PORT/NODE
Result<Address> parse_relay(std::string_view text, std::string_view rest) {
  const std::size_t slash = rest.find('/');
  GODWIT_TRY(Address address, parse_host(text, rest.substr(0, slash)));
  address.scheme = Address::Scheme::relay;
  if (slash == std::string_view::npos) return address;
  const auto node = from_hex(rest.substr(slash + 1));
  if (!node || *node == 0) return bad(text, "a node's id is 16 hexadecimal digits, not all 0");
  address.index = *node;
  return address;
}

std::string host_text(const Address& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_ipv6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

bool is_loopback_ipv4(std::string_view host) {
  // Digits and dots only: "127.evil.example" is a name, and names resolve to anything.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad(text, "the scheme is missing");
  const std::string_view scheme = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (scheme == "tcp") return parse_host(text, rest);
  if (scheme == "relay") return parse_relay(text, rest);
  Address address;
  if (scheme == "shm") {
    if (rest.empty() || rest.front() != '/') return bad(text, "the socket's path is absolute");
    if (rest.find('\0') != std::string_view::npos) return bad(text, "the path has a zero byte");
    address.scheme = Scheme::shm;
    address.host = rest;
    return address;
  }
  if (scheme == "sim") {
    address.scheme = Scheme::sim;
    if (!parse_number(rest, address.index)) return bad(text, "a simulated node has a number");
    return address;
  }
  return bad(text, "unknown scheme");
}

std::string Address::to_string() const {
  switch (scheme) {
    case Scheme::shm: return "shm:" + host;
    case Scheme::sim: return fmt::format("sim:{}", index);
    case Scheme::relay:
      return index == 0 ? "relay:" + host_text(*this)
                        : fmt::format("relay:{}/{}", host_text(*this), to_hex(index));
    case Scheme::tcp: break;
  }
  return "tcp:" + host_text(*this);
}

bool Address::is_loopback() const {
  if (scheme == Scheme::relay) return false;
  return scheme != Scheme::tcp || host == "::1" || host == "localhost" || is_loopback_ipv4(host);
}

}  // namespace godwit::fabric
