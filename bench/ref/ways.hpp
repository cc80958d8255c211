// One object put, resolved and handed to the other process: by Godwit, and by what is below it.
// Each checks what it measures.
#pragma once

#include "ref/setup.hpp"
#include "ref/timing.hpp"

namespace godwit::bench::ways {

// --- Godwit ---
[[nodiscard]] Result<Sample> put(Setup& setup, std::uint64_t size, const Enough& enough);
[[nodiscard]] Result<Sample> resolve(Setup& setup, std::uint64_t size, const Enough& enough);
[[nodiscard]] Result<Sample> put_and_resolve(Setup& setup, std::uint64_t size,
                                             const Enough& enough);
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
[[nodiscard]] Result<Sample> redis_end_to_end(Setup& setup, std::uint64_t size,
                                              const Enough& enough);

// --- ZeroMQ ---
// One way, as raw tcp: there is nobody who keeps the object.
[[nodiscard]] Result<Sample> zeromq_end_to_end(Setup& setup, std::uint64_t size,
                                               const Enough& enough);

}  // namespace godwit::bench::ways
