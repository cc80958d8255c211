#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/seeds_for_test.hpp"
#include "wire/call.hpp"
#include "wire/hello.hpp"

namespace godwit::wire {
namespace {

// Golden bytes: what these structs look like on the wire may never change.
TEST(WireHeader, HasTheBytesTheProtocolNames) {
  Header header;
  header.kind = Kind::call;
  header.flags = 0x11;
  header.extension_size = 0x2030;
  header.aux = 0x04050607;
  header.id = 0x1112131415161718;
  header.subject = 0x2122232425262728;
  header.link_token = 0x3132333435363738;
  const std::array<unsigned char, 32> expected{0x01, 0x11, 0x30, 0x20, 0x07, 0x06, 0x05, 0x04,
                                               0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
                                               0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
                                               0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31};
  EXPECT_EQ(std::memcmp(&header, expected.data(), expected.size()), 0);
}

template <class T, std::size_t N>
void expect_bytes(const T& value, const std::array<unsigned char, N>& expected) {
  static_assert(sizeof(T) == N);
  EXPECT_EQ(std::memcmp(&value, expected.data(), N), 0);
}

ContentId counting_id() {
  ContentId id;
  for (std::size_t i = 0; i < ContentId::kSize; ++i) id.digest[i] = static_cast<std::byte>(i);
  return id;
}

TEST(NeedCode, HasTheBytesTheProtocolNames) {
  const NeedCode need{counting_id(), {1, 1, 0x0203, 0}, 0x1112131415161718};
  expect_bytes(need, std::array<unsigned char, 48>{
                         0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
                         0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
                         0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x01, 0x01, 0x03, 0x02,
                         0x00, 0x00, 0x00, 0x00, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11});
  const auto read = parse_need_code(bytes_of_value(need));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->intake_call, need.intake_call);
}

TEST(CodeHead, HasTheBytesTheProtocolNames) {
  const CodeHead head{counting_id(),      0x01020304,         0x05060708,
                      0x1112131415161718, 0x2122232425262728, 0};
  expect_bytes(head,
               std::array<unsigned char, 64>{
                   0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
                   0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19,
                   0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06,
                   0x05, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
                   0x24, 0x23, 0x22, 0x21, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00});
}

TEST(CodeBody, ARefusalCarriesItsWordsAndAReferral) {
  const std::string words = "not here any more";
  CodeHead head;
  head.reason = static_cast<std::uint32_t>(ErrorCode::unknown_code);
  head.manifest_size = static_cast<std::uint32_t>(words.size());
  head.referral = 42;
  const std::string body = std::string(text_of(bytes_of_value(head))) + words;
  const auto read = parse_code(bytes_of(body));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(text_of(read->manifest), words);
  EXPECT_EQ(read->head.referral, 42U);
}

TEST(OutcomeWord, SurvivesTheWire) {
  for (int ending = 0; ending <= 7; ++ending) {
    const OutcomeWord word{static_cast<Ending>(ending), ending % 2 == 1,
                           ErrorCode::missing_library};
    const OutcomeWord read = unpack_outcome(pack(word));
    EXPECT_EQ(read.ending, word.ending);
    EXPECT_EQ(read.may_have_started, word.may_have_started);
    EXPECT_EQ(read.reason, word.reason);
  }
  EXPECT_EQ(unpack_outcome(0x55).ending, Ending::rejected) << "an ending of a later version";
}

TEST(CallExtensions, AreReadBackAndUnknownOnesAreSkipped) {
  CodeExtension code;
  code.function = 7;
  code.bundle = ContentId::of(bytes_of("bundle"));
  TravelExtension travel;
  travel.hops_left = 3;
  travel.intake_node = 42;
  std::vector<std::byte> bytes;
  const auto append = [&](Bytes block) { bytes.insert(bytes.end(), block.begin(), block.end()); };
  append(bytes_of_value(code));
  const std::array<std::uint16_t, 16> unknown{999, 32};
  append(bytes_of_value(unknown));
  append(bytes_of_value(travel));
  const auto read = parse_call_extensions(bytes);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->code);
  EXPECT_EQ(read->code->function, 7U);
  EXPECT_EQ(read->code->bundle, code.bundle);
  ASSERT_TRUE(read->travel);
  EXPECT_EQ(read->travel->intake_node, 42U);
  EXPECT_FALSE(read->change);
}

