#include "forward/cuda/tickets.hpp"

#include <mutex>
#include <random>
#include <unordered_map>

#include "base/fail.hpp"
#include "forward/cuda/team.hpp"

namespace godwit::cuda {
namespace {

// The process' own: its threads have nothing else in common that a message could name.
struct Desk {
  std::mutex mutex;
  std::random_device random;  // so that no message of another process happens to fit
  std::unordered_map<std::uint64_t, std::weak_ptr<Team>> teams;
};

Desk& desk() {
  static Desk desk;
  return desk;
}

}  // namespace

std::uint64_t leave_team(const std::shared_ptr<Team>& team) {
  Desk& desk = cuda::desk();
  const std::lock_guard lock(desk.mutex);
  std::erase_if(desk.teams, [](const auto& entry) { return entry.second.expired(); });
  std::uint64_t ticket = 0;
  while (ticket == 0 || desk.teams.contains(ticket)) {
    ticket = std::uint64_t{desk.random()} << 32 | desk.random();
  }
  desk.teams.emplace(ticket, team);
  return ticket;
}

Result<std::shared_ptr<Team>> take_team(std::uint64_t ticket) {
  Desk& desk = cuda::desk();
  const std::lock_guard lock(desk.mutex);
  const auto found = desk.teams.find(ticket);
  if (found != desk.teams.end()) {
    const std::shared_ptr<Team> team = found->second.lock();
    desk.teams.erase(found);
    if (team != nullptr) return team;
  }
  return fail(
      ErrorCode::not_found,
      "another rank of this process was to hand over its part of the exchange, and did not");
}

}  // namespace godwit::cuda
