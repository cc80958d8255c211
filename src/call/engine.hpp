// The protocol of calls: a state machine between transports below and callers and functions above.
//
// Both ends are here, since a node is both: it makes calls (start, cancel) and takes them (accept,
// run, answer), asks for code and gives it. The verbs live in one file each, named below; here.cpp
// is the door of mobile code. CodeSearch knows whom to ask for code, and which calls wait for it.
//
// Threads: everything is called by the scheduler's owning thread, except what says "any thread".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/list.hpp"
#include "base/scheduler.hpp"
#include "call/builder.hpp"
#include "call/code_holders.hpp"
#include "call/code_search.hpp"
#include "call/dialer.hpp"
#include "call/engine_observer.hpp"
#include "call/executor.hpp"
#include "call/incoming.hpp"
#include "call/link_state.hpp"
#include "call/objects.hpp"
#include "call/outgoing.hpp"
#include "call/port.hpp"
#include "call/ranks.hpp"
#include "call/regions.hpp"
#include "call/status.hpp"
#include "call/trail.hpp"
#include "call/visible_nodes.hpp"
#include "call/watches.hpp"
#include "code/store/store.hpp"
#include "fabric/fd.hpp"
#include "wire/call.hpp"
#include "wire/hello.hpp"

namespace godwit::call {

class Engine final : public code::StoreEvents, private CodeSearchHost {
 public:
  struct Options {
    NodeId self;
    Epoch epoch;
    std::string name;
    std::uint32_t credits = 256;      // granted on each link
    std::size_t max_waiting = 65536;  // calls that wait for a link or a credit, per peer
    std::size_t max_result_bytes = std::size_t{8} << 30;
    std::uint32_t max_hops = 100'000;
    std::uint32_t max_fan_out = 4096;  // calls one function may have outstanding
    Duration reconnect_window = std::chrono::seconds(10);  // for idempotent calls of a lost node
    // How long what is meant for a node that this process has not heard of waits for news of it.
    Duration news_window = std::chrono::seconds(1);
    Duration inline_overrun = std::chrono::milliseconds(1);
    // A link on which nothing is outstanding or was said for so long is ended. Zero: never.
    Duration idle_link = std::chrono::seconds(60);
  };
  struct Stats {
    std::uint64_t calls_started = 0, calls_ended = 0, calls_taken = 0, calls_resent = 0;
    std::uint64_t late_replies = 0, need_code_sent = 0, code_sent = 0, code_bytes_sent = 0;
    std::uint64_t hops_sent = 0, credits_violated = 0, overruns = 0, protocol_errors = 0;
    std::uint64_t links_left = 0, referrals_given = 0, referrals_followed = 0, code_relayed = 0;
    std::uint64_t status_asked = 0;
  };

  // `store` and `executor` are null in a process that only makes calls.
  Engine(Scheduler& scheduler, Dialer& dialer, FunctionTable& functions, code::Store* store,
         Executor* executor, EngineObserver& observer, Options options);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A place to plug in a transport; lives as long as the engine. The name is for people.
  Port& add_port(std::string name);
  [[nodiscard]] wire::PeerHello hello() const;

  // --- Making calls ---
  // Any thread: hands `posted` to the owning thread, which calls its deliver().
  void post(Posted& posted);
  // Takes the caller's request; on_end follows, also from inside start() itself. The engine holds a
  // reference of its own until then.
  void start(OutgoingCall& call);
  // Ends a call early, as `cancelled`, and tells its node. A call that has ended is left alone.
  void cancel(OutgoingCall& call);
  // The two from any thread: soon, and at most once each for a call. The engine holds a reference
  // until then. A call whose cancel() came first (see OutgoingCall::cancelling) ends as it starts.
  void start_later(OutgoingCall& call);
  void cancel_later(OutgoingCall& call);
  // Ends every call and forgets every link; nothing can be started afterwards.
  void shut_down();

