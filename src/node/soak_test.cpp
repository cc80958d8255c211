// Processes that use objects and streams in all ways, and are killed in the middle of it, for ten
// minutes: what is read is right, nobody waits in vain, and nothing is left behind.
//
// GODWIT_SOAK_S=60 makes it shorter. Workers are this program, started again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/sanitizers.hpp"
#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"
#include "node/soak_account_for_test.hpp"
#include "node/soak_worker_for_test.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kAddress = "GODWIT_SOAK_ADDRESS";
constexpr const char* kHome = "GODWIT_SOAK_HOME";
constexpr const char* kSeed = "GODWIT_SOAK_SEED";
constexpr const char* kFile = "GODWIT_SOAK_FILE";
constexpr const char* kPlace = "GODWIT_SOAK_PLACE";

// A worker that has done nothing for so long hangs.
constexpr Clock::duration kPatience = kSanitized ? 150s : 30s;
// One that has done nothing for so long is not killed: else most that hang would be, unseen.
constexpr Clock::duration kSuspicious = 1s;

std::string setting(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return text != nullptr ? text : otherwise;
}

TEST(SoakWorker, DISABLED_WorksUntilItIsKilled) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  soak::Account account(std::stoi(setting(kFile, "-1")));
  soak::Doer doer(account.life(std::stoul(setting(kPlace, "0"))));
  auto fleet =
      doer.attempt(soak::Deed::join_fleet, [] { return Fleet::join(setting(kAddress, "")); });
  ASSERT_TRUE(fleet);
  soak::Worker(*std::move(fleet), std::stoull(setting(kHome, "0")),
               std::stoull(setting(kSeed, "1")), doer)
      .work();
}

pid_t start_process(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  std::array<std::string, 4> words{"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                   "--gtest_filter=SoakWorker.*", "--gtest_brief=1"};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                 nullptr};
  posix_spawn_file_actions_t quietly;
  ::posix_spawn_file_actions_init(&quietly);
  ::posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawn(&pid, "/proc/self/exe", &quietly, nullptr, arguments.data(),
                          environment.data()),
            0);
  ::posix_spawn_file_actions_destroy(&quietly);
  return pid;
}

std::string describe(int status) {
  if (WIFEXITED(status)) return "exited with " + std::to_string(WEXITSTATUS(status));
  return std::string("died of ") + ::sigdescr_np(WTERMSIG(status));
}

