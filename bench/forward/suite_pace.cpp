#include "forward/suites.hpp"
#include "godwit/exchange.hpp"
#include "ref/contenders.hpp"
#include "ref/timing.hpp"

namespace godwit::bench {
namespace {

struct Walker {
  std::uint64_t state = 0;
  std::uint32_t hops = 0;
  std::uint32_t filling = 0;
};

// What an item costs where it is: blocks of rows of the domain are costly by turns, so that by
// rounds somebody always waits for somebody.
struct UnequalWork {
  Rank ranks = 1;

  template <class Out>
  void operator()(const Walker& walker, Out& out) const {
    const bool costly = (static_cast<std::uint32_t>(out.rank()) + walker.hops) % 2 == 0;
    std::uint64_t state = walker.state;
    for (int i = 0; i < (costly ? 400 : 20); ++i) {
      state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    }
    if (walker.hops == 0) return;
    out.emit(Walker{.state = state, .hops = walker.hops - 1}, (out.rank() + 1) % ranks);
  }
};

Result<std::uint64_t> time_run(Rank ranks, std::size_t items, std::uint32_t hops, Pace pace) {
  std::uint64_t run_ns = 0;
  GODWIT_CHECK(run_ranks(ranks, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Walker>::create(group));
    // Only half of the ranks begin with items: what they cost comes and goes as they move.
    for (std::size_t i = 0; i < items && group.rank() % 2 == 0; ++i) {
      exchange.emit(Walker{.state = i, .hops = hops}, group.rank());
    }
    const std::uint64_t begin_ns = floors::now_ns();
    GODWIT_TRY([[maybe_unused]] const RunReport report, exchange.run(UnequalWork{ranks}, pace));
    if (group.rank() == 0) run_ns = floors::now_ns() - begin_ns;
    return {};
  }));
  return run_ns;
}

}  // namespace

Result<Table> run_forward_pace(const ForwardScope& scope) {
  Table table{
      .suite = "pace",
      .title = "A run of unequal work, by rounds and without",
      .notes = {"Every item makes 16 hops around the ranks; half of the ranks begin with all "
                "items, so by rounds the other half waits."}};
  const std::size_t items = scope.quick ? 2'000 : 50'000;
  const Enough enough{.time_ns = 0, .rounds = 3, .least = 3};
  for (const Rank ranks : {2, 4}) {
    Contenders all;
    const std::string floor = fmt::format("{} ranks, by rounds", ranks);
    const auto timed = [=](Pace pace) {
      return [=]() -> Result<Sample> {
        return time_parts(enough, [=] { return time_run(ranks, items, 16, pace); });
      };
    };
    all.add(floor, 0, timed(Pace::rounds));
    all.add(fmt::format("{} ranks, without", ranks), 0, timed(Pace::free),
            Contenders::Beside{floor, By::pace});
    GODWIT_CHECK(all.run(scope.quick ? 1 : 3, table));
  }
  return table;
}

}  // namespace godwit::bench
