#include "code/jit/reader.hpp"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/AutoUpgrade.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <charconv>
#include <utility>

#include "base/fail.hpp"

namespace godwit::code::jit {
namespace {

llvm::StringRef view_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_bitcode(Bytes bytes) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  return llvm::isBitcode(begin, begin + bytes.size());
}

// The major version in "LLVM19.1.7", or 0.
unsigned producer_major(const std::string& producer) {
  unsigned major = 0;
  const std::size_t at = producer.rfind("LLVM");
  if (at == std::string::npos) return 0;
  std::from_chars(producer.data() + at + 4, producer.data() + producer.size(), major);
  return major;
}

Status unreadable(llvm::MemoryBufferRef buffer, const std::string& name, const std::string& why) {
  std::string producer = "an unknown compiler";
  if (auto found = llvm::getBitcodeProducerString(buffer)) {
    producer = *found;
  } else {
    llvm::consumeError(found.takeError());
  }
  if (producer_major(producer) > LLVM_VERSION_MAJOR) {
    return fail(ErrorCode::no_slice,
                "{}: bitcode was made by {}, and this node reads LLVM up to {}; build the bundle "
                "with clang-{}, or with a native slice",
                name, producer, LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR);
  }
  return fail(ErrorCode::corrupt_code, "{}: bitcode made by {} does not read: {}", name, producer,
              why);
}

Status abandon(Unit& unit, const std::string& name, const std::string& why) {
  unit.abandoned = true;
  return fail(ErrorCode::corrupt_code, "{}: LLVM gave up on it: {}", name, why);
}

Status parse_bitcode(Unit& unit, Bytes bytes, const std::string& name) {
  const llvm::MemoryBufferRef buffer(view_of(bytes), name);
  std::string error;
  const auto fatal = fatal_error_of([&] {
    auto parsed = llvm::parseBitcodeFile(buffer, unit.context);
    if (parsed) {
      unit.module = std::move(*parsed);
    } else {
      error = text_of(parsed.takeError());
    }
  });
  if (fatal) return abandon(unit, name, *fatal);
  if (!error.empty()) return unreadable(buffer, name, error);
  return {};
}

Status parse_text(Unit& unit, Bytes bytes, const std::string& name) {
  llvm::SMDiagnostic diagnostic;
  const auto buffer = llvm::MemoryBuffer::getMemBufferCopy(view_of(bytes), name);
  const auto fatal = fatal_error_of([&] {
    unit.module = llvm::parseAssembly(
        buffer->getMemBufferRef(), diagnostic, unit.context, nullptr,
        [](llvm::StringRef triple, llvm::StringRef layout) -> std::optional<std::string> {
          return llvm::UpgradeDataLayoutString(layout, triple);
        });
  });
  if (fatal) return abandon(unit, name, *fatal);
  if (unit.module == nullptr) {
    return fail(ErrorCode::corrupt_code, "{}: IR does not parse: line {}: {}", name,
                diagnostic.getLineNo(), diagnostic.getMessage().str());
  }
  return {};
}

Status check_machine(llvm::Module& module, const std::string& name, const Host& host) {
  const llvm::Triple triple(module.getTargetTriple());
  if (triple.getArch() != host.triple().getArch() || triple.getOS() != host.triple().getOS() ||
      !triple.isOSBinFormatELF()) {
    return fail(ErrorCode::no_slice,
                "{}: bitcode is for {}, this node is {}; build the bundle for this target too",
                name, module.getTargetTriple().empty() ? "no machine" : module.getTargetTriple(),
                host.triple().str());
  }
  if (module.getDataLayout().isDefault()) module.setDataLayout(host.data_layout());
  if (module.getDataLayout() != host.data_layout()) {
    return fail(ErrorCode::no_slice,
                "{}: bitcode lays out memory as \"{}\", this node as \"{}\"; rebuild it with "
                "clang-{}",
                name, module.getDataLayoutStr(), host.data_layout().getStringRepresentation(),
                LLVM_VERSION_MAJOR);
  }
  return {};
}

Status verify(Unit& unit, const std::string& name) {
  std::string words;
  bool broken = false;
  bool broken_debug_info = false;
  const auto fatal = fatal_error_of([&] {
    llvm::raw_string_ostream stream(words);
    broken = llvm::verifyModule(*unit.module, &stream, &broken_debug_info);
    if (!broken && broken_debug_info) llvm::StripDebugInfo(*unit.module);
  });
  if (fatal) return abandon(unit, name, *fatal);
  if (broken) return fail(ErrorCode::corrupt_code, "{}: bitcode is malformed: {}", name, words);
  if (unit.diagnostics.failed()) {
    return fail(ErrorCode::corrupt_code, "{}: bitcode is malformed: {}", name,
                unit.diagnostics.text());
  }
  return {};
}

Status read(Unit& unit, Bytes bytes, const std::string& name) {
  if (bytes.size() > kMaxIrBytes) {
    return fail(ErrorCode::too_large, "{}: {} bytes of IR, the limit is {}", name, bytes.size(),
                kMaxIrBytes);
  }
  if (is_bitcode(bytes)) return parse_bitcode(unit, bytes, name);
  return parse_text(unit, bytes, name);
}

}  // namespace

Result<UnitPtr> read_slice(Bytes bitcode, const std::string& name, const Host& host) {
  if (!is_bitcode(bitcode)) {
    return fail(ErrorCode::corrupt_code, "{}: not bitcode: the magic number is missing", name);
  }
  UnitPtr unit(new Unit);
  GODWIT_CHECK(read(*unit, bitcode, name));
  GODWIT_CHECK(check_machine(*unit->module, name, host));
  GODWIT_CHECK(verify(*unit, name));
  return unit;
}

Result<UnitPtr> read_ir(Bytes ir, const std::string& name, const Host& host) {
  UnitPtr unit(new Unit);
  GODWIT_CHECK(read(*unit, ir, name));
  llvm::Module& module = *unit->module;
  if (module.getTargetTriple().empty()) module.setTargetTriple(host.triple().str());
  GODWIT_CHECK(check_machine(module, name, host));
  GODWIT_CHECK(verify(*unit, name));
  return unit;
}

}  // namespace godwit::code::jit
