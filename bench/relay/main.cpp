// bench_relay: sealed messages through a relay, beside raw tcp between two processes
// (docs/benchmarks.md).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "machine.hpp"
#include "output_file.hpp"
#include "ref/contenders.hpp"
#include "ref/stops.hpp"
#include "ref/timing.hpp"
#include "ref/wire.hpp"
#include "relay/sides.hpp"

namespace godwit::bench {
namespace {

using fabric::Message;
using fabric::Reactor;
using fabric::relay::RelayTransport;

constexpr double kGoal = 0.4;  // of raw tcp's bytes per second
constexpr std::chrono::seconds kAnswerLimit{30};

// This process's end of a link to the peer.
class Caller final : public fabric::TransportEvents {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Caller>> connect(const Sides& sides) {
    auto caller = std::make_unique<Caller>();
    GODWIT_TRY(caller->reactor_, Reactor::create({.name = "caller", .offload_threads = 1}));
    fabric::relay::RelayOptions options;
    const NodeId self = random_node_id();
    options.hello = [self] { return fabric::Hello{self, {1}, "caller"}; };
    options.key = &sides.key;
    options.heartbeat = kPatient;
    GODWIT_TRY(caller->transport_,
               RelayTransport::create(*caller->reactor_, *caller, std::move(options)));
    fabric::Address to = sides.relay;
    to.index = sides.peer;
    GODWIT_TRY(caller->link_, caller->transport_->connect(to));
    while (!caller->up_ && !caller->down_) caller->reactor_->run_once();  // has a time limit
    if (caller->down_) return tl::unexpected(*caller->down_);
    return caller;
  }
  // There, and until the answer is back.
  [[nodiscard]] Status exchange(Bytes body) {
    fabric::Waiter answered;
    waiting_ = &answered;
    if (transport_->send(link_, {.kind = wire::Kind::call}, {&body, 1}, 1) == fabric::Sent::down) {
      return fail(ErrorCode::link_lost, "the link is down");
    }
    const bool came = reactor_->wait(answered, reactor_->now() + kAnswerLimit);
    waiting_ = nullptr;
    if (came && !down_) return {};
    return fail(ErrorCode::deadline, "no answer: {}", down_ ? down_->message : "it took too long");
  }

  void on_up(LinkId, const fabric::Hello&) override { up_ = true; }
  void on_down(LinkId, const Error& why) override {
    down_ = why;
    if (waiting_ != nullptr) waiting_->complete();
  }
  void on_message(LinkId, Message&) override {
    if (waiting_ != nullptr) std::exchange(waiting_, nullptr)->complete();
  }
  void on_sent(LinkId, std::uint64_t) override {}

 private:
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<RelayTransport> transport_;
  LinkId link_;
  bool up_ = false;
  std::optional<Error> down_;
  fabric::Waiter* waiting_ = nullptr;
};

// `to` leads to the peer, straight or not.
Status raw_exchange(const Sides& sides, int to, Bytes body, std::uint64_t echo) {
  std::byte back[64];
  GODWIT_CHECK(send_value(to, RawOrder{body.size(), echo}));
  GODWIT_CHECK(send_bytes(to, body.data(), body.size()));
  return receive_bytes(sides.raw.get(), back, echo, Waiting::sleep);
}

std::string titled(const char* name, std::size_t size) {
  return size < 1000 ? fmt::format("{}, {} B", name, size)
                     : fmt::format("{}, {} MB", name, size / 1'000'000);
}

Result<Table> measure(bool quick) {
  GODWIT_TRY(const Sides sides, Sides::start());
  GODWIT_TRY(const auto caller, Caller::connect(sides));
  Table table{.suite = "relay",
              .title = "There and an answer: raw tcp, and sealed through a relay",
              .more_columns = {"MB/s"}};
  const std::vector<std::byte> memory(quick ? 10'000'000 : 100'000'000, std::byte{7});
  for (const std::size_t size : {std::size_t{64}, std::size_t{1'000'000}, std::size_t{10'000'000},
                                 std::size_t{100'000'000}}) {
    if (size > memory.size()) continue;
    const Bytes body = Bytes(memory).first(size);
    const bool small = size == 64;
    const Enough enough{.time_ns = quick ? 20'000'000U : 300'000'000U, .rounds = 5'000};
    const auto timed = [&](const auto& act) {
      return time_parts(enough, [&] { return time_of(act); });
    };
    Contenders all;
    const auto raw = [&](int to) {
      return timed([&, to] { return raw_exchange(sides, to, body, small ? 64 : 1); });
    };
    all.add(titled("raw tcp", size), small ? 0 : size, [&] { return raw(sides.raw.get()); });
    all.add(
        titled("raw tcp through a third process", size), small ? 0 : size,
        [&]() -> Result<Sample> {
          GODWIT_TRY(const Stop stop, Stop::by_tcp(sides.raw.get()));
          return raw(stop.fd());
        },
        Contenders::Beside{titled("raw tcp", size), small ? By::p50 : By::pace, std::nullopt});
    const std::optional<Goal> goal =
        size >= 10'000'000 ? std::optional(Goal{Goal::Kind::ratio_at_least, kGoal}) : std::nullopt;
    all.add(
        titled("relay, sealed", size), small ? 0 : size,
        [&] { return timed([&] { return caller->exchange(body); }); },
        Contenders::Beside{titled("raw tcp", size), small ? By::p50 : By::pace, goal});
    GODWIT_CHECK(all.run(quick ? 1 : 5, table));
  }
  table.notes.emplace_back(
      "Three processes with the relay, two without; nobody is pinned. The third process of raw tcp "
      "reads up to 1 MB and writes it on, the way there alone; it opens and seals nothing, nor "
      "does "
      "anybody else. Large bodies: the ratio is of bytes per second.");
  return table;
}

Status run(bool quick, const std::string& json_file) {
  const Machine machine = describe_machine();
  fmt::print("{}\n", to_text(machine));
  GODWIT_TRY(const Table table, measure(quick));
  fmt::print("\n{}: {}\n\n{}", table.suite, table.title, to_text(table));
  GODWIT_CHECK(write_file(json_file, fmt::format("{{\"machine\": {},\n \"suites\": [{}]}}\n",
                                                 to_json(machine), to_json(table))));
  fmt::print("\nAll rows are in {}.\n", json_file);
  return {};
}

}  // namespace
}  // namespace godwit::bench

int main(int argc, char** argv) {
  bool quick = false;
  std::string json_file = godwit::bench::default_file("relay.json");
  CLI::App app("Moves bytes through a relay, sealed, beside raw tcp.");
  app.add_flag("--quick", quick, "rough figures, up to 10 MB");
  app.add_option("--json", json_file, "where all rows go")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const godwit::Status done = godwit::bench::run(quick, json_file);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "bench_relay: {}\n", done.error().message);
  return EXIT_FAILURE;
}
