// The folder of a home that is killed again and again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "base/folder_for_test.hpp"
#include "ref/disk/object_folder.hpp"

namespace godwit::ref {

class PlayFolder {
 public:
  // For the next life of the home, as the one before left it.
  ObjectFolder::Opened open() {
    return ObjectFolder::open({.path = path(), .budget_bytes = std::uint64_t{1} << 30}).value();
  }
  // Whatever this life of the home still does, the next one finds what is here now: files of what
  // it had spilled, too, which a process removes that ends by itself.
  void leave_as_it_is() {
    const std::string before = path();
    ++life_;
    std::filesystem::create_directory(path());
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
    for (const auto& entry : std::filesystem::directory_iterator(before)) {
      std::filesystem::create_hard_link(entry, path() + "/" + entry.path().filename().string());
    }
  }
  // Of objects.
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(ObjectFileName::kSuffix)) names.insert(name);
    }
    return names;
  }

  // What happened, so that a test can say that it did.
  struct Counts {
    std::uint64_t spills = 0, loads = 0;
    std::uint64_t refused = 0;    // for want of memory
    std::uint64_t read_back = 0;  // objects, by the home's next life
    Counts& operator+=(const Counts& more) {
      spills += more.spills;
      loads += more.loads;
      refused += more.refused;
      read_back += more.read_back;
      return *this;
    }
  };
  Counts counts;

 private:
  [[nodiscard]] std::string path() const { return (folder_ / std::to_string(life_)).string(); }

  TestFolder folder_;
  int life_ = 0;
};

}  // namespace godwit::ref
