// A home with a folder, which a test ends and starts again.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "ref/disk/object_folder.hpp"
#include "ref/home/currency.hpp"
#include "ref/home/store_for_test.hpp"

namespace godwit::ref {

inline constexpr Arena::Wait kNoWait = Arena::Wait::no;

// A limit on the size of files stands for a full disk; it is on new memory, too.
class FullDisk {
 public:
  FullDisk() : signal_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = 100'000;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_before_);
  }

 private:
  rlimit before_{};
  void (*signal_before_)(int);
};

class DiskStoreTest : public testing::Test {
 protected:
  static constexpr Holder kAlice{.node = {1}, .epoch = {10}};
  static constexpr std::size_t kBudget = std::size_t{4} << 20;
  static constexpr std::size_t kLarge = 600'000;  // of which memory has room for six

  DiskStoreTest() { start(); }

  void start(std::uint64_t disk_bytes = std::uint64_t{1} << 30) {
    auto opened = ObjectFolder::open({.path = path(), .budget_bytes = disk_bytes}).value();
    for (const auto& broken : opened.broken) warnings.push_back(broken.why);
    ObjectStore::Options options{
        .home = kHome,
        .arena = {.budget_bytes = kBudget, .slab_bytes = std::size_t{1} << 20},
        .key = opened.folder->key().value()};
    options.folder = std::move(opened.folder);
    options.on_files_to_remove = [this] { ++removals_asked; };
    options.on_warning = [this](const std::string& text) { warnings.push_back(text); };
    options.wall_ns = [this] { return wall_ns; };
    options.currency = currency;
    store = std::make_unique<ObjectStore>(clock, std::move(options));
    store->restore(std::move(opened.objects));
  }
  // As if it was killed: of what it would have done at its end nothing happens to files that
  // persist, and the others do not matter.
  void restart(Duration later = {}) {
    store.reset();
    clock.advance(later);
    wall_ns += later.count();
    start();
  }
  [[nodiscard]] std::string path() const { return (folder_ / "objects").string(); }
  [[nodiscard]] std::string file_of(const Handle& handle) const {
    return path() + "/" + ObjectFileName::of(handle).text();
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(ObjectFileName::kSuffix)) names.push_back(name);
    }
    return names;
  }
  static std::string text_of_seed(std::size_t size, std::uint64_t seed) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((seed + i) * 31 >> 3);
    return text;
  }
  Result<Handle> try_put(const std::string& text, const NewObject& object = {},
                         Arena::Wait wait = kWait) {
    const Bytes part = bytes_of(text);
    return store->put(kAlice, object, {&part, 1}, wait);
  }
  Handle put(const std::string& text, const NewObject& object = {}) {
    auto made = try_put(text, object);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(Handle{});
  }
  std::uint64_t reserve(const std::string& text) {
    const std::uint64_t ticket = store->reserve(kAlice, text.size(), kWait).value().ticket;
    EXPECT_TRUE(store->write(kAlice, ticket, 0, bytes_of(text)));
    return ticket;
  }
  Result<std::string> read(const Handle& handle, Arena::Wait wait = kWait) {
    GODWIT_TRY(const Located found, store->locate(kAlice, handle, wait));
    std::string text(text_of({found.data, static_cast<std::size_t>(found.size)}));
    store->release(kAlice, found.pin);
    return text;
  }
  bool spilled(const Handle& handle) { return store->describe(handle).value().spilled; }
  void damage(const std::string& file, std::streamoff at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const auto byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(at);
    stream.put(byte);
  }

 private:
  TestFolder folder_;

 protected:
  ManualClock clock;
  std::int64_t wall_ns = 1'000'000'000'000'000'000;
  std::vector<std::string> warnings;
  int removals_asked = 0;
  std::shared_ptr<Currency> currency = Currency::create().value();
  std::unique_ptr<ObjectStore> store;
};

}  // namespace godwit::ref
