#include "base/write_all.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <vector>

namespace godwit {
namespace {

// A signal ends a write in the middle, and the next one may end before it begins.
TEST(WriteAll, GoesOnAfterSignals) {
  struct sigaction quiet{};
  quiet.sa_handler = [](int) {};
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &quiet, &before), 0);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::vector<std::byte> sent(std::size_t{4} << 20);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 >> 8);
  std::vector<std::byte> received;
  std::thread reader([&, writer = ::pthread_self()] {
    std::array<std::byte, 50'000> part{};
    while (const ssize_t got = ::read(ends[0], part.data(), part.size())) {
      if (got < 0) break;
      received.insert(received.end(), part.begin(), part.begin() + got);
      ::pthread_kill(writer, SIGUSR1);
    }
  });
  EXPECT_TRUE(write_all(ends[1], sent));
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(received, sent);
}

TEST(WriteAll, SaysWhyItCouldNot) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_FALSE(write_all(full, std::array<std::byte, 10>{}));
  EXPECT_EQ(errno, ENOSPC);
  ::close(full);
}

}  // namespace
}  // namespace godwit
