// Code that is not here: the calls that wait for it, and the questions asked for it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/list.hpp"
#include "base/scheduler.hpp"
#include "call/incoming.hpp"
#include "godwit/error.hpp"
#include "wire/call.hpp"

namespace godwit::call {

class Port;
struct LinkState;

// Somebody to ask for code.
struct CodeSource {
  NodeId node;
  std::uint64_t intake_call = 0;  // see wire::NeedCode
  LinkState* link = nullptr;      // where to ask; null: over any link, made if need be
};

// Calls of one bundle that wait for it.
struct Parked {
  // Beyond either the calls end: nobody who could be asked has the code.
  static constexpr std::size_t kMaxAsked = 16;
  static constexpr std::size_t kMaxReferrals = 8;

  IntrusiveList<IncomingCall, ParkedTag> calls;
  std::uint64_t question = 0;  // the latest, until its answer has been dealt with; 0: none
  std::vector<CodeSource> asked;
  std::vector<NodeId> referrals;  // in the order they came
  Error last_error;
};

// A need_code that is not answered yet.
struct Question {
  // Beyond this many at a time offers of code are ignored. Parked calls ask nevertheless: they are
  // limited themselves.
  static constexpr std::size_t kMaxOpen = 1024;
  // Somebody else is asked, too, if no answer came for so long.
  static constexpr Duration kPatience = std::chrono::seconds(2);
  // Then no answer is expected any more.
  static constexpr Duration kLimit = std::chrono::seconds(60);
  // Asked on behalf of other nodes at a time; beyond it those are refused.
  static constexpr std::size_t kMaxRelays = 256;

  ContentId bundle{};
  CodeSource source{};  // its link is set once the question has been sent
  wire::CodeTarget target{};
  Time asked_at{};
  // Whom the answer is for, if not for calls parked here.
  struct Relay {
    Port* port = nullptr;
    LinkId link;
    std::uint64_t question = 0;
  } relay{};
};

}  // namespace godwit::call
