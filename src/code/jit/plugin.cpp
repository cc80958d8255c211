#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/fail.hpp"
#include "code/jit/library_search.hpp"
#include "code/jit/plugin_abi.hpp"

namespace godwit::code::jit {
namespace {

std::vector<std::string> candidates() {
  if (const char* chosen = std::getenv("GODWIT_JIT_PLUGIN"))
    return {chosen};  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> paths;
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto prefix = executable.parent_path().parent_path();
    paths.push_back((prefix / "lib" / "godwit" / kPluginFile).string());
  }
#ifdef GODWIT_JIT_BUILD_DIRECTORY
  paths.push_back(std::string(GODWIT_JIT_BUILD_DIRECTORY) + "/" + kPluginFile);
#endif
  paths.emplace_back(kPluginFile);
  return paths;
}

// RTLD_NODELETE: loaded code may return into the plug-in's runtime until the process ends.
Result<void*> open_plugin() {
  std::string tried;
  for (const std::string& path : candidates()) {
    const bool searched = path.find('/') == std::string::npos;
    std::error_code error;
    if (!searched && !std::filesystem::exists(path, error)) {
      tried += fmt::format("\n  {}: no such file", path);
      continue;
    }
    if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) return handle;
    tried += fmt::format("\n  {}", dlerror());
  }
  return fail(ErrorCode::unsupported,
              "cannot run bitcode: the JIT plug-in is not installed. Install it (and LLVM 19), set "
              "GODWIT_JIT_PLUGIN to its path, or send a bundle with a native slice. Tried:{}",
              tried);
}

}  // namespace

bool is_jit_installed() {
  std::error_code ignored;
  for (const std::string& path : candidates()) {
    const bool searched = path.find('/') == std::string::npos;
    if (searched ? !find_library(path).empty() : std::filesystem::exists(path, ignored)) {
      return true;
    }
  }
  return false;
}

Result<std::unique_ptr<Jit>> open_jit(const JitOptions& options) {
  GODWIT_TRY(void* handle, open_plugin());
  const auto* plugin = static_cast<const Plugin*>(dlsym(handle, kPluginSymbol));
  if (plugin == nullptr) {
    return fail(ErrorCode::unsupported,
                "cannot run bitcode: the JIT plug-in does not export {}; it is not Godwit's",
                kPluginSymbol);
  }
  if (plugin->abi != kPluginAbi || plugin->size != sizeof(Plugin)) {
    return fail(ErrorCode::unsupported,
                "cannot run bitcode: the JIT plug-in has interface {}, this program needs {}; "
                "install both from the same release",
                plugin->abi, kPluginAbi);
  }
  return plugin->create(options);
}

}  // namespace godwit::code::jit
