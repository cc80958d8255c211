#include "ref/stream/topic_access.hpp"

#include <array>
#include <atomic>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref::stream {
namespace {

using wire::StreamOp;
using wire::StreamRequest;

std::uint64_t next_member() {
  static std::atomic<std::uint64_t> members{0};
  return ++members;
}

detail::CallHandle start_request(ObjectAccess& access, NodeId home, StreamRequest request,
                                 std::span<const Bytes> tail, std::chrono::nanoseconds time_left,
                                 Ask how) {
  const Asking asking = access.asking();
  request.epoch = asking.epoch.value;
  return send(asking,
              {.home = home, .head = bytes_of_value(request), .tail = tail, .time_left = time_left},
              how);
}

wire::TopicTerms terms_of(const godwit::TopicOptions* options) {
  if (options == nullptr) return {};
  return {.max_bytes = options->max_bytes,
          .replay_items = options->replay.items,
          .replay_bytes = options->replay.bytes,
          .replay_ns = options->replay.time.count(),
          .groups_awaited = options->groups_awaited,
          .given = 1};
}

}  // namespace

TopicAccess::TopicAccess(ObjectAccess& access, NodeId home, std::string_view topic, bool maps)
    : access_(access), home_(home), topic_(topic), maps_(maps), member_(next_member()) {
  access_.hold(home_);
}

TopicAccess::~TopicAccess() {
  if (id_ != 0) start(request(StreamOp::resign)).detach();
  access_.let_go(home_);
}

Result<std::shared_ptr<TopicAccess>> TopicAccess::open(ObjectAccess& access, NodeId home,
                                                       const Opening& opening) {
  GODWIT_TRY(const bool maps, access.can_map(home));
  auto made = std::make_shared<TopicAccess>(access, home, opening.topic, maps);
  StreamRequest request = made->request(StreamOp::open);
  request.a = opening.producer;
  request.b = opening.type;
  const wire::TopicTerms terms = terms_of(opening.options);
  const std::array<Bytes, 2> tail{bytes_of_value(terms), bytes_of(opening.topic)};
  GODWIT_TRY(const AnsweredItem answered, made->ask(request, tail));
  made->id_ = answered.answer.fixed.value;
  made->max_bytes_ = answered.answer.fixed.size;
  return made;
}

StreamRequest TopicAccess::request(StreamOp op) const noexcept {
  return {.op = op, .member = member_, .topic = id_};
}

detail::CallHandle TopicAccess::start(const StreamRequest& request, std::span<const Bytes> tail,
                                      std::chrono::nanoseconds time_left, Ask how) const {
  return start_request(access_, home_, request, tail, time_left, how);
}

Result<AnsweredItem> TopicAccess::ask(const StreamRequest& request, std::span<const Bytes> tail,
                                      std::chrono::nanoseconds time_left, Ask how) const {
  detail::CallHandle call = start(request, tail, time_left, how);
  call.wait();
  auto answered = finish_one(std::move(call));
  if (!answered && answered.error().code == ErrorCode::would_block && how == Ask::at_once) {
    return ask(request, tail, time_left, Ask::slowly);
  }
  return answered;
}

// What the home knows no more, it needs no news of.
void TopicAccess::acked(const LeasedItems& items, std::vector<OffsetRange> ranges,
                        std::vector<OffsetRange> rest) const {
  StreamRequest news = request(StreamOp::ack);
  news.lease = items.parts().lease;
  if (!rest.empty()) news.a = static_cast<std::uint64_t>(items.parts().lease_time.count());
  const Bytes tail = std::as_bytes(std::span(ranges));
  start(news, {&tail, 1}).detach();
}

void TopicAccess::all_acked(const LeasedItems& items) const {
  acked(items, {}, {});
}

void TopicAccess::given_back(const LeasedItems& items) const {
  StreamRequest news = request(StreamOp::give_back);
  news.lease = items.parts().lease;
  start(news).detach();
}

Result<AnsweredItem> ask_about_topics(ObjectAccess& access, NodeId home, StreamRequest request,
                                      std::string_view tail) {
  const Bytes text = bytes_of(tail);
  detail::CallHandle call = start_request(access, home, request, {&text, 1}, {}, Ask::slowly);
  call.wait();
  return finish_one(std::move(call));
}

}  // namespace godwit::ref::stream
