#include "ref/contenders.hpp"
#include "ref/suites.hpp"
#include "ref/ways.hpp"

namespace godwit::bench {
namespace {

using Way = Result<Sample> (*)(Setup& setup, std::uint64_t size, const Enough& enough);
using Kind = Goal::Kind;

constexpr std::uint64_t kMostOfRedis = 500'000'000;  // its limit is 512 MiB
constexpr std::uint64_t kLarge = 100'000'000;
constexpr std::uint64_t kLargestInMessage = 16'384;

Enough enough_of(const Scope& scope, std::uint64_t size) {
  return {.time_ns = scope.quick ? 5'000'000U : 40'000'000U,
          .least = size > kLarge ? std::size_t{1} : std::size_t{3}};
}

std::size_t rounds_of(const Scope& scope, std::uint64_t size) {
  if (scope.quick) return 1;
  return size > kLarge ? 3 : 5;
}

// The rows of one size: three pairs of floor and subject, with Redis below where there is one.
class SizeRows {
 public:
  SizeRows(Setup& setup, std::uint64_t size)
      : setup_(setup), size_(size), enough_(enough_of(setup.scope(), size)) {}

  void add_floor(const char* name, Way way) {
    floor_ = titled(name);
    contenders_.add_floor(floor_, moved_by(way), measure(way));
  }
  void add(const char* name, Way way, std::optional<Goal> goal = {}) {
    subject_ = titled(name);
    contenders_.add(subject_, moved_by(way), measure(way),
                    Contenders::Beside{floor_, By::p50, goal});
  }
  void add_redis(const char* name, Way way) {
    if (setup_.redis() != nullptr && size_ <= kMostOfRedis) add_peer(name, way);
  }
  void add_zeromq(const char* name, Way way) {
    if (setup_.zeromq() != nullptr) add_peer(name, way);
  }
  [[nodiscard]] Status run(Table& table) const {
    return contenders_.run(rounds_of(setup_.scope(), size_), table);
  }

 private:
  // Held against Godwit's row: above 1 is slower than that.
  void add_peer(const char* name, Way way) {
    contenders_.add(
        titled(name), size_,
        [measured = measure(way)] {
          let_pollers_sleep();
          return measured();
        },
        Contenders::Beside{subject_, By::p50});
  }
  [[nodiscard]] std::string titled(const char* name) const {
    return fmt::format("{}, {}", name, size_text(size_));
  }
  // Where a pointer is all that comes, there is no rate of bytes.
  [[nodiscard]] std::uint64_t moved_by(Way way) const {
    const bool maps = setup_.options().transport == LocalTransport::shm;
    const bool hands_over =
        way == ways::resolve || way == ways::resolve_again || way == ways::draft_and_publish;
    return way == ways::pointer || (maps && hands_over) ? 0 : size_;
  }
  [[nodiscard]] Measure measure(Way way) {
    return [this, way] { return way(setup_, size_, enough_); };
  }

