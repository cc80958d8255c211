// A node as the broker of the topics it is the home of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "godwit/fleet.hpp"
#include "ref/stream/broker.hpp"
#include "ref/stream/topic_access.hpp"

namespace godwit::ref::stream {

class NodeBroker final : public BrokerCore {
 public:
  explicit NodeBroker(const NodeHandle& node) : node_(node) {}

  [[nodiscard]] std::string name() const override { return node_.name(); }
  [[nodiscard]] Result<std::shared_ptr<TopicOut>> produce(std::string_view topic,
                                                          std::uint64_t type,
                                                          const ProducerOptions& options) override;
  [[nodiscard]] Result<std::shared_ptr<ConsumerCore>> join(std::string_view topic,
                                                           std::string_view group,
                                                           std::uint64_t type,
                                                           const ConsumerOptions& options) override;
  [[nodiscard]] Result<std::vector<TopicStatus>> list(std::size_t at_most) override;
  [[nodiscard]] Result<TopicStatus> status(std::string_view topic) override;
  [[nodiscard]] Status remove(std::string_view topic) override;
  [[nodiscard]] Status remove_group(std::string_view topic, std::string_view group) override;

 private:
  struct Described {
    std::uint64_t id = 0;
    TopicStatus status{};
    std::vector<std::uint64_t> groups{};  // their ids
  };
  [[nodiscard]] Result<AnsweredItem> ask(const wire::StreamRequest& request,
                                         std::string_view tail = {}) const;
  [[nodiscard]] Status tell(const wire::StreamRequest& request) const;
  [[nodiscard]] Result<std::uint64_t> find(std::string_view topic) const;
  [[nodiscard]] Result<Described> describe(std::string_view topic) const;

  const NodeHandle node_;
};

}  // namespace godwit::ref::stream
