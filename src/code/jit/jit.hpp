// Running bitcode. The compiler behind it is a plug-in, so that a node without LLVM installed
// starts all the same, and one that never meets bitcode never pays for loading it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "code/library.hpp"
#include "godwit/error.hpp"

namespace godwit::code::jit {

struct JitOptions {
  // Where optimised objects are kept between runs; made with mode 0700 if it is missing. Several
  // processes may share it. Empty: no disk cache.
  std::string cache_directory;
  // When the cache grows beyond this, its least recently used files are deleted.
  std::uint64_t cache_limit_bytes = std::uint64_t{256} << 20;
};

struct JitInfo {
  std::string llvm_version;  // e.g. "19.1.7"
  unsigned llvm_major = 0;   // bitcode made by a later LLVM than this is refused
  std::string arch;          // e.g. "x86_64"
  std::string cpu;           // as LLVM names it, e.g. "sapphirerapids"
  std::string features;      // e.g. "+avx2,+fma,-avx512f"
};

// New code made at run time: LLVM IR as text or bitcode that defines `function` with C linkage.
// Parameters follow the signature: scalars by value, str, bytes and span as (pointer, i64 count),
// a plain struct or array by pointer. A scalar result is returned; a plain struct or array result
// is written through a leading pointer parameter.
struct BuildRequest {
  Bytes ir;  // borrowed during build()
  std::string function;
  std::string signature;  // docs/types.md, e.g. "(span<f64>, f64) -> f64"
};

struct BuiltCode {
  Buffer bitcode;
  std::string entry;  // the symbol that follows the mobile ABI
};

struct JitCounters {
  std::uint64_t compiled = 0;  // slices, in either tier
  std::uint64_t cache_hits = 0;
  std::uint64_t cache_rejected = 0;  // corrupt files, deleted
};

// Loads bitcode slices for this very CPU. Thread-safe; libraries may outlive it.
//
// load() takes Tier::fast (code generation only, about a millisecond for a small function) and
// Tier::optimised (the full pipeline, tens of milliseconds). A slice for which stateful() is true
// must be loaded in one tier only: each load has its own globals. Destroying a library whose
// threads or thread-local destructors are pending (see pinned()) keeps its code mapped until they
// are done; its static destructors run then.
class Jit : public Loader {
 public:
  [[nodiscard]] virtual JitInfo info() const = 0;
  // Whether the module has mutable globals, thread-locals, constructors or destructors.
  [[nodiscard]] virtual Result<bool> stateful(Bytes bitcode) = 0;
  // Wraps the IR in an entry of the mobile ABI that checks its arguments. Errors:
  // invalid_argument (signature), type_mismatch (names both), corrupt_code, no_slice.
  [[nodiscard]] virtual Result<BuiltCode> build(const BuildRequest& request) = 0;
  // Compiles and discards a small function in each tier, so that the first real one finds the
  // compiler paged in. Costs tens of milliseconds; meant for an idle thread.
  virtual Status warm_up() = 0;
  // What went wrong without failing anything (an unusable cache directory); each is given once.
  [[nodiscard]] virtual std::vector<std::string> take_warnings() = 0;
  [[nodiscard]] virtual JitCounters counters() const = 0;
};

// Loads the plug-in on first use in the process (11 to 15 ms), then makes a Jit. The plug-in is
// sought in $GODWIT_JIT_PLUGIN (nowhere else if that is set), in ../lib/godwit beside the
// executable, in the build tree this was compiled in, and where the system finds libraries.
// Errors: unsupported (no plug-in, or one of another version).
[[nodiscard]] Result<std::unique_ptr<Jit>> open_jit(const JitOptions& options);

// Whether open_jit() would find a plug-in, without loading it.
[[nodiscard]] bool is_jit_installed();
// The newest bitcode that this release's plug-in reads.
inline constexpr std::uint16_t kPluginLlvmMajor = 19;

}  // namespace godwit::code::jit
