#include "forward/process/process_carrier.hpp"

#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "fabric/fence.hpp"
#include "forward/chunk_label.hpp"
#include "forward/control.hpp"
#include "forward/process/process_member.hpp"

namespace godwit::forward {
namespace {

// Parcels kept for the next chunks.
constexpr std::size_t kMaxSpare = 1024;

}  // namespace

ProcessCarrier::ProcessCarrier(std::shared_ptr<ProcessMember> member, std::uint64_t exchange,
                               const ExchangeSpec& spec, std::shared_ptr<SharedArena> arena)
    : member_(std::move(member)),
      exchange_(exchange),
      types_(spec.types.begin(), spec.types.end()),
      arena_(std::move(arena)),
      memory_of_(static_cast<std::size_t>(member_->ranks())),
      seen_by_(static_cast<std::size_t>(member_->ranks())) {}

ProcessCarrier::~ProcessCarrier() {
  member_->close(*this);
}

void ProcessCarrier::send(Chunk* chunk) noexcept {
  outgoing_.push(chunk);
  member_->push_out();
}

void ProcessCarrier::push_out() noexcept {
  if (!outgoing_.is_empty() || !returned_.is_empty()) member_->push_out();
}

Chunk* ProcessCarrier::receive() noexcept {
  push_out();
  if (arrived_.is_empty()) (void)member_->reactor().run_once();
  return arrived_.take();
}

void ProcessCarrier::wait(Deadline deadline) {
  push_out();
  fabric::Waiter waiter;
  waiting_.store(&waiter, std::memory_order_seq_cst);
  if (arrived_.is_empty() && !has_lost_.load(std::memory_order_seq_cst)) {
    // Both clocks are the system's monotonic one.
    const auto until = std::chrono::duration_cast<Duration>(deadline.time_since_epoch());
    (void)member_->reactor().wait(waiter, Time{until.count()});
  }
  if (waiting_.exchange(nullptr, std::memory_order_seq_cst) != nullptr) return;
  while (!waiter.done()) fabric::cpu_relax();  // somebody is about to complete it
}

void ProcessCarrier::wake() noexcept {
  if (waiting_.load(std::memory_order_seq_cst) == nullptr) return;
  fabric::Waiter* const waiter = waiting_.exchange(nullptr, std::memory_order_seq_cst);
  if (waiter != nullptr) waiter->complete();
}

std::optional<Error> ProcessCarrier::lost() {
  if (!has_lost_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(lost_mutex_);
  return lost_;
}

void ProcessCarrier::lose(Error why) {
  {
    const std::lock_guard lock(lost_mutex_);
    if (!lost_) lost_ = std::move(why);
  }
  has_lost_.store(true, std::memory_order_seq_cst);
  wake();
}

void ProcessCarrier::recover() noexcept {
  push_out();
  (void)member_->reactor().run_once();
}

void ProcessCarrier::give_back(Chunk* chunk) noexcept {
  returned_.push(chunk);
}

void ProcessCarrier::recycle(Parcel* parcel) {
  std::unique_ptr<Parcel> owned(parcel);
  owned->body.reset();
  if (spare_.size() < kMaxSpare) spare_.push_back(std::move(owned));
}

void ProcessCarrier::see_memory(Rank of, fabric::Mapping memory) {
  memory_of_[static_cast<std::size_t>(of)] = std::move(memory);
}

Status ProcessCarrier::accept(Rank from, fabric::Message& message) {
  const fabric::Mapping& memory = memory_of_[static_cast<std::size_t>(from)];
  GODWIT_TRY(const ChunkWire wire, read_chunk(message.body(), memory.size()));
  std::unique_ptr<Parcel> parcel;
  if (spare_.empty()) {
    parcel = std::make_unique<Parcel>();
  } else {
    parcel = std::move(spare_.back());
    spare_.pop_back();
  }
  GODWIT_CHECK(place_items(*parcel, wire, from, message));
  parcel->home = this;
  copy_label(wire, *parcel);
  parcel->capacity = wire.used;
  parcel->source = from;
  parcel->destination = member_->rank();
  parcel->ticket = wire.ticket;
  arrived_.push(parcel.release());
  wake();
  return {};
}

// Records with tails say how long they are: they are checked where their sender cannot change them
// any more.
Status ProcessCarrier::place_items(Parcel& parcel, const ChunkWire& wire, Rank from,
                                   fabric::Message& message) {
  const bool is_control = wire.kind == kControlKind;
  const bool has_type = !is_control && wire.kind < types_.size();
  std::size_t at = sizeof wire;
  if (wire.items_at == ChunkWire::kFollows) {
    parcel.body = message.take_body();
  } else {
    std::byte* const items = memory_of_[static_cast<std::size_t>(from)].data() + wire.items_at;
    if (has_type && types_[wire.kind].form != detail::ItemForm::tailed) {
      parcel.data = items;
      return check_items(wire, {items, wire.used}, types_);
    }
    parcel.body = Buffer::copy_of({items, wire.used});
    at = 0;
  }
  const std::size_t align = has_type ? types_[wire.kind].align : alignof(Control);
  if (reinterpret_cast<std::uintptr_t>(parcel.body.data() + at) % align != 0) {
    parcel.body = Buffer::copy_of(parcel.body.view().subspan(at));
    at = 0;
  }
  if (parcel.body.size() < at + wire.used) {
    return fail(ErrorCode::out_of_memory, "no memory for {} bytes of items from rank {}", wire.used,
                from);
  }
  parcel.data = parcel.body.data() + at;
  return check_items(wire, {parcel.data, wire.used}, types_);
}

}  // namespace godwit::forward
