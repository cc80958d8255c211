#include "stream_transfer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/fail.hpp"
#include "command_line/transfer_bar.hpp"
#include "fabric/fd.hpp"
#include "godwit/detail/object_codec.hpp"
#include "interrupt.hpp"
#include "object_source.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

using Codec = detail::ObjectCodec<std::string>;

// Of one line; a file without line ends is no text.
constexpr std::size_t kMostLine = std::size_t{64} << 20;

// Gives each line to `take`, without its end. Errors: io, too_large, those of `take`.
template <class Take>
Status for_each_line(int fd, const Take& take) {
  std::string pending;
  std::vector<char> room(std::size_t{256} << 10);
  while (!interrupted()) {
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::io, "cannot read: {}", std::strerror(errno));
    if (got == 0) return pending.empty() ? Status{} : take(pending);
    pending.append(room.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = pending.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      GODWIT_CHECK(take(std::string_view(pending).substr(begin, end - begin)));
    }
    pending.erase(0, begin);
    if (pending.size() > kMostLine) {
      return fail(ErrorCode::too_large,
                  "a line is longer than {} MiB: with --whole the file is one item",
                  kMostLine >> 20U);
    }
  }
  return fail(ErrorCode::cancelled, "interrupted");
}

Status send_one(detail::StreamProducer& producer, std::string_view text, const std::string& key) {
  const Codec::Encoded encoded{std::string(text)};
  return producer.send(encoded.parts(), key);
}

Result<Transferred> send_lines(detail::StreamProducer& producer, const SendOrder& order) {
  Transferred sent;
  fabric::Fd file;
  if (order.file != "-") {
    file = fabric::Fd(::open(order.file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      const ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
      return fail(code, "cannot open {}: {}", order.file, std::strerror(errno));
    }
  }
  TransferBar bar("sending", 0);
  const auto send_line = [&](std::string_view line) -> Status {
    GODWIT_CHECK(send_one(producer, line, order.key));
    ++sent.items;
    sent.bytes += line.size();
    bar.show(sent.bytes);
    return {};
  };
  GODWIT_CHECK(for_each_line(file ? file.get() : STDIN_FILENO, send_line));
  GODWIT_CHECK(producer.flush());
  bar.finish(sent.bytes);
  return sent;
}

Result<Transferred> send_whole(detail::StreamProducer& producer, const SendOrder& order) {
  GODWIT_TRY(const ObjectSource source, ObjectSource::open(order.file));
  std::string text;
  text.reserve(source.size());
  for (const Bytes part : source.parts()) text += text_of(part);
  TransferBar bar("sending", text.size());
  bar.show(0);
  GODWIT_CHECK(send_one(producer, text, order.key));
  GODWIT_CHECK(producer.flush());
  bar.finish(text.size());
  return Transferred{.items = 1, .bytes = text.size()};
}

// What is text for people; items of other types are the bytes they are.
std::string_view text_in(const detail::StreamItem& item) {
  return {reinterpret_cast<const char*>(item.bytes.data()), item.bytes.size()};
}

void print_item(const detail::StreamItem& item, const ReceiveOrder& order) {
  if (order.json) {
    trace::Json out;
    out.open('{').field("offset", item.offset).field("key", item.key);
    out.field("deliveries", item.deliveries).field("text", text_in(item)).close('}');
    fmt::print("{}\n", out.text());
  } else {
    fmt::print("{}{}", text_in(item), order.raw ? "" : "\n");
  }
}

}  // namespace

tl::expected<Transferred, Failed> send_items(const Broker& broker, const SendOrder& order) {
  catch_interrupts();
  GODWIT_TRY(auto producer,
             detail::StreamProducer::open(broker, order.topic, Codec::type_hash(), order.options));
  GODWIT_TRY(Transferred sent,
             order.whole ? send_whole(producer, order) : send_lines(producer, order));
  if (order.close) GODWIT_CHECK(producer.close());
  sent.ended = order.close;
  return sent;
}

tl::expected<Transferred, Failed> receive_items(const Broker& broker, const ReceiveOrder& order) {
  constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(200);
  catch_interrupts();
  GODWIT_TRY(auto consumer,
             detail::StreamConsumer::join(broker, order.topic, order.group, 0, order.options));
  Transferred received;
  TransferBar bar("receiving", 0);
  std::chrono::nanoseconds waited{};
  while (!interrupted() && (!order.count || received.items < *order.count)) {
    const auto step = order.wait.count() > 0 ? std::min(order.wait - waited, kLook) : kLook;
    auto delivery = consumer.next(step);
    if (!delivery) {
      waited += step;
      const bool patient = order.wait.count() == 0 || waited < order.wait;
      if (delivery.error().code == ErrorCode::deadline && patient) continue;
      return tl::unexpected(Failed(delivery.error()));
    }
    waited = {};
    if (!*delivery) {
      received.ended = true;
      break;
    }
    const detail::StreamDelivery& items = **delivery;
    std::size_t printed = 0;
    while (printed < items.size() && !interrupted() &&
           (!order.count || received.items < *order.count)) {
      const detail::StreamItem item = items.item(printed++);
      print_item(item, order);
      ++received.items;
      received.bytes += item.bytes.size();
    }
    if (std::fflush(stdout) != 0) {
      return tl::unexpected(Failed({ErrorCode::io, "cannot write to standard output"}));
    }
    for (std::size_t i = 0; i < printed; ++i) items.ack(i);
    bar.show(received.bytes);
  }
  bar.finish(received.bytes);
  return received;
}

}  // namespace godwit::cli
