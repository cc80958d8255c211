// Ranks of an MPI program as the ranks of a Group.
//
//   MPI_Init(&argc, &argv);
//   auto group = godwit::group_of(MPI_COMM_WORLD).value();
//   auto exchange = godwit::Exchange<Ray>::create(group).value();
//
// MPI is used to agree on where to meet, and not after that: items travel over Godwit's own links,
// and MPI may be used beside them as before. Header only, so that Godwit needs no MPI; where there
// is no <mpi.h> this header declares nothing.
#pragma once

#if __has_include(<mpi.h>)

#include <mpi.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "godwit/error.hpp"
#include "godwit/group.hpp"
#include "godwit/meet.hpp"

namespace godwit {

namespace detail {

// What rank 0 decides.
struct MpiPlace {
  std::array<char, 256> address{};
  std::array<char, 65> key{};  // 64 hexadecimal digits
};

// A port that is free now.
inline int free_port() noexcept {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  int port = 0;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.sin_port);
  }
  ::close(socket);
  return port;
}

// A folder of its own if all are on one host, else this host's name and a port.
inline MpiPlace choose_place(bool one_host, const std::string& folder) {
  MpiPlace place;
  if (one_host) {
    std::snprintf(place.address.data(), place.address.size(), "shm://%s", folder.c_str());
  } else {
    std::array<char, 200> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::snprintf(place.address.data(), place.address.size(), "tcp://%s:%d", host.data(),
                  free_port());
  }
  std::random_device random;
  for (std::size_t i = 0; i < 8; ++i) {
    std::snprintf(place.key.data() + i * 8, 9, "%08x", static_cast<unsigned>(random()));
  }
  return place;
}

}  // namespace detail

// Every process of the communicator calls it; rank and number of ranks are the communicator's. Of
// `options` patience and way count, and an address to meet at, if the one chosen here does not do.
// Errors: as Group::meet(); internal if MPI fails.
[[nodiscard]] inline Result<Group> group_of(MPI_Comm comm, MeetOptions options = {}) {
  int rank = 0;
  int ranks = 0;
  int neighbours = 0;
  MPI_Comm host_comm = MPI_COMM_NULL;
  bool works = MPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
               MPI_Comm_size(comm, &ranks) == MPI_SUCCESS &&
               MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host_comm) ==
                   MPI_SUCCESS &&
               MPI_Comm_size(host_comm, &neighbours) == MPI_SUCCESS;
  if (host_comm != MPI_COMM_NULL) MPI_Comm_free(&host_comm);
  const char* const parent = ::getenv("TMPDIR");
  std::string folder = std::string(parent != nullptr ? parent : "/tmp") + "/godwit-mpi-XXXXXX";
  bool has_folder = false;
  detail::MpiPlace place;
  if (works && rank == 0) {
    const bool one_host = neighbours == ranks;
    has_folder = one_host && ::mkdtemp(folder.data()) != nullptr;
    place = detail::choose_place(has_folder, folder);
  }
  works = works && MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, comm) == MPI_SUCCESS;
  if (!works) {
    return tl::unexpected(Error{ErrorCode::internal, "MPI could not tell the ranks where to meet"});
  }
  options.rank = rank;
  options.ranks = ranks;
  if (options.address.empty()) options.address = place.address.data();
  if (options.key.empty() && options.key_file.empty()) options.key = place.key.data();
  Result<Group> group = Group::meet(options);
  // Whoever is linked with all needs the place no more; but others may still be on their way there.
  MPI_Barrier(comm);
  if (has_folder) ::rmdir(folder.c_str());
  return group;
}

}  // namespace godwit

#endif
