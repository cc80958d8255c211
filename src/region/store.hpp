// Makes the memory of this node's shards, within a budget.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/task.hpp"
#include "fabric/memory/life_word.hpp"
#include "region/budget.hpp"
#include "region/shard.hpp"
#include "region/shard_file.hpp"
#include "wire/region.hpp"

namespace godwit::region {

// Any thread.
class ShardStore {
 public:
  struct Options {
    std::uint64_t budget_bytes = 0;
    std::string directory{};  // for shards in files; empty: this node keeps none
    // Where memory is given back, which takes long if there is much: runs the task later, on a
    // thread that may take its time. Empty: whoever lets go of the last reference does it.
    std::function<void(Task)> dispose{};
  };
  explicit ShardStore(Options options);
  ShardStore(const ShardStore&) = delete;
  ShardStore& operator=(const ShardStore&) = delete;

  // The memory of the descriptor's shard of that number: zeroed, or what is in its file. Errors:
  // resource_exhausted (the budget: says what is wanted and what is left), invalid_argument (no
  // folder for files), already_exists (the file holds something of another shape, or another
  // process has it), not_found (FileUse::find, and there is none), io.
  [[nodiscard]] Result<std::shared_ptr<Shard>> create(const wire::RegionDescriptor& descriptor,
                                                      std::uint32_t number,
                                                      FileUse use = FileUse::find_or_make);
  // A life page for whoever maps a shard. Errors: unsupported, resource_exhausted.
  [[nodiscard]] Result<fabric::Fd> share_life();
  [[nodiscard]] const Budget& budget() const noexcept { return *budget_; }

 private:
  Options options_;
  std::shared_ptr<Budget> budget_;
  std::mutex life_mutex_;
  std::unique_ptr<fabric::LifeWord> life_;  // made at the first question
};

}  // namespace godwit::region
