#include "fabric/relay/server.hpp"

#include <sodium.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "trace/json.hpp"

namespace godwit::fabric::relay {

RelayServer::RelayServer(Reactor& reactor, RelayServerOptions options)
    : reactor_(reactor), options_(std::move(options)), started_(reactor.now()) {}

Result<std::unique_ptr<RelayServer>> RelayServer::create(Reactor& reactor,
                                                         RelayServerOptions options) {
  if (options.listen.scheme != Address::Scheme::tcp) {
    return fail(ErrorCode::bad_address, "a relay listens at HOST:PORT, not at {}",
                options.listen.to_string());
  }
  std::unique_ptr<RelayServer> server(new RelayServer(reactor, std::move(options)));
  const RelayServerOptions& chosen = server->options_;
  LinkAcceptor::Options acceptor;
  acceptor.setup.self.node = random_node_id();
  acceptor.setup.key = &chosen.key;
  acceptor.setup.timeout = chosen.handshake_timeout;
  acceptor.max_pending = chosen.max_handshakes;
  GODWIT_TRY(server->acceptor_,
             LinkAcceptor::listen(
                 reactor, chosen.listen, std::move(acceptor),
                 [self = server.get()](Established& link) { return self->answer(link); },
                 [self = server.get()](Established link) { self->attach(std::move(link)); }));
  server->sweep();
  return server;
}

RelayServer::~RelayServer() {
  reactor_.cancel(sweep_timer_);
  for (const auto& [token, waiting] : waiting_) reactor_.cancel(waiting.timer);
}

// Called when the client has proved the key, and before it hears so.
Result<SetupPayload> RelayServer::answer(Established& link) {
  GODWIT_TRY(const Request request, parse_request(link.payload.data));
  GODWIT_CHECK(admit(request, link.peer));
  link.context = std::make_shared<Request>(request);
  if (request.what == Request::What::status) return SetupPayload{status_json(), {}};
  return SetupPayload{};
}

Status RelayServer::admit(const Request& request, const Hello& from) {
  switch (request.what) {
    case Request::What::status: return {};
    case Request::What::enrol: {
      const auto known = nodes_.find(from.node);
      if (known == nodes_.end() && nodes_.size() >= options_.max_nodes) {
        return overload("nodes", options_.max_nodes);
      }
      // A node that was restarted takes its place; one that was thought dead does not take it back.
      if (known != nodes_.end() && known->second->epoch.value > from.epoch.value) {
        return fail(ErrorCode::address_in_use, "a later start of node {} is enrolled here",
                    to_hex(from.node.value));
      }
      return {};
    }
    case Request::What::dial:
      if (joints_.size() + waiting_.size() >= options_.max_links) {
        return overload("links", options_.max_links);
      }
      if (waiting_.size() >= options_.max_waiting) {
        return overload("waiting diallers", options_.max_waiting);
      }
      if (find_target(request.node, from.node) != nullptr) return {};
      ++counters_.unknown;
      if (request.node.value == 0) {
        return fail(ErrorCode::unreachable, "no other node is enrolled at this relay");
      }
      return fail(ErrorCode::unreachable, "node {} is not enrolled at this relay",
                  to_hex(request.node.value));
    case Request::What::answer:
      if (waiting_.contains(request.token)) return {};
      return fail(ErrorCode::unreachable, "nobody waits for that any more");
  }
  return fail(ErrorCode::bad_format, "the relay does not know that request");
}

Status RelayServer::overload(const char* what, std::size_t limit) {
  ++counters_.overload;
  return fail(ErrorCode::overload, "this relay has {} {}, and takes no more", limit, what);
}

void RelayServer::attach(Established link) {
  const Request request = *static_cast<const Request*>(link.context.get());
  switch (request.what) {
    case Request::What::enrol: return enrol(std::move(link));
    case Request::What::dial: return call(std::move(link), request.node);
    case Request::What::answer: return join(request.token, *link.socket);
    case Request::What::status: return;  // it has its answer
  }
}

void RelayServer::enrol(Established link) {
  auto node = std::make_unique<Enrolled>();
  node->server = this;
  node->node = link.peer.node;
  node->epoch = link.peer.epoch;
  node->socket = std::move(link.socket);
  std::unique_ptr<Enrolled>& place = nodes_[node->node];
  if (place != nullptr) ++counters_.replaced;
  place = std::move(node);
  place->socket->set_events(place.get());
  place->socket->start_heartbeat(options_.heartbeat);
  ++counters_.enrolments;
}

void RelayServer::dismiss(NodeId node) {
  nodes_.erase(node);
}

RelayServer::Enrolled* RelayServer::find_target(NodeId wanted, NodeId asker) {
  if (wanted.value != 0) {
    const auto found = nodes_.find(wanted);
    return found == nodes_.end() ? nullptr : found->second.get();
  }
  const std::size_t others = nodes_.size() - nodes_.count(asker);
  if (others == 0) return nullptr;
  std::size_t skip = turn_++ % others;
  for (const auto& [id, node] : nodes_) {
    if (id == asker) continue;
    if (skip-- == 0) return node.get();
  }
  return nullptr;
}

void RelayServer::call(Established link, NodeId wanted) {
  Enrolled* const target = find_target(wanted, link.peer.node);
  if (target == nullptr) return;  // gone since: the dialler sees the end of its connection
  Token token;
  randombytes_buf(token.data(), token.size());
  Waiting& waiting = waiting_[token];
  waiting.dialler = std::move(link.socket);
  waiting.target = target->node;
  waiting.timer = reactor_.post_at(reactor_.now() + options_.meet_timeout,
                                   [this, token] { nobody_came(token); });
  target->socket->send(bytes_of(encode_summons(token)));
}

// The dialler is in the handshake with its peer by now, and understands this in the peer's place.
void RelayServer::nobody_came(const Token& token) {
  ++counters_.unanswered;
  const Waiting waiting = std::move(waiting_.extract(token).mapped());
  const Error why{ErrorCode::unreachable,
                  fmt::format("node {} is enrolled at this relay, and did not come within {} ms",
                              to_hex(waiting.target.value), options_.meet_timeout.count())};
  waiting.dialler->send(bytes_of(trust::Handshake::error_frame(why)));
  waiting.dialler->close();
}

void RelayServer::join(const Token& token, ControlSocket& answering) {
  auto node = waiting_.extract(token);
  if (node.empty()) return;
  reactor_.cancel(node.mapped().timer);
  ControlSocket::Released dialler = node.mapped().dialler->release();
  ControlSocket::Released answerer = answering.release();
  if (!dialler.fd || !answerer.fd) return;  // whoever is left sees the end of its connection
  auto joint = std::make_unique<Joint>(reactor_, pipes_, static_cast<Joint::Owner&>(*this));
  if (!joint->start({std::move(dialler.fd), dialler.input},
                    {std::move(answerer.fd), answerer.input})) {
    return;
  }
  ++counters_.links;
  Joint* const key = joint.get();
  joints_.emplace(key, std::move(joint));
}

void RelayServer::joint_ended(Joint& joint) {
  counters_.bytes += joint.moved_bytes();
  joints_.erase(&joint);
}

void RelayServer::sweep() {
  const Time now = reactor_.now();
  std::vector<Joint*> silent;
  for (const auto& [key, joint] : joints_) {
    if (now - joint->last_moved() >= options_.idle_limit) silent.push_back(key);
  }
  for (Joint* const joint : silent) {
    ++counters_.idle;
    joint_ended(*joint);
  }
  sweep_timer_ = reactor_.post_at(now + options_.idle_limit / 4, [this] { sweep(); });
}

std::string RelayServer::status_json() const {
  std::uint64_t bytes = counters_.bytes;
  for (const auto& [key, joint] : joints_) bytes += joint->moved_bytes();
  trace::Json out;
  out.open('{').field("address", acceptor_->address().to_string());
  const auto uptime = reactor_.now() - started_;
  out.field("uptime_ms", std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count());
  out.field("nodes", nodes_.size()).field("links", joints_.size());
  out.field("waiting", waiting_.size()).field("handshakes", acceptor_->pending());
  out.field("enrolments", counters_.enrolments).field("replaced", counters_.replaced);
  out.field("links_ever", counters_.links).field("bytes", bytes);
  out.field("refused", acceptor_->refused()).field("unknown", counters_.unknown);
  out.field("unanswered", counters_.unanswered).field("idle_ended", counters_.idle);
  out.field("overload", counters_.overload);
  out.close('}');
  return std::string(out.text());
}

}  // namespace godwit::fabric::relay
