// Reading values, and doing several things at once.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/parts.hpp"
#include "ref/channel/redis/redis_channel.hpp"
#include "ref/channel/redis/value_head.hpp"
#include "ref/channel/refusals.hpp"

namespace godwit::ref {

struct RedisChannel::Range {
  std::string_view key;
  std::uint64_t offset;
  MutableBytes into;
};

Result<std::optional<RedisChannel::Head>> RedisChannel::head_of(std::string_view key) {
  return at(key, [&](RedisConnection& connection) -> Result<std::optional<Head>> {
    const RedisCommand command = get_range(key, 0, sizeof(Head) - 1);
    GODWIT_CHECK(connection.send({&command, 1}));
    Head head;
    GODWIT_TRY(const auto got,
               connection.receive_value(std::as_writable_bytes(std::span(&head, 1)), {}));
    if (!got || *got == 0) return std::optional<Head>();
    if (*got != sizeof head || !head.good()) {
      return fail(ErrorCode::bad_format, "{} is no value of a channel: somebody else uses that key",
                  key);
    }
    return std::optional<Head>(head);
  });
}

Result<std::uint64_t> RedisChannel::size(std::string_view key) {
  GODWIT_CHECK(check_key(key));
  GODWIT_TRY(const std::optional<Head> head, head_of(key));
  if (!head || head->kind == Head::kUnfinished) return refuse_missing(key, *this);
  return head->size;
}

Status RedisChannel::get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) {
  GODWIT_CHECK(check_key(key));
  const Range range{key, offset, into};
  for (unsigned round = 0; round < kMaxReads; ++round) {
    const auto done =
        at(key, [&](RedisConnection& connection) { return get_once(connection, range); });
    if (!done) return tl::unexpected(done.error());
    if (*done) return {};
  }
  return fail(ErrorCode::bad_format,
              "{}: the value of {} lacks a part, or is put anew all the time", options_.shown, key);
}

// From the beginning on, head and bytes come as one.
Result<bool> RedisChannel::get_once(RedisConnection& connection, const Range& range) {
  const auto& [key, offset, into] = range;
  const bool together = offset == 0;
  std::vector<RedisCommand> commands{
      get_range(key, 0, sizeof(Head) - 1 + (together ? into.size() : 0))};
  const bool twice = !together && !into.empty();
  if (twice) {
    commands.push_back(
        get_range(key, sizeof(Head) + offset, sizeof(Head) + offset + into.size() - 1));
  }
  GODWIT_CHECK(connection.send(commands));
  Head head;
  const auto first = connection.receive_value(std::as_writable_bytes(std::span(&head, 1)),
                                              together ? into : MutableBytes());
  if (connection.broken()) return tl::unexpected(first.error());
  std::uint64_t got = 0;
  if (twice) {
    const auto second = connection.receive_value({}, into);
    if (!second) return tl::unexpected(second.error());
    got = second->value_or(0);
  }
  if (!first) return tl::unexpected(first.error());
  const std::uint64_t size = first->value_or(0);
  if (size == 0 || (size >= sizeof head && head.kind == Head::kUnfinished)) {
    return refuse_missing(key, *this);
  }
  if (size < sizeof head || !head.good()) {
    return fail(ErrorCode::bad_format, "{} is no value of a channel: somebody else uses that key",
                key);
  }
  GODWIT_CHECK(check_range(key, offset, into.size(), head.size));
  if (head.kind == Head::kParts) return get_parts(connection, range, head);
  if (together) got = size - sizeof head;
  return got == into.size();
}

Result<bool> RedisChannel::get_parts(RedisConnection& connection, const Range& range,
                                     const Head& head) {
  std::uint64_t at = range.offset;
  MutableBytes into = range.into;
  while (!into.empty()) {
    const std::uint64_t within = at % head.part_bytes;
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), head.part_bytes - within));
    const RedisCommand command =
        get_range(part_key(range.key, head, at / head.part_bytes), within, within + size - 1);
    GODWIT_CHECK(connection.send({&command, 1}));
    GODWIT_TRY(const auto got, connection.receive_value({}, into.first(size)));
    if (got.value_or(0) != size) return false;
    at += size;
    into = into.subspan(size);
  }
  return true;
}

