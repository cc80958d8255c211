// How the links of a mesh come up and go down.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "forward/process/chunk_wire.hpp"
#include "forward/process/mesh.hpp"

namespace godwit::forward {

// All are known: each dials those before it, and is dialled by those after it.
void Mesh::met(Result<std::vector<MemberCard>> cards) {
  if (!cards) {
    settle(tl::unexpected(std::move(cards).error()));
    return;
  }
  for (Rank rank = 0; rank < ranks(); ++rank) {
    peer(rank).card = std::move((*cards)[static_cast<std::size_t>(rank)]);
    ranks_by_node_.emplace(peer(rank).card.node, rank);
  }
  for (Rank rank = 0; rank < self_.rank; ++rank) {
    if (Status dialled = dial(rank); !dialled) {
      settle(std::move(dialled));
      return;
    }
  }
  for (const auto& [link, node] : std::exchange(strangers_, {})) {
    on_up(link, fabric::Hello{node, Epoch{1}, {}});
  }
  settle_if_complete();
}

fabric::Transport* Mesh::way_to(const MemberCard& card) const {
  const bool near = card.host == self_.host && !card.host.empty();
  if (near && shm_ != nullptr && !card.shm.empty()) return shm_.get();
  return ucx_ != nullptr && !card.tcp.empty() ? ucx_.get() : nullptr;
}

Status Mesh::dial(Rank rank) {
  Peer& one = peer(rank);
  fabric::Transport* const transport = way_to(one.card);
  if (transport == nullptr) {
    return fail(ErrorCode::unreachable,
                "rank {} is on another host than rank {}: ranks of several hosts meet at "
                "tcp://host:port, and MeetOptions::way must allow tcp",
                rank, this->rank());
  }
  const std::string& text = transport == shm_.get() ? one.card.shm : one.card.tcp;
  GODWIT_TRY(const fabric::Address address, fabric::Address::parse(text));
  GODWIT_TRY(const LinkId link, transport->connect(address));
  one.transport = transport;
  one.link = link;
  one.state = PeerState::linking;
  ranks_by_link_.emplace(link, rank);
  return {};
}

void Mesh::settle(Status status) {
  if (std::exchange(is_settled_, true)) return;
  outcome_ = std::move(status);
  settled_.complete();
}

// While meeting: all links are up. While leaving: none is.
void Mesh::settle_if_complete() {
  const PeerState wanted = leaving_ ? PeerState::down : PeerState::up;
  if (ranks_by_node_.empty()) return;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (rank != self_.rank && peer(rank).state != wanted) return;
  }
  if (!leaving_) linked_ = true;
  settle({});
}

fabric::Transport* Mesh::transport_of(LinkId link) const {
  const auto scheme = static_cast<fabric::Address::Scheme>((link.value >> 56) - 1);
  return scheme == fabric::Address::Scheme::shm ? shm_.get() : ucx_.get();
}

std::optional<Rank> Mesh::rank_of(LinkId link) const {
  const auto found = ranks_by_link_.find(link);
  if (found == ranks_by_link_.end()) return std::nullopt;
  return found->second;
}

void Mesh::on_up(LinkId link, const fabric::Hello& hello) {
  if (ranks_by_node_.empty()) {  // it has met all, and this process has yet to hear of it
    strangers_.emplace(link, hello.node);
    return;
  }
  const auto found = ranks_by_node_.find(hello.node);
  fabric::Transport* const transport = transport_of(link);
  if (found == ranks_by_node_.end()) {
    transport->close(link);
    return;
  }
  Peer& one = peer(found->second);
  if (one.link == link) return;  // dialled from here: up with the other's first message
  if (one.state != PeerState::unknown || found->second <= self_.rank) {
    transport->close(link);
    return;
  }
  one.transport = transport;
  one.link = link;
  one.state = PeerState::up;
  ranks_by_link_.emplace(link, found->second);
  (void)transport->send(link, {.kind = kind_of(RankMessage::welcome)}, {}, 0);
  settle_if_complete();
}

void Mesh::on_down(LinkId link, const Error& why) {
  strangers_.erase(link);
  const std::optional<Rank> rank = rank_of(link);
  if (!rank) return;
  ranks_by_link_.erase(link);
  Peer& one = peer(*rank);
  const PeerState before = std::exchange(one.state, PeerState::down);
  if (before == PeerState::linking) {
    // The same host, but maybe another root: its sockets cannot be seen from here.
    const bool was_shm = one.transport == shm_.get();
    if (was_shm && ucx_ != nullptr && !one.card.tcp.empty()) {
      one.card.shm.clear();
      if (dial(*rank)) return;
    }
    settle(fail(why.code, "rank {} cannot reach rank {}: {}", this->rank(), *rank, why.message));
    return;
  }
  if (leaving_) {
    settle_if_complete();
    return;
  }
  if (!linked_) {
    settle(fail(ErrorCode::node_lost, "rank {} was lost while ranks met: {}", *rank, why.message));
  }
  events_.on_down(*rank, one.cut_for ? *one.cut_for : why);
}

// The one that was dialled speaks first, once it knows who all are; before that it would not know
// whose messages it gets.
void Mesh::on_message(LinkId link, fabric::Message& message) {
  const auto rank = rank_of(link);
  if (!rank || leaving_) return;
  if (peer(*rank).state == PeerState::linking) {
    peer(*rank).state = PeerState::up;
    settle_if_complete();
  }
  if (message.header().kind != kind_of(RankMessage::welcome)) events_.on_message(*rank, message);
}

void Mesh::on_sent(LinkId link, std::uint64_t tag) {
  if (const auto rank = rank_of(link); rank && !leaving_) events_.on_sent(*rank, tag);
}

void Mesh::on_descriptors(LinkId link, const wire::Header& header, Bytes /*body*/,
                          std::span<fabric::Fd> descriptors) {
  const auto rank = rank_of(link);
  if (rank && !leaving_) events_.on_descriptor(*rank, header, std::move(descriptors.front()));
}

fabric::Sent Mesh::send(Rank to, const wire::Header& header, std::span<const Bytes> parts,
                        std::uint64_t tag) {
  Peer& one = peer(to);
  if (one.state != PeerState::up) return fabric::Sent::down;
  return one.transport->send(one.link, header, parts, tag);
}

bool Mesh::shares_memory(Rank rank) const {
  const Peer& one = peer(rank);
  return one.state == PeerState::up && one.transport->carries_descriptors();
}

std::size_t Mesh::small_limit(Rank to) const {
  return peer(to).transport->small_limit();
}

Status Mesh::send_descriptor(Rank to, const wire::Header& header, int descriptor) {
  Peer& one = peer(to);
  if (one.state != PeerState::up) {
    return fail(ErrorCode::link_lost, "the link to rank {} is down", to);
  }
  return one.transport->send_descriptors(one.link, header, {}, {&descriptor, 1});
}

void Mesh::cut(Rank rank, Error why) {
  Peer& one = peer(rank);
  if (one.state != PeerState::up || one.cut_for) return;
  one.cut_for = std::move(why);
  one.transport->close(one.link);
}

}  // namespace godwit::forward
