// How a topic is doing, and its groups: what list_topics() and topic_status() of stream.hpp return.
//
// Values, as the topic's home, or the Redis server, had them when it answered: the topic may be
// gone by now. Counters count from the topic's beginning on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "godwit/error.hpp"

namespace godwit {

struct GroupStatus {
  std::string name;
  std::uint64_t next = 0;         // offset of the first item that was not given to anybody
  std::uint64_t acked = 0;        // offset up to which everything is acked
  std::uint64_t lag = 0;          // items not acked, and not known to be unwanted
  std::uint64_t leased = 0;       // items that a consumer has, and has not acked
  std::uint64_t delivered = 0;    // items given to consumers
  std::uint64_t redelivered = 0;  // of these, again
  std::uint64_t filtered = 0;     // items that the group did not want
  std::uint32_t consumers = 0;
};

struct TopicStatus {
  std::string name;
  std::uint64_t oldest = 0;  // offset of the first item that is kept
  std::uint64_t end = 0;     // how many items there were
  std::uint64_t appended_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t refused = 0;  // sends that had to wait for room
  std::uint32_t producers = 0;
  std::uint32_t group_count = 0;
  bool ended = false;
  ErrorCode error = ErrorCode::none;  // that it ended with
  std::vector<GroupStatus> groups{};  // of topic_status() alone
};

}  // namespace godwit
