#include "node/lazy_jit.hpp"

#include <string>
#include <utility>

#include "base/fail.hpp"

namespace godwit::node {

Result<code::jit::Jit*> LazyJit::open() {
  const std::lock_guard lock(mutex_);
  if (error_) return tl::unexpected(*error_);
  if (jit_ == nullptr) {
    auto opened = code::jit::open_jit(options_);
    if (!opened) {
      error_ = opened.error();
      return tl::unexpected(*error_);
    }
    jit_ = *std::move(opened);
    is_open_.store(true, std::memory_order_release);
  }
  for (const std::string& warning : jit_->take_warnings()) log_.warn("JIT: {}", warning);
  return jit_.get();
}

Result<std::unique_ptr<code::Library>> LazyJit::load(const code::LoadRequest& request) {
  GODWIT_TRY(code::jit::Jit * jit, open());
  return jit->load(request);
}

Result<std::shared_ptr<const code::CompiledCode>> LazyJit::compile(
    const code::LoadRequest& request) {
  GODWIT_TRY(code::jit::Jit * jit, open());
  return jit->compile(request);
}

std::shared_ptr<const code::CompiledCode> LazyJit::find_compiled(const code::LoadRequest& request) {
  const auto jit = open();
  return jit ? (*jit)->find_compiled(request) : nullptr;
}

Status LazyJit::preload() {
  GODWIT_TRY(code::jit::Jit * jit, open());
  return jit->warm_up();
}

Result<code::Bundle> LazyJit::build(Bytes ir, std::string_view function,
                                    std::string_view signature) {
  GODWIT_TRY(code::jit::Jit * jit, open());
  GODWIT_TRY(code::jit::BuiltCode built,
             jit->build({ir, std::string(function), std::string(signature)}));
  GODWIT_TRY(const bool stateful, jit->stateful(built.bitcode.view()));
  const code::jit::JitInfo info = jit->info();
  code::SliceInfo slice;
  slice.kind = code::SliceKind::bitcode;
  slice.machine = code::host_machine();
  slice.triple = code::triple_of(slice.machine);
  slice.producer = "godwit build, LLVM " + info.llvm_version;
  slice.llvm_major = static_cast<std::uint16_t>(info.llvm_major);
  slice.traits.mutable_globals = stateful;
  code::BundleBuilder builder{std::string(function)};
  builder.producer("godwit build");
  builder.function({std::string(function), std::string(signature), built.entry, 0});
  builder.slice(std::move(slice), std::move(built.bitcode));
  return std::move(builder).build();
}

}  // namespace godwit::node
