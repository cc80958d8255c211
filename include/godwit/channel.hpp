// Channels: where objects keep their bytes, if not in their home's memory.
//
//   godwit::ClientOptions client;
//   client.channels = {{.name = "scratch", .url = "file:/shared/scratch"},
//                      {.name = "cache", .url =
//                      "rediss://app@cache:6380/0?password-file=/etc/pw"}};
//
// An object's home stays its authority whatever channel its bytes are in: it makes and checks
// handles, counts readers, ends lifetimes, and removes the bytes when the object ends. Processes
// know a channel by its name; the same name means the same place everywhere (docs/channels.md).
//
// To add one, derive from Channel and register a maker for the scheme of its URLs; or put both
// into a shared library that exports GODWIT_CHANNEL_PLUGIN, for nodes and the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/error.hpp"
#include "godwit/export.hpp"

namespace godwit {

// What moving bytes takes: a fixed time, and more for each 10^6 bytes.
struct ChannelCost {
  double fixed_us = 0;
  double us_per_mb = 0;
  [[nodiscard]] double estimate_us(std::uint64_t bytes) const noexcept {
    return fixed_us + us_per_mb * static_cast<double>(bytes) / 1e6;
  }
};

// A store of byte strings under keys.
//
// Contract. Any thread, also several at once. A reader sees all of what one put() wrote, or nothing
// of it: a get() beside a put() of the same key returns bytes of one of the two, never of both.
// What put() has returned for is seen by every process that opens the same URL. Every call ends
// within a time that the channel's options bound. Nothing is retried for longer than that: whoever
// calls decides what to do. Keys are up to kMaxKey letters, digits, '-' and '_'.
//
// Errors of all: unreachable (the store cannot be had at the moment), unauthorised, permission,
// io; and what each says.
class Channel {
 public:
  static constexpr std::size_t kMaxKey = 200;
  using Parts = std::span<const std::span<const std::byte>>;

  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  // The parts, one after another, become the key's value; it replaces what was there. Errors:
  // resource_exhausted (no room), too_large. After an error the key has its old value or none, or,
  // if nobody could tell any more, the new one.
  virtual Status put(std::string_view key, Parts parts) = 0;
  // Fills `into` with the value's bytes from `offset` on. Errors: not_found; invalid_argument (the
  // value ends before); bad_format (it is damaged).
  virtual Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) = 0;
  // Of the value, in bytes. Errors: not_found.
  virtual Result<std::uint64_t> size(std::string_view key) = 0;
  // Removing what is not there is fine.
  virtual Status remove(std::string_view key) = 0;

  virtual Result<bool> exists(std::string_view key) {
    const auto bytes = size(key);
    if (bytes) return true;
    if (bytes.error().code == ErrorCode::not_found) return false;
    return tl::unexpected(bytes.error());
  }
  // Several at once, where the store has a quicker way; one result for each, in their order.
  struct PutItem {
    std::string_view key;
    Parts parts;
  };
  virtual std::vector<Status> put_batch(std::span<const PutItem> items) {
    std::vector<Status> results;
    for (const PutItem& item : items) results.push_back(put(item.key, item.parts));
    return results;
  }
  struct GetItem {
    std::string_view key;
    std::uint64_t offset = 0;
    std::span<std::byte> into;
  };
  virtual std::vector<Status> get_batch(std::span<const GetItem> items) {
    std::vector<Status> results;
    for (const GetItem& item : items) results.push_back(get(item.key, item.offset, item.into));
    return results;
  }

  // What nobody renews for so many seconds the store may remove: the net under homes that die.
  // 0: it never does, and renew() is not called.
  [[nodiscard]] virtual std::uint64_t time_to_live_s() const { return 0; }
  // These are wanted still. Keys that are gone are passed over.
  virtual Status renew(std::span<const std::string> keys) {
    static_cast<void>(keys);
    return {};
  }

  // Whether the store answers.
  virtual Status ping() { return {}; }
  // A guess, until it has been measured.
  [[nodiscard]] virtual ChannelCost cost_hint() const { return {500, 2000}; }
  // For messages: what and where it is, without passwords.
  [[nodiscard]] virtual std::string describe() const = 0;
};

