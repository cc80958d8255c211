#include "fabric/memory/life_word.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric {
namespace {

std::atomic<std::uint32_t>& word_of(const Mapping& page) {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(page.data());
}

}  // namespace

// A thread that holds a word until it ends, and does nothing else. The kernel walks the thread's
// list of robust futexes at its end and marks those that hold its number.
class LifeWord::Keeper {
 public:
  // Errors: unsupported, resource_exhausted.
  static Result<std::unique_ptr<Keeper>> hold(std::atomic<std::uint32_t>& word);
  // The word is marked when this returns.
  ~Keeper() {
    stop_.set_value();
    if (thread_.joinable()) thread_.join();
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  // What the kernel reads when the thread ends. In memory of its own kind: when a process is killed
  // for want of memory, its private pages may be gone before its threads are.
  struct List {
    robust_list_head head;
    robust_list entry;
  };

  explicit Keeper(Mapping list) : list_(std::move(list)) {}

  void run(std::atomic<std::uint32_t>& word, std::promise<int> begun);

  Mapping list_;
  std::promise<void> stop_;
  std::thread thread_;
};

Result<std::unique_ptr<LifeWord::Keeper>> LifeWord::Keeper::hold(std::atomic<std::uint32_t>& word) {
  void* memory =
      ::mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail(ErrorCode::resource_exhausted, "no memory to tell peers of this process's end: {}",
                errno_text(errno));
  std::unique_ptr<Keeper> keeper(new Keeper(Mapping(static_cast<std::byte*>(memory), kPageSize)));
  std::promise<int> begun;
  std::future<int> error = begun.get_future();
  try {
    keeper->thread_ = std::thread(&Keeper::run, keeper.get(), std::ref(word), std::move(begun));
  } catch (const std::system_error& failure) {
    return fail(ErrorCode::resource_exhausted, "cannot start a thread: {}", failure.what());
  }
  if (const int number = error.get(); number != 0)
    return fail(ErrorCode::unsupported, "the system does not take a list of robust futexes: {}",
                errno_text(number));
  return keeper;
}

void LifeWord::Keeper::run(std::atomic<std::uint32_t>& word, std::promise<int> begun) {
  pthread_setname_np(pthread_self(), "godwit-life");
  List& list = *new (list_.data()) List{};
  list.head.list.next = &list.entry;
  list.entry.next = &list.head.list;
  list.head.futex_offset = static_cast<long>(reinterpret_cast<std::intptr_t>(&word) -
                                             reinterpret_cast<std::intptr_t>(&list.entry));
  // In the place of libc's own, which is for robust mutexes: this thread has none.
  const int error = ::syscall(SYS_set_robust_list, &list.head, sizeof list.head) == 0 ? 0 : errno;
  word.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)), std::memory_order_release);
  begun.set_value(error);
  stop_.get_future().wait();
}

Result<std::unique_ptr<LifeWord>> LifeWord::create() {
  GODWIT_TRY(Fd memory, create_memory("godwit-life", kPageSize));
  GODWIT_TRY(Mapping page, map_memory(memory.get(), kPageSize, Access::write));
  GODWIT_CHECK(forbid_new_writers(memory.get()));
  std::atomic<std::uint32_t> rehearsal{0};
  {
    GODWIT_TRY(const auto keeper, Keeper::hold(rehearsal));
  }
  if ((rehearsal.load() & FUTEX_OWNER_DIED) == 0)
    return fail(ErrorCode::unsupported,
                "the system does not mark robust futexes when their thread ends; peers could not "
                "tell memory of a dead process from that of a live one");
  GODWIT_TRY(auto keeper, Keeper::hold(word_of(page)));
  return std::unique_ptr<LifeWord>(
      new LifeWord(std::move(memory), std::move(page), std::move(keeper)));
}

LifeWord::LifeWord(Fd page_memory, Mapping page, std::unique_ptr<Keeper> keeper) noexcept
    : page_memory_(std::move(page_memory)), page_(std::move(page)), keeper_(std::move(keeper)) {}

LifeWord::~LifeWord() = default;

Result<PeerLife> PeerLife::open(const Fd& page) {
  static_assert(kOwnerDied == FUTEX_OWNER_DIED);
  GODWIT_CHECK(check_memory(page.get(), kPageSize));
  GODWIT_TRY(Mapping mapping, map_memory(page.get(), kPageSize, Access::read));
  return PeerLife(std::move(mapping));
}

}  // namespace godwit::fabric
