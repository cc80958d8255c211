// A region as one process uses it: where its shards are, and those of this host mapped.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "call/call_count.hpp"
#include "godwit/codec.hpp"
#include "godwit/sharding.hpp"
#include "ops/choice.hpp"
#include "ops/failure.hpp"
#include "ops/functions.hpp"
#include "ops/region_host.hpp"

namespace godwit::ops {

// Any thread. What an id stands for never changes but for the count of elements and the state, so
// that everything else is read without a lock.
class Attachment {
 public:
  struct Shard {
    NodeId node;
    Epoch epoch;
    std::shared_ptr<const region::MappedShard> mapped;  // null: to be reached by calls
  };

  // Maps what can be mapped; waits for the homes to answer. The host outlives the attachment.
  [[nodiscard]] static std::shared_ptr<Attachment> create(RegionHost& host,
                                                          wire::RegionDescriptor descriptor);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  [[nodiscard]] RegionHost& host() const noexcept { return host_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const ShardMap& map() const noexcept { return map_; }
  [[nodiscard]] std::uint32_t element_size() const noexcept { return element_size_; }
  [[nodiscard]] bool is_word() const noexcept {
    return element_size_ <= 8 && (element_size_ & (element_size_ - 1)) == 0;
  }
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return shards_; }
  [[nodiscard]] bool is_all_mapped() const noexcept { return is_all_mapped_; }

  // As far as known here.
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return elements_.load(std::memory_order_acquire);
  }
  // Whether the elements below `end` exist. Asks the table anew if they do not: somebody may have
  // made the region larger.
  [[nodiscard]] bool reaches(std::uint64_t end) const {
    return end <= elements() || end <= refreshed_elements();
  }
  // What the table knows now; the descriptor it was made with if the table has forgotten.
  [[nodiscard]] wire::RegionDescriptor descriptor() const;
  // A newer descriptor of this region.
  void learn(const wire::RegionDescriptor& newer);

  // Whether elements exist, as the outcome of `verb`.
  [[nodiscard]] Outcome<void> check(const char* verb, std::uint64_t first,
                                    std::uint64_t count) const;
  // Why a mapped shard is not good any more.
  [[nodiscard]] Failure why_not_good(const Note& note) const;
  [[nodiscard]] Note note(const char* verb, std::uint64_t first, std::uint64_t count,
                          std::uint32_t shard) const noexcept {
    return {name_, verb, first, count, shard};
  }

  // As calibrate() left them; not known before. Read by every operation that chooses.
  [[nodiscard]] StepCosts step_costs() const {
    const std::lock_guard lock(costs_mutex_);
    return costs_;
  }
  void remember(const StepCosts& costs) const {
    const std::lock_guard lock(costs_mutex_);
    costs_ = costs;
    remembered_ = CostBook::Clock::now();
    is_calibrated_.store(true, std::memory_order_release);
  }
  // When that was.
  [[nodiscard]] CostBook::Clock::time_point remembered() const {
    const std::lock_guard lock(costs_mutex_);
    return remembered_;
  }
  [[nodiscard]] bool is_calibrated() const noexcept {
    return is_calibrated_.load(std::memory_order_acquire);
  }

  // Waits until the changes that were begun before have ended. Several threads take turns.
  void fence();

  // A call to fill in, with a note of what it is about; empty: too many are outstanding. One that
  // changes elements is waited for by fences, and must be started.
  [[nodiscard]] detail::CallHandle prepare(const Note& note, bool changes_elements) const {
    detail::CallHandle call = detail::CallHandle::prepare(host_.caller());
    if (!call) return call;
    annotate(call, note);
    if (changes_elements) call.count_in(changes());
    return call;
  }

  // Calls a function of the ops bundle at a shard's home. Arguments longer than a KiB are lent.
  template <class... Args>
  [[nodiscard]] detail::CallHandle call(Op op, const Note& note, const Args&... args) const {
    constexpr std::size_t kWorthLending = 1024;
    return call_lending(kWorthLending, op, note, args...);
  }
  // The same; nothing is lent.
  template <class... Args>
  [[nodiscard]] detail::CallHandle call_copying(Op op, const Note& note,
                                                const Args&... args) const {
    return call_lending(SIZE_MAX, op, note, args...);
  }

 private:
  template <class... Args>
  [[nodiscard]] detail::CallHandle call_lending(std::size_t worth_lending, Op op, const Note& note,
                                                const Args&... args) const {
    detail::CallHandle call = prepare(note, is_change(op));
    if (!call) return call;
    const std::uint64_t node = shards_[note.shard].node.value;
    call::FunctionRef& target = function(op, host_.caller());
    const auto time_left = host_.caller().options().default_deadline;
    if constexpr (kAllPlain<Args...>) {
      static_assert(BlobHead<Args...>::kSize <= kArgumentBytes);
      write_plain_blob(call.small().data(), args...);
      call.start(node, target, BlobHead<Args...>::kSize, time_left);
    } else {
      std::array<detail::Blob, 2 * sizeof...(Args) + 1> parts;
      BlobWriter writer(call.small().first(kArgumentBytes), parts, worth_lending);
      write_blob(writer, args...);
      if (!writer.fits()) {
        writer = BlobWriter(call.large(writer.copied()), parts, worth_lending);
        write_blob(writer, args...);
      }
      call.start(node, target, std::span(parts).first(writer.part_count()), time_left);
    }
    return call;
  }

  Attachment(RegionHost& host, wire::RegionDescriptor descriptor);
  void map_shards();
  [[nodiscard]] std::shared_ptr<call::CallCount> changes() const;
  [[nodiscard]] std::uint64_t refreshed_elements() const;

  RegionHost& host_;
  const wire::RegionDescriptor original_;
  const std::uint64_t id_;
  const std::string name_;
  const std::vector<std::uint32_t> placement_;  // what map_ points at
  const ShardMap map_;
  const std::uint32_t element_size_;
  std::vector<Shard> shards_;
  bool is_all_mapped_ = false;
  mutable std::atomic<std::uint64_t> elements_;
  mutable std::mutex costs_mutex_;
  mutable StepCosts costs_;
  mutable CostBook::Clock::time_point remembered_;
  mutable std::atomic<bool> is_calibrated_ = false;
  std::mutex fence_mutex_;
  mutable std::mutex changes_mutex_;
  std::shared_ptr<call::CallCount> changes_;  // begun since the last fence
};

}  // namespace godwit::ops