  // --- What mobile code sees. Any thread. ---
  void set_nodes(VisibleNodes nodes);
  [[nodiscard]] VisibleNodes nodes() const;
  void set_builder(Builder* builder) { builder_ = builder; }
  [[nodiscard]] Builder* builder() const { return builder_; }
  // Before anything runs; null: this process knows no regions.
  void set_regions(Regions* regions) { regions_ = regions; }
  [[nodiscard]] Regions* regions() const { return regions_; }
  // Likewise; null: this process is the home of no objects.
  void set_objects(Objects* objects) { objects_ = objects; }
  [[nodiscard]] Objects* objects() const { return objects_; }
  // Likewise; null: no function here can be a rank.
  void set_ranks(Ranks* ranks) { ranks_ = ranks; }
  [[nodiscard]] Ranks* ranks() const { return ranks_; }
  // What a call waits for by that name (Objects::Asker) has happened: its function runs again. A
  // name that nobody waits by is ignored. Any thread.
  void run_again(std::uint64_t waiter);
  // A name to wait by, never given before. The owning thread's.
  [[nodiscard]] std::uint64_t next_waiter() { return ++last_waiter_; }
  // For Objects::Asker::ready. The owning thread's.
  [[nodiscard]] std::vector<std::uint64_t>& ready_waiters() { return ready_waiters_; }
  // The operations that mobile code may call without having them, or null. Before anything runs.
  using Operations = const code::Bundle& (*)();
  void set_operations(Operations source) { operations_ = source; }
  [[nodiscard]] Operations operations() const { return operations_; }
  // A bundle as this node has it, or gets it from where the running call came from. Waits, on a
  // thread of the executor. Errors: unknown_code and what else a search for code ends in, overload.
  [[nodiscard]] Result<code::Bundle> fetch(const CallContext& context, const ContentId& bundle);
  [[nodiscard]] EngineObserver& observer() { return observer_; }

  // --- Other messages ---
  // Makes a link if there is none; the message is lost if that fails.
  void send_or_dial(NodeId to, wire::Kind kind, Bytes body);
  void send_or_dial(NodeId to, const wire::Header& header, Bytes body);
  // Hands 1 to fabric::kMaxDescriptors open descriptors, which stay the caller's, to a process of
  // this host, with a body of at most fabric::kMaxDescriptorBody. Makes no link: it is meant for
  // answers, and goes over a link that is being left if there is no other. Errors: unreachable (no
  // link that carries descriptors), and those of Transport::send_descriptors.
  [[nodiscard]] Status send_descriptors(NodeId to, const wire::Header& header, Bytes body,
                                        std::span<const int> descriptors);
  [[nodiscard]] bool carries_descriptors_to(NodeId to) const {
    return link_for_descriptors(to) != nullptr;
  }
  // Makes sure there is, or will be, a link.
  void connect(NodeId node);
  // Sends a bundle before it is asked for.
  Status spread(NodeId to, const ContentId& bundle);
  // The same from any thread; a failure is a warning to the observer.
  void spread_later(NodeId to, const ContentId& bundle);

  // --- What it says of itself ---
  // Functions that run past their deadline, the longest first.
  [[nodiscard]] std::vector<OverdueFunction> overdue();
  // Everything an operator may want to know, as JSON of at most kMaxStatusBytes (status.hpp). Takes
  // time in proportion to the links, bundles and running calls there are.
  [[nodiscard]] std::string status();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const Stats& stats() const { return stats_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] code::Store* store() { return store_; }
  [[nodiscard]] Executor* executor() { return executor_; }
  [[nodiscard]] FunctionTable& functions() { return functions_; }
  [[nodiscard]] OutgoingPool& pool() { return outgoing_pool_; }
  [[nodiscard]] std::size_t links_up() const;
  [[nodiscard]] bool is_linked(NodeId node) const;
  [[nodiscard]] std::size_t peers_known() const { return peers_.size(); }
  [[nodiscard]] std::size_t calls_outstanding() const { return wheel_.size(); }
  // Taken and not finished; without the record that stands by for inline functions.
  [[nodiscard]] std::size_t calls_inside() const { return incoming_pool_.in_use() - 1; }

 private:
  friend class Port;
  friend struct CallContext;

  // links.cpp
  void on_up(Port& port, LinkId link, const fabric::Hello& peer);
  void on_down(Port& port, LinkId link, const Error& why);
  Peer& peer_of(NodeId node);
  void dial(Peer& peer);
  void dial_failed(Peer& peer, const Error& why);
  void fail_waiting(Peer& peer);
  [[nodiscard]] bool awaits_news(Peer& peer, Time now);
  void dial_again(Peer& peer, Time when);
  [[nodiscard]] LinkState* link_to(NodeId node) override;
  void lose_sent(LinkState& link, const Error& why);
  void lose_incoming(LinkState& link);

  // farewell.cpp
  void arm_idle_check();
  void check_idle_links();
  bool forget_strangers();
  void leave(LinkState& link);
  void farewell(LinkState& link);
  void eased(LinkState& link) override;
  void on_bye(LinkState& link, const wire::Header& header);

  // descriptors.cpp
  void on_descriptors(LinkState& link, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors);
  [[nodiscard]] LinkState* link_for_descriptors(NodeId to) const;

