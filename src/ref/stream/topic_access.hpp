// One producer's or consumer's way to the home of its topic.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/stream_options.hpp"
#include "ref/access/access.hpp"
#include "ref/stream/leased_items.hpp"
#include "wire/stream.hpp"

namespace godwit::ref::stream {

// What a member wants of a topic when it opens it.
struct Opening {
  std::string_view topic;
  std::uint64_t type = 0;
  const godwit::TopicOptions* options = nullptr;  // null: as they are
  std::uint64_t producer = 0;                     // 0: none; or a ProducerKind + 1
};

// Any thread. From open() on, the process tells the home that it is there; resigns when destroyed.
class TopicAccess final : public Leases {
 public:
  // Errors: those of the home (stream_store.hpp), and what becomes of calls.
  [[nodiscard]] static Result<std::shared_ptr<TopicAccess>> open(ObjectAccess& access, NodeId home,
                                                                 const Opening& opening);
  TopicAccess(ObjectAccess& access, NodeId home, std::string_view topic, bool maps);
  ~TopicAccess() override;
  TopicAccess(const TopicAccess&) = delete;
  TopicAccess& operator=(const TopicAccess&) = delete;

  [[nodiscard]] ObjectAccess& access() const noexcept { return access_; }
  [[nodiscard]] NodeId home() const noexcept { return home_; }
  [[nodiscard]] const std::string& topic() const noexcept { return topic_; }
  [[nodiscard]] bool maps() const noexcept { return maps_; }
  [[nodiscard]] std::uint64_t max_bytes() const noexcept { return max_bytes_; }

  // A request of this member, about this topic.
  [[nodiscard]] wire::StreamRequest request(wire::StreamOp op) const noexcept;
  // Sends it. The tail is lent until the call has ended.
  [[nodiscard]] detail::CallHandle start(const wire::StreamRequest& request,
                                         std::span<const Bytes> tail = {},
                                         std::chrono::nanoseconds time_left = {},
                                         Ask how = Ask::at_once) const;
  // Sends it and waits. What the home cannot do at once it is asked to do slowly, unless that is
  // what it was asked for.
  [[nodiscard]] Result<AnsweredItem> ask(const wire::StreamRequest& request,
                                         std::span<const Bytes> tail = {},
                                         std::chrono::nanoseconds time_left = {},
                                         Ask how = Ask::at_once) const;

  // Nothing is waited for.
  void acked(const LeasedItems& items, std::vector<OffsetRange> ranges,
             std::vector<OffsetRange> rest) const override;
  void all_acked(const LeasedItems& items) const override;
  void given_back(const LeasedItems& items) const override;

 private:
  ObjectAccess& access_;
  const NodeId home_;
  const std::string topic_;
  const bool maps_;
  const std::uint64_t member_;
  std::uint64_t id_ = 0;
  std::uint64_t max_bytes_ = 0;
};

// The same without being anybody: for what operators ask.
[[nodiscard]] Result<AnsweredItem> ask_about_topics(ObjectAccess& access, NodeId home,
                                                    wire::StreamRequest request,
                                                    std::string_view tail = {});

}  // namespace godwit::ref::stream
