// What the far side does.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "calls.hpp"
#include "floors/sample.hpp"
#include "godwit/godwit.hpp"
#include "godwit/promise.hpp"
#include "godwit/ref.hpp"
#include "ref/far_side.hpp"
#include "ref/redis_objects.hpp"
#include "ref/wire.hpp"
#include "ref/zeromq.hpp"
#include "settings.hpp"

namespace godwit::bench {
namespace {

constexpr int kOrders = 3;
constexpr int kReplies = 4;
constexpr int kMemory = 5;
constexpr std::chrono::seconds kPatience{20};

class FarProgram {
 public:
  struct Redis {
    std::string url;
    RedisObjects objects;
  };
  // Others that bytes come by.
  struct Peers {
    std::optional<Redis> redis;
    std::string zeromq_address;  // empty: without
  };
  FarProgram(Fleet fleet, fabric::Mapping memory, fabric::Fd tcp, Peers peers)
      : fleet_(std::move(fleet)),
        memory_(std::move(memory)),
        tcp_(std::move(tcp)),
        redis_(std::move(peers.redis)),
        zeromq_address_(std::move(peers.zeromq_address)),
        warm_(memory_.size() - Stage::kBytes) {}

  // Until there are no more orders.
  void serve() {
    Order order;
    Waiting waiting = Waiting::sleep;
    while (receive_value(kOrders, order, waiting)) {
      waiting = order.waiting;
      if (order.core != core_) run_on_core(core_ = order.core);
      if (!reply(obey(order))) return;
    }
  }

  static Status reply(const Result<std::uint64_t>& result) {
    Reply said;
    if (result) {
      said.value = *result;
    } else {
      said.failed = static_cast<std::uint32_t>(result.error().code);
      const std::string& why = result.error().message;
      std::memcpy(said.why, why.data(), std::min(why.size(), sizeof said.why - 1));
    }
    return send_value(kReplies, said);
  }

 private:
  [[nodiscard]] Result<std::uint64_t> obey(const Order& order) {
    using Do = Order::Do;
    switch (order.what) {
      case Do::read_object: {
        GODWIT_TRY(const auto ref, Ref<std::uint64_t[]>::from(fleet_, order.handle));
        GODWIT_TRY(const auto object, ref.resolve());
        return sum_of(object.bytes().data(), object.bytes().size());
      }
      case Do::resolve_each:
      case Do::resolve_batch: return resolve_handed(order);
      case Do::read_arena: return sum_of(memory_.data() + Stage::kBytes, order.size);
      case Do::read_redis: {
        if (!redis_) return fail(ErrorCode::unsupported, "there is no Redis");
        GODWIT_TRY(const std::size_t size, redis_->objects.get("object", warm_));
        return sum_of(warm_.data(), size);
      }
      case Do::read_zeromq: {
        GODWIT_CHECK(ensure_zeromq());
        GODWIT_TRY(const auto bytes, zeromq_->receive());
        return sum_of(bytes.data(), bytes.size());
      }
      case Do::read_tcp: {
        GODWIT_CHECK(receive_bytes(tcp_.get(), warm_.data(), order.size, order.waiting));
        return sum_of(warm_.data(), order.size);
      }
      case Do::find_by_flag: return find_by_flag(order);
      case Do::send_tcp: return send_tcp(order);
      case Do::take_tcp: return take_tcp(order);
      case Do::await_object: {
        GODWIT_TRY(const auto ref, Ref<std::uint64_t>::from(fleet_, order.handle));
        GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
        GODWIT_TRY(const auto time_ns, ref.wait(kPatience));
        return floors::now_ns() - *time_ns;
      }
      case Do::await_pipe: {
        std::uint64_t time_ns = 0;
        GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
        GODWIT_CHECK(receive_value(kOrders, time_ns, order.waiting));
        return floors::now_ns() - time_ns;
      }
      case Do::await_flag: {
        const std::uint64_t turn = stage().question.turn.load() + 1;
        GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
        await(stage().question, turn);
        return floors::now_ns() - stage().question.value;
      }
      case Do::take_stream: return take_stream(fleet_.node(0), order);
      case Do::take_redis_stream:
      case Do::take_object_stream: return take_redis_stream(order);
      case Do::drain_tcp: return drain_tcp(order);
      case Do::drain_zeromq: return drain_zeromq(order);
      case Do::peak_memory: return Result<std::uint64_t>(memory_of(::getpid()).peak_bytes);
    }
    return fail(ErrorCode::bad_format, "an unknown order");
  }

