#include "forward/cuda/forked_group_for_test.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/fail.hpp"

namespace godwit::cuda {
namespace {

struct EndMessage {
  std::chrono::steady_clock::time_point at;  // one clock for all processes
  std::uint16_t code = 0;
  char text[1000] = {};
};

[[noreturn]] void be_child(const MeetOptions& options, int report,
                           const std::function<Status(Group&)>& body) {
  EndMessage end;
  {
    auto group = Group::meet(options);
    const Status status = group ? body(*group) : tl::unexpected(group.error());
    if (!status) {
      end.code = static_cast<std::uint16_t>(status.error().code);
      status.error().message.copy(end.text, sizeof end.text - 1);
    }
    end.at = std::chrono::steady_clock::now();
  }
  const bool told = ::write(report, &end, sizeof end) == sizeof end;
  ::_exit(told ? 0 : 1);
}

RankEnd read_end(int report, pid_t child) {
  EndMessage message;
  RankEnd end;
  const ssize_t got = ::read(report, &message, sizeof message);
  end.at = message.at;
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(report);
  end.killed = got != sizeof message;
  if (end.killed) {
    end.status = fail(ErrorCode::crashed, "the process ended with status {}", status);
  } else if (message.code != 0) {
    end.status = tl::unexpected(Error{static_cast<ErrorCode>(message.code), message.text});
  }
  return end;
}

}  // namespace

std::vector<RankEnd> run_forked(Rank ranks, const std::function<Status(Group&)>& body, Way way) {
  const auto place = MeetingPlace::create(MeetingPlace::For::one_host);
  if (!place) return {};
  std::vector<pid_t> children;
  std::vector<int> reports;
  for (Rank rank = 0; rank < ranks; ++rank) {
    int report[2] = {-1, -1};
    if (::pipe2(report, O_CLOEXEC) != 0) return {};
    const pid_t child = ::fork();
    if (child == 0) {
      be_child({.rank = rank, .ranks = ranks, .address = place->address(), .way = way}, report[1],
               body);
    }
    ::close(report[1]);
    children.push_back(child);
    reports.push_back(report[0]);
  }
  std::vector<RankEnd> ends;
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    ends.push_back(read_end(reports[rank], children[rank]));
  }
  return ends;
}

}  // namespace godwit::cuda
