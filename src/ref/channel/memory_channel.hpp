// Values in this process's memory, for tests and as the simplest channel to read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "godwit/channel.hpp"

namespace godwit::ref {

class MemoryChannel final : public Channel {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // of all values

  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(const ChannelUrl& url);

  Status put(std::string_view key, Parts parts) override;
  Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) override;
  Result<std::uint64_t> size(std::string_view key) override;
  Status remove(std::string_view key) override;
  [[nodiscard]] ChannelCost cost_hint() const override { return {1, 100}; }
  [[nodiscard]] std::string describe() const override { return "memory:"; }

 private:
  using Value = std::shared_ptr<const std::vector<std::byte>>;
  [[nodiscard]] Result<Value> find(std::string_view key);

  std::mutex mutex_;
  std::map<std::string, Value, std::less<>> values_;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::ref
