// The machine code is generated for: this one. Owns what LLVM needs to know about it.
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "code/library.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

// Thread-safe. A TargetMachine is not, and takes long to make: each compile borrows one.
class Host {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Host>> create();

  [[nodiscard]] const llvm::Triple& triple() const { return triple_; }
  [[nodiscard]] const std::string& cpu() const { return cpu_; }
  [[nodiscard]] const std::string& features() const { return features_; }
  [[nodiscard]] const llvm::DataLayout& data_layout() const { return *data_layout_; }
  // The widest vector registers of this CPU, in bits; 0 if LLVM's own choice is the widest.
  [[nodiscard]] unsigned vector_width_bits() const { return vector_width_bits_; }

  // Only one compile uses it at a time. Not giving it back (after LLVM failed inside) is fine.
  [[nodiscard]] Result<std::unique_ptr<llvm::TargetMachine>> borrow(Tier tier);
  void give_back(Tier tier, std::unique_ptr<llvm::TargetMachine> machine);

 private:
  Host() = default;
  [[nodiscard]] std::vector<std::unique_ptr<llvm::TargetMachine>>& idle(Tier tier) {
    return tier == Tier::fast ? idle_fast_ : idle_optimised_;
  }

  static constexpr std::size_t kMaxIdle = 8;  // per tier; more are freed

  llvm::Triple triple_;
  std::string cpu_;
  std::string features_;
  unsigned vector_width_bits_ = 0;
  const llvm::Target* target_ = nullptr;
  std::unique_ptr<llvm::DataLayout> data_layout_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle_fast_;       // guarded by mutex_
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle_optimised_;  // guarded by mutex_
};

}  // namespace godwit::code::jit
