// Processes that use objects and streams in all ways, and are killed in the middle of it, for ten
// minutes: what is read is right, nobody waits in vain, and nothing is left behind.
//
// GODWIT_SOAK_S=60 makes it shorter. Workers are this program, started again.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "godwit/stream.hpp"
#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Numbers = std::uint64_t[];

constexpr const char* kAddress = "GODWIT_SOAK_ADDRESS";
constexpr const char* kHome = "GODWIT_SOAK_HOME";
constexpr const char* kSeed = "GODWIT_SOAK_SEED";
// With which a worker ends that has read something wrong; killed ones end by their signal.
constexpr int kWrong = 3;

std::string setting(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return text != nullptr ? text : otherwise;
}

// Whose elements all follow from the first.
std::vector<std::uint64_t> pattern(std::uint64_t seed, std::size_t size) {
  std::vector<std::uint64_t> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = i == 0 ? seed : mix64(seed + i);
  return all;
}

void check(std::span<const std::uint64_t> elements) {
  for (std::size_t i = 1; i < elements.size(); ++i) {
    if (elements[i] == mix64(elements[0] + i)) continue;
    std::fprintf(stderr, "element %zu of %zu is wrong\n", i, elements.size());
    ::_exit(kWrong);
  }
}

// What it makes ends by itself: with a lease, or with this process.
class Worker {
 public:
  Worker(Fleet fleet, std::uint64_t home, std::uint64_t seed)
      : fleet_(std::move(fleet)),
        home_(detail::ObjectDoor(fleet_.objects()).caller(), home),
        random_(seed) {}

  void work() {
    for (;;) {
      if (!out_ || !in_) join();
      if (out_ && in_) step();
      if (kept_.size() > 20) kept_.pop_front();
      if (owned_.size() > 5) owned_.pop_front();
    }
  }

 private:
  // The topic's home is never killed; a consumer may have been told that it was too slow.
  void join() {
    auto out = Producer<std::string>::open(
        home_, "handles",
        {.topic = TopicOptions{.max_bytes = 1 << 20}, .batch_items = 4, .patience = 50ms});
    auto in = Consumer<std::string>::join(home_, "handles", "all", {.lease = 2s, .items = 4});
    if (!out || !in) return;
    out_.emplace(*std::move(out));
    in_.emplace(*std::move(in));
  }

  // The other one comes and goes.
  NodeHandle node() {
    const std::vector<NodeHandle> nodes = fleet_.nodes();
    return nodes.empty() ? home_ : nodes[random_.below(nodes.size())];
  }
  Lifetime lifetime() {
    if (random_.below(2) == 0) return Lifetime::process();
    return Lifetime::lease(std::chrono::milliseconds(1 + random_.below(2000)));
  }
  std::vector<std::uint64_t> some() {
    constexpr std::array<std::size_t, 4> kSizes{1, 100, 10'000, 200'000};
    return pattern(random_.next(), 1 + random_.below(kSizes[random_.below(4)]));
  }

  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1: return put();
      case 2:
      case 3: return receive();
      case 4: return own();
      case 5: return promise();
      case 6: return change();
      default:
        if (!refs_.empty()) static_cast<void>(random_.pick<Ref<Numbers>>(refs_).evict());
    }
  }
  void put() {
    auto ref = node().put(some(), {.lifetime = lifetime()});
    if (!ref) return;
    if (!out_->send(ref->handle().to_text())) out_.reset();
    remember(*ref);
  }
  void receive() {
    for (int i = 0; i < 4; ++i) {
      auto item = in_->next(5ms);
      if (!item && item.error().code != ErrorCode::deadline) in_.reset();
      if (!item || !*item) return;
      const auto ref = Ref<Numbers>::parse(fleet_, ***item);
      if (ref) remember(*ref);
      if (random_.below(8) != 0) (*item)->ack();
    }
  }
  void own() {
    auto owned = Owned<Numbers>::put(node(), some());
    if (!owned) return;
    if (random_.below(2) == 0) {
      if (const auto borrowed = Borrowed<Numbers>::from(owned->ref())) check(**borrowed);
    }
    owned_.push_back(*std::move(owned));
  }
  void promise() {
    auto made = Promise<Numbers>::make(node(), {.object = {.lifetime = lifetime()}, .at_most = 1s});
    if (!made) return;
    const Ref<Numbers> ref = made->ref();
    if (!out_->send(ref.handle().to_text())) out_.reset();
    switch (random_.below(3)) {
      case 0: static_cast<void>(made->set(some())); break;
      case 1: static_cast<void>(made->fail(ErrorCode::app_error, "on purpose")); break;
      default: break;  // given up
    }
  }
  void change() {
    if (refs_.empty()) return;
    const Ref<Numbers>& ref = random_.pick<Ref<Numbers>>(refs_);
    switch (random_.below(3)) {
      case 0: static_cast<void>(ref.update(some())); break;
      case 1: static_cast<void>(ref.set_lifetime(Lifetime::lease(50ms))); break;
      default:
        if (const auto value = ref.wait(20ms)) check(**value);
    }
  }
  void remember(const Ref<Numbers>& ref) {
    if (const auto value = ref.resolve()) {
      check(**value);
      kept_.push_back(*value);
    }
    refs_.push_back(ref);
    if (refs_.size() > 30) refs_.erase(refs_.begin());
  }

  Fleet fleet_;
  const NodeHandle home_;
  Random random_;
  std::optional<Producer<std::string>> out_;
  std::optional<Consumer<std::string>> in_;
  std::vector<Ref<Numbers>> refs_;
  std::deque<Pinned<Numbers>> kept_;
  std::deque<Owned<Numbers>> owned_;
};

