// A host for one native slice that knows the mobile ABI and nothing else of Godwit, so that it can
// be built for any machine: slice_host SLICE ENTRY ARGUMENTS REPLY. The last two are files: the
// argument blob, and where the reply goes. Ends with the entry's status, or 64 and a message.
#include <dlfcn.h>
#include <godwit/mobile_abi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

constexpr int kHostFailed = 64;

void* reserve(godwit_reply* reply, size_t size) noexcept {
  void* larger = std::realloc(reply->data, size);
  if (larger == nullptr) return nullptr;
  reply->data = larger;
  reply->capacity = size;
  return larger;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return kHostFailed;
  void* slice = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* symbol = slice != nullptr ? dlsym(slice, argv[2]) : nullptr;
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return kHostFailed;
  }
  std::ifstream file(argv[3], std::ios::binary);
  // From malloc, so that the blob is aligned as a node aligns it.
  const std::vector<char> arguments{std::istreambuf_iterator<char>(file), {}};
  godwit_reply reply{std::malloc(GODWIT_REPLY_CAPACITY), GODWIT_REPLY_CAPACITY, 0, reserve};
  const auto entry = reinterpret_cast<godwit_entry>(symbol);
  const int status = entry(nullptr, arguments.data(), arguments.size(), &reply);
  std::ofstream(argv[4], std::ios::binary)
      .write(static_cast<const char*>(reply.data), static_cast<std::streamsize>(reply.size));
  std::free(reply.data);
  dlclose(slice);
  return status;
}
