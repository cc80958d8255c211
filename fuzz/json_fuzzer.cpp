// What a node says of itself, as a client reads it: arbitrary bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/json_value.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(godwit::trace::JsonValue::parse({reinterpret_cast<const char*>(data), size}));
  return 0;
}
