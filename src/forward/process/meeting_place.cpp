// Places that nobody else uses.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/fail.hpp"
#include "fabric/fd.hpp"
#include "forward/process/place.hpp"
#include "godwit/meet.hpp"
#include "trust/fleet_key.hpp"

namespace godwit {
namespace {

// One that is free now, and by all likelihood still is when rank 0 listens there.
Result<std::uint16_t> free_port() {
  const fabric::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return fail(ErrorCode::resource_exhausted, "no port is free: {}", errno_text(errno));
  }
  return ntohs(address.sin_port);
}

}  // namespace

void MeetingPlace::Folder::operator()(const std::string* path) const noexcept {
  if (!path->empty()) forward::remove_folder(*path);
  delete path;
}

MeetingPlace::MeetingPlace(std::string folder, std::string address, std::string key) noexcept
    : folder_(new std::string(std::move(folder))),
      address_(std::move(address)),
      key_(std::move(key)) {}

MeetingPlace::~MeetingPlace() = default;

Result<MeetingPlace> MeetingPlace::create(For whom) {
  std::string key = trust::FleetKey::generate().hex();
  if (whom == For::one_host) {
    GODWIT_TRY(std::string folder, forward::make_private_folder());
    std::string address = "shm://" + folder;
    return MeetingPlace(std::move(folder), std::move(address), std::move(key));
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    return fail(ErrorCode::io, "this host has no name: {}", errno_text(errno));
  }
  GODWIT_TRY(const std::uint16_t port, free_port());
  return MeetingPlace({}, fmt::format("tcp://{}:{}", host.data(), port), std::move(key));
}

}  // namespace godwit
