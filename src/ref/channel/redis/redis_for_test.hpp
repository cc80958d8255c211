// Redis servers of a test's own: on loopback, on free ports, in a folder of theirs.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/folder_for_test.hpp"

namespace godwit::ref {

class RedisForTest {
 public:
  struct Options {
    std::string password{};
    bool tls = false;  // with certificates that openssl makes; clients need none
    bool cluster = false;
    bool lasting = false;  // what it has said yes to is there after a kill() and start()
  };
  // Throws where there is no redis-server, which fails the test.
  explicit RedisForTest(Options options);
  RedisForTest();
  RedisForTest(const RedisForTest&) = delete;
  RedisForTest& operator=(const RedisForTest&) = delete;
  ~RedisForTest();

  // SIGKILL, and a new one at the same place; what was in it is gone, unless it is lasting.
  void kill();
  void start();
  // SIGSTOP and SIGCONT: it takes connections, and says nothing.
  void stop_answering() const;
  void answer_again() const;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // "redis://127.0.0.1:PORT/0", or as its options want it, and more of that.
  [[nodiscard]] std::string url(const std::string& more = "") const;
  [[nodiscard]] std::string ca_file() const { return (folder_ / "ca.crt").string(); }
  [[nodiscard]] std::string password() const { return options_.password; }
  // What a plain client would get; words of the command.
  std::string ask(const std::vector<std::string>& words) const;
  [[nodiscard]] std::size_t keys() const;

 private:
  void make_certificates() const;
  Options options_;
  TestFolder folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

// Three servers that share the slots.
class RedisClusterForTest {
 public:
  RedisClusterForTest();
  [[nodiscard]] std::string url() const;
  [[nodiscard]] RedisForTest& server(std::size_t index) { return *servers_[index]; }
  // Slot by slot, so that clients which do not know are sent on.
  void give_slots_to(std::size_t first, std::size_t last, std::size_t server);

 private:
  std::vector<std::unique_ptr<RedisForTest>> servers_;
};

}  // namespace godwit::ref
