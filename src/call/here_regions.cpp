// The verbs of mobile code that see and shape regions. Run on the function's threads.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"

namespace godwit::call {
namespace {

// What bundles of the first release have room for.
constexpr std::size_t kFirstViewBytes = offsetof(godwit_region_v1, name);

std::int32_t no_regions() {
  return failed(ErrorCode::unsupported, "this node has no regions");
}

}  // namespace

namespace verbs {

std::int32_t find_region(const godwit_here_v1* here, const char* name, std::size_t size,
                         std::uint64_t* id) {
  Regions* regions = context_of(here).engine->regions();
  if (regions == nullptr) return no_regions();
  const auto found = regions->find({name, size});
  if (!found) return failed(found.error());
  *id = *found;
  return 0;
}

std::int32_t region(const godwit_here_v1* here, std::uint64_t id, const char* type,
                    std::size_t type_size, std::uint32_t rights, godwit_region_v1* view) {
  CallContext& context = context_of(here);
  Regions* regions = context.engine->regions();
  if (regions == nullptr) return no_regions();
  if (view->size < kFirstViewBytes) {
    return failed(ErrorCode::invalid_argument,
                  fmt::format("a view of a region is {} bytes, not {}", sizeof *view, view->size));
  }
  const std::string_view wanted =
      type == nullptr ? std::string_view() : std::string_view(type, type_size);
  std::optional<godwit_region_v1> whole;
  if (view->size < sizeof *view) whole.emplace();
  auto pin = regions->view(id, wanted, rights, whole ? *whole : *view);
  if (!pin) return failed(pin.error());
  if (whole) {
    if (whole->map.kind == GODWIT_SHARD_PLACED) {
      return failed(ErrorCode::unsupported,
                    fmt::format("region '{}' is sharded by a function, of which this code knows "
                                "nothing: build it again",
                                std::string_view(whole->name, whole->name_size)));
    }
    whole->size = view->size;
    std::memcpy(view, &*whole, whole->size);
  }
  const std::lock_guard lock(context.mutex);
  if ((rights & GODWIT_REGION_WRITE) != 0) {
    context.wrote_several |= context.written_region != 0 && context.written_region != id;
    context.written_region = id;
  }
  if (!context.pins.add(*std::move(pin))) {
    return failed(
        ErrorCode::resource_exhausted,
        fmt::format("this function has views of {} regions and objects, the limit", Pins::kMax));
  }
  return 0;
}

std::int32_t apply_region(const godwit_here_v1* here, const void* descriptor, std::size_t size) {
  CallContext& context = context_of(here);
  if (!context.may_block) {
    return failed(ErrorCode::would_block, "an inline function may not apply a region");
  }
  Regions* regions = context.engine->regions();
  if (regions == nullptr) return no_regions();
  const Status applied = regions->apply(Bytes{static_cast<const std::byte*>(descriptor), size});
  return applied ? 0 : failed(applied.error());
}

}  // namespace verbs

bool Pins::add(Regions::Pin pin) {
  for (Regions::Pin& place : few_) {
    if (place == pin) return true;
    if (place == nullptr) {
      place = std::move(pin);
      return true;
    }
  }
  if (std::find(more_.begin(), more_.end(), pin) != more_.end()) return true;
  if (few_.size() + more_.size() >= kMax) return false;
  more_.push_back(std::move(pin));
  return true;
}

void Pins::clear() noexcept {
  for (Regions::Pin& place : few_) {
    if (place == nullptr) return;
    place.reset();
  }
  more_.clear();
}

}  // namespace godwit::call
