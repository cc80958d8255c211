// Raw ucp_am echo with a window. Buffers are made before the first message, one per message in
// flight, so that the exchange itself is UCX and one memcpy per side.
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fail.hpp"
#include "floors/floors.hpp"
#include "floors/pair.hpp"
#include "floors/ucp_side.hpp"

namespace godwit::floors {
namespace {

constexpr unsigned kRequestAm = 1;
constexpr unsigned kReplyAm = 2;

struct Exchange;

// One message in flight. Header and bytes stay put until the send completes, as UCX demands.
struct Slot {
  Exchange* exchange = nullptr;
  std::vector<char> header;  // starts with the slot's index
  std::vector<char> outgoing;
  std::vector<char> incoming;
  std::uint64_t sent_ns = 0;
};

// The state the callbacks share. They run inside ucp_worker_progress, on the only thread.
struct Exchange {
  UcpSide side;
  UcpAmOptions options;
  std::vector<Slot> slots;
  unsigned send_am = kRequestAm;
  std::size_t sends_pending = 0;
  bool failed = false;
  std::vector<std::size_t> answered;            // client: slots whose reply is here
  void (*arrived)(Exchange&, Slot&) = nullptr;  // called once per message, bytes in `incoming`
};

void on_sent(void* request, ucs_status_t status, void* argument) {
  auto& exchange = *static_cast<Exchange*>(argument);
  --exchange.sends_pending;
  exchange.failed |= status != UCS_OK;
  ucp_request_free(request);
}

void send(Exchange& exchange, Slot& slot) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &on_sent;
  params.user_data = &exchange;
  void* request =
      ucp_am_send_nbx(exchange.side.endpoint(), exchange.send_am, slot.header.data(),
                      slot.header.size(), slot.outgoing.data(), slot.outgoing.size(), &params);
  if (UCS_PTR_IS_ERR(request)) exchange.failed = true;
  if (UCS_PTR_IS_PTR(request)) ++exchange.sends_pending;
}

void on_received(void* request, ucs_status_t status, std::size_t, void* argument) {
  auto& slot = *static_cast<Slot*>(argument);
  slot.exchange->failed |= status != UCS_OK;
  ucp_request_free(request);
  slot.exchange->arrived(*slot.exchange, slot);
}

ucs_status_t on_message(void* argument, const void* header, std::size_t header_size, void* data,
                        std::size_t size, const ucp_am_recv_param_t* received) {
  auto& exchange = *static_cast<Exchange*>(argument);
  std::uint64_t index = 0;
  if (header_size >= sizeof index) std::memcpy(&index, header, sizeof index);
  if (index >= exchange.slots.size() || size > exchange.slots[index].incoming.size()) {
    exchange.failed = true;
    return UCS_OK;
  }
  Slot& slot = exchange.slots[index];
  if ((received->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    if (size > 0) std::memcpy(slot.incoming.data(), data, size);
    exchange.arrived(exchange, slot);
    return UCS_OK;
  }
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = &on_received;
  params.user_data = &slot;
  void* request =
      ucp_am_recv_data_nbx(exchange.side.worker(), data, slot.incoming.data(), size, &params);
  if (UCS_PTR_IS_ERR(request)) exchange.failed = true;
  if (request == nullptr) exchange.arrived(exchange, slot);
  return UCS_INPROGRESS;
}

struct Role {
  unsigned send_am;
  unsigned receive_am;
  std::size_t outgoing_bytes;
  std::size_t incoming_bytes;
};

Status open(Exchange& exchange, const UcpAmOptions& options, const Role& role, int peer_fd) {
  exchange.options = options;
  exchange.send_am = role.send_am;
  exchange.slots.resize(options.window);
  exchange.answered.reserve(options.window);
  for (std::uint64_t index = 0; index < exchange.slots.size(); ++index) {
    Slot& slot = exchange.slots[index];
    slot.exchange = &exchange;
    slot.header.assign(options.header_bytes, 'h');
    std::memcpy(slot.header.data(), &index, sizeof index);
    slot.outgoing.assign(role.outgoing_bytes, 'o');
    slot.incoming.assign(role.incoming_bytes, 'i');
  }
  GODWIT_CHECK(exchange.side.open(options, peer_fd));
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = role.receive_am;
  handler.cb = &on_message;
  handler.arg = &exchange;
  if (ucp_worker_set_am_recv_handler(exchange.side.worker(), &handler) != UCS_OK) {
    return fail(ErrorCode::internal, "ucp_am floor: cannot set the AM handler");
  }
  // Neither side may send before the other one's handler stands.
  char ready = 'r';
  GODWIT_CHECK(send_all(peer_fd, &ready, 1));
  return receive_all(peer_fd, &ready, 1);
}

std::size_t reply_bytes(const UcpAmOptions& options) {
  return options.reply_bytes == UcpAmOptions::kEcho ? options.payload_bytes : options.reply_bytes;
}

void answer(Exchange& exchange, Slot& slot) {
  if (exchange.options.reply_bytes == UcpAmOptions::kEcho) slot.outgoing.swap(slot.incoming);
  send(exchange, slot);
}

Status serve(const UcpAmOptions& options, int peer_fd) {
  Exchange exchange;
  exchange.arrived = &answer;
  GODWIT_CHECK(open(exchange, options,
                    {.send_am = kReplyAm,
                     .receive_am = kRequestAm,
                     .outgoing_bytes = reply_bytes(options),
                     .incoming_bytes = options.payload_bytes},
                    peer_fd));
  // The client's first byte after "ready" says that it has all its answers.
  while (!exchange.failed && !exchange.side.peer_done(peer_fd)) {
    GODWIT_CHECK(exchange.side.progress(peer_fd));
  }
  if (exchange.failed)
    return fail(ErrorCode::internal, "ucp_am floor: the server's exchange broke");
  return exchange.side.close(peer_fd);
}

Status exchange_all(Exchange& exchange, RoundTrips& times, int peer_fd, std::uint64_t& begin_ns) {
  const std::size_t warm_up = exchange.options.run.warm_up_rounds;
  const std::size_t last = warm_up + exchange.options.run.rounds;
  std::size_t sent = 0;
  std::size_t done = 0;
  const auto send_next = [&](Slot& slot) {
    slot.sent_ns = is_timed(sent++, exchange.slots.size()) ? now_ns() : 0;
    send(exchange, slot);
  };
  begin_ns = now_ns();
  for (Slot& slot : exchange.slots) {
    if (sent == last) break;
    send_next(slot);
  }
  while (done < last) {
    GODWIT_CHECK(exchange.side.progress(peer_fd));
    if (exchange.answered.empty()) {
      if (!exchange.failed && !exchange.side.peer_done(peer_fd)) continue;
      return fail(ErrorCode::internal, "ucp_am floor: the exchange broke after {} rounds", done);
    }
    for (const std::size_t index : exchange.answered) {
      Slot& slot = exchange.slots[index];
      if (++done > warm_up && slot.sent_ns != 0) times.add(now_ns() - slot.sent_ns);
      if (done == warm_up) begin_ns = now_ns();
      if (sent != last) send_next(slot);
    }
    exchange.answered.clear();
  }
  return {};
}

Result<Sample> ask(const UcpAmOptions& options, int peer_fd) {
  Exchange exchange;
  exchange.arrived = [](Exchange& owner, Slot& slot) {
    owner.answered.push_back(static_cast<std::size_t>(&slot - owner.slots.data()));
  };
  GODWIT_CHECK(open(exchange, options,
                    {.send_am = kRequestAm,
                     .receive_am = kReplyAm,
                     .outgoing_bytes = options.payload_bytes,
                     .incoming_bytes = reply_bytes(options)},
                    peer_fd));
  RoundTrips times(options.run.rounds);
  std::uint64_t begin_ns = 0;
  GODWIT_CHECK(exchange_all(exchange, times, peer_fd, begin_ns));
  const std::uint64_t end_ns = now_ns();
  GODWIT_CHECK(exchange.side.close(peer_fd));
  return times.summarise(end_ns - begin_ns, options.run.rounds);
}

Status check_options(const UcpAmOptions& options) {
  const std::size_t largest = std::max(options.payload_bytes, reply_bytes(options));
  if (options.window == 0 || options.window > UcpAmOptions::kMaxWindow ||
      options.header_bytes < sizeof(std::uint64_t) || options.header_bytes > 4096 ||
      largest > UcpAmOptions::kMaxBytesInFlight / options.window) {
    return fail(
        ErrorCode::invalid_argument,
        "ucp_am floor: window is 1 to {}, header 8 to 4096 bytes, window x payload up to {} "
        "bytes",
        UcpAmOptions::kMaxWindow, UcpAmOptions::kMaxBytesInFlight);
  }
  return {};
}

}  // namespace

Result<Sample> measure_ucp_am(const UcpAmOptions& options) {
  GODWIT_CHECK(check_options(options));
  return run_pair(options.run, {.server = [&](int fd) { return serve(options, fd); },
                                .client = [&](int fd) { return ask(options, fd); }});
}

}  // namespace godwit::floors
