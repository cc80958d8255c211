// The thread-local variables of loaded code.
//
// Generated code asks __emutls_get_address() for the calling thread's copy of a variable. libgcc's
// keeps every copy until its thread ends and numbers variables for ever, which in a node that loads
// and unloads code never stops growing. Here a library's variables lie in one block per thread, and
// a block ends with its library or with its thread, whichever comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::code::jit {

// What LLVM makes of a thread-local variable X under the name kThreadLocalPrefix + X.
struct ThreadLocalControl {
  std::size_t size;
  std::size_t align;
  const void* variable;  // ours to fill in
  const void* initial;   // `size` bytes, or null: zeros
};
inline constexpr const char* kThreadLocalPrefix = "__emutls_v.";

// Those of one library. Made and destroyed by any thread; destroyed when no thread uses them.
class ThreadLocals {
 public:
  // Fills in the controls, which stay where they are. Error: resource_exhausted.
  [[nodiscard]] static Result<std::unique_ptr<ThreadLocals>> create(
      std::span<ThreadLocalControl* const> controls);
  ~ThreadLocals();
  ThreadLocals(const ThreadLocals&) = delete;
  ThreadLocals& operator=(const ThreadLocals&) = delete;

  // __emutls_get_address: the calling thread's copy. Its first call in a thread allocates, and ends
  // the process if it cannot, as generated code has no way to hear of it.
  static void* address(const ThreadLocalControl* control) noexcept;

 private:
  struct Variable {
    ThreadLocals* owner;
    const ThreadLocalControl* control;
    std::size_t offset;
  };
  struct Thread;
  struct Registry;

  ThreadLocals() = default;
  [[nodiscard]] std::byte* make_block() const;
  void free_block(std::byte* block) const noexcept;

  std::vector<Variable> variables_;
  std::size_t block_bytes_ = 0;
  std::size_t block_align_ = alignof(std::max_align_t);
  std::size_t slot_ = 0;                   // in every thread's table; used again after this library
  std::uint64_t serial_ = 0;               // never used again
  std::unordered_set<std::byte*> blocks_;  // guarded by the registry's mutex
};

}  // namespace godwit::code::jit
