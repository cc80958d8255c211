// Updates that depend on what is there: many at once lose nothing, and a lost node is reported.
#include <atomic>
#include <random>

#include "node/data_ops_for_test.hpp"

namespace godwit::node {
namespace {

struct Account {
  std::int64_t balance = 0;
  std::uint64_t version = 0;
  std::uint64_t check = 0;  // always balance ^ version
  friend bool operator==(const Account&, const Account&) = default;
};
GODWIT_STRUCT(Account, balance, version, check);

Account account_of(std::int64_t balance, std::uint64_t version) {
  return {balance, version, static_cast<std::uint64_t>(balance) ^ version};
}

using Deposit = std::int64_t(ops::Element, std::int64_t);

class UpdateOps : public testing::TestWithParam<LocalTransport> {
 protected:
  Fleet fleet_ = local(3, {.transport = GetParam()});
};

TEST_P(UpdateOps, AccumulatesOfManyThreadsLoseNothing) {
  auto words = make_region<std::int32_t>(fleet_, "words", {.elements = 9});
  auto reals = make_region<double>(fleet_, "reals", {.elements = 9});
  in_threads(4, [&](int thread) {
    for (int i = 0; i < 200; ++i) {
      const auto index = static_cast<std::uint64_t>(i % 9);
      ASSERT_TRUE(ops::accumulate(words, index, ops::Join::add, thread - i).get());
      ASSERT_TRUE(ops::accumulate(reals, index, ops::Join::add, 0.5).get());
    }
  });
  std::vector<std::int32_t> expected(9);
  for (int thread = 0; thread < 4; ++thread) {
    for (int i = 0; i < 200; ++i) expected[static_cast<std::size_t>(i % 9)] += thread - i;
  }
  EXPECT_EQ(value_of(words.load(0, 9)), expected);
  EXPECT_EQ(value_of(ops::sum(reals).get()), 4 * 200 * 0.5);
  in_threads(4, [&](int thread) {
    for (int i = -100; i < 100; ++i) {
      ASSERT_TRUE(ops::accumulate(reals, 3, ops::Join::max, i + thread * 0.25).get());
      ASSERT_TRUE(ops::accumulate(words, 8, ops::Join::min, i - 10'000 - thread).get());
    }
  });
  EXPECT_EQ(value_of(reals.load(3)), 99.75);
  EXPECT_EQ(value_of(words.load(8)), -10'103);
  EXPECT_EQ(value_of(ops::accumulate(words, 8, ops::Join::add, 3).get()), -10'103);
}

TEST_P(UpdateOps, AUsersFunctionChangesAnElementInOneStep) {
  auto accounts = make_region<Account>(fleet_, "accounts", {.elements = 6});
  const auto deposit = own<Deposit>("deposit");
  std::atomic<std::uint64_t> stored = 0;
  in_threads(4, [&](int thread) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(ops::update(accounts, 5, deposit, 3).get());
      if (thread != 0) continue;
      const Account seen = value_of(accounts.through(Reach::message).load(5));
      EXPECT_EQ(seen, account_of(seen.balance, seen.version)) << "torn";
      const auto before = value_of(
          ops::put_if(accounts, 5, seen, account_of(seen.balance, seen.version + 1)).get());
      if (before == seen) ++stored;
    }
  });
  EXPECT_EQ(value_of(accounts.load(5)), account_of(4 * 100 * 3, 400 + stored));
  auto bits = make_region<std::uint64_t>(fleet_, "bits", {.elements = 3});
  const auto set_bit = own<std::uint64_t(ops::Element, std::uint32_t)>("set_bit");
  in_threads(4, [&](int thread) {
    for (std::uint32_t bit = 0; bit < 16; ++bit) {
      ASSERT_TRUE(
          ops::update(bits, 1, set_bit, bit + 16 * static_cast<std::uint32_t>(thread)).get());
    }
  });
  EXPECT_EQ(value_of(bits.load(1)), UINT64_MAX);
}

TEST_P(UpdateOps, AFunctionThatCouldBeInterruptedIsNotLetNearLargeElements) {
  const auto accounts = make_region<Account>(fleet_, "accounts", {.elements = 6});
  const auto on_worker = own<Deposit>("deposit_on_worker");
  expect_refused(failure_of(ops::update(accounts, 4, on_worker, 1).get()), ErrorCode::unsupported,
                 "update of element 4 of region 'accounts'");
}

TEST_P(UpdateOps, PutIfComparesTheElementOrItsVersion) {
  auto accounts = make_region<Account>(fleet_, "accounts", {.elements = 6});
  EXPECT_EQ(value_of(ops::put_if(accounts, 2, Account{}, account_of(5, 1)).get()), Account{});
  EXPECT_EQ(value_of(ops::put_if(accounts, 2, Account{}, account_of(9, 9)).get()),
            account_of(5, 1));
  EXPECT_EQ(value_of(accounts.load(2)), account_of(5, 1)) << "what was expected was not there";
  EXPECT_EQ(value_of(ops::put_if(accounts, 2, &Account::version, 1, account_of(7, 2)).get()),
            account_of(5, 1));
  EXPECT_EQ(value_of(ops::put_if(accounts, 2, &Account::version, 1, account_of(8, 2)).get()),
            account_of(7, 2));
  EXPECT_EQ(value_of(accounts.load(2)), account_of(7, 2));
  // Optimistic updates of several threads: each takes effect once.
  in_threads(3, [&](int) {
    for (int done = 0; done < 50;) {
      const Account seen = value_of(accounts.through(Reach::message).load(4));
      const Account more = account_of(seen.balance + 1, seen.version + 1);
      const auto before =
          value_of(ops::put_if(accounts, 4, &Account::version, seen.version, more).get());
      done += before.version == seen.version ? 1 : 0;
    }
  });
  EXPECT_EQ(value_of(accounts.load(4)), account_of(150, 150));
  auto words = make_region<std::uint16_t>(fleet_, "words", {.elements = 3});
  EXPECT_EQ(value_of(ops::put_if(words, 1, 0, 7).get()), 0);
  EXPECT_EQ(value_of(ops::put_if(words, 1, 0, 8).get()), 7);
  EXPECT_EQ(value_of(words.load(1)), 7);
}

TEST_P(UpdateOps, SeveralElementsOfOneHomeAreSwappedTogether) {
  constexpr std::uint64_t kElements = 30;  // 10 to a shard
  auto accounts = make_region<std::int64_t>(fleet_, "accounts", {.elements = kElements});
  std::atomic<int> swapped = 0;
  in_threads(4, [&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t shard = random() % 3 * 10;
      const std::uint64_t from = shard + random() % 10;
      const std::uint64_t to = shard + (from - shard + 1 + random() % 9) % 10;
      const auto seen = value_of(accounts.gather(std::vector{from, to}).get());
      const std::vector<ops::Swap<std::int64_t>> swaps{{from, seen[0], seen[0] - 5},
                                                       {to, seen[1], seen[1] + 5}};
      const auto before = value_of(ops::compare_swap_all(accounts, swaps).get());
      if (before == seen) ++swapped;
      if (i % 4 == 0) {  // others change the same elements
        ASSERT_TRUE(accounts.fetch_add(from, 100).get());
        ASSERT_TRUE(ops::accumulate(accounts, to, ops::Join::add, -100).get());
      }
    }
  });
  EXPECT_GT(swapped, 100);
  EXPECT_EQ(value_of(ops::sum(accounts).get()), 0);
  for (std::uint64_t shard = 0; shard < 3; ++shard) {
    std::int64_t sum = 0;
    for (const std::int64_t value : value_of(accounts.load(shard * 10, 10))) sum += value;
    EXPECT_EQ(sum, 0) << "a swap was made by half";
  }
}

TEST_P(UpdateOps, SwapsThatCannotBeOneStepAreRefused) {
  const auto words = make_region<std::int64_t>(fleet_, "words", {.elements = 30});
  using Swaps = std::vector<ops::Swap<std::int64_t>>;
  const auto refused = [&](const Swaps& swaps) {
    return failure_of(ops::compare_swap_all(words, swaps).get());
  };
  const Failure two_homes = refused({{3, 0, 1}, {25, 0, 1}});
  expect_refused(two_homes, kBad, "compare_swap_all of element 25 of region 'words'");
  expect_names(two_homes, "lies on shard 2 and element 3 on shard 0");
  expect_refused(refused({{3, 0, 1}, {3, 0, 2}}), kBad, "element 3 of region 'words'");
  expect_refused(refused({{3, 0, 1}, {30, 0, 1}}), kBad, "element 30 of region 'words'");
  expect_refused(refused({}), kBad, "region 'words'");
  expect_refused(refused(Swaps(ops::kMaxSwaps + 1)), kBad, "region 'words'");
  EXPECT_EQ(value_of(ops::count(words, {.at_least = 1}).get()), 0U);
}

TEST_P(UpdateOps, UpdatesOfElementsThatAreNotThereAreRefused) {
  auto accounts = make_region<Account>(fleet_, "accounts", {.elements = 6});
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 6});
  expect_refused(failure_of(ops::update(accounts, 6, own<Deposit>("deposit"), 1).get()), kBad,
                 "update of element 6 of region 'accounts'");
  expect_refused(failure_of(ops::put_if(accounts, 7, {}, {}).get()), kBad,
                 "put_if of element 7 of region 'accounts'");
  expect_refused(failure_of(ops::accumulate(words, 8, ops::Join::add, 1).get()), kBad,
                 "accumulate of element 8 of region 'words'");
  ASSERT_TRUE(words.seal());
  expect_refused(failure_of(ops::accumulate(words, 1, ops::Join::add, 1).get()),
                 ErrorCode::permission, "accumulate of element 1 of region 'words'");
}

TEST_P(UpdateOps, AppendsOfManyThreadsAllGetAPlaceUntilTheLogIsFull) {
  auto made = ops::Log<std::uint64_t>::create(fleet_, "log", {.records_per_shard = 400});
  ASSERT_TRUE(made) << made.error().message;
  ops::Log<std::uint64_t>& log = *made;
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> placed(4);
  in_threads(4, [&](int thread) {
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::uint64_t value = 1000 * static_cast<std::uint64_t>(thread + 1) + i;
      const std::vector<std::uint64_t> pair{value, value + 500};
      const auto at = value_of(log.append(1, pair).get());
      placed[static_cast<std::size_t>(thread)].emplace_back(at, value);
      placed[static_cast<std::size_t>(thread)].emplace_back(at + 1, value + 500);
    }
  });
  EXPECT_EQ(value_of(log.size(1)), 320U);
  EXPECT_EQ(value_of(log.size(0)), 0U);
  const auto records = value_of(log.records().load(log.first(1), 320));
  std::size_t found = 0;
  for (const auto& of_thread : placed) {
    for (const auto& [at, value] : of_thread) {
      ASSERT_GE(at, log.first(1));
      EXPECT_EQ(records.at(at - log.first(1)), value);
      ++found;
    }
  }
  EXPECT_EQ(found, 320U);
  const std::vector<std::uint64_t> rest(79, 1);
  ASSERT_TRUE(log.append(1, rest).get());
  expect_refused(failure_of(log.append(1, std::vector<std::uint64_t>{1, 2}).get()),
                 ErrorCode::resource_exhausted, "of region 'log'");
  EXPECT_EQ(value_of(log.append(1, 7).get()), log.first(1) + 399);
  expect_refused(failure_of(log.append(1, 7).get()), ErrorCode::resource_exhausted, "is full");
  expect_refused(failure_of(log.append(3, 7).get()), kBad, "shard 3 of log 'log'");
  EXPECT_EQ(value_of(log.append(2, 7).get()), log.first(2));
  auto again = ops::Log<std::uint64_t>::attach(fleet_, "log");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(value_of(again->size(1)), 400U);
  ASSERT_TRUE(log.drop());
  EXPECT_FALSE(ops::Log<std::uint64_t>::attach(fleet_, "log"));
}

