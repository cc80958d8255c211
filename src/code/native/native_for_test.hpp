// Compiles, loads and calls native code in tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "code/native/native_loader.hpp"
#include "code/toolchain/compile_for_test.hpp"

namespace godwit::code {

// Fails the test and returns an empty bundle if the text does not compile.
inline Bundle build(const std::string& text, const std::string& name = "code.cpp") {
  auto bundle = compile_text(text, name);
  if (!bundle) ADD_FAILURE() << bundle.error().message;
  return bundle ? *bundle : Bundle();
}

inline Result<std::unique_ptr<Library>> load_first(Loader& loader, const Bundle& bundle) {
  const SliceInfo& slice = bundle.slices().at(0);
  return loader.load({.slice = slice.id,
                      .code = slice.bytes,
                      .name = bundle.name(),
                      .needs = bundle.needs(),
                      .tier = Tier::native});
}

// Calls an entry made by entry_text().
inline std::int64_t call(const Library& library, const std::string& function) {
  const godwit_entry entry = library.entry("godwit_entry_" + function);
  if (entry == nullptr) {
    ADD_FAILURE() << "no entry of " << function;
    return -1;
  }
  alignas(16) char room[GODWIT_REPLY_CAPACITY];
  godwit_reply reply{.data = room, .capacity = sizeof room, .size = 0, .reserve = nullptr};
  EXPECT_EQ(entry(nullptr, nullptr, 0, &reply), GODWIT_OK);
  std::int64_t value = 0;
  EXPECT_EQ(reply.size, sizeof value);
  std::memcpy(&value, room, sizeof value);
  return value;
}

}  // namespace godwit::code
