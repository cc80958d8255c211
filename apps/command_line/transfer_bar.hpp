// How far a transfer is, on standard error if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace godwit::cli {

// One line that is drawn over itself, ten times a second at most. finish() leaves how much there
// was and how fast it went; without it the line is gone at the end.
class TransferBar {
 public:
  struct Options {
    bool draw = false;
    std::FILE* to = stderr;
    std::chrono::milliseconds pause{100};
  };
  // Draws if standard error is a terminal.
  TransferBar(std::string_view doing, std::uint64_t total_bytes);
  TransferBar(std::string_view doing, std::uint64_t total_bytes, const Options& options);
  TransferBar(const TransferBar&) = delete;
  TransferBar& operator=(const TransferBar&) = delete;
  ~TransferBar();

  void show(std::uint64_t bytes);
  void finish(std::uint64_t bytes);
  [[nodiscard]] double elapsed_s() const;

  // What is drawn; a total of 0 is not known, and has no bar.
  struct State {
    std::uint64_t bytes = 0;
    std::uint64_t total_bytes = 0;
    double elapsed_s = 0;
  };
  [[nodiscard]] static std::string line(std::string_view doing, const State& state);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();

  std::string doing_;
  std::uint64_t total_bytes_;
  Options options_;
  bool drawn_ = false;
  Clock::time_point began_;
  Clock::time_point next_;
};

}  // namespace godwit::cli
