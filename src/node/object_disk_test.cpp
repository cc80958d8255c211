// Objects on disks of whole nodes: what is there after kill -9, and what goes through a small
// memory.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "node/node.hpp"
#include "node/object_for_test.hpp"
#include "ref/disk/object_folder.hpp"

namespace godwit::node {
namespace {

using Numbers = std::uint64_t[];

class ObjectDisk : public testing::TestWithParam<LocalTransport> {
 protected:
  // One node: a folder is one node's.
  Fleet start(std::vector<std::string> more = {}) const {
    LocalOptions options;
    options.transport = GetParam();
    options.node_arguments = {"--object-dir=" + path(), "--jit=off"};
    options.node_arguments.insert(options.node_arguments.end(), more.begin(), more.end());
    return local(1, std::move(options));
  }
  [[nodiscard]] std::string path() const { return (folder_ / "objects").string(); }
  // Kills it in the middle of whatever it does, and starts it again.
  static void kill_and_restart(Fleet& fleet) {
    const NodeHandle node = good(fleet.find("n0"));
    good(fleet.kill(node));
    good(fleet.restart(node));
  }
  static std::vector<std::uint64_t> values(std::size_t count, std::uint64_t seed) {
    std::vector<std::uint64_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = seed * 1'000'003 + i;
    return all;
  }
  static bool equal(std::span<const std::uint64_t> a, const std::vector<std::uint64_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  TestFolder folder_;
};

TEST_P(ObjectDisk, APersistentObjectIsThereAfterItsHomeWasKilled) {
  Fleet fleet = start();
  const NodeHandle home = fleet.node(0);
  const auto small = good(home.put(numbers(10), {.persist = true}));
  const auto large = good(home.put(numbers(500'000), {.persist = true}));
  const auto text = good(home.put(std::string("kept"), {.persist = true}));
  const auto passing = good(home.put(numbers(10)));
  EXPECT_TRUE(good(large.status()).persistent);
  kill_and_restart(fleet);
  EXPECT_TRUE(good(large.status()).persistent);
  EXPECT_TRUE(good(large.status()).spilled) << "not read before somebody asks for it";
  EXPECT_TRUE(equal(*good(small.resolve()), numbers(10)));
  EXPECT_TRUE(equal(*good(large.resolve()), numbers(500'000)));
  EXPECT_FALSE(good(large.status()).spilled);
  EXPECT_EQ(*text, "kept");
  EXPECT_FALSE(good(passing.exists()));
  {
    auto other = good(Fleet::join(fleet.describe().front().addresses.front()));
    const auto again = good(Ref<Numbers>::parse(other, large.handle().to_text()));
    EXPECT_TRUE(equal(*good(again.resolve()), numbers(500'000)));
    const auto updated = good(again.update(numbers(7)));
    kill_and_restart(fleet);
    const auto newest = good(Ref<Numbers>::parse(fleet, updated.handle().to_text()));
    EXPECT_EQ((*newest).size(), 7U);
  }
  good(small.evict());
  good(text.evict());
  kill_and_restart(fleet);
  EXPECT_FALSE(good(small.exists())) << "evicted is evicted";
}

TEST_P(ObjectDisk, ThreeTimesTheMemoryIsPutAndReadBackByTwoThreads) {
  Fleet fleet = start({"--object-budget-mb=64"});
  constexpr std::size_t kObjects = 50;  // of 4 MB
  constexpr std::size_t kCount = 500'000;
  std::vector<Ref<Numbers>> refs[2];
  const auto in_two_threads = [](const auto& work) {
    std::thread other([&] { work(0); });
    work(1);
    other.join();
  };
  in_two_threads([&](std::size_t thread) {
    for (std::size_t i = 0; i < kObjects / 2; ++i) {
      refs[thread].push_back(good(fleet.node(0).put(values(kCount, 2 * i + thread))));
    }
  });
  EXPECT_TRUE(good(refs[0].front().status()).spilled);
  in_two_threads([&](std::size_t thread) {
    for (std::size_t i = 0; i < kObjects / 2; ++i) {
      // The other thread's.
      const auto ref = good(Ref<Numbers>::parse(fleet, refs[1 - thread][i].handle().to_text()));
      EXPECT_TRUE(equal(*good(ref.resolve()), values(kCount, 2 * i + 1 - thread))) << i;
    }
  });
  for (const auto& ref : refs[0]) good(ref.evict());
  for (const auto& ref : refs[1]) good(ref.evict());
  EXPECT_TRUE(eventually([&] {
    const auto entries = std::filesystem::directory_iterator(path());
    return std::none_of(begin(entries), end(entries), [](const auto& entry) {
      return entry.path().extension() == ref::ObjectFileName::kSuffix;
    });
  })) << "files go with their objects";
}

TEST_P(ObjectDisk, MemoryAndDiskThatAreFullAreNamed) {
  Fleet fleet = start({"--object-budget-mb=16", "--object-disk-mb=16"});
  std::vector<Ref<Numbers>> refs;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto made = fleet.node(0).put(values(500'000, i));
    if (!made) {
      expect_error(made, ErrorCode::resource_exhausted, path());
      expect_error(made, ErrorCode::resource_exhausted, "budget of 16777216");
      break;
    }
    refs.push_back(*made);
  }
  EXPECT_GE(refs.size(), 6U);
  EXPECT_LT(refs.size(), 9U);
  good(refs.back().evict());  // there must be room for what is brought back
  refs.pop_back();
  for (std::size_t i = 0; i < refs.size(); ++i) {
    EXPECT_TRUE(equal(*good(refs[i].resolve()), values(500'000, i)));
    refs[i] = good(Ref<Numbers>::parse(fleet, refs[i].handle().to_text()));  // lets go of it
  }
}

TEST_P(ObjectDisk, AHomeThatIsKilledWhileObjectsArePutHasThemWholeOrNotAtAll) {
  struct Acknowledged {
    std::string text;
    std::uint64_t seed;
  };
  std::vector<Acknowledged> kept;
  std::uint64_t seed = 0;
  {
    Fleet fleet = start();
    for (int round = 0; round < 4; ++round) {
      std::atomic<std::size_t> put = 0;
      std::atomic<bool> stop = false;
      const NodeHandle home = good(fleet.find("n0"));
      std::thread writer([&] {
        while (!stop) {
          const auto made = home.put(values(150'000, ++seed), {.persist = true});
          if (made) kept.push_back({made->handle().to_text(), seed});
          if (!made) break;
          ++put;
        }
      });
      EXPECT_TRUE(eventually([&] { return put > static_cast<std::size_t>(round); }));
      good(fleet.kill(home));
      stop = true;
      writer.join();
      good(fleet.restart(home));
    }
    EXPECT_GE(kept.size(), 4U);
    for (const Acknowledged& object : kept) {
      const auto ref = good(Ref<Numbers>::parse(fleet, object.text));
      EXPECT_TRUE(equal(*good(ref.resolve()), values(150'000, object.seed)));
    }
  }
  const auto opened = good(
      ref::ObjectFolder::open({.path = path(), .budget_bytes = UINT64_MAX, .check_data = true}));
  EXPECT_TRUE(opened.broken.empty());
  EXPECT_GE(opened.objects.size(), kept.size());
}

TEST_P(ObjectDisk, WithoutAFolderNothingPersistsAndTheSettingIsNamed) {
  LocalOptions options;
  options.transport = GetParam();
  Fleet fleet = local(1, std::move(options));
  expect_error(fleet.node(0).put(numbers(10), {.persist = true}), ErrorCode::unsupported,
               "object_dir");
  expect_error(fleet.node(0).put(numbers(100'000), {.persist = true}), ErrorCode::unsupported,
               "object_dir");
}

TEST(ObjectDiskOfANode, ItsIdIsTheFolders) {
  const TestFolder folder;
  trace::Log log = trace::Log::silent();
  Settings settings;
  settings.runtime_dir = (folder / "run").string();
  std::filesystem::create_directory(settings.runtime_dir);
  settings.listen = {"shm:" + (folder / "n.sock").string()};
  settings.jit = "off";
  settings.object_dir = (folder / "objects").string();
  const auto id_of_start = [&]() -> Result<NodeId> {
    GODWIT_TRY(const std::unique_ptr<Node> node, Node::start(settings, log));
    return node->runtime().engine().options().self;
  };
  const NodeId first = good(id_of_start());
  EXPECT_EQ(good(id_of_start()), first);
  settings.id = to_hex(first.value);
  EXPECT_EQ(good(id_of_start()), first);
  settings.id = to_hex(first.value ^ 1);
  expect_error(id_of_start(), ErrorCode::invalid_argument, to_hex(first.value));
  expect_error(id_of_start(), ErrorCode::invalid_argument, "object_dir: ");
}

INSTANTIATE_TEST_SUITE_P(Fleets, ObjectDisk,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
