#include "code/jit/entry.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::code::jit {
namespace {

constexpr const char* kThrew = "the function built at run time threw an exception";
const llvm::Align kReplyAlign{16};  // mobile_abi.h

std::string text_of_type(const llvm::Type* type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type->print(stream);
  return text;
}

// The IR types a scalar may have, the usual one first; empty if the type is not a scalar.
std::vector<llvm::Type*> scalar_types(const Type& type, llvm::LLVMContext& context) {
  switch (type.kind) {
    case TypeKind::boolean: return {llvm::Type::getInt1Ty(context), llvm::Type::getInt8Ty(context)};
    case TypeKind::f32: return {llvm::Type::getFloatTy(context)};
    case TypeKind::f64: return {llvm::Type::getDoubleTy(context)};
    default: break;
  }
  if (!type.is_scalar()) return {};
  return {llvm::Type::getIntNTy(context, static_cast<unsigned>(type.size * 8))};
}

class EntryWriter {
 public:
  EntryWriter(llvm::Module& module, llvm::Function& target, const Signature& signature)
      : module_(module),
        context_(module.getContext()),
        target_(target),
        signature_(signature),
        builder_(context_),
        pointer_(llvm::PointerType::getUnqual(context_)),
        word_(builder_.getInt64Ty()) {}