// What must hold of a counter: all that is known to have happened, and no more than was tried.
struct Tally {
  std::uint64_t known = 0;
  std::uint64_t tried = 0;

  template <class R>
  void note(const Outcome<R>& outcome) {
    if (outcome || outcome.error().may_have_started) ++tried;
    if (outcome) {
      ++known;
      return;
    }
    EXPECT_EQ(outcome.error().ending, Ending::node_lost) << to_string(outcome.error());
    expect_names(outcome.error(), "of region '");
  }
};

TEST_P(UpdateOps, WhenANodeIsKilledTheRestIsExactAndItsOwnIsLost) {
  auto words = make_region<std::uint64_t>(fleet_, "words", {.elements = 3});
  auto accounts = make_region<Account>(fleet_, "accounts", {.elements = 3});
  auto log = ops::Log<std::uint64_t>::create(fleet_, "log", {.records_per_shard = 1'000'000});
  ASSERT_TRUE(log) << log.error().message;
  const auto deposit = own<Deposit>("deposit");
  std::array<std::array<Tally, 3>, 3> tallies;  // by element, by operation
  std::atomic<std::uint64_t> rounds = 0;
  std::vector<std::jthread> threads;
  for (std::uint64_t index = 0; index < 3; ++index) {
    threads.emplace_back([&, index](const std::stop_token& stop) {
      auto& [added, deposited, appended] = tallies[index];
      for (int i = 0; i < 20 || !stop.stop_requested(); ++i) {
        added.note(ops::accumulate(words, index, ops::Join::add, 1).get());
        deposited.note(ops::update(accounts, index, deposit, 1).get());
        appended.note(log->append(static_cast<std::uint32_t>(index), index).get());
        ++rounds;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return rounds > 30; }));
  const NodeHandle victim = fleet_.find("n1").value();
  ASSERT_TRUE(fleet_.kill(victim));
  threads.clear();
  for (const std::uint64_t index : {0U, 2U}) {
    const auto& [added, deposited, appended] = tallies[index];
    EXPECT_EQ(added.known, added.tried);
    EXPECT_EQ(value_of(words.load(index)), added.known);
    EXPECT_EQ(value_of(accounts.load(index)).version, deposited.known);
    EXPECT_EQ(value_of(log->size(static_cast<std::uint32_t>(index))), appended.known);
  }
  for (const Failure& failure :
       {failure_of(words.load(1)), failure_of(ops::accumulate(words, 1, ops::Join::add, 1).get()),
        failure_of(ops::update(accounts, 1, deposit, 1).get()),
        failure_of(ops::put_if(accounts, 1, {}, {}).get()), failure_of(log->append(1, 1).get()),
        failure_of(ops::compare_swap_all(words, std::vector<ops::Swap<std::uint64_t>>{{1, 0, 1}})
                       .get())}) {
    EXPECT_EQ(failure.ending, Ending::node_lost) << to_string(failure);
    expect_names(failure, "of region '");
  }
}

INSTANTIATE_TEST_SUITE_P(Over, UpdateOps, testing::Values(LocalTransport::shm, LocalTransport::tcp),
                         name_of);

}  // namespace
}  // namespace godwit::node
