#include <algorithm>
#include <cstring>

#include "ref/ways.hpp"
#include "ref/wire.hpp"

namespace godwit::bench::ways {
namespace {

Status check_sum(std::uint64_t sum, std::uint64_t expected) {
  if (sum == expected) return {};
  return fail(ErrorCode::internal, "the far side read something else");
}

// For a floor whose far side counts the rounds: all of them at once.
std::uint32_t rounds_of(const Enough& enough, std::uint64_t size) {
  constexpr std::uint64_t kBytes = 200'000'000;
  const std::uint64_t most = std::max<std::uint64_t>(enough.least, kBytes / size);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(most, std::max<std::size_t>(enough.least, enough.rounds / 10)));
}

Status await_turn(const Stage::Lane& lane, std::uint64_t turn) {
  constexpr std::uint64_t kMostLooks = std::uint64_t{1} << 34;  // a minute or so
  for (std::uint64_t looks = 0; lane.turn.load(std::memory_order_acquire) != turn; ++looks) {
    if (looks == kMostLooks) return fail(ErrorCode::deadline, "the far side does not answer");
  }
  return {};
}

}  // namespace

Result<Sample> copy(Setup& setup, std::uint64_t size, const Enough& enough) {
  const auto arena = setup.far().arena();
  std::memcpy(arena.data(), setup.bytes(size).data(), size);
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      std::memcpy(arena.data(), setup.bytes(size).data(), size);
      // Else the compiler might leave all copies out but the last.
      asm volatile("" : : "r"(arena.data()) : "memory");
      return {};
    });
  });
}

Result<Sample> pointer(Setup& setup, std::uint64_t size, const Enough& enough) {
  constexpr std::uint32_t kRounds = 5'000;
  Order order = setup.order(Order::Do::find_by_flag, size);
  order.waiting = Waiting::sleep;
  order.rounds = kRounds;
  order.core = setup.scope().node_core;
  GODWIT_TRY(const std::uint64_t ready, setup.far().ask(order));
  static_cast<void>(ready);
  Stage& stage = setup.far().stage();
  const auto arena = setup.far().arena();
  const Enough all{.time_ns = UINT64_MAX, .rounds = kRounds, .least = kRounds};
  static_cast<void>(enough);
  auto sample = time_parts(all, [&] {
    return time_of([&]() -> Status {
      const std::uint64_t turn = stage.question.turn.load(std::memory_order_relaxed) + 1;
      stage.question.value = 0;
      stage.question.turn.store(turn, std::memory_order_release);
      GODWIT_CHECK(await_turn(stage.answer, turn));
      const volatile std::byte* first = arena.data() + stage.answer.value;
      static_cast<void>(*first);
      return {};
    });
  });
  GODWIT_TRY(const std::uint64_t done, setup.far().receive(Waiting::sleep));
  static_cast<void>(done);
  return sample;
}

Result<Sample> arena_end_to_end(Setup& setup, std::uint64_t size, const Enough& enough) {
  const auto arena = setup.far().arena();
  const std::uint64_t expected = sum_of(setup.bytes(size).data(), size);
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      std::memcpy(arena.data(), setup.bytes(size).data(), size);
      GODWIT_TRY(const std::uint64_t sum,
                 setup.far().ask(setup.order(Order::Do::read_arena, size)));
      return check_sum(sum, expected);
    });
  });
}

Result<Sample> tcp_put(Setup& setup, std::uint64_t size, const Enough& enough) {
  Order order = setup.order(Order::Do::take_tcp, size);
  order.rounds = rounds_of(enough, size);
  order.core = setup.scope().node_core;
  GODWIT_CHECK(setup.far().send(order));
  const Enough all{.time_ns = UINT64_MAX, .rounds = order.rounds, .least = order.rounds};
  auto sample = time_parts(all, [&] {
    return time_of([&]() -> Status {
      char done = 0;
      GODWIT_CHECK(send_bytes(setup.far().tcp(), setup.bytes(size).data(), size));
      return receive_bytes(setup.far().tcp(), &done, 1, order.waiting);
    });
  });
  GODWIT_TRY(const std::uint64_t done, setup.far().receive(Waiting::sleep));
  static_cast<void>(done);
  return sample;
}

