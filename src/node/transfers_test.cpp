// Large objects over links that map nothing, while their homes come and go.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "node/accomplice_for_test.hpp"
#include "node/object_for_test.hpp"
#include "ref/access/access.hpp"

namespace godwit::node {
namespace {

using std::chrono::seconds;

class TransfersOverTcp : public testing::Test {
 protected:
  static constexpr std::size_t kPieces = 12;
  static constexpr std::size_t kCount = kPieces * ref::Pieces::kBytes / sizeof(std::uint64_t);

  static Fleet start(std::size_t nodes, std::vector<std::string> node_arguments = {}) {
    LocalOptions options;
    options.transport = LocalTransport::tcp;
    options.node_arguments = std::move(node_arguments);
    options.client.default_deadline = seconds(30);
    return local(nodes, std::move(options));
  }
  static void kill_and_restart(Fleet& fleet) {
    const NodeHandle node = good(fleet.find("n0"));
    good(fleet.kill(node));
    good(fleet.restart(node));
  }
  // Reads it all, and interrupts when that many pieces have come.
  struct Read {
    Status status;
    std::size_t pieces = 0;
    bool right = true;
  };
  template <class Interrupt>
  static Read read(const Fleet& fleet, const Handle& handle,
                   const std::vector<std::uint64_t>& expected, std::size_t after,
                   const Interrupt& interrupt) {
    Read read;
    const Bytes bytes = std::as_bytes(std::span(expected));
    std::size_t at = 0;
    read.status = fleet.objects().copy_out(handle, {}, [&](Bytes piece) -> Status {
      read.right = read.right && std::memcmp(piece.data(), bytes.data() + at, piece.size()) == 0;
      at += piece.size();
      if (++read.pieces == after) interrupt();
      return {};
    });
    return read;
  }
};

TEST_F(TransfersOverTcp, APersistentObjectGoesOnWhenItsHomeIsBackFromTheDead) {
  const TestFolder folder;
  Fleet fleet = start(1, {"--object-dir=" + (folder / "objects").string(), "--jit=off"});
  const auto values = numbers(kCount);
  const auto ref = good(fleet.node(0).put(values, {.persist = true}));
  const Read all = read(fleet, ref.handle(), values, 3, [&] { kill_and_restart(fleet); });
  good(all.status);
  EXPECT_TRUE(all.right);
  EXPECT_EQ(all.pieces, kPieces);
  good(ref.evict());
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(0)); }, seconds(20)))
      << good(fleet.status(fleet.node(0)));
}

TEST_F(TransfersOverTcp, AHomeThatComesBackWithoutTheObjectIsAnErrorThatSaysHowMuchHadCome) {
  Fleet fleet = start(1, {"--jit=off"});
  const auto values = numbers(kCount);
  const auto ref = good(fleet.node(0).put(values));
  const Read some = read(fleet, ref.handle(), values, 2, [&] { kill_and_restart(fleet); });
  ASSERT_FALSE(some.status);
  EXPECT_LT(some.pieces, kPieces);
  // Its key is another one after the restart: the handle is none of its.
  EXPECT_TRUE(some.status.error().code == ErrorCode::not_found ||
              some.status.error().code == ErrorCode::permission)
      << to_string(some.status.error().code) << ": " << some.status.error().message;
  EXPECT_NE(some.status.error().message.find(" of 50331648 bytes had come"), std::string::npos)
      << some.status.error().message;
}

TEST_F(TransfersOverTcp, ThreadsThatWantTheSameGetItAndNothingIsLeftBehind) {
  Fleet fleet = start(2);
  const auto values = numbers(kCount);
  const auto ref = good(fleet.node(1).put(values));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto mine = good(Ref<std::uint64_t[]>::from(fleet, ref.handle()));
      const auto found = good(mine.resolve());
      EXPECT_EQ(to_string(found.how()), to_string(ResolvedBy::stream));
      EXPECT_TRUE(std::equal(found->begin(), found->end(), values.begin(), values.end()));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good(ref.status()).reads, 4U) << "each of them is a reader";
  good(ref.evict());
  EXPECT_TRUE(eventually([&] { return holds_nothing(fleet, fleet.node(1)); }, seconds(20)));
}

TEST_F(TransfersOverTcp, ManyLargeOnesComeAtOnce) {
  Fleet fleet = start(2);
  std::vector<Ref<std::uint64_t[]>> refs;
  for (std::size_t i = 0; i < 6; ++i) {
    refs.push_back(good(fleet.node(i % 2).put(numbers(1'000'000 + i))));
  }
  const auto found = resolve_batch(std::span<const Ref<std::uint64_t[]>>(refs));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto values = numbers(1'000'000 + i);
    const auto& all = *good(found[i]);
    EXPECT_TRUE(std::equal(all.begin(), all.end(), values.begin(), values.end())) << i;
  }
}

}  // namespace
}  // namespace godwit::node
