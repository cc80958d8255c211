#include "ref/stream/redis/redis_broker.hpp"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "ref/channel/redis/at_server.hpp"
#include "ref/stream/redis/redis_consumer.hpp"
#include "ref/stream/redis/redis_producer.hpp"
#include "ref/stream/refusals.hpp"

namespace godwit::ref::stream {
namespace {

constexpr std::string_view kTopics = "godwit:topics";

std::string random_text() {
  std::uint64_t number = 0;
  randombytes_buf(&number, sizeof number);
  return fmt::format("{:016x}", number);
}

// For people who look at the server's own lists, too.
std::string member_name() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return fmt::format("{}:{}:{}", host.data(), ::getpid(), random_text());
}

Status check_topic(std::string_view topic) {
  GODWIT_CHECK(check_name(topic, "topic"));
  if (topic.find_first_of("{}") == std::string_view::npos) return {};
  return fail(ErrorCode::invalid_argument,
              "topic '{}': the name of a topic in Redis has no '{{' and no '}}'", topic);
}

std::uint64_t to_ms(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(time, std::chrono::nanoseconds{0}))
          .count());
}

TopicStatus status_of(std::string_view topic, const Answer& answer) {
  TopicStatus status{.name = std::string(topic),
                     .oldest = answer.number(1),
                     .end = answer.number(2),
                     .appended_bytes = answer.number(3),
                     .kept_bytes = answer.number(4),
                     .refused = answer.number(5),
                     .producers = static_cast<std::uint32_t>(answer.number(6)),
                     .group_count = static_cast<std::uint32_t>(answer.list(9).size()),
                     .ended = answer.number(7) != 0,
                     .error = static_cast<ErrorCode>(answer.number(8))};
  for (const RedisReply& one : answer.list(9)) {
    const Answer group(one);
    status.groups.push_back({.name = std::string(group.text(0)),
                             .next = group.number(1),
                             .acked = group.number(2),
                             .lag = group.number(3),
                             .leased = group.number(4),
                             .delivered = group.number(5),
                             .redelivered = group.number(6),
                             .filtered = group.number(7),
                             .consumers = static_cast<std::uint32_t>(group.number(8))});
  }
  return status;
}

}  // namespace

// --- The server ---

Result<std::shared_ptr<RedisBroker>> RedisBroker::connect(std::string_view text,
                                                          const NodeHandle* objects_at) {
  constexpr std::array<std::string_view, 9> kOptions{
      "timeout_ms", "away_ms", "db", "ca", "cert", "key", "name", "password-file", "password-env"};
  GODWIT_TRY(const ChannelUrl url, ChannelUrl::parse(text));
  constexpr std::array<std::string_view, 4> kSchemes{"redis", "rediss", "redis+cluster",
                                                     "rediss+cluster"};
  if (std::find(kSchemes.begin(), kSchemes.end(), url.scheme) == kSchemes.end()) {
    return fail(ErrorCode::unsupported, "{} is no broker that is known here; there are {}",
                url.shown(), fmt::join(kSchemes, ", "));
  }
  GODWIT_CHECK(url.allow_only(kOptions));
  Options options{.shown = url.shown()};
  GODWIT_TRY(const std::uint64_t away_ms, url.number("away_ms", kAwayMs, 3'600'000));
  options.away = std::chrono::milliseconds(away_ms);
  if (objects_at != nullptr) options.objects_at = *objects_at;
  GODWIT_TRY(RedisServers::Options servers, RedisServers::Options::of(url));
  auto made = std::make_shared<RedisBroker>(std::move(options), std::move(servers));
  GODWIT_CHECK(made->check_server());
  return made;
}

Status RedisBroker::check_server() {
  constexpr int kLeastVersion = 7;
  const auto info = ask(kTopics, RedisCommand{"INFO", "server"});
  if (!info) {
    if (info.error().code == ErrorCode::permission) return {};  // it does not tell us
    return tl::unexpected(info.error());
  }
  constexpr std::string_view kField = "redis_version:";
  const std::size_t at = info->text.find(kField);
  if (at == std::string::npos) return {};
  const char* const begin = info->text.data() + at + kField.size();
  int version = 0;
  std::from_chars(begin, info->text.data() + info->text.size(), version);
  if (version >= kLeastVersion) return {};
  return fail(ErrorCode::unsupported,
              "{} has version {}: topics need scripts and streams as of {}.0", options_.shown,
              version, kLeastVersion);
}

Result<RedisReply> RedisBroker::ask(std::string_view key, const RedisCommand& command) {
  auto reply = at_server(servers_, key, [&](RedisConnection& connection) -> Result<RedisReply> {
    GODWIT_CHECK(connection.send({&command, 1}));
    return connection.receive(kMaxAnswer);
  });
  if (reply) return reply;
  const ErrorCode code = reply.error().code;
  const bool away = code == ErrorCode::link_lost || code == ErrorCode::deadline;
  return fail(away ? ErrorCode::unreachable : code, "{}: {}", options_.shown,
              reply.error().message);
}

