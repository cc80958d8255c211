// What the home says to those whom it refuses something about a stream. Off the hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fail.hpp"
#include "ref/stream/topic.hpp"

namespace godwit::ref::stream {

using Refusal = tl::unexpected<Error>;

[[nodiscard]] Refusal refuse_topic(TopicId topic, NodeId home);
[[nodiscard]] Refusal refuse_name(std::string_view name, NodeId home);
[[nodiscard]] Refusal refuse_group(const Topic& topic, GroupId group);
[[nodiscard]] Refusal refuse_type(const Topic& topic);
[[nodiscard]] Refusal refuse_lease(const Topic& topic, LeaseId lease, Member member);
[[nodiscard]] Refusal refuse_lapsed(const Topic& topic, LeaseId lease);
[[nodiscard]] Refusal refuse_waiter(const Topic& topic, std::uint64_t waiter, ErrorCode code);
// What it ended with, or that it was closed.
[[nodiscard]] Refusal refuse_ended(const Topic& topic);
[[nodiscard]] Refusal refuse_second_producer(const Topic& topic, Member member, Member other);
[[nodiscard]] Refusal refuse_producer(const Topic& topic, Member member);
[[nodiscard]] Refusal refuse_consumer(const Topic& topic, const Group& group, Member member);
[[nodiscard]] Refusal refuse_full(const Topic& topic, std::uint64_t bytes);
[[nodiscard]] Refusal refuse_empty(const Topic& topic, const Group& group);
[[nodiscard]] Refusal refuse_more(const Topic& topic, std::string_view what, std::size_t limit);
[[nodiscard]] Error lost_producer(const Topic& topic, Member member);

[[nodiscard]] Status check_name(std::string_view name, std::string_view what);
[[nodiscard]] Status check_options(const TopicOptions& options);
[[nodiscard]] Status check_options(const FetchOptions& options);

}  // namespace godwit::ref::stream
