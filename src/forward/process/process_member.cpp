#include "forward/process/process_member.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "forward/process/process_carrier.hpp"

namespace godwit::forward {

ProcessMember::ProcessMember(const MeetOptions& options)
    : rank_(options.rank),
      ranks_(options.ranks),
      peers_(static_cast<std::size_t>(std::max(options.ranks, 0))) {}

Result<std::shared_ptr<ProcessMember>> ProcessMember::meet(const MeetOptions& options,
                                                           const Mesh::Interrupted& interrupted) {
  auto member = std::make_shared<ProcessMember>(options);
  GODWIT_TRY(member->mesh_, Mesh::create(options, *member));
  GODWIT_CHECK(member->mesh_->meet(options.patience, interrupted));
  return member;
}

// Chunks that others still have are given back last: transports may borrow them until then.
ProcessMember::~ProcessMember() {
  if (mesh_ == nullptr) return;
  mesh_->run_as_owner([this] { drain(); });
  see_off();
  mesh_->run_as_owner([this] {
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (rank != rank_) send_note(rank, RankMessage::leave, opened_);
    }
  });
  mesh_->leave();  // before the pointer goes: messages that arrive until then are answered
  mesh_.reset();
}

void ProcessMember::see_off() {
  constexpr Duration kPatience = std::chrono::milliseconds(1500);
  constexpr Duration kGlance = std::chrono::milliseconds(5);
  fabric::Waiter nobody;
  std::size_t before = 0;
  Time moved_at = reactor().now();
  for (;;) {
    std::size_t left = 0;
    mesh_->run_as_owner([&] {
      for (const Peer& one : peers_) left += one.departures.under_way();
    });
    const Time now = reactor().now();
    if (std::exchange(before, left) != left) moved_at = now;
    if (left == 0 || now - moved_at >= kPatience) return;
    (void)reactor().wait(nobody, now + kGlance);
  }
}

Result<std::unique_ptr<Carrier>> ProcessMember::open(const ExchangeSpec& spec) {
  bool is_near = false;
  mesh_->run_as_owner([&] {
    for (Rank rank = 0; rank < ranks_; ++rank) is_near |= mesh_->shares_memory(rank);
  });
  std::shared_ptr<SharedArena> arena;
  if (is_near) {
    // The pool rounds a chunk up to whole lines, and makes one at least.
    const std::size_t bytes = std::max(spec.options.queue_bytes, spec.options.chunk_bytes + 64);
    GODWIT_TRY(arena, SharedArena::create(bytes));
  }
  auto carrier =
      std::make_unique<ProcessCarrier>(shared_from_this(), opened_, spec, std::move(arena));
  mesh_->run_as_owner([&] { begin(*carrier); });
  return carrier;
}

void ProcessMember::begin(ProcessCarrier& carrier) {
  ++opened_;
  carriers_.emplace(carrier.exchange(), &carrier);
  if (carrier.own_arena() != nullptr) offer_arena(carrier);
  const auto found = early_.find(carrier.exchange());
  if (found != early_.end()) {
    std::vector<Early> early = std::move(found->second);
    early_.erase(found);
    early_count_ -= early.size();
    for (Early& one : early) {
      if (one.descriptor) {
        on_descriptor(one.from, one.header, std::move(one.descriptor));
      } else {
        fabric::Message message(one.header, one.body.view(), &one.body);
        on_message(one.from, message);
      }
    }
  }
  tell_of_losses(carrier);
}

// A rank that does not answer gets its items sent.
void ProcessMember::offer_arena(ProcessCarrier& carrier) {
  const SharedArena& arena = *carrier.own_arena();
  const wire::Header header{
      .kind = kind_of(RankMessage::arena), .id = carrier.exchange(), .subject = arena.size()};
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_ || !mesh_->shares_memory(rank)) continue;
    const auto descriptor = arena.share();
    if (!descriptor) return;
    (void)mesh_->send_descriptor(rank, header, descriptor->get());
  }
}

void ProcessMember::close(ProcessCarrier& carrier) {
  mesh_->run_as_owner([&] {
    if (find(carrier.exchange()) == nullptr) return;
    for (Chunk* chunk = carrier.take_arrived(); chunk != nullptr;) {
      detail::give_back(std::exchange(chunk, chunk->next));
    }
    drain(carrier);
    carriers_.erase(carrier.exchange());
  });
}

Error ProcessMember::gone(Rank rank) const {
  const Peer& one = peers_[static_cast<std::size_t>(rank)];
  if (one.lost) return *one.lost;
  return {ErrorCode::node_lost,
          fmt::format("rank {} left the group after {} exchanges: all ranks make the same ones",
                      rank, one.left_after.value_or(0))};
}

// Ranks that were lost, or left without making this exchange.
void ProcessMember::tell_of_losses(ProcessCarrier& carrier) {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Peer& one = peer(rank);
    if (one.lost || (one.left_after && *one.left_after <= carrier.exchange())) {
      carrier.lose(gone(rank));
    }
  }
}

void ProcessMember::on_down(Rank rank, const Error& why) {
  Peer& one = peer(rank);
  one.departures.give_all_back();
  one.credits.clear();
  if (!one.left_after) {
    one.lost = Error{ErrorCode::node_lost, fmt::format("rank {} was lost, as rank {} noticed: {}",
                                                       rank, rank_, why.message)};
  }
  for (const auto& [exchange, carrier] : carriers_) tell_of_losses(*carrier);
}

ProcessCarrier* ProcessMember::find(std::uint64_t exchange) const {
  const auto found = carriers_.find(exchange);
  return found == carriers_.end() ? nullptr : found->second;
}

}  // namespace godwit::forward
