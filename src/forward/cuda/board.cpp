#include "forward/cuda/board.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/fail.hpp"
#include "fabric/fence.hpp"
#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {

namespace {

constexpr std::size_t kPageBytes = (sizeof(BoardPage) + 4095) / 4096 * 4096;

Status system_failed(const char* what) {
  return fail(ErrorCode::io, "{}: {}", what, std::generic_category().message(errno));
}

}  // namespace

Result<std::unique_ptr<Board>> Board::create(std::size_t spill_bytes) {
  const int fd = ::memfd_create("godwit exchange", MFD_CLOEXEC);
  if (fd < 0) return tl::unexpected(system_failed("making the memory of an exchange").error());
  std::unique_ptr<Board> board(new Board(fd, kPageBytes + spill_bytes));
  if (::ftruncate(fd, static_cast<off_t>(board->bytes_)) != 0) {
    return tl::unexpected(system_failed("sizing the memory of an exchange").error());
  }
  GODWIT_CHECK(board->map());
  return board;
}

Result<std::unique_ptr<Board>> Board::attach(const std::string& path, std::size_t spill_bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return tl::unexpected(system_failed("opening the memory of an exchange").error());
  std::unique_ptr<Board> board(new Board(fd, kPageBytes + spill_bytes));
  GODWIT_CHECK(board->map());
  return board;
}

Status Board::map() {
  void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) return system_failed("mapping the memory of an exchange");
  page_ = static_cast<BoardPage*>(at);
  GODWIT_CHECK(
      check_cuda(cudaHostRegister(at, bytes_, cudaHostRegisterMapped | cudaHostRegisterPortable),
                 "pinning the memory of an exchange"));
  void* on_device = nullptr;
  GODWIT_CHECK(check_cuda(cudaHostGetDevicePointer(&on_device, at, 0),
                          "showing the memory of an exchange to the GPU"));
  device_page_ = static_cast<BoardPage*>(on_device);
  return {};
}

Board::~Board() {
  for (const Watched& watched : watched_) ::close(watched.fd);
  if (device_page_ != nullptr) cudaHostUnregister(page_);
  if (page_ != nullptr) ::munmap(page_, bytes_);
  ::close(fd_);
}

std::string Board::path() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_);
}

std::byte* Board::device_chunks() const noexcept {
  return reinterpret_cast<std::byte*>(device_page_) + kPageBytes;
}

Status Board::watch(pid_t process) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) {
    return fail(ErrorCode::node_lost, "process {} of the exchange cannot be watched: {}", process,
                std::generic_category().message(errno));
  }
  watched_.push_back({.process = process, .fd = fd});
  return {};
}

void Board::fail_all(const Error& error) noexcept {
  if (page_->failing.exchange(1) != 0) return;
  const std::size_t length = std::min(error.message.size(), sizeof page_->text - 1);
  std::memcpy(page_->text, error.message.data(), length);
  page_->failed.store(static_cast<std::uint32_t>(error.code), std::memory_order_release);
}

void Board::relax() noexcept {
  fabric::cpu_relax();
}

bool Board::has_ended(int process_fd) {
  pollfd end{.fd = process_fd, .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, 0) > 0;
}

void Board::await_farewells(Deadline deadline) const {
  for (;;) {
    const auto attached = static_cast<std::ptrdiff_t>(page_->attached.load());
    const auto alive = std::count_if(watched_.begin(), watched_.end(),
                                     [](const Watched& watched) { return !has_ended(watched.fd); });
    if (attached == 0 || alive == 0 || std::chrono::steady_clock::now() >= deadline) return;
    std::this_thread::yield();
  }
}

// One look at what else may have happened, after which the processor was free for others for a
// while.
Status Board::look_around(Deadline deadline, const char* what) {
  if (const auto code = page_->failed.load(std::memory_order_acquire); code != 0) {
    return tl::unexpected(Error{static_cast<ErrorCode>(code), page_->text});
  }
  for (const Watched& watched : watched_) {
    if (!has_ended(watched.fd)) continue;
    Error error{ErrorCode::node_lost,
                fmt::format("process {} of the exchange ended while others waited for {}",
                            watched.process, what)};
    fail_all(error);
    return tl::unexpected(std::move(error));
  }
  // Tells of kernels that failed, which would never report.
  if (const cudaError_t code = cudaStreamQuery(stream_);
      code != cudaSuccess && code != cudaErrorNotReady) {
    return check_cuda(code, what);
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    return fail(ErrorCode::deadline,
                "waited too long for {}; if that is to be expected, raise "
                "Options::patience",
                what);
  }
  std::this_thread::yield();
  return {};
}

}  // namespace godwit::cuda
