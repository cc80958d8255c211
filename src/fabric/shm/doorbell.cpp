#include "fabric/shm/doorbell.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/fail.hpp"

namespace godwit::fabric::shm {
namespace {

// Writing into some other kind of file could block, or do worse.
bool is_eventfd(int fd) {
  std::array<char, 64> target{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  return size > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(size)) == "anon_inode:[eventfd]";
}

}  // namespace

Result<Doorbell> Doorbell::create() {
  Doorbell bell;
  GODWIT_TRY(bell.state_memory_, create_memory("godwit-door-state", kPageSize));
  GODWIT_TRY(bell.ready_memory_, create_memory("godwit-door-ready", kPageSize));
  GODWIT_TRY(bell.state_, map_memory(bell.state_memory_.get(), kPageSize, Access::write));
  GODWIT_TRY(bell.ready_, map_memory(bell.ready_memory_.get(), kPageSize, Access::write));
  GODWIT_CHECK(forbid_new_writers(bell.state_memory_.get()));
  bell.event_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.event_)
    return fail(ErrorCode::resource_exhausted, "cannot create an eventfd: {}", errno_text(errno));
  for (std::size_t link = 0; link < kMaxLinks; ++link) bell.set_cold(link, true);
  return bell;
}

Result<std::vector<Fd>> Doorbell::share() const {
  std::vector<Fd> fds;
  for (const Fd* fd : {&state_memory_, &ready_memory_, &event_}) {
    GODWIT_TRY(Fd copy, duplicate(*fd));
    fds.push_back(std::move(copy));
  }
  return fds;
}

void Doorbell::set_cold(std::size_t link, bool cold) noexcept {
  auto& word = state().cold[link / 64];
  const std::uint64_t bit = std::uint64_t{1} << (link % 64);
  const std::uint64_t before = word.load(std::memory_order_relaxed);
  word.store(cold ? before | bit : before & ~bit, std::memory_order_seq_cst);
}

Result<PeerDoorbell> PeerDoorbell::open(std::vector<Fd> fds, std::size_t link) {
  if (fds.size() != Doorbell::kFdCount || link >= kMaxLinks || !is_eventfd(fds[2].get()))
    return fail(ErrorCode::protocol_violation, "the peer's doorbell is not one");
  PeerDoorbell bell;
  GODWIT_CHECK(check_memory(fds[0].get(), kPageSize));
  GODWIT_CHECK(check_memory(fds[1].get(), kPageSize));
  GODWIT_TRY(bell.state_, map_memory(fds[0].get(), kPageSize, Access::read));
  GODWIT_TRY(bell.ready_, map_memory(fds[1].get(), kPageSize, Access::write));
  bell.event_ = std::move(fds[2]);
  ::fcntl(bell.event_.get(), F_SETFL, O_NONBLOCK);
  bell.word_ = link / 64;
  bell.bit_ = std::uint64_t{1} << (link % 64);
  return bell;
}

void PeerDoorbell::mark() noexcept {
  auto& word = reinterpret_cast<DoorReady*>(ready_.data())->ready[word_];
  if ((word.load(std::memory_order_seq_cst) & bit_) == 0)
    word.fetch_or(bit_, std::memory_order_seq_cst);
}

void PeerDoorbell::ring() noexcept {
  const std::uint64_t asleep = state().asleep.load(std::memory_order_seq_cst);
  if ((asleep & 1U) == 0 || asleep == rung_) return;
  rung_ = asleep;
  ::eventfd_write(event_.get(), 1);
}

}  // namespace godwit::fabric::shm
