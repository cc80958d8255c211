// How far a long command is, on standard error if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "data/triple_sink.hpp"

namespace godwit::graph::cli {

// One line that is drawn over itself, ten times a second at most, and gone at the end.
class ProgressBar {
 public:
  explicit ProgressBar(std::string_view doing);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  struct State {
    std::uint64_t done = 0;
    std::uint64_t total = 0;  // 0: not known, so no bar
    std::uint64_t triples = 0;
  };
  void show(const State& state);
  [[nodiscard]] double elapsed_s() const;

  // The line for a state after that time; what show() draws.
  [[nodiscard]] static std::string line(std::string_view doing, const State& state,
                                        double elapsed_s);

 private:
  using Clock = std::chrono::steady_clock;
  std::string doing_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point began_;
  Clock::time_point next_;
};

// Passes triples on and shows how many there are.
class ProgressSink final : public TripleSink {
 public:
  // `expected` is 0 if it is not known.
  ProgressSink(TripleSink& sink, std::uint64_t expected);
  Status add(const SpelledTriple& triple) override;
  [[nodiscard]] std::uint64_t triples() const noexcept { return triples_; }

 private:
  TripleSink& sink_;
  ProgressBar bar_;
  std::uint64_t expected_;
  std::uint64_t triples_ = 0;
};

}  // namespace godwit::graph::cli
