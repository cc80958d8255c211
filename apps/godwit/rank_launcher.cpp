#include "rank_launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/fail.hpp"
#include "godwit/group.hpp"
#include "godwit/meet.hpp"
#include "labelled_output.hpp"

namespace godwit::cli {
namespace {

using std::chrono::steady_clock;

// Between being told to end and being killed.
constexpr std::chrono::seconds kRankGrace{3};
constexpr int kSignalBase = 128;  // as shells count
static_assert(kExitNodeLost == static_cast<int>(Exit::node_lost));

// Signals as something to poll for; back to what they were with its owner.
class Signals {
 public:
  Signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&wanted, number);
    ::sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_ = fabric::Fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& before() const { return before_; }
  [[nodiscard]] std::optional<signalfd_siginfo> take() const {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return info;
  }

 private:
  sigset_t before_{};
  fabric::Fd fd_;
};

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return fmt::format("was ended by signal {} ({})", number, ::strsignal(number));
}

// How a rank ended. Of several that ended at once the worst came first: a signal makes others fail,
// and whoever fails makes others lose a rank.
enum Severity : std::uint8_t { kWell, kLostAnother, kFailed, kSignalled };
Severity severity(int status) {
  if (status == 0) return kWell;
  if (WIFSIGNALED(status)) return kSignalled;
  return WEXITSTATUS(status) == kExitNodeLost ? kLostAnother : kFailed;
}

// One time that all ranks are started.
class Launch {
 public:
  Launch(const LaunchOptions& options, std::string address, const Signals& signals, int restarted)
      : options_(options), address_(std::move(address)), signals_(signals), restarted_(restarted) {}
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() {
    tell_all(SIGKILL);
    reap_all();
  }

