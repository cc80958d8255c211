#include "node/node.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/fail.hpp"
#include "code/native/native_loader.hpp"
#include "fabric/fd.hpp"
#include "node/lazy_jit.hpp"
#include "node/machine.hpp"
#include "node/objects_on_disk.hpp"
#include "node/places.hpp"

namespace godwit::node {
namespace {

Epoch epoch_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return Epoch{static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count())};
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "node";
  return name;
}

// Ends this process, the way a terminal would, once the parent has gone.
class ParentWatch final : public fabric::FdHandler {
 public:
  explicit ParentWatch(fabric::Reactor& reactor) : reactor_(reactor) {}
  static Result<std::unique_ptr<ParentWatch>> create(fabric::Reactor& reactor, std::uint64_t pid) {
    auto watch = std::make_unique<ParentWatch>(reactor);
    watch->fd_ =
        fabric::Fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
    if (watch->fd_.get() < 0 || static_cast<std::uint64_t>(::getppid()) != pid) {
      return fail(ErrorCode::not_found, "parent_pid: process {} is not this one's parent any more",
                  pid);
    }
    GODWIT_CHECK(reactor.watch(watch->fd_.get(), EPOLLIN, *watch));
    return watch;
  }
  void on_fd(std::uint32_t) override {
    reactor_.unwatch(fd_.get());
    ::kill(::getpid(), SIGTERM);
  }

 private:
  fabric::Reactor& reactor_;
  fabric::Fd fd_;
};

Result<region::ShardStore::Options> shard_options(const Settings& settings,
                                                  const fleet::Capacities& machine) {
  region::ShardStore::Options options;
  options.budget_bytes =
      settings.region_budget_mb != 0 ? settings.region_budget_mb << 20 : machine.memory_bytes / 2;
  options.directory = settings.region_dir;
  std::error_code error;
  if (!settings.region_dir.empty() && !std::filesystem::is_directory(settings.region_dir, error)) {
    return fail(ErrorCode::io, "region_dir: {} is not a directory{}{}", settings.region_dir,
                error ? ": " : "", error ? error.message() : "");
  }
  return options;
}

// Each large object, shard and link takes one; the soft limit is there for programs that use
// select(). Where it cannot be raised the node does with what it has.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

Result<std::optional<NodeId>> wanted_id(const Settings& settings) {
  if (settings.id.empty()) return std::optional<NodeId>();
  const auto id = from_hex(settings.id);
  if (!id || *id == 0) {
    return fail(ErrorCode::invalid_argument, "id: '{}' is not 16 hexadecimal digits", settings.id);
  }
  return std::optional<NodeId>(NodeId{*id});
}

Result<std::shared_ptr<ref::ChannelSet>> open_channels(const Settings& settings) {
  for (const std::string& path : settings.channel_plugins) {
    GODWIT_CHECK(ref::load_channel_plugin(path));
  }
  std::vector<ChannelOptions> channels;
  for (const std::string& text : settings.channel) {
    GODWIT_TRY(ChannelOptions one, ChannelOptions::parse(text));
    channels.push_back(std::move(one));
  }
  return ref::ChannelSet::open(channels);
}

ref::Arena::Options object_options(const Settings& settings, const fleet::Capacities& machine) {
  ref::Arena::Options options;
  options.budget_bytes =
      settings.object_budget_mb != 0 ? settings.object_budget_mb << 20 : machine.memory_bytes / 4;
  return options;
}

}  // namespace

// What a node loads code with. Lives as long as the runtime that uses it.
class Node::Code {
 public:
  static Result<std::unique_ptr<Code>> create(const Settings& settings, trace::Log& log) {
    auto code = std::make_unique<Code>();
    auto directory = settings.runtime_dir.empty()
                         ? make_runtime_directory()
                         : code::RuntimeDirectory::create(settings.runtime_dir);
    if (!directory) {
      return fail(directory.error().code, "runtime_dir: {}", directory.error().message);
    }
    code->directory_ = std::make_shared<const code::RuntimeDirectory>(*std::move(directory));
    code->native_ = std::make_unique<code::NativeLoader>(code->directory_);
    if (settings.jit != "off" && !code::jit::is_jit_installed()) {
      log.warn("no JIT plug-in is installed: this node runs native code only");
    } else if (settings.jit != "off") {
      code::jit::JitOptions options;
      options.cache_directory =
          settings.cache_dir.empty() ? default_cache_directory().string() : settings.cache_dir;
      options.cache_limit_bytes = settings.cache_limit_mb << 20;
      code->jit_ = std::make_unique<LazyJit>(std::move(options), log);
    }
    return code;
  }

