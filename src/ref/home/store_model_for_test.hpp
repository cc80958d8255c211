// What an ObjectStore should do, written down as plainly as possible: lists that are searched from
// end to end, and everything decided when time passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ref/home/store_for_test.hpp"

namespace godwit::ref {

struct ModelPin {
  std::uint64_t number = 0;
  Holder holder;
  std::uint64_t version = 0;
  const std::byte* data = nullptr;
  bool again = false;
};
struct ModelBorrow {
  std::uint64_t number = 0;
  Holder holder;
  bool writes = false;
};

// What the file of a persistent object says about how long it lives.
struct ModelFile {
  Lifetime lifetime;
  Time written;
};

struct ModelObject {
  enum class Presence { there, promised, broken };

  Handle handle;  // of the first version
  bool alive = true;
  Presence presence = Presence::there;
  std::vector<std::string> versions;  // what each of them holds
  Lifetime lifetime;
  std::optional<Time> lease_end;
  bool over = false, dropped = false, user_pin = false, persistent = false;
  std::optional<ModelFile> file;
  std::optional<Holder> owner, keeper, producer;
  std::optional<Time> promised_until, offer_until;
  std::uint64_t offer = 0;
  ErrorCode broken = ErrorCode::none;
  std::vector<ModelPin> pins;
  std::vector<ModelBorrow> borrows;
  std::map<std::uint64_t, std::uint64_t> waiters;  // and what they want something newer than

  [[nodiscard]] std::uint64_t newest() const { return std::max<std::uint64_t>(1, versions.size()); }
  [[nodiscard]] bool has_version(std::uint64_t version) const {
    return version == newest() || std::any_of(pins.begin(), pins.end(), [&](const ModelPin& pin) {
             return pin.version == version;
           });
  }
  [[nodiscard]] ErrorCode may_update(const ObjectStore::Writer& writer,
                                     std::uint64_t version) const {
    if (version != newest()) return ErrorCode::stale;
    for (const ModelBorrow& borrow : borrows) {
      const bool its_own = borrow.number == writer.borrow && borrow.holder == writer.holder;
      if (!its_own || !borrow.writes) return ErrorCode::borrowed;
    }
    if (!borrows.empty()) return ErrorCode::none;
    if (writer.borrow != 0) return ErrorCode::not_found;
    return !owner || *owner == writer.holder ? ErrorCode::none : ErrorCode::permission;
  }
};

class Model {
 public:
  Model(const ManualClock& clock, const ObjectStore::Options& options)
      : clock_(clock), options_(options) {}

  std::vector<ModelObject> objects;
  std::map<std::uint64_t, std::pair<Holder, std::string>> rooms;
  std::vector<std::uint64_t> called;

  // --- Holders ---
  // False: a later process of that node is known.
  [[nodiscard]] bool would_admit(Holder holder) const {
    const auto known = holders_.find(holder.node);
    return known == holders_.end() || holder.epoch >= known->second.first.epoch;
  }
  bool admit(Holder holder) {
    const auto known = holders_.find(holder.node);
    if (known != holders_.end()) {
      if (holder.epoch < known->second.first.epoch) return false;
      if (holder.epoch == known->second.first.epoch) return true;
      const Holder earlier = known->second.first;
      holders_.erase(known);
      die(earlier);
    }
    holders_[holder.node] = {holder, clock_.now() + options_.holder_lease};
    return true;
  }
  bool renew(Holder holder) {
    const auto known = holders_.find(holder.node);
    if (known == holders_.end() || known->second.first != holder) return false;
    known->second.second = clock_.now() + options_.holder_lease;
    return true;
  }
  void leave(Holder holder) {
    const auto known = holders_.find(holder.node);
    if (known == holders_.end() || known->second.first != holder) return;
    holders_.erase(known);
    die(holder);
  }
  void lost(NodeId node) {
    const auto known = holders_.find(node);
    if (known == holders_.end()) return;
    Time& until = known->second.second;
    until = std::min(until, clock_.now() + options_.lost_grace);
  }
  void sweep() {
    pass();
    for (auto known = holders_.begin(); known != holders_.end();) {
      const auto [holder, until] = known->second;
      if (until > clock_.now()) {
        ++known;
        continue;
      }
      known = holders_.erase(known);
      die(holder);
    }
  }

