#include "code/jit/host.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code::jit {
namespace {

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();  // inline assembly in the bitcode
  });
}

// Sorted, so that the string is the same in every process and can name cached objects.
std::string host_features(bool& has_avx512) {
  std::vector<std::pair<std::string, bool>> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    features.emplace_back(feature.getKey().str(), feature.getValue());
  }
  std::sort(features.begin(), features.end());
  llvm::SubtargetFeatures joined;
  for (const auto& [name, enabled] : features) {
    joined.AddFeature(name, enabled);
    if (name == "avx512f") has_avx512 = enabled;
  }
  return joined.getString();
}

}  // namespace

Result<std::unique_ptr<Host>> Host::create() {
  initialise_llvm();
  std::unique_ptr<Host> host(new Host);
  host->triple_ = llvm::Triple(llvm::sys::getProcessTriple());
  host->cpu_ = llvm::sys::getHostCPUName().str();
  bool has_avx512 = false;
  host->features_ = host_features(has_avx512);
  // Several x86 tunings hold vectors to 256 bits; a loop that is worth shipping is worth 512.
  if (has_avx512) host->vector_width_bits_ = 512;
  std::string reason;
  host->target_ = llvm::TargetRegistry::lookupTarget(host->triple_.str(), reason);
  if (host->target_ == nullptr) {
    return fail(ErrorCode::unsupported, "LLVM has no code generator for this machine ({}): {}",
                host->triple_.str(), reason);
  }
  GODWIT_TRY(auto machine, host->borrow(Tier::fast));
  host->data_layout_ = std::make_unique<llvm::DataLayout>(machine->createDataLayout());
  host->give_back(Tier::fast, std::move(machine));
  return host;
}

Result<std::unique_ptr<llvm::TargetMachine>> Host::borrow(Tier tier) {
  {
    const std::lock_guard lock(mutex_);
    if (auto& machines = idle(tier); !machines.empty()) {
      auto machine = std::move(machines.back());
      machines.pop_back();
      return machine;
    }
  }
  llvm::TargetOptions options;
  // Objects with native thread-locals cannot be linked into a running process; these can.
  options.EmulatedTLS = true;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(target_->createTargetMachine(
      triple_.str(), cpu_, features_, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      tier == Tier::fast ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Aggressive,
      /*JIT=*/true));
  if (machine == nullptr) {
    return fail(ErrorCode::unsupported, "LLVM cannot generate code for {} ({})", triple_.str(),
                cpu_);
  }
  machine->setFastISel(tier == Tier::fast);
  return machine;
}

void Host::give_back(Tier tier, std::unique_ptr<llvm::TargetMachine> machine) {
  const std::lock_guard lock(mutex_);
  if (auto& machines = idle(tier); machines.size() < kMaxIdle) {
    machines.push_back(std::move(machine));
  }
}

}  // namespace godwit::code::jit
