#include "forward/process/place.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/fail.hpp"
#include "fabric/control/endpoint.hpp"

namespace godwit::forward {
namespace {

using Scheme = fabric::Address::Scheme;

constexpr std::string_view kFolderName = "/godwit-ranks-";
constexpr std::string_view kPlaceInFolder = "/godwit-meet";

Result<std::string> numeric_host(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const bytes =
      address.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  if (::inet_ntop(address.ss_family, bytes, text.data(), text.size()) == nullptr) {
    return fail(ErrorCode::bad_address, "a network address has no text: {}", errno_text(errno));
  }
  return std::string(text.data());
}

// Connecting a datagram socket sends nothing, but chooses the interface.
Result<std::string> host_towards(const fabric::SocketAddress& to) {
  const fabric::Fd socket(::socket(to.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage mine{};
  socklen_t size = sizeof mine;
  if (!socket || ::connect(socket.get(), to.get(), to.size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&mine), &size) != 0) {
    return fail(ErrorCode::unreachable, "{}", errno_text(errno));
  }
  return numeric_host(mine);
}

}  // namespace

Result<fabric::Address> parse_place(std::string_view text) {
  std::string plain(text);
  for (const std::string_view scheme : {"shm:", "tcp:"}) {
    if (text.starts_with(scheme) && text.substr(scheme.size()).starts_with("//")) {
      plain = std::string(scheme).append(text.substr(scheme.size() + 2));
    }
  }
  auto place = fabric::Address::parse(plain);
  if (!place || (place->scheme != Scheme::shm && place->scheme != Scheme::tcp)) {
    return fail(ErrorCode::bad_address,
                "'{}' is no place where ranks can meet: name one as shm:///path (one host) or "
                "tcp://host:port (rank 0 listens there)",
                text);
  }
  if (place->scheme == Scheme::tcp && place->port == 0) {
    return fail(ErrorCode::bad_address,
                "'{}' is no place where ranks can meet: they must all know the port", text);
  }
  std::error_code ignored;
  if (place->scheme == Scheme::shm && std::filesystem::is_directory(place->host, ignored)) {
    place->host += kPlaceInFolder;
  }
  if (place->scheme == Scheme::shm) GODWIT_CHECK(fabric::unix_address(*place));
  return place;
}

Result<std::string> local_host_for(const fabric::Address& place, bool listens_there) {
  if (place.scheme != Scheme::tcp) return std::string("127.0.0.1");
  if (place.host == "0.0.0.0" || place.host == "::") {
    return fail(ErrorCode::bad_address,
                "ranks cannot meet at {}: name the host as the other hosts know it",
                place.to_string());
  }
  if (listens_there) return place.host;
  GODWIT_TRY(const auto addresses, fabric::resolve_tcp(place, false));
  Error why{ErrorCode::unreachable, "no address"};
  for (const fabric::SocketAddress& address : addresses) {
    auto host = host_towards(address);
    if (host) return host;
    why = host.error();
  }
  return fail(ErrorCode::unreachable, "no way leads to {}: {}", place.to_string(), why.message);
}

Result<std::string> make_private_folder() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string name = error ? std::string("/tmp") : parent.string();
  name.append(kFolderName).append("XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::io,
                "cannot make a folder {}: {}; set TMPDIR to one that can be written to", name,
                errno_text(errno));
  }
  return name;
}

void remove_folder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

void forget_folder(std::string_view place, Rank maker) {
  constexpr std::string_view kShm = "shm://";
  if (!place.starts_with(kShm) || place.find(kFolderName) == std::string_view::npos) return;
  const std::string folder(place.substr(kShm.size()));
  ::unlink(fmt::format("{}{}.{}", folder, kPlaceInFolder, maker).c_str());
  ::rmdir(folder.c_str());
}

}  // namespace godwit::forward
