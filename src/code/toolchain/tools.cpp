#include "code/toolchain/tools.hpp"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/fail.hpp"
#include "code/toolchain/process.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kQueryTimeout{30};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// "Debian clang version 19.1.7 (3~deb12u1)" -> "19.1.7"
std::string version_in(std::string_view text) {
  constexpr std::string_view kMarker = "clang version ";
  const std::size_t at = text.find(kMarker);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kMarker.size());
  return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

Result<std::string> version_of(const std::string& clang) {
  GODWIT_TRY(const ProcessResult asked, run_process({clang, "--version"}, kQueryTimeout));
  std::string version = version_in(asked.output);
  if (asked.exit_code != 0 || version.empty()) {
    return fail(ErrorCode::not_found, "'{}' does not answer --version as clang does", clang);
  }
  return version;
}

Result<std::string> sibling_program(const std::string& clang, const std::string& name) {
  GODWIT_TRY(const ProcessResult asked,
             run_process({clang, "-print-prog-name=" + name}, kQueryTimeout));
  return trimmed(asked.output);
}

std::vector<std::string> clang_candidates(const CompileRequest& request) {
  if (!request.clang.empty()) return {request.clang.string()};
  if (const char* named = std::getenv("GODWIT_CLANG"); named != nullptr && *named != '\0') {
    return {named};
  }
  return {"clang++-19", "clang++"};
}

// Where this code was loaded from: the executable, or the shared library that contains it.
fs::path own_directory() {
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<const void*>(&own_directory), &info) == 0) return {};
  return fs::weakly_canonical(info.dli_fname, ignored).parent_path();
}

Result<fs::path> find_include_dir() {
  std::vector<fs::path> candidates;
  if (const char* named = std::getenv("GODWIT_INCLUDE_DIR"); named != nullptr && *named != '\0') {
    candidates = {fs::path(named)};
  } else {
    std::error_code ignored;
    for (const fs::path& base :
         {fs::read_symlink("/proc/self/exe", ignored).parent_path(), own_directory()}) {
      candidates.push_back(base / "../include");
      candidates.push_back(base / "../../include");  // from lib/<triple>
    }
#ifdef GODWIT_BUILD_TREE_INCLUDE_DIR
    candidates.emplace_back(GODWIT_BUILD_TREE_INCLUDE_DIR);
#endif
  }
  std::string looked;
  for (const fs::path& candidate : candidates) {
    std::error_code ignored;
    if (fs::exists(candidate / "godwit/mobile_abi.h", ignored)) {
      return fs::weakly_canonical(candidate, ignored);
    }
    looked += (looked.empty() ? "" : ", ") + candidate.lexically_normal().string();
  }
  return fail(ErrorCode::not_found,
              "Godwit's headers (godwit/mobile.hpp) are not in {}: install them, or set "
              "GODWIT_INCLUDE_DIR to the directory that contains godwit/",
              looked);
}

}  // namespace

Result<Tools> find_tools(const CompileRequest& request) {
  Tools tools;
  std::string tried;
  for (const std::string& candidate : clang_candidates(request)) {
    const auto version = version_of(candidate);
    if (version) {
      tools.clang = candidate;
      tools.version = *version;
      break;
    }
    tried += (tried.empty() ? "" : ", ") + candidate;
  }
  if (tools.clang.empty()) {
    return fail(ErrorCode::not_found,
                "no clang to compile with: tried {}; install clang-19 and lld-19, or set "
                "GODWIT_CLANG",
                tried);
  }
  std::from_chars(tools.version.data(), tools.version.data() + tools.version.size(),
                  tools.llvm_major);
  GODWIT_TRY(tools.llvm_link, sibling_program(tools.clang, "llvm-link"));
  GODWIT_TRY(tools.opt, sibling_program(tools.clang, "opt"));
  GODWIT_TRY(tools.include_dir, find_include_dir());
  return tools;
}

}  // namespace godwit::code
