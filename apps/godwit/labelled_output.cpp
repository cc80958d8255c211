#include "labelled_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fail.hpp"
#include "base/write_all.hpp"

namespace godwit::cli {
namespace {

// A line that does not end comes out in pieces of this size.
constexpr std::size_t kMaxLine = 64 * 1024;

}  // namespace

Result<fabric::Fd> LabelledOutput::add(std::string label, int to) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "no pipe can be made: {}", errno_text(errno));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  streams_.push_back({fabric::Fd(ends[0]), to, std::move(label), {}});
  return fabric::Fd(ends[1]);
}

std::vector<int> LabelledOutput::open() const {
  std::vector<int> descriptors;
  for (const Stream& stream : streams_) {
    if (stream.from) descriptors.push_back(stream.from.get());
  }
  return descriptors;
}

void LabelledOutput::pass_on(Stream& stream, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool whole = end != std::string_view::npos;
    stream.line.append(text.substr(0, end));
    text.remove_prefix(whole ? end + 1 : text.size());
    if (!whole && stream.line.size() < kMaxLine) return;
    const std::string out = fmt::format("{}{}\n", stream.label, stream.line);
    stream.line.clear();
    (void)write_all(stream.to, bytes_of(out));  // nobody may be reading any more
  }
}

bool LabelledOutput::read_some(Stream& stream) {
  std::array<char, 16 * 1024> room;
  const ssize_t size = ::read(stream.from.get(), room.data(), room.size());
  if (size > 0) {
    pass_on(stream, {room.data(), static_cast<std::size_t>(size)});
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (!stream.line.empty()) pass_on(stream, "\n");
  stream.from.reset();
  return false;
}

void LabelledOutput::read(int descriptor) {
  for (Stream& stream : streams_) {
    if (stream.from && stream.from.get() == descriptor) (void)read_some(stream);
  }
}

void LabelledOutput::finish() {
  for (Stream& stream : streams_) {
    while (stream.from && read_some(stream)) {
    }
    if (!stream.line.empty()) pass_on(stream, "\n");
  }
}

}  // namespace godwit::cli
