#include "code/jit/linker.hpp"

#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/Support/Process.h>

#include <map>
#include <optional>
#include <utility>

#include "base/fail.hpp"
#include "code/jit/guard.hpp"
#include "code/jit/prepare.hpp"

namespace godwit::code::jit {
namespace {

namespace jl = llvm::jitlink;
using llvm::orc::ExecutorAddr;

std::size_t rounded_to_page(std::size_t bytes) {
  static const std::size_t page = llvm::sys::Process::getPageSizeEstimate();
  return (bytes + page - 1) / page * page;
}

// What a link leaves behind besides the image; the context itself is gone by then.
struct Report {
  std::optional<Error> failure;
  std::map<std::string, std::uint64_t> sections;  // where each one is
  std::vector<ThreadLocalControl*> thread_locals;
};

}  // namespace

// JITLink's view of one link. Every step is synchronous.
class Linker::Context : public jl::JITLinkContext {
 public:
  Context(Image& image, PerfMap* perf_map, Report& report)
      : JITLinkContext(nullptr), image_(image), perf_map_(perf_map), report_(report) {}

  jl::JITLinkMemoryManager& getMemoryManager() override { return *image_.memory_; }

  void notifyFailed(llvm::Error error) override {
    const std::string words = text_of(std::move(error));
    if (report_.failure) return;
    report_.failure = Error{ErrorCode::corrupt_code,
                            fmt::format("{}: the code does not link: {}", image_.name_, words)};
  }

  void lookup(const LookupMap& symbols,
              std::unique_ptr<jl::JITLinkAsyncLookupContinuation> done) override {
    jl::AsyncLookupResult found;
    std::string missing;
    for (const auto& [name, flags] : symbols) {
      void* address = image_.imports_.resolve(name.str());
      if (address == nullptr && flags == jl::SymbolLookupFlags::RequiredSymbol) {
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name.str());
        continue;
      }
      found[name] = {ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    if (missing.empty()) {
      done->run(std::move(found));
      return;
    }
    report_.failure =
        Error{ErrorCode::missing_symbol,
              fmt::format("{} uses what this node does not have: {}. Build the bundle with the "
                          "library that defines it (--needs), or with its source",
                          image_.name_, missing)};
    done->run(llvm::make_error<jl::JITLinkError>("missing symbols"));
  }

  llvm::Error notifyResolved(jl::LinkGraph& graph) override {
    for (const jl::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->hasName()) continue;
      if (symbol->getName().starts_with(kThreadLocalPrefix)) {
        report_.thread_locals.push_back(symbol->getAddress().toPtr<ThreadLocalControl*>());
      }
      if (!symbol->isCallable()) continue;
      const std::string name = symbol->getName().str();
      if (perf_map_ != nullptr) {
        perf_map_->add(symbol->getAddress().getValue(), symbol->getSize(), name);
      }
      if (symbol->getScope() != jl::Scope::Local) {
        image_.exports_.emplace(name, symbol->getAddress().toPtr<void*>());
      }
    }
    return llvm::Error::success();
  }

  void notifyFinalized(Image::Memory::FinalizedAlloc allocation) override {
    image_.allocation_ = std::move(allocation);
  }

  llvm::Error modifyPassConfig(jl::LinkGraph& graph, jl::PassConfiguration& passes) override {
    passes.PostAllocationPasses.emplace_back([this](jl::LinkGraph& allocated) {
      survey(allocated);
      return llvm::Error::success();
    });
    passes.PostFixupPasses.push_back(jl::createEHFrameRecorderPass(
        graph.getTargetTriple(), [this](ExecutorAddr start, std::size_t size) {
          if (size != 0) image_.frames_ = {start, llvm::orc::ExecutorAddrDiff(size)};
        }));
    return llvm::Error::success();
  }

 private:
  void survey(const jl::LinkGraph& graph) {
    std::map<unsigned, std::size_t> bytes;  // by protection: each is a run of pages of its own
    for (const jl::Section& section : graph.sections()) {
      const jl::SectionRange range(section);
      if (range.empty()) continue;
      bytes[static_cast<unsigned>(section.getMemProt())] += range.getSize();
      report_.sections.emplace(section.getName().str(), range.getStart().getValue());
    }
    for (const auto& [protection, size] : bytes) image_.mapped_bytes_ += rounded_to_page(size);
  }

  Image& image_;
  PerfMap* perf_map_;
  Report& report_;
};

Linker::Linker(std::shared_ptr<PerfMap> perf_map)
    : memory_(
          std::make_shared<jl::InProcessMemoryManager>(llvm::sys::Process::getPageSizeEstimate())),
      perf_map_(std::move(perf_map)) {}

Result<std::shared_ptr<Image>> Linker::link(ObjectBytes object, const std::string& name,
                                            const std::vector<std::string>& needs) {
  auto image = std::make_shared<Image>(name, memory_);
  GODWIT_CHECK(image->imports_.open(needs, name));
  image->object_ = std::move(object);
  auto graph = jl::createLinkGraphFromObject(
      {llvm::StringRef(image->object_.data(), image->object_.size()), image->name_});
  if (!graph) {
    return fail(ErrorCode::corrupt_code, "{}: the compiled object does not read: {}", name,
                text_of(graph.takeError()));
  }
  Report report;
  jl::link(std::move(*graph), std::make_unique<Context>(*image, perf_map_.get(), report));
  if (report.failure) return tl::unexpected(*std::move(report.failure));

  if (!report.thread_locals.empty()) {
    GODWIT_TRY(image->thread_locals_, ThreadLocals::create(report.thread_locals));
  }
  if (!image->frames_.empty()) {
    if (auto error = jl::InProcessEHFrameRegistrar().registerEHFrames(image->frames_)) {
      image->frames_ = {};
      return fail(ErrorCode::internal, "{}: cannot register its unwind tables: {}", name,
                  text_of(std::move(error)));
    }
  }
  image->init_ = reinterpret_cast<void (*)(Image*)>(image->find(kInitSymbol));
  image->fini_ = reinterpret_cast<void (*)()>(image->find(kFiniSymbol));
  image->exports_.erase(kInitSymbol);
  image->exports_.erase(kFiniSymbol);
  image->debugger_.emplace(
      std::as_writable_bytes(std::span(image->object_.data(), image->object_.size())),
      report.sections);
  return image;
}

}  // namespace godwit::code::jit
