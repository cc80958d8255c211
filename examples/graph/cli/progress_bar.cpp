#include "cli/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace godwit::graph::cli {
namespace {

constexpr std::size_t kWidth = 30;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::uint64_t kTriplesPerLook = 4096;

}  // namespace

ProgressBar::ProgressBar(std::string_view doing)
    : doing_(doing), terminal_(::isatty(STDERR_FILENO) == 1), began_(Clock::now()), next_(began_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show(const State& state) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kPause;
  fmt::print(stderr, "\r{}\033[K", line(doing_, state, elapsed_s()));
  std::fflush(stderr);
  drawn_ = true;
}

double ProgressBar::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

std::string ProgressBar::line(std::string_view doing, const State& state, double elapsed_s) {
  const double rate = elapsed_s > 0 ? static_cast<double>(state.triples) / elapsed_s : 0;
  const std::string counts = fmt::format("{:.2f} M triples, {:.2f} M/s",
                                         static_cast<double>(state.triples) / 1e6, rate / 1e6);
  if (state.total == 0) return fmt::format("{}  {}", doing, counts);
  const double part =
      std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
  const auto full = static_cast<std::size_t>(part * kWidth);
  return fmt::format("{}  [{}{}] {:3.0f} %  {}", doing, std::string(full, '#'),
                     std::string(kWidth - full, '.'), part * 100, counts);
}

ProgressSink::ProgressSink(TripleSink& sink, std::uint64_t expected)
    : sink_(sink), bar_("generating"), expected_(expected) {}

Status ProgressSink::add(const SpelledTriple& triple) {
  if (++triples_ % kTriplesPerLook == 0) {
    bar_.show({.done = triples_, .total = expected_, .triples = triples_});
  }
  return sink_.add(triple);
}

}  // namespace godwit::graph::cli
