#include <algorithm>
#include <span>
#include <vector>

#include "ref/contenders.hpp"
#include "ref/stops.hpp"
#include "ref/suites.hpp"
#include "ref/timing.hpp"
#include "ref/wire.hpp"

namespace godwit::bench {
namespace {

using Do = Order::Do;

// Of one measured run; enough for the first items not to count. Redis takes its time.
std::uint32_t items_of(const Scope& scope, Do what, std::uint64_t size) {
  const bool redis = what == Do::take_redis_stream || what == Do::take_object_stream;
  const std::uint64_t bytes = scope.quick || redis ? 20'000'000 : 200'000'000;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / size, 8, 1'000'000));
}

// From the first item until the far side has read the last, by item. The far side says when it is
// ready, and what the sum of all was.
template <class Send>
Result<Sample> by_item(Setup& setup, Do what, std::uint64_t size, const Send& send) {
  const std::uint32_t items = items_of(setup.scope(), what, size);
  Order order = setup.order(what, size);
  order.rounds = items;
  const std::uint64_t expected = sum_of(setup.bytes(size).data(), size) * items;
  return time_parts({.time_ns = UINT64_MAX, .rounds = setup.scope().quick ? 1U : 3U, .least = 1},
                    [&]() -> Result<std::uint64_t> {
                      GODWIT_TRY(const std::uint64_t ready, setup.far().ask(order));
                      static_cast<void>(ready);
                      const std::uint64_t begin_ns = floors::now_ns();
                      GODWIT_CHECK(send(items));
                      GODWIT_TRY(const std::uint64_t sum, setup.far().receive(Waiting::sleep));
                      if (sum != expected) return fail(ErrorCode::internal, "items are missing");
                      return Result<std::uint64_t>((floors::now_ns() - begin_ns) / items);
                    });
}

Result<Sample> by_topic(Setup& setup, const Broker& broker, Do what, std::uint64_t size) {
  GODWIT_TRY(auto out, Producer<std::uint64_t[]>::open(broker, "bench"));
  auto sample = by_item(setup, what, size, [&](std::uint32_t items) -> Status {
    for (std::uint32_t i = 0; i < items; ++i) GODWIT_CHECK(out.send(setup.words(size)));
    return out.flush();
  });
  GODWIT_CHECK(remove_topic(broker, "bench"));
  return sample;
}

using ArrayProducer = Producer<std::uint64_t[]>;

// Every page of it has what it should have: from an earlier item that lay there.
bool is_written(std::span<const std::uint64_t> item, std::span<const std::uint64_t> words) {
  constexpr std::size_t kPage = 512;
  for (std::size_t i = 0; i < item.size(); i += kPage) {
    if (item[i] != words[i]) return false;
  }
  return true;
}

// By whoever computes items where they are to lie: what that takes is not counted, as little as
// what it took to write the buffer that raw tcp sends. All memory of the topic is written before.
Result<Sample> by_drafts(Setup& setup, std::uint64_t size) {
  GODWIT_TRY(auto out, ArrayProducer::open(setup.node(), "bench"));
  const auto words = setup.words(size);
  const auto drafted = [&]() -> Result<ItemDraft<std::uint64_t[]>> {
    GODWIT_TRY(auto item, out.draft(words.size()));
    if (!is_written(*item, words)) std::ranges::copy(words, (*item).begin());
    return item;
  };
  {
    std::vector<ItemDraft<std::uint64_t[]>> all;
    for (std::uint64_t bytes = 0; bytes <= TopicOptions{}.max_bytes; bytes += size) {
      GODWIT_TRY(auto item, drafted());
      all.push_back(std::move(item));
    }
  }
  auto sample = by_item(setup, Do::take_stream, size, [&](std::uint32_t items) -> Status {
    for (std::uint32_t i = 0; i < items; ++i) {
      GODWIT_TRY(auto item, drafted());
      GODWIT_CHECK(out.send(item));
    }
    return out.flush();
  });
  GODWIT_CHECK(remove_topic(setup.node(), "bench"));
  return sample;
}

