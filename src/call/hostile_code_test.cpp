// A caller that sends code which is not what it claims: its call is rejected in words, nothing of
// it is kept, and the node goes on serving.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "call/raw_peer.hpp"

namespace godwit::call::sim {
namespace {

using std::chrono::seconds;

fabric::sim::Options calm() {
  fabric::sim::Options options;
  options.later_chance = 0;
  return options;
}

code::SliceInfo native_slice(code::Machine machine) {
  code::SliceInfo slice;
  slice.kind = code::SliceKind::native;
  slice.machine = machine;
  slice.triple = code::triple_of(machine);
  slice.producer = "sim";
  return slice;
}

code::Machine another_machine() {
  return code::host_machine() == code::Machine::x86_64 ? code::Machine::aarch64
                                                       : code::Machine::x86_64;
}

code::Bundle bundle_for(const std::vector<code::Machine>& machines) {
  code::BundleBuilder builder("hostile");
  builder.function({"echo", "(u64, u64) -> u64", "echo", GODWIT_EXPORT_INLINE});
  for (const code::Machine machine : machines) {
    const std::string bytes(300, static_cast<char>(machine));
    builder.slice(native_slice(machine), Buffer::copy_of(bytes_of(bytes)));
  }
  return std::move(builder).build().value();
}

// The body of a code message with that slice of the bundle.
std::vector<std::byte> answer_with(const code::Bundle& bundle, std::size_t slice = 0) {
  const Bytes manifest = bundle.manifest_bytes();
  const Bytes code = bundle.slices()[slice].bytes;
  wire::CodeHead head;
  head.bundle = bundle.id();
  head.manifest_size = static_cast<std::uint32_t>(manifest.size());
  head.slice_size = code.size();
  const Bytes head_bytes = bytes_of_value(head);
  std::vector<std::byte> body(head_bytes.begin(), head_bytes.end());
  body.insert(body.end(), manifest.begin(), manifest.end());
  body.resize(body.size() + wire::code_padding(manifest.size()));
  body.insert(body.end(), code.begin(), code.end());
  return body;
}

template <class Field>
void write(std::vector<std::byte>& body, std::size_t offset, Field value) {
  std::memcpy(body.data() + offset, &value, sizeof value);
}

class HostileCode : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fleet_.world().run_until([&] { return peer_.up; }, seconds(5)));
  }
  void TearDown() override {
    Record& good = fleet_.call(fleet_.client_process(0), fleet_.node(0), 1, work, 0, seconds(10));
    ASSERT_TRUE(fleet_.world().run_until([&] { return good.ended == 1; }, seconds(10)));
    EXPECT_EQ(good.outcome.ending, Ending::ok) << good.text;
    EXPECT_TRUE(peer_.up);
    EXPECT_EQ(node().engine->calls_inside(), 0U);
  }
  SimProcess& node() { return *fleet_.at(fleet_.node_process(0)); }

  // Calls by name, and waits to be asked for the code.
  void call(const ContentId& bundle) {
    wire::CodeExtension code;
    code.bundle = bundle;
    wire::Header header;
    header.kind = wire::Kind::call;
    header.id = ++calls_;
    header.aux = 30'000;
    header.extension_size = sizeof code;
    const std::size_t before = peer_.answers;
    peer_.send(header, bytes_of_value(code));
    ASSERT_TRUE(fleet_.world().run_until([&] { return peer_.answers > before; }, seconds(5)));
    ASSERT_EQ(peer_.last.kind, wire::Kind::need_code) << peer_.text;
    question_ = peer_.last.id;
  }
  // Answers the question, and waits for how the call ended.
  void answer(Bytes body) {
    wire::Header header;
    header.kind = wire::Kind::code;
    header.id = question_;
    const std::size_t before = peer_.answers;
    peer_.send(header, body);
    ASSERT_TRUE(fleet_.world().run_until([&] { return peer_.answers > before; }, seconds(5)));
    ASSERT_EQ(peer_.last.kind, wire::Kind::reply);
    ASSERT_EQ(peer_.last.id, calls_);
  }
  [[nodiscard]] wire::OutcomeWord outcome() const { return wire::unpack_outcome(peer_.last.aux); }

  // A call of the bundle that is answered with this body is rejected for one of the reasons, and
  // leaves nothing behind.
  void expect_rejected(const ContentId& bundle, Bytes body, const std::set<ErrorCode>& reasons) {
    ASSERT_NO_FATAL_FAILURE(call(bundle));
    ASSERT_NO_FATAL_FAILURE(answer(body));
    ASSERT_EQ(outcome().ending, Ending::rejected);
    ASSERT_FALSE(outcome().may_have_started);
    ASSERT_TRUE(reasons.contains(outcome().reason))
        << to_string(outcome().reason) << ": " << peer_.text;
    ASSERT_GT(peer_.text.size(), 20U) << "the reason is said in words: " << peer_.text;
    ASSERT_EQ(node().store->residence(bundle), nullptr);
  }

  SimFleet fleet_{91, calm(), {}};
  RawPeer peer_{fleet_};
  std::uint64_t calls_ = 0;
  std::uint64_t question_ = 0;
};

const std::set<ErrorCode> kNotTheCode{ErrorCode::protocol_violation, ErrorCode::corrupt_code,
                                      ErrorCode::bad_format};

