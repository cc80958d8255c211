// Keeps the tables of a fleet alike.
//
// News travels in two ways. A change is pushed at once to a few neighbours, who push it on to
// theirs if it was news to them: it reaches nearly everyone within a few hops. And once per
// interval each node compares a 64-bit hash of its table with one neighbour's; if they differ, the
// two exchange bucket hashes, then stamps, then the entries that differ: what the push missed, what
// a partition kept apart, and all of the table for a node that joins. Neighbours are few and change
// rarely, so that gossip keeps few links busy.
//
// A node that could not be reached is written down as lost, for its epoch. If it lives it hears so
// and publishes itself anew. Lost nodes are tried again now and then, so that the halves of a
// healed partition find each other.
//
// Cost: per round one message of under 100 bytes when tables agree; per change fan_out messages per
// node; no message above kMaxMessageBytes. A node that knows nobody sets no timer.
// Threads: the owning thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "base/scheduler.hpp"
#include "fleet/message.hpp"
#include "fleet/peer_set.hpp"
#include "fleet/table.hpp"

namespace godwit::fleet {

// How gossip reaches other nodes. Implemented over links by node/.
class Links {
 public:
  virtual ~Links() = default;
  // Sends a message of kind wire::Kind::table, over a link there is or one made for it; the
  // addresses are in the table. The bytes are borrowed until this returns. If it cannot be
  // delivered, Gossip::peer_lost() may follow, never from inside this call.
  virtual void send_table(NodeId to, Bytes message) = 0;
  // Makes a link to whoever listens there; Gossip::peer_up() follows if that works.
  virtual void reach(std::string_view address) = 0;
};

struct GossipOptions {
  Duration interval = std::chrono::seconds(1);
  // A change waits this long for others to travel with.
  Duration push_delay = std::chrono::milliseconds(2);
  // How many neighbours a node has, and pushes changes to.
  std::size_t fan_out = 4;
  // Every so many rounds one neighbour is replaced, and a lost node is tried.
  std::uint32_t rounds_per_neighbour = 32;
  std::uint32_t rounds_per_lost_node = 8;
  // While nobody is known the seeds are tried with growing pauses, up to this many intervals.
  std::uint32_t max_seed_pause_intervals = 16;
  std::vector<std::string> seeds{};
  std::uint64_t random_seed = 0;  // which neighbours; different on every node
};

struct GossipCounters {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t entries_sent = 0;
  std::uint64_t entries_learned = 0;
  std::uint64_t entries_refused = 0;  // invalid, or our table is full
  std::uint64_t malformed_messages = 0;
  std::uint64_t refutations = 0;         // times this node had to say that it lives
  std::uint64_t identity_conflicts = 0;  // another process runs, or ran later, under our id
};

class Gossip {
 public:
  // All three outlive the gossip. Nothing is sent before start().
  Gossip(Scheduler& scheduler, Links& links, Table& table, GossipOptions options);
  ~Gossip();
  Gossip(const Gossip&) = delete;
  Gossip& operator=(const Gossip&) = delete;

  // Begins to gossip; tries the seeds.
  void start();
  // A body of kind `table` has arrived. An error means the peer broke the protocol.
  Status on_table(NodeId from, Bytes message);
  // A link to the node is up, whoever asked for it.
  void peer_up(NodeId node);
  // A link to the node broke, or none could be made; not: it was closed in good order. The node is
  // written down as lost. Epoch{}: the one the table knows.
  void peer_lost(NodeId node, Epoch epoch = {});
  // Compares tables with a neighbour now, not at the next round: something is missing here. At most
  // once per kComparePause, so that many who miss something cost no more than one.
  void compare_now();
  static constexpr Duration kComparePause = std::chrono::milliseconds(10);
  // Pushes what waits for push_delay now: there may be no later.
  void push_now();
  // What to tell a peer first: this node's record and the hash of its table, as a table message.
  // Fits into a handshake; the peer hands it to its on_table().
  [[nodiscard]] std::vector<std::byte> greeting() const;

  [[nodiscard]] const GossipCounters& counters() const noexcept { return counters_; }
  // True once our table has been, with what others told us, the same as another node's.
  [[nodiscard]] bool joined() const noexcept { return joined_; }

 private:
  void on_change(const Change& change);
  void classify(const NodeRecord& record);
  void refill_neighbours();
  void contradict();

  void arm();
  void round();
  [[nodiscard]] NodeId choose_partner();
  [[nodiscard]] NodeId pick_neighbour();  // NodeId{}: there is none
  void probe(NodeId peer);
  void push();
  void heat(std::uint64_t key);

  void answer_probe(NodeId from);
  void answer_buckets(NodeId from, const TableMessage& message);
  void answer_summary(NodeId from, const TableMessage& message);
  void answer_wants(NodeId from, const TableMessage& message);
  // Adds the entry unless the message is full; false then.
  bool add_entry(TableMessage& message, std::size_t& bytes, std::uint64_t key);
  void send(NodeId to, const TableMessage& message);
  void send_bytes(NodeId to, Bytes bytes, std::size_t entry_count);

  Scheduler& scheduler_;
  Links& links_;
  Table& table_;
  const GossipOptions options_;
  Random random_;
  WatchId watch_;
  PeerSet peers_;  // up and reachable by an address
  PeerSet lost_;   // so said, with an address to try
  std::vector<NodeId> neighbours_;
  std::vector<std::uint64_t> hot_;  // keys to push
  TimerId round_timer_{};
  TimerId push_timer_{};
  bool started_ = false;
  bool round_armed_ = false;
  bool push_armed_ = false;
  bool learned_ = false;
  bool joined_ = false;
  std::uint32_t rounds_ = 0;
  std::optional<Time> compared_at_;  // out of turn
  std::uint32_t seed_pause_intervals_ = 1;
  GossipCounters counters_;
};

}  // namespace godwit::fleet
