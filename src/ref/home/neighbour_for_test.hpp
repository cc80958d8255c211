// Another process of a home's host, and what it sees without asking.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "fabric/memory/memfd.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/currency.hpp"

namespace godwit::ref {

class Neighbour {
 public:
  Neighbour(const Currency& currency, const Arena& arena) : home_(open(currency)), arena_(arena) {}

  [[nodiscard]] bool holds(std::uint64_t ticket) const { return home_.holds(ticket); }
  // What it copies from where the home shows the handle's object; nothing: it is not shown.
  [[nodiscard]] std::optional<std::string> copy_shown(const Handle& handle) {
    const auto place = home_.find(handle);
    if (!place) return std::nullopt;
    auto memory = segments_.find(place->segment);
    if (memory == segments_.end()) {
      const Arena::Shared shared = arena_.share(place->segment, fabric::Access::read).value();
      memory = segments_
                   .emplace(place->segment, fabric::map_memory(shared.memory.get(), shared.size,
                                                               fabric::Access::read)
                                                .value())
                   .first;
    }
    return std::string(reinterpret_cast<const char*>(memory->second.data()) + place->offset,
                       handle.size);
  }

 private:
  static HomeCurrency open(const Currency& currency) {
    const Currency::Shared shared = currency.share().value();
    return HomeCurrency::open(shared.words, shared.life).value();
  }

  HomeCurrency home_;
  const Arena& arena_;
  std::map<std::uint64_t, fabric::Mapping> segments_;  // their numbers are not used again
};

}  // namespace godwit::ref