Result<Sample> tcp_get(Setup& setup, std::uint64_t size, const Enough& enough) {
  Order order = setup.order(Order::Do::send_tcp, size);
  order.rounds = rounds_of(enough, size);
  order.core = setup.scope().node_core;
  GODWIT_CHECK(setup.far().send(order));
  const Enough all{.time_ns = UINT64_MAX, .rounds = order.rounds, .least = order.rounds};
  const auto into = setup.into(size);
  auto sample = time_parts(all, [&] {
    return time_of([&]() -> Status {
      const char request = 1;
      GODWIT_CHECK(send_bytes(setup.far().tcp(), &request, 1));
      return receive_bytes(setup.far().tcp(), into.data(), size, order.waiting);
    });
  });
  GODWIT_TRY(const std::uint64_t done, setup.far().receive(Waiting::sleep));
  static_cast<void>(done);
  return sample;
}

Result<Sample> tcp_end_to_end(Setup& setup, std::uint64_t size, const Enough& enough) {
  const std::uint64_t expected = sum_of(setup.bytes(size).data(), size);
  Order order = setup.order(Order::Do::read_tcp, size);
  order.core = setup.scope().node_core;
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      GODWIT_CHECK(setup.far().send(order));
      GODWIT_CHECK(send_bytes(setup.far().tcp(), setup.bytes(size).data(), size));
      GODWIT_TRY(const std::uint64_t sum, setup.far().receive(order.waiting));
      return check_sum(sum, expected);
    });
  });
}

Result<Sample> redis_set(Setup& setup, std::uint64_t size, const Enough& enough) {
  return time_parts(enough, [&] {
    return time_of([&] { return setup.redis()->set("object", setup.bytes(size)); });
  });
}

Result<Sample> redis_get(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(setup.redis()->set("object", setup.bytes(size)));
  const auto into = setup.into(size);
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      GODWIT_TRY(const std::size_t got, setup.redis()->get("object", into));
      if (got != size || std::memcmp(into.data(), setup.bytes(size).data(), 8) != 0) {
        return fail(ErrorCode::internal, "redis-server sent something else");
      }
      return {};
    });
  });
}

Result<Sample> redis_set_and_get(Setup& setup, std::uint64_t size, const Enough& enough) {
  const auto into = setup.into(size);
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      GODWIT_CHECK(setup.redis()->set("object", setup.bytes(size)));
      GODWIT_TRY(const std::size_t got, setup.redis()->get("object", into));
      return got == size ? Status{} : fail(ErrorCode::internal, "redis-server sent another size");
    });
  });
}

Result<Sample> redis_end_to_end(Setup& setup, std::uint64_t size, const Enough& enough) {
  const std::uint64_t expected = sum_of(setup.bytes(size).data(), size);
  return time_parts(enough, [&] {
    return time_of([&]() -> Status {
      GODWIT_CHECK(setup.redis()->set("object", setup.bytes(size)));
      GODWIT_TRY(const std::uint64_t sum,
                 setup.far().ask(setup.order(Order::Do::read_redis, size)));
      return check_sum(sum, expected);
    });
  });
}

Result<Sample> zeromq_end_to_end(Setup& setup, std::uint64_t size, const Enough& enough) {
  const std::uint64_t expected = sum_of(setup.bytes(size).data(), size);
  Order order = setup.order(Order::Do::read_zeromq, size);
  order.core = setup.options().pinned ? setup.scope().node_core : -1;
  const auto once = [&]() -> Status {
    GODWIT_CHECK(setup.far().send(order));
    GODWIT_CHECK(setup.zeromq()->send(setup.bytes(size)));
    GODWIT_TRY(const std::uint64_t sum, setup.far().receive(order.waiting));
    return check_sum(sum, expected);
  };
  GODWIT_CHECK(once());  // the first one waits for a connection
  return time_parts(enough, [&] { return time_of(once); });
}

}  // namespace godwit::bench::ways
