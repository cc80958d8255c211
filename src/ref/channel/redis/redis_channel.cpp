#include "ref/channel/redis/redis_channel.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/parts.hpp"
#include "ref/channel/redis/value_head.hpp"
#include "ref/channel/refusals.hpp"

namespace godwit::ref {
Result<std::unique_ptr<Channel>> RedisChannel::make(const ChannelUrl& url) {
  constexpr std::array<std::string_view, 10> kOptions{
      "ttl",  "timeout_ms", "db",   "part_bytes",    "ca",
      "cert", "key",        "name", "password-file", "password-env"};
  GODWIT_CHECK(url.allow_only(kOptions));
  GODWIT_TRY(RedisServers::Options servers, RedisServers::Options::of(url));
  Options options;
  options.shown = url.shown();
  GODWIT_TRY(options.ttl_s, url.number("ttl", kTimeToLiveS, UINT32_MAX));
  GODWIT_TRY(options.part_bytes, url.number("part_bytes", kPartBytes, kPartBytes));
  if (options.part_bytes == 0) options.part_bytes = kPartBytes;
  return std::unique_ptr<Channel>(new RedisChannel(std::move(options), std::move(servers)));
}

Error RedisChannel::in_context(const Error& error) const {
  const bool away = error.code == ErrorCode::link_lost || error.code == ErrorCode::deadline;
  return {away ? ErrorCode::unreachable : error.code,
          fmt::format("{}: {}", options_.shown, error.message)};
}

Status RedisChannel::send_all(std::string_view key, std::span<const RedisCommand> commands) {
  return at(key, [&](RedisConnection& connection) -> Status {
    GODWIT_CHECK(connection.send(commands));
    Status all;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const auto reply = connection.receive();
      if (!reply && all) all = tl::unexpected(reply.error());
      if (connection.broken()) break;
    }
    return all;
  });
}

// --- Writing ---

RedisCommand RedisChannel::set(std::string_view key, const Head& head, Parts parts,
                               bool only_new) const {
  RedisCommand command{"SET", key};
  command.add_value(bytes_of_value(head), parts);
  if (only_new) command.add("NX");
  if (options_.ttl_s != 0) command.add("EX").add(std::to_string(options_.ttl_s));
  return command;
}

Status RedisChannel::put(std::string_view key, Parts parts) {
  GODWIT_CHECK(check_key(key));
  Head head;
  head.size = total_size(parts);
  head.part_bytes = options_.part_bytes;
  if (head.size <= options_.part_bytes) return put_whole(key, head, parts);
  head.kind = Head::kParts;
  randombytes_buf(&head.number, sizeof head.number);
  GODWIT_TRY(const std::optional<Head> before, head_of(key));
  const Status written = put_parts(key, head, parts);
  if (!written) {
    static_cast<void>(remove_parts(key, head));
    return written;
  }
  if (before && before->has_parts()) return remove_parts(key, *before);
  return {};
}

// What was there before is asked for in the same message.
Status RedisChannel::put_whole(std::string_view key, const Head& head, Parts parts) {
  Head before;
  std::optional<std::uint64_t> there;
  const Status written = at(key, [&](RedisConnection& connection) -> Status {
    const std::array commands{get_range(key, 0, sizeof before - 1), set(key, head, parts)};
    GODWIT_CHECK(connection.send(commands));
    auto got = connection.receive_value(std::as_writable_bytes(std::span(&before, 1)), {});
    if (connection.broken()) return tl::unexpected(got.error());
    const auto set_reply = connection.receive();
    if (!got) return tl::unexpected(got.error());
    if (!set_reply) return tl::unexpected(set_reply.error());
    there = *got;
    return {};
  });
  if (!written) return written;
  if (there && *there >= sizeof before && before.has_parts()) return remove_parts(key, before);
  return {};
}

Status RedisChannel::put_parts(std::string_view key, const Head& head, Parts parts) {
  Head unfinished = head;
  unfinished.kind = Head::kUnfinished;
  const RedisCommand first = set(key, unfinished, {}, true);
  GODWIT_CHECK(send_all(key, {&first, 1}));
  std::size_t which = 0;
  std::size_t within = 0;
  for (std::uint64_t i = 0; i < head.parts(); ++i) {
    std::vector<Bytes> some;
    std::uint64_t left = std::min(head.part_bytes, head.size - i * head.part_bytes);
    while (left > 0) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(left, parts[which].size() - within));
      if (size > 0) some.push_back(parts[which].subspan(within, size));
      left -= size;
      within += size;
      if (within < parts[which].size()) continue;
      ++which;
      within = 0;
    }
    RedisCommand command{"SET", part_key(key, head, i)};
    command.add_value({}, some);
    if (options_.ttl_s != 0) command.add("EX").add(std::to_string(options_.ttl_s));
    GODWIT_CHECK(send_all(key, {&command, 1}));
  }
  const RedisCommand last = set(key, head, {});
  return send_all(key, {&last, 1});
}

Status RedisChannel::remove_parts(std::string_view key, const Head& head) {
  for (std::uint64_t i = 0; i < head.parts();) {
    RedisCommand command{"UNLINK"};
    for (std::size_t n = 0; n < kBatch && i < head.parts(); ++n) {
      command.add(part_key(key, head, i++));
    }
    GODWIT_CHECK(send_all(key, {&command, 1}));
  }
  return {};
}

Status RedisChannel::remove(std::string_view key) {
  GODWIT_CHECK(check_key(key));
  GODWIT_TRY(const std::optional<Head> head, head_of(key));
  if (!head) return {};
  const RedisCommand command{"UNLINK", key};
  GODWIT_CHECK(send_all(key, {&command, 1}));
  return head->has_parts() ? remove_parts(key, *head) : Status();
}

Status RedisChannel::renew(std::span<const std::string> keys) {
  if (options_.ttl_s == 0) return {};
  const std::string ttl = std::to_string(options_.ttl_s);
  for (const std::string& key : keys) {
    GODWIT_TRY(const std::optional<Head> head, head_of(key));
    if (!head) continue;
    std::vector<RedisCommand> commands{RedisCommand{"EXPIRE", key, ttl}};
    for (std::uint64_t i = 0; head->has_parts() && i < head->parts(); ++i) {
      commands.push_back(RedisCommand{"EXPIRE", part_key(key, *head, i), ttl});
    }
    GODWIT_CHECK(send_all(key, commands));
  }
  return {};
}

Status RedisChannel::ping() {
  const RedisCommand command{"PING"};
  return send_all("ping", {&command, 1});
}

}  // namespace godwit::ref
