#include "node/places.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/fail.hpp"

namespace godwit::node {
namespace fs = std::filesystem;
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  return value == nullptr ? "" : value;
}

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

fs::path runtime_base() {
  if (const std::string own = environment("GODWIT_RUNTIME_DIR"); !own.empty()) return own;
  return code::default_runtime_base() / ("godwit-" + std::to_string(::getuid()));
}

Result<code::RuntimeDirectory> make_runtime_directory() {
  using Then = code::RuntimeDirectory::EmptyBase;
  const bool named = !environment("GODWIT_RUNTIME_DIR").empty();
  return code::RuntimeDirectory::create(runtime_base(), named ? Then::keep : Then::remove);
}

fs::path fleet_directory(std::string_view fleet) {
  return runtime_base() / "fleets" / fleet;
}

std::string node_address(const fs::path& directory, std::string_view node) {
  return "shm:" + (directory / (std::string(node) + ".sock")).string();
}

Result<std::vector<std::string>> addresses_in(const fs::path& directory) {
  std::vector<std::string> addresses;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".sock") addresses.push_back("shm:" + entry.path().string());
  }
  if (addresses.empty()) {
    return fail(ErrorCode::not_found,
                "no fleet runs here (nothing in {}); start one with `godwit up 4`",
                directory.string());
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

fs::path default_cache_directory() {
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    return fs::path(cache) / "godwit";
  }
  if (const std::string home = environment("HOME"); !home.empty()) {
    return fs::path(home) / ".cache" / "godwit";
  }
  return {};
}

Result<fs::path> find_executable(const std::string& wanted) {
  std::vector<fs::path> candidates;
  if (!wanted.empty()) {
    candidates.emplace_back(wanted);
  } else if (const std::string named = environment("GODWIT"); !named.empty()) {
    candidates.emplace_back(named);
  } else {
    std::error_code ignored;
    const fs::path self = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    candidates.push_back(self / "godwit");
    candidates.push_back(self.parent_path() / "bin" / "godwit");
#ifdef GODWIT_BUILD_BIN
    candidates.push_back(fs::path(GODWIT_BUILD_BIN) / "godwit");
#endif
    const std::string path = environment("PATH");
    for (std::size_t start = 0; start < path.size();) {
      const std::size_t end = std::min(path.find(':', start), path.size());
      candidates.push_back(fs::path(path.substr(start, end - start)) / "godwit");
      start = end + 1;
    }
  }
  std::string looked;
  for (const fs::path& candidate : candidates) {
    if (is_executable(candidate)) return candidate;
    looked += (looked.empty() ? "" : ", ") + candidate.string();
  }
  return fail(ErrorCode::not_found,
              "the godwit executable is needed to start nodes, and is not there: looked at {}; set "
              "$GODWIT to its path",
              looked);
}

}  // namespace godwit::node
