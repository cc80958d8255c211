#include "ref/home/currency.hpp"

#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {

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
  const std::lock_guard lock(mutex_);
  free_.push_back(index);
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

}  // namespace godwit::ref