// --- Several at once ---

template <class Item, class Whole, class Command, class Receive, class Alone>
std::vector<Status> RedisChannel::in_batches(std::span<const Item> items, const Whole& fits,
                                             const Command& command_of, const Receive& receive,
                                             const Alone& alone) {
  std::vector<Status> results(items.size());
  std::vector<bool> done(items.size(), false);
  std::map<std::string, std::vector<std::size_t>> groups;  // by server
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto address = servers_.address_of(items[i].key);
    if (address && check_key(items[i].key) && fits(items[i])) groups[*address].push_back(i);
  }
  for (const auto& [address, which] : groups) {
    for (std::size_t from = 0; from < which.size(); from += kBatch) {
      const auto some = std::span(which).subspan(from, std::min(kBatch, which.size() - from));
      auto connection = servers_.take(address);
      if (!connection) break;
      std::vector<RedisCommand> commands;
      for (const std::size_t i : some) commands.push_back(command_of(items[i]));
      const bool sent = connection->open->send(commands).has_value();
      for (const std::size_t i : some) {
        if (!sent || connection->open->broken()) break;
        results[i] = receive(*connection->open, items[i]);
        // What was moved, or ended with the connection, is tried alone.
        done[i] = !connection->open->take_redirect() && !connection->open->broken();
      }
      servers_.give_back(*std::move(connection));
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!done[i]) results[i] = alone(items[i]);
  }
  return results;
}

std::vector<Status> RedisChannel::put_batch(std::span<const PutItem> items) {
  constexpr std::uint64_t kSmall = std::uint64_t{1} << 20;
  const auto head_for = [&](const PutItem& item) {
    Head head;
    head.size = total_size(item.parts);
    head.part_bytes = options_.part_bytes;
    return head;
  };
  // A value of several parts that one of these replaces leaves them to their time to live.
  return in_batches(
      items,
      [&](const PutItem& item) {
        const std::uint64_t size = total_size(item.parts);
        return size <= std::min(kSmall, options_.part_bytes);
      },
      [&](const PutItem& item) { return set(item.key, head_for(item), item.parts); },
      [&](RedisConnection& connection, const PutItem&) -> Status {
        const auto reply = connection.receive();
        if (!reply) return tl::unexpected(in_context(reply.error()));
        return {};
      },
      [&](const PutItem& item) { return put(item.key, item.parts); });
}

std::vector<Status> RedisChannel::get_batch(std::span<const GetItem> items) {
  const auto again = [&](const GetItem& item) { return get(item.key, item.offset, item.into); };
  std::vector<const GetItem*> large;
  std::vector<Status> results = in_batches(
      items, [](const GetItem& item) { return item.offset == 0; },
      [](const GetItem& item) {
        return get_range(item.key, 0, sizeof(Head) - 1 + item.into.size());
      },
      [&](RedisConnection& connection, const GetItem& item) -> Status {
        Head head;
        const auto got =
            connection.receive_value(std::as_writable_bytes(std::span(&head, 1)), item.into);
        if (!got) return tl::unexpected(in_context(got.error()));
        const std::uint64_t size = got->value_or(0);
        const bool whole = size == sizeof head + item.into.size() && head.good() &&
                           head.kind == Head::kWhole && item.into.size() <= head.size;
        if (whole) return {};
        large.push_back(
            &item);  // or missing, or damaged: which, is told when it is asked for alone
        return {};
      },
      again);
  for (const GetItem* item : large) {
    results[static_cast<std::size_t>(item - items.data())] = again(*item);
  }
  return results;
}

}  // namespace godwit::ref