  [[nodiscard]] Ended run() {
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
      GODWIT_CHECK(start(rank));
    }
    while (running_ > 0) {
      look(wait_for_news());
      if (kill_at_ && steady_clock::now() >= *kill_at_) {
        tell_all(SIGKILL);
        killed_ = true;
        kill_at_.reset();
      }
    }
    output_.finish();
    if (!failure_) return {};
    const auto [rank, how] = *failure_;
    return tl::unexpected(
        Failed(static_cast<Exit>(WIFSIGNALED(how) ? kSignalBase + WTERMSIG(how) : WEXITSTATUS(how)),
               {ErrorCode::app_error, fmt::format("rank {} {}", rank, how_it_ended(how))}));
  }
  // After run(): whether others were told to end because of the failure.
  [[nodiscard]] bool has_told_others() const { return told_; }
  // Whether what failed is that a rank was lost, and nobody asked all to end.
  [[nodiscard]] bool has_lost_rank() const {
    return failure_ && !interrupted_ && severity(failure_->second) != kFailed;
  }

 private:
  [[nodiscard]] Status start(Rank rank) {
    fabric::Fd out;
    fabric::Fd errors;
    if (options_.label) {
      const std::string label = fmt::format("[{}] ", rank);
      GODWIT_TRY(out, output_.add(label, STDOUT_FILENO));
      GODWIT_TRY(errors, output_.add(label, STDERR_FILENO));
    }
    int trouble[2];
    if (::pipe2(trouble, O_CLOEXEC) != 0) {
      return fail(ErrorCode::resource_exhausted, "no pipe can be made: {}", errno_text(errno));
    }
    const fabric::Fd trouble_in(trouble[0]);
    fabric::Fd trouble_out(trouble[1]);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) become(rank, parent, out, errors, trouble_out);
    if (pid < 0) {
      return fail(ErrorCode::resource_exhausted, "no process for rank {} can be made: {}", rank,
                  errno_text(errno));
    }
    pids_.push_back(pid);
    ++running_;
    trouble_out.reset();
    int why = 0;
    if (::read(trouble_in.get(), &why, sizeof why) != sizeof why) return {};
    return fail(why == ENOENT || why == EACCES ? ErrorCode::not_found : ErrorCode::internal,
                "cannot start {}: {}", options_.program.front(), errno_text(why));
  }

  // In the child.
  [[noreturn]] void become(Rank rank, pid_t parent, const fabric::Fd& out, const fabric::Fd& errors,
                           const fabric::Fd& trouble) const {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);  // it died before that
    ::setenv("GODWIT_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("GODWIT_RANKS", std::to_string(options_.ranks).c_str(), 1);
    ::setenv("GODWIT_MEET", address_.c_str(), 1);
    ::setenv("GODWIT_RESTARTED", std::to_string(restarted_).c_str(), 1);
    if (rank != 0) {
      const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      ::dup2(nothing, STDIN_FILENO);
    }
    if (out) ::dup2(out.get(), STDOUT_FILENO);
    if (errors) ::dup2(errors.get(), STDERR_FILENO);
    std::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
    std::vector<char*> words;
    std::vector<std::string> program = options_.program;
    for (std::string& word : program) words.push_back(word.data());
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    const int why = errno;
    (void)!::write(trouble.get(), &why, sizeof why);
    ::_exit(127);
  }

  [[nodiscard]] std::vector<pollfd> wait_for_news() {
    std::vector<pollfd> all{{signals_.fd(), POLLIN, 0}};
    for (const int descriptor : output_.open()) all.push_back({descriptor, POLLIN, 0});
    int limit_ms = -1;
    if (kill_at_) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - steady_clock::now());
      limit_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    if (::poll(all.data(), all.size(), limit_ms) < 0) all.clear();
    return all;
  }

  void look(const std::vector<pollfd>& news) {
    for (std::size_t i = 1; i < news.size(); ++i) {
      if (news[i].revents != 0) output_.read(news[i].fd);
    }
    while (const auto signal = signals_.take()) {
      const auto number = static_cast<int>(signal->ssi_signo);
      // What a terminal sends, it sends to all of its programs itself.
      if (number != SIGCHLD && signal->ssi_code != SI_KERNEL) tell_all(number);
      if (number == SIGCHLD) continue;
      interrupted_ = true;
      if (!kill_at_) kill_at_ = steady_clock::now() + kRankGrace;
    }
    reap();
  }

  // Of several that ended since the last look, the first failure is the worst.
  void reap() {
    std::optional<std::pair<Rank, int>> worst;
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      const auto found = std::find(pids_.begin(), pids_.end(), pid);
      if (found == pids_.end()) continue;
      *found = -1;
      --running_;
      if (severity(status) > (worst ? severity(worst->second) : kWell)) {
        worst.emplace(static_cast<Rank>(found - pids_.begin()), status);
      }
    }
    if (!worst) return;
    if (!failure_) {
      failure_ = worst;
      told_ = running_ > 0;
      tell_all(SIGTERM);
      if (!kill_at_) kill_at_ = steady_clock::now() + kRankGrace;
    } else if (came_before(worst->second)) {
      failure_ = worst;
    }
  }
  // Whether a rank that was seen to end after the first failure is what made it: others may notice
  // an end before the parent can, lose a rank by it, and nobody is killed for another's failure.
  [[nodiscard]] bool came_before(int status) const {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return !killed_;
    const bool told = interrupted_ || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    return !told && severity(failure_->second) == kLostAnother && severity(status) > kLostAnother;
  }

  void tell_all(int signal) const {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, signal);
    }
  }
  void reap_all() {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::waitpid(pid, nullptr, 0);
    }
  }

  const LaunchOptions& options_;
  const std::string address_;
  const Signals& signals_;
  const int restarted_;
  LabelledOutput output_;
  std::vector<pid_t> pids_;  // by rank; -1: it has ended
  std::size_t running_ = 0;
  std::optional<std::pair<Rank, int>> failure_;  // and its status, as waitpid() tells
  std::optional<steady_clock::time_point> kill_at_;
  bool told_ = false;
  bool killed_ = false;
  bool interrupted_ = false;  // by a signal to this process
};

}  // namespace

Ended launch_ranks(const LaunchOptions& options) {
  const Signals signals;
  for (int restarted = 0;; ++restarted) {
    GODWIT_TRY(const MeetingPlace place, MeetingPlace::create(MeetingPlace::For::one_host));
    Launch launch(options, place.address(), signals, restarted);
    Ended ended = launch.run();
    if (ended) return ended;
    std::string& what = ended.error().error.message;
    if (!launch.has_lost_rank() || restarted == options.restarts) {
      if (launch.has_told_others()) what += "; those still running were told to end";
      if (restarted > 0) what += fmt::format("; all had been started again {} times", restarted);
      return ended;
    }
    fmt::print(stderr, "godwit: {}; starting all ranks again ({} of {})\n", what, restarted + 1,
               options.restarts);
  }
}

}  // namespace godwit::cli
