// Processes that tests kill.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "node/fleet_for_test.hpp"

namespace godwit::node {

// Another process of the fleet, which does something there and then waits to be killed. Made before
// the fleet: a process with threads must not fork.
class Accomplice {
 public:
  // What `act` returns is kept until the end.
  explicit Accomplice(
      const std::function<std::shared_ptr<void>(Fleet& fleet, std::string& answer)>& act) {
    EXPECT_EQ(::pipe(to_), 0);
    EXPECT_EQ(::pipe(from_), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::close(to_[1]);
    ::close(from_[0]);
    const std::string address = read_line(to_[0]);
    auto fleet = Fleet::join(address);
    std::string answer = fleet ? "" : fleet.error().message;
    std::shared_ptr<void> kept;
    if (fleet) kept = act(*fleet, answer);
    answer += '\n';
    if (::write(from_[1], answer.data(), answer.size()) < 0) ::_exit(1);
    const std::string never = read_line(to_[0]);  // also ends with the test itself
    ::_exit(0);
  }
  Accomplice(const Accomplice&) = delete;
  Accomplice& operator=(const Accomplice&) = delete;
  ~Accomplice() {
    kill();
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) ::close(fd);
  }

  // Lets it act; its answer.
  std::string act_in(const Fleet& fleet) {
    const std::string address = fleet.describe().front().addresses.front() + "\n";
    EXPECT_GT(::write(to_[1], address.data(), address.size()), 0);
    return read_line(from_[0]);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static std::string read_line(int fd) {
    std::string line;
    char c = 0;
    while (::read(fd, &c, 1) == 1 && c != '\n') line += c;
    return line;
  }

  int to_[2]{};
  int from_[2]{};
  pid_t pid_ = -1;
};

template <class T>
std::shared_ptr<void> keep(T value) {
  return std::make_shared<T>(std::move(value));
}

// No byte of the node's memory for objects is in use, and nobody holds anything there.
inline bool holds_nothing(const Fleet& fleet, const NodeHandle& node) {
  const auto text = fleet.status(node);
  if (!text) return false;  // asked too often: later
  const auto status = trace::JsonValue::parse(*text).value();
  const auto& objects = status["objects"];
  return objects["used_bytes"].count() == 0 && objects["pins"].count() == 0 &&
         objects["borrows"].count() == 0 && objects["reservations"].count() == 0 &&
         objects["waiters"].count() == 0;
}

}  // namespace godwit::node
