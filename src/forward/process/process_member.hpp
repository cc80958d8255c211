// A group's member that is a process: what its exchanges have in common.
//
//   process_member.cpp    exchanges and how they end
//   traffic.cpp           what goes out and comes in
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "forward/carrier.hpp"
#include "forward/process/departures.hpp"
#include "forward/process/mesh.hpp"
#include "godwit/meet.hpp"

namespace godwit::forward {

class ProcessCarrier;
struct Parcel;

class ProcessMember final : public detail::GroupCore,
                            private MeshEvents,
                            public std::enable_shared_from_this<ProcessMember> {
 public:
  // As Mesh::create() and Mesh::meet().
  [[nodiscard]] static Result<std::shared_ptr<ProcessMember>> meet(
      const MeetOptions& options, const Mesh::Interrupted& interrupted = {});
  explicit ProcessMember(const MeetOptions& options);
  ~ProcessMember() override;

  Rank rank() const noexcept override { return rank_; }
  Rank ranks() const noexcept override { return ranks_; }
  Result<std::unique_ptr<Carrier>> open(const ExchangeSpec& spec) override;
  // A carrier dies: what it was given still leaves.
  void close(ProcessCarrier& carrier);

  // Any thread.
  [[nodiscard]] fabric::Reactor& reactor() noexcept { return mesh_->reactor(); }
  // What carriers have to send leaves: now if nobody else is at it, else soon.
  void push_out() noexcept;

 private:
  // What came for an exchange that this rank has not made yet.
  struct Early {
    Rank from = 0;
    wire::Header header;
    Buffer body;
    fabric::Fd descriptor;
  };
  // Of chunks that are nobody's: they end when they are done with.
  struct LooseHome final : detail::ChunkHome {
    void give_back(Chunk* chunk) noexcept override;
  };
  struct Peer {
    Departures departures;
    std::vector<std::uint32_t> credits;       // tickets to send back
    std::optional<std::uint64_t> left_after;  // exchanges, of a rank that has gone
    std::optional<Error> lost;
  };

  // process_member.cpp
  // Waits until the others have what was sent to them, for as long as they go on taking it.
  void see_off();
  void begin(ProcessCarrier& carrier);
  void offer_arena(ProcessCarrier& carrier);
  void tell_of_losses(ProcessCarrier& carrier);
  [[nodiscard]] Error gone(Rank rank) const;
  void on_down(Rank rank, const Error& why) override;

  // traffic.cpp
  void drain();
  void drain(ProcessCarrier& carrier);
  void dispatch(ProcessCarrier& carrier, Chunk* chunk);
  [[nodiscard]] Chunk* detach(Chunk* chunk);
  void take_back(ProcessCarrier& carrier, Chunk* chunk);
  void send_credits(Rank to);
  void send_note(Rank to, RankMessage message, std::uint64_t id);
  void on_message(Rank from, fabric::Message& message) override;
  void on_descriptor(Rank from, const wire::Header& header, fabric::Fd descriptor) override;
  void on_sent(Rank to, std::uint64_t tag) override;
  [[nodiscard]] Status accept_chunk(Rank from, fabric::Message& message);
  [[nodiscard]] Status accept_credits(Rank from, const fabric::Message& message);
  [[nodiscard]] Status keep_early(std::uint64_t exchange, Early early);

  [[nodiscard]] ProcessCarrier* find(std::uint64_t exchange) const;
  [[nodiscard]] Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }

  const Rank rank_;
  const Rank ranks_;
  std::unique_ptr<Mesh> mesh_;
  std::atomic<bool> drain_posted_ = false;

  // The reactor's owner's.
  LooseHome loose_;
  std::vector<Peer> peers_;
  std::uint64_t opened_ = 0;
  std::map<std::uint64_t, ProcessCarrier*> carriers_;
  std::map<std::uint64_t, std::vector<Early>> early_;
  std::size_t early_count_ = 0;
};

}  // namespace godwit::forward
