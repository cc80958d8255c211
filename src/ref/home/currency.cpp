#include "ref/home/currency.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/fail.hpp"
#include "ref/home/handle_key.hpp"

namespace godwit::ref {
namespace {

// Where the row begins, counted in places.
std::size_t row_of(const ObjectId& object) noexcept {
  return std::hash<ObjectId>()(object) % Currency::kRows * Currency::kPlacesOfRow;
}

}  // namespace

// Two objects may meet here, put by different threads: the second leaves it to the first.
void ShownPlace::show(const Whereabouts& place) noexcept {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  if (is_being_written(state) ||
      !state_.compare_exchange_strong(state, state + kTurn, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
    return;
  }
  // Whoever sees one of them sees the odd turn, too.
  proof_.store(place.proof, std::memory_order_release);
  segment_.store(place.segment, std::memory_order_release);
  offset_.store(place.offset, std::memory_order_release);
  state_.store(state_of(state + 2 * kTurn, place.ticket), std::memory_order_release);
}

std::optional<Whereabouts> ShownPlace::read() const noexcept {
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  if (state == 0 || is_being_written(state)) return std::nullopt;
  const Whereabouts place{.proof = proof_.load(std::memory_order_acquire),
                          .segment = segment_.load(std::memory_order_acquire),
                          .offset = offset_.load(std::memory_order_acquire),
                          .ticket = ticket_in(state)};
  if (state_.load(std::memory_order_relaxed) != state) return std::nullopt;
  return place;
}

Currency::Currency(fabric::Fd memory, fabric::Mapping words, std::unique_ptr<fabric::LifeWord> life)
    : memory_(std::move(memory)), words_(std::move(words)), life_(std::move(life)) {
  free_.reserve(kWords);
  for (std::uint32_t index = kWords; index > 0; --index) free_.push_back(index - 1);
}

Result<std::unique_ptr<Currency>> Currency::create() {
  GODWIT_TRY(fabric::Fd memory, fabric::create_memory("godwit-currency", kBytes));
  GODWIT_TRY(fabric::Mapping words, fabric::map_memory(memory.get(), kBytes, fabric::Access::write,
                                                       fabric::Pages::on_demand));
  GODWIT_TRY(auto life, fabric::LifeWord::create());
  return std::unique_ptr<Currency>(
      new Currency(std::move(memory), std::move(words), std::move(life)));
}

std::uint64_t Currency::issue() {
  std::uint32_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return 0;
    index = free_.back();
    free_.pop_back();
  }
  // Of a word that nobody is told of, so that no one sees it change. 0 is no generation.
  std::uint32_t generation = word(index).load(std::memory_order_relaxed) + 1;
  if (generation == 0) generation = 1;
  word(index).store(generation, std::memory_order_release);
  return std::uint64_t{generation} << 32U | index;
}

void Currency::end(std::uint64_t ticket) {
  const auto index = static_cast<std::uint32_t>(ticket);
  word(index).fetch_add(1, std::memory_order_acq_rel);
  // Who reads what is next written where the object lay finds that the ticket holds no more.
  fabric::store_fence();
  const std::lock_guard lock(mutex_);
  free_.push_back(index);
}

std::span<ShownPlace> Currency::row(const ObjectId& object) const noexcept {
  auto* const places = reinterpret_cast<ShownPlace*>(words_.data() + kWordsBytes);
  return {places + row_of(object), kPlacesOfRow};
}

void Currency::fetch_ahead(const ObjectId& object) const noexcept {
  for (const ShownPlace& one : row(object)) __builtin_prefetch(&one, 1);
}

// The words that others' tickets lie in are cold: they are looked at only until a place is found.
void Currency::show(const ObjectId& object, const Whereabouts& place) noexcept {
  const std::span<ShownPlace> all = row(object);
  const auto is_same = [&](const ShownPlace& one) { return one.proof() == place.proof; };
  const auto is_free = [&](const ShownPlace& one) { return !holds(one.ticket()); };
  auto best = std::ranges::find_if(all, is_same);
  if (best == all.end()) best = std::ranges::find_if(all, is_free);
  // If none is free, one has to go, now this and now that.
  if (best == all.end()) {
    best = all.begin() + static_cast<std::uint32_t>(place.ticket) % kPlacesOfRow;
  }
  best->show(place);
}

Result<Currency::Shared> Currency::share() const {
  Shared shared;
  GODWIT_TRY(shared.words, fabric::duplicate_read_only(memory_));
  GODWIT_TRY(shared.life, life_->share());
  return shared;
}

Result<HomeCurrency> HomeCurrency::open(const fabric::Fd& words, const fabric::Fd& life) {
  GODWIT_CHECK(fabric::check_memory(words.get(), Currency::kBytes));
  GODWIT_TRY(fabric::Mapping mapped,
             fabric::map_memory(words.get(), Currency::kBytes, fabric::Access::read));
  GODWIT_TRY(fabric::PeerLife peer, fabric::PeerLife::open(life));
  return HomeCurrency(std::move(mapped), std::move(peer));
}

std::optional<Whereabouts> HomeCurrency::find(const Handle& handle) const noexcept {
  const auto* const places =
      reinterpret_cast<const ShownPlace*>(words_.data() + Currency::kWordsBytes);
  const std::uint64_t proof = proof_of(handle);
  for (const ShownPlace& one : std::span(places + row_of(handle.object), Currency::kPlacesOfRow)) {
    if (one.proof() != proof) continue;
    const auto place = one.read();
    if (place && place->proof == proof && holds(place->ticket)) return place;
  }
  return std::nullopt;
}

}  // namespace godwit::ref
