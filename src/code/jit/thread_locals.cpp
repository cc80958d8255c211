#include "code/jit/thread_locals.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code::jit {

// Which library has which slot of the threads' tables. Lives as long as the process: threads that
// end late still look here.
struct ThreadLocals::Registry {
  std::mutex mutex;
  std::vector<ThreadLocals*> owners;  // by slot; null: free. As many as were loaded at a time
  std::uint64_t last_serial = 0;
  pthread_key_t key{};
  int key_error = 0;

  static Registry& get() {
    static auto* const registry = new Registry;
    return *registry;
  }
  Registry();
};

// One thread's blocks. A block of a library that is gone stays in the table with its old serial,
// and is never looked at again.
struct ThreadLocals::Thread {
  struct Entry {
    std::uint64_t serial = 0;
    std::byte* block = nullptr;
  };
  std::vector<Entry> entries;  // by slot

  // Runs after the destructors of the thread's own thread-locals, which may use what is freed here.
  static void end(void* thread) {
    const std::unique_ptr<Thread> self(static_cast<Thread*>(thread));
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    for (std::size_t slot = 0; slot < self->entries.size(); ++slot) {
      ThreadLocals* owner = registry.owners[slot];
      if (owner == nullptr || owner->serial_ != self->entries[slot].serial) continue;
      owner->blocks_.erase(self->entries[slot].block);
      owner->free_block(self->entries[slot].block);
    }
  }

  static Thread& current() {
    const pthread_key_t key = Registry::get().key;
    if (void* found = pthread_getspecific(key)) return *static_cast<Thread*>(found);
    auto made = std::make_unique<Thread>();
    if (pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }
};

ThreadLocals::Registry::Registry() : key_error(pthread_key_create(&key, Thread::end)) {}

Result<std::unique_ptr<ThreadLocals>> ThreadLocals::create(
    std::span<ThreadLocalControl* const> controls) {
  std::unique_ptr<ThreadLocals> made(new ThreadLocals);
  made->variables_.reserve(controls.size());  // controls point into it
  for (ThreadLocalControl* control : controls) {
    const std::size_t align = std::max<std::size_t>(control->align, 1);
    const std::size_t offset = (made->block_bytes_ + align - 1) / align * align;
    made->block_bytes_ = offset + control->size;
    made->block_align_ = std::max(made->block_align_, align);
    made->variables_.push_back({made.get(), control, offset});
    control->variable = &made->variables_.back();
  }
  Registry& registry = Registry::get();
  if (registry.key_error != 0) {
    return fail(ErrorCode::resource_exhausted, "no thread-specific key for thread-locals: {}",
                errno_text(registry.key_error));
  }
  const std::lock_guard lock(registry.mutex);
  made->serial_ = ++registry.last_serial;
  const auto free = std::find(registry.owners.begin(), registry.owners.end(), nullptr);
  made->slot_ = static_cast<std::size_t>(free - registry.owners.begin());
  if (free == registry.owners.end()) registry.owners.push_back(nullptr);
  registry.owners[made->slot_] = made.get();
  return made;
}

ThreadLocals::~ThreadLocals() {
  Registry& registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  if (serial_ != 0) registry.owners[slot_] = nullptr;
  for (std::byte* block : blocks_) free_block(block);
}

void* ThreadLocals::address(const ThreadLocalControl* control) noexcept {
  const auto& variable = *static_cast<const Variable*>(control->variable);
  ThreadLocals& owner = *variable.owner;
  Thread& thread = Thread::current();
  if (owner.slot_ < thread.entries.size()) [[likely]] {
    const Thread::Entry& entry = thread.entries[owner.slot_];
    if (entry.serial == owner.serial_) [[likely]]
      return entry.block + variable.offset;
  } else {
    thread.entries.resize(owner.slot_ + 1);
  }
  std::byte* block = owner.make_block();
  const std::lock_guard lock(Registry::get().mutex);
  owner.blocks_.insert(block);
  thread.entries[owner.slot_] = {owner.serial_, block};
  return block + variable.offset;
}

std::byte* ThreadLocals::make_block() const {
  auto* block =
      static_cast<std::byte*>(::operator new(block_bytes_, std::align_val_t(block_align_)));
  for (const Variable& variable : variables_) {
    const ThreadLocalControl& control = *variable.control;
    if (control.initial != nullptr) {
      std::memcpy(block + variable.offset, control.initial, control.size);
    } else {
      std::memset(block + variable.offset, 0, control.size);
    }
  }
  return block;
}

void ThreadLocals::free_block(std::byte* block) const noexcept {
  ::operator delete(block, block_bytes_, std::align_val_t(block_align_));
}

}  // namespace godwit::code::jit
