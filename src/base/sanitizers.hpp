// Whether a sanitizer watches, and how to tell AddressSanitizer what may not be touched. Compilers
// say it in different ways; nothing else in the tree asks them.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define GODWIT_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define GODWIT_THREAD_SANITIZER 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GODWIT_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define GODWIT_THREAD_SANITIZER 1
#endif
#endif
#if defined(GODWIT_ADDRESS_SANITIZER) || defined(GODWIT_THREAD_SANITIZER)
#define GODWIT_SANITIZED 1
#endif

#ifdef GODWIT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define GODWIT_POISON(data, size) ASAN_POISON_MEMORY_REGION(data, size)
#define GODWIT_UNPOISON(data, size) ASAN_UNPOISON_MEMORY_REGION(data, size)
#else
#define GODWIT_POISON(data, size) ((void)(data), (void)(size))
#define GODWIT_UNPOISON(data, size) ((void)(data), (void)(size))
#endif

namespace godwit {

// Their allocators keep freed memory, and everything takes its time.
#ifdef GODWIT_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace godwit
