// Traversals that take turns in messages: those that go to the same home share them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "godwit/codec.hpp"
#include "godwit/mobile/std.hpp"
#include "ops/attachment.hpp"

namespace godwit::ops {

// godwit/ops/many.hpp states the order and fairness that these two make.
inline constexpr std::size_t kWalksPerBatch = 256;
inline constexpr std::uint32_t kBatchesPerHome = 2;

// One thread. A Walk is a plain struct with the index of its next element in `at`; the mobile
// function takes and returns as many of them, in order.
template <class Walk>
class Batches {
 public:
  // All of these outlive it.
  Batches(const Attachment& region, Op op, const char* verb, std::vector<Walk>& walks)
      : region_(region), op_(op), verb_(verb), walks_(walks), homes_(region.shards().size()) {}

  // The walk is to be sent; its next element exists.
  void add(std::size_t walk) {
    homes_[region_.map().locate(walks_[walk].at).shard].waiting.push_back(walk);
  }

  // Waits until every walk is over. left(walk) is what shrinks with each step;
  // arrive(walk, left_before) says whether it goes on; fail(walk, failure) hears of its message.
  template <class Left, class Arrive, class Fail>
  void run(Left&& left, Arrive&& arrive, Fail&& fail) {
    for (std::uint32_t shard = 0; shard < homes_.size(); ++shard) send_to(shard);
    while (!flights_.empty()) {
      Flight flight = std::move(flights_.front());
      flights_.pop_front();
      flight.call.wait();
      --homes_[flight.shard].under_way;
      std::vector<Walk> came;
      const Outcome<void> taken = take(flight, came);
      for (std::size_t i = 0; i < flight.members.size(); ++i) {
        const std::size_t walk = flight.members[i];
        if (!taken) {
          fail(walk, taken.error());
          continue;
        }
        const std::uint64_t before = left(walks_[walk]);
        walks_[walk] = came[i];
        if (arrive(walk, before)) add(walk);
      }
      for (std::uint32_t shard = 0; shard < homes_.size(); ++shard) send_to(shard);
    }
  }

 private:
  struct Home {
    std::deque<std::size_t> waiting;
    std::uint32_t under_way = 0;
  };
  struct Flight {
    std::uint32_t shard = 0;
    std::vector<std::size_t> members{};
    std::vector<Walk> walks{};
    detail::CallHandle call{};  // destroyed before what it was lent
  };

  void send_to(std::uint32_t shard) {
    Home& home = homes_[shard];
    while (!home.waiting.empty() && home.under_way < kBatchesPerHome) {
      Flight flight{.shard = shard};
      while (!home.waiting.empty() && flight.members.size() < kWalksPerBatch) {
        flight.members.push_back(home.waiting.front());
        flight.walks.push_back(walks_[home.waiting.front()]);
        home.waiting.pop_front();
      }
      const Note note = region_.note(verb_, flight.walks.front().at, 1, shard);
      flight.call = region_.call(op_, note, region_.id(), std::span<const Walk>(flight.walks));
      ++home.under_way;
      flights_.push_back(std::move(flight));
    }
  }

  static Outcome<void> take(Flight& flight, std::vector<Walk>& came) {
    if (!flight.call.ok()) return tl::unexpected(failure_of(flight.call));
    DecodeError error;
    if (decode_result(flight.call.result(), came, error) && came.size() == flight.members.size()) {
      return {};
    }
    return tl::unexpected(Failure{Ending::rejected, ErrorCode::bad_format, true,
                                  "the home sent something else than the traversals it was sent"});
  }

  const Attachment& region_;
  const Op op_;
  const char* const verb_;
  std::vector<Walk>& walks_;
  std::vector<Home> homes_;
  std::deque<Flight> flights_;  // in the order in which they were sent
};

}  // namespace godwit::ops
