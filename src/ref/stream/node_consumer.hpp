// A consumer of a topic that a node is the home of.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "godwit/error.hpp"
#include "godwit/stream_options.hpp"
#include "ref/stream/broker.hpp"
#include "ref/stream/topic_access.hpp"

namespace godwit::ref::stream {

class NodeConsumer final : public ConsumerCore {
 public:
  [[nodiscard]] static Result<std::shared_ptr<NodeConsumer>> join(
      std::shared_ptr<TopicAccess> topic, std::string_view group, const ConsumerOptions& options);
  NodeConsumer(std::shared_ptr<TopicAccess> topic, const ConsumerOptions& options)
      : topic_(std::move(topic)), options_(options) {}

  // Errors: those of StreamStore::fetch(), deadline.
  [[nodiscard]] Result<std::shared_ptr<LeasedItems>> next(
      std::chrono::nanoseconds at_most) override;
  [[nodiscard]] Status seek(StartAt to) override;

 private:
  using Clock = std::chrono::steady_clock;
  // Of a question that waits at the home; then it is asked anew.
  static constexpr std::chrono::seconds kAskFor{60};

  void ask();
  [[nodiscard]] Result<LeasedItems::Parts> parts_of(detail::CallHandle call,
                                                    const wire::ObjectAnswerView& answer);
  [[nodiscard]] bool still_ours(std::uint64_t lease) const;

  const std::shared_ptr<TopicAccess> topic_;
  const ConsumerOptions options_;
  std::uint64_t group_ = 0;
  detail::CallHandle fetch_;  // under way, or empty
  Clock::time_point asked_at_{};
};

}  // namespace godwit::ref::stream
