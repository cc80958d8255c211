#include "code/jit/compile.hpp"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code::jit {
namespace {

// The pipeline and its analyses are left alone when LLVM throws out of them (see guard.hpp), hence
// on the heap and without an owner meanwhile.
struct Pipeline {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, llvm::OptimizationLevel level) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.LoopUnrolling = true;
  llvm::PassBuilder builder(&machine, tuning);
  auto* pipeline = new Pipeline;
  builder.registerModuleAnalyses(pipeline->modules);
  builder.registerCGSCCAnalyses(pipeline->components);
  builder.registerFunctionAnalyses(pipeline->functions);
  builder.registerLoopAnalyses(pipeline->loops);
  builder.crossRegisterProxies(pipeline->loops, pipeline->functions, pipeline->components,
                               pipeline->modules);
  auto passes = level == llvm::OptimizationLevel::O0 ? builder.buildO0DefaultPipeline(level)
                                                     : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, pipeline->modules);
  delete pipeline;
}

// Some of what front ends write is no more than a promise that a pass will replace it: functions to
// inline that have no body to call (parts of libstdc++), and coroutines.
bool needs_lowering(const llvm::Module& module) {
  return std::any_of(module.begin(), module.end(), [](const llvm::Function& function) {
    return !function.use_empty() && (function.hasFnAttribute(llvm::Attribute::AlwaysInline) ||
                                     function.getName().starts_with("llvm.coro."));
  });
}

bool generate(llvm::Module& module, llvm::TargetMachine& machine, ObjectBytes& object) {
  llvm::raw_svector_ostream stream(object);
  auto* passes = new llvm::legacy::PassManager;
  llvm::MCContext* context = nullptr;
  const bool supported =
      !machine.addPassesToEmitMC(*passes, context, stream, /*DisableVerify=*/true);
  if (supported) passes->run(module);
  delete passes;
  return supported;
}

}  // namespace

Result<ObjectBytes> compile(Unit& unit, Host& host, Tier tier, const std::string& name) {
  GODWIT_TRY(auto machine, host.borrow(tier));
  ObjectBytes object;
  bool supported = true;
  const auto fatal = fatal_error_of([&] {
    if (tier == Tier::optimised) {
      run_passes(*unit.module, *machine, llvm::OptimizationLevel::O3);
    } else if (needs_lowering(*unit.module)) {
      run_passes(*unit.module, *machine, llvm::OptimizationLevel::O0);
    }
    supported = generate(*unit.module, *machine, object);
  });
  if (fatal) {
    unit.abandoned = true;
    (void)machine.release();
    return fail(ErrorCode::compile_failed, "{}: LLVM cannot compile this for {}: {}", name,
                host.cpu(), *fatal);
  }
  host.give_back(tier, std::move(machine));
  if (!supported) {
    return fail(ErrorCode::compile_failed, "{}: LLVM writes no objects for {}", name,
                host.triple().str());
  }
  if (unit.diagnostics.failed()) {
    return fail(ErrorCode::compile_failed, "{}: LLVM cannot compile this for {}: {}", name,
                host.cpu(), unit.diagnostics.text());
  }
  return object;
}

}  // namespace godwit::code::jit