  [[nodiscard]] Stage& stage() { return *reinterpret_cast<Stage*>(memory_.data()); }

  Result<std::uint64_t> resolve_handed(const Order& order) {
    const std::span<Handed> all(reinterpret_cast<Handed*>(memory_.data() + Stage::kBytes),
                                order.rounds);
    std::vector<Ref<std::uint64_t[]>> refs;
    for (const Handed& one : all) {
      GODWIT_TRY(auto ref, Ref<std::uint64_t[]>::from(fleet_, one.handle));
      refs.push_back(std::move(ref));
    }
    // Both had fallen asleep: the first questions are slow, and so is the first object after a
    // pause.
    GODWIT_TRY(const auto other, Ref<std::uint64_t[]>::from(fleet_, order.handle));
    GODWIT_CHECK(keep_asking(other));
    GODWIT_TRY(const auto awake, other.resolve());
    static_cast<void>(awake);
    const std::uint64_t begin_ns = floors::now_ns();
    if (order.what == Order::Do::resolve_batch) {
      const auto objects = godwit::resolve_batch(std::span<const Ref<std::uint64_t[]>>(refs));
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!objects[i]) return tl::unexpected(objects[i].error());
        all[i].first = (**objects[i])[0];
      }
      return floors::now_ns() - begin_ns;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t from_ns = floors::now_ns();
      GODWIT_TRY(const auto ref, Ref<std::uint64_t[]>::from(fleet_, all[i].handle));
      GODWIT_TRY(const auto object, ref.resolve());
      all[i].first = (*object)[0];
      all[i].time_ns = floors::now_ns() - from_ns;
    }
    return floors::now_ns() - begin_ns;
  }

  // The near side ends, and this process with it, if the turn never comes.
  static void await(const Stage::Lane& lane, std::uint64_t turn) {
    constexpr std::uint32_t kYieldEvery = 1U << 12U;
    for (std::uint32_t looks = 1; lane.turn.load(std::memory_order_acquire) != turn; ++looks) {
      if (looks % kYieldEvery == 0) ::sched_yield();
    }
  }

  Result<std::uint64_t> find_by_flag(const Order& order) {
    Stage& stage = this->stage();
    const std::uint64_t first = stage.question.turn.load() + 1;
    GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
    for (std::uint64_t turn = first; turn < first + order.rounds; ++turn) {
      await(stage.question, turn);
      stage.answer.value = stage.question.value * order.size;
      stage.answer.size = order.size;
      stage.answer.turn.store(turn, std::memory_order_release);
    }
    return Result<std::uint64_t>(order.rounds);
  }

  Result<std::uint64_t> send_tcp(const Order& order) {
    for (std::uint32_t round = 0; round < order.rounds; ++round) {
      char request = 0;
      GODWIT_CHECK(receive_bytes(tcp_.get(), &request, 1, order.waiting));
      GODWIT_CHECK(send_bytes(tcp_.get(), memory_.data() + Stage::kBytes, order.size));
    }
    return Result<std::uint64_t>(order.rounds);
  }

  Result<std::uint64_t> take_tcp(const Order& order) {
    for (std::uint32_t round = 0; round < order.rounds; ++round) {
      GODWIT_CHECK(receive_bytes(tcp_.get(), warm_.data(), order.size, order.waiting));
      const char done = 1;
      GODWIT_CHECK(send_bytes(tcp_.get(), &done, 1));
    }
    return Result<std::uint64_t>(order.rounds);
  }

  Result<std::uint64_t> take_redis_stream(const Order& order) {
    if (!redis_) return fail(ErrorCode::unsupported, "there is no Redis");
    const bool objects = order.what == Order::Do::take_object_stream;
    GODWIT_TRY(const Broker broker, objects ? Broker::connect(redis_->url, fleet_.node(0))
                                            : Broker::connect(redis_->url));
    return take_stream(broker, order);
  }

