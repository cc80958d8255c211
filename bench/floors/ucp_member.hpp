// One of several processes that send each other active messages, each to any: what a program
// written for one purpose on bare UCX would have.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "floors/options.hpp"
#include "floors/report.hpp"
#include "godwit/error.hpp"

namespace godwit::floors {

// Shared by all members of one measurement, in memory mapped before they were forked.
struct Board {
  static constexpr std::size_t kMaxAddressBytes = 4096;
  struct Seat {
    std::atomic<std::uint32_t> stage;
    std::uint32_t address_bytes;
    char address[kMaxAddressBytes];
  };
  std::atomic<std::uint32_t> over;  // the client has what it wants, or has failed
  Report report;
  Seat seats[UcpChaseOptions::kMaxNodes + 1];  // the client has the last one that is taken
};

// One thread. Waits end with the process's alarm at the latest.
class UcpMember {
 public:
  UcpMember(Board& board, std::size_t seat, std::size_t seats)
      : board_(board), seat_(seat), seats_(seats) {}
  UcpMember(const UcpMember&) = delete;
  UcpMember& operator=(const UcpMember&) = delete;
  ~UcpMember();

  // Makes the worker and endpoints to all others, and waits until they have theirs.
  [[nodiscard]] Status open(UcpTls tls, unsigned am_id, ucp_am_recv_callback_t callback,
                            void* user);
  // Flushes and waits until all others have flushed, too.
  [[nodiscard]] Status close();

  // `message` stays until it is delivered. From inside the callback as well.
  void send(std::size_t to, const void* message, std::size_t bytes);
  // Polls, giving the core to others in between; sleeps after 50 us without a message, as a node
  // does.
  void progress();
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  static void on_sent(void* request, ucs_status_t status, void* user);
  [[nodiscard]] Status meet(std::uint32_t stage);
  [[nodiscard]] Status connect();
  void nap();

  Board& board_;
  std::size_t seat_;
  std::size_t seats_;
  unsigned am_id_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int wake_fd_ = -1;
  std::vector<ucp_ep_h> endpoints_;
  std::uint64_t idle_since_ns_ = 0;
  bool failed_ = false;
};

}  // namespace godwit::floors
