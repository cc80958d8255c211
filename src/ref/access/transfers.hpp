// Objects that are being copied here from homes whose memory cannot be mapped: each once, however
// many threads want it.
//
// One of those threads drives a transfer, the others wait. If it runs out of time another one goes
// on where it stopped; what else ends a transfer ends it for all. Everybody has asked the home
// before, so nobody gets what the home would not give.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/access/pieces.hpp"

namespace godwit::ref {

// Any thread.
class Transfers {
 public:
  // Driven by one thread at a time; each has Pieces::kUnderWay pieces in memory beside the object.
  static constexpr std::size_t kTogether = 4;
  // How long the thread that drives several looks at one of them only.
  static constexpr Duration kGlance = std::chrono::milliseconds(1);

  struct Key {
    NodeId home;
    ObjectId object;
    std::uint64_t version = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct New {
    Key key;
    std::uint64_t size = 0;
    Duration patience{};  // see Pieces
    std::unique_ptr<PieceSource> source;
  };
  class Transfer;
  // One that a thread wants; in the end its bytes, or the reason why not.
  struct Wanted {
    std::shared_ptr<Transfer> transfer;
    Result<std::shared_ptr<const Buffer>> bytes{};
    bool is_mine = false;  // this thread drives it
    [[nodiscard]] bool has_ended() const noexcept { return transfer == nullptr; }
  };

  // The transfer that is under way, or else this one. finish() follows, with the same thread.
  // Errors: out_of_memory.
  [[nodiscard]] Result<Wanted> join(New transfer);
  // Returns when all have ended, or it is `until`. Errors of each: those of Pieces.
  void finish(std::span<Wanted> all, Time until);

  [[nodiscard]] std::size_t under_way() const;

 private:
  [[nodiscard]] std::size_t look(std::span<Wanted> all);
  [[nodiscard]] bool drive(std::span<Wanted> all, Duration at_most, Time until);
  void wait_for_others(std::span<Wanted> all, Time until);
  void leave(Wanted& wanted, Result<std::shared_ptr<const Buffer>> bytes);
  void end(Transfer& transfer, std::optional<Error> failed);

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a transfer has ended, or lost its driver
  std::map<Key, std::shared_ptr<Transfer>> transfers_;
};

}  // namespace godwit::ref
