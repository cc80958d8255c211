// Ranks that are processes, for tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/folder_for_test.hpp"
#include "godwit/group.hpp"

namespace godwit::forward {

// Forks one process per rank, before this one has any thread. A rank whose body fails says why and
// ends with 1.
class RankProcesses {
 public:
  using Body = std::function<Status(Group& group)>;

  RankProcesses(Rank ranks, Way way, const Body& body) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      const MeetOptions options{.rank = rank,
                                .ranks = ranks,
                                .address = "shm://" + folder_.path().string(),
                                .key_file = {},
                                .patience = std::chrono::seconds(30),
                                .way = way};
      start([options, body]() -> Status {
        auto group = Group::meet(options);
        if (!group) return tl::unexpected(group.error());
        return body(*group);
      });
    }
  }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;
  ~RankProcesses() {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    for (std::size_t i = 0; i < pids_.size(); ++i) (void)wait(static_cast<Rank>(i));
  }

  void kill(Rank rank) { signal(rank, SIGKILL); }
  void signal(Rank rank, int number) { ::kill(pids_[static_cast<std::size_t>(rank)], number); }
  // The exit status; -1 if a signal ended it.
  [[nodiscard]] int wait(Rank rank) {
    pid_t& pid = pids_[static_cast<std::size_t>(rank)];
    if (pid <= 0) return -1;
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void expect_success() {
    for (std::size_t i = 0; i < pids_.size(); ++i) EXPECT_EQ(wait(static_cast<Rank>(i)), 0) << i;
  }

 private:
  void start(const std::function<Status()>& body) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      pids_.push_back(pid);
      return;
    }
    ::alarm(120);
    const Status status = body();
    if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::fflush(stderr);
    ::_exit(status ? 0 : 1);
  }

  TestFolder folder_;
  std::vector<pid_t> pids_;
};

}  // namespace godwit::forward
