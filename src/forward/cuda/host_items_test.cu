// Items that host code emits to a GPU's ranks, and reads there; skipped where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "godwit/cuda/exchange.cuh"
#include "godwit/exchange.hpp"
#include "godwit/group.hpp"

namespace godwit::cuda {
namespace {

class CudaHostItems : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU here";
  }
};

struct Crate {
  std::uint32_t words[16];
};
struct Parcel {
  std::uint32_t from = 0;
  std::uint32_t number = 0;
  std::uint32_t hops = 0;
  friend bool operator<(const Parcel& a, const Parcel& b) {
    return a.from != b.from ? a.from < b.from : a.number < b.number;
  }
};
struct PassOn {
  template <class Out>
  __device__ void operator()(const Crate&, Out&) const {}
  template <class Out>
  GODWIT_KERNEL void operator()(const Parcel& parcel, Out& out) const {
    if (parcel.hops == 0) return;
    out.emit(Parcel{parcel.from, parcel.number, parcel.hops - 1}, (out.rank() + 1) % out.ranks());
  }
};

TEST_F(CudaHostItems, AreEmittedAndReadBesideKernels) {
  constexpr std::uint32_t kFew = 150'000;  // more than are copied at once
  for (const bool deterministic : {false, true}) {
    std::atomic<std::uint64_t> processed = 0;
    const Status done = run_ranks(3, [&](Group& group) -> Status {
      const auto me = static_cast<std::uint32_t>(group.rank());
      auto exchange = Exchange<Crate, Parcel>::create(
          group, {.queue_bytes = 32 << 20, .deterministic = deterministic});
      if (!exchange) return tl::unexpected(exchange.error());
      for (std::uint32_t i = 0; i < kFew; ++i) {
        EXPECT_EQ(exchange->emit(Parcel{me, i, 2}, static_cast<Rank>(i % 3)), Emitted::ok);
      }
      auto round = exchange->advance();
      if (!round) return tl::unexpected(round.error());
      EXPECT_EQ(round->alive, 3u * kFew);
      auto parcels = exchange->template copy_incoming<Parcel>();
      if (!parcels) return tl::unexpected(parcels.error());
      if (!deterministic) std::sort(parcels->begin(), parcels->end());
      EXPECT_EQ(parcels->size(), kFew);  // a third of each of three ranks'
      for (std::uint32_t i = 0; i < parcels->size(); ++i) {
        const Parcel expected{i / (kFew / 3), i % (kFew / 3) * 3 + me, 2};
        const bool is_it = !((*parcels)[i] < expected) && !(expected < (*parcels)[i]);
        EXPECT_TRUE(is_it && (*parcels)[i].hops == 2) << i;
      }
      // It stays where it is for kernels, and more may join.
      EXPECT_EQ(exchange->emit(Parcel{me, kFew, 0}, group.rank()), Emitted::ok);
      auto report = exchange->run(PassOn{});
      if (!report) return tl::unexpected(report.error());
      processed += report->processed;
      return {};
    });
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(processed, 3u * (3 * kFew + 1));
  }
}

TEST_F(CudaHostItems, AreRefusedAsKernelsItemsAre) {
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    auto exchange = Exchange<Crate>::create(group, {.queue_bytes = 8 << 20});
    if (!exchange) return tl::unexpected(exchange.error());
    EXPECT_EQ(exchange->emit(Crate{}, group.rank() == 0 ? 9 : 1),
              group.rank() == 0 ? Emitted::bad_rank : Emitted::ok);
    const auto round = exchange->advance();
    EXPECT_FALSE(round.has_value());
    if (round) return {};
    EXPECT_EQ(round.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(round.error().message.find("such as 9"), std::string::npos) << round.error().message;
    for (int i = 0; i < 300'000; ++i) (void)exchange->emit(Crate{}, 0);
    const auto full = exchange->advance();
    EXPECT_FALSE(full.has_value());
    return full ? Status{} : tl::unexpected(full.error());
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::resource_exhausted) << done.error().message;
}

TEST_F(CudaHostItems, GoToRanksOnCpusAndComeFromThem) {
  std::atomic<std::uint64_t> processed = 0;
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    const auto seed_and_run = [&](auto exchange) -> Status {
      if (!exchange) return tl::unexpected(exchange.error());
      const auto me = static_cast<std::uint32_t>(group.rank());
      for (std::uint32_t i = 0; i < 1000; ++i) {
        EXPECT_EQ(exchange->emit(Parcel{me, i, 2}, static_cast<Rank>(i % 2)), Emitted::ok);
      }
      auto report = exchange->run(PassOn{});
      if (!report) return tl::unexpected(report.error());
      processed += report->processed;
      return {};
    };
    if (group.rank() == 0) return seed_and_run(godwit::Exchange<Parcel>::create(group));
    return seed_and_run(Exchange<Parcel>::create(group, {.queue_bytes = 8 << 20}));
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(processed, 2u * 3000);
}

}  // namespace
}  // namespace godwit::cuda
