#include "fabric/sim/flight.hpp"

#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace godwit::fabric::sim {

std::uint64_t hash_parts(std::span<const Bytes> parts) noexcept {
  std::uint64_t hash = 0;
  for (const Bytes part : parts) {
    hash = mix64(hash ^ part.size());
    for (std::size_t at = 0; at < part.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, part.data() + at, std::min(sizeof word, part.size() - at));
      hash = mix64(hash ^ word);
    }
  }
  return hash;
}

Buffer gather_parts(std::span<const Bytes> parts, std::size_t size_bytes) {
  Buffer body = Buffer::allocate(size_bytes);
  std::size_t at = 0;
  for (const Bytes part : parts) {
    if (!part.empty()) std::memcpy(body.data() + at, part.data(), part.size());
    at += part.size();
  }
  return body;
}

FlightPtr FlightPool::make() {
  if (free_.empty()) {
    free_.push_back(all_.emplace_back(std::make_unique<Flight>()).get());
    free_.reserve(all_.capacity());  // so that taking back never allocates
  }
  Flight* flight = free_.back();
  free_.pop_back();
  return {flight, Recycle{this}};
}

void FlightPool::take_back(Flight* flight) noexcept {
  flight->body.reset();
  flight->borrowed.clear();
  free_.push_back(flight);
}

}  // namespace godwit::fabric::sim