// The processes that work, one life after another in each place, and what all of them have done.
class Workers {
 public:
  Workers(std::string address, std::uint64_t home)
      : address_(std::move(address)), home_(std::to_string(home)) {}
  ~Workers() {
    for (const Process& process : processes_) {
      if (process.pid < 0) continue;
      ::kill(process.pid, SIGKILL);
      ::waitpid(process.pid, nullptr, 0);
      ::close(process.fd);
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void start(std::size_t place, std::uint64_t seed) {
    account_.begin(place);
    Process& process = processes_[place];
    process.pid =
        start_process({std::string(kAddress) + "=" + address_, std::string(kHome) + "=" + home_,
                       std::string(kSeed) + "=" + std::to_string(seed),
                       std::string(kFile) + "=" + std::to_string(account_.file()),
                       std::string(kPlace) + "=" + std::to_string(place)});
    ASSERT_GT(process.pid, 0);
    process.fd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
    process.deeds = 0;
    process.busy_at = Clock::now();
  }
  // Lets them work until then; fails as soon as one ends by itself, or hangs.
  void work(Clock::time_point until) {
    while (Clock::now() < until && !testing::Test::HasFailure()) {
      std::array<pollfd, kPlaces> ends{};
      for (std::size_t i = 0; i < kPlaces; ++i) ends[i] = {processes_[i].fd, POLLIN, 0};
      ::poll(ends.data(), ends.size(), 20);
      for (std::size_t i = 0; i < kPlaces; ++i) {
        if (ends[i].revents != 0) ADD_FAILURE() << name(i) << " " << describe(reap(i));
        look(i);
      }
    }
  }
  [[nodiscard]] bool is_suspicious(std::size_t place) const {
    return Clock::now() - processes_[place].busy_at > kSuspicious;
  }
  void kill(std::size_t place) {
    ::kill(processes_[place].pid, SIGKILL);
    const int status = reap(place);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << name(place) << " " << describe(status) << " before it was killed";
    count(place);
  }
  // It lets go of everything itself.
  void tell_to_end(std::size_t place) {
    account_.life(place).told_to_end = true;
    pollfd end{processes_[place].fd, POLLIN, 0};
    const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
    ASSERT_EQ(::poll(&end, 1, static_cast<int>(patience.count())), 1)
        << name(place) << " was told to end, and did not";
    const int status = reap(place);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << name(place) << " was told to end, and " << describe(status);
    count(place);
  }
  // A hundredth of what two cores do in that time; of joining, a fifth: that is as often as others
  // are killed.
  void expect_work_of(std::chrono::seconds time) const {
    const auto seconds = static_cast<std::uint64_t>(time.count());
    EXPECT_GE(done_[static_cast<std::size_t>(soak::Deed::read)], 10 * seconds);
    for (std::size_t deed = 0; deed < soak::kDeeds; ++deed) {
      EXPECT_GE(done_[deed], seconds / 4) << soak::kDeedNames[deed];
      std::printf("%-22s %8ju done %8ju excused\n", soak::kDeedNames[deed],
                  static_cast<std::uintmax_t>(done_[deed]),
                  static_cast<std::uintmax_t>(excused_[deed]));
    }
  }

 private:
  static constexpr std::size_t kPlaces = soak::Account::kLives;
  struct Process {
    pid_t pid = -1;
    int fd = -1;
    std::uint64_t deeds = 0;      // when it was last seen to have done any,
    Clock::time_point busy_at{};  // and when that was
  };

  std::string name(std::size_t place) {
    const soak::Life& life = account_.life(place);
    return "worker " + std::to_string(processes_[place].pid) + ", after " +
           std::to_string(life.deeds()) +
           " deeds and last busy with: " + soak::name_of(life.doing) + ",";
  }
  void look(std::size_t place) {
    Process& process = processes_[place];
    const std::uint64_t deeds = account_.life(place).deeds();
    if (deeds != process.deeds) {
      process.deeds = deeds;
      process.busy_at = Clock::now();
    }
    EXPECT_LT(Clock::now() - process.busy_at, kPatience) << name(place) << " hangs";
  }
  int reap(std::size_t place) {
    Process& process = processes_[place];
    int status = 0;
    ::waitpid(process.pid, &status, 0);
    ::close(process.fd);
    process.pid = process.fd = -1;
    return status;
  }
  void count(std::size_t place) {
    const soak::Life& life = account_.life(place);
    for (std::size_t deed = 0; deed < soak::kDeeds; ++deed) {
      done_[deed] += life.done[deed];
      excused_[deed] += life.excused[deed];
    }
  }

  const std::string address_;
  const std::string home_;
  soak::Account account_ = soak::Account::create();
  std::array<Process, kPlaces> processes_;
  std::array<std::uint64_t, soak::kDeeds> done_{};
  std::array<std::uint64_t, soak::kDeeds> excused_{};
};

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
  const std::array<NodeHandle, 2> homes{fleet.node(0), fleet.node(1)};
  Workers workers(fleet.describe().front().addresses.front(), homes[0].id());
  Random random(7);
  for (std::size_t i = 0; i < soak::Account::kLives; ++i) workers.start(i, random.next());
  std::size_t deaths = 0;
  auto next_home = Clock::now() + 15s;
  for (const auto until = Clock::now() + time; Clock::now() < until;) {
    workers.work(Clock::now() + std::chrono::milliseconds(100 + random.below(1500)));
    ASSERT_FALSE(HasFailure()) << "after " << deaths << " deaths";
    const std::size_t place = random.below(soak::Account::kLives);
    if (workers.is_suspicious(place)) continue;
    if (random.below(8) == 0) {
      workers.tell_to_end(place);
    } else {
      workers.kill(place);
    }
    ASSERT_FALSE(HasFailure()) << "after " << deaths << " deaths";
    workers.start(place, random.next());
    ++deaths;
    if (Clock::now() < next_home) continue;
    next_home = Clock::now() + 15s;
    good(fleet.kill(homes[1]));
    good(fleet.restart(homes[1]));
    ++deaths;
  }
  for (std::size_t i = 0; i < soak::Account::kLives; ++i) workers.tell_to_end(i);
  good(remove_topic(homes[0], "handles"));
  for (const NodeHandle& home : homes) {
    EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, home); }, 60s)) << told(fleet, home);
  }
  workers.expect_work_of(time);
  std::printf("%zu deaths\n", deaths);
}

INSTANTIATE_TEST_SUITE_P(Transports, ObjectSoak,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