TEST(CallExtensions, AChangeToWaitForIsReadBack) {
  ExtensionWriter writer;
  writer.add(CodeExtension{});
  writer.add(TravelExtension{});
  writer.add(
      ChangeExtension{.element_size = 4, .region = 5, .index = 6, .last_seen = 7, .value_at = 16});
  const auto read = parse_call_extensions(writer.view());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->change);
  EXPECT_EQ(read->change->element_size, 4U);
  EXPECT_EQ(read->change->region, 5U);
  EXPECT_EQ(read->change->index, 6U);
  EXPECT_EQ(read->change->last_seen, 7U);
  EXPECT_EQ(read->change->value_at, 16U);
}

TEST(CallExtensions, ObjectsForArgumentsAreReadBackUpToALimit) {
  ExtensionWriter writer;
  for (std::size_t i = 0; i < kMaxObjectArguments; ++i) {
    ObjectExtension object;
    object.parameter = static_cast<std::uint32_t>(i);
    object.handle.version = 100 + i;
    writer.add(object);
  }
  const auto read = parse_call_extensions(writer.view());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->objects.size(), kMaxObjectArguments);
  EXPECT_EQ(read->objects.back().parameter, 15U);
  EXPECT_EQ(read->objects.back().handle.version, 115U);
  std::vector<std::byte> more(writer.view().begin(), writer.view().end());
  const Bytes one = writer.view().first(sizeof(ObjectExtension));
  more.insert(more.end(), one.begin(), one.end());
  EXPECT_FALSE(parse_call_extensions(more));
}

TEST(CallExtensions, LyingLengthsAreRefused) {
  for (const int size : {0, 8, 15, 24, 64, 65535}) {
    const std::array<std::uint16_t, 16> block{1, static_cast<std::uint16_t>(size)};  // 32 bytes
    EXPECT_FALSE(parse_call_extensions(bytes_of_value(block))) << size;
  }
  EXPECT_FALSE(parse_call_extensions(bytes_of("short")));
}

TEST(CodeBody, IsReadBackWithItsSliceAligned) {
  const std::string manifest(77, 'm');
  const std::string slice(1000, 's');
  CodeHead head;
  head.manifest_size = static_cast<std::uint32_t>(manifest.size());
  head.slice_size = slice.size();
  std::string body(text_of(bytes_of_value(head)));
  body += manifest + std::string(code_padding(manifest.size()), '\0') + slice;
  const auto read = parse_code(bytes_of(body));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(text_of(read->manifest), manifest);
  EXPECT_EQ(text_of(read->slice), slice);
  EXPECT_EQ((read->slice.data() - bytes_of(body).data()) % 64, 0);
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(parse_code(bytes_of(body.substr(0, size)))) << "cut to " << size;
  }
}

TEST(CodeBody, LyingSizesAreRefused) {
  CodeHead head;
  head.manifest_size = UINT32_MAX;
  EXPECT_FALSE(parse_code(bytes_of_value(head)));
  head.manifest_size = 0;
  head.slice_size = UINT64_MAX;
  EXPECT_FALSE(parse_code(bytes_of_value(head)));
  EXPECT_FALSE(parse_need_code(bytes_of("too short")));
}

TEST(PeerHello, SurvivesTheHandshake) {
  const PeerHello hello{256, true, "n1", "record"};
  const auto read = parse_peer_hello(encode(hello));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->credits, 256U);
  EXPECT_TRUE(read->serves);
  EXPECT_EQ(read->name, "n1");
  EXPECT_EQ(read->record, "record");
  EXPECT_FALSE(parse_peer_hello("abc"));
  EXPECT_FALSE(parse_peer_hello(std::string("\1\0\0\0\0\0\377\377", 8)));
}

TEST(Parsers, TakeAnyBytesWithoutHarm) {
  const Seed seed(1);
  Random random(seed.value());
  std::vector<std::byte> bytes;
  for (int i = 0; i < 20'000; ++i) {
    bytes.resize(random.below(160));
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(random.below(random.chance(0.5) ? 4 : 256));
    static_cast<void>(parse_call_extensions(bytes));
    static_cast<void>(parse_need_code(bytes));
    static_cast<void>(parse_code(bytes));
    static_cast<void>(parse_peer_hello(text_of(bytes)));
  }
}

}  // namespace
}  // namespace godwit::wire
