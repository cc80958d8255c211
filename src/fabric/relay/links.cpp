// How a link comes up, stays alive and goes down.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "fabric/relay/transport.hpp"

namespace godwit::fabric::relay {
namespace {

// In the payload of the handshake between the peers: tag, whether AES is quick there, a key's half.
constexpr std::string_view kPayloadTag = "seal";
constexpr std::size_t kPayloadSize = kPayloadTag.size() + 1 + sizeof(trust::KeyExchange::Public);

// What the system holds of a link that has not left yet: a small message waits behind it.
constexpr int kUnsentBytes = 512 << 10;

struct PeerPayload {
  bool has_quick_aes = false;
  trust::KeyExchange::Public half{};
};

Result<PeerPayload> parse_payload(std::string_view bytes) {
  if (bytes.size() != kPayloadSize || !bytes.starts_with(kPayloadTag)) {
    return fail(ErrorCode::handshake_failed, "the peer does not seal its links through a relay");
  }
  PeerPayload payload;
  payload.has_quick_aes = bytes[kPayloadTag.size()] == 1;
  std::memcpy(payload.half.data(), bytes.data() + kPayloadTag.size() + 1, payload.half.size());
  return payload;
}

Error closed_by_us() {
  return {ErrorCode::none, "the link was closed"};
}

}  // namespace

// The relay is shown the key that is made for it, who we are, and nothing else.
LinkSetup::Options RelayTransport::relay_setup() const {
  Hello self = options_.hello();
  self.blob.clear();
  return {.self = std::move(self), .key = &relay_key_, .timeout = options_.connect_timeout};
}

// The relay can read the handshake: the hello's blob follows in the first sealed record.
LinkSetup::Options RelayTransport::peer_setup() const {
  LinkSetup::Options options = relay_setup();
  options.key = options_.key;
  return options;
}

Result<LinkId> RelayTransport::call_relay(const Address& relay, const Request& request) {
  Link* const link = links_.add();
  if (link == nullptr) {
    return fail(ErrorCode::resource_exhausted, "this process has {} links already (max_links)",
                options_.max_links);
  }
  link->owner = this;
  link->accepted = request.what == Request::What::answer;
  link->announced = !link->accepted;
  Address to = relay;
  to.index = 0;
  to.scheme = Address::Scheme::relay;
  link->relay = to.to_string();
  to.scheme = Address::Scheme::tcp;
  auto setup =
      LinkSetup::as_client(reactor_, to, relay_setup(), {.data = encode(request), .fds = {}},
                           [this, id = link->id](Result<Established> established) {
                             let_in(id, std::move(established));
                           });
  if (!setup) {
    links_.remove(*link);
    return tl::unexpected(std::move(setup).error());
  }
  link->setup = *std::move(setup);
  return link->id;
}

// Somebody waits at the relay. If this process cannot come, the relay tells them.
void RelayTransport::summoned(const Address& relay, const Token& token) {
  (void)call_relay(relay, {.what = Request::What::answer, .node = {}, .token = token});
}

// The relay has let us in. A dialler speaks at once: what it says waits for the other side there.
void RelayTransport::let_in(LinkId id, Result<Established> established) {
  Link* const link = links_.find(id);
  if (link == nullptr || link->state != LinkState::calling) return;
  link->setup.reset();
  if (!established) {
    const Error& why = established.error();
    end(*link, {why.code, fmt::format("{}: {}", link->relay, why.message)});
    return;
  }
  link->state = LinkState::proving;
  auto done = [this, id](Result<Established> peer) { proved(id, std::move(peer)); };
  if (!link->accepted) {
    link->setup = LinkSetup::as_client(reactor_, std::move(established->socket), peer_setup(),
                                       peer_payload(*link), std::move(done));
    return;
  }
  link->setup = LinkSetup::as_server(
      reactor_, std::move(established->socket), peer_setup(),
      [this, id](Established& peer) -> Result<SetupPayload> {
        Link& proving = *links_.find(id);
        GODWIT_CHECK(make_seals(proving, peer));
        return peer_payload(proving);
      },
      std::move(done));
}

SetupPayload RelayTransport::peer_payload(const Link& link) const {
  std::string data(kPayloadTag);
  data.push_back(trust::Seal::has_quick_aes() ? 1 : 0);
  data.append(text_of(link.exchange.mine()));
  return {.data = std::move(data), .fds = {}};
}

Status RelayTransport::make_seals(Link& link, const Established& established) const {
  GODWIT_TRY(const PeerPayload peer, parse_payload(established.payload.data));
  const auto cipher = trust::Seal::has_quick_aes() && peer.has_quick_aes
                          ? trust::Cipher::aes256_gcm
                          : trust::Cipher::chacha20_poly1305;
  const trust::KeyExchange::Public& mine = link.exchange.mine();
  std::string transcript(text_of(bytes_of_value(established.link_token)));
  transcript.append(text_of(link.accepted ? peer.half : mine));
  transcript.append(text_of(link.accepted ? mine : peer.half));
  transcript.push_back(static_cast<char>(cipher));
  GODWIT_TRY(const trust::LinkKeys keys,
             link.exchange.derive(*options_.key, peer.half, bytes_of(transcript)));
  const trust::SealKey& ours = link.accepted ? keys.server_to_client : keys.client_to_server;
  const trust::SealKey& theirs = link.accepted ? keys.client_to_server : keys.server_to_client;
  GODWIT_TRY(trust::Seal out, trust::Seal::create(cipher, ours));
  GODWIT_TRY(trust::Seal in, trust::Seal::create(cipher, theirs));
  link.seals.emplace(LinkSeals{std::move(out), std::move(in)});
  return {};
}

void RelayTransport::proved(LinkId id, Result<Established> established) {
  Link* const link = links_.find(id);
  if (link == nullptr || link->state != LinkState::proving) return;
  link->setup.reset();
  if (!established) {
    const Error& why = established.error();
    end(*link, {why.code, fmt::format("through {}: {}", link->relay, why.message)});
    return;
  }
  if (!link->accepted) {
    if (Status made = make_seals(*link, *established); !made) {
      end(*link, std::move(made).error());
      return;
    }
  }
  link->peer = std::move(established->peer);
  start_records(*link, *established->socket);
}

void RelayTransport::start_records(Link& link, ControlSocket& socket) {
  ControlSocket::Released released = socket.release();
  if (!released.fd) {
    end(link, lost(link, {ErrorCode::link_lost, "it ended during the handshake"}));
    return;
  }
  link.stream = std::make_unique<SealedStream>(std::move(released.fd), std::move(link.seals->out),
                                               std::move(link.seals->in), released.input);
  link.seals.reset();
  if (const Status watched = reactor_.watch(link.stream->fd(), EPOLLIN, link); !watched) {
    end(link, watched.error());
    return;
  }
  ::setsockopt(link.stream->fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes,
               sizeof kUnsentBytes);
  link.state = LinkState::greeting;
  link.last_heard = link.last_sent = reactor_.now();
  link.readable = true;
  set_deadline(link, options_.connect_timeout);
  const std::string blob = options_.hello().blob;
  const Bytes part = bytes_of(blob);
  if (put(link, RecordKind::hello, 0, {&part, 1})) write(link);
  mark_busy(link);
  arm_beat();
}

void RelayTransport::set_deadline(Link& link, std::chrono::milliseconds after) {
  reactor_.cancel(link.deadline);
  link.deadline =
      reactor_.post_at(reactor_.now() + after, [this, id = link.id] { deadline_passed(id); });
}

void RelayTransport::deadline_passed(LinkId id) {
  Link* const link = links_.find(id);
  if (link == nullptr) return;
  if (link->state == LinkState::greeting) {
    end(*link,
        {ErrorCode::handshake_failed, fmt::format("through {}: the peer said no hello within {} ms",
                                                  link->relay, options_.connect_timeout.count())});
  } else if (link->state == LinkState::saying_bye) {
    end(*link, closed_by_us());
  }
}

void RelayTransport::close(LinkId id) {
  reactor_.assert_owner();
  Link* const link = links_.find(id);
  if (link == nullptr || link->state == LinkState::ended || link->state == LinkState::saying_bye) {
    return;
  }
  if (link->state != LinkState::up) {
    end(*link, closed_by_us());
    return;
  }
  link->state = LinkState::saying_bye;
  set_deadline(*link, options_.close_limit);
  mark_busy(*link);
}

// Whatever ended the connection to the relay says nothing about the peer behind it.
Error RelayTransport::lost(const Link& link, const Error& why) const {
  return {why.code == ErrorCode::link_lost ? ErrorCode::unreachable : why.code,
          fmt::format("lost the peer behind {}, or the relay itself: {}", link.relay, why.message)};
}

// The only way to `ended`. The stream stays until the poll that tells: whoever called this may be
// looking at it.
void RelayTransport::end(Link& link, Error why) {
  if (link.state == LinkState::ended) return;
  const bool was_closing = link.state == LinkState::saying_bye;
  link.state = LinkState::ended;
  link.why = was_closing ? closed_by_us() : std::move(why);
  link.setup.reset();
  reactor_.cancel(link.deadline);
  if (link.stream != nullptr) reactor_.unwatch(link.stream->fd());
  link.bodies.clear();
  drop_arriving(link);
  ended_.push_back(link.id);
}

std::size_t RelayTransport::finish_endings() {
  const std::vector<LinkId> ended = std::exchange(ended_, {});
  for (const LinkId id : ended) {
    Link& link = *links_.find(id);
    const bool announced = link.announced;
    const Error why = std::move(link.why);
    links_.remove(link);
    if (announced) events_.on_down(id, why);
  }
  return ended.size();
}

void RelayTransport::arm_beat() {
  if (std::exchange(beats_, true)) return;
  beat_timer_ = reactor_.post_at(reactor_.now() + options_.heartbeat.interval / 2, [this] {
    beats_ = false;
    beat();
  });
}

void RelayTransport::beat() {
  links_.for_each([this](Link& link) {
    if (link.stream == nullptr || link.state == LinkState::ended) return;
    arm_beat();
    const Time now = reactor_.now();
    // This process may have been stopped, with signs of life waiting in the socket.
    if (now - link.last_heard >= options_.heartbeat.silence && !link.readable) {
      const auto moved = link.stream->read();
      if (moved && *moved == SealedStream::Moved::some) {
        link.last_heard = now;
        link.readable = true;
        mark_busy(link);
      }
    }
    if (now - link.last_heard >= options_.heartbeat.silence && !link.readable) {
      end(link,
          lost(link, {ErrorCode::link_lost, fmt::format("no sign of life for {} ms",
                                                        options_.heartbeat.silence.count())}));
    } else if (now - link.last_sent >= options_.heartbeat.interval &&
               link.stream->queued_bytes() == 0) {
      if (put(link, RecordKind::beat, 0, {})) write(link);
    }
  });
}

}  // namespace godwit::fabric::relay
