// Idle links of real transports: dropped and made anew, while the fleet stays one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "node/fleet_for_test.hpp"
#include "node/runtime.hpp"

namespace godwit::node {
namespace {

class IdleLinks : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Runtime> start(const std::string& name, const std::string& listen,
                                 std::vector<std::string> seeds) {
    Runtime::Options options;
    options.id = random_node_id();
    options.epoch = Epoch{1};
    options.name = name;
    options.seeds = std::move(seeds);
    options.reactor.offload_threads = 1;
    options.pool.width = 1;
    // Far below the interval of gossip, so that each of its messages meets a link that is gone.
    options.engine.idle_link = std::chrono::milliseconds(20);
    auto runtime = Runtime::create(std::move(options), log_).value();
    EXPECT_TRUE(runtime->listen({listen}));
    EXPECT_TRUE(runtime->start());
    return runtime;
  }
  static std::uint64_t links_left(Runtime& runtime) {
    std::uint64_t left = 0;
    runtime.run_as_owner([&] { left = runtime.engine().stats().links_left; });
    return left;
  }
  static std::size_t links_up(Runtime& runtime) {
    std::size_t up = 0;
    runtime.run_as_owner([&] { up = runtime.engine().links_up(); });
    return up;
  }
  static bool sees_both(const Runtime& runtime) {
    std::size_t up = 0;
    const fleet::NodeList nodes = runtime.nodes();
    for (const fleet::NodeRecord& record : *nodes) {
      up += record.state == fleet::NodeState::up ? 1 : 0;
    }
    return up == 2;
  }
  static std::string address(const std::string& name) {
    if (std::string_view(GetParam()) == "tcp") return "tcp:127.0.0.1:0";
    return "shm:" + testing::TempDir() + "godwit-idle-" + std::to_string(::getpid()) + name;
  }

  trace::Log log_ = trace::Log::silent();
};

TEST_P(IdleLinks, ComeAndGoWithoutANodeBeingLost) {
  const auto a = start("a", address("a"), {});
  const auto b = start("b", address("b"), a->addresses());
  ASSERT_TRUE(eventually([&] { return sees_both(*a) && sees_both(*b); }));
  bool ever_lost = false;
  EXPECT_TRUE(eventually([&] {
    ever_lost = ever_lost || !sees_both(*a) || !sees_both(*b);
    return links_left(*a) + links_left(*b) >= 3 && links_up(*a) + links_up(*b) == 0;
  }));
  EXPECT_FALSE(ever_lost);
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST_P(IdleLinks, LongHundredsOfThemLeaveNothingBehind) {
  const auto a = start("a", address("a"), {});
  const auto b = start("b", address("b"), a->addresses());
  ASSERT_TRUE(eventually([&] { return sees_both(*a) && sees_both(*b); }));
  NodeId to;
  a->run_as_owner([&] { to = a->engine().options().self; });
  std::size_t before = 0;
  for (int i = 0; i < 300; ++i) {
    b->run_as_owner([&] { b->engine().connect(to); });
    ASSERT_TRUE(eventually([&] { return links_up(*b) > 0; }));
    ASSERT_TRUE(eventually([&] { return links_up(*a) + links_up(*b) == 0; }));
    if (i == 20) before = open_files();
  }
  EXPECT_GT(links_left(*a) + links_left(*b), 100U);
  EXPECT_TRUE(eventually([&] { return open_files() <= before + 4; })) << before;
}

INSTANTIATE_TEST_SUITE_P(On, IdleLinks, testing::Values("shm", "tcp"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace godwit::node
