#include "call/code_search.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::call {

CodeSearch::CodeSearch(Scheduler& scheduler, CodeSearchHost& host, NodeId self)
    : scheduler_(scheduler),
      host_(host),
      self_node_(self),
      self_(std::make_shared<CodeSearch*>(this)) {}

CodeSearch::~CodeSearch() {
  *self_ = nullptr;
}

// --- Calls that wait for code -------------------------------------------------------------------

void CodeSearch::park(IncomingCall& call) {
  wanted_[call.bundle_id].calls.push_back(call);
  arm_sweep();
}

void CodeSearch::remove(IncomingCall& call) {
  if (!static_cast<ListHook<ParkedTag>&>(call).linked()) return;
  const auto it = wanted_.find(call.bundle_id);
  it->second.calls.remove(call);
  if (it->second.calls.empty()) wanted_.erase(it);
}

void CodeSearch::want(ContentId bundle) {
  const auto it = wanted_.find(bundle);
  if (it != wanted_.end() && it->second.question == 0) seek(bundle);
}

std::vector<IncomingCall*> CodeSearch::take(const ContentId& bundle) {
  std::vector<IncomingCall*> calls;
  const auto it = wanted_.find(bundle);
  if (it == wanted_.end()) return calls;
  while (!it->second.calls.empty()) calls.push_back(&it->second.calls.pop_front());
  wanted_.erase(it);
  return calls;
}

void CodeSearch::give_up(const ContentId& bundle, const Error& why) {
  const auto it = wanted_.find(bundle);
  if (it == wanted_.end()) return;
  std::vector<IncomingCall*> calls;
  it->second.calls.for_each([&](IncomingCall& call) { calls.push_back(&call); });
  for (IncomingCall* call : calls) host_.end_parked(*call, Ending::rejected, why);
}

// --- Whom to ask --------------------------------------------------------------------------------

void CodeSearch::seek(const ContentId& bundle) {
  Wanted& wanted = wanted_.at(bundle);
  if (const auto next = next_source(wanted)) {
    wanted.asked.push_back(*next);
    wanted.question = next_question_;  // before it is asked: it may fail from inside
    ask({.bundle = bundle, .source = *next});
    return;
  }
  const Error last = wanted.last_error;
  if (wanted.asked.size() <= 1) return give_up(bundle, last);
  give_up(bundle, {last.code, fmt::format("none of the {} that were asked has bundle {}; the "
                                          "last one: {}",
                                          wanted.asked.size(), bundle.short_hex(), last.message)});
}

std::optional<CodeSource> CodeSearch::next_source(Wanted& wanted) {
  std::optional<CodeSource> next;
  const auto consider = [&](const CodeSource& source) {
    const auto same = [&](const CodeSource& asked) {
      return asked.node == source.node && asked.intake_call == source.intake_call;
    };
    if (next || std::any_of(wanted.asked.begin(), wanted.asked.end(), same)) return;
    next = source;
  };
  if (wanted.asked.size() >= kMaxAsked) return next;
  wanted.calls.for_each([&](IncomingCall& call) {
    const NodeId from = call.link->peer->id;
    const bool intake = call.travels && call.travel.intake_node == from.value;
    consider({from, intake ? call.travel.intake_call : 0, call.link});
  });
  for (const NodeId node : wanted.referrals) consider({node});
  wanted.calls.for_each([&](IncomingCall& call) {
    if (!call.travels) return;
    if (const NodeId intake{call.travel.intake_node}; intake != self_node_) {
      return consider({intake, call.travel.intake_call});
    }
    if (LinkState* origin = host_.origin_link(call.travel.intake_call); origin != nullptr) {
      consider({origin->peer->id, 0, origin});
    }
  });
  return next;
}

// The question came to nothing. If it is the latest for its bundle, the next one follows.
void CodeSearch::go_on(std::uint64_t id, const ContentId& bundle, const Error& why) {
  const auto it = wanted_.find(bundle);
  if (it == wanted_.end() || it->second.question != id) return;
  it->second.question = 0;
  it->second.last_error = why;
  // Of the bundle itself, so it is the same wherever one asks.
  if (why.code == ErrorCode::no_slice) return give_up(bundle, why);
  seek(bundle);
}

// --- Questions ----------------------------------------------------------------------------------

void CodeSearch::ask_for_offer(const ContentId& bundle, LinkState& from) {
  if (questions_.size() >= kMaxQuestions) return;
  ask({.bundle = bundle, .source = {from.peer->id, 0, &from}});
}

bool CodeSearch::ask_for_other(const ContentId& bundle, LinkState& source,
                               const Question::Relay& relay) {
  if (relays_ >= kMaxRelays) return false;
  ask({.bundle = bundle, .source = {source.peer->id, 0, &source}, .relay = relay});
  return true;
}

