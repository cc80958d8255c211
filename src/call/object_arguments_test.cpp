// Calls with objects in place of arguments, from peers that mean well and from others.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fail.hpp"
#include "call/raw_peer.hpp"
#include "code/types/type.hpp"
#include "godwit/codec.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::seconds;

using Words = std::vector<std::uint64_t>;

// A home of one object, at hand; there is another one somewhere else.
class OneObject final : public Objects {
 public:
  static constexpr std::uint64_t kAtHand = 1;
  static constexpr std::uint64_t kElsewhere = 2;

  Result<bool> answer(const Asker&, Bytes, ReplyBuffer&) override {
    return fail(ErrorCode::unsupported, "nobody asks");
  }
  void stop_waiting(std::uint64_t waiter) override { stopped = waiter; }
  Result<std::optional<Found>> find_at_once(const Handle& handle) override {
    ++asked;
    if (handle.version == kElsewhere) return std::optional<Found>();
    if (handle.version != kAtHand) return fail(ErrorCode::not_found, "there is no such object");
    return std::optional<Found>({std::as_bytes(std::span(words)), kept});
  }
  void find_all(std::span<Search> searches, Duration) override {
    for (Search& search : searches) {
      search.found = fail(ErrorCode::unreachable, "there are no others");
    }
  }
  Result<bool> is_settled(const Handle& handle, Duration, std::uint64_t waiter) override {
    if (handle.version != kAtHand) return fail(ErrorCode::not_found, "there is no such promise");
    waiting = waiter;
    return false;
  }
  Result<Handle> put(const ObjectToPut&) override {
    return fail(ErrorCode::unsupported, "one object is enough");
  }
  bool is_home_of(const Handle&) const override { return true; }
  Result<Handle> settle(const Settling&) override {
    return fail(ErrorCode::unsupported, "it is there already");
  }

  alignas(16) std::array<std::uint64_t, 4> words{1, 2, 3, 4};
  std::shared_ptr<int> kept = std::make_shared<int>(0);
  int asked = 0;
  std::uint64_t waiting = 0;  // who waits for the promise
  std::uint64_t stopped = 0;
};

wire::ObjectExtension object_for(std::uint32_t parameter,
                                 std::uint64_t version = OneObject::kAtHand,
                                 std::string_view type = "list<u64>") {
  wire::ObjectExtension object;
  object.parameter = parameter;
  object.handle.version = version;
  object.handle.type = code::type_hash(type);
  return object;
}

// A peer of node 0 calls `sum` there, of two spans.
class ObjectArguments : public testing::Test {
 protected:
  ObjectArguments() : fleet_(11, reliable(), {}), peer_(fleet_) {
    fleet_.at(fleet_.node_process(0))->engine->set_objects(&object_);
    const Record& warm =
        fleet_.call(fleet_.client_process(0), fleet_.node(0), 0, work, 0, seconds(10));
    EXPECT_TRUE(fleet_.world().run_until([&] { return warm.ended == 1 && peer_.up; }, seconds(10)));
  }
  static fabric::sim::Options reliable() {
    fabric::sim::Options options;
    options.later_chance = 0;
    return options;
  }

  // With this for the second argument, behind the head.
  void send(const std::vector<wire::ObjectExtension>& objects, Descriptor second,
            const Words& tail) {
    wire::CodeExtension code;
    code.bundle = fleet_.bundle(0).id();
    code.function = sum;
    wire::ExtensionWriter extension;
    extension.add(code);
    for (const auto& object : objects) extension.add(object);
    const Descriptor first{.offset = UINT64_MAX, .count = UINT64_MAX};
    std::vector<std::byte> body;
    const auto append = [&](Bytes bytes) { body.insert(body.end(), bytes.begin(), bytes.end()); };
    append(extension.view());
    append(bytes_of_value(first));
    append(bytes_of_value(second));
    append(std::as_bytes(std::span(tail)));
    wire::Header header;
    header.kind = wire::Kind::call;
    header.extension_size = static_cast<std::uint16_t>(extension.view().size());
    header.aux = 10'000;
    header.id = ++calls_;
    peer_.send(header, body);
  }
  wire::OutcomeWord call(const std::vector<wire::ObjectExtension>& objects, Descriptor second,
                         const Words& tail) {
    const std::size_t before = peer_.answers;
    send(objects, second, tail);
    EXPECT_TRUE(fleet_.world().run_until([&] { return peer_.answers > before; }, seconds(20)));
    return wire::unpack_outcome(peer_.last.aux);
  }
  void expect_refused(wire::OutcomeWord outcome, ErrorCode reason) {
    EXPECT_EQ(outcome.ending, Ending::rejected) << peer_.text;
    EXPECT_EQ(to_string(outcome.reason), to_string(reason)) << peer_.text;
    EXPECT_FALSE(outcome.may_have_started);
    EXPECT_EQ(object_.kept.use_count(), 1) << "nobody keeps the object";
  }

