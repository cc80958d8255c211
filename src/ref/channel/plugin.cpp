// Channels that come with a library of somebody else's.
#include <dlfcn.h>

#include <string>
#include <utility>

#include "base/fail.hpp"
#include "godwit/channel.hpp"
#include "ref/channel/channel_set.hpp"

namespace godwit::ref {
namespace {

class RegisteringMakers final : public ChannelMakers {
 public:
  Status add(std::string_view scheme, ChannelMaker maker) override {
    return register_channel(scheme, std::move(maker));
  }
};

std::string last_error() {
  const char* const text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is the thread's
  return text != nullptr ? text : "no reason given";
}

}  // namespace

// It stays loaded: makers and channels are code of its.
Status load_channel_plugin(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorCode::io, "the channel plug-in {} cannot be loaded: {}", path, last_error());
  }
  auto* const version =
      reinterpret_cast<int (*)()>(::dlsym(library, "godwit_channel_plugin_version"));
  auto* const enter = reinterpret_cast<void (*)(ChannelMakers*, Status*)>(
      ::dlsym(library, "godwit_channel_plugin"));
  if (version == nullptr || enter == nullptr) {
    return fail(ErrorCode::bad_format, "{} is no channel plug-in: it has no GODWIT_CHANNEL_PLUGIN",
                path);
  }
  if (version() != ChannelMakers::kVersion) {
    return fail(ErrorCode::version_mismatch,
                "the channel plug-in {} was built for version {} of their interface, and this is "
                "version {}: build it anew",
                path, version(), ChannelMakers::kVersion);
  }
  RegisteringMakers makers;
  Status done;
  enter(&makers, &done);
  if (done) return done;
  return fail(done.error().code, "the channel plug-in {}: {}", path, done.error().message);
}

}  // namespace godwit::ref
