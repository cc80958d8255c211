// Asking for code: whom, in which order, and what happens when nobody has it.
//
// Those who brought the calls are asked first, then whoever they refer to, and last, for calls that
// travel, the nodes that took them in: their origins are the ones that must have had it.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {

wire::CodeTarget Engine::own_target() const {
  const code::TargetInfo& own = store_->target();
  wire::CodeTarget target;
  target.machine = static_cast<std::uint8_t>(own.machine);
  target.has_jit = own.has_jit ? 1 : 0;
  target.llvm_major = own.llvm_major;
  return target;
}

// May end the parked calls.
void Engine::want_code(ContentId bundle) {
  const auto it = parked_.find(bundle);
  if (it != parked_.end() && it->second.question == 0) seek_code(bundle);
}

void Engine::seek_code(const ContentId& bundle) {
  Parked& parked = parked_.at(bundle);
  if (const auto next = next_source(parked)) {
    parked.asked.push_back(*next);
    parked.question = next_question_;
    ask({.bundle = bundle, .source = *next, .target = own_target()});
    return;
  }
  const Error& last = parked.last_error;
  if (parked.asked.size() <= 1) return fail_parked(bundle, Error(last));
  fail_parked(bundle,
              {last.code, fmt::format("none of the {} that were asked has bundle {}; the "
                                      "last one: {}",
                                      parked.asked.size(), bundle.short_hex(), last.message)});
}

std::optional<CodeSource> Engine::next_source(Parked& parked) {
  std::optional<CodeSource> next;
  const auto consider = [&](const CodeSource& source) {
    const auto same = [&](const CodeSource& asked) {
      return asked.node == source.node && asked.intake_call == source.intake_call;
    };
    if (next || std::any_of(parked.asked.begin(), parked.asked.end(), same)) return;
    next = source;
  };
  if (parked.asked.size() >= Parked::kMaxAsked) return next;
  parked.calls.for_each([&](IncomingCall& call) {
    const NodeId from = call.link->peer->id;
    const bool intake = call.travels && call.travel.intake_node == from.value;
    consider({from, intake ? call.travel.intake_call : 0, call.link});
  });
  for (const NodeId node : parked.referrals) consider({node});
  parked.calls.for_each([&](IncomingCall& call) {
    if (!call.travels) return;
    if (const NodeId intake{call.travel.intake_node}; intake != options_.self) {
      return consider({intake, call.travel.intake_call});
    }
    const auto it = travelling_.find(call.travel.intake_call);
    if (it == travelling_.end() || it->second->link == nullptr) return;
    consider({it->second->link->peer->id, 0, it->second->link});
  });
  return next;
}

void Engine::ask(Question question) {
  const std::uint64_t id = next_question_++;
  question.asked_at = scheduler_.now();
  if (question.relay.port != nullptr) ++relays_;
  LinkState* link = std::exchange(question.source.link, nullptr);
  Peer& peer = peer_of(question.source.node);
  if (link == nullptr) link = peer.link();
  Question& asked = questions_.emplace(id, std::move(question)).first->second;
  arm_sweep();
  if (link != nullptr) {
    send_question(id, asked, *link);
  } else {
    dial(peer);  // send_questions_for() or lose_questions_for() follows, maybe from inside
  }
}

void Engine::send_question(std::uint64_t id, Question& question, LinkState& link) {
  question.source.link = &link;
  ++link.asking;
  wire::NeedCode need;
  need.bundle = question.bundle;
  need.target = question.target;
  need.intake_call = question.source.intake_call;
  wire::Header header;
  header.kind = wire::Kind::need_code;
  header.flags = question.relay.port != nullptr ? wire::kRelayed : std::uint8_t{0};
  header.id = id;
  const Bytes body = bytes_of_value(need);
  ++stats_.need_code_sent;
  send_message(link, header, {&body, 1}, {}, nullptr);
}

void Engine::send_questions_for(Peer& peer, LinkState& link) {
  for (auto& [id, question] : questions_) {
    if (question.source.node == peer.id && question.source.link == nullptr) {
      send_question(id, question, link);
    }
  }
}

// Answered, or given up.
std::optional<Question> Engine::take_question(std::uint64_t id) {
  auto node = questions_.extract(id);
  if (node.empty()) return std::nullopt;
  const Question& question = node.mapped();
  if (question.relay.port != nullptr) --relays_;
  if (LinkState* link = question.source.link; link != nullptr) {
    --link->asking;
    if (link->leaving) farewell(*link);
  }
  return std::move(node.mapped());
}

void Engine::question_failed(std::uint64_t id, const Error& why) {
  const auto question = take_question(id);
  if (!question) return;
  if (question->relay.port != nullptr) return relay_refusal(*question, why, {});
  const auto it = parked_.find(question->bundle);
  if (it == parked_.end() || it->second.question != id) return;
  it->second.question = 0;
  it->second.last_error = why;
  seek_code(question->bundle);
}

void Engine::lose_questions(const LinkState& link, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, question] : questions_) {
    if (question.source.link == &link) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) {
    question_failed(id, {ErrorCode::unknown_code,
                         fmt::format("the link to {}, which was asked for the code, broke: {}",
                                     link.peer->describe(), why.message)});
  }
}

void Engine::lose_questions_for(const Peer& peer, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, question] : questions_) {
    if (question.source.node == peer.id && question.source.link == nullptr) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) {
    question_failed(
        id, {ErrorCode::unknown_code, fmt::format("cannot reach {}, which may have the code: {}",
                                                  peer.describe(), why.message)});
  }
}

void Engine::sweep_questions(Time now) {
  std::vector<std::uint64_t> overdue;
  for (const auto& [id, question] : questions_) {
    if (question.asked_at + Question::kLimit < now) overdue.push_back(id);
  }
  for (const std::uint64_t id : overdue) {
    question_failed(id, {ErrorCode::unknown_code, "no answer came to the question for the code"});
  }
  std::vector<ContentId> slow;
  for (const auto& [bundle, parked] : parked_) {
    const auto it = questions_.find(parked.question);
    if (it != questions_.end() && it->second.asked_at + Question::kPatience < now) {
      slow.push_back(bundle);
    }
  }
  // The earlier question stays: whichever answer comes first serves.
  for (const ContentId& bundle : slow) {
    const auto it = parked_.find(bundle);
    if (it != parked_.end() && next_source(it->second)) seek_code(bundle);
  }
}

void Engine::fail_parked(const ContentId& bundle, const Error& error) {
  const auto it = parked_.find(bundle);
  if (it == parked_.end()) return;
  std::vector<IncomingCall*> calls;
  it->second.calls.for_each([&](IncomingCall& call) { calls.push_back(&call); });
  for (IncomingCall* call : calls) {
    answer(*call, {Ending::rejected, false, error.code}, bytes_of(error.message), {});
  }
}

}  // namespace godwit::call
