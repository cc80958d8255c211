#include "code/jit/prepare.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>

#include <algorithm>
#include <string>
#include <vector>

namespace godwit::code::jit {
namespace {

constexpr const char* kConstructors = "llvm.global_ctors";
constexpr const char* kDestructors = "llvm.global_dtors";
constexpr const char* kHandle = "__dso_handle";

// These attributes name the CPU the bitcode was built for and would win over the TargetMachine's.
void retarget(llvm::Module& module, const Host& host) {
  for (llvm::Function& function : module) {
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"}) {
      function.removeFnAttr(attribute);
    }
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    if (host.vector_width_bits() != 0 && !function.hasFnAttribute("prefer-vector-width")) {
      function.addFnAttr("prefer-vector-width", std::to_string(host.vector_width_bits()));
    }
  }
}

// Definitions of other libraries may be anywhere in the address space: reach them through the GOT.
// One module is all there is, so there is nothing to choose a COMDAT among.
void loosen_linkage(llvm::Module& module) {
  for (llvm::GlobalObject& object : module.global_objects()) {
    object.setComdat(nullptr);
    if (!object.isDeclaration()) continue;
    object.setVisibility(llvm::GlobalValue::DefaultVisibility);
    object.setDSOLocal(false);
  }
}

// The variable whose address is the library's handle and whose value is its Image.
llvm::GlobalVariable* library_handle(llvm::Module& module) {
  auto* pointer = llvm::PointerType::getUnqual(module.getContext());
  llvm::GlobalVariable* old = module.getNamedGlobal(kHandle);
  if (old != nullptr && !old->isDeclaration()) return old;
  auto* handle = new llvm::GlobalVariable(module, pointer, /*isConstant=*/false,
                                          llvm::GlobalValue::InternalLinkage,
                                          llvm::ConstantPointerNull::get(pointer));
  if (old != nullptr) {
    old->replaceAllUsesWith(handle);
    old->eraseFromParent();
  }
  handle->setName(kHandle);
  return handle;
}

void install_hook(llvm::Module& module, const Hook& hook) {
  llvm::Function* declared = module.getFunction(hook.symbol);
  if (declared == nullptr || !declared->isDeclaration() || declared->isVarArg()) return;
  auto* type = declared->getFunctionType();
  auto* handle = library_handle(module);
  std::vector<llvm::Type*> parameters(type->param_begin(), type->param_end());
  parameters.push_back(handle->getType());
  const auto target = module.getOrInsertFunction(
      hook.replacement, llvm::FunctionType::get(type->getReturnType(), parameters, false));

  auto* shim = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "", module);
  shim->setUWTableKind(llvm::UWTableKind::Async);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", shim));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : shim->args()) arguments.push_back(&argument);
  arguments.push_back(handle);
  llvm::CallInst* call = builder.CreateCall(target, arguments);
  if (type->getReturnType()->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(call);
  }
  declared->replaceAllUsesWith(shim);
  declared->eraseFromParent();
}

struct Step {
  std::uint64_t priority;
  llvm::Function* function;
};

bool runs_before(const Step& a, const Step& b) {
  return a.priority < b.priority;
}

// The list's functions, by priority and then in the list's order.
std::vector<Step> take_steps(llvm::Module& module, const char* list_name) {
  std::vector<Step> steps;
  llvm::GlobalVariable* list = module.getNamedGlobal(list_name);
  if (list == nullptr) return steps;
  if (auto* array = list->hasInitializer()
                        ? llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer())
                        : nullptr) {
    for (const llvm::Use& element : array->operands()) {
      const auto* fields = llvm::dyn_cast<llvm::ConstantStruct>(element.get());
      if (fields == nullptr) continue;  // zeroinitializer: a null function ends nothing here
      const auto* priority = llvm::cast<llvm::ConstantInt>(fields->getOperand(0));
      auto* function = llvm::dyn_cast<llvm::Function>(fields->getOperand(1)->stripPointerCasts());
      if (function == nullptr) continue;
      const Step step{priority->getZExtValue(), function};
      steps.insert(std::upper_bound(steps.begin(), steps.end(), step, runs_before), step);
    }
  }
  list->eraseFromParent();
  return steps;
}

