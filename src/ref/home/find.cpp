// What functions and arguments of calls refer to: found in this process's store, or at its home.
#include <memory>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "ref/access/access.hpp"
#include "ref/home/pin_keeper.hpp"
#include "ref/home/service.hpp"

namespace godwit::ref {
namespace {

constexpr std::uintptr_t kAlignment = 16;

// Messages do not say how their parts are aligned.
Result<call::Objects::Found> aligned(call::Objects::Found found) {
  if (reinterpret_cast<std::uintptr_t>(found.bytes.data()) % kAlignment == 0) return found;
  auto copy = std::make_shared<const Buffer>(Buffer::copy_of(found.bytes));
  if (copy->data() == nullptr) {
    return fail(ErrorCode::out_of_memory, "no memory for an object of {} bytes",
                found.bytes.size());
  }
  return call::Objects::Found{copy->view(), copy};
}

}  // namespace

bool ObjectService::is_own(const Handle& handle) const noexcept {
  return handle.home == options_.self.node.value;
}

Result<call::Objects::Found> ObjectService::locate(const Handle& handle, Arena::Wait wait) {
  GODWIT_TRY(const Located found, store_.locate(options_.self, handle, wait));
  auto keeps = std::make_shared<PinKeeper>(store_, options_.self, found.pin);
  options_.on_use();
  return aligned({Bytes{found.data, found.size}, std::move(keeps)});
}

Result<std::optional<call::Objects::Found>> ObjectService::find_at_once(const Handle& handle) {
  if (!is_own(handle)) return find_copy(handle, Arena::Wait::no);
  auto found = locate(handle, Arena::Wait::no);
  if (!found && found.error().code == ErrorCode::would_block) return std::optional<Found>();
  if (!found) return tl::unexpected(std::move(found).error());
  return std::optional<Found>(*std::move(found));
}

void ObjectService::find_all(std::span<Search> searches, Duration at_most) {
  std::vector<Search*> elsewhere;
  std::vector<Handle> handles;
  for (Search& search : searches) {
    if (is_own(search.handle)) {
      search.found = locate(search.handle, Arena::Wait::yes);
    } else if (auto copy = find_copy(search.handle, Arena::Wait::yes); copy && *copy) {
      search.found = **std::move(copy);
    } else {
      elsewhere.push_back(&search);
      handles.push_back(search.handle);
    }
  }
  if (elsewhere.empty()) return;
  if (!enter()) {
    for (Search* search : elsewhere) {
      search->found = fail(ErrorCode::shutting_down, "this process is shutting down");
    }
    return;
  }
  const Entered entered(*this);
  auto views = access_->resolve_together(handles, at_most);
  for (std::size_t i = 0; i < views.size(); ++i) {
    elsewhere[i]->found = views[i] ? aligned({(*views[i])->bytes, *views[i]})
                                   : Result<Found>(tl::unexpected(std::move(views[i]).error()));
  }
}

bool ObjectService::enter() {
  const std::lock_guard lock(mutex_);
  if (closed_ || access_ == nullptr) return false;
  ++inside_;
  return true;
}

// Notified under the lock: whoever waits for it ends the service next.
void ObjectService::leave() {
  const std::lock_guard lock(mutex_);
  --inside_;
  left_.notify_all();
}

void ObjectService::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [this] { return inside_ == 0 && watches_.empty(); });
}

Result<Handle> ObjectService::put(const ObjectToPut& object) {
  if (object.lifetime > static_cast<std::uint32_t>(LifetimeKind::readers)) {
    return fail(ErrorCode::invalid_argument, "there is no lifetime of kind {}", object.lifetime);
  }
  const Lifetime lifetime{static_cast<LifetimeKind>(object.lifetime), object.readers, object.lease};
  auto made = store_.put(options_.self, {.type = object.type, .lifetime = lifetime}, object.parts,
                         object.may_wait ? Arena::Wait::yes : Arena::Wait::no);
  options_.on_use();
  return made;
}

}  // namespace godwit::ref