  static Result<std::uint64_t> take_stream(const Broker& broker, const Order& order) {
    GODWIT_TRY(auto in,
               Consumer<std::uint64_t[]>::join(broker, "bench", "far", {.lasting = false}));
    GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < order.rounds; ++i) {
      GODWIT_TRY(const auto item, in.next(kPatience));
      if (!item) return fail(ErrorCode::internal, "the stream has ended");
      sum += sum_of(item->bytes().data(), item->bytes().size());
      item->ack();
    }
    return Result<std::uint64_t>(sum);
  }

  Result<std::uint64_t> drain_tcp(const Order& order) {
    const std::uint64_t at_a_time = std::max<std::uint64_t>(order.size, 65'536);
    GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
    std::uint64_t sum = 0;
    for (std::uint64_t left = order.size * order.rounds; left > 0;) {
      const std::uint64_t part = std::min({left, at_a_time, std::uint64_t{warm_.size()}});
      GODWIT_CHECK(receive_bytes(tcp_.get(), warm_.data(), part, order.waiting));
      sum += sum_of(warm_.data(), part);
      left -= part;
    }
    return Result<std::uint64_t>(sum);
  }

  // On the core that orders for ZeroMQ name, where its thread then is, too.
  Status ensure_zeromq() {
    if (zeromq_ != nullptr) return {};
    GODWIT_TRY(zeromq_, make_zeromq_receiver(zeromq_address_));
    return {};
  }

  Result<std::uint64_t> drain_zeromq(const Order& order) {
    GODWIT_CHECK(ensure_zeromq());
    GODWIT_CHECK(reply(Result<std::uint64_t>(0)));
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < order.rounds; ++i) {
      GODWIT_TRY(const auto bytes, zeromq_->receive());
      sum += sum_of(bytes.data(), bytes.size());
    }
    return Result<std::uint64_t>(sum);
  }

  Fleet fleet_;
  fabric::Mapping memory_;
  fabric::Fd tcp_;
  std::optional<Redis> redis_;
  std::string zeromq_address_;
  std::unique_ptr<ZeromqReceiver> zeromq_;
  std::vector<std::byte> warm_;
  int core_ = 0;
};

Result<fabric::Fd> accept_near_side() {
  const fabric::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    return fail(ErrorCode::io, "listen on loopback: {}", errno_text(errno));
  }
  GODWIT_CHECK(FarProgram::reply(Result<std::uint64_t>(ntohs(address.sin_port))));
  fabric::Fd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return fail(ErrorCode::io, "accept: {}", errno_text(errno));
  const int on = 1;
  (void)::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connection;
}

Result<FarProgram> make_program(char** arguments) {
  GODWIT_TRY(fabric::Fd tcp, accept_near_side());
  const std::size_t bytes = std::stoull(arguments[2]);
  GODWIT_TRY(fabric::Mapping memory, fabric::map_memory(kMemory, bytes, fabric::Access::write));
  ClientOptions client{.name = "far"};
  client.spin_us = std::stoll(arguments[1]);
  GODWIT_TRY(Fleet fleet, Fleet::join(arguments[0], client));
  FarProgram::Peers peers{.redis = {}, .zeromq_address = arguments[4]};
  if (const std::string socket = arguments[3]; !socket.empty()) {
    GODWIT_TRY(RedisObjects objects, RedisObjects::connect(socket));
    peers.redis.emplace("redis:" + socket, std::move(objects));
  }
  return FarProgram(std::move(fleet), std::move(memory), std::move(tcp), std::move(peers));
}

}  // namespace

int run_far_side(int argc, char** argv) {
  if (argc != 7) return EXIT_FAILURE;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto program = make_program(argv + 2);
  if (!program) {
    static_cast<void>(FarProgram::reply(tl::unexpected(program.error())));
    return EXIT_FAILURE;
  }
  if (!FarProgram::reply(Result<std::uint64_t>(0))) return EXIT_FAILURE;
  program->serve();
  return EXIT_SUCCESS;
}

}  // namespace godwit::bench
