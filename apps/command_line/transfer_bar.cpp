#include "command_line/transfer_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "command_line/byte_text.hpp"

namespace godwit::cli {
namespace {

constexpr std::size_t kWidth = 30;

}  // namespace

TransferBar::TransferBar(std::string_view doing, std::uint64_t total_bytes)
    : TransferBar(doing, total_bytes, {.draw = ::isatty(STDERR_FILENO) == 1}) {}

TransferBar::TransferBar(std::string_view doing, std::uint64_t total_bytes, const Options& options)
    : doing_(doing),
      total_bytes_(total_bytes),
      options_(options),
      began_(Clock::now()),
      next_(began_) {}

TransferBar::~TransferBar() {
  clear();
}

void TransferBar::show(std::uint64_t bytes) {
  if (!options_.draw) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + options_.pause;
  fmt::print(options_.to, "\r{}\033[K",
             line(doing_, {.bytes = bytes, .total_bytes = total_bytes_, .elapsed_s = elapsed_s()}));
  std::fflush(options_.to);
  drawn_ = true;
}

void TransferBar::finish(std::uint64_t bytes) {
  if (!options_.draw) return;
  clear();
  const double seconds = elapsed_s();
  fmt::print(options_.to, "{} {} in {:.2f} s, {}\n", doing_, byte_text(bytes), seconds,
             rate_text(bytes, seconds));
}

double TransferBar::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

std::string TransferBar::line(std::string_view doing, const State& state) {
  const std::string amount =
      fmt::format("{}, {}", byte_text(state.bytes), rate_text(state.bytes, state.elapsed_s));
  if (state.total_bytes == 0) return fmt::format("{}  {}", doing, amount);
  const double part =
      std::min(1.0, static_cast<double>(state.bytes) / static_cast<double>(state.total_bytes));
  const auto full = static_cast<std::size_t>(part * kWidth);
  return fmt::format("{}  [{}{}] {:3.0f} %  {}", doing, std::string(full, '#'),
                     std::string(kWidth - full, '.'), part * 100, amount);
}

void TransferBar::clear() {
  if (drawn_) fmt::print(options_.to, "\r\033[K");
  drawn_ = false;
}

}  // namespace godwit::cli
