// One object put, resolved and handed to the other process: by Godwit, and by what is below it.
// Each checks what it measures.
#pragma once

#include "ref/setup.hpp"
#include "ref/timing.hpp"

namespace godwit::bench::ways {

// --- Godwit ---
[[nodiscard]] Result<Sample> put(Setup& setup, std::uint64_t size, const Enough& enough);
// Without what it takes to write it, which whoever computes it in place does anyway.
[[nodiscard]] Result<Sample> draft_and_publish(Setup& setup, std::uint64_t size,
                                               const Enough& enough);
// By the far side, for its first time: the home is asked. The one that put it sleeps by then.
[[nodiscard]] Result<Sample> resolve(Setup& setup, std::uint64_t size, const Enough& enough);
// Again and again by the process that put it, which may still have it.
[[nodiscard]] Result<Sample> resolve_again(Setup& setup, std::uint64_t size, const Enough& enough);
// Put here and resolved by the far side: both times, without the handle's way from one to the
// other.
[[nodiscard]] Result<Sample> put_and_resolve(Setup& setup, std::uint64_t size,
                                             const Enough& enough);
// Both by one process.
[[nodiscard]] Result<Sample> put_and_resolve_here(Setup& setup, std::uint64_t size,
                                                  const Enough& enough);
// All at once.
[[nodiscard]] Status evict(const std::vector<Array>& refs);
// Has the far side resolve them, each or all at once: how long all took, in ns. What it says of
// each is in setup.handed().
[[nodiscard]] Result<std::uint64_t> resolve_far(Setup& setup, Order::Do what,
                                                std::span<const Array> refs);
// Put here, the handle through a pipe, resolved and read there, acknowledged.
[[nodiscard]] Result<Sample> end_to_end(Setup& setup, std::uint64_t size, const Enough& enough);

// --- Floors ---
// Into memory that was touched before.
[[nodiscard]] Result<Sample> copy(Setup& setup, std::uint64_t size, const Enough& enough);
// The far side is asked by a flag where the object is; the first byte is read there. Both spin.
[[nodiscard]] Result<Sample> pointer(Setup& setup, std::uint64_t size, const Enough& enough);
[[nodiscard]] Result<Sample> arena_end_to_end(Setup& setup, std::uint64_t size,
                                              const Enough& enough);
[[nodiscard]] Result<Sample> tcp_put(Setup& setup, std::uint64_t size, const Enough& enough);
[[nodiscard]] Result<Sample> tcp_get(Setup& setup, std::uint64_t size, const Enough& enough);
// One way: what is put at a home travels twice.
[[nodiscard]] Result<Sample> tcp_end_to_end(Setup& setup, std::uint64_t size, const Enough& enough);

// --- Redis, over a Unix socket ---
[[nodiscard]] Result<Sample> redis_set(Setup& setup, std::uint64_t size, const Enough& enough);
[[nodiscard]] Result<Sample> redis_get(Setup& setup, std::uint64_t size, const Enough& enough);
// Both by one process; a server does not mind which.
[[nodiscard]] Result<Sample> redis_set_and_get(Setup& setup, std::uint64_t size,
                                               const Enough& enough);
[[nodiscard]] Result<Sample> redis_end_to_end(Setup& setup, std::uint64_t size,
                                              const Enough& enough);

// --- ZeroMQ ---
// One way, as raw tcp: there is nobody who keeps the object.
[[nodiscard]] Result<Sample> zeromq_end_to_end(Setup& setup, std::uint64_t size,
                                               const Enough& enough);

}  // namespace godwit::bench::ways