TEST(SoakWorker, DISABLED_WorksUntilItIsKilled) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto fleet = Fleet::join(setting(kAddress, ""));
  if (!fleet) ::_exit(0);
  Worker(*std::move(fleet), std::stoull(setting(kHome, "0")), std::stoull(setting(kSeed, "1")))
      .work();
}

pid_t start_worker(const std::string& address, const NodeHandle& home, std::uint64_t seed) {
  std::vector<std::string> variables{std::string(kAddress) + "=" + address,
                                     std::string(kHome) + "=" + std::to_string(home.id()),
                                     std::string(kSeed) + "=" + std::to_string(seed)};
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  std::array<std::string, 4> words{"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                   "--gtest_filter=SoakWorker.*", "--gtest_brief=1"};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                 nullptr};
  pid_t pid = -1;
  EXPECT_EQ(
      ::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments.data(), environment.data()),
      0);
  return pid;
}

// False: it had found something wrong before.
bool end_worker(pid_t pid) {
  ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != kWrong;
}

// A node that is asked too often is silent for a moment.
std::string told(const Fleet& fleet, const NodeHandle& node) {
  std::string text;
  static_cast<void>(eventually([&] {
    auto status = fleet.status(node);
    text = status ? *std::move(status) : status.error().message;
    return status.has_value();
  }));
  return text;
}

class ObjectSoak : public testing::TestWithParam<LocalTransport> {};

TEST_P(ObjectSoak, LongNothingIsWrongOrLeftAfterManyDeaths) {
  const auto time = std::chrono::seconds(std::stoul(setting("GODWIT_SOAK_S", "300")));
  LocalOptions options;
  options.transport = GetParam();
  Fleet fleet = local(2, std::move(options));
  const std::string address = fleet.describe().front().addresses.front();
  const std::array<NodeHandle, 2> homes{fleet.node(0), fleet.node(1)};
  Random random(7);
  std::array<pid_t, 3> workers{};
  for (pid_t& worker : workers) worker = start_worker(address, homes[0], random.next());
  std::size_t deaths = 0;
  auto next_home = Clock::now() + 15s;
  for (const auto until = Clock::now() + time; Clock::now() < until;) {
    const auto pause = Clock::now() + std::chrono::milliseconds(100 + random.below(1500));
    EXPECT_TRUE(eventually([&] { return Clock::now() >= pause; }));
    pid_t& worker = workers[random.below(workers.size())];
    ASSERT_TRUE(end_worker(worker)) << "after " << deaths << " deaths";
    worker = start_worker(address, homes[0], random.next());
    ++deaths;
    if (Clock::now() < next_home) continue;
    next_home = Clock::now() + 15s;
    good(fleet.kill(homes[1]));
    good(fleet.restart(homes[1]));
    ++deaths;
  }
  for (const pid_t worker : workers) EXPECT_TRUE(end_worker(worker));
  good(remove_topic(homes[0], "handles"));
  for (const NodeHandle& home : homes) {
    EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, home); }, 60s)) << told(fleet, home);
  }
  std::printf("%zu deaths\n", deaths);
}

INSTANTIATE_TEST_SUITE_P(Transports, ObjectSoak,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
