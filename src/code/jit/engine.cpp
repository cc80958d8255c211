#include "code/jit/engine.hpp"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>

#include <utility>

#include "base/fail.hpp"
#include "code/jit/compile.hpp"
#include "code/jit/entry.hpp"
#include "code/jit/prepare.hpp"
#include "code/jit/reader.hpp"
#include "code/jit/warm_up_ir.hpp"
#include "code/types/type.hpp"

namespace godwit::code::jit {
namespace {

// Part of every cache key: rises when prepare() or the runtime changes what an object means.
constexpr unsigned kObjectFormat = 2;

struct CompiledObject final : CompiledCode {
  explicit CompiledObject(ObjectBytes bytes) : object(std::move(bytes)) {}
  ObjectBytes object;
};

class JitLibrary final : public Library {
 public:
  explicit JitLibrary(std::shared_ptr<Image> image) : image_(std::move(image)) {}
  [[nodiscard]] godwit_entry entry(std::string_view symbol) const override {
    return reinterpret_cast<godwit_entry>(image_->find(symbol));
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return image_->memory_bytes(); }
  [[nodiscard]] std::optional<std::string> pinned() const override { return image_->pinned(); }

 private:
  std::shared_ptr<Image> image_;
};

}  // namespace

Engine::Engine(std::unique_ptr<Host> host)
    : host_(std::move(host)), linker_(PerfMap::from_environment()) {}

Result<std::unique_ptr<Jit>> Engine::create(const JitOptions& options) {
  GODWIT_TRY(auto host, Host::create());
  std::unique_ptr<Engine> engine(new Engine(std::move(host)));
  if (!options.cache_directory.empty()) {
    auto cache = ObjectCache::open(options.cache_directory, options.cache_limit_bytes);
    if (cache) {
      engine->cache_ = *std::move(cache);
    } else {
      engine->warn(cache.error().message + ". Bitcode is compiled anew in every process");
    }
  }
  return engine;
}

Result<std::unique_ptr<Library>> Engine::load(const LoadRequest& request) {
  if (request.tier == Tier::native) {
    return fail(ErrorCode::invalid_argument, "{}: the JIT loads bitcode, not native code",
                request.name);
  }
  GODWIT_TRY(ObjectBytes object, object_of(request));
  GODWIT_TRY(auto image, linker_.link(std::move(object), request.name, request.needs));
  GODWIT_CHECK(image->start());
  return std::make_unique<JitLibrary>(std::move(image));
}

Result<std::shared_ptr<const CompiledCode>> Engine::compile(const LoadRequest& request) {
  GODWIT_TRY(ObjectBytes object, object_of(request));
  return std::make_shared<CompiledObject>(std::move(object));
}

std::shared_ptr<const CompiledCode> Engine::find_compiled(const LoadRequest& request) {
  auto object = find_object(request);
  return object ? std::make_shared<CompiledObject>(*std::move(object)) : nullptr;
}

// At hand, in the cache, or compiled.
Result<ObjectBytes> Engine::object_of(const LoadRequest& request) {
  if (request.compiled != nullptr) {
    return static_cast<const CompiledObject&>(*request.compiled).object;
  }
  if (auto found = find_object(request)) return *std::move(found);
  GODWIT_TRY(ObjectBytes object, compile_slice(request));
  keep_object(request, object);
  return object;
}

Result<ObjectBytes> Engine::compile_slice(const LoadRequest& request) {
  GODWIT_TRY(UnitPtr unit, read_slice(request.code, request.name, *host_));
  prepare(*unit->module, *host_);
  GODWIT_TRY(ObjectBytes object, jit::compile(*unit, *host_, request.tier, request.name));
  compiled_.fetch_add(1, std::memory_order_relaxed);
  return object;
}

std::optional<ObjectBytes> Engine::find_object(const LoadRequest& request) {
  if (cache_ == nullptr || request.tier != Tier::optimised) return std::nullopt;
  const auto found = cache_->find(cache_key(request));
  if (found.rejected) cache_rejected_.fetch_add(1, std::memory_order_relaxed);
  if (!found.object) return std::nullopt;
  cache_hits_.fetch_add(1, std::memory_order_relaxed);
  return ObjectBytes(found.object->begin(), found.object->end());
}

// The fast tier is not kept: writing it would lie in the way of a first call, and the optimised one
// that follows is the one to find next time.
void Engine::keep_object(const LoadRequest& request, const ObjectBytes& object) {
  if (cache_ == nullptr || request.tier != Tier::optimised) return;
  const auto stored =
      cache_->store(cache_key(request), std::as_bytes(std::span(object.data(), object.size())));
  if (!stored && !cache_warned_.exchange(true)) warn(stored.error().message);
}

ContentId Engine::cache_key(const LoadRequest& request) const {
  const ContentId slice = request.slice ? request.slice : ContentId::of(request.code);
  return ContentId::of(bytes_of(fmt::format("{}|{}|{}|{}|{}|{}|{}", kObjectFormat, slice.hex(),
                                            to_string(request.tier), host_->triple().str(),
                                            host_->cpu(), host_->features(), LLVM_VERSION_STRING)));
}

JitInfo Engine::info() const {
  return {.llvm_version = LLVM_VERSION_STRING,
          .llvm_major = LLVM_VERSION_MAJOR,
          .arch = host_->triple().getArchName().str(),
          .cpu = host_->cpu(),
          .features = host_->features()};
}

Result<bool> Engine::stateful(Bytes bitcode) {
  GODWIT_TRY(const UnitPtr unit, read_slice(bitcode, "slice", *host_));
  return is_stateful(*unit->module);
}

Result<BuiltCode> Engine::build(const BuildRequest& request) {
  GODWIT_TRY(const Signature signature, parse_signature(request.signature));
  GODWIT_TRY(const UnitPtr unit, read_ir(request.ir, request.function, *host_));
  Result<std::string> entry;
  std::string bitcode;
  const auto fatal = fatal_error_of([&] {
    entry = add_entry(*unit->module, request.function, signature);
    if (!entry) return;
    llvm::raw_string_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(*unit->module, stream);
  });
  if (fatal) {
    unit->abandoned = true;
    return fail(ErrorCode::compile_failed, "cannot build {}: {}", request.function, *fatal);
  }
  GODWIT_CHECK(entry);
  return BuiltCode{Buffer::copy_of(bytes_of(bitcode)), *std::move(entry)};
}

Status Engine::warm_up() {
  std::string bitcode;
  {
    GODWIT_TRY(const UnitPtr text, read_ir(bytes_of(kWarmUpIr), "warm-up", *host_));
    llvm::raw_string_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(*text->module, stream);
  }
  for (const Tier tier : {Tier::fast, Tier::optimised}) {
    GODWIT_TRY(UnitPtr unit, read_slice(bytes_of(bitcode), "warm-up", *host_));
    prepare(*unit->module, *host_);
    GODWIT_TRY(ObjectBytes object, jit::compile(*unit, *host_, tier, "warm-up"));
    GODWIT_CHECK(linker_.link(std::move(object), "warm-up", {}));
  }
  return {};
}

std::vector<std::string> Engine::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

JitCounters Engine::counters() const {
  return {.compiled = compiled_.load(std::memory_order_relaxed),
          .cache_hits = cache_hits_.load(std::memory_order_relaxed),
          .cache_rejected = cache_rejected_.load(std::memory_order_relaxed)};
}

// Called a fixed number of times per engine, so the list needs no limit of its own.
void Engine::warn(std::string text) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(std::move(text));
}

}  // namespace godwit::code::jit