  Setup& setup_;
  std::uint64_t size_;
  Enough enough_;
  std::string floor_;
  std::string subject_;
  Contenders contenders_;
};

std::optional<Goal> below_us(bool applies, double us) {
  return applies ? std::optional(Goal{Kind::p50_below_us, us}) : std::nullopt;
}

Status measure_mapped(Setup& setup, std::uint64_t size, Table& table) {
  const bool small = size == 1'000;
  const bool large = size == kLarge;
  const bool spins = setup.options().spin_us > 0;
  SizeRows rows(setup, size);
  rows.add_floor("memcpy into warm memory", ways::copy);
  if (size > kLargestInMessage) {
    rows.add("godwit draft + publish, written in place", ways::draft_and_publish);
  }
  rows.add("godwit put", ways::put);
  rows.add_redis("redis SET", ways::redis_set);
  rows.add_floor("pointer out of a mapped arena", ways::pointer);
  rows.add("godwit resolve in another process", ways::resolve, below_us(large, 10));
  rows.add_redis("redis GET", ways::redis_get);
  rows.add("godwit resolve again where it was put", ways::resolve_again);
  if (small) {
    const auto goal = below_us(true, spins ? 3 : 60);
    rows.add("godwit put + resolve in another process", ways::put_and_resolve, goal);
    rows.add_redis("redis SET + GET", ways::redis_set_and_get);
    rows.add("godwit put + resolve in one process", ways::put_and_resolve_here, goal);
  }
  rows.add_floor("arena, end to end", ways::arena_end_to_end);
  rows.add("godwit end to end", ways::end_to_end, below_us(large, 25'000));
  rows.add_redis("redis end to end", ways::redis_end_to_end);
  rows.add_zeromq("zeromq end to end, ipc", ways::zeromq_end_to_end);
  return rows.run(table);
}

Status measure_streamed(Setup& setup, std::uint64_t size, Table& table) {
  SizeRows rows(setup, size);
  rows.add_floor("raw tcp there", ways::tcp_put);
  rows.add("godwit put", ways::put);
  rows.add_floor("raw tcp from there", ways::tcp_get);
  rows.add("godwit resolve in another process", ways::resolve);
  rows.add_floor("raw tcp, end to end", ways::tcp_end_to_end);
  rows.add("godwit end to end", ways::end_to_end);
  rows.add_zeromq("zeromq end to end, tcp", ways::zeromq_end_to_end);
  return rows.run(table);
}

constexpr const char* kRedisNote =
    "Redis over a Unix socket, on the node's core; its rows stand beside Godwit's. The same bytes "
    "each time, by a client that copies nothing itself.";

constexpr const char* kDraftNote =
    "Draft + publish is what a put costs whoever computes an object where it is to lie: writing it "
    "is not counted, and nothing copies it.";

constexpr const char* kWhoNote =
    "In another process: objects are put at the node, by one process, and resolved there by a "
    "second one that has not seen them: up to 16 KiB it copies them from memory that the node "
    "shows, beyond it asks the node; the first one sleeps by then, "
    "and the second has just resolved another object. "
    "Put + resolve is the sum of both times, without the handle's way between the two. Where it "
    "was put, and in one process: whoever put it resolves it, too, and has small ones still.";

const char* zeromq_note(const Setup& setup) {
  return setup.zeromq() != nullptr
             ? "ZeroMQ from PUSH to PULL, as raw tcp one way and to a process on the node's core; "
               "messages from 64 KiB are not copied by the sender, all are read where they arrive."
             : "Without ZeroMQ: there was no libzmq (libzmq3-dev) when this was built.";
}

}  // namespace

Result<Table> run_ref_shm(const Scope& scope) {
  Table table{.suite = "shm",
              .title = "One object on one host, all sides spinning",
              .more_columns = {"MB/s"}};
  GODWIT_TRY(const auto setup, Setup::start(scope, {.transport = LocalTransport::shm,
                                                    .largest_bytes = scope.largest(),
                                                    .redis = true,
                                                    .zeromq = true}));
  for (const std::uint64_t size : scope.sizes()) {
    GODWIT_CHECK(measure_mapped(*setup, size, table));
  }
  table.notes.push_back(setup->redis() != nullptr ? kRedisNote : "Without Redis: not installed.");
  table.notes.emplace_back(kDraftNote);
  table.notes.emplace_back(kWhoNote);
  table.notes.emplace_back(zeromq_note(*setup));
  return table;
}

Result<Table> run_ref_tcp(const Scope& scope) {
  Table table{
      .suite = "tcp", .title = "One object over tcp, all sides spinning", .more_columns = {"MB/s"}};
  GODWIT_TRY(const auto setup, Setup::start(scope, {.transport = LocalTransport::tcp,
                                                    .largest_bytes = scope.largest(),
                                                    .zeromq = true}));
  for (const std::uint64_t size : scope.sizes()) {
    GODWIT_CHECK(measure_streamed(*setup, size, table));
  }
  table.notes.emplace_back(
      "End to end, Godwit's bytes travel twice, to the object's home and from it; the floor's "
      "once.");
  table.notes.emplace_back(kWhoNote);
  table.notes.emplace_back(zeromq_note(*setup));
  return table;
}

Result<Table> run_ref_sleeping(const Scope& scope) {
  Table table{.suite = "sleeping",
              .title = "Small objects where everybody sleeps between messages",
              .more_columns = {"MB/s"}};
  GODWIT_TRY(
      const auto setup,
      Setup::start(scope, {.spin_us = 0, .largest_bytes = 100'000, .redis = true, .zeromq = true}));
  for (const std::uint64_t size : {1'000, 100'000}) {
    GODWIT_CHECK(measure_mapped(*setup, size, table));
  }
  table.notes.emplace_back("The pointer's floor spins all the same.");
  table.notes.emplace_back(kWhoNote);
  table.notes.emplace_back(zeromq_note(*setup));
  return table;
}

}  // namespace godwit::bench
