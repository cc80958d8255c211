#include "code/toolchain/translate.hpp"

#include "base/fail.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;

// Symbols are bound at load anyway. Bitcode has to know, because native code is made of it.
constexpr const char* kNoPlt = "-fno-plt";

void append(std::vector<std::string>& argv, std::initializer_list<std::string> more) {
  argv.insert(argv.end(), more);
}

// Names that directories leave in code (__FILE__, debug info) are cut to what lies below them, so
// that a bundle does not depend on where it was built.
void append_prefix_maps(std::vector<std::string>& argv, const CompileSession& session,
                        const fs::path& source) {
  std::vector<fs::path> directories = {source.parent_path(), session.tools().include_dir};
  for (const fs::path& directory : session.request().include_dirs) {
    directories.push_back(fs::absolute(directory));
  }
  for (const fs::path& directory : directories) {
    argv.push_back(fmt::format("-ffile-prefix-map={}/=", directory.string()));
  }
  argv.emplace_back("-fdebug-compilation-dir=.");
}

void append_kind(std::vector<std::string>& argv, const CompileSession& session, SliceKind kind) {
  if (kind == SliceKind::native) {
    append_native_options(argv, session.request());
    return;
  }
  // ThinLTO's pre-link pipeline simplifies and inlines but neither vectorises nor unrolls, so that
  // the target's own -O3 does that for its CPU. Measured with LLVM 19 on a dot product, a saxpy and
  // a sum, and on an STL-heavy function (bitcode size, -O0 codegen, result of -O3 for this CPU):
  //   unoptimised     8.0 KB, 181 KB   77 ms   full vectors and FMA
  //   -flto=full      4.3 KB,  33 KB   31 ms   frozen at 128-bit vectors without FMA
  //   -fno-vectorize  3.2 KB,  32 KB   31 ms   full vectors and FMA, a third as much unrolled
  //   -flto=thin      3.2 KB,  32 KB   32 ms   full vectors and FMA, as from unoptimised
  append(argv, {"-O2", "-flto=thin", kNoPlt});
}

}  // namespace

void append_native_options(std::vector<std::string>& argv, const CompileRequest& request) {
  // Sections: so that unused code goes.
  append(argv, {fmt::format("-O{}", request.optimisation_level), kNoPlt, "-ffunction-sections",
                "-fdata-sections"});
}

bool is_c_source(const fs::path& source) {
  return source.extension() == ".c";
}

bool is_cpp_source(const fs::path& source) {
  const fs::path extension = source.extension();
  return extension == ".cc" || extension == ".cpp" || extension == ".cxx";
}

std::vector<std::string> clang_for(const CompileSession& session, Machine machine, bool cpp) {
  std::vector<std::string> argv = {session.tools().clang,
                                   cpp ? "--driver-mode=g++" : "--driver-mode=gcc",
                                   fmt::format("--target={}", triple_of(machine)), "-fPIC"};
  // The outlined atomics live in a static libgcc, which a JIT cannot reach.
  if (machine == Machine::aarch64) argv.emplace_back("-mno-outline-atomics");
  return argv;
}

Status translate(CompileSession& session, const Translation& translation) {
  const CompileRequest& request = session.request();
  const bool cpp = !is_c_source(translation.source);
  const fs::path source = fs::absolute(translation.source).lexically_normal();
  std::vector<std::string> argv = clang_for(session, translation.machine, cpp);
  append(argv, {"-std=" + (cpp ? request.cpp_standard : request.c_standard), "-fvisibility=hidden",
                "-fvisibility-inlines-hidden", "-fno-semantic-interposition",
                request.debug_info ? "-g1" : "-g0"});
  if (!cpp) std::erase(argv, "-fvisibility-inlines-hidden");
  append_kind(argv, session, translation.kind);
  append_prefix_maps(argv, session, source);
  for (const fs::path& directory : request.include_dirs) {
    append(argv, {"-I", fs::absolute(directory).string()});
  }
  append(argv, {"-I", session.tools().include_dir.string()});
  for (const std::string& define : request.defines) argv.push_back("-D" + define);
  argv.insert(argv.end(), request.flags.begin(), request.flags.end());
  // A library known only on this machine has its headers only in this machine's directories; they
  // come last, where they can add a header but never replace the target's.
  if (translation.with_foreign_headers) {
    append(argv, {"-idirafter", fmt::format("/usr/include/{}", triple_of(host_machine()))});
  }
  if (translation.quiet) argv.emplace_back("-w");
  append(argv, {"-c", source.string(), "-o", translation.output.string()});
  return session.run(argv, fmt::format("compile {} for {}", translation.source.string(),
                                       to_string(translation.machine)));
}

}  // namespace godwit::code
