// What tests of whole labs share.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "fabric/fd.hpp"
#include "netlab/lab.hpp"

// Declares `name`, a lab with these options; skips the test where this machine allows none.
#define NETLAB_OR_SKIP(name, ...)                                           \
  auto name##_made = ::godwit::netlab::Lab::create(__VA_ARGS__);            \
  if (!name##_made && name##_made.error().code == ErrorCode::unsupported) { \
    GTEST_SKIP() << name##_made.error().message;                            \
  }                                                                         \
  ASSERT_TRUE(name##_made) << name##_made.error().message;                  \
  [[maybe_unused]] ::godwit::netlab::Lab& name = **name##_made

namespace godwit::netlab {

constexpr std::chrono::milliseconds kTestLimit{30'000};

// A file without a name, for what a process prints.
class Captured {
 public:
  Captured() : file_(::memfd_create("netlab-test", MFD_CLOEXEC)) {}
  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] std::string text() const {
    std::string all;
    char part[4096];
    ssize_t size = 0;
    while ((size = ::pread(file_.get(), part, sizeof part, static_cast<off_t>(all.size()))) > 0) {
      all.append(part, static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  fabric::Fd file_;
};

}  // namespace godwit::netlab
