// The ledger of a test with ranks as threads, in memory of the GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "forward/cuda/walks_for_test.cuh"

namespace godwit::cuda {

class Accounts {
 public:
  explicit Accounts(Rank ranks) : pairs_(static_cast<std::size_t>(ranks) * ranks) {
    EXPECT_EQ(cudaMalloc(&ledger_.sent, 2 * pairs_ * sizeof(Account)), cudaSuccess);
    EXPECT_EQ(cudaMemset(ledger_.sent, 0, 2 * pairs_ * sizeof(Account)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ledger_.arrived = ledger_.sent + pairs_;
  }
  ~Accounts() { cudaFree(ledger_.sent); }
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  // Items that were sent; all must have arrived, whole, for their pair.
  std::uint64_t check() const {
    const std::vector<Account> all = read();
    std::uint64_t sent = 0;
    EXPECT_EQ(all[pairs_].torn, 0u);
    for (std::size_t pair = 0; pair < pairs_; ++pair) {
      EXPECT_EQ(all[pair].items, all[pairs_ + pair].items) << "pair " << pair;
      EXPECT_EQ(all[pair].hashes, all[pairs_ + pair].hashes) << "pair " << pair;
      sent += all[pair].items;
    }
    return sent;
  }

  // Items that arrived, whole.
  std::uint64_t arrived() const {
    const std::vector<Account> all = read();
    EXPECT_EQ(all[pairs_].torn, 0u);
    std::uint64_t sum = 0;
    for (std::size_t pair = 0; pair < pairs_; ++pair) sum += all[pairs_ + pair].items;
    return sum;
  }

 private:
  std::vector<Account> read() const {
    std::vector<Account> all(2 * pairs_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(
        cudaMemcpy(all.data(), ledger_.sent, all.size() * sizeof(Account), cudaMemcpyDeviceToHost),
        cudaSuccess);
    return all;
  }

  std::size_t pairs_;
  Ledger ledger_{};
};

}  // namespace godwit::cuda
