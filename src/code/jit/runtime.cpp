#include "code/jit/runtime.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "code/jit/image.hpp"
#include "code/jit/prepare.hpp"
#include "code/jit/thread_locals.hpp"

extern "C" {
extern void* __dso_handle;
int __cxa_thread_atexit_impl(void (*destructor)(void*), void* object, void* library);
// std::thread::_M_start_thread, which is private; a unique_ptr argument travels by reference.
// clang-format off
void godwit_std_start_thread(std::thread* thread, std::thread::_State_ptr* state, void (*depend)())
    asm("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
// clang-format on
}

namespace godwit::code::jit {
namespace {

Image& image_of(void* handle) {
  return **static_cast<Image**>(handle);
}

// Keeps an image mapped and counted as busy for as long as it exists. The image is let go of last,
// by our own code, so that unmapping never pulls the ground from under the caller.
class Hold {
 public:
  Hold(Image& image, std::atomic<int> Image::* count)
      : image_(image.shared_from_this()), count_(count) {
    (image_.get()->*count_).fetch_add(1, std::memory_order_acq_rel);
  }
  Hold(Hold&& other) noexcept = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  Hold& operator=(Hold&&) = delete;
  ~Hold() {
    if (image_ != nullptr) (image_.get()->*count_).fetch_sub(1, std::memory_order_acq_rel);
  }

 private:
  std::shared_ptr<Image> image_;
  std::atomic<int> Image::* count_;
};

int on_exit_handler(void (*handler)(void*), void* argument, void* handle) {
  return image_of(handle).at_unload(handler, argument) ? 0 : -1;
}

int on_plain_exit_handler(void (*handler)(), void* handle) {
  const auto call = [](void* function) { reinterpret_cast<void (*)()>(function)(); };
  return image_of(handle).at_unload(call, reinterpret_cast<void*>(handler)) ? 0 : -1;
}

struct ThreadDestructor {
  Hold hold;
  void (*destructor)(void*);
  void* object;

  static void run(void* record) {
    const std::unique_ptr<ThreadDestructor> self(static_cast<ThreadDestructor*>(record));
    self->destructor(self->object);
  }
};

int on_thread_destructor(void (*destructor)(void*), void* object, void* handle) {
  auto* record = new (std::nothrow)
      ThreadDestructor{{image_of(handle), &Image::pending_thread_destructors}, destructor, object};
  if (record == nullptr) return -1;
  const int result = __cxa_thread_atexit_impl(ThreadDestructor::run, record, &__dso_handle);
  if (result != 0) delete record;
  return result;
}

struct ThreadStart {
  Hold hold;
  void* (*routine)(void*);
  void* argument;

  static void* run(void* record) {
    const std::unique_ptr<ThreadStart> self(static_cast<ThreadStart*>(record));
    return self->routine(self->argument);
  }
};

int on_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                      void* argument, void* handle) {
  auto* record = new (std::nothrow)
      ThreadStart{{image_of(handle), &Image::running_threads}, routine, argument};
  if (record == nullptr) return EAGAIN;
  const int result = pthread_create(thread, attributes, ThreadStart::run, record);
  if (result != 0) delete record;
  return result;
}

// Owns the state that the library's code made; both run and are destroyed while the hold lasts.
struct HeldState final : std::thread::_State {
  HeldState(Hold held, std::thread::_State_ptr state)
      : hold(std::move(held)), inner(std::move(state)) {}
  void _M_run() override { inner->_M_run(); }
  Hold hold;
  std::thread::_State_ptr inner;
};

void on_start_thread(std::thread* thread, std::thread::_State_ptr* state, void (*depend)(),
                     void* handle) {
  std::thread::_State_ptr held = std::make_unique<HeldState>(
      Hold(image_of(handle), &Image::running_threads), std::move(*state));
  godwit_std_start_thread(thread, &held, depend);
}

void* thread_local_address(void* token) {
  const auto* import = static_cast<const ThreadLocalImport*>(token);
  return dlsym(import->library, import->name.c_str());
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void* runtime_symbol(std::string_view name) {
  struct Entry {
    std::string_view name;
    void* address;
  };
  static const Entry kEntries[] = {
      {"__cxa_atexit", address_of(on_exit_handler)},
      {"__cxa_thread_atexit", address_of(on_thread_destructor)},
      {"__cxa_thread_atexit_impl", address_of(on_thread_destructor)},
      {"__emutls_get_address", address_of(ThreadLocals::address)},
      {"__godwit_atexit", address_of(on_plain_exit_handler)},
      {"__godwit_pthread_create", address_of(on_pthread_create)},
      {"__godwit_start_thread", address_of(on_start_thread)},
      {kTlsAddressSymbol, address_of(thread_local_address)},
  };
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.address;
  }
  return nullptr;
}

}  // namespace godwit::code::jit
