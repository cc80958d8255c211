#include "code/jit/imports.hpp"

#include <dlfcn.h>

#include <string_view>
#include <utility>

#include "base/fail.hpp"
#include "code/jit/prepare.hpp"
#include "code/jit/runtime.hpp"

namespace godwit::code::jit {
namespace {

// Part of every mobile program's world, also when this program does not link them itself.
constexpr const char* kBaseLibraries[] = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1",
                                          "libc.so.6"};

// Opened once and for good, like the dependencies of the program itself.
const std::vector<void*>& base_libraries() {
  static const std::vector<void*> libraries = [] {
    std::vector<void*> handles;
    for (const char* soname : kBaseLibraries) {
      if (void* handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL)) handles.push_back(handle);
    }
    return handles;
  }();
  return libraries;
}

}  // namespace

void Imports::Closer::operator()(void* handle) const {
  dlclose(handle);
}

Status Imports::open(const std::vector<std::string>& needs, const std::string& name) {
  for (const std::string& soname : needs) {
    if (soname.empty() || soname.find('/') != std::string::npos) {
      return fail(ErrorCode::missing_library,
                  "{} needs \"{}\", which is not the name of a shared library", name, soname);
    }
    std::unique_ptr<void, Closer> handle(dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (handle == nullptr) {
      return fail(ErrorCode::missing_library,
                  "{} needs {}, which this node cannot open: {}. Install it here", name, soname,
                  dlerror());
    }
    needs_.push_back(std::move(handle));
  }
  return {};
}

void* Imports::resolve(const std::string& symbol) {
  if (void* address = runtime_symbol(symbol)) return address;
  void* library = nullptr;
  if (!symbol.starts_with(kTlsPrefix)) return search(symbol, library);
  const std::string variable = symbol.substr(std::string_view(kTlsPrefix).size());
  if (search(variable, library) == nullptr) return nullptr;
  return &thread_locals_.emplace_back(ThreadLocalImport{library, variable});
}

// The process first, as the dynamic linker would, so that allocators and their likes agree.
void* Imports::search(const std::string& symbol, void*& library) const {
  library = RTLD_DEFAULT;
  if (void* address = dlsym(library, symbol.c_str())) return address;
  for (void* base : base_libraries()) {
    library = base;
    if (void* address = dlsym(library, symbol.c_str())) return address;
  }
  for (const auto& need : needs_) {
    library = need.get();
    if (void* address = dlsym(library, symbol.c_str())) return address;
  }
  return nullptr;
}

}  // namespace godwit::code::jit
