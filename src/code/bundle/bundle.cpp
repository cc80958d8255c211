#include "code/bundle/bundle.hpp"

#include <fmt/ranges.h>

#include <utility>

#include "base/fail.hpp"
#include "code/bundle/bundle_state.hpp"

namespace godwit::code {

Result<std::shared_ptr<Bundle::State>> Bundle::state_of(Buffer manifest) {
  GODWIT_TRY(Manifest decoded, decode_manifest(manifest.view()));
  auto state = std::make_shared<State>();
  state->id = ContentId::of(manifest.view());
  state->manifest_bytes = std::make_shared<const Buffer>(std::move(manifest));
  state->manifest = std::make_shared<const Manifest>(std::move(decoded));
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < state->manifest->functions.size(); ++i) {
    by_name.emplace(state->manifest->functions[i].name, i);
  }
  state->by_name =
      std::make_shared<const std::map<std::string_view, std::size_t>>(std::move(by_name));
  state->slices = state->manifest->slices;
  return state;
}

Result<Bundle> Bundle::from_manifest(Bytes manifest) {
  Buffer copy = Buffer::copy_of(manifest);
  if (copy.size() != manifest.size()) {
    return fail(ErrorCode::out_of_memory, "no memory for a manifest of {} bytes", manifest.size());
  }
  GODWIT_TRY(auto state, state_of(std::move(copy)));
  return Bundle(std::move(state));
}

Result<Bundle> Bundle::with_slice(Bytes slice) const {
  const ContentId id = ContentId::of(slice);
  const auto index = find_slice(id);
  if (index && !slices()[*index].bytes.empty()) return *this;
  if (!index) {
    std::vector<std::string> listed;
    for (const SliceInfo& info : slices()) listed.push_back(info.id.short_hex());
    return fail(ErrorCode::corrupt_code,
                "{} bytes with hash {} are no slice of bundle '{}', which lists {}: they were "
                "altered on the way or belong to other code",
                slice.size(), id.short_hex(), name(), fmt::join(listed, ", "));
  }
  auto owner = std::make_shared<const Buffer>(Buffer::copy_of(slice));
  if (owner->size() != slice.size()) {
    return fail(ErrorCode::out_of_memory, "no memory for a slice of {} bytes", slice.size());
  }
  auto state = std::make_shared<State>(*state_);
  state->slices[*index].bytes = owner->view();
  state->owners.push_back(std::move(owner));
  return Bundle(std::move(state));
}

const ContentId& Bundle::id() const noexcept {
  return state_->id;
}
const std::string& Bundle::name() const noexcept {
  return state_->manifest->name;
}
const std::string& Bundle::producer() const noexcept {
  return state_->manifest->producer;
}
const std::vector<FunctionInfo>& Bundle::functions() const noexcept {
  return state_->manifest->functions;
}
const std::vector<SliceInfo>& Bundle::slices() const noexcept {
  return state_->slices;
}
const std::vector<std::string>& Bundle::needs() const noexcept {
  return state_->manifest->needs;
}
Bytes Bundle::manifest_bytes() const noexcept {
  return state_->manifest_bytes->view();
}

std::optional<std::size_t> Bundle::find(std::string_view function) const {
  const auto found = state_->by_name->find(function);
  if (found == state_->by_name->end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> Bundle::find_slice(const ContentId& id) const {
  for (std::size_t i = 0; i < slices().size(); ++i) {
    if (slices()[i].id == id) return i;
  }
  return std::nullopt;
}

std::size_t Bundle::memory_bytes() const noexcept {
  std::size_t total = state_->manifest_bytes->size();
  for (const SliceInfo& slice : slices()) total += slice.bytes.size();
  return total;
}

BundleBuilder& BundleBuilder::producer(std::string producer) {
  manifest_.producer = std::move(producer);
  return *this;
}

BundleBuilder& BundleBuilder::function(FunctionInfo function) {
  manifest_.functions.push_back(std::move(function));
  return *this;
}

BundleBuilder& BundleBuilder::needs(std::vector<std::string> sonames) {
  manifest_.needs = std::move(sonames);
  return *this;
}

BundleBuilder& BundleBuilder::slice(SliceInfo info, Buffer bytes) {
  info.id = ContentId::of(bytes.view());
  info.size_bytes = bytes.size();
  manifest_.slices.push_back(std::move(info));
  bytes_.push_back(std::move(bytes));
  return *this;
}

Result<Bundle> BundleBuilder::build() && {
  GODWIT_TRY(Buffer manifest, encode(manifest_));
  GODWIT_TRY(auto state, Bundle::state_of(std::move(manifest)));
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    auto owner = std::make_shared<const Buffer>(std::move(bytes_[i]));
    state->slices[i].bytes = owner->view();
    state->owners.push_back(std::move(owner));
  }
  return Bundle(std::move(state));
}

}  // namespace godwit::code