  static constexpr Descriptor kBehindHead{.offset = 32, .count = 2};

  SimFleet fleet_;
  OneObject object_;
  RawPeer peer_;
  std::uint64_t calls_ = 0;
};

TEST_F(ObjectArguments, AreReadWhereTheyLie) {
  const auto outcome = call({object_for(0)}, kBehindHead, {100, 200});
  ASSERT_EQ(outcome.ending, Ending::ok) << peer_.text;
  std::uint64_t total = 0;
  ASSERT_EQ(peer_.text.size(), sizeof total);
  std::memcpy(&total, peer_.text.data(), sizeof total);
  EXPECT_EQ(total, 310);
  EXPECT_EQ(object_.kept.use_count(), 1) << "nobody keeps the object";
}

TEST_F(ObjectArguments, OthersBesideThemAreCheckedAsEver) {
  const auto refused = [&](Descriptor second) {
    expect_refused(call({object_for(0)}, second, {100, 200}), ErrorCode::invalid_argument);
  };
  refused({.offset = 32, .count = 3});
  refused({.offset = 48, .count = 1});
  refused({.offset = 1'000'000, .count = 1});
  refused({.offset = 32, .count = UINT64_MAX / 8});
  refused({.offset = 40, .count = 1});
  refused({.offset = UINT64_MAX - 15, .count = 2});
  refused({.offset = 16, .count = 0});
  EXPECT_EQ(object_.asked, 0) << "that was known before";
}

TEST_F(ObjectArguments, OnlyObjectsOfTheParametersTypeStandForIt) {
  for (const char* type : {"list<i64>", "span<u64>", "u64", "bytes"}) {
    expect_refused(call({object_for(0, OneObject::kAtHand, type)}, kBehindHead, {1, 2}),
                   ErrorCode::type_mismatch);
  }
  expect_refused(call({object_for(2)}, kBehindHead, {1, 2}), ErrorCode::invalid_argument);
  expect_refused(call({object_for(0), object_for(0)}, kBehindHead, {1, 2}),
                 ErrorCode::invalid_argument);
}

TEST_F(ObjectArguments, APromisedOneHoldsTheCallBackUntilItIsSettled) {
  auto promised = object_for(0);
  promised.handle.size = Handle::kSizeUnknown;
  const std::size_t before = peer_.answers;
  send({promised}, kBehindHead, {100, 200});
  EXPECT_TRUE(fleet_.world().run_until([&] { return object_.waiting != 0; }, seconds(5)));
  EXPECT_TRUE(fleet_.world().run_until([&] { return peer_.answers > before; }, seconds(5)));
  EXPECT_EQ(peer_.last.flags & wire::kAnswered, wire::kAnswered) << "its credit, and no more";
  EXPECT_EQ(object_.asked, 0);
  fleet_.at(fleet_.node_process(0))->engine->run_again(object_.waiting);
  EXPECT_TRUE(fleet_.world().run_until([&] { return peer_.answers > before + 1; }, seconds(5)));
  EXPECT_EQ(wire::unpack_outcome(peer_.last.aux).ending, Ending::ok) << peer_.text;
  EXPECT_EQ(object_.asked, 1);

  promised.handle.version = 77;
  expect_refused(call({promised}, kBehindHead, {1, 2}), ErrorCode::not_found);
}

TEST_F(ObjectArguments, APromiseThatIsNotKeptInTimeEndsTheCallBeforeItBegins) {
  auto promised = object_for(0);
  promised.handle.size = Handle::kSizeUnknown;
  const std::size_t before = peer_.answers;
  send({promised}, kBehindHead, {100, 200});
  EXPECT_TRUE(fleet_.world().run_until([&] { return peer_.answers > before + 1; }, seconds(20)));
  const auto outcome = wire::unpack_outcome(peer_.last.aux);
  EXPECT_EQ(outcome.ending, Ending::deadline) << peer_.text;
  EXPECT_FALSE(outcome.may_have_started);
  EXPECT_EQ(object_.stopped, object_.waiting);
}

TEST_F(ObjectArguments, WhatCannotBeHadEndsTheCallBeforeItBegins) {
  expect_refused(call({object_for(0, 77)}, kBehindHead, {1, 2}), ErrorCode::not_found);
  EXPECT_NE(peer_.text.find("argument 1"), std::string::npos) << peer_.text;
  // The simulated executor lets nobody wait.
  expect_refused(call({object_for(1), object_for(0, OneObject::kElsewhere)}, {}, {}),
                 ErrorCode::overload);
}

}  // namespace
}  // namespace godwit::call::sim