// Small ones together, as somebody who is in a hurry would send them.
Result<Sample> by_tcp(Setup& setup, std::uint64_t size, int to) {
  std::vector<std::byte> piece;
  const std::span<const std::byte> item = setup.bytes(size);
  do {
    piece.insert(piece.end(), item.begin(), item.end());
  } while (piece.size() + size <= 65'536);
  return by_item(setup, Do::drain_tcp, size, [&](std::uint32_t items) -> Status {
    for (std::uint64_t left = size * items; left > 0;) {
      const std::uint64_t part = std::min<std::uint64_t>(left, piece.size());
      GODWIT_CHECK(send_bytes(to, piece.data(), part));
      left -= part;
    }
    return {};
  });
}

// By way of a process that does nothing else: what two crossings cost.
Result<Sample> by_tcp_twice(Setup& setup, std::uint64_t size) {
  GODWIT_TRY(const Stop stop, Stop::by_tcp(setup.far().tcp()));
  return by_tcp(setup, size, stop.fd());
}

// By way of a process that keeps items as a topic does, in memory that the sender writes to: what
// one crossing costs where items are kept.
Result<Sample> by_kept(Setup& setup, std::uint64_t size) {
  GODWIT_TRY(KeepingStop stop, KeepingStop::start(setup.far().tcp(), size));
  return by_item(setup, Do::drain_tcp, size, [&](std::uint32_t items) -> Status {
    for (std::uint32_t i = 0; i < items; ++i) GODWIT_CHECK(stop.send(setup.bytes(size)));
    return {};
  });
}

// Straight from one process to the other: ZeroMQ keeps nothing.
void add_zeromq(Setup& setup, std::uint64_t size, const std::string& subject, Contenders& all) {
  if (setup.zeromq() == nullptr) return;
  all.add(
      fmt::format("zeromq PUSH to PULL, {}, {}", setup.options().by_tcp() ? "tcp" : "ipc",
                  size_text(size)),
      size,
      [&setup, size] {
        let_pollers_sleep();
        return by_item(setup, Do::drain_zeromq, size, [&](std::uint32_t items) -> Status {
          for (std::uint32_t i = 0; i < items; ++i) {
            GODWIT_CHECK(setup.zeromq()->send(setup.bytes(size)));
          }
          return {};
        });
      },
      Contenders::Beside{subject, By::p50, std::nullopt});
}

// The same code with a Redis server as the broker, in itself and with large items at the node.
void add_redis(Setup& setup, std::uint64_t size, const std::string& floor, Contenders& all) {
  if (setup.redis_url().empty() || (size != 64 && size != 1'000'000)) return;
  all.add(
      fmt::format("godwit stream, Redis, {}", size_text(size)), size,
      [&setup, size]() -> Result<Sample> {
        GODWIT_TRY(const Broker broker, Broker::connect(setup.redis_url()));
        return by_topic(setup, broker, Do::take_redis_stream, size);
      },
      Contenders::Beside{floor, By::p50, std::nullopt});
  if (size == 64) return;
  all.add(
      fmt::format("godwit stream, Redis and shm, {}", size_text(size)), size,
      [&setup, size]() -> Result<Sample> {
        GODWIT_TRY(const Broker broker, Broker::connect(setup.redis_url(), setup.node()));
        return by_topic(setup, broker, Do::take_object_stream, size);
      },
      Contenders::Beside{floor, By::p50, std::nullopt});
}

struct Places {
  const char* name;
  LocalTransport transport;
  bool consumer_by_tcp;
  bool beside_redis;
};

Status measure_streams(const Scope& scope, const Places& places, Table& table) {
  GODWIT_TRY(const auto setup, Setup::start(scope, {.transport = places.transport,
                                                    .spin_us = kDefaultSpinUs,
                                                    .pinned = false,
                                                    .largest_bytes = 10'000'000,
                                                    .redis = places.beside_redis,
                                                    .zeromq = true,
                                                    .far_by_tcp = places.consumer_by_tcp}));
  for (const std::uint64_t size : {64, 1'024, 100'000, 1'000'000, 10'000'000}) {
    Contenders all;
    const std::string floor = fmt::format("raw tcp, {}", size_text(size));
    all.add_floor(floor, size, [&, size] { return by_tcp(*setup, size, setup->far().tcp()); });
    const auto add_third = [&](std::string_view name, auto by) {
      all.add(
          fmt::format("{}, {}", name, size_text(size)), size,
          [&setup, size, by] {
            let_pollers_sleep();
            return by(*setup, size);
          },
          Contenders::Beside{floor, By::p50, std::nullopt});
    };
    if (places.transport == LocalTransport::tcp) {
      add_third("raw tcp through a third process", by_tcp_twice);
    }
    if (places.consumer_by_tcp && size >= 100'000) {
      add_third("raw tcp of what a third process keeps", by_kept);
    }
    std::optional<Goal> goal;
    if (size == 64) goal = Goal{Goal::Kind::p50_below_us, 1.0};
    if (size >= 1'000'000) goal = Goal{Goal::Kind::ratio_at_most, 1.25};
    const std::string subject = fmt::format("godwit stream, {}, {}", places.name, size_text(size));
    all.add(
        subject, size, [&, size] { return by_topic(*setup, setup->node(), Do::take_stream, size); },
        Contenders::Beside{floor, By::p50, goal});
    if (places.transport == LocalTransport::shm && size >= 1'000'000) {
      all.add(
          fmt::format("godwit stream, {}, written in place, {}", places.name, size_text(size)),
          size, [&, size] { return by_drafts(*setup, size); },
          Contenders::Beside{floor, By::p50, goal});
    }
    add_redis(*setup, size, floor, all);
    add_zeromq(*setup, size, subject, all);
    GODWIT_CHECK(all.run(scope.quick ? 1 : 3, table));
  }
  return {};
}

}  // namespace

Result<Table> run_ref_streams(const Scope& scope) {
  Table table{.suite = "streams",
              .title = "Items from a producer through a topic's home to a consumer, time by item"};
  table.more_columns = {"MB/s"};
  for (const Places& places :
       {Places{"shm", LocalTransport::shm, false, true},
        Places{"home by the producer, tcp", LocalTransport::shm, true, false},
        Places{"tcp", LocalTransport::tcp, false, false}}) {
    GODWIT_CHECK(measure_streams(scope, places, table));
  }
  table.notes.emplace_back(
      "Three processes on the cores there are: producer, home and consumer. With the home on the "
      "producer's host each byte crosses the loopback device once, as raw tcp does; with tcp on "
      "both "
      "sides twice, to the home and from it, as with raw tcp through a third process, which reads "
      "into memory of its own and writes from there. What a third process keeps: items are copied "
      "into 64 MiB of memory, as much as a topic has, and sent from there by another process, so "
      "that nothing of it is in a cache. Written in place: by a producer that computes items where "
      "they are to lie (Producer::draft), which is not counted; all others copy each item there. "
      "Redis is a server of the run's own, over a "
      "Unix "
      "socket, "
      "which keeps each item as an entry of a stream, without writing to disk; with shm, items are "
      "objects of the node's, and Redis has their handles. ZeroMQ, whose rows stand beside "
      "Godwit's, has no home: items go from one process to the other, and are gone when it ends. "
      "It is left out where there was no libzmq when this was built.");
  return table;
}

}  // namespace godwit::bench
