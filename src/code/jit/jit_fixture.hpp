// What the tests of the JIT share: test bitcode, a Jit, calls into what it loaded.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bytes.hpp"
#include "base/folder_for_test.hpp"
#include "code/jit/jit.hpp"

extern "C" {
// LeakSanitizer's, when it is there.
__attribute__((weak)) void __lsan_disable();
__attribute__((weak)) void __lsan_enable();
}

namespace godwit::code::jit {

// What LLVM was working on when it failed fatally is leaked on purpose (guard.hpp).
class LeaksExpected {
 public:
  LeaksExpected() {
    if (__lsan_disable != nullptr) __lsan_disable();
  }
  ~LeaksExpected() {
    if (__lsan_enable != nullptr) __lsan_enable();
  }
  LeaksExpected(const LeaksExpected&) = delete;
  LeaksExpected& operator=(const LeaksExpected&) = delete;
};

// testdata/NAME.cpp as bitcode.
inline std::string test_bitcode(const std::string& name) {
  std::ifstream file(std::string(GODWIT_JIT_TESTDATA) + "/" + name + ".bc", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(bytes.empty()) << "no bitcode " << name;
  return bytes;
}

class TemporaryDirectory {
 public:
  [[nodiscard]] std::string path() const { return folder_.path().string(); }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      files.push_back(entry.path());
    }
    return files;
  }

 private:
  TestFolder folder_;
};

inline std::unique_ptr<Jit> open_or_fail(const JitOptions& options = {}) {
  auto jit = open_jit(options);
  if (!jit) throw std::runtime_error(jit.error().message);  // fails the test
  return *std::move(jit);
}

inline Result<std::unique_ptr<Library>> try_load(Jit& jit, const std::string& bitcode, Tier tier,
                                                 std::vector<std::string> needs = {}) {
  return jit.load({.slice = ContentId::of(bytes_of(bitcode)),
                   .code = bytes_of(bitcode),
                   .name = "test",
                   .needs = std::move(needs),
                   .tier = tier});
}

inline std::unique_ptr<Library> load_or_fail(Jit& jit, const std::string& name, Tier tier) {
  auto library = try_load(jit, test_bitcode(name), tier);
  if (!library) throw std::runtime_error(library.error().message);
  return *std::move(library);
}

struct Answer {
  std::int32_t status = -1;
  std::string bytes;
  [[nodiscard]] std::uint64_t word() const {
    std::uint64_t value = 0;
    EXPECT_EQ(bytes.size(), sizeof value);
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
  }
};

// Calls an entry with a blob of arguments.
inline Answer call_blob(const Library& library, std::string_view symbol, Bytes arguments) {
  const godwit_entry entry = library.entry(symbol);
  EXPECT_NE(entry, nullptr) << symbol;
  if (entry == nullptr) return {};
  alignas(16) std::array<char, GODWIT_REPLY_CAPACITY> room{};
  godwit_reply reply{room.data(), room.size(), 0, nullptr};
  const std::int32_t status = entry(nullptr, arguments.data(), arguments.size(), &reply);
  return {status, {static_cast<const char*>(reply.data), reply.size}};
}

template <class T>
std::uint64_t as_word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// Calls an entry of testdata/ with words.
template <class... Words>
Answer call(const Library& library, std::string_view symbol, Words... words) {
  alignas(16) const std::array<std::uint64_t, sizeof...(Words) + 1> blob{as_word(words)..., 0};
  return call_blob(library, symbol, std::as_bytes(std::span(blob.data(), sizeof...(Words))));
}

}  // namespace godwit::code::jit
