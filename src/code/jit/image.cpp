#include "code/jit/image.hpp"

#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>

#include <exception>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code::jit {

// Errors of LLVM here mean that memory could not be unmapped: it stays, nothing else is lost.
Image::~Image() {
  if (started_) {
    run_exit_handlers();
    if (fini_ != nullptr) fini_();
  }
  debugger_.reset();
  if (!frames_.empty()) {
    llvm::consumeError(llvm::jitlink::InProcessEHFrameRegistrar().deregisterEHFrames(frames_));
  }
  if (allocation_) llvm::consumeError(memory_->deallocate(std::move(allocation_)));
}

Status Image::start() {
  started_ = true;
  if (init_ == nullptr) return {};
  try {
    init_(this);
    return {};
  } catch (const std::exception& error) {
    return fail(ErrorCode::app_error, "{}: a static constructor threw: {}", name_, error.what());
  } catch (...) {
    return fail(ErrorCode::app_error, "{}: a static constructor threw", name_);
  }
}

void* Image::find(std::string_view symbol) const {
  const auto found = exports_.find(std::string(symbol));
  return found == exports_.end() ? nullptr : found->second;
}

std::size_t Image::memory_bytes() const {
  return sizeof(Image) + mapped_bytes_ + object_.capacity();
}

std::optional<std::string> Image::pinned() const {
  const int threads = running_threads.load(std::memory_order_acquire);
  const int destructors = pending_thread_destructors.load(std::memory_order_acquire);
  if (threads == 0 && destructors == 0) return std::nullopt;
  return fmt::format("{}: {} threads it started are running, {} thread-local destructors are due",
                     name_, threads, destructors);
}

bool Image::at_unload(void (*handler)(void*), void* argument) {
  const std::lock_guard lock(mutex_);
  if (exit_handlers_.size() >= kMaxExitHandlers) return false;
  exit_handlers_.push_back({handler, argument});
  return true;
}

// A handler may register another, which runs next.
void Image::run_exit_handlers() {
  for (;;) {
    ExitHandler next{};
    {
      const std::lock_guard lock(mutex_);
      if (exit_handlers_.empty()) return;
      next = exit_handlers_.back();
      exit_handlers_.pop_back();
    }
    next.handler(next.argument);
  }
}

}  // namespace godwit::code::jit
