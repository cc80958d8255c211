// One library's code in memory, and everything whose end must come before the code's: constructors'
// counterparts, exit handlers, threads, thread-local destructors.
#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/jit/compile.hpp"
#include "code/jit/debugger.hpp"
#include "code/jit/imports.hpp"
#include "code/jit/thread_locals.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

// Shared by the library that was loaded and by what still has to run in it, so the last of them
// unmaps the code; see runtime.cpp. Filled in by Linker, then immutable but for the guarded parts.
class Image : public std::enable_shared_from_this<Image> {
 public:
  using Memory = llvm::jitlink::JITLinkMemoryManager;

  Image(std::string name, std::shared_ptr<Memory> memory)
      : name_(std::move(name)), memory_(std::move(memory)) {}
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // Runs the constructors, once. app_error if one of them throws.
  [[nodiscard]] Status start();
  // The address of an exported function, or null.
  [[nodiscard]] void* find(std::string_view symbol) const;
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] std::optional<std::string> pinned() const;

  // Runs handler(argument) before the code is unmapped, in reverse order. False: too many.
  [[nodiscard]] bool at_unload(void (*handler)(void*), void* argument);

  // Counts of what keeps the code mapped; each holder also holds a reference.
  std::atomic<int> running_threads{0};
  std::atomic<int> pending_thread_destructors{0};

 private:
  friend class Linker;
  struct ExitHandler {
    void (*handler)(void*);
    void* argument;
  };
  static constexpr std::size_t kMaxExitHandlers = 65'536;

  void run_exit_handlers();

  std::string name_;
  std::shared_ptr<Memory> memory_;
  ObjectBytes object_;  // what the debugger reads
  Imports imports_;
  std::unordered_map<std::string, void*> exports_;
  void (*init_)(Image*) = nullptr;
  void (*fini_)() = nullptr;
  std::unique_ptr<ThreadLocals> thread_locals_;  // null: none
  Memory::FinalizedAlloc allocation_;
  llvm::orc::ExecutorAddrRange frames_;  // .eh_frame, empty if there is none
  std::size_t mapped_bytes_ = 0;
  std::optional<DebuggerEntry> debugger_;
  bool started_ = false;

  std::mutex mutex_;
  std::vector<ExitHandler> exit_handlers_;  // guarded by mutex_
};

}  // namespace godwit::code::jit
