// The links of a simulated world, and what goes wrong with them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/sim/flight.hpp"
#include "fabric/sim/process.hpp"

namespace godwit::fabric::sim {

// All verbs of Transport, with the process they are called by. Every event is delivered from
// inside Timeline::step(). A link is two ends; each end goes down once, in its own time.
class Network {
 public:
  Network(Timeline& timeline, const Options& options, Random& random)
      : timeline_(timeline), options_(options), random_(random) {}

  // The process behind an index from now on; a restarted one replaces its predecessor.
  void register_process(Process& process);
  // The process is gone: its ends vanish without a word, its peers are told after a while.
  void forget_process(Process& process);

  [[nodiscard]] Result<Address> listen(Process& process, const Address& address);
  [[nodiscard]] Result<LinkId> connect(Process& process, const Address& address);
  [[nodiscard]] Sent send(Process& process, LinkId id, const wire::Header& header,
                          std::span<const Bytes> parts, std::uint64_t tag);
  void close(Process& process, LinkId id);

  // Processes reach each other when they are on the same island. All start on island 0.
  void set_island(ProcessId process, std::uint32_t island);
  // After islands changed: cuts and heals links. Costs O(links).
  void islands_changed();
  [[nodiscard]] bool reachable(ProcessId a, ProcessId b) const noexcept;

  // Breaks every link between the two; returns how many.
  std::size_t break_links(ProcessId a, ProcessId b);
  // Breaks one link picked at random, if there is any.
  bool break_any();

  [[nodiscard]] std::size_t live_links() const noexcept { return live_links_; }
  // Without `events`, which the timeline counts.
  [[nodiscard]] Counters counters() const noexcept;

 private:
  // abandoned: closed before it came up.
  enum class State : std::uint8_t { absent, connecting, abandoned, up, closing, down };
  struct End {
    // Messages and completions may be delivered to it.
    [[nodiscard]] bool works() const noexcept {
      return state == State::up || state == State::closing;
    }
    Process* process = nullptr;
    State state = State::absent;
    Time up_at;            // when on_up comes, once that is known: no message may come before it
    Time last_arrival;     // of what this end sent: what is not reordered stays behind it
    bool reports = false;  // its process knows the link, and so hears of its end
  };
  struct Link {
    std::uint32_t generation = 1;
    bool used = false;
    bool broken = false;
    bool cut = false;             // a partition lies across it
    std::uint32_t cut_count = 0;  // tells one partition from the next
    std::array<End, 2> ends{};
    std::vector<FlightPtr> stalled;  // arrived while cut
  };

  [[nodiscard]] static LinkId id_of(std::uint32_t slot, std::uint32_t generation,
                                    std::uint8_t side) noexcept;
  [[nodiscard]] static std::uint8_t side_of(LinkId id) noexcept { return id.value & 1U; }
  [[nodiscard]] static LinkId peer_of(LinkId id) noexcept { return {id.value ^ 1U}; }
  // Null once the link is gone altogether.
  [[nodiscard]] Link* find(LinkId id) noexcept;
  [[nodiscard]] Process* current(ProcessId id) const noexcept;

  LinkId open_link(Process& process);
  void release_if_over(LinkId id);
  void arrive(LinkId caller, ProcessId target);
  void accept(LinkId callee);
  void come_up(LinkId caller);
  void gather(FlightPtr flight, Time arrival);
  void deliver(FlightPtr flight);
  void schedule_delivery(FlightPtr flight, Time at);
  [[nodiscard]] Time draw_arrival(Link& link, std::uint8_t sender, std::size_t size_bytes,
                                  Time leaves_at);

  void break_link(LinkId id);
  void schedule_down(LinkId id, Duration delay, Error why);
  void take_down(LinkId id, const Error& why);
  void tell_peer(LinkId id);
  void schedule_cut_timeout(LinkId id);

  Timeline& timeline_;
  const Options& options_;
  Random& random_;
  std::vector<Process*> processes_;     // by index
  std::vector<std::uint32_t> islands_;  // by index
  FlightPool flights_;                  // before what may still hold flights
  std::vector<Link> links_;
  std::vector<std::uint32_t> free_;
  std::size_t live_links_ = 0;
  Counters counters_;
};

}  // namespace godwit::fabric::sim