void CodeSearch::ask(Question question) {
  const std::uint64_t id = next_question_++;
  question.asked_at = scheduler_.now();
  if (question.relay) ++relays_;
  LinkState* link = std::exchange(question.source.link, nullptr);
  const NodeId node = question.source.node;
  Question& asked = questions_.emplace(id, std::move(question)).first->second;
  arm_sweep();
  if (link == nullptr) link = host_.link_to(node);
  if (link != nullptr) send(id, asked, *link);
}

void CodeSearch::send(std::uint64_t id, Question& question, LinkState& link) {
  question.source.link = &link;
  ++link.asking;
  host_.send_question(link, id, question);
}

// Answered, or given up.
std::optional<Question> CodeSearch::end(std::uint64_t id) {
  auto node = questions_.extract(id);
  if (node.empty()) return std::nullopt;
  const Question& question = node.mapped();
  if (question.relay) --relays_;
  if (LinkState* link = question.source.link; link != nullptr) {
    --link->asking;
    host_.eased(*link);
  }
  return std::move(node.mapped());
}

const Question* CodeSearch::find(std::uint64_t id, const LinkState& link) const {
  const auto it = questions_.find(id);
  return it != questions_.end() && it->second.source.link == &link ? &it->second : nullptr;
}

Question CodeSearch::answered(std::uint64_t id) {
  return end(id).value();
}

void CodeSearch::arrived(const ContentId& bundle) {
  if (const auto it = wanted_.find(bundle); it != wanted_.end()) it->second.question = 0;
}

void CodeSearch::unsound(std::uint64_t id, const ContentId& bundle, const Error& why) {
  go_on(id, bundle, why);  // another copy may be sound
}

bool CodeSearch::refused(std::uint64_t id, const Error& why, NodeId referral) {
  const auto question = end(id);
  if (!question) return false;
  if (question->relay) {
    host_.refuse_relayed(*question, why, referral);
    return false;
  }
  const auto it = wanted_.find(question->bundle);
  if (it == wanted_.end()) return false;
  std::vector<NodeId>& referrals = it->second.referrals;
  const bool follow = referral && referral != self_node_ && referrals.size() < kMaxReferrals;
  if (follow) referrals.push_back(referral);
  go_on(id, question->bundle, why);
  return follow;
}

// --- Links --------------------------------------------------------------------------------------

void CodeSearch::link_up(NodeId node, LinkState& link) {
  for (auto& [id, question] : questions_) {
    if (question.source.node == node && question.source.link == nullptr) send(id, question, link);
  }
}

void CodeSearch::link_down(const LinkState& link, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, question] : questions_) {
    if (question.source.link == &link) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) {
    refused(id,
            {ErrorCode::unknown_code,
             fmt::format("the link to {}, which was asked for the code, broke: {}",
                         link.peer->describe(), why.message)},
            {});
  }
}

void CodeSearch::unreachable(const Peer& peer, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, question] : questions_) {
    if (question.source.node == peer.id && question.source.link == nullptr) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) {
    refused(id,
            {ErrorCode::unknown_code, fmt::format("cannot reach {}, which may have the code: {}",
                                                  peer.describe(), why.message)},
            {});
  }
}

// --- What is late -------------------------------------------------------------------------------

void CodeSearch::arm_sweep() {
  if (sweep_armed_) return;
  sweep_armed_ = true;
  scheduler_.post_at(scheduler_.now() + std::chrono::seconds(1), [self = self_] {
    if (*self != nullptr) (*self)->sweep();
  });
}

void CodeSearch::sweep() {
  sweep_armed_ = false;
  const Time now = scheduler_.now();
  end_late_calls(now);
  end_unanswered(now);
  ask_past_the_slow(now);
  if (!wanted_.empty() || !questions_.empty()) arm_sweep();
}

void CodeSearch::end_late_calls(Time now) {
  std::vector<IncomingCall*> late;
  for (auto& [bundle, wanted] : wanted_) {
    wanted.calls.for_each([&](IncomingCall& call) {
      if (call.deadline < now) late.push_back(&call);
    });
  }
  for (IncomingCall* call : late) {
    host_.end_parked(
        *call, Ending::deadline,
        {ErrorCode::deadline, "the deadline passed while the call waited for its code"});
  }
}

void CodeSearch::end_unanswered(Time now) {
  std::vector<std::uint64_t> unanswered;
  for (const auto& [id, question] : questions_) {
    if (question.asked_at + kLimit < now) unanswered.push_back(id);
  }
  for (const std::uint64_t id : unanswered) {
    refused(id, {ErrorCode::unknown_code, "no answer came to the question for the code"}, {});
  }
}

// The earlier question stays: whichever answer comes first serves.
void CodeSearch::ask_past_the_slow(Time now) {
  std::vector<ContentId> slow;
  for (const auto& [bundle, wanted] : wanted_) {
    const auto it = questions_.find(wanted.question);
    if (it != questions_.end() && it->second.asked_at + kPatience < now) slow.push_back(bundle);
  }
  for (const ContentId& bundle : slow) {
    const auto it = wanted_.find(bundle);
    if (it != wanted_.end() && next_source(it->second)) seek(bundle);
  }
}

}  // namespace godwit::call
