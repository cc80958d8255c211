// What tests of channels in whole fleets share: a folder, or a real Redis server.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/folder_for_test.hpp"
#include "node/object_for_test.hpp"
#include "ref/channel/redis/redis_for_test.hpp"

namespace godwit::node {

using Numbers = std::uint64_t[];

// A place that can be counted.
class ChannelPlace {
 public:
  virtual ~ChannelPlace() = default;
  virtual std::string url() const = 0;
  virtual std::size_t count() const = 0;
};

class FolderPlace final : public ChannelPlace {
 public:
  std::string url() const override { return "file:" + path().string(); }
  std::size_t count() const override {
    std::size_t files = 0;
    if (!std::filesystem::exists(path())) return 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      files += entry.is_regular_file() ? 1U : 0U;
    }
    return files;
  }

 private:
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "store"; }
  TestFolder folder_;
};

class RedisPlace final : public ChannelPlace {
 public:
  std::string url() const override { return server.url("timeout_ms=1000"); }
  std::size_t count() const override { return server.keys(); }
  ref::RedisForTest server{{.password = "geheim"}};
};

struct Where {
  const char* channel;
  LocalTransport transport;
};

class Channels : public testing::TestWithParam<Where> {
 protected:
  Channels() {
    if (std::string_view(GetParam().channel) == "file") {
      place_ = std::make_unique<FolderPlace>();
    } else {
      auto redis = std::make_unique<RedisPlace>();
      redis_ = &redis->server;
      place_ = std::move(redis);
    }
  }

  // Nodes and client have the channel "store"; what the client's policy is, `more` says.
  Fleet start(const std::string& more = "", std::vector<std::string> arguments = {}) const {
    LocalOptions options;
    options.transport = GetParam().transport;
    options.node_arguments = {"--jit=off", "--channel=store " + place_->url()};
    for (std::string& argument : arguments) options.node_arguments.push_back(std::move(argument));
    options.client = client(more);
    return local(2, std::move(options));
  }
  ClientOptions client(const std::string& more = "") const {
    ClientOptions options;
    options.channels = {good(ChannelOptions::parse("store " + place_->url() + " " + more))};
    return options;
  }
  static Ref<Numbers> again(const Fleet& fleet, const Ref<Numbers>& ref) {
    return good(Ref<Numbers>::parse(fleet, ref.handle().to_text()));
  }
  static bool equal(std::span<const std::uint64_t> a, const std::vector<std::uint64_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  [[nodiscard]] bool becomes_empty() const {
    return eventually([&] { return place_->count() == 0; });
  }
  static PutOptions in_store(Lifetime lifetime = {}) {
    PutOptions options;
    options.lifetime = lifetime;
    options.channel = "store";
    return options;
  }

  std::unique_ptr<ChannelPlace> place_;
  ref::RedisForTest* redis_ = nullptr;
};

}  // namespace godwit::node