  // start.cpp
  void wait_for_link(Peer& peer, OutgoingCall& call);
  void pump(Peer& peer);
  void send_call(LinkState& link, OutgoingCall& call);
  void send_named(LinkState& link, OutgoingCall& call, wire::Header header);
  void send_parts(LinkState& link, OutgoingCall& call, const wire::Header& header,
                  std::span<const Bytes> parts, Buffer kept_extension);
  bool tell_node_to_stop(OutgoingCall& call);
  void arm_deadlines();
  void deadlines_due();

  // reply.cpp
  void on_message(LinkState& link, fabric::Message& message);
  void dispatch(LinkState& link, fabric::Message& message);
  void on_reply(LinkState& link, fabric::Message& message);
  void end(OutgoingCall& call, wire::OutcomeWord outcome, Bytes text);
  void finish_call(OutgoingCall& call);
  void hurry_transport(OutgoingCall& call);
  void detach(OutgoingCall& call);
  static void take_off(LinkState& link, OutgoingCall& call);
  [[nodiscard]] OutgoingCall* find(std::uint64_t id);

  // accept.cpp
  void on_call(LinkState& link, fabric::Message& message);
  void accept_slowly(LinkState& link, fabric::Message& message, const wire::CallExtensions& named,
                     code::FunctionSlot* slot);
  void take_in(IncomingCall& call, LinkState& link, const wire::Header& header,
               const std::optional<wire::TravelExtension>& travel);
  void park(IncomingCall& call);
  void begin(IncomingCall& call, code::FunctionSlot& slot);
  void on_cancel(LinkState& link, const wire::Header& header, Bytes body);
  void end_parked(IncomingCall& call, Ending ending, const Error& why) override;
  void on_code(const ContentId& bundle, const Status& status) override;

  // run.cpp
  void run_inline(LinkState& link, const wire::Header& header, code::FunctionSlot& slot,
                  Bytes arguments, const std::optional<wire::TravelExtension>& travel);
  static void run_on_executor(Executor::Job& job);
  static void deliver_finished(Engine& engine, Posted& posted);
  void finished(IncomingCall& call);
  void answer(IncomingCall& call, wire::OutcomeWord outcome, Bytes body, Buffer kept);
  void send_reply(LinkState& link, std::uint64_t caller_id, std::uint64_t token,
                  wire::OutcomeWord outcome, Bytes body, Buffer kept, std::uint8_t flags = 0);
  void send_lent(LinkState& link, std::uint64_t caller_id, std::uint64_t token, ReplyBuffer& reply,
                 std::uint8_t flags);
  void release(IncomingCall& call);
  static void take_off(LinkState& link, IncomingCall& call);
  void note_overrun(const code::FunctionSlot& slot, std::uint64_t cycles);

  // code_exchange.cpp
  void send_question(LinkState& link, std::uint64_t id, const Question& question) override;
  void on_need_code(LinkState& link, const wire::Header& header, Bytes body);
  void give_code(LinkState& link, std::uint64_t question, const code::Bundle& bundle, Bytes slice);
  void refuse_code(LinkState& link, std::uint64_t question, const ContentId& bundle,
                   const Error& why, NodeId referral);
  [[nodiscard]] bool relay_question(LinkState& asker, std::uint64_t question,
                                    const wire::NeedCode& need);
  void relay_code(const Question& question, Buffer code);
  void refuse_relayed(const Question& question, const Error& why, NodeId referral) override;
  [[nodiscard]] NodeId referral_for(const ContentId& bundle, const LinkState& asker);
  void on_have_code(LinkState& link, Bytes body);
  void on_code_message(LinkState& link, fabric::Message& message);
  void check_code(std::uint64_t id, const ContentId& bundle, Buffer body);
  void code_arrived(const ContentId& bundle, std::uint64_t question, Result<code::Bundle> code);
  [[nodiscard]] code::Bundle bundle_for(const ContentId& id);

  // watch.cpp
  [[nodiscard]] bool has_changed(IncomingCall& call, const code::FunctionSlot& slot);
  void give_credit_back(IncomingCall& call, std::uint64_t token);
  static void tell_change(IncomingCall& call, std::uint64_t bits);
  void look_after(const CallContext& context);
  void look_soon();
  void look_at_watched();
  void arm_watch_timer();
  void watch_tick();

  // object_arguments.cpp
  [[nodiscard]] bool has_objects(IncomingCall& call, const code::FunctionSlot& slot);
  [[nodiscard]] bool promises_settled(IncomingCall& call, const code::FunctionSlot& slot);
  void find_elsewhere(IncomingCall& call, const code::FunctionSlot& slot);
  static void find_on_executor(Executor::Job& job);
  static void deliver_found(Engine& engine, Posted& posted);

  // waiting.cpp
  void hold_back(IncomingCall& call);
  void wait_for(IncomingCall& call, std::uint64_t waiter, std::uint64_t token);
  void wake(std::uint64_t waiter);
  void wake_ready();
  void stop_waiting(IncomingCall& call);
  void arm_waiting_sweep();
  void sweep_waiting();

