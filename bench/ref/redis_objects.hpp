// Objects kept by a Redis server, as its fastest client would: nothing is copied but by the kernel.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

// One thread. Errors of all: io (the server hung up, or refused; its words are in the message).
class RedisObjects {
 public:
  [[nodiscard]] static Result<RedisObjects> connect(const std::string& unix_socket);

  [[nodiscard]] Status set(std::string_view key, std::span<const std::byte> bytes);
  // The value's size; its bytes are in `into`, which is large enough.
  [[nodiscard]] Result<std::size_t> get(std::string_view key, std::span<std::byte> into);
  // `count` objects of equal size, one after another in the bytes, under the keys 0, 1, …: MSET and
  // MGET, one message each.
  [[nodiscard]] Status set_all(std::size_t count, std::span<const std::byte> bytes);
  [[nodiscard]] Status get_all(std::size_t count, std::span<std::byte> into);

 private:
  explicit RedisObjects(fabric::Fd connection) : connection_(std::move(connection)) {}
  [[nodiscard]] Result<std::string> read_line();
  [[nodiscard]] Result<std::size_t> read_bulk(std::span<std::byte> into);
  [[nodiscard]] Status expect_ok();
  [[nodiscard]] Status read_more();

  fabric::Fd connection_;
  std::string ahead_;  // read, and not looked at yet
};

}  // namespace godwit::bench
