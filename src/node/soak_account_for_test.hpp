// What a worker of the soak does and has done, in memory that it shares with the test: so the test
// knows of one that it has killed what it did, and of one that hangs in what.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <new>

#include "godwit/error.hpp"

namespace godwit::node::soak {

enum class Deed : std::uint8_t {
  join_fleet,
  open_topic,
  put,
  resolve,
  read,  // what was resolved is as it was written
  send,
  receive,
  own,
  borrow,
  promise,
  keep_promise,
  break_promise,
  update,
  set_lifetime,
  await,
  evict,
};
constexpr std::size_t kDeeds = 16;
constexpr std::array<const char*, kDeeds> kDeedNames{"joining the fleet",
                                                     "opening the topic",
                                                     "put",
                                                     "resolve",
                                                     "reading",
                                                     "send",
                                                     "next",
                                                     "putting what is owned",
                                                     "borrow",
                                                     "making a promise",
                                                     "keeping a promise",
                                                     "breaking a promise",
                                                     "update",
                                                     "set_lifetime",
                                                     "wait",
                                                     "evict"};
constexpr const char* name_of(Deed deed) {
  return kDeedNames[static_cast<std::size_t>(deed)];
}

// Several of them.
constexpr std::uint32_t any_of(std::initializer_list<Deed> deeds) {
  std::uint32_t all = 0;
  for (const Deed deed : deeds) all |= 1U << static_cast<unsigned>(deed);
  return all;
}
constexpr std::uint32_t kWithHandle =
    any_of({Deed::resolve, Deed::borrow, Deed::keep_promise, Deed::break_promise, Deed::update,
            Deed::set_lifetime, Deed::await, Deed::evict});
constexpr std::uint32_t kMaking = any_of({Deed::put, Deed::own, Deed::promise});
constexpr std::uint32_t kOfWhatMayBePromised = any_of({Deed::resolve, Deed::await, Deed::update});
constexpr std::uint32_t kKeepingOrBreaking = any_of({Deed::keep_promise, Deed::break_promise});

// An error that deeds may end with. All others are faults.
struct Excuse {
  ErrorCode code;
  std::uint32_t deeds;
  const char* why;
};
constexpr std::array kExcuses{
    Excuse{ErrorCode::node_lost, kWithHandle | kMaking, "the home was killed meanwhile"},
    Excuse{ErrorCode::unreachable, kWithHandle | kMaking, "the home is not there yet again"},
    Excuse{ErrorCode::permission, kWithHandle, "the home was started anew, with another key"},
    Excuse{ErrorCode::not_found,
           kOfWhatMayBePromised | kKeepingOrBreaking | any_of({Deed::set_lifetime}),
           "another has evicted it, its lease is over, or its maker was killed"},
    Excuse{ErrorCode::stale, kOfWhatMayBePromised, "another has updated it"},
    Excuse{ErrorCode::would_block, any_of({Deed::resolve}), "its promise is not kept yet"},
    Excuse{ErrorCode::app_error, kOfWhatMayBePromised, "its promise was broken on purpose"},
    Excuse{ErrorCode::cancelled, kOfWhatMayBePromised, "its promise was given up"},
    Excuse{ErrorCode::deadline, kOfWhatMayBePromised, "its promise was not kept in time"},
    Excuse{ErrorCode::already_exists, kKeepingOrBreaking, "its time was over before"},
    Excuse{ErrorCode::deadline, any_of({Deed::receive}), "nobody sends at the moment"},
    Excuse{ErrorCode::deadline, any_of({Deed::send}), "the topic is full: consumers were killed"},
};
constexpr bool is_excused(Deed deed, ErrorCode code) {
  return std::any_of(kExcuses.begin(), kExcuses.end(), [&](const Excuse& excuse) {
    return excuse.code == code && (excuse.deeds & any_of({deed})) != 0;
  });
}

// Of one worker, from its start to its end. Zeros are its beginning.
struct Life {
  std::atomic<bool> told_to_end;
  std::atomic<Deed> doing;
  std::array<std::atomic<std::uint64_t>, kDeeds> done;
  std::array<std::atomic<std::uint64_t>, kDeeds> excused;

  [[nodiscard]] std::uint64_t deeds() const {
    std::uint64_t all = 0;
    for (const auto& count : done) all += count;
    return all;
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// One Life for each worker. Its file is inherited by those that the test starts.
class Account {
 public:
  static constexpr std::size_t kLives = 3;

  static Account create() { return Account(::memfd_create("godwit-soak", 0)); }
  explicit Account(int file) : file_(file) {
    if (::ftruncate(file, sizeof(Lives)) != 0) std::perror("ftruncate");
    void* at = ::mmap(nullptr, sizeof(Lives), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) std::perror("mmap");
    lives_ = static_cast<Lives*>(at);
  }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() {
    ::munmap(lives_, sizeof(Lives));
    ::close(file_);
  }

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] Life& life(std::size_t worker) { return (*lives_)[worker]; }
  // Before the next worker of that place starts.
  void begin(std::size_t worker) { new (&life(worker)) Life{}; }

 private:
  using Lives = std::array<Life, kLives>;

  int file_;
  Lives* lives_ = nullptr;
};

}  // namespace godwit::node::soak