Result<RedisReply> RedisBroker::call(const ScriptCall& what) {
  auto reply = ask(what.key(), what.command(false));
  if (!reply && reply.error().message.find("NOSCRIPT") != std::string::npos) {
    reply = ask(what.key(), what.command(true));
  }
  if (reply && Answer(*reply).word().empty()) {
    return fail(ErrorCode::protocol_violation, "{}: a script's answer is none", options_.shown);
  }
  return reply;
}

Result<RedisReply> RedisBroker::call_until(const ScriptCall& what, Clock::time_point until) {
  constexpr std::chrono::milliseconds kLongest{500};
  const Clock::time_point give_up = std::min(until, Clock::now() + options_.away);
  for (std::chrono::milliseconds pause{10};; pause = std::min(2 * pause, kLongest)) {
    auto reply = call(what);
    const bool away = !reply && reply.error().code == ErrorCode::unreachable;
    if (!away || Clock::now() + pause >= give_up) return reply;
    std::this_thread::sleep_for(pause);
  }
}

void RedisBroker::wait_for_bell(std::string_view topic, std::string_view bell,
                                std::string_view after, Clock::time_point until) {
  // Shorter than what a connection takes for dead.
  const auto most = std::min(servers_.time_out() / 2, std::chrono::milliseconds(1000));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  const auto time = std::clamp(left, std::chrono::milliseconds(1), most);
  const std::string key = key_of_topic(topic) + ":" + std::string(bell);
  // If that fails, whoever waits finds out by asking again.
  static_cast<void>(ask(
      key, RedisCommand{"XREAD", "BLOCK", std::to_string(time.count()), "STREAMS", key, after}));
}

void RedisBroker::evict(const std::vector<RedisReply>& handles) const {
  if (!options_.objects_at) return;
  const detail::ObjectDoor door(options_.objects_at->objects());
  for (const RedisReply& text : handles) {
    // Its home may be gone, and it with that.
    if (const auto handle = Handle::parse(text.text)) static_cast<void>(door.evict(*handle));
  }
}

tl::unexpected<Error> RedisBroker::refusal(std::string_view topic, std::string_view group,
                                           const Answer& answer) const {
  const std::string_view word = answer.word();
  if (word == "ended") {
    const auto code = static_cast<ErrorCode>(answer.number(1));
    if (code == ErrorCode::none) {
      return fail(ErrorCode::shutting_down,
                  "topic '{}' was closed after {} items: append to another one, or remove it first",
                  topic, answer.number(3));
    }
    return fail(code, "topic '{}' ended after {} items: {}", topic, answer.number(3),
                answer.text(2));
  }
  if (word == "lost") {
    return fail(ErrorCode::not_found,
                "{} has no topic '{}', or not that one any more: it was removed, has ended long "
                "ago, or the server lost it (`appendonly yes` keeps it); open it again",
                options_.shown, topic);
  }
  if (word == "no_group") {
    return fail(ErrorCode::not_found,
                "topic '{}' has no group '{}': it was removed, or ended with its last consumer; "
                "join it again",
                topic, group);
  }
  if (word == "type") {
    return fail(ErrorCode::type_mismatch,
                "topic '{}' has items of another type: whoever opened it first decided", topic);
  }
  if (word == "second") {
    return fail(ErrorCode::already_exists,
                "topic '{}' has another producer, and one of them wants to be the only one: use "
                "another topic, or let both be one of many",
                topic);
  }
  if (word == "filter") {
    return fail(ErrorCode::invalid_argument,
                "group '{}' of topic '{}' has another filter: use that, or another group", group,
                topic);
  }
  if (word == "groups") {
    return fail(ErrorCode::overload, "topic '{}' has {} groups already: end some first", topic,
                StreamStore::kMaxGroups);
  }
  if (word == "too_large") {
    return fail(ErrorCode::too_large,
                "a batch is beyond the {} bytes of topic '{}': make batches smaller, or open the "
                "topic with more max_bytes",
                answer.text(1), topic);
  }
  return fail(ErrorCode::protocol_violation, "{}: a script answered '{}'", options_.shown, word);
}

// --- Topics ---

Result<RedisBroker::Opened> RedisBroker::open(std::string_view topic, std::uint64_t type,
                                              const ProducerOptions* options,
                                              std::string_view producer) {
  GODWIT_CHECK(check_topic(topic));
  const bool given = options != nullptr && options->topic;
  const godwit::TopicOptions terms = given ? *options->topic : godwit::TopicOptions{};
  GODWIT_CHECK(check_options(TopicOptions{.max_bytes = terms.max_bytes,
                                          .replay = {.time = terms.replay.time},
                                          .groups_awaited = terms.groups_awaited}));
  ScriptCall call(Script::open, topic);
  call.add(random_text()).add(type).add(given ? 1U : 0U);
  // What Lua's numbers hold.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53U;
  for (const std::uint64_t number : {terms.max_bytes, terms.replay.items, terms.replay.bytes}) {
    call.add(std::min(number, kMost));
  }
  call.add(to_ms(terms.replay.time)).add(terms.groups_awaited).add(producer);
  call.add(options != nullptr && options->sole ? 1U : 0U);
  GODWIT_TRY(const RedisReply reply, this->call(call));
  const Answer answer(reply);
  if (answer.word() != "ok") return refusal(topic, {}, answer);
  GODWIT_TRY(const RedisReply listed, ask(kTopics, RedisCommand{"SADD", kTopics, topic}));
  static_cast<void>(listed);
  Opened opened{.id = std::string(answer.text(1))};
  const std::string_view max = answer.text(2);
  std::from_chars(max.data(), max.data() + max.size(), opened.max_bytes);
  return opened;
}

