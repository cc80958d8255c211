#include "node/status_queries.hpp"

#include <utility>
#include <vector>

#include "base/fail.hpp"

namespace godwit::node {

StatusQueries::~StatusQueries() {
  while (!queries_.empty()) {
    end(queries_.begin()->first, fail(ErrorCode::shutting_down, "this process is shutting down"));
  }
}

void StatusQueries::ask(NodeId node, Duration at_most, Done done) {
  if (queries_.size() >= kMaxQueries) {
    return done(fail(ErrorCode::overload, "{} nodes have been asked for their status already",
                     queries_.size()));
  }
  if (node == engine_.options().self) return done(engine_.status());
  const std::uint64_t id = next_id_++;
  const TimerId timer = scheduler_.post_at(scheduler_.now() + at_most, [this, id, at_most] {
    end(id, fail(ErrorCode::deadline,
                 "no answer within {} ms: the node may be stopped, an inline function may keep its "
                 "polling thread, or it is too old to know the question",
                 std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count()));
  });
  queries_.emplace(id, Query{node, timer, std::move(done)});
  engine_.send_or_dial(node, wire::Header{.kind = wire::Kind::ask_status, .id = id}, {});
}

void StatusQueries::on_answer(NodeId from, const wire::Header& header, Bytes body) {
  const auto it = queries_.find(header.id);
  if (it == queries_.end() || it->second.node != from) return;  // late, or nobody asked
  if (body.size() > call::kMaxStatusBytes) {
    return end(header.id, fail(ErrorCode::protocol_violation,
                               "the status is {} bytes long; at most {} are allowed", body.size(),
                               call::kMaxStatusBytes));
  }
  if (body.empty()) {
    return end(header.id, fail(ErrorCode::overload,
                               "this process has asked it more than {} times within a second: "
                               "wait a moment",
                               call::kStatusesPerSecond));
  }
  end(header.id, std::string(text_of(body)));
}

void StatusQueries::on_lost(NodeId node, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, query] : queries_) {
    if (query.node == node) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) end(id, tl::unexpected(why));
}

void StatusQueries::end(std::uint64_t id, Result<std::string> result) {
  const auto it = queries_.find(id);
  if (it == queries_.end()) return;
  Query query = std::move(it->second);
  queries_.erase(it);
  scheduler_.cancel(query.timer);
  query.done(std::move(result));
}

}  // namespace godwit::node
