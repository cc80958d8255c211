#include "ref/stream/broker.hpp"

#include "base/fail.hpp"

namespace godwit::ref::stream {

Result<std::optional<Draft>> TopicOut::room_for(std::size_t) {
  return std::optional<Draft>();
}

Status TopicOut::append_draft(Draft&, std::chrono::nanoseconds) {
  return fail(ErrorCode::unsupported, "topic '{}' is kept where this process cannot write",
              topic());
}

}  // namespace godwit::ref::stream
