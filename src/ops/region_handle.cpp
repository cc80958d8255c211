// The door of Region<T> to everything below it.
#include "godwit/detail/region_handle.hpp"

#include <cstring>
#include <utility>

#include "godwit/region.hpp"
#include "ops/reshape.hpp"
#include "ops/transfer.hpp"

namespace godwit::detail {

using ops::Attachment;
using ops::Note;
using ops::Op;

RegionHandle::RegionHandle(std::shared_ptr<Attachment> attachment) noexcept
    : attachment_(std::move(attachment)) {}

Result<RegionHandle> RegionHandle::create(ops::RegionHost& host, std::string_view name,
                                          ElementType type, const RegionOptions& options) {
  auto attachment = ops::create_region(host, name, type, options);
  if (!attachment) return tl::unexpected(std::move(attachment).error());
  return RegionHandle(*std::move(attachment));
}

Result<RegionHandle> RegionHandle::attach(ops::RegionHost& host, std::string_view name,
                                          ElementType type) {
  auto attachment = ops::attach_region(host, name, type);
  if (!attachment) return tl::unexpected(std::move(attachment).error());
  return RegionHandle(*std::move(attachment));
}

std::shared_ptr<const Attachment> RegionHandle::shared_attachment() const noexcept {
  return attachment_;
}

std::uint64_t RegionHandle::id() const noexcept {
  return attachment_->id();
}

std::uint64_t RegionHandle::size() const {
  static_cast<void>(attachment_->reaches(UINT64_MAX));  // somebody may have made it larger
  return attachment_->elements();
}

RegionHandle RegionHandle::through(Reach reach) const {
  RegionHandle copy = *this;
  copy.reach_ = reach;
  return copy;
}

RegionDescription RegionHandle::describe() const {
  const wire::RegionDescriptor known = attachment_->descriptor();
  RegionDescription description;
  description.id = known.id;
  description.name = known.name;
  description.type = known.type;
  description.elements = known.elements;
  description.capacity = known.map.capacity;
  description.element_size = known.element_size;
  description.sealed = known.state == wire::RegionState::sealed;
  description.in_files = known.in_files;
  const fleet::NodeList nodes = attachment_->host().nodes();
  for (std::uint32_t i = 0; i < known.shards.size(); ++i) {
    const wire::RegionShard& shard = known.shards[i];
    const auto& mapped = attachment_->shards()[i].mapped;
    bool lives = mapped == nullptr || mapped->home_lives();
    for (const fleet::NodeRecord& record : *nodes) {
      if (record.id != shard.node) continue;
      const bool same = record.epoch == shard.epoch || known.in_files;
      lives = lives && same && record.state != fleet::NodeState::lost;
    }
    description.shards.push_back({.shard = i,
                                  .node = shard.node.value,
                                  .elements = attachment_->map().shard_elements(i, known.elements),
                                  .lost = !lives,
                                  .mapped = mapped != nullptr});
  }
  return description;
}

Status RegionHandle::grow(std::uint64_t elements) {
  return ops::grow_region(*attachment_, elements);
}

Status RegionHandle::seal() {
  return ops::set_region_state(*attachment_, wire::RegionState::sealed);
}

Status RegionHandle::drop() {
  return ops::set_region_state(*attachment_, wire::RegionState::dropped);
}

void RegionHandle::fence() {
  attachment_->fence();
}

// --- One element --------------------------------------------------------------------------------

RegionHandle::Loaded RegionHandle::load(std::uint64_t index, void* element,
                                        Failure& failure) const {
  const Attachment& region = *attachment_;
  if (index >= region.elements()) [[unlikely]] {
    if (auto fits = region.check("get", index, 1); !fits) {
      failure = std::move(fits).error();
      return Loaded::failed;
    }
  }
  const ShardPlace place = region.map().locate(index);
  const region::MappedShard* const shard = region.shards()[place.shard].mapped.get();
  if (shard == nullptr || reach_ == Reach::message) return Loaded::elsewhere;
  const std::byte* const from = shard->data() + place.offset * region.element_size();
  const auto whole = [&]<class Word>(Word value) {
    __atomic_load(reinterpret_cast<const Word*>(from), &value, __ATOMIC_ACQUIRE);
    std::memcpy(element, &value, sizeof value);
  };
  switch (region.element_size()) {
    case 1: whole(std::uint8_t{}); break;
    case 2: whole(std::uint16_t{}); break;
    case 4: whole(std::uint32_t{}); break;
    case 8: whole(std::uint64_t{}); break;
    default: std::memcpy(element, from, region.element_size());
  }
  if (shard->is_good()) [[likely]]
    return Loaded::good;
  failure = region.why_not_good(region.note("get", index, 1, place.shard));
  return Loaded::failed;
}

Outcome<void> RegionHandle::check(const char* what, std::uint64_t first,
                                  std::uint64_t count) const {
  return attachment_->check(what, first, count);
}

CallHandle RegionHandle::get(std::uint64_t index) const {
  const Attachment& region = *attachment_;
  const ShardPlace place = region.map().locate(index);
  const Note note = region.note("get", index, 1, place.shard);
  if (region.is_word())
    return region.call(Op::get_word, note, region.id(), place.shard, place.offset);
  return region.call(Op::get, note, region.id(), place.shard, place.offset, std::uint64_t{1});
}

CallHandle RegionHandle::get_now(std::uint64_t index) const {
  // One in so many: reading the clock twice is a tenth of a get from a neighbour.
  constexpr std::uint32_t kSampled = 16;
  thread_local std::uint32_t gets = 0;
  if (++gets % kSampled != 0) {
    CallHandle call = get(index);
    call.wait();
    return call;
  }
  const auto begin = ops::CostBook::Clock::now();
  CallHandle call = get(index);
  call.wait();
  if (call && call.ok()) {
    const ops::CostBook::Clock::duration took = ops::CostBook::Clock::now() - begin;
    attachment_->host().costs().observe_get(
        attachment_->shards()[attachment_->map().locate(index).shard].node,
        std::chrono::duration<double, std::nano>(took).count());
  }
  return call;
}

CallHandle RegionHandle::put(std::uint64_t index, const void* element) const {
  const Attachment& region = *attachment_;
  const ShardPlace place = region.map().locate(index);
  const Note note = region.note("put", index, 1, place.shard);
  if (region.is_word()) {
    std::uint64_t word = 0;
    std::memcpy(&word, element, region.element_size());
    return region.call(Op::put_word, note, region.id(), place.shard, place.offset, word);
  }
  const Blob bytes(static_cast<const std::byte*>(element), region.element_size());
  return region.call(Op::put, note, region.id(), place.shard, place.offset, bytes);
}

CallHandle RegionHandle::fetch_add(std::uint64_t index, std::uint64_t delta) const {
  const Attachment& region = *attachment_;
  const ShardPlace place = region.map().locate(index);
  return region.call(Op::fetch_add, region.note("fetch_add", index, 1, place.shard), region.id(),
                     place.shard, place.offset, delta);
}

CallHandle RegionHandle::compare_swap(std::uint64_t index, std::uint64_t expected,
                                      std::uint64_t desired) const {
  const Attachment& region = *attachment_;
  const ShardPlace place = region.map().locate(index);
  return region.call(Op::compare_swap, region.note("compare_swap", index, 1, place.shard),
                     region.id(), place.shard, place.offset, expected, desired);
}

// --- Many elements ------------------------------------------------------------------------------

RegionTransfer::RegionTransfer(std::unique_ptr<ops::Transfer> state) noexcept
    : state_(std::move(state)) {}
RegionTransfer::RegionTransfer(RegionTransfer&&) noexcept = default;
RegionTransfer::~RegionTransfer() = default;

CallHandle RegionTransfer::next() {
  return state_->next();
}
Outcome<void> RegionTransfer::take(CallHandle call) {
  return state_->take(std::move(call));
}
Outcome<void> RegionTransfer::begun() const {
  return state_->begun();
}
CallHandle RegionTransfer::only_call() {
  return state_->only_call();
}
Outcome<void> RegionTransfer::finish() {
  return state_->finish();
}

RegionTransfer RegionHandle::read(std::uint64_t first, std::span<std::byte> to) const {
  auto transfer = std::make_unique<ops::Transfer>(attachment_);
  transfer->read(ops::Selection::range(first, to.size(), attachment_->element_size()), to,
                 reach_ == Reach::automatic);
  return RegionTransfer(std::move(transfer));
}

RegionTransfer RegionHandle::read(std::span<const std::uint64_t> indices,
                                  std::span<std::byte> to) const {
  auto transfer = std::make_unique<ops::Transfer>(attachment_);
  transfer->read(ops::Selection::list(indices), to, reach_ == Reach::automatic);
  return RegionTransfer(std::move(transfer));
}

RegionTransfer RegionHandle::write(std::uint64_t first, std::span<const std::byte> from) const {
  auto transfer = std::make_unique<ops::Transfer>(attachment_);
  transfer->write(ops::Selection::range(first, from.size(), attachment_->element_size()), from);
  return RegionTransfer(std::move(transfer));
}

RegionTransfer RegionHandle::write(std::span<const std::uint64_t> indices,
                                   std::span<const std::byte> from) const {
  auto transfer = std::make_unique<ops::Transfer>(attachment_);
  transfer->write(ops::Selection::list(indices), from);
  return RegionTransfer(std::move(transfer));
}

}  // namespace godwit::detail