TEST_F(HostileCode, NoBitOfTheCodeMayBeFlipped) {
  const code::Bundle bundle = bundle_for({code::host_machine()});
  const std::vector<std::byte> sound = answer_with(bundle);
  const std::size_t manifest_end = sizeof(wire::CodeHead) + bundle.manifest_bytes().size();
  const std::size_t slice_at = sound.size() - bundle.slices()[0].bytes.size();
  std::size_t flips = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    const bool is_reason =
        at >= offsetof(wire::CodeHead, reason) && at < offsetof(wire::CodeHead, manifest_size);
    const bool is_unread =
        (at >= offsetof(wire::CodeHead, referral) && at < sizeof(wire::CodeHead)) ||
        (at >= manifest_end && at < slice_at);
    if (is_reason || is_unread) continue;
    std::vector<std::byte> flipped = sound;
    flipped[at] ^= std::byte{1} << at % 8;
    SCOPED_TRACE("byte " + std::to_string(at) + " of " + std::to_string(sound.size()));
    ASSERT_NO_FATAL_FAILURE(expect_rejected(bundle.id(), flipped, kNotTheCode));
    ++flips;
  }
  EXPECT_GT(flips, 400U);
  ASSERT_NO_FATAL_FAILURE(call(bundle.id()));
  ASSERT_NO_FATAL_FAILURE(answer(sound));
  EXPECT_EQ(outcome().ending, Ending::ok) << peer_.text;
}

TEST_F(HostileCode, ABodyThatIsCutShortIsRejectedWhereverItEnds) {
  const code::Bundle bundle = bundle_for({code::host_machine()});
  const std::vector<std::byte> sound = answer_with(bundle);
  for (std::size_t size = 0; size < sound.size(); size += 5) {
    SCOPED_TRACE(std::to_string(size) + " bytes of " + std::to_string(sound.size()));
    ASSERT_NO_FATAL_FAILURE(expect_rejected(bundle.id(), Bytes(sound).first(size), kNotTheCode));
  }
}

TEST_F(HostileCode, SizesThatLieAreRejected) {
  const code::Bundle bundle = bundle_for({code::host_machine()});
  const std::vector<std::byte> sound = answer_with(bundle);
  const std::size_t manifest = bundle.manifest_bytes().size();
  for (const std::size_t lie : {std::size_t{0}, manifest - 1, manifest + 1, manifest + 64,
                                sound.size(), std::size_t{0xFFFF'FFFF}}) {
    SCOPED_TRACE("a manifest of " + std::to_string(lie));
    std::vector<std::byte> body = sound;
    write(body, offsetof(wire::CodeHead, manifest_size), static_cast<std::uint32_t>(lie));
    ASSERT_NO_FATAL_FAILURE(expect_rejected(bundle.id(), body, kNotTheCode));
  }
  const std::uint64_t slice = bundle.slices()[0].bytes.size();
  for (const std::uint64_t lie :
       {std::uint64_t{0}, slice - 1, slice + 1, slice + (std::uint64_t{1} << 32U),
        std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    SCOPED_TRACE("a slice of " + std::to_string(lie));
    std::vector<std::byte> body = sound;
    write(body, offsetof(wire::CodeHead, slice_size), lie);
    ASSERT_NO_FATAL_FAILURE(expect_rejected(bundle.id(), body, kNotTheCode));
  }
}

TEST_F(HostileCode, AnotherBundleIsNotTakenForTheOneThatWasAskedFor) {
  const code::Bundle wanted = bundle_for({code::host_machine()});
  const code::Bundle other = bundle_for({code::host_machine(), another_machine()});
  std::vector<std::byte> body = answer_with(other);
  expect_rejected(wanted.id(), body, {ErrorCode::protocol_violation});
  write(body, 0, wanted.id());
  expect_rejected(wanted.id(), body, {ErrorCode::corrupt_code});
  EXPECT_NE(peer_.text.find(other.id().short_hex()), std::string::npos) << peer_.text;
  EXPECT_EQ(node().store->residence(other.id()), nullptr);
}

TEST_F(HostileCode, ASliceForAnotherMachineIsNotKeptInPlaceOfTheRightOne) {
  const code::Bundle both = bundle_for({code::host_machine(), another_machine()});
  expect_rejected(both.id(), answer_with(both, 1), {ErrorCode::protocol_violation});
  EXPECT_NE(peer_.text.find("is not the one for"), std::string::npos) << peer_.text;
  const code::Bundle foreign = bundle_for({another_machine()});
  expect_rejected(foreign.id(), answer_with(foreign), {ErrorCode::no_slice});
  ASSERT_NO_FATAL_FAILURE(call(both.id()));
  ASSERT_NO_FATAL_FAILURE(answer(answer_with(both)));
  EXPECT_EQ(outcome().ending, Ending::ok) << peer_.text;
}

TEST_F(HostileCode, ACorruptCopyDoesNotEndTheCallOfSomebodyWithASoundOne) {
  const code::Bundle& bundle = fleet_.bundle(0);
  std::vector<std::byte> body = answer_with(bundle);
  body.back() ^= std::byte{1};
  ASSERT_NO_FATAL_FAILURE(call(bundle.id()));
  Record& honest = fleet_.call(fleet_.client_process(0), fleet_.node(0), 0, work, 0, seconds(30));
  ASSERT_TRUE(
      fleet_.world().run_until([&] { return node().engine->calls_inside() == 2; }, seconds(1)));
  ASSERT_NO_FATAL_FAILURE(answer(body));
  EXPECT_EQ(outcome().ending, Ending::ok) << "with the code of the other caller: " << peer_.text;
  ASSERT_TRUE(fleet_.world().run_until([&] { return honest.ended == 1; }, seconds(5)));
  EXPECT_EQ(honest.outcome.ending, Ending::ok) << honest.text;
}

}  // namespace
}  // namespace godwit::call::sim
