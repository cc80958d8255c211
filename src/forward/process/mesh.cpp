#include "forward/process/mesh.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "fabric/shm/transport.hpp"
#include "forward/process/place.hpp"
#include "godwit/group.hpp"
#ifdef GODWIT_WITH_UCX
#include "fabric/ucx/transport.hpp"
#endif

namespace godwit::forward {
namespace {

// For the others to hang up. What was sent to them they have by then (ProcessMember::see_off).
constexpr Duration kFarewell = std::chrono::milliseconds(1500);
// How often somebody who may have to stop waiting asks.
constexpr Duration kAskEvery = std::chrono::milliseconds(20);

}  // namespace

Mesh::Mesh(const MeetOptions& options, MeshEvents& events)
    : events_(events),
      way_(options.way),
      self_{.rank = options.rank,
            .ranks = options.ranks,
            .node = random_node_id(),
            .host = this_host(),
            .shm = {},
            .tcp = {}},
      peers_(static_cast<std::size_t>(options.ranks)) {}

Result<std::unique_ptr<Mesh>> Mesh::create(const MeetOptions& options, MeshEvents& events) {
  if (options.ranks < 1 || options.ranks > Group::kMaxRanks || options.rank < 0 ||
      options.rank >= options.ranks) {
    return fail(ErrorCode::invalid_argument,
                "rank {} of {}: a group has 1 to {} ranks, numbered from 0", options.rank,
                options.ranks, Group::kMaxRanks);
  }
  if (options.patience.count() <= 0) {
    return fail(ErrorCode::invalid_argument, "MeetOptions::patience must be more than nothing");
  }
  std::unique_ptr<Mesh> mesh(new Mesh(options, events));
  GODWIT_CHECK(mesh->open(options));
  return mesh;
}

Status Mesh::open(const MeetOptions& options) {
  GODWIT_TRY(place_, parse_place(options.address));
  if (!options.key.empty()) {
    GODWIT_TRY(const trust::FleetKey key, trust::FleetKey::from_hex(options.key));
    key_ = key;
  } else if (!options.key_file.empty()) {
    GODWIT_TRY(const trust::FleetKey key, trust::FleetKey::load(options.key_file));
    key_ = key;
  }
  GODWIT_TRY(reactor_, fabric::Reactor::create({.name = "godwit-ranks", .offload_threads = 1}));
  if (way_ != Way::tcp) GODWIT_CHECK(make_shm());
  const bool elsewhere = place_.scheme == fabric::Address::Scheme::tcp && way_ != Way::shm;
  if (elsewhere || way_ == Way::tcp) GODWIT_CHECK(make_ucx());
  return {};
}

// Its socket stands where only this user gets in.
Status Mesh::make_shm() {
  fabric::Address address;
  address.scheme = fabric::Address::Scheme::shm;
  if (place_.scheme == fabric::Address::Scheme::shm) {
    address.host = fmt::format("{}.{}", place_.host, self_.rank);
  } else {
    GODWIT_TRY(own_folder_, make_private_folder());
    address.host = own_folder_ + "/rank";
  }
  fabric::shm::ShmTransport::Options options;
  options.hello = [this] { return fabric::Hello{self_.node, Epoch{1}, {}}; };
  options.key = key_ ? &*key_ : nullptr;
  options.max_pending_handshakes = fabric::shm::kMaxLinks;
  GODWIT_TRY(auto shm, fabric::shm::ShmTransport::create(*reactor_, *this, std::move(options)));
  GODWIT_CHECK(reactor_->add(*shm));
  shm_ = std::move(shm);
  const auto bound = shm_->listen(address);
  if (!bound && bound.error().code == ErrorCode::address_in_use) {
    return fail(ErrorCode::invalid_argument,
                "there is a rank {} at {} already: each process needs a rank of its own",
                self_.rank, place_.to_string());
  }
  GODWIT_CHECK(bound);
  self_.shm = bound->to_string();
  return {};
}

#ifdef GODWIT_WITH_UCX
Status Mesh::make_ucx() {
  GODWIT_TRY(const std::string host, local_host_for(place_, self_.rank == 0));
  const fabric::Address address{.scheme = fabric::Address::Scheme::tcp, .host = host};
  fabric::ucx::UcxOptions options;
  options.self = {self_.node, Epoch{1}, {}};
  options.key = key_ ? &*key_ : nullptr;
  options.network = address;
  GODWIT_TRY(ucx_, fabric::ucx::UcxTransport::create(*reactor_, *this, std::move(options)));
  GODWIT_TRY(const fabric::Address bound, ucx_->listen(address));
  self_.tcp = bound.to_string();
  return {};
}
#else
Status Mesh::make_ucx() {
  return fail(ErrorCode::unsupported, "this build has no tcp transport (GODWIT_WITH_UCX is off)");
}
#endif

void Mesh::run_as_owner(const std::function<void()>& f) {
  if (reactor_->try_run_as_owner(f)) return;
  fabric::Waiter done;
  reactor_->post([&] {
    f();
    done.complete();
  });
  reactor_->wait(done, fabric::kNever);
}

std::optional<Error> Mesh::wait_to_settle(Time deadline, const Interrupted& interrupted) {
  if (!interrupted) {
    (void)reactor_->wait(settled_, deadline);
    return std::nullopt;
  }
  while (!reactor_->wait(settled_, std::min(deadline, reactor_->now() + kAskEvery))) {
    if (auto why = interrupted()) return why;
    if (reactor_->now() >= deadline) break;
  }
  return std::nullopt;
}

Status Mesh::meet(std::chrono::milliseconds patience, const Interrupted& interrupted) {
  GODWIT_CHECK(reactor_->start());
  const Time deadline = reactor_->now() + patience;
  run_as_owner([this] {
    Meeting::Options options{.place = place_, .self = self_, .key = key_ ? &*key_ : nullptr};
    auto begun =
        Meeting::begin(*reactor_, std::move(options),
                       [this](Result<std::vector<MemberCard>> cards) { met(std::move(cards)); });
    if (begun) {
      meeting_ = *std::move(begun);
      return;
    }
    Error why = std::move(begun).error();
    if (why.code == ErrorCode::address_in_use) {
      why.message =
          fmt::format("somebody is rank 0 at {} already: {}", place_.to_string(), why.message);
    }
    settle(tl::unexpected(std::move(why)));
  });
  const std::optional<Error> stopped = wait_to_settle(deadline, interrupted);
  run_as_owner([&] {
    if (!is_settled_) {
      const Error why = stopped ? *stopped : too_late(patience);
      if (meeting_ != nullptr) meeting_->call_off(why);
      settle(tl::unexpected(why));
    }
    meeting_.reset();
  });
  // Everybody is linked with everybody: the way in is not needed any more.
  if (const auto address = fabric::Address::parse(self_.shm)) ::unlink(address->host.c_str());
  if (!own_folder_.empty()) remove_folder(std::exchange(own_folder_, {}));
  return outcome_;
}

Error Mesh::too_late(std::chrono::milliseconds patience) const {
  std::vector<Rank> missing = meeting_->missing();
  if (!ranks_by_node_.empty()) {
    missing.clear();
    for (Rank rank = 0; rank < ranks(); ++rank) {
      if (rank != self_.rank && peer(rank).state != PeerState::up) missing.push_back(rank);
    }
  }
  const std::string obstacle = meeting_->obstacle();
  if (missing.empty()) {
    return {ErrorCode::deadline,
            fmt::format("rank {} waited {} ms at {} for the ranks that rank 0 misses; start all {} "
                        "ranks, or raise MeetOptions::patience",
                        rank(), patience.count(), place_.to_string(), ranks())};
  }
  return {
      ErrorCode::deadline,
      fmt::format("rank {} waited {} ms at {} for rank {}{}{}; start all {} ranks with the same "
                  "address, or raise MeetOptions::patience",
                  rank(), patience.count(), place_.to_string(), fmt::join(missing, ", "),
                  obstacle.empty() ? "" : ": ", obstacle, ranks())};
}

Mesh::~Mesh() {
  leave();
  if (reactor_ == nullptr) return;
  reactor_->stop();
  meeting_.reset();
  if (shm_ != nullptr) reactor_->remove(*shm_);
  shm_.reset();
  ucx_.reset();
  if (!own_folder_.empty()) remove_folder(own_folder_);
}

void Mesh::leave() {
  if (reactor_ == nullptr || leaving_) return;
  run_as_owner([this] {
    settled_.reset();
    is_settled_ = false;
    leaving_ = true;
    for (Peer& one : peers_) {
      if (one.state == PeerState::up) one.transport->close(one.link);
    }
    settle_if_complete();
  });
  if (linked_) (void)reactor_->wait(settled_, reactor_->now() + kFarewell);
}

}  // namespace godwit::forward