  Status check() const {
    std::vector<std::vector<llvm::Type*>> wanted;
    const Type& result = signature_.result;
    const bool by_pointer = result.plain && !result.is_scalar();
    if (by_pointer) wanted.push_back({pointer_});
    for (const Type& parameter : signature_.parameters) {
      if (parameter.is_scalar()) {
        wanted.push_back(scalar_types(parameter, context_));
      } else if (parameter.plain) {
        wanted.push_back({pointer_});
      } else if (parameter.is_raw()) {
        wanted.push_back({pointer_});
        wanted.push_back({word_});
      } else {
        return fail(ErrorCode::invalid_argument,
                    "cannot build {}: a parameter of type {} cannot be passed to IR; use scalars, "
                    "plain structs, str, bytes and spans",
                    target_.getName().str(), parameter.text());
      }
    }
    if (!result.plain && result.kind != TypeKind::unit) {
      return fail(ErrorCode::invalid_argument,
                  "cannot build {}: a result of type {} cannot come from IR; use a scalar, a plain "
                  "struct or nothing",
                  target_.getName().str(), result.text());
    }
    if (target_.isVarArg() || wanted.size() != target_.arg_size()) return mismatch();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!llvm::is_contained(wanted[i], target_.getArg(static_cast<unsigned>(i))->getType())) {
        return mismatch();
      }
    }
    const bool returns = result.is_scalar();
    llvm::Type* returned = target_.getReturnType();
    if (returns ? !llvm::is_contained(scalar_types(result, context_), returned)
                : !returned->isVoidTy()) {
      return mismatch();
    }
    return {};
  }

  void write(const std::string& name) {
    auto* type = llvm::FunctionType::get(builder_.getInt32Ty(),
                                         {pointer_, pointer_, word_, pointer_}, false);
    entry_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
    entry_->setUWTableKind(llvm::UWTableKind::Async);
    bad_ = llvm::BasicBlock::Create(context_, "bad_arguments", entry_);
    builder_.SetInsertPoint(bad_);
    set_reply_size(builder_.getInt64(0));
    builder_.CreateRet(builder_.getInt32(GODWIT_BAD_ARGS));

    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", entry_, bad_));
    const HeadLayout head = head_layout(signature_.parameters);
    require(builder_.CreateICmpUGE(args_size(), builder_.getInt64(head.size)));
    std::vector<llvm::Value*> arguments;
    const Type& result = signature_.result;
    if (result.plain && !result.is_scalar()) arguments.push_back(room_for_result());
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      read_parameter(signature_.parameters[i], head.slots[i].offset, arguments);
    }
    llvm::Value* value = call_target(arguments);
    if (result.is_scalar()) {
      if (result.kind == TypeKind::boolean) value = as_bool_byte(value);
      builder_.CreateAlignedStore(value, reply_data(), kReplyAlign);
    }
    set_reply_size(builder_.getInt64(result.plain ? result.size : 0));
    builder_.CreateRet(builder_.getInt32(GODWIT_OK));
  }

 private:
  Status mismatch() const {
    return fail(ErrorCode::type_mismatch,
                "cannot build {}: the signature is {}, the IR defines {}; see mobile_abi.h for how "
                "parameters are passed",
                target_.getName().str(), signature_.text(),
                text_of_type(target_.getFunctionType()));
  }

  llvm::Value* args() { return entry_->getArg(1); }
  llvm::Value* args_size() { return entry_->getArg(2); }
  llvm::Value* reply_field(std::size_t offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), entry_->getArg(3), offset);
  }
  llvm::Value* reply_data() {
    return builder_.CreateLoad(pointer_, reply_field(offsetof(godwit_reply, data)));
  }
  void set_reply_size(llvm::Value* size) {
    builder_.CreateStore(size, reply_field(offsetof(godwit_reply, size)));
  }

  // Goes on only if the condition holds; otherwise the arguments are bad.
  void require(llvm::Value* condition) {
    auto* next = llvm::BasicBlock::Create(context_, "", entry_, bad_);
    builder_.CreateCondBr(condition, next, bad_);
    builder_.SetInsertPoint(next);
  }
  void require_aligned(llvm::Value* address, std::uint64_t align) {
    if (align <= 1) return;
    llvm::Value* low = builder_.CreateAnd(builder_.CreatePtrToInt(address, word_), align - 1);
    require(builder_.CreateICmpEQ(low, builder_.getInt64(0)));
  }
  llvm::Value* in_blob(llvm::Value* offset) {
    return builder_.CreateGEP(builder_.getInt8Ty(), args(), offset);
  }
  llvm::Value* load(llvm::Type* type, std::uint64_t offset) {
    return builder_.CreateAlignedLoad(type, in_blob(builder_.getInt64(offset)), llvm::Align(1));
  }
  llvm::Value* as_bool_byte(llvm::Value* value) {
    auto* zero = llvm::ConstantInt::get(value->getType(), 0);
    return builder_.CreateZExt(builder_.CreateICmpNE(value, zero), builder_.getInt8Ty());
  }

  void read_parameter(const Type& type, std::uint64_t offset, std::vector<llvm::Value*>& out) {
    llvm::Type* expected = target_.getArg(static_cast<unsigned>(out.size()))->getType();
    if (type.kind == TypeKind::boolean) {
      llvm::Value* byte = as_bool_byte(load(builder_.getInt8Ty(), offset));
      out.push_back(builder_.CreateTrunc(byte, expected));
    } else if (type.is_scalar()) {
      out.push_back(load(expected, offset));
    } else if (type.plain) {
      llvm::Value* address = in_blob(builder_.getInt64(offset));
      require_aligned(address, type.align);
      out.push_back(address);
    } else {
      read_segment(type, offset, out);
    }
  }

  // {u64 offset, u64 count} in the head; the elements in the tail.
  void read_segment(const Type& type, std::uint64_t slot, std::vector<llvm::Value*>& out) {
    llvm::Value* offset = load(word_, slot);
    llvm::Value* count = load(word_, slot + 8);
    require(builder_.CreateICmpULE(offset, args_size()));
    llvm::Value* room = builder_.CreateSub(args_size(), offset);
    auto* element_size = builder_.getInt64(type.raw_element_size());
    require(builder_.CreateICmpULE(count, builder_.CreateUDiv(room, element_size)));
    llvm::Value* address = in_blob(offset);
    // An empty segment may stand anywhere.
    const std::uint64_t align = type.items.empty() ? 1 : type.items.front().align;
    if (align > 1) {
      llvm::Value* low = builder_.CreateAnd(builder_.CreatePtrToInt(address, word_), align - 1);
      require(builder_.CreateOr(builder_.CreateICmpEQ(count, builder_.getInt64(0)),
                                builder_.CreateICmpEQ(low, builder_.getInt64(0))));
    }
    out.push_back(address);
    out.push_back(count);
  }

  // Where a plain result goes: the reply's own room, or more of it.
  llvm::Value* room_for_result() {
    if (signature_.result.size <= GODWIT_REPLY_CAPACITY) return reply_data();
    auto* type = llvm::FunctionType::get(pointer_, {pointer_, word_}, false);
    llvm::Value* reserve =
        builder_.CreateLoad(pointer_, reply_field(offsetof(godwit_reply, reserve)));
    llvm::Value* room = builder_.CreateCall(
        type, reserve, {entry_->getArg(3), builder_.getInt64(signature_.result.size)});
    auto* refused = llvm::BasicBlock::Create(context_, "refused", entry_, bad_);
    auto* next = llvm::BasicBlock::Create(context_, "", entry_, bad_);
    builder_.CreateCondBr(builder_.CreateIsNull(room), refused, next);
    builder_.SetInsertPoint(refused);
    set_reply_size(builder_.getInt64(0));
    builder_.CreateRet(builder_.getInt32(GODWIT_APP_ERROR));
    builder_.SetInsertPoint(next);
    return room;
  }

  llvm::Value* call_target(const std::vector<llvm::Value*>& arguments) {
    llvm::CallBase* call = nullptr;
    if (target_.doesNotThrow()) {
      call = builder_.CreateCall(&target_, arguments);
    } else {
      auto* next = llvm::BasicBlock::Create(context_, "", entry_, bad_);
      auto* caught = llvm::BasicBlock::Create(context_, "caught", entry_, bad_);
      call = builder_.CreateInvoke(&target_, next, caught, arguments);
      write_catch(caught);
      builder_.SetInsertPoint(next);
    }
    call->setCallingConv(target_.getCallingConv());
    call->setAttributes(target_.getAttributes().removeFnAttributes(context_));
    return call;
  }

  void write_catch(llvm::BasicBlock* block) {
    auto* number = builder_.getInt32Ty();
    entry_->setPersonalityFn(llvm::cast<llvm::Constant>(
        module_.getOrInsertFunction("__gxx_personality_v0", llvm::FunctionType::get(number, true))
            .getCallee()));
    builder_.SetInsertPoint(block);
    auto* pad = builder_.CreateLandingPad(llvm::StructType::get(pointer_, number), 1);
    pad->addClause(llvm::ConstantPointerNull::get(pointer_));
    const auto begin = module_.getOrInsertFunction("__cxa_begin_catch", pointer_, pointer_);
    const auto end = module_.getOrInsertFunction("__cxa_end_catch", builder_.getVoidTy());
    builder_.CreateCall(begin, {builder_.CreateExtractValue(pad, 0)});
    builder_.CreateCall(end);
    const llvm::StringRef words(kThrew);
    builder_.CreateMemCpy(reply_data(), kReplyAlign, builder_.CreateGlobalString(words),
                          llvm::Align(1), words.size());
    set_reply_size(builder_.getInt64(words.size()));
    builder_.CreateRet(builder_.getInt32(GODWIT_APP_ERROR));
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::Function& target_;
  const Signature& signature_;
  llvm::IRBuilder<> builder_;
  llvm::PointerType* pointer_;
  llvm::IntegerType* word_;
  llvm::Function* entry_ = nullptr;
  llvm::BasicBlock* bad_ = nullptr;
};

