#include "ref/zeromq.hpp"

#include <zmq.h>

#include <utility>

#include "base/fail.hpp"

namespace godwit::bench {
namespace {

// Below, a copy costs less than what ZeroMQ keeps for a message that is somebody else's.
constexpr std::size_t kNotCopiedFrom = 65'536;
constexpr int kPatienceMs = 30'000;

tl::unexpected<Error> failed(const char* what) {
  const int error = zmq_errno();
  return fail(error == EAGAIN ? ErrorCode::deadline : ErrorCode::io, "ZeroMQ: {}: {}", what,
              zmq_strerror(error));
}

// A context of its own, with one socket.
class ZeromqSocket {
 public:
  // Errors: io.
  static Result<ZeromqSocket> open(int type) {
    ZeromqSocket made;
    made.context_ = zmq_ctx_new();
    if (made.context_ == nullptr) return failed("no context");
    made.socket_ = zmq_socket(made.context_, type);
    if (made.socket_ == nullptr) return failed("no socket");
    // Nothing keeps a process that ends.
    for (const auto& [option, value] :
         {std::pair{ZMQ_LINGER, 0}, std::pair{ZMQ_SNDTIMEO, kPatienceMs},
          std::pair{ZMQ_RCVTIMEO, kPatienceMs}}) {
      if (zmq_setsockopt(made.socket_, option, &value, sizeof value) != 0) {
        return failed("an option of a socket");
      }
    }
    return made;
  }
  ZeromqSocket(ZeromqSocket&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        socket_(std::exchange(other.socket_, nullptr)) {}
  ZeromqSocket& operator=(ZeromqSocket&&) = delete;
  ~ZeromqSocket() {
    if (socket_ != nullptr) zmq_close(socket_);
    if (context_ != nullptr) zmq_ctx_term(context_);
  }

  [[nodiscard]] void* get() const noexcept { return socket_; }

 private:
  ZeromqSocket() = default;
  void* context_ = nullptr;
  void* socket_ = nullptr;
};

class Sender final : public ZeromqSender {
 public:
  Sender(ZeromqSocket socket, std::string address)
      : socket_(std::move(socket)), address_(std::move(address)) {}

  [[nodiscard]] const std::string& address() const noexcept override { return address_; }

  [[nodiscard]] Status send(std::span<const std::byte> bytes) override {
    if (bytes.size() < kNotCopiedFrom) {
      if (zmq_send(socket_.get(), bytes.data(), bytes.size(), 0) < 0) return failed("sending");
      return {};
    }
    zmq_msg_t message;
    const auto keep = [](void*, void*) {};  // whose they are is the caller's business
    if (zmq_msg_init_data(&message, const_cast<std::byte*>(bytes.data()), bytes.size(), keep,
                          nullptr) != 0) {
      return failed("no message");
    }
    if (zmq_msg_send(&message, socket_.get(), 0) >= 0) return {};
    auto error = failed("sending");
    zmq_msg_close(&message);
    return error;
  }

 private:
  ZeromqSocket socket_;
  std::string address_;
};

class Receiver final : public ZeromqReceiver {
 public:
  explicit Receiver(ZeromqSocket socket) : socket_(std::move(socket)) { zmq_msg_init(&message_); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() override { zmq_msg_close(&message_); }

  [[nodiscard]] Result<std::span<const std::byte>> receive() override {
    if (zmq_msg_recv(&message_, socket_.get(), 0) < 0) return failed("receiving");
    return std::span(static_cast<const std::byte*>(zmq_msg_data(&message_)),
                     zmq_msg_size(&message_));
  }

 private:
  ZeromqSocket socket_;
  zmq_msg_t message_;
};

}  // namespace

Result<std::unique_ptr<ZeromqSender>> make_zeromq_sender(ZeromqWay way) {
  GODWIT_TRY(ZeromqSocket socket, ZeromqSocket::open(ZMQ_PUSH));
  // It finds a place, or a port, of its own.
  if (zmq_bind(socket.get(), way == ZeromqWay::ipc ? "ipc://*" : "tcp://127.0.0.1:*") != 0) {
    return failed("listening");
  }
  char address[256];
  std::size_t size = sizeof address;
  if (zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, address, &size) != 0) {
    return failed("no address");
  }
  return std::make_unique<Sender>(std::move(socket), address);
}

Result<std::unique_ptr<ZeromqReceiver>> make_zeromq_receiver(const std::string& address) {
  GODWIT_TRY(ZeromqSocket socket, ZeromqSocket::open(ZMQ_PULL));
  if (zmq_connect(socket.get(), address.c_str()) != 0) return failed("connecting");
  return std::make_unique<Receiver>(std::move(socket));
}

}  // namespace godwit::bench
