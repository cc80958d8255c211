// Code that is not here: the calls that wait for it, whom to ask for it, and the questions that are
// not answered yet.
//
// Those who brought the calls are asked first, then whoever they refer to, and last, for calls that
// travel, the nodes that took them in: their origins are the ones that must have had it.
//
// Threads: the owning thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/list.hpp"
#include "base/scheduler.hpp"
#include "call/incoming.hpp"
#include "call/link_state.hpp"
#include "godwit/error.hpp"
#include "godwit/outcome.hpp"
#include "wire/call.hpp"

namespace godwit::call {

// Somebody to ask for code.
struct CodeSource {
  NodeId node;
  std::uint64_t intake_call = 0;  // see wire::NeedCode
  LinkState* link = nullptr;      // where to ask; null: over any link, made if need be
};

// A need_code that is not answered yet.
struct Question {
  // Whom the answer is for, if not for this process, and what can run there.
  struct Relay {
    Port* port = nullptr;
    LinkId link;
    std::uint64_t question = 0;
    wire::CodeTarget target;
  };
  ContentId bundle{};
  CodeSource source{};  // its link is set once the question has been sent
  std::optional<Relay> relay{};
  Time asked_at{};
};

// What a search needs of the engine it works for.
class CodeSearchHost {
 public:
  virtual ~CodeSearchHost() = default;
  // A link to ask the node over. Null while there is none: one is being made, and link_up() or
  // unreachable() follows, maybe from inside.
  [[nodiscard]] virtual LinkState* link_to(NodeId node) = 0;
  // The link to the origin of a travelling call that was taken in here; null if either is gone.
  [[nodiscard]] virtual LinkState* origin_link(std::uint64_t intake_call) = 0;
  virtual void send_question(LinkState& link, std::uint64_t id, const Question& question) = 0;
  // One that was asked for another node came to nothing.
  virtual void refuse_relayed(const Question& question, const Error& why, NodeId referral) = 0;
  // A question less is unanswered on the link.
  virtual void eased(LinkState& link) = 0;
  // Ends a call that has not started; remove() follows, from inside.
  virtual void end_parked(IncomingCall& call, Ending ending, const Error& why) = 0;
};

class CodeSearch {
 public:
  // For one bundle; beyond either its calls end: nobody who could be asked has the code.
  static constexpr std::size_t kMaxAsked = 16;
  static constexpr std::size_t kMaxReferrals = 8;
  // Beyond this many questions at a time offers of code are ignored. Parked calls ask nevertheless:
  // they are limited themselves.
  static constexpr std::size_t kMaxQuestions = 1024;
  // Asked on behalf of other nodes at a time; beyond it those are refused.
  static constexpr std::size_t kMaxRelays = 256;
  // Somebody else is asked, too, if no answer came for so long; then none is expected any more.
  // Both are noticed within a second.
  static constexpr Duration kPatience = std::chrono::seconds(2);
  static constexpr Duration kLimit = std::chrono::seconds(60);

  CodeSearch(Scheduler& scheduler, CodeSearchHost& host, NodeId self);
  ~CodeSearch();
  CodeSearch(const CodeSearch&) = delete;
  CodeSearch& operator=(const CodeSearch&) = delete;

  // --- Calls that wait for code ---
  // Until its bundle is taken or given up, its deadline passes, or it is removed.
  void park(IncomingCall& call);
  // A call that is not parked is left alone.
  void remove(IncomingCall& call);
  // Asks for the bundle if calls wait for it and no question for it is under way. Not while it is
  // being loaded. May end the calls.
  void want(ContentId bundle);
  // It is here: whoever waited for it, in the order they came.
  [[nodiscard]] std::vector<IncomingCall*> take(const ContentId& bundle);
  // It cannot be had: ends the calls.
  void give_up(const ContentId& bundle, const Error& why);

  // --- Code that no call waits for ---
  void ask_for_offer(const ContentId& bundle, LinkState& from);
  // On behalf of another node. False: too many already.
  [[nodiscard]] bool ask_for_other(const ContentId& bundle, LinkState& source,
                                   const Question::Relay& relay);

  // --- Answers ---
  // The question, if it was asked over that link.
  [[nodiscard]] const Question* find(std::uint64_t id, const LinkState& link) const;
  // Ends a question because code has come. Exactly one of arrived() and unsound() follows, unless
  // the code is for another node.
  Question answered(std::uint64_t id);
  void arrived(const ContentId& bundle);
  void unsound(std::uint64_t id, const ContentId& bundle, const Error& why);
  // Ends a question because no code will come. True if it was given a referral that will be
  // followed.
  bool refused(std::uint64_t id, const Error& why, NodeId referral);

  // --- Links ---
  void link_up(NodeId node, LinkState& link);
  void link_down(const LinkState& link, const Error& why);
  void unreachable(const Peer& peer, const Error& why);

 private:
  struct Wanted {
    IntrusiveList<IncomingCall, ParkedTag> calls;
    std::uint64_t question = 0;  // the latest, until its answer has been dealt with; 0: none
    std::vector<CodeSource> asked;
    std::vector<NodeId> referrals;  // in the order they came
    Error last_error;
  };

  void seek(const ContentId& bundle);
  [[nodiscard]] std::optional<CodeSource> next_source(Wanted& wanted);
  void go_on(std::uint64_t id, const ContentId& bundle, const Error& why);
  void ask(Question question);
  void send(std::uint64_t id, Question& question, LinkState& link);
  std::optional<Question> end(std::uint64_t id);

  // Neither calls nor questions have a timer each; a sweep now and then finds what is late.
  void arm_sweep();
  void sweep();
  void end_late_calls(Time now);
  void end_unanswered(Time now);
  void ask_past_the_slow(Time now);

  Scheduler& scheduler_;
  CodeSearchHost& host_;
  const NodeId self_node_;
  std::unordered_map<ContentId, Wanted> wanted_;  // those with calls
  std::unordered_map<std::uint64_t, Question> questions_;
  std::uint64_t next_question_ = 1;
  std::size_t relays_ = 0;  // of the questions, those for others
  bool sweep_armed_ = false;
  std::shared_ptr<CodeSearch*> self_;  // expired for timers that outlive the search
};

}  // namespace godwit::call
