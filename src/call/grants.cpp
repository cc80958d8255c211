#include "call/grants.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"

namespace godwit::call {
namespace {

constexpr std::size_t kMaxReasonBytes = 1024;

Error reason_of(const wire::Header& header, Bytes body) {
  const auto code = static_cast<ErrorCode>(header.aux);
  return {code == ErrorCode::none ? ErrorCode::protocol_violation : code,
          std::string(text_of(body.first(std::min(body.size(), kMaxReasonBytes))))};
}

}  // namespace

Grants::Grants(Engine& engine, Scheduler& scheduler, Kinds kinds, Grant grant)
    : engine_(engine), scheduler_(scheduler), kinds_(kinds), grant_(std::move(grant)) {}

Grants::~Grants() {
  while (!questions_.empty()) {
    end(questions_.begin()->first, fail(ErrorCode::shutting_down, "this process is shutting down"));
  }
}

void Grants::ask(NodeId home, const wire::Header& question, Duration at_most, Done done) {
  if (questions_.size() >= kMaxQuestions) {
    return done(fail(ErrorCode::overload, "{} pieces of memory have been asked for already",
                     questions_.size()));
  }
  const std::uint64_t id = next_id_++;
  const TimerId timer = scheduler_.post_at(scheduler_.now() + at_most, [this, id, at_most] {
    end(id, fail(ErrorCode::deadline, "the home did not answer within {} ms",
                 std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count()));
  });
  questions_.emplace(id, Question{home, timer, std::move(done)});
  wire::Header header = question;
  header.kind = kinds_.ask;
  header.id = id;
  engine_.send_or_dial(home, header, {});
}

bool Grants::on_message(NodeId from, const wire::Header& header, Bytes body) {
  if (header.kind == kinds_.ask) {
    answer(from, header);
    return true;
  }
  if (header.kind != kinds_.granted) return false;
  const auto question = questions_.find(header.id);
  if (question != questions_.end() && question->second.home == from) {
    end(header.id, tl::unexpected(reason_of(header, body)));
  }
  return true;
}

bool Grants::on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                            std::span<fabric::Fd> descriptors) {
  if (header.kind != kinds_.granted) return false;
  const auto question = questions_.find(header.id);
  const bool ours = question != questions_.end() && question->second.home == from;
  if (ours) end(header.id, Granted{body, descriptors});  // otherwise it is late
  return true;
}

void Grants::on_lost(NodeId node, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, question] : questions_) {
    if (question.home == node) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) end(id, tl::unexpected(why));
}

void Grants::end(std::uint64_t id, Result<Granted> result) {
  const auto it = questions_.find(id);
  if (it == questions_.end()) return;
  Question question = std::move(it->second);
  questions_.erase(it);
  scheduler_.cancel(question.timer);
  question.done(std::move(result));
}

void Grants::answer(NodeId asker, const wire::Header& question) {
  const Status granted = grant_(asker, question);
  if (granted) return;
  engine_.send_or_dial(asker,
                       wire::Header{.kind = kinds_.granted,
                                    .aux = static_cast<std::uint32_t>(granted.error().code),
                                    .id = question.id},
                       bytes_of(granted.error().message));
}

}  // namespace godwit::call
