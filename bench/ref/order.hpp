// What the two processes of a measurement of references say to each other, through two pipes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "floors/options.hpp"
#include "godwit/handle.hpp"

namespace godwit::bench {

using floors::Waiting;

// What the far side is to do. It answers each with one Reply, unless something else is said.
struct Order {
  enum class Do : std::uint32_t {
    read_object,  // resolve `handle`, and read every byte: their sum
    // Resolve `rounds` objects, whose handles lie in the shared arena (Handed): how long all took,
    // in ns. `handle` is of another object, which is resolved first, so that both sides are awake.
    resolve_each,
    resolve_batch,  // the same, all at once
    read_arena,     // read `size` bytes at the beginning of the shared arena: their sum
    read_redis,     // get the key "object" of Redis, and read every byte: their sum
    read_zeromq,    // receive a message by ZeroMQ, and read every byte: their sum
    read_tcp,       // receive `size` bytes from the socket, and read them: their sum
    find_by_flag,   // answer `rounds` questions by the lanes, each for the place of an object
    send_tcp,  // send `size` bytes, `rounds` times, each asked for by one byte: number of rounds
    take_tcp,  // receive `size` bytes, `rounds` times, and answer each with one byte
    await_object,  // a Reply at once; then wait for `handle`, and say how old its value is, in ns
    await_pipe,    // a Reply at once; then the same of a time that comes by the pipe itself
    await_flag,    // a Reply at once; then the same of a time that comes by a lane
    // Join the topic "bench" as a group of its own, and say so with a Reply; then take and ack
    // `rounds` items of `size` bytes, and read every byte: their sum.
    take_stream,
    take_redis_stream,   // the same of a topic in Redis
    take_object_stream,  // the same of one whose large items are objects at the node
    // A Reply at once; then receive `rounds` items of `size` bytes, small ones together, and read
    // every byte: their sum.
    drain_tcp,
    drain_zeromq,  // the same of messages by ZeroMQ
    peak_memory,   // of this process, in bytes
  };
  Do what = Do::read_object;
  Waiting waiting = Waiting::sleep;  // for the next order, and for whatever this one waits for
  std::int32_t core = 0;             // where the far side's thread is to run from here on
  std::uint32_t rounds = 1;
  std::uint64_t size = 0;
  Handle handle{};
};
static_assert(std::is_trivially_copyable_v<Order>);

// An object for the far side to resolve, in the arena, and what that says of it.
struct Handed {
  Handle handle{};
  std::uint64_t time_ns = 0;  // from the handle until the first word was read; of resolve_each
  std::uint64_t first = 0;    // that word
};
static_assert(std::is_trivially_copyable_v<Handed>);

struct Reply {
  std::uint64_t value = 0;
  std::uint32_t failed = 0;
  char why[116] = {};
};
static_assert(sizeof(Reply) == 128 && std::is_trivially_copyable_v<Reply>);

// The head of the memory that both have mapped; the arena follows.
struct Stage {
  struct alignas(64) Lane {
    std::atomic<std::uint64_t> turn{0};
    std::uint64_t value = 0;
    std::uint64_t size = 0;
  };
  Lane question;
  Lane answer;

  static constexpr std::size_t kBytes = 4096;
};
static_assert(sizeof(Stage) <= Stage::kBytes);

// Reads all of it, as a user of the object would. It need not be aligned: a message of ZeroMQ's is
// not.
[[nodiscard]] inline std::uint64_t sum_of(const std::byte* bytes, std::size_t size) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + sizeof sum <= size; i += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, sizeof word);
    sum += word;
  }
  return sum;
}

}  // namespace godwit::bench