Result<std::shared_ptr<TopicOut>> RedisBroker::produce(std::string_view topic, std::uint64_t type,
                                                       const ProducerOptions& options) {
  const std::string producer = member_name();
  GODWIT_TRY(Opened opened, open(topic, type, &options, producer));
  return std::make_shared<RedisTopicOut>(shared_from_this(),
                                         RedisTopicOut::Place{.topic = std::string(topic),
                                                              .id = std::move(opened.id),
                                                              .producer = producer,
                                                              .max_bytes = opened.max_bytes});
}

Result<std::shared_ptr<ConsumerCore>> RedisBroker::join(std::string_view topic,
                                                        std::string_view group, std::uint64_t type,
                                                        const ConsumerOptions& options) {
  GODWIT_CHECK(check_name(group, "group"));
  const ItemFilter& filter = options.filter;
  GODWIT_CHECK(
      (Filter{.prefix = filter.key_prefix, .equals = filter.key, .one_in = filter.one_in}.check()));
  GODWIT_CHECK(check_options(FetchOptions{.items = options.items, .lease = options.lease}));
  GODWIT_TRY(Opened opened, open(topic, type, nullptr, {}));
  RedisGroup::Place place{.topic = std::string(topic),
                          .id = std::move(opened.id),
                          .group = std::string(group),
                          .consumer = member_name()};
  ScriptCall call(Script::join, topic);
  call.add(place.id).add(group).add(place.consumer);
  call.add(static_cast<std::uint64_t>(options.start.kind())).add(options.start.number());
  call.add(filter.key_prefix).add(filter.key ? 1U : 0U).add(filter.key ? *filter.key : "");
  call.add(filter.one_in).add(options.lasting ? 1U : 0U);
  GODWIT_TRY(const RedisReply reply, this->call(call));
  const Answer answer(reply);
  if (answer.word() != "ok") {
    if (const auto wrong = refused_place(topic, options.start, answer)) {
      return tl::unexpected(*wrong);
    }
    return refusal(topic, group, answer);
  }
  evict(answer.list(1));
  return std::make_shared<RedisConsumer>(
      std::make_shared<RedisGroup>(shared_from_this(), std::move(place)), options);
}

Result<RedisBroker::Described> RedisBroker::describe(std::string_view topic) {
  GODWIT_CHECK(check_topic(topic));
  GODWIT_TRY(const RedisReply reply, call(ScriptCall(Script::status, topic)));
  const Answer answer(reply);
  if (answer.word() != "ok") return refusal(topic, {}, answer);
  return Described{std::string(answer.text(10)), status_of(topic, answer)};
}

Result<TopicStatus> RedisBroker::status(std::string_view topic) {
  GODWIT_TRY(Described found, describe(topic));
  return std::move(found.status);
}

Result<std::vector<TopicStatus>> RedisBroker::list(std::size_t at_most) {
  GODWIT_TRY(const RedisReply names, ask(kTopics, RedisCommand{"SMEMBERS", kTopics}));
  std::vector<TopicStatus> topics;
  for (const RedisReply& name : names.items) {
    if (topics.size() >= at_most) break;
    auto one = status(name.text);
    if (one) {
      one->groups.clear();
      topics.push_back(*std::move(one));
    } else if (one.error().code == ErrorCode::not_found) {
      static_cast<void>(ask(kTopics, RedisCommand{"SREM", kTopics, name.text}));
    } else {
      return tl::unexpected(one.error());
    }
  }
  std::sort(topics.begin(), topics.end(),
            [](const TopicStatus& a, const TopicStatus& b) { return a.name < b.name; });
  return topics;
}

Status RedisBroker::do_to(std::string_view topic, std::string_view group, Script script) {
  GODWIT_TRY(const Described found, describe(topic));
  ScriptCall what(script, topic);
  what.add(found.id).add(group);
  GODWIT_TRY(const RedisReply reply, call(what));
  const Answer answer(reply);
  if (answer.word() != "ok") return refusal(topic, group, answer);
  evict(answer.list(1));
  return {};
}

Status RedisBroker::remove(std::string_view topic) {
  GODWIT_CHECK(do_to(topic, {}, Script::remove));
  static_cast<void>(ask(kTopics, RedisCommand{"SREM", kTopics, topic}));
  return {};
}

Status RedisBroker::remove_group(std::string_view topic, std::string_view group) {
  return do_to(topic, group, Script::remove_group);
}

}  // namespace godwit::ref::stream
