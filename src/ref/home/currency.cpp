#include "ref/home/currency.hpp"

#include <bit>
#include <functional>
#include <utility>

#include "base/fail.hpp"
#include "ref/home/handle_key.hpp"

namespace godwit::ref {
namespace {

std::size_t place_of(const ObjectId& object) noexcept {
  return std::hash<ObjectId>()(object) % Currency::kPlaces;
}

}  // namespace

// Two objects may meet here, put by different threads: the second leaves it to the first.
void ShownPlace::show(const Whereabouts& place) noexcept {
  std::uint64_t turn = turn_.load(std::memory_order_relaxed);
  if (turn % 2 != 0 || !turn_.compare_exchange_strong(turn, turn + 1, std::memory_order_acquire,
                                                      std::memory_order_relaxed)) {
    return;
  }
  // Whoever sees one of them sees the odd turn, too.
  const auto words = std::bit_cast<Words>(place);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words_[i].store(words[i], std::memory_order_release);
  }
  turn_.store(turn + 2, std::memory_order_release);
}

std::optional<Whereabouts> ShownPlace::read() const noexcept {
  const std::uint64_t turn = turn_.load(std::memory_order_acquire);
  if (turn == 0 || turn % 2 != 0) return std::nullopt;
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = words_[i].load(std::memory_order_acquire);
  }
  if (turn_.load(std::memory_order_relaxed) != turn) return std::nullopt;
  return std::bit_cast<Whereabouts>(words);
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

void Currency::show(const ObjectId& object, const Whereabouts& place) noexcept {
  auto* const places = reinterpret_cast<ShownPlace*>(words_.data() + kWordsBytes);
  places[place_of(object)].show(place);
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
  auto place = places[place_of(handle.object)].read();
  if (!place || place->proof != proof_of(handle) || !holds(place->ticket)) return std::nullopt;
  return place;
}

}  // namespace godwit::ref
