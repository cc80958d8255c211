#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/fail.hpp"
#include "code/types/type.hpp"
#include "command.hpp"
#include "command_line/transfer_bar.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "godwit/detail/object_door.hpp"
#include "interrupt.hpp"
#include "object_sink.hpp"
#include "object_word.hpp"
#include "ref/access/access.hpp"

namespace godwit::cli {
namespace {

constexpr std::string_view kGetDetails =
    "An object of this host is mapped and written from there; any other comes in pieces, a few of\n"
    "which are in memory at a time. A file is replaced when everything has arrived, and not\n"
    "before. It counts as one reader, whatever the range.";

struct GetOrder {
  ConnectOptions connection;
  std::string object;
  std::string output;
  std::string range;
  std::string wait;
  bool newest = false;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc() || end != text.end() || number == UINT64_MAX) return {};
  return number;
}

// "A:B", "A:", ":B"
tl::expected<ref::ByteRange, Failed> range_of(std::string_view text) {
  ref::ByteRange range;
  if (text.empty()) return range;
  const std::size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  const std::string_view end = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto first_byte = first.empty() ? std::uint64_t{0} : number_in(first);
  const auto end_byte = end.empty() ? UINT64_MAX : number_in(end);
  if (colon == std::string_view::npos || !first_byte || !end_byte || *first_byte > *end_byte) {
    return tl::unexpected(usage(fmt::format(
        "--range: '{}' is no range of bytes: write FIRST:END, FIRST: or :END, the byte at END not "
        "included",
        text)));
  }
  return ref::ByteRange{*first_byte, *end_byte};
}

// Terminals do strange things when they are sent just any bytes.
bool is_for_terminals(const Handle& handle, Bytes bytes) {
  if (handle.type == code::type_hash("str")) return true;
  return std::ranges::none_of(bytes, [](std::byte b) {
    const auto c = std::to_integer<unsigned>(b);
    return c < 32 && c != '\n' && c != '\t' && c != '\r';
  });
}

// Bytes to where they are wanted, which is opened when the first have come.
class Output {
 public:
  Output(const GetOrder& order, const Handle& handle, std::uint64_t total_bytes)
      : handle_(handle),
        file_(order.output.empty() ? "-" : order.output),
        guarded_(order.output.empty() && ::isatty(STDOUT_FILENO) == 1),
        bar_("got", total_bytes) {}

  [[nodiscard]] Status take(Bytes piece) {
    if (interrupted()) return fail(ErrorCode::cancelled, "interrupted; nothing was replaced");
    if (guarded_ && !is_for_terminals(handle_, piece)) {
      return fail(ErrorCode::invalid_argument,
                  "the object is no text, and standard output is a terminal: take -o FILE, or -o - "
                  "to have it there anyhow");
    }
    GODWIT_CHECK(open());
    GODWIT_CHECK(sink_->write(piece));
    bytes_ += piece.size();
    bar_.show(bytes_);
    return {};
  }
  [[nodiscard]] Status finish() {
    GODWIT_CHECK(open());
    GODWIT_CHECK(sink_->finish());
    if (file_ != "-") bar_.finish(bytes_);
    return {};
  }

 private:
  [[nodiscard]] Status open() {
    if (sink_) return {};
    auto sink = ObjectSink::open(file_);
    if (!sink) return tl::unexpected(std::move(sink).error());
    sink_.emplace(*std::move(sink));
    return {};
  }

  Handle handle_;
  std::string file_;
  bool guarded_;
  TransferBar bar_;
  std::optional<ObjectSink> sink_;
  std::uint64_t bytes_ = 0;
};

// What is waited for comes with the answer, or is mapped, and counts as read then.
Ended get_when_there(const GetOrder& order, const detail::ObjectDoor& door, const Handle& handle,
                     std::chrono::nanoseconds patience, const ref::ByteRange& range) {
  GODWIT_TRY(const detail::ObjectView there, door.await(handle, 0, patience));
  const std::uint64_t size = there.bytes.size();
  const std::uint64_t end = range.end == UINT64_MAX ? size : range.end;
  if (range.first > end || end > size) {
    return tl::unexpected(Failed({ErrorCode::invalid_argument,
                                  fmt::format("the object has {} bytes: there are none from {} to "
                                              "{}",
                                              size, range.first, end)}));
  }
  Output output(order, handle, end - range.first);
  GODWIT_CHECK(output.take(there.bytes.subspan(range.first, end - range.first)));
  GODWIT_CHECK(output.finish());
  return {};
}

Ended get(const GetOrder& order) {
  GODWIT_TRY(const ObjectWord object, ObjectWord::parse(order.object));
  GODWIT_TRY(const ref::ByteRange range, range_of(order.range));
  std::chrono::nanoseconds patience{};
  if (!order.wait.empty()) {
    const auto time = parse_duration(order.wait);
    if (!time) return tl::unexpected(usage("--wait: " + time.error().message));
    patience = *time;
  }
  catch_interrupts();
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(Handle handle, object.find(fleet));
  const detail::ObjectDoor door(fleet.objects());
  if (order.newest) {
    GODWIT_TRY(handle, door.newest(handle));
  }
  if (patience.count() > 0) return get_when_there(order, door, handle, patience, range);
  const std::uint64_t size = handle.size == Handle::kSizeUnknown ? 0 : handle.size;
  const std::uint64_t end = std::min(range.end, size);
  Output output(order, handle, end - std::min(range.first, end));
  GODWIT_CHECK(fleet.objects().copy_out(handle, range,
                                        [&output](Bytes piece) { return output.take(piece); }));
  GODWIT_CHECK(output.finish());
  return {};
}

}  // namespace

void add_get(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "get",
             .usage = "HANDLE|NAME [-o FILE|-] [--range FIRST:END] [--newest] [--wait TIME]",
             .summary = "Write an object's bytes to a file, or to standard output",
             .examples = "godwit get gdw://AQAP... -o model.bin\n"
                         "godwit get now\n"
                         "godwit get samples --range 0:4096 | od -t f8",
             .details = kGetDetails});
  const auto order = std::make_shared<GetOrder>();
  command.add_option("OBJECT", order->object, "Its handle, or its name")->required();
  command.add_option("-o,--output", order->output, "Where to [standard output]")->type_name("FILE");
  command.add_option("--range", order->range, "Bytes FIRST up to END, that one not included")
      ->type_name("FIRST:END");
  command.add_flag("--newest", order->newest, "The newest version, not the one of the handle");
  command.add_option("--wait", order->wait, "Wait so long for an object that is only promised")
      ->type_name("TIME");
  order->connection.add_to(command);
  command.callback([&invocation, order] { invocation.command = [order] { return get(*order); }; });
}

}  // namespace godwit::cli
