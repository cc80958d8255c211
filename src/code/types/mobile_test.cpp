// Calls the entries that GODWIT_EXPORT generates, as a node would, and reads the export records as
// the toolchain does.
#include "godwit/mobile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "code/types/fake_here_test.hpp"
#include "code/types/type.hpp"
#include "godwit/mobile/std.hpp"

extern "C" {
#define DECLARE(name) \
  std::int32_t godwit_entry_##name(const godwit_here_v1*, const void*, std::size_t, godwit_reply*)
DECLARE(add);
DECLARE(total);
DECLARE(repeat);
DECLARE(nothing);
DECLARE(fails);
DECLARE(chase);
DECLARE(wander);
DECLARE(gather);
DECLARE(describe_failure);
DECLARE(specialise);
DECLARE(half);
DECLARE(c_add);
#undef DECLARE
// The linker's names for the section's ends.
extern const char __start_godwit_exports[];  // NOLINT(bugprone-reserved-identifier)
extern const char __stop_godwit_exports[];   // NOLINT(bugprone-reserved-identifier)
}

namespace godwit::code {
namespace {

using ::testing::ElementsAre;

template <class... Params>
Buffer blob_of(const Params&... args) {
  alignas(16) std::byte scratch[4096];
  const Encoder<Params...> encoder(scratch, args...);
  EXPECT_EQ(encoder.parts().size(), sizeof...(Params) == 0 ? 0U : 1U);
  return sizeof...(Params) == 0 ? Buffer() : Buffer::copy_of(encoder.parts()[0]);
}

template <class R>
R value_of(const Ran& ran) {
  EXPECT_EQ(ran.code, GODWIT_OK) << ran.text();
  R value{};
  DecodeError error;
  EXPECT_TRUE(decode_result(ran.reply.view(), value, error)) << error.what;
  return value;
}

std::int32_t twice(const godwit_here_v1*, const void* args, std::size_t, godwit_reply* reply) {
  double value = 0;
  std::memcpy(&value, args, sizeof value);
  value *= 2;
  std::memcpy(reply->data, &value, sizeof value);
  reply->size = sizeof value;
  return GODWIT_OK;
}

TEST(MobileEntry, DecodesCallsAndAnswers) {
  FakeHere here;
  const auto sum = here.run(&godwit_entry_add, blob_of(std::uint64_t{40}, std::uint64_t{2}).view());
  EXPECT_EQ(value_of<std::uint64_t>(sum), 42U);
  const auto total = here.run(&godwit_entry_total, blob_of(std::vector<double>{1, 2, 3.5}).view());
  EXPECT_EQ(value_of<double>(total), 6.5);
  EXPECT_THAT(here.logged, ElementsAre("adding"));
  const auto nothing = here.run(&godwit_entry_nothing, {});
  EXPECT_EQ(nothing.code, GODWIT_OK);
  EXPECT_EQ(nothing.reply.size(), 0U);
  const auto c = here.run(&godwit_entry_c_add, blob_of(std::uint64_t{1}, std::uint64_t{2}).view());
  EXPECT_EQ(value_of<std::uint64_t>(c), 3U);
}

TEST(MobileEntry, AsksForRoomWhenTheResultIsLarge) {
  FakeHere here;
  const Buffer args = blob_of(std::string("0123456789"), std::uint32_t{1000});
  const auto ran = here.run(&godwit_entry_repeat, args.view());
  EXPECT_EQ(value_of<std::string>(ran).size(), 10000U);
  const auto refused = here.run(&godwit_entry_repeat, args.view(), 5000);
  EXPECT_EQ(refused.code, GODWIT_APP_ERROR);
  EXPECT_EQ(refused.text(), "the node has no room for a result of this size");
}

TEST(MobileEntry, TurnsEscapedExceptionsIntoMessages) {
  FakeHere here;
  const auto ran = [&](std::uint32_t how) {
    return here.run(&godwit_entry_fails, blob_of(how).view());
  };
  EXPECT_EQ(value_of<std::uint32_t>(ran(0)), 0U);
  EXPECT_EQ(ran(1).code, GODWIT_APP_ERROR);
  EXPECT_EQ(ran(1).text(), "went wrong");
  EXPECT_EQ(ran(2).code, GODWIT_APP_ERROR);
  EXPECT_EQ(ran(2).text(), "unknown exception");
  EXPECT_EQ(ran(3).text(), std::string(2000, 'e'));
  const auto cut = here.run(&godwit_entry_fails, blob_of(std::uint32_t{3}).view(), 1000);
  EXPECT_EQ(cut.text(), std::string(GODWIT_REPLY_CAPACITY, 'e'));
}

TEST(MobileEntry, RefusesArgumentsThatDoNotDecode) {
  FakeHere here;
  const auto cut = here.run(&godwit_entry_add, blob_of(std::uint64_t{1}).view());
  EXPECT_EQ(cut.code, GODWIT_BAD_ARGS);
  EXPECT_EQ(cut.text(), "the blob is shorter than its head");
  Buffer args = blob_of(std::string("x"), std::uint32_t{1});
  args.data()[0] = std::byte{0xf0};
  const auto far = here.run(&godwit_entry_repeat, args.view());
  EXPECT_EQ(far.code, GODWIT_BAD_ARGS);
  EXPECT_EQ(far.text(), "argument 1: a segment reaches beyond the blob");
}

TEST(MobileRefusal, NumbersTheArgument) {
  godwit_reply reply{};
  char room[200];
  reply.data = room;
  reply.capacity = sizeof room;
  reply.reserve = [](godwit_reply*, std::size_t) noexcept -> void* { return nullptr; };
  for (const auto& [argument, text] : {std::pair<std::size_t, std::string>{0, "why"},
                                       {9, "argument 9: why"},
                                       {10, "argument 10: why"},
                                       {32, "argument 32: why"}}) {
    EXPECT_EQ(mobile::explain(&reply, GODWIT_BAD_ARGS, "why", argument), GODWIT_BAD_ARGS);
    EXPECT_EQ(std::string(room, reply.size), text);
  }
}

TEST(MobileEntry, ContinuesElsewhereOrAnswers) {
  FakeHere here;
  const Buffer args = blob_of(std::uint64_t{5}, std::uint32_t{2});
  EXPECT_EQ(here.run(&godwit_entry_chase, args.view()).code, GODWIT_CONTINUE);
  EXPECT_EQ(here.hop_node, 6U);
  EXPECT_EQ(here.hop_function, "chase");
  EXPECT_EQ(here.hop_args.size(), 12U);
  EXPECT_EQ(here.run(&godwit_entry_chase, here.hop_args).code, GODWIT_CONTINUE);
  EXPECT_EQ(value_of<std::uint64_t>(here.run(&godwit_entry_chase, here.hop_args)), 7U);

  EXPECT_EQ(here.run(&godwit_entry_wander, blob_of(true).view()).code, GODWIT_CONTINUE);
  EXPECT_EQ(here.run(&godwit_entry_wander, here.hop_args).code, GODWIT_OK);

  here.set_hops_left(0);
  const auto refused = here.run(&godwit_entry_chase, args.view());
  EXPECT_EQ(refused.code, GODWIT_FAILED_WITH + static_cast<std::int32_t>(ErrorCode::hop_limit));
  EXPECT_EQ(refused.text(), "no hops left");
}

TEST(MobileCalls, FanOutAndJoin) {
  FakeHere here;
  here.entries["add"] = &godwit_entry_add;
  const auto ran = here.run(&godwit_entry_gather, blob_of(std::uint64_t{10}).view());
  EXPECT_EQ(value_of<std::uint64_t>(ran), 33U);
  EXPECT_EQ(here.released, 3U);
}

TEST(MobileCalls, ReportHowTheyFailed) {
  FakeHere here;
  here.entries["fails"] = &godwit_entry_fails;
  const auto describe = [&](std::uint32_t how) {
    return value_of<std::string>(here.run(&godwit_entry_describe_failure, blob_of(how).view()));
  };
  EXPECT_EQ(describe(5), "ok 5");
  EXPECT_EQ(describe(1), "1 went wrong, thrown went wrong");
  here.entries.clear();
  EXPECT_EQ(describe(1), "7 no function fails, thrown no function fails");
  const auto escaped = here.run(&godwit_entry_gather, blob_of(std::uint64_t{1}).view());
  EXPECT_EQ(escaped.code, GODWIT_FAILED_WITH + 2);  // unknown_function
  EXPECT_EQ(escaped.text(), "no function add");
}

TEST(MobileCalls, ReachNewCodeByItsBundle) {
  FakeHere here;
  here.entries["built:twice"] = &twice;
  here.entries["repeat"] = &godwit_entry_repeat;
  const auto ran = here.run(&godwit_entry_specialise, blob_of(1.5).view());
  EXPECT_EQ(value_of<double>(ran), 7.0);
}

TEST(MobileCalls, WorkWithoutExceptions) {
  FakeHere here;
  here.entries["half"] = &godwit_entry_half;
  EXPECT_EQ(value_of<std::int32_t>(here.run(&godwit_entry_half, blob_of(7).view())), 4);
  here.entries.clear();
  EXPECT_EQ(value_of<std::int32_t>(here.run(&godwit_entry_half, blob_of(7).view())), -1);
}

TEST(MobileExports, StandInTheirSectionOneBehindAnother) {
  std::map<std::string, std::pair<std::string, std::uint32_t>> found;
  const char* at = __start_godwit_exports;
  while (at < __stop_godwit_exports) {
    godwit_export_v1 head;
    std::memcpy(&head, at, sizeof head);
    ASSERT_GE(head.size, sizeof head);
    ASSERT_EQ(head.size % 8, 0U);
    ASSERT_LE(head.size, static_cast<std::size_t>(__stop_godwit_exports - at));
    const std::string name(at + head.name_offset, head.name_size);
    const std::string signature(at + head.signature_offset, head.signature_size);
    EXPECT_EQ(std::string(at + head.entry_offset, head.entry_size), "godwit_entry_" + name);
    EXPECT_TRUE(parse_signature(signature).has_value()) << signature;
    found[name] = {signature, head.flags};
    at += head.size;
  }
  EXPECT_EQ(at, __stop_godwit_exports);
  EXPECT_EQ(found.size(), 12U);
  const auto entry = [](const char* signature, std::uint32_t flags) {
    return std::pair<std::string, std::uint32_t>(signature, flags);
  };
  EXPECT_EQ(found["add"],
            entry("(u64, u64) -> u64", GODWIT_EXPORT_INLINE | GODWIT_EXPORT_IDEMPOTENT));
  EXPECT_EQ(found["total"], entry("(span<f64>) -> f64", GODWIT_EXPORT_IDEMPOTENT));
  EXPECT_EQ(found["repeat"], entry("(str, u32) -> str", 0));
  EXPECT_EQ(found["nothing"], entry("() -> unit", GODWIT_EXPORT_INLINE));
  EXPECT_EQ(found["chase"], entry("(u64, u32) -> u64", 0));
  EXPECT_EQ(found["wander"], entry("(bool) -> unit", 0));
  EXPECT_EQ(found["c_add"], entry("(u64, u64) -> u64", GODWIT_EXPORT_INLINE));
}

}  // namespace
}  // namespace godwit::code