// Front ends leave more in a module than one function needs, with imports no node has.
void keep_only(llvm::Module& module, const std::string& entry) {
  for (llvm::GlobalObject& object : module.global_objects()) object.setComdat(nullptr);
  llvm::internalizeModule(module,
                          [&](const llvm::GlobalValue& value) { return value.getName() == entry; });
  llvm::ModuleAnalysisManager modules;
  llvm::FunctionAnalysisManager functions;
  llvm::LoopAnalysisManager loops;
  llvm::CGSCCAnalysisManager components;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.registerCGSCCAnalyses(components);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
}

}  // namespace

Result<std::string> add_entry(llvm::Module& module, const std::string& function,
                              const Signature& signature) {
  llvm::Function* target = module.getFunction(function);
  if (target == nullptr || target->isDeclaration()) {
    return fail(ErrorCode::unknown_function, "cannot build {}: the IR does not define it",
                function);
  }
  std::string entry = "godwit_entry_" + function;
  if (module.getNamedValue(entry) != nullptr) {
    return fail(ErrorCode::invalid_argument, "cannot build {}: the IR already defines {}", function,
                entry);
  }
  EntryWriter writer(module, *target, signature);
  GODWIT_CHECK(writer.check());
  writer.write(entry);
  keep_only(module, entry);
  return entry;
}

}  // namespace godwit::code::jit