  // --- Objects ---
  // To be called when time has passed.
  void pass() {
    const Time now = clock_.now();
    for (ModelObject& object : objects) {
      if (!object.alive) continue;
      if (object.offer_until && *object.offer_until <= now) take_back_offer(object);
      if (object.promised_until && *object.promised_until <= now) {
        break_promise(object, ErrorCode::deadline, *object.promised_until);
      }
      if (object.lease_end && *object.lease_end <= now) {
        object.lease_end.reset();
        object.over = true;
        end_if_over(object);
      }
    }
  }
  void set_lifetime(ModelObject& object, const Lifetime& lifetime, Holder holder) {
    object.lifetime = lifetime;
    object.over = false;
    object.keeper.reset();
    object.lease_end.reset();
    if (lifetime.kind == LifetimeKind::holder) object.keeper = holder;
    const bool runs = object.presence != ModelObject::Presence::promised;
    if (lifetime.kind == LifetimeKind::lease && runs) {
      object.lease_end = clock_.now() + lifetime.lease;
    }
    write(object);
  }
  void set_owner(ModelObject& object, std::optional<Holder> owner) {
    object.owner = owner;
    take_back_offer(object);
  }
  void publish(ModelObject& object, const std::string& text) {
    object.versions.push_back(text);
    write(object);
    call(object, object.newest());
  }
  void fulfil(ModelObject& object, const std::string& text) {
    object.presence = ModelObject::Presence::there;
    object.producer.reset();
    object.promised_until.reset();
    publish(object, text);
    if (object.lifetime.kind == LifetimeKind::lease) {
      object.lease_end = clock_.now() + object.lifetime.lease;
    }
  }
  void break_promise(ModelObject& object, ErrorCode why, Time when) {
    object.presence = ModelObject::Presence::broken;
    object.broken = why;
    object.producer.reset();
    object.promised_until.reset();
    object.user_pin = false;
    set_owner(object, std::nullopt);
    set_lifetime(object, {.kind = LifetimeKind::lease, .lease = options_.broken_kept}, {});
    object.lease_end = when + options_.broken_kept;
    call(object, UINT64_MAX);
  }
  void unpin(ModelObject& object, std::size_t place, bool complete) {
    const bool counts = complete && !object.pins[place].again;
    object.pins.erase(object.pins.begin() + static_cast<std::ptrdiff_t>(place));
    if (!object.alive || !counts || object.lifetime.kind != LifetimeKind::readers) return;
    if (object.lifetime.readers == 0 || --object.lifetime.readers != 0) return;
    object.over = true;
    end_if_over(object);
  }
  void give_back(ModelObject& object, std::size_t place) {
    object.borrows.erase(object.borrows.begin() + static_cast<std::ptrdiff_t>(place));
    end_if_over(object);
  }
  void drop(ModelObject& object) {
    set_owner(object, std::nullopt);
    object.dropped = true;
    end_if_over(object);
  }
  void end(ModelObject& object) {
    object.alive = false;
    call(object, UINT64_MAX);
  }
  void end_if_over(ModelObject& object) {
    if (!object.alive || !object.borrows.empty()) return;
    if (object.dropped || (object.over && !object.user_pin)) end(object);
  }

  // --- The home itself ---
  // It dies and starts again: what persists is as its file says, and nobody holds anything.
  void restart() {
    holders_.clear();
    rooms.clear();
    called.clear();
    for (ModelObject& object : objects) {
      const std::optional<ModelFile> file = object.alive ? object.file : std::nullopt;
      ModelObject next;
      next.handle = object.handle;
      next.versions = std::move(object.versions);
      next.presence = object.presence;
      object = std::move(next);
      object.alive = file.has_value();
      if (!file) continue;
      object.persistent = true;
      Lifetime lifetime = file->lifetime;
      if (lifetime.kind == LifetimeKind::lease) {
        lifetime.lease -= clock_.now() - file->written;
        object.alive = lifetime.lease > Duration{};
      }
      set_lifetime(object, lifetime, {});
      object.file = file;  // which nobody has written again
    }
  }

 private:
  // Into the file of an object that is to persist, if there is any.
  void write(ModelObject& object) {
    if (!object.persistent || object.presence != ModelObject::Presence::there) return;
    Lifetime left = object.lifetime;
    if (object.lease_end) left.lease = *object.lease_end - clock_.now();
    if (object.over) left.lease = Duration(1);
    object.file = {left, clock_.now()};
  }
  static void take_back_offer(ModelObject& object) {
    object.offer = 0;
    object.offer_until.reset();
  }
  void call(ModelObject& object, std::uint64_t version) {
    for (auto waiter = object.waiters.begin(); waiter != object.waiters.end();) {
      if (waiter->second >= version) {
        ++waiter;
        continue;
      }
      called.push_back(waiter->first);
      waiter = object.waiters.erase(waiter);
    }
  }
  void die(Holder holder) {
    for (ModelObject& object : objects) {
      const bool promised = object.alive && object.presence == ModelObject::Presence::promised;
      if (promised &&
          (object.producer == holder || object.owner == holder || object.keeper == holder)) {
        break_promise(object, ErrorCode::node_lost, clock_.now());
      }
      for (std::size_t i = object.borrows.size(); i-- > 0;) {
        if (object.borrows[i].holder == holder) give_back(object, i);
      }
      for (std::size_t i = object.pins.size(); i-- > 0;) {
        if (object.pins[i].holder == holder) unpin(object, i, false);
      }
      if (object.alive && object.owner == holder) drop(object);
      if (object.alive && object.keeper == holder) {
        object.keeper.reset();
        object.over = true;
        end_if_over(object);
      }
    }
    std::erase_if(rooms, [&](const auto& room) { return room.second.first == holder; });
  }

  const ManualClock& clock_;
  const ObjectStore::Options& options_;
  std::map<NodeId, std::pair<Holder, Time>> holders_;
};

}  // namespace godwit::ref
