#include "object_source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/fail.hpp"
#include "command_line/byte_text.hpp"
#include "command_line/transfer_bar.hpp"
#include "exit.hpp"
#include "fabric/fd.hpp"
#include "interrupt.hpp"

namespace godwit::cli {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

// What a signal handler can reach: where the file is mapped.
std::atomic<const std::byte*> mapped_from{nullptr};
std::atomic<const std::byte*> mapped_to{nullptr};

// Touching a page that a file does not have any more raises SIGBUS.
void on_lost_page(int, siginfo_t* info, void*) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  if (at < mapped_from.load() || at >= mapped_to.load()) {
    ::signal(SIGBUS, SIG_DFL);  // not ours: it comes again, and ends the process
    return;
  }
  constexpr std::string_view kText =
      "godwit: the file became shorter, or could not be read, while it was put\n";
  (void)!::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(static_cast<int>(Exit::bad_file));
}

void watch_pages(const fabric::Mapping& file) {
  mapped_from = file.data();
  mapped_to = file.data() + file.size();
  struct sigaction action{};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

tl::unexpected<Error> cannot_read(const std::string& name, int why) {
  const ErrorCode code = why == ENOENT   ? ErrorCode::not_found
                         : why == EACCES ? ErrorCode::permission
                                         : ErrorCode::io;
  return fail(code, "cannot read {}: {}", name, errno_text(why));
}

}  // namespace

Result<ObjectSource> ObjectSource::open(const std::string& file) {
  const bool standard = file == "-";
  const std::string name = standard ? "standard input" : "'" + file + "'";
  fabric::Fd opened;
  if (!standard) {
    opened = fabric::Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (opened.get() < 0) return cannot_read(name, errno);
  }
  const int fd = standard ? STDIN_FILENO : opened.get();
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return cannot_read(name, errno);
  ObjectSource source;
  // What is left of a redirected file may begin anywhere; mappings begin at pages.
  const bool whole = S_ISREG(facts.st_mode) && (!standard || ::lseek(fd, 0, SEEK_CUR) == 0);
  if (whole && facts.st_size > 0) {
    GODWIT_CHECK(source.map(fd, static_cast<std::uint64_t>(facts.st_size), name));
  } else {
    GODWIT_CHECK(source.read(fd, name));
  }
  return source;
}

Status ObjectSource::map(int fd, std::uint64_t size, const std::string& name) {
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return cannot_read(name, errno);
  file_ = fabric::Mapping(static_cast<std::byte*>(memory), size);
  ::madvise(memory, size, MADV_SEQUENTIAL);
  watch_pages(file_);
  size_ = size;
  parts_.emplace_back(file_.data(), size);
  return {};
}

// In chunks, so that nothing is copied when more comes.
Status ObjectSource::read(int fd, const std::string& name) {
  TransferBar bar("reading", 0);
  for (bool more = true; more;) {
    Buffer chunk = Buffer::allocate(kChunkBytes);
    if (chunk.data() == nullptr) return fail(ErrorCode::out_of_memory, "no memory for {}", name);
    std::size_t filled = 0;
    while (more && filled < kChunkBytes) {
      const ssize_t got = ::read(fd, chunk.data() + filled, kChunkBytes - filled);
      if (got < 0 && errno == EINTR && !interrupted()) continue;
      if (got < 0 && errno == EINTR) {
        return fail(ErrorCode::cancelled, "interrupted while {} was read", name);
      }
      if (got < 0) return cannot_read(name, errno);
      more = got > 0;
      filled += static_cast<std::size_t>(got);
    }
    size_ += filled;
    if (size_ > kMostFromPipe) {
      return fail(ErrorCode::too_large,
                  "more than {} came through {}, all of which has to be in memory: put a file "
                  "instead",
                  byte_text(kMostFromPipe), name);
    }
    if (filled == 0) break;
    chunk.truncate(filled);
    parts_.push_back(chunk.view());
    chunks_.push_back(std::move(chunk));
    bar.show(size_);
  }
  return {};
}

}  // namespace godwit::cli
