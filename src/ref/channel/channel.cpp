// The schemes that this process knows.
#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <vector>

#include "base/fail.hpp"
#include "ref/channel/file_channel.hpp"
#include "ref/channel/memory_channel.hpp"
#include "ref/channel/redis/redis_channel.hpp"

namespace godwit {
namespace {

// The one thing here that belongs to the whole process: code is loaded into all of it.
class Makers {
 public:
  static Makers& all() {
    static Makers makers;
    return makers;
  }
  void add(std::string_view scheme, ChannelMaker maker) {
    const std::lock_guard lock(mutex_);
    makers_[std::string(scheme)] = std::move(maker);
  }
  Result<ChannelMaker> find(const std::string& scheme) {
    const std::lock_guard lock(mutex_);
    if (const auto found = makers_.find(scheme); found != makers_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, maker] : makers_) known.push_back(name);
    return fail(ErrorCode::unsupported,
                "no channel of this process has URLs that begin with '{}:'; there are {}; others "
                "come with channel_plugins, or register_channel()",
                scheme, fmt::join(known, ", "));
  }

 private:
  Makers() {
    makers_["memory"] = &ref::MemoryChannel::make;
    makers_["file"] = &ref::FileChannel::make;
    for (const char* scheme : {"redis", "rediss", "redis+cluster", "rediss+cluster"}) {
      makers_[scheme] = &ref::RedisChannel::make;
    }
  }
  std::mutex mutex_;
  std::map<std::string, ChannelMaker> makers_;
};

}  // namespace

Status register_channel(std::string_view scheme, ChannelMaker maker) {
  const bool good = !scheme.empty() && scheme.size() <= 64 &&
                    std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
                    });
  if (!good || !maker) {
    return fail(ErrorCode::invalid_argument,
                "'{}' cannot be a channel's scheme: it takes letters, digits, '+', '-' and '.', "
                "and a maker",
                scheme);
  }
  Makers::all().add(scheme, std::move(maker));
  return {};
}

Result<std::unique_ptr<Channel>> open_channel(std::string_view text) {
  GODWIT_TRY(const ChannelUrl url, ChannelUrl::parse(text));
  GODWIT_TRY(const ChannelMaker maker, Makers::all().find(url.scheme));
  auto made = maker(url);
  if (made && *made == nullptr) {
    return fail(ErrorCode::internal, "the maker of {} made nothing", url.shown());
  }
  return made;
}

}  // namespace godwit
