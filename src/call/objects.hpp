// Objects as the verbs of mobile code need them. Implemented by ref/.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"

namespace godwit::call {

// Any thread.
class Objects {
 public:
  struct Asker {
    NodeId node;               // whose process asks
    bool may_wait = false;     // the function may take its time
    std::uint64_t waiter = 0;  // not 0: Engine::run_again() with it makes the call run again
  };
  struct Answer {
    Bytes bytes;  // valid for as long as this is kept
    std::shared_ptr<const void> keeps{};
    bool waits = false;  // no answer yet: Engine::run_again(asker.waiter) follows
  };

  virtual ~Objects() = default;
  // Answers a wire::ObjectRequest about objects that this process is the home of.
  [[nodiscard]] virtual Result<Answer> ask(const Asker& asker, Bytes request) = 0;
  // Nobody is interested any more.
  virtual void stop_waiting(std::uint64_t waiter) = 0;
};

}  // namespace godwit::call
