// Verbs by which objects come into being, each done to a store and to its model.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ref/home/store_play_for_test.hpp"

namespace godwit::ref {

class MakingVerbs : protected Play {
 protected:
  using Presence = ModelObject::Presence;
  using Play::Play;

  void add(const Handle& handle, const NewObject& wanted, Holder holder, Presence presence,
           std::vector<std::string> versions) {
    ModelObject& object = model_.objects.emplace_back();
    object.handle = handle;
    object.presence = presence;
    object.persistent = wanted.persist;
    object.versions = std::move(versions);
    if (wanted.owned) object.owner = holder;
    model_.set_lifetime(object, wanted.lifetime, holder);
  }
  void put() {
    const Holder holder = someone();
    const NewObject wanted = some_object();
    const std::string text = some_text();
    const bool holds = wanted.owned || wanted.lifetime.kind == LifetimeKind::holder;
    ErrorCode expected = ErrorCode::none;
    if (is_refused(wanted)) {
      expected = ErrorCode::invalid_argument;
    } else if (holds && !model_.would_admit(holder)) {
      expected = ErrorCode::node_lost;
    }
    const Bytes part = bytes_of(text);
    const auto handle =
        somewhere([&] { return store_->put(holder, wanted, std::span(&part, 1), kWait); });
    if (no_room(handle)) return;
    ASSERT_EQ(code_of(handle), expected);
    if (!handle) return;
    if (holds) model_.admit(holder);
    add(*handle, wanted, holder, Presence::there, {text});
  }
  void promise() {
    const Holder holder = someone();
    const NewObject wanted = some_object();
    const Duration at_most = random_.below(2) == 0 ? Duration{} : some_time();
    ErrorCode expected = ErrorCode::none;
    if (is_refused(wanted)) {
      expected = ErrorCode::invalid_argument;
    } else if (!model_.admit(holder)) {
      expected = ErrorCode::node_lost;
    }
    const auto handle = somewhere([&] { return store_->promise(holder, wanted, at_most); });
    ASSERT_EQ(code_of(handle), expected);
    if (!handle) return;
    add(*handle, wanted, holder, Presence::promised, {});
    model_.objects.back().producer = holder;
    if (at_most != Duration{}) model_.objects.back().promised_until = clock_.now() + at_most;
  }
  void reserve() {
    const Holder holder = someone();
    const std::string text = some_text();
    const bool admitted = model_.admit(holder);
    const auto room = store_->reserve(holder, text.size(), kWait);
    if (no_room(room)) return;
    ASSERT_EQ(code_of(room), admitted ? ErrorCode::none : ErrorCode::node_lost);
    if (!room) return;
    ASSERT_TRUE(store_->write(holder, room->ticket, 0, bytes_of(text)));
    model_.rooms[room->ticket] = {holder, text};
  }
  void make_room_an_object() {
    if (model_.rooms.empty()) return;
    const auto [ticket, room] = *model_.rooms.begin();
    const Holder holder = random_.below(4) == 0 ? someone() : room.first;
    if (random_.below(4) == 0) {
      store_->abandon(holder, ticket);
      if (holder == room.first) model_.rooms.erase(ticket);
      return;
    }
    const NewObject wanted{.persist = folder_ != nullptr && random_.below(2) == 0};
    const auto handle = store_->commit(holder, ticket, wanted);
    ASSERT_EQ(code_of(handle), holder == room.first ? ErrorCode::none : ErrorCode::not_found);
    if (!handle) return;
    model_.rooms.erase(ticket);
    add(*handle, wanted, holder, Presence::there, {room.second});
  }
  // With a reservation, or bytes that are at hand.
  void update_or_fulfil() {
    if (random_.below(2) == 0) {
      const Holder holder = someone();
      const std::string text = some_text();
      const Bytes part = bytes_of(text);
      const bool admitted = model_.admit(holder);
      settle(holder, text, admitted, std::span(&part, 1));
      return;
    }
    if (model_.rooms.empty()) return reserve();
    const auto [ticket, room] = *model_.rooms.begin();
    if (settle(room.first, room.second, true, ticket)) model_.rooms.erase(ticket);
  }
  // True: it was done.
  template <class What>
  bool settle(Holder holder, const std::string& text, bool admitted, const What& what) {
    ModelObject& object = some_known();
    const std::uint64_t version = some_version(object);
    const bool promised = object.presence == Presence::promised;
    std::uint64_t borrow = random_.below(16) == 0 ? 1 + random_.below(100) : 0;
    if (!object.borrows.empty() && random_.below(4) != 0) {
      borrow = object.borrows[random_.below(object.borrows.size())].number;
    }
    ErrorCode expected = ErrorCode::none;
    if (!admitted) {
      expected = ErrorCode::node_lost;
    } else if (!object.alive) {
      expected = ErrorCode::not_found;
    } else if (object.presence == Presence::broken) {
      expected = object.broken;
    } else if (!promised) {
      expected = object.may_update({holder, borrow}, version);
    }
    const Handle handle = handle_of(object, version);
    const auto made = promised ? store_->fulfil(holder, handle, what, kWait)
                               : store_->update({holder, borrow}, handle, what, kWait);
    if (no_room(made)) return false;
    EXPECT_EQ(code_of(made), expected) << (made ? "" : made.error().message);
    if (!made) return false;
    EXPECT_EQ(made->version, object.newest() + (promised ? 0 : 1));
    if (promised) {
      model_.fulfil(object, text);
    } else {
      model_.publish(object, text);
    }
    return true;
  }
  static ErrorCode promised_only(const ModelObject& object) {
    if (!object.alive) return ErrorCode::not_found;
    return object.presence == Presence::promised ? ErrorCode::none : ErrorCode::already_exists;
  }
  void take_over() {
    const Holder holder = someone();
    const bool admitted = model_.admit(holder);
    ModelObject& object = some_known();
    const ErrorCode expected = admitted ? promised_only(object) : ErrorCode::node_lost;
    ASSERT_EQ(code_of(store_->take_over(holder, object.handle)), expected);
    if (expected == ErrorCode::none) object.producer = holder;
  }
  void break_promise() {
    ModelObject& object = some_known();
    const ErrorCode expected = promised_only(object);
    ASSERT_EQ(code_of(store_->break_promise(object.handle, {ErrorCode::cancelled, "no more"})),
              expected);
    if (expected == ErrorCode::none) {
      model_.break_promise(object, ErrorCode::cancelled, clock_.now());
    }
  }
};

}  // namespace godwit::ref
