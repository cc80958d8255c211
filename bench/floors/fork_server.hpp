// Floors for a program that has threads.
#pragma once

#include <sys/types.h>

#include "floors/floors.hpp"

namespace godwit::floors {

// A child process without threads that runs measurements on request. Start it before the program's
// first thread, as the first thing in main(). One thread asks at a time; each request blocks until
// its measurement is over. The child ends with this object or with the program.
class ForkServer {
 public:
  [[nodiscard]] static Result<ForkServer> start();
  ForkServer(ForkServer&& other) noexcept;
  ForkServer& operator=(ForkServer&& other) noexcept;
  ~ForkServer();

  [[nodiscard]] Result<Sample> measure(const UcpAmOptions& options);
  [[nodiscard]] Result<Sample> measure(const SharedFlagOptions& options);
  [[nodiscard]] Result<Sample> measure(const SocketEchoOptions& options);
  // The child keeps the list for the next measurement of that size.
  [[nodiscard]] Result<Sample> measure(const UcpChaseOptions& options);

 private:
  ForkServer(pid_t child, int fd) noexcept : child_(child), fd_(fd) {}
  void stop() noexcept;

  pid_t child_ = -1;
  int fd_ = -1;
};

}  // namespace godwit::floors
