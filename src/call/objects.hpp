// Objects as the verbs of mobile code need them. Implemented by ref/.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"

namespace godwit::call {

struct ReplyBuffer;

// Any thread.
class Objects {
 public:
  struct Asker {
    NodeId node;               // whose process asks
    bool may_wait = false;     // the function may take its time
    std::uint64_t waiter = 0;  // not 0: Engine::run_again() with it makes the call run again
  };

  virtual ~Objects() = default;
  // Answers a wire::ObjectRequest about objects that this process is the home of: the reply becomes
  // a result of type bytes. False: there is no answer yet, and Engine::run_again(asker.waiter)
  // follows.
  [[nodiscard]] virtual Result<bool> answer(const Asker& asker, Bytes request,
                                            ReplyBuffer& reply) = 0;
  // Nobody is interested any more.
  virtual void stop_waiting(std::uint64_t waiter) = 0;
};

}  // namespace godwit::call
