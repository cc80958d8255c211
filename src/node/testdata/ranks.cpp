// Mobile code for the tests of nodes as ranks (fleet_ranks_test.cpp).
#include <godwit/mobile.hpp>
#include <godwit/mobile/rank.hpp>

#include <dirent.h>
#include <sched.h>
#include <signal.h>

#include <array>
#include <fstream>
#include <stdexcept>
#include <string>

#include "node/walkers_for_test.hpp"

namespace godwit::node {

// Walks on until it is done, and then goes to the program. Returns what this rank has seen.
Seen walk(Here& here, RankOf<Walker> rank) {
  Seen seen;
  const RankReport report = rank.run(here, [&](const Walker& walker, auto& out) {
    seen.add(walker);
    step(walker, out);
  });
  seen.processed = report.processed;
  return seen;
}
GODWIT_EXPORT(walk);

// The same by chunks, with several threads.
std::uint64_t walk_chunks(Here& here, RankOf<Walker> rank) {
  return rank
      .run(here,
           [](std::span<const Walker> walkers, auto& out) {
             for (const Walker& walker : walkers) step(walker, out);
           })
      .processed;
}
GODWIT_EXPORT(walk_chunks);

// Goes wrong on one rank, in one of many ways, when it sees a walker with few steps left.
void fail_at(Here& here, RankOf<Walker> rank, std::uint32_t how, std::int32_t at) {
  if (rank.rank() == at && how == kReturnsEarly) return;
  if (rank.rank() == at && how == kThrowsEarly) throw std::runtime_error("no such map");
  while (rank.rank() == at && how == kDawdles && !here.cancelled()) ::sched_yield();
  rank.run(here, [&](const Walker& walker, auto& out) {
    if (how == kRoams) return (void)out.emit(walker, place_of(walker.state, out.ranks()));
    if (rank.rank() != at || walker.steps > 20) return step(walker, out);
    if (how == kThrows) throw std::runtime_error("the walker fell");
    if (how == kMissesRegion) (void)here.region<std::uint64_t>("no such region");
    if (how == kEmitsAstray) out.emit(walker, 77);
    if (how == kDies) ::raise(SIGKILL);
  });
}
GODWIT_EXPORT(fail_at);

// Never ends. Tells of its first steps.
void roam(Here& here, RankOf<Walker> rank) {
  std::uint64_t steps = 0;
  rank.run(here, [&](const Walker& walker, auto& out) {
    if (++steps == 1) out.emit(walker, out.client());
    Walker next = walker;
    next.state = next_state(walker.state);
    out.emit(next, place_of(next.state, out.ranks()));
  });
}
GODWIT_EXPORT(roam);

// Visits the entries of a folder by name.
template <class Visit>
void each_entry(const char* folder, Visit&& visit) {
  DIR* const open = ::opendir(folder);
  if (open == nullptr) return;
  while (const dirent* const entry = ::readdir(open)) visit(entry->d_name);
  ::closedir(open);
}

// What ranks have of this process: threads, and among all its descriptors some.
std::array<std::uint64_t, 2> belongings(Here&) {
  std::array<std::uint64_t, 2> count{};
  each_entry("/proc/self/task", [&](const std::string& thread) {
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + thread + "/comm"), name);
    if (name.starts_with("godwit-ranks")) ++count[0];
  });
  each_entry("/proc/self/fd", [&](const std::string&) { ++count[1]; });
  return count;
}
GODWIT_EXPORT(belongings);

}  // namespace godwit::node
