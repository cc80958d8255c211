// A node for tests of mobile code: runs every call at once, in place, through the entry named.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::code {

// What an entry left behind.
struct Ran {
  std::int32_t code = 0;
  Buffer reply;
  [[nodiscard]] std::string text() const { return std::string(text_of(reply.view())); }
};

class FakeHere {
 public:
  FakeHere();
  FakeHere(const FakeHere&) = delete;
  FakeHere& operator=(const FakeHere&) = delete;

  [[nodiscard]] Ran run(godwit_entry entry, Bytes args, std::size_t reply_limit = 1 << 20);
  [[nodiscard]] const godwit_here_v1* table() const { return &table_; }

  std::map<std::string, godwit_entry, std::less<>> entries;
  std::vector<std::string> logged;
  // What continue_at() was given last; it refuses once there are no hops left.
  std::uint64_t hop_node = 0;
  std::string hop_function;
  std::vector<std::byte> hop_args;
  std::uint32_t released = 0;
  std::string last_error;

  void set_hops_left(std::uint32_t hops) { table_.hops_left = hops; }

 private:
  godwit_here_v1 table_{};
  std::vector<Ran> calls_;  // handle - 1 is the index
};

}  // namespace godwit::code
