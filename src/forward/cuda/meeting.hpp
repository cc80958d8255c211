// Where the threads of a process meet that are ranks of one exchange.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "godwit/error.hpp"

namespace godwit::cuda {

class Meeting {
 public:
  explicit Meeting(std::uint32_t members) : members_(members) {}

  // Waits until all members have come. The last to come runs close() for all, which takes the time
  // it takes, and all return what it returned. An error is final. deadline: not all came within
  // `patience`.
  template <class Close>
  [[nodiscard]] Status meet(std::chrono::milliseconds patience, Close&& close) {
    const Arrival arrival = arrive();
    if (!arrival.last) return wait(arrival.number, patience);
    const Status end = close();
    conclude(end);
    return end;
  }

  // Ends this meeting and all further ones with an error, unless there was one before.
  void break_up(const Error& error);

 private:
  struct Arrival {
    std::uint64_t number = 0;
    bool last = false;
  };
  [[nodiscard]] Arrival arrive();
  [[nodiscard]] Status wait(std::uint64_t number, std::chrono::milliseconds patience);
  void conclude(const Status& end);

  const std::uint32_t members_;
  std::atomic<std::uint64_t> ended_{0};  // meetings
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t arrived_ = 0;
  bool closing_ = false;         // all have come
  std::optional<Error> broken_;  // why there will be no further meeting
  std::optional<Error> failed_;  // what the last one closed with
};

}  // namespace godwit::cuda
