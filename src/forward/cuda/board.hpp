// What the processes of an exchange on one GPU have in common in the host's memory: the reports
// that the GPU writes, who has come to a round, the first error, and the chunks that items spill
// into.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forward/cuda/report.hpp"
#include "godwit/error.hpp"

namespace godwit::cuda {

using Deadline = std::chrono::steady_clock::time_point;

// The beginning of the shared memory. All of it is zero at first.
struct BoardPage {
  std::atomic<std::uint64_t> arrivals;    // of processes at rounds, ever
  std::atomic<std::uint64_t> save_round;  // the last that is to be saved; said before it ends
  std::atomic<std::uint32_t> attached;    // processes besides the owner
  std::atomic<std::uint32_t> failing;     // who may write the error
  std::atomic<std::uint32_t> failed;      // the error's code, once its text is there
  char text[500];
  Report reports[kReports];
  Report draft;  // of the owner, before items are in order
};

// One process' mapping of it, known to the GPU as well. The owner makes it, the others attach.
class Board {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Board>> create(std::size_t spill_bytes);
  // By the path that the owner tells.
  [[nodiscard]] static Result<std::unique_ptr<Board>> attach(const std::string& path,
                                                             std::size_t spill_bytes);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Under which other processes of this user attach, while this one lives.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] BoardPage& page() const noexcept { return *page_; }
  // As the GPU sees them.
  [[nodiscard]] Report* device_report(std::uint64_t round) const noexcept {
    return device_page_->reports + round % kReports;
  }
  [[nodiscard]] Report* device_draft() const noexcept { return &device_page_->draft; }
  [[nodiscard]] std::byte* device_chunks() const noexcept;

  // On which the kernels run that are waited for.
  void set_stream(cudaStream_t stream) noexcept { stream_ = stream; }
  // Whose end is an error for all who wait.
  [[nodiscard]] Status watch(pid_t process);

  // The owner: returns when all others have detached or died, or at the deadline.
  void await_farewells(Deadline deadline) const;

  // Tells all processes that the exchange is over; the first error counts.
  void fail_all(const Error& error) noexcept;
  // Waits until ready(), spinning first. deadline, or another's error, or the end of a process.
  template <class Ready>
  [[nodiscard]] Status wait(Ready&& ready, Deadline deadline, const char* what) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (ready()) return {};
      relax();
    }
    while (!ready()) {
      if (Status status = look_around(deadline, what); !status) return status;
    }
    return {};
  }

 private:
  static constexpr int kSpins = 20'000;

  Board(int fd, std::size_t bytes) : fd_(fd), bytes_(bytes) {}
  [[nodiscard]] Status map();
  static void relax() noexcept;
  [[nodiscard]] Status look_around(Deadline deadline, const char* what);
  [[nodiscard]] static bool has_ended(int process_fd);

  int fd_;
  std::size_t bytes_;
  BoardPage* page_ = nullptr;
  BoardPage* device_page_ = nullptr;
  cudaStream_t stream_ = nullptr;
  struct Watched {
    pid_t process;
    int fd;
  };
  std::vector<Watched> watched_;
};

}  // namespace godwit::cuda