  std::unique_ptr<ParentWatch> parent_;
  std::shared_ptr<const code::RuntimeDirectory> directory_;
  std::unique_ptr<code::NativeLoader> native_;
  std::unique_ptr<LazyJit> jit_;
  std::thread preload_;
  ~Code() {
    if (preload_.joinable()) preload_.join();
  }
};

Node::Node() = default;

Node::~Node() {
  runtime_.reset();
  code_.reset();
}

Result<std::unique_ptr<Node>> Node::start(const Settings& settings, trace::Log& log) {
  raise_descriptor_limit();
  std::unique_ptr<Node> node(new Node);
  GODWIT_TRY(node->code_, Code::create(settings, log));
  Code& code = *node->code_;

  Runtime::Options options;
  GODWIT_TRY(const std::optional<NodeId> id, wanted_id(settings));
  GODWIT_TRY(options.objects_on_disk, ObjectsOnDisk::open(settings, id, log));
  options.id =
      options.objects_on_disk ? options.objects_on_disk->id : id.value_or(random_node_id());
  options.epoch = epoch_now();
  options.name = settings.name.empty() ? host_name() : settings.name;
  options.seeds = settings.join;
  // Whoever else is enrolled there knows the fleet.
  if (!settings.relay.empty()) options.seeds.push_back("relay:" + settings.relay);
  for (const std::string& address : settings.listen) {
    if (address.starts_with("relay:")) options.seeds.push_back(address);
  }
  if (!settings.key_file.empty()) {
    GODWIT_TRY(options.key, trust::FleetKey::load(settings.key_file));
  }
  options.reactor.name = options.name;
  options.reactor.spin_us = settings.spin_us;
  options.reactor.offload_threads = 2;
  options.engine.credits = settings.credits;
  options.engine.idle_link = std::chrono::seconds(settings.idle_link_s);
  options.engine.max_hops = settings.max_hops;
  options.engine.max_fan_out = settings.max_fan_out;
  options.pool.width =
      settings.workers != 0 ? settings.workers : std::max(1U, std::thread::hardware_concurrency());
  options.pool.max_blocked = settings.max_blocked;
  options.inbound_budget_bytes = settings.inbound_budget_mb << 20;
  options.tcp_connections = settings.tcp_connections;
  options.builder = code.jit_.get();
  code::Store::Options store;
  store.target.has_jit = code.jit_ != nullptr;
  store.target.llvm_major = code.jit_ != nullptr ? code::jit::kPluginLlvmMajor : std::uint16_t{0};
  store.memory_budget_bytes = settings.code_budget_mb << 20;
  options.target.arch = to_string(store.target.machine);
  options.target.cpu = cpu_name();
  options.target.os = "linux";
  options.target.has_jit = store.target.has_jit;
  options.target.llvm_major = store.target.llvm_major;
  options.capacities = capacities();
  options.make_store = [&code, store](Scheduler& scheduler) {
    return std::make_unique<code::Store>(
        scheduler, code::Store::Loaders{code.native_.get(), code.jit_.get()}, store);
  };
  GODWIT_TRY(options.shards, shard_options(settings, options.capacities));
  options.objects = object_options(settings, options.capacities);
  GODWIT_TRY(options.channels, open_channels(settings));
  const std::string name = options.name;
  GODWIT_TRY(node->runtime_, Runtime::create(std::move(options), log));
  std::vector<std::string> listen = settings.listen;
  if (listen.empty()) listen.push_back(node_address(code.directory_->path(), name));
  if (!settings.relay.empty()) listen.push_back("relay:" + settings.relay);
  GODWIT_CHECK(node->runtime_->listen(listen));
  if (settings.parent_pid != 0) {
    GODWIT_TRY(code.parent_, ParentWatch::create(node->runtime_->reactor(), settings.parent_pid));
  }
  GODWIT_CHECK(node->runtime_->start());
  if (settings.jit == "preload" && code.jit_ != nullptr) {
    code.preload_ = std::thread([jit = code.jit_.get(), &log] {
      if (const Status loaded = jit->preload(); !loaded) {
        log.warn("the JIT cannot be preloaded: {}", loaded.error().message);
      }
    });
  }
  return node;
}

}  // namespace godwit::node
