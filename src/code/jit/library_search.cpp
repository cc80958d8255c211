#include "code/jit/library_search.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <vector>

namespace godwit::code::jit {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// The linker's list for the part of the program that this function is in: that part's dlopen()
// calls go by it.
std::vector<std::string> search_directories() {
  Dl_info place;
  void* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&search_directories), &place, &map, RTLD_DL_LINKMAP) == 0) {
    return {};
  }
  Dl_serinfo size{};
  if (dlinfo(map, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
  const std::size_t units = size.dls_size / sizeof(std::max_align_t) + 1;
  const auto storage = std::make_unique<std::max_align_t[]>(units);
  auto* info = reinterpret_cast<Dl_serinfo*>(storage.get());
  if (dlinfo(map, RTLD_DI_SERINFOSIZE, info) != 0 || dlinfo(map, RTLD_DI_SERINFO, info) != 0) {
    return {};
  }
  std::vector<std::string> directories;
  for (unsigned i = 0; i < info->dls_cnt; ++i) {
    directories.emplace_back(info->dls_serpath[i].dls_name);
  }
  return directories;
}

// The cache ends in a table of strings, each with a zero behind it; paths among them are absolute.
std::string find_in_cache(const std::string& name, const std::string& cache) {
  std::ifstream file(cache, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const std::string wanted = "/" + name + '\0';
  for (std::size_t at = content.find(wanted); at != std::string::npos;
       at = content.find(wanted, at + 1)) {
    const std::size_t before = content.rfind('\0', at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::string path = content.substr(begin, at - begin + wanted.size() - 1);
    if (path.front() == '/' && exists(path)) return path;
  }
  return {};
}

}  // namespace

std::string find_library(const std::string& name, const std::string& cache) {
  for (const std::string& directory : search_directories()) {
    if (exists(directory + "/" + name)) return directory + "/" + name;
  }
  return find_in_cache(name, cache);
}

}  // namespace godwit::code::jit
