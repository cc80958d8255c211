// A kernel that is mobile code: how it gets a rank's chunks, and writes into others.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "godwit/detail/forward/port.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::forward {

// Lives while its port runs.
class MobileKernel {
 public:
  struct Self {
    Rank rank = 0;
    Rank ranks = 0;  // the program's included
  };
  // `node`: its name, for people.
  MobileKernel(detail::Port& port, const godwit_rank_v1& kernel, Self self,
               const ExchangeOptions& options, std::string node);
  MobileKernel(const MobileKernel&) = delete;
  MobileKernel& operator=(const MobileKernel&) = delete;

  // One chunk's items, by one of the workers.
  void process(const detail::Chunk& chunk, std::size_t worker);

 private:
  struct Worker {
    godwit_outgoing out{};
    MobileKernel* kernel = nullptr;
    std::size_t index = 0;
  };
  static std::uint32_t refill(const godwit_outgoing* out, std::int32_t rank,
                              std::uint32_t priority);
  static void fail(const godwit_outgoing* out, std::uint32_t error, const char* text,
                   std::size_t size);

  detail::Port& port_;
  const godwit_rank_v1& kernel_;
  const Self self_;
  const std::string node_;
  std::vector<Worker> workers_;
  std::atomic<bool> failed_ = false;
};

}  // namespace godwit::forward
