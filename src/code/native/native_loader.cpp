#include "code/native/native_loader.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "code/bundle/names.hpp"
#include "code/bundle/target.hpp"
#include "code/elf/traits.hpp"
#include "code/native/dl_error.hpp"
#include "code/native/image_file.hpp"

namespace godwit::code {
namespace {

// More than any sane library; keeps sums of addresses from wrapping.
constexpr std::uint64_t kMaxSpanBytes = std::uint64_t{1} << 40;

class DlHandle {
 public:
  explicit DlHandle(void* handle) noexcept : handle_(handle) {}
  DlHandle(DlHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  DlHandle& operator=(DlHandle&&) = delete;
  ~DlHandle() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  [[nodiscard]] void* get() const noexcept { return handle_; }

 private:
  void* handle_;
};

Result<DlHandle> open_library(const std::string& path, std::string_view wanted_by) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = ::dlerror();
    return tl::unexpected(explain_dl_error(wanted_by, text != nullptr ? text : "nothing"));
  }
  return DlHandle(handle);
}

// The addresses a library takes, relative to where it is loaded.
struct Span {
  std::uint64_t end = 0;
  std::uint64_t memory_bytes = 0;
};

Result<Span> check_segments(const ElfFile& elf, const std::string& name) {
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Span span;
  for (const ElfSegment& segment : elf.segments()) {
    const bool executable = (segment.flags & PF_X) != 0;
    if ((segment.type == PT_LOAD && executable && (segment.flags & PF_W) != 0) ||
        (segment.type == PT_GNU_STACK && executable)) {
      return fail(ErrorCode::corrupt_code,
                  "'{}' is refused: it wants memory that is both writable and executable", name);
    }
    if (segment.type != PT_LOAD) continue;
    if (segment.address > kMaxSpanBytes || segment.memory_bytes > kMaxSpanBytes) {
      return fail(ErrorCode::corrupt_code, "'{}' is refused: a segment claims {} bytes at {:#x}",
                  name, segment.memory_bytes, segment.address);
    }
    span.end = std::max(span.end, segment.address + segment.memory_bytes);
    span.memory_bytes += (segment.memory_bytes + page_bytes - 1) / page_bytes * page_bytes;
  }
  if (span.end == 0) {
    return fail(ErrorCode::corrupt_code, "'{}' is refused: there is nothing in it to load", name);
  }
  return span;
}

Status check_machine(const ElfFile& elf, const std::string& name) {
  if (!elf.is_shared_object()) {
    return fail(ErrorCode::corrupt_code, "'{}' is an ELF file, but no shared object", name);
  }
  if (elf.machine() != host_machine()) {
    return fail(ErrorCode::no_slice, "'{}' is code for {} (ELF machine {}); this node is {}", name,
                to_string(elf.machine()), elf.machine_number(), to_string(host_machine()));
  }
  GODWIT_TRY(const ElfFile::Dynamic dynamic, elf.dynamic());
  if (dynamic.text_relocations) {
    return fail(ErrorCode::corrupt_code,
                "'{}' is refused: loading it would write to code; compile it with -fPIC", name);
  }
  return {};
}

class NativeLibrary final : public Library {
 public:
  NativeLibrary(ImageFile image, std::vector<DlHandle> needs, DlHandle handle, Span span,
                std::string obstacle)
      : image_(std::move(image)),
        needs_(std::move(needs)),
        handle_(std::move(handle)),
        span_(span),
        obstacle_(std::move(obstacle)) {
    const link_map* map = nullptr;
    if (::dlinfo(handle_.get(), RTLD_DI_LINKMAP, &map) == 0) base_ = map->l_addr;
  }

  [[nodiscard]] godwit_entry entry(std::string_view symbol) const override {
    void* address = ::dlsym(handle_.get(), std::string(symbol).c_str());
    // dlsym() also looks into what the library depends on: libc's functions are no entries.
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    if (value < base_ || value - base_ >= span_.end) return nullptr;
    return reinterpret_cast<godwit_entry>(address);
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return span_.memory_bytes; }
  [[nodiscard]] std::optional<std::string> pinned() const override {
    if (obstacle_.empty()) return std::nullopt;
    return obstacle_;
  }

 private:
  // In the order of construction, so that the code goes before what it needs and its file last.
  ImageFile image_;
  std::vector<DlHandle> needs_;
  DlHandle handle_;
  Span span_;
  std::uintptr_t base_ = 0;
  std::string obstacle_;
};

}  // namespace

Result<std::unique_ptr<Library>> NativeLoader::load(const LoadRequest& request) {
  GODWIT_TRY(const ElfFile elf, ElfFile::parse(request.code));
  GODWIT_CHECK(check_machine(elf, request.name));
  GODWIT_TRY(const Span span, check_segments(elf, request.name));
  GODWIT_TRY(std::string obstacle, unload_obstacle(elf));

  std::vector<DlHandle> needs;
  for (const std::string& soname : request.needs) {
    GODWIT_CHECK(check_name("needed library", soname));
    GODWIT_TRY(DlHandle need, open_library(soname, request.name));
    needs.push_back(std::move(need));
  }
  GODWIT_TRY(ImageFile image,
             ImageFile::create(directory_, request.name, request.slice, request.code));
  GODWIT_TRY(DlHandle handle, open_library(image.path(), request.name));
  return std::make_unique<NativeLibrary>(std::move(image), std::move(needs), std::move(handle),
                                         span, std::move(obstacle));
}

}  // namespace godwit::code
