#include "ranks/apart.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "floors/pair.hpp"
#include "floors/report.hpp"
#include "settings.hpp"

namespace godwit::bench {
namespace {

constexpr unsigned kLimitS = 120;

void be_rank(const MeetOptions& options, int report_fd,
             const std::function<Result<floors::Sample>(Group&)>& body) {
  ::alarm(kLimitS);
  run_on_core(options.rank % static_cast<int>(std::thread::hardware_concurrency()));
  Result<floors::Sample> sample = [&]() -> Result<floors::Sample> {
    GODWIT_TRY(Group group, Group::meet(options));
    return body(group);
  }();
  const floors::Report report = floors::Report::of(sample);
  const bool told = options.rank != 0 || floors::send_all(report_fd, &report, sizeof report);
  ::_exit(told && sample ? 0 : 1);
}

}  // namespace

Result<floors::Sample> measure_apart(
    Rank ranks, Way way, const std::function<Result<floors::Sample>(Group& group)>& body) {
  const TestFolder folder;
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorCode::resource_exhausted, "no pipe can be made");
  std::vector<pid_t> children;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      be_rank(
          {.rank = rank, .ranks = ranks, .address = "shm://" + folder.path().string(), .way = way},
          ends[1], body);
    }
    children.push_back(child);
  }
  ::close(ends[1]);
  floors::Report report;
  std::size_t got = 0;
  while (got < sizeof report) {
    const ssize_t more =
        ::read(ends[0], reinterpret_cast<std::byte*>(&report) + got, sizeof report - got);
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  ::close(ends[0]);
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failed |= status != 0;
  }
  if (got == sizeof report && (!failed || report.code != ErrorCode::none)) return report.result();
  return fail(ErrorCode::internal, "a rank that was measured failed");
}

}  // namespace godwit::bench
