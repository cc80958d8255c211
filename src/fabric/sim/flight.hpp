// A message on its way through the simulated network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::sim {

struct Flight {
  LinkId to;  // the receiving end
  wire::Header header;
  Buffer body;                  // empty while the parts are borrowed
  std::vector<Bytes> borrowed;  // the sender's memory
  std::uint64_t borrowed_hash = 0;
  std::size_t size_bytes = 0;  // of the body
  std::uint64_t tag = 0;
};

[[nodiscard]] std::uint64_t hash_parts(std::span<const Bytes> parts) noexcept;
[[nodiscard]] Buffer gather_parts(std::span<const Bytes> parts, std::size_t size_bytes);

// Keeps finished flights for reuse. Outlives every FlightPtr it gave out.
class FlightPool {
 public:
  struct Recycle {
    FlightPool* pool = nullptr;
    void operator()(Flight* flight) const noexcept { pool->take_back(flight); }
  };
  using Ptr = std::unique_ptr<Flight, Recycle>;

  [[nodiscard]] Ptr make();
  [[nodiscard]] std::size_t in_use() const noexcept { return all_.size() - free_.size(); }

 private:
  void take_back(Flight* flight) noexcept;

  std::vector<std::unique_ptr<Flight>> all_;
  std::vector<Flight*> free_;
};
using FlightPtr = FlightPool::Ptr;

}  // namespace godwit::fabric::sim
