#include "ref/channel/memory_channel.hpp"

#include <cstring>

#include "base/parts.hpp"
#include "ref/channel/refusals.hpp"

namespace godwit::ref {

Result<std::unique_ptr<Channel>> MemoryChannel::make(const ChannelUrl& url) {
  GODWIT_CHECK(url.allow_only({}));
  return std::unique_ptr<Channel>(std::make_unique<MemoryChannel>());
}

Status MemoryChannel::put(std::string_view key, Parts parts) {
  GODWIT_CHECK(check_key(key));
  auto value = std::make_shared<std::vector<std::byte>>();
  value->reserve(total_size(parts));
  for (const auto& part : parts) value->insert(value->end(), part.begin(), part.end());
  const std::lock_guard lock(mutex_);
  Value& place = values_[std::string(key)];
  const std::size_t before = place != nullptr ? place->size() : 0;
  if (value->size() > kMaxBytes - (bytes_ - before)) {
    if (place == nullptr) values_.erase(values_.find(key));
    return fail(ErrorCode::resource_exhausted,
                "memory: has {} bytes already, and {} more would be beyond its limit of {}", bytes_,
                value->size(), kMaxBytes);
  }
  bytes_ += value->size() - before;
  place = std::move(value);
  return {};
}

Result<MemoryChannel::Value> MemoryChannel::find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return refuse_missing(key, *this);
  return found->second;
}

Status MemoryChannel::get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) {
  GODWIT_TRY(const Value value, find(key));
  GODWIT_CHECK(check_range(key, offset, into.size(), value->size()));
  if (!into.empty()) std::memcpy(into.data(), value->data() + offset, into.size());
  return {};
}

Result<std::uint64_t> MemoryChannel::size(std::string_view key) {
  GODWIT_TRY(const Value value, find(key));
  return static_cast<std::uint64_t>(value->size());
}

Status MemoryChannel::remove(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return {};
  bytes_ -= found->second->size();
  values_.erase(found);
  return {};
}

}  // namespace godwit::ref