// "scheme://user:password@host:port,host:port/path?name=value&name=value", or "scheme:path".
// %XX stands for a character.
struct ChannelUrl {
  std::string scheme;
  std::string user;
  std::string password;            // from the URL, password-file=FILE or password-env=VARIABLE
  std::vector<std::string> hosts;  // "host", "host:port", "[::1]:port"
  std::string path;                // with its first '/'
  std::vector<std::pair<std::string, std::string>> options;

  // Errors: bad_address; what reading the password's file says. No message has the password.
  [[nodiscard]] GODWIT_API static Result<ChannelUrl> parse(std::string_view text);
  // The URL with *** in the place of the password.
  [[nodiscard]] GODWIT_API std::string shown() const;
  // Empty: not given.
  [[nodiscard]] GODWIT_API std::string_view option(std::string_view name) const noexcept;
  // Errors: bad_address (no whole number of that range).
  [[nodiscard]] GODWIT_API Result<std::uint64_t> number(std::string_view name,
                                                        std::uint64_t standard,
                                                        std::uint64_t most) const;
  // So that a mistyped option is not passed over. Errors: bad_address, naming the unknown one.
  [[nodiscard]] GODWIT_API Status allow_only(std::span<const std::string_view> names) const;
};

// Makes a channel of a URL, at a process's start: it need not reach the store yet.
using ChannelMaker = std::function<Result<std::unique_ptr<Channel>>(const ChannelUrl& url)>;

// Adds a scheme to this process, before it uses one; a later maker replaces an earlier one. Any
// thread. Errors: invalid_argument (no scheme: letters, digits, '+', '-', '.').
GODWIT_API Status register_channel(std::string_view scheme, ChannelMaker maker);
// Of a text as ChannelUrl::parse() takes it. Errors: its errors; unsupported (nobody knows the
// scheme; the message names those that are known); the maker's.
[[nodiscard]] GODWIT_API Result<std::unique_ptr<Channel>> open_channel(std::string_view url);

// When objects go into a channel whose name their maker did not say: those of min_size to max_size
// bytes, made on hosts that match one of `hosts`, with all of `tags`. Of the channels that fit, the
// one with the highest priority is taken, of several the one that is expected to be quickest; the
// home's memory takes part with priority 0 and fits everything. Readers use a channel directly on
// hosts that match, elsewhere through the home.
struct ChannelPolicy {
  std::uint64_t min_size = 0;
  std::uint64_t max_size = UINT64_MAX;
  std::vector<std::string> hosts{};  // "node*", "login?"; none: any
  std::vector<std::string> tags{};
  int priority = 0;
};

struct ChannelOptions {
  std::string name;
  std::string url;
  ChannelPolicy policy{};

  // "NAME URL [min_size=64k] [max_size=1g] [hosts=a*|b*] [tags=x|y] [priority=5]", as settings have
  // it. Errors: invalid_argument, bad_address; no message has a password.
  [[nodiscard]] GODWIT_API static Result<ChannelOptions> parse(std::string_view text);
};

// What a plug-in library is given: it calls add() for each scheme it knows. The library and whoever
// loads it are built with the same version of Godwit and the same C++ library.
class ChannelMakers {
 public:
  static constexpr int kVersion = 1;
  virtual Status add(std::string_view scheme, ChannelMaker maker) = 0;

 protected:
  ~ChannelMakers() = default;
};

}  // namespace godwit

// In a plug-in library:  GODWIT_CHANNEL_PLUGIN(makers) { return makers.add("s3", make_s3); }
#define GODWIT_CHANNEL_PLUGIN(makers)                                           \
  static ::godwit::Status godwit_add_channels(::godwit::ChannelMakers& makers); \
  extern "C" GODWIT_API int godwit_channel_plugin_version() {                   \
    return ::godwit::ChannelMakers::kVersion;                                   \
  }                                                                             \
  extern "C" GODWIT_API void godwit_channel_plugin(::godwit::ChannelMakers* to, \
                                                   ::godwit::Status* done) {    \
    *done = godwit_add_channels(*to);                                           \
  }                                                                             \
  static ::godwit::Status godwit_add_channels(::godwit::ChannelMakers& makers)
