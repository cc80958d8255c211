// Measures the shm transport between two processes beside a raw flag in shared memory:
//   godwit-shm-bench [rounds]
// Pins the client to core 0 and the server to core 1. Percentiles over all rounds.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fabric/shm/transport.hpp"

namespace godwit::fabric::shm {
namespace {

using SteadyClock = std::chrono::steady_clock;

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

double us_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
}

void report(const std::string& name, std::vector<double> samples_us) {
  std::sort(samples_us.begin(), samples_us.end());
  const auto at = [&](double q) {
    return samples_us[static_cast<std::size_t>(q * static_cast<double>(samples_us.size() - 1))];
  };
  fmt::print("{:46} p50 {:8.3f}  p99 {:8.3f}  p99.9 {:8.3f} us\n", name, at(0.5), at(0.99),
             at(0.999));
}

// Runs `body` in a child on core 1, and returns once that has called `ready`. The child dies with
// this guard.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void()>& ready)>& body) {
    int pipe[2];
    if (::pipe(pipe) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      pin(1);
      body([&] { (void)!::write(pipe[1], "r", 1); });
      ::_exit(0);
    }
    char byte = 0;
    (void)!::read(pipe[0], &byte, 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

struct alignas(64) Flag {
  std::atomic<std::uint64_t> value{0};
};

void measure_flag(std::size_t rounds) {
  auto* flags = static_cast<Flag*>(
      ::mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<double> samples;
  {
    const Child echo([flags](const auto& ready) {
      ready();
      for (std::uint64_t i = 1;; ++i) {
        while (flags[0].value.load(std::memory_order_acquire) != i) cpu_relax();
        flags[1].value.store(i, std::memory_order_release);
      }
    });
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      const auto start = SteadyClock::now();
      flags[0].value.store(i, std::memory_order_release);
      while (flags[1].value.load(std::memory_order_acquire) != i) cpu_relax();
      samples.push_back(us_since(start));
    }
  }
  ::munmap(flags, kPageSize);
  report("flag in shared memory, round trip", samples);
}

// Sends every message back; large ones are only acknowledged.
class Echo final : public TransportEvents {
 public:
  void on_up(LinkId link, const Hello&) override {
    up = true;
    id = link;
  }
  void on_down(LinkId, const Error&) override { up = false; }
  void on_message(LinkId link, Message& message) override {
    ++received;
    if (!answers) return;
    const Bytes body = message.body().size() <= kSmallLimit ? message.body() : Bytes{};
    (void)transport->send(link, message.header(), {&body, 1}, 0);
  }
  void on_sent(LinkId, std::uint64_t) override { ++sent; }

  ShmTransport* transport = nullptr;
  bool answers = true;
  bool up = false;
  LinkId id;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  Waiter* waiter = nullptr;
};

class WaitingClient final : public TransportEvents {
 public:
  void on_up(LinkId link, const Hello&) override {
    id = link;
    waiter->complete();
  }
  void on_down(LinkId, const Error&) override {}
  void on_message(LinkId, Message&) override { waiter->complete(); }
  void on_sent(LinkId, std::uint64_t) override {}
  LinkId id;
  Waiter* waiter = nullptr;
};

class Bench {
 public:
  explicit Bench(std::size_t rounds) : rounds_(rounds) {
    std::string name = (std::filesystem::temp_directory_path() / "godwit-bench-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    address_ = Address::parse("shm:" + (directory_ / "n.sock").string()).value();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { std::filesystem::remove_all(directory_); }

  void polling() {
    const Child server([this](const auto& ready) { serve_polling(ready); });
    auto reactor = Reactor::create({}).value();
    Echo client;
    client.answers = false;
    auto transport = ShmTransport::create(*reactor, client, {}).value();
    (void)reactor->add(*transport);
    (void)transport->connect(address_).value();
    while (!client.up) reactor->run_once();
    for (const std::size_t size : {8U, 64U, 1024U, 8192U}) ping(*transport, client, size);
    window(*transport, client);
    bandwidth(*transport, client);
    reactor->remove(*transport);
  }

  // Client: wait() in a thread of a started reactor. Server: a started reactor.
  void reactors(std::int64_t spin_us, const char* name) {
    const Child server([this, spin_us](const auto& ready) {
      auto reactor = Reactor::create({.spin_us = spin_us}).value();
      Echo echo;
      auto transport = ShmTransport::create(*reactor, echo, {}).value();
      echo.transport = transport.get();
      (void)reactor->add(*transport);
      (void)transport->listen(address_).value();
      (void)reactor->start();
      ready();
      ::pause();
    });
    auto reactor = Reactor::create({.spin_us = spin_us}).value();
    WaitingClient client;
    auto transport = ShmTransport::create(*reactor, client, {}).value();
    (void)reactor->add(*transport);
    Waiter up;
    client.waiter = &up;
    (void)transport->connect(address_).value();
    (void)reactor->start();
    (void)reactor->wait(up, kNever);
    std::vector<double> samples;
    const std::vector<std::byte> body(64);
    const Bytes part(body);
    std::size_t handed_over = 0;
    for (std::size_t i = 0; i < rounds_; ++i) {
      Waiter waiter;
      const auto start = SteadyClock::now();
      const auto send = [&] {
        client.waiter = &waiter;
        (void)transport->send(client.id, {}, {&part, 1}, 0);
      };
      if (!reactor->try_run_as_owner(send)) {
        reactor->post(send);
        ++handed_over;
      }
      (void)reactor->wait(waiter, kNever);
      samples.push_back(us_since(start));
    }
    report(fmt::format("{} (posted: {})", name, handed_over), samples);
    reactor->stop();
    reactor->remove(*transport);
  }

 private:
  void serve_polling(const std::function<void()>& ready) {
    auto reactor = Reactor::create({}).value();
    Echo echo;
    auto transport = ShmTransport::create(*reactor, echo, {}).value();
    echo.transport = transport.get();
    (void)reactor->add(*transport);
    (void)transport->listen(address_).value();
    ready();
    while (!echo.up) reactor->run_once();
    while (true) (void)transport->poll(64);
  }
  void ping(ShmTransport& transport, Echo& client, std::size_t size) const {
    std::vector<double> samples;
    const std::vector<std::byte> body(size);
    const Bytes part(body);
    for (std::size_t i = 0; i < rounds_; ++i) {
      const std::uint64_t expected = client.received + 1;
      const auto start = SteadyClock::now();
      (void)transport.send(client.id, {}, {&part, 1}, 0);
      while (client.received != expected) transport.poll(64);
      samples.push_back(us_since(start));
    }
    report(fmt::format("transport, 32+{} B, round trip, polling", size), samples);
  }
  void window(ShmTransport& transport, Echo& client) const {
    constexpr std::uint64_t kWindow = 64;
    const std::vector<std::byte> body(64);
    const Bytes part(body);
    const std::uint64_t base = client.received;
    std::uint64_t sent = 0;
    const auto start = SteadyClock::now();
    while (client.received - base < rounds_) {
      while (sent < rounds_ && sent - (client.received - base) < kWindow) {
        (void)transport.send(client.id, {}, {&part, 1}, 0);
        ++sent;
      }
      transport.poll(64);
    }
    fmt::print("{:46} {:.2f} M echoes/s\n", "transport, 32+64 B, 64 in flight",
               static_cast<double>(rounds_) / us_since(start));
  }
  static void bandwidth(ShmTransport& transport, Echo& client) {
    for (const std::size_t size :
         {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
      const std::vector<std::byte> body(size, std::byte{1});
      const Bytes part(body);
      double best = 1e30;
      for (int i = 0; i < 8; ++i) {
        const std::uint64_t expected = client.received + 1;
        const auto start = SteadyClock::now();
        (void)transport.send(client.id, {}, {&part, 1}, 0);
        while (client.received != expected) transport.poll(64);
        best = std::min(best, us_since(start));
      }
      fmt::print("{:46} best {:.1f} us, {:.2f} GB/s\n",
                 fmt::format("transport, {} KiB body, acknowledged", size >> 10), best,
                 static_cast<double>(size) / best / 1e3);
    }
  }

  std::size_t rounds_;
  std::filesystem::path directory_;
  Address address_;
};

void run(std::size_t rounds) {
  pin(0);
  measure_flag(rounds);
  Bench bench(rounds);
  bench.polling();
  bench.reactors(50, "reactor, wait(), spinning, 32+64 B");
  Bench slow(std::min<std::size_t>(rounds, 5000));
  slow.reactors(0, "reactor, wait(), sleeping, 32+64 B");
}

}  // namespace
}  // namespace godwit::fabric::shm

int main(int argc, char** argv) {
  godwit::fabric::shm::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000);
}
