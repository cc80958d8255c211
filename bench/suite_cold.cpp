#include <algorithm>
#include <atomic>

#include "code/bundle/bundle.hpp"
#include "code/bundle/renamed_for_test.hpp"
#include "code/native/native_loader.hpp"
#include "contest.hpp"
#include "node/places.hpp"
#include "served_node.hpp"
#include "suites.hpp"
#include "target.hpp"

namespace godwit::bench {
namespace {

Result<Bundle> rename_bundle(const Bundle& original, std::string name) {
  GODWIT_TRY(code::Bundle built, code::renamed(original.code(), std::move(name)));
  return Bundle(std::make_shared<const code::Bundle>(std::move(built)));
}

double us(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) / 1e3 : 0;
}

// What the node does to trust the bytes, done here: it hides inside the node's loading thread.
double verify_us(const Bundle& bundle) {
  const code::Bundle& code = bundle.code();
  std::vector<double> times_us;
  for (int i = 0; i < 21; ++i) {
    const std::uint64_t begin_ns = floors::now_ns();
    const auto manifest = code::Bundle::from_manifest(code.manifest_bytes());
    const bool good = manifest && manifest->with_slice(code.slices().front().bytes);
    times_us.push_back(good ? us(begin_ns, floors::now_ns()) : 0);
  }
  std::nth_element(times_us.begin(), times_us.begin() + 10, times_us.end());
  return times_us[10];
}

Status wait_until_optimised(const LoadTimes& times) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (times.optimised < times.fast) {
    if (std::chrono::steady_clock::now() > until) {
      return fail(ErrorCode::deadline, "the node did not finish optimising within 10 s");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

// First calls, one after another, and how each one's time was spent.
class FirstCalls {
 public:
  // Bundles are numbered from `next`: a node has not seen a number yet.
  explicit FirstCalls(const Bundle& bundle, std::size_t next = 0)
      : bundle_(bundle), verify_us_(verify_us(bundle)), next_(next) {}
  [[nodiscard]] std::size_t count() const { return total_us_.size(); }

  Status call_one(const Target& target, const ServedNode& node) {
    GODWIT_TRY(const Bundle unseen, rename_bundle(bundle_, fmt::format("unseen{}", next_++)));
    GODWIT_TRY(const auto function, unseen.function<Increment>("increment"));
    const auto increment = function.on(target.node());
    const std::uint64_t begin_ns = floors::now_ns();
    const auto outcome = increment(1).get();
    const std::uint64_t end_ns = floors::now_ns();
    GODWIT_CHECK(check(outcome));
    const LoadTimes& load = node.last_load();
    total_us_.push_back(us(begin_ns, end_ns));
    send_us_.push_back(std::max(0.0, us(begin_ns, load.begin_ns) - verify_us_));
    load_us_.push_back(us(load.begin_ns, load.end_ns));
    run_us_.push_back(us(load.end_ns, end_ns));
    return {};
  }

  [[nodiscard]] Row row(std::string name, std::optional<double> goal_us = {}) const {
    floors::RoundTrips times(total_us_.size());
    double sum_us = 0;
    for (const double time_us : total_us_) {
      times.add(static_cast<std::uint64_t>(time_us * 1e3));
      sum_us += time_us;
    }
    Row row{.name = std::move(name),
            .sample = times.summarise(static_cast<std::uint64_t>(sum_us * 1e3)),
            .more = {median(send_us_), verify_us_, median(load_us_), median(run_us_)}};
    if (goal_us) row.goal = Goal{Goal::Kind::p50_below_us, *goal_us};
    return row;
  }

 private:
  static double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  Bundle bundle_;
  double verify_us_;
  std::size_t next_;
  std::vector<double> total_us_, send_us_, load_us_, run_us_;
};

class Cold {
 public:
  Cold(const Settings& settings, floors::ForkServer& floors)
      : settings_(settings), floors_(floors) {
    wanted_ = settings.quick ? 10 : 60;
  }

  [[nodiscard]] Result<Table> run() {
    GODWIT_TRY(native_, open_bundle("bench_unseen_native.gdw"));
    GODWIT_TRY(bitcode_, open_bundle("bench_unseen_bitcode.gdw"));
    GODWIT_TRY(echo_, open_bundle("bench_echo.gdw"));
    GODWIT_CHECK(native());
    GODWIT_CHECK(bitcode());
    GODWIT_CHECK(
        first_in_process(Installed::compiler, "first bitcode of a process, preloaded", 6'000));
    GODWIT_CHECK(first_in_process(Installed::nothing, "first bitcode of a process", 25'000));
    GODWIT_CHECK(over_tcp(Installed::nothing, *native_, "first call of native code, tcp"));
    GODWIT_CHECK(
        over_tcp(Installed::compiler, *bitcode_, "first call of bitcode, warm compiler, tcp"));
    GODWIT_CHECK(undisturbed());
    table_.notes.push_back(
        "send: from the call until loading begins, without verify. verify: hashing manifest and "
        "slice, timed by itself. load: dlopen or compile. run: from loaded code to the answer.");
    return std::move(table_);
  }

 private:
  struct Pair {
    ServedNode node;
    Target target;
  };
  static constexpr Target::Options kUnpinned{
      .spin_us = kDefaultSpinUs, .client_core = -1, .node_core = -1};
  // Neither side is pinned: loading has threads of its own. The link is up when this returns.
  [[nodiscard]] Result<Pair> connect(Installed installed,
                                     LocalTransport transport = LocalTransport::shm) const {
    GODWIT_TRY(ServedNode node,
               ServedNode::start({.installed = installed, .transport = transport}));
    GODWIT_TRY(Target target, Target::join(node.address(), kUnpinned));
    GODWIT_TRY(const auto echo, echo_->function<Echo>("echo"));
    GODWIT_CHECK(check(echo.on(target.node())(Block{}).get()));
    return Pair{std::move(node), std::move(target)};
  }

  // The floor is the dynamic linker, asked for the same code in this process.
  Status native() {
    GODWIT_TRY(auto made, node::make_runtime_directory());
    code::NativeLoader loader(std::make_shared<const code::RuntimeDirectory>(std::move(made)));
    const code::SliceInfo& slice = native_->code().slices().front();
    GODWIT_TRY(const Pair pair, connect(Installed::nothing));
    FirstCalls calls(*native_);
    floors::RoundTrips loads(wanted_);
    std::uint64_t loading_ns = 0;
    for (std::size_t i = 0; i < wanted_; ++i) {
      const std::uint64_t begin_ns = floors::now_ns();
      const auto library = loader.load({slice.id, slice.bytes, "floor", {}, code::Tier::native});
      const std::uint64_t end_ns = floors::now_ns();
      if (!library) return tl::unexpected(library.error());
      loads.add(end_ns - begin_ns);
      loading_ns += end_ns - begin_ns;
      GODWIT_CHECK(calls.call_one(pair.target, pair.node));
    }
    table_.rows.push_back(
        {.name = "dlopen of the same code", .sample = loads.summarise(loading_ns)});
    const Goal goal{Goal::Kind::p50_below_us, 300};
    table_.rows.push_back(
        beside(calls.row("first call of native code", 300), table_.rows.back(), By::p50, goal));
    return {};
  }

  // By itself, and while the node is still optimising what came before.
  Status bitcode() {
    GODWIT_TRY(const Pair pair, connect(Installed::compiler));
    FirstCalls alone(*bitcode_);
    for (std::size_t i = 0; i < wanted_ / 2; ++i) {
      GODWIT_CHECK(alone.call_one(pair.target, pair.node));
      GODWIT_CHECK(wait_until_optimised(pair.node.last_load()));
    }
    table_.rows.push_back(alone.row("first call of bitcode, warm compiler", 2'000));
    FirstCalls in_a_row(*bitcode_, wanted_);
    for (std::size_t i = 0; i < wanted_ / 2; ++i) {
      GODWIT_CHECK(in_a_row.call_one(pair.target, pair.node));
    }
    table_.rows.push_back(in_a_row.row("first calls of bitcode, one on another's heels"));
    return {};
  }

  Status first_in_process(Installed installed, std::string name, double goal_us) {
    FirstCalls calls(*bitcode_);
    for (std::size_t i = 0; i < (settings_.quick ? 2U : 9U); ++i) {
      GODWIT_TRY(const Pair pair, connect(installed));
      GODWIT_CHECK(calls.call_one(pair.target, pair.node));
    }
    table_.rows.push_back(calls.row(std::move(name), goal_us));
    return {};
  }

  // As over shared memory, but for the way: each call waits for what the node still optimises.
  Status over_tcp(Installed installed, const Bundle& bundle, std::string name) {
    GODWIT_TRY(const Pair pair, connect(installed, LocalTransport::tcp));
    FirstCalls calls(bundle);
    for (std::size_t i = 0; i < wanted_ / 2; ++i) {
      GODWIT_CHECK(calls.call_one(pair.target, pair.node));
      GODWIT_CHECK(wait_until_optimised(pair.node.last_load()));
    }
    table_.rows.push_back(calls.row(std::move(name)));
    return {};
  }

  // Warm calls while another thread keeps the compiler busy, beside the same without it.
  Status undisturbed() {
    GODWIT_TRY(const Pair pair, connect(Installed::compiler));
    // The compiling calls have a connection of their own: only the node is shared.
    GODWIT_TRY(const Target other, Target::join(pair.node.address(), kUnpinned));
    GODWIT_TRY(const auto function, echo_->function<Echo>("echo"));
    const auto echo = function.on(pair.target.node());
    const Calls rounds{.rounds = settings_.quick ? std::size_t{2'000} : std::size_t{20'000}};
    FirstCalls calls(*bitcode_);
    const auto measure = [&] { return time_calls(rounds, [&] { return echo(Block{}).get(); }); };
    Contest contest(floors_);
    contest.add("warm calls, compiler idle", measure);
    contest.add("warm calls, compiler busy", [&]() -> Result<Sample> {
      std::atomic<bool> stop{false};
      Status compiled;
      std::thread compiling([&] {
        while (!stop && compiled) compiled = calls.call_one(other, pair.node);
      });
      auto sample = measure();
      stop = true;
      compiling.join();
      GODWIT_CHECK(compiled);
      return sample;
    });
    GODWIT_TRY(std::vector<Row> rows, contest.run({.seconds = settings_.seconds / 4}));
    rows[1] = beside(rows[1], rows[0], By::p50);
    table_.rows.insert(table_.rows.end(), rows.begin(), rows.end());
    table_.notes.push_back(fmt::format(
        "While the warm calls of the last row ran, {} bundles were compiled.", calls.count()));
    return {};
  }

  const Settings& settings_;
  floors::ForkServer& floors_;
  std::size_t wanted_;
  std::optional<Bundle> native_, bitcode_, echo_;
  Table table_{.suite = "cold",
               .title = "First calls of code the node has never seen, on one host",
               .more_columns = {"send us", "verify us", "load us", "run us"}};
};

}  // namespace

Result<Table> run_cold(const Settings& settings, floors::ForkServer& floors) {
  return Cold(settings, floors).run();
}

}  // namespace godwit::bench