llvm::Function* make_sequence(llvm::Module& module, const char* name,
                              llvm::ArrayRef<llvm::Type*> parameters,
                              const std::vector<Step>& steps) {
  auto* nothing = llvm::Type::getVoidTy(module.getContext());
  auto* sequence = llvm::Function::Create(llvm::FunctionType::get(nothing, parameters, false),
                                          llvm::GlobalValue::ExternalLinkage, name, module);
  sequence->setUWTableKind(llvm::UWTableKind::Async);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", sequence));
  for (const Step& step : steps) {
    builder.CreateCall(step.function->getFunctionType(), step.function);
  }
  builder.CreateRetVoid();
  return sequence;
}

// Linkers run .init_array; nobody does for an object linked into a process. Calls do not get lost.
void make_init_and_fini(llvm::Module& module) {
  const std::vector<Step> constructors = take_steps(module, kConstructors);
  std::vector<Step> destructors = take_steps(module, kDestructors);
  auto* handle = module.getNamedGlobal(kHandle);
  if (!constructors.empty() || handle != nullptr) {
    auto* pointer = llvm::PointerType::getUnqual(module.getContext());
    llvm::Function* init = make_sequence(module, kInitSymbol, {pointer}, constructors);
    if (handle != nullptr) {
      llvm::IRBuilder<> builder(&init->getEntryBlock(), init->getEntryBlock().begin());
      builder.CreateStore(init->getArg(0), handle);
    }
  }
  if (!destructors.empty()) {
    std::reverse(destructors.begin(), destructors.end());
    make_sequence(module, kFiniSymbol, {}, destructors);
  }
}

// Emulated thread-locals are found by name only among themselves; a variable of a real library
// (std::call_once uses two of libstdc++) is found by asking the dynamic linker.
void import_thread_local(llvm::Module& module, llvm::GlobalVariable& variable) {
  auto* pointer = llvm::PointerType::getUnqual(module.getContext());
  auto* byte = llvm::Type::getInt8Ty(module.getContext());
  auto* token = new llvm::GlobalVariable(module, byte, true, llvm::GlobalValue::ExternalLinkage,
                                         nullptr, kTlsPrefix + variable.getName());
  const auto address = module.getOrInsertFunction(
      kTlsAddressSymbol, llvm::FunctionType::get(pointer, {pointer}, false));
  llvm::convertUsersOfConstantsToInstructions({&variable});
  const std::vector<llvm::User*> users(variable.user_begin(), variable.user_end());
  for (llvm::User* user : users) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr) continue;
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
        intrinsic != nullptr &&
        intrinsic->getIntrinsicID() == llvm::Intrinsic::threadlocal_address) {
      llvm::IRBuilder<> builder(intrinsic);
      intrinsic->replaceAllUsesWith(builder.CreateCall(address, {token}));
      intrinsic->eraseFromParent();
      continue;
    }
    for (llvm::Use& operand : instruction->operands()) {
      if (operand.get() != &variable) continue;
      llvm::Instruction* before = instruction;
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
        before = phi->getIncomingBlock(operand)->getTerminator();
      }
      llvm::IRBuilder<> builder(before);
      operand.set(builder.CreateCall(address, {token}));
    }
  }
  if (variable.use_empty()) variable.eraseFromParent();
}

void import_thread_locals(llvm::Module& module) {
  std::vector<llvm::GlobalVariable*> imported;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isThreadLocal() && variable.isDeclaration()) imported.push_back(&variable);
  }
  for (llvm::GlobalVariable* variable : imported) import_thread_local(module, *variable);
}

// The linker finds the library's own thread-locals by their symbols.
void name_thread_locals(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.isThreadLocal() || variable.isDeclaration()) continue;
    if (variable.hasPrivateLinkage()) variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (!variable.hasName()) variable.setName("unnamed");
  }
}

bool has_elements(const llvm::Module& module, const char* list_name) {
  const auto* list = module.getNamedGlobal(list_name);
  return list != nullptr && list->hasInitializer() && !list->getInitializer()->isNullValue();
}

}  // namespace

bool is_stateful(const llvm::Module& module) {
  if (has_elements(module, kConstructors) || has_elements(module, kDestructors)) return true;
  return std::any_of(module.global_begin(), module.global_end(), [](const auto& variable) {
    return !variable.isDeclarationForLinker() && !variable.isConstant() &&
           !variable.getName().starts_with("llvm.") && variable.getName() != kHandle;
  });
}

void prepare(llvm::Module& module, const Host& host) {
  retarget(module, host);
  import_thread_locals(module);
  name_thread_locals(module);
  if (module.getNamedGlobal(kHandle) != nullptr) library_handle(module);
  for (const Hook& hook : kHooks) install_hook(module, hook);
  make_init_and_fini(module);
  loosen_linkage(module);
}

}  // namespace godwit::code::jit
