// A function's wish to have a bundle here, because it wants to call functions of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "call/posted.hpp"
#include "code/bundle/bundle.hpp"
#include "godwit/error.hpp"

namespace godwit::call {

struct IncomingCall;

// Filled in by the function's thread, which waits for `done`; in between it is the owning thread's.
struct CodeFetch {
  Posted post;
  std::shared_ptr<CodeFetch> self;  // until the owning thread is done with it
  ContentId bundle;
  IncomingCall* on_behalf = nullptr;  // runs for as long as somebody waits
  Time deadline;
  Result<code::Bundle> found{code::Bundle{}};
  std::atomic<std::uint32_t> done{0};
};

}  // namespace godwit::call
