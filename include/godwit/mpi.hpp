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

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "godwit/error.hpp"
#include "godwit/group.hpp"
#include "godwit/meet.hpp"

namespace godwit {

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
  // Rank 0 makes a place and tells the others; an address that is empty says that there is none.
  std::optional<MeetingPlace> place;
  std::array<char, 512> address{};
  std::array<char, 128> key{};
  Error trouble{ErrorCode::internal, "MPI could not tell the ranks where to meet"};
  if (works && rank == 0) {
    auto made = MeetingPlace::create(neighbours == ranks ? MeetingPlace::For::one_host
                                                         : MeetingPlace::For::hosts);
    if (made) {
      made->address().copy(address.data(), address.size() - 1);
      made->key().copy(key.data(), key.size() - 1);
      place.emplace(*std::move(made));
    } else {
      trouble = std::move(made).error();
    }
  }
  works = works && MPI_Bcast(address.data(), address.size(), MPI_CHAR, 0, comm) == MPI_SUCCESS &&
          MPI_Bcast(key.data(), key.size(), MPI_CHAR, 0, comm) == MPI_SUCCESS;
  if (!works || address.front() == 0) return tl::unexpected(std::move(trouble));
  options.rank = rank;
  options.ranks = ranks;
  if (options.address.empty()) options.address = address.data();
  if (options.key.empty() && options.key_file.empty()) options.key = key.data();
  Result<Group> group = Group::meet(options);
  // Whoever is linked with all needs the place no more; but others may still be on their way there.
  MPI_Barrier(comm);
  return group;
}

}  // namespace godwit

#endif