  // code_fetch.cpp
  void begin_fetch(CodeFetch& fetch);
  void fetched(IncomingCall& call, const code::Bundle& bundle);
  void fetch_failed(IncomingCall& call, Error why);
  static void end_fetch(CodeFetch& fetch);

  // travel.cpp
  void travel_on(IncomingCall& call);
  void send_hop(IncomingCall* intake, const Continuation& continuation, Time deadline,
                const wire::TravelExtension& travel);
  void answer_travelled(const wire::TravelExtension& travel, wire::OutcomeWord outcome, Bytes body,
                        Buffer kept);
  void on_hop_moved(LinkState& link, const wire::Header& header, Bytes body);
  void on_hop_ended(LinkState& link, fabric::Message& message);
  void send_hop_moved(IncomingCall& call, Bytes next);
  static void hop_ended(OutgoingCall& call);
  void cancel_travelling(IncomingCall& call);
  [[nodiscard]] LinkState* origin_link(std::uint64_t intake_call) override;

  // status.cpp
  void on_ask_status(LinkState& link, const wire::Header& header);
  void look_for_overdue(Time now);
  void overdue_ended(IncomingCall& call);
  [[nodiscard]] OverdueFunction describe(const IncomingCall& call, Time now) const;

  // Travelling and running calls have no timer each: a sweep ends those that are late, or tells of
  // those that cannot be ended.
  void arm_sweep();
  void sweep();

  void drain_inbox();

  // Keeps `kept` for as long as the transport borrows the body.
  void send_message(LinkState& link, const wire::Header& header, std::span<const Bytes> parts,
                    Buffer kept, std::shared_ptr<const void> kept_object);
  void on_sent(std::uint64_t tag);
  // For a message that must reach a node we may have no link to yet; lost if it cannot be reached.
  void send_or_queue(NodeId to, const wire::Header& header, Buffer body);

  struct Kept {
    Buffer buffer;
    std::shared_ptr<const void> object;
    OutgoingCall* call = nullptr;
    LinkState* link = nullptr;
  };
  void let_go(Kept& kept);

  Scheduler& scheduler_;
  Dialer& dialer_;
  FunctionTable& functions_;
  code::Store* store_;
  Executor* executor_;
  EngineObserver& observer_;
  Options options_;
  Stats stats_;

  std::vector<std::unique_ptr<Port>> ports_;
  std::unordered_map<NodeId, std::unique_ptr<Peer>> peers_;
  Peer* latest_peer_ = nullptr;

  OutgoingPool outgoing_pool_;
  std::vector<OutgoingCall*> live_;  // by OutgoingCall::index; null when not in the engine
  // Ids start elsewhere in each epoch: an answer to a call of this node's last life finds nothing.
  std::uint64_t next_sequence_;
  DeadlineWheel wheel_;
  Time wheel_armed_until_{INT64_MAX};
  bool wheel_armed_ = false;
  TimerId wheel_timer_;

  IncomingPool incoming_pool_;
  IncomingCall* inline_call_;                        // stands by for functions that run at once
  IntrusiveList<IncomingCall, RunningTag> running_;  // submitted to the executor
  CodeSearch search_;
  Watches watches_;
  std::unordered_map<std::uint64_t, IncomingCall*> waiting_;  // to run again, by waiter
  std::uint64_t last_waiter_ = 0;
  CodeHolders holders_;
  std::unordered_map<std::uint64_t, IncomingCall*> travelling_;  // by intake id
  std::uint64_t next_intake_id_;
  Trail trail_;

  std::unordered_map<std::uint64_t, Kept> kept_;  // by send tag
  std::uint64_t next_tag_ = 1;

  // Where real time and the cycle counter stood when the engine was made.
  Time clock_origin_;
  std::uint64_t cycle_origin_;

  Inbox<Posted> inbox_;
  bool shut_down_ = false;
  mutable std::mutex nodes_mutex_;
  VisibleNodes nodes_;
  Builder* builder_ = nullptr;
  Regions* regions_ = nullptr;
  Objects* objects_ = nullptr;
  Ranks* ranks_ = nullptr;
  Operations operations_ = nullptr;
  bool sweep_armed_ = false;
  bool look_posted_ = false;
  bool watch_timer_armed_ = false;
  std::vector<std::uint64_t> ready_waiters_;
  bool waking_ready_ = false, waiting_sweep_armed_ = false;
  std::uint32_t watch_ticks_ = 0;
  bool idle_check_armed_ = false;
  std::shared_ptr<Engine*> self_;  // expired for tasks that outlive the engine
};

}  // namespace godwit::call
