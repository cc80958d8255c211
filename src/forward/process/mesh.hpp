// The links between the processes of a group, each with each.
//
//   mesh.cpp          making it, leaving it
//   mesh_links.cpp    how links come up and go down
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/reactor.hpp"
#include "fabric/transport.hpp"
#include "forward/process/meeting.hpp"
#include "forward/process/member_card.hpp"
#include "godwit/error.hpp"
#include "godwit/meet.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::forward {

// Called by the reactor's owner.
class MeshEvents {
 public:
  virtual void on_message(Rank from, fabric::Message& message) = 0;
  virtual void on_descriptor(Rank from, const wire::Header& header, fabric::Fd descriptor) = 0;
  virtual void on_sent(Rank to, std::uint64_t tag) = 0;
  // The link to a rank ended: ErrorCode::none if the rank closed it. Nothing else follows from it.
  virtual void on_down(Rank rank, const Error& why) = 0;

 protected:
  ~MeshEvents() = default;
};

// Members are called by the reactor's owner, unless they say otherwise.
class Mesh final : private fabric::TransportEvents {
 public:
  // Asked now and then while a rank waits for others: why it has to stop, if it has to. Any thread.
  using Interrupted = std::function<std::optional<Error>()>;

  // No event comes before meet(): its user is told of nothing while it has no mesh. Errors:
  // invalid_argument, others of transports.
  [[nodiscard]] static Result<std::unique_ptr<Mesh>> create(const MeetOptions& options,
                                                            MeshEvents& events);
  // Leaves, if that has not been done.
  ~Mesh() override;
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  // Meets the others: every link is up. Any thread, once; blocks, at most for the patience. Errors:
  // deadline (naming who has not come), address_in_use (of rank 0), unreachable, others of links,
  // and what `interrupted` says, if there is one.
  [[nodiscard]] Status meet(std::chrono::milliseconds patience, const Interrupted& interrupted);
  // Closes all links, after what was sent; no event follows. Not the owner.
  void leave();

  // Any thread.
  [[nodiscard]] Rank rank() const noexcept { return self_.rank; }
  [[nodiscard]] Rank ranks() const noexcept { return self_.ranks; }
  [[nodiscard]] fabric::Reactor& reactor() noexcept { return *reactor_; }
  // Any thread but the owner: runs `f` as the owner, and waits for that.
  void run_as_owner(const std::function<void()>& f);

  [[nodiscard]] fabric::Sent send(Rank to, const wire::Header& header, std::span<const Bytes> parts,
                                  std::uint64_t tag);
  [[nodiscard]] std::size_t small_limit(Rank to) const;
  [[nodiscard]] bool is_up(Rank rank) const { return peer(rank).state == PeerState::up; }
  // Whether the rank can map memory of this process.
  [[nodiscard]] bool shares_memory(Rank rank) const;
  [[nodiscard]] Status send_descriptor(Rank to, const wire::Header& header, int descriptor);
  // Ends the link to a rank that broke the protocol; on_down follows with this error.
  void cut(Rank rank, Error why);

 private:
  enum class PeerState : std::uint8_t { unknown, linking, up, down };
  struct Peer {
    MemberCard card;
    fabric::Transport* transport = nullptr;
    LinkId link;
    PeerState state = PeerState::unknown;
    std::optional<Error> cut_for;
  };

  Mesh(const MeetOptions& options, MeshEvents& events);

  // mesh.cpp
  [[nodiscard]] Status open(const MeetOptions& options);
  [[nodiscard]] Status make_shm();
  [[nodiscard]] Status make_ucx();
  [[nodiscard]] std::optional<Error> wait_to_settle(Time deadline, const Interrupted& interrupted);
  [[nodiscard]] Error too_late(std::chrono::milliseconds patience) const;

  // mesh_links.cpp
  void met(Result<std::vector<MemberCard>> cards);
  [[nodiscard]] Status dial(Rank rank);
  [[nodiscard]] fabric::Transport* way_to(const MemberCard& card) const;
  void settle(Status status);
  void settle_if_complete();
  [[nodiscard]] std::optional<Rank> rank_of(LinkId link) const;
  void on_up(LinkId link, const fabric::Hello& peer) override;
  void on_down(LinkId link, const Error& why) override;
  void on_message(LinkId link, fabric::Message& message) override;
  void on_sent(LinkId link, std::uint64_t tag) override;
  void on_descriptors(LinkId link, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors) override;

  [[nodiscard]] Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Peer& peer(Rank rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] fabric::Transport* transport_of(LinkId link) const;

  MeshEvents& events_;
  const Way way_;
  MemberCard self_;
  std::optional<trust::FleetKey> key_;
  fabric::Address place_;
  std::string own_folder_;  // for this process's socket, while ranks meet
  std::unique_ptr<fabric::Reactor> reactor_;
  std::unique_ptr<fabric::Transport> shm_;
  std::unique_ptr<fabric::Transport> ucx_;

  std::unique_ptr<Meeting> meeting_;
  std::vector<Peer> peers_;  // by rank
  std::unordered_map<LinkId, Rank> ranks_by_link_;
  std::unordered_map<NodeId, Rank> ranks_by_node_;  // once all are known
  std::unordered_map<LinkId, NodeId> strangers_;    // came before that
  fabric::Waiter settled_;
  bool is_settled_ = false;
  bool linked_ = false;  // all links were up
  bool leaving_ = false;
  Status outcome_;
};

}  // namespace godwit::forward
