#include "ref/channel/redis/servers.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {
namespace {

// CRC-16/XMODEM.
std::uint16_t crc16(std::string_view text) noexcept {
  std::uint16_t crc = 0;
  for (const char c : text) {
    crc = static_cast<std::uint16_t>(crc ^ (static_cast<unsigned char>(c) << 8U));
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = (crc & 0x8000U) != 0;
      crc = static_cast<std::uint16_t>(crc << 1U);
      if (carry) crc = static_cast<std::uint16_t>(crc ^ 0x1021U);
    }
  }
  return crc;
}

Result<std::uint64_t> database_of(const ChannelUrl& url, bool cluster) {
  std::string_view text = url.path;
  if (text.starts_with('/')) text.remove_prefix(1);
  ChannelUrl named = url;
  if (!url.hosts.empty() && !text.empty()) named.options.emplace_back("db", std::string(text));
  GODWIT_TRY(const std::uint64_t database, named.number("db", 0, 65'535));
  if (cluster && database != 0) {
    return fail(ErrorCode::bad_address, "{}: a cluster has database 0 only", url.shown());
  }
  return database;
}

}  // namespace

Result<RedisServers::Options> RedisServers::Options::of(const ChannelUrl& url) {
  Options options;
  options.cluster = url.scheme.ends_with("+cluster");
  options.addresses = url.hosts;
  if (options.addresses.empty() && url.path.starts_with('/') && !options.cluster) {
    options.addresses.push_back(url.path);
  }
  if (options.addresses.empty() || (options.addresses.size() > 1 && !options.cluster)) {
    return fail(ErrorCode::bad_address, "{}: expected {}", url.shown(),
                options.cluster ? "hosts of the cluster" : "one host, or the path of a socket");
  }
  GODWIT_TRY(const std::uint64_t time_out, url.number("timeout_ms", 2000, 3'600'000));
  options.stream.time_out = std::chrono::milliseconds(time_out);
  options.login.user = url.user;
  options.login.password = url.password;
  GODWIT_TRY(options.login.database, database_of(url, options.cluster));
  if (url.scheme.starts_with("rediss")) {
    auto tls = TlsContext::create({.ca_file = std::string(url.option("ca")),
                                   .cert_file = std::string(url.option("cert")),
                                   .key_file = std::string(url.option("key")),
                                   .server_name = std::string(url.option("name"))});
    if (!tls) return fail(tls.error().code, "{}: {}", url.shown(), tls.error().message);
    options.stream.tls = *std::move(tls);
  }
  return options;
}

std::uint16_t redis_slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close != open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return crc16(key) % RedisServers::kSlots;
}

Result<RedisServers::Connection> RedisServers::take(const std::string& address) {
  {
    std::unique_lock lock(mutex_);
    Server& server = servers_[address];
    const bool free =
        given_back_.wait_for(lock, options_.stream.time_out, [&] { return server.open < kOpen; });
    if (!free) {
      return fail(ErrorCode::overload, "{} connections to {} are in use: use fewer threads", kOpen,
                  address);
    }
    ++server.open;
    if (!server.kept.empty()) {
      Connection connection{address, std::move(server.kept.back()), true};
      server.kept.pop_back();
      return connection;
    }
  }
  auto opened = RedisConnection::open(address, options_.stream, options_.login);
  if (!opened) {
    give_back({address, nullptr, false});
    return tl::unexpected(std::move(opened).error());
  }
  return Connection{address, *std::move(opened), false};
}

void RedisServers::give_back(Connection connection) {
  const bool good = connection.open != nullptr && !connection.open->broken();
  {
    const std::lock_guard lock(mutex_);
    Server& server = servers_[connection.address];
    --server.open;
    if (good && server.kept.size() < kKept) {
      server.kept.push_back(std::move(connection.open));
    } else if (!good) {
      server.kept.clear();  // they have the same end
    }
  }
  given_back_.notify_one();
}

Result<std::string> RedisServers::address_of(std::string_view key) {
  if (!options_.cluster) return options_.addresses.front();
  for (int round = 0; round < 2; ++round) {
    {
      const std::lock_guard lock(mutex_);
      if (!slots_.empty()) {
        const std::string& address = slots_[redis_slot_of(key)];
        if (!address.empty()) return address;
      }
    }
    if (round == 0) GODWIT_CHECK(ask_for_slots());
  }
  return fail(ErrorCode::unreachable, "no server of the cluster has slot {}: it is not whole",
              redis_slot_of(key));
}

void RedisServers::look_again() {
  if (options_.cluster) static_cast<void>(ask_for_slots());
}

Status RedisServers::ask_for_slots() {
  constexpr auto kOften = std::chrono::milliseconds(50);
  const auto wanted = std::chrono::steady_clock::now();
  const std::lock_guard one_at_a_time(asking_);
  std::vector<std::string> known = options_.addresses;
  {
    const std::lock_guard lock(mutex_);
    if (!slots_.empty() && (asked_ > wanted || wanted - asked_ < kOften)) return {};
    for (const auto& [address, server] : servers_) {
      if (std::find(known.begin(), known.end(), address) == known.end()) known.push_back(address);
    }
  }
  Status last;
  for (const std::string& address : known) {
    last = ask_for_slots(address);
    if (last) return {};
  }
  return last;
}

Status RedisServers::ask_for_slots(const std::string& address) {
  GODWIT_TRY(Connection connection, take(address));
  const RedisCommand command{"CLUSTER", "SLOTS"};
  Result<RedisReply> reply;
  const Status sent = connection.open->send({&command, 1});
  if (sent) {
    reply = connection.open->receive();
  } else {
    reply = tl::unexpected(sent.error());
  }
  give_back(std::move(connection));
  if (!reply) return tl::unexpected(reply.error());
  return learn(*reply, address);
}

// Each item is a range: first slot, last slot, then its servers, the one to write to first.
Status RedisServers::learn(const RedisReply& slots, const std::string& asked) {
  std::vector<std::string> found(kSlots);
  for (const RedisReply& range : slots.items) {
    const bool good = range.items.size() >= 3 && range.items[2].items.size() >= 2 &&
                      range.items[0].number >= 0 &&
                      range.items[1].number < static_cast<std::int64_t>(kSlots) &&
                      range.items[0].number <= range.items[1].number;
    if (!good) return fail(ErrorCode::protocol_violation, "{} lists no slots", asked);
    const RedisReply& server = range.items[2];
    std::string host = server.items[0].text;
    if (host.empty()) host = asked.substr(0, asked.rfind(':'));
    const bool six = host.find(':') != std::string::npos && !host.starts_with('[');
    const std::string address =
        fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", server.items[1].number);
    std::fill(found.begin() + range.items[0].number, found.begin() + range.items[1].number + 1,
              address);
  }
  const std::lock_guard lock(mutex_);
  slots_ = std::move(found);
  asked_ = std::chrono::steady_clock::now();
  return {};
}

}  // namespace godwit::ref
