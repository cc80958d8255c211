// Redis as a peer: a private server on a Unix socket, and the echo as a Redis function.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "fabric/fd.hpp"
#include "floors/sample.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

class Redis {
 public:
  // Starts redis-server in a temporary directory, on that core. Errors: not_found (not installed),
  // io, unreachable.
  [[nodiscard]] static Result<Redis> start(int core);
  Redis(Redis&& other) noexcept;
  Redis& operator=(Redis&&) = delete;
  // Ends the server and removes the directory.
  ~Redis();

  [[nodiscard]] std::string unix_socket() const { return directory_ / "redis.sock"; }

  // FCALL of a function that returns its 64-byte argument, one at a time, blocking.
  [[nodiscard]] Result<floors::Sample> time_echo(std::size_t rounds) const;

 private:
  Redis() = default;
  [[nodiscard]] Result<std::string> ask(const std::string& request, std::size_t answer_size) const;

  pid_t pid_ = -1;
  std::filesystem::path directory_;
  fabric::Fd connection_;
};

}  // namespace godwit::bench
