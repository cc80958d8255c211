#include "code/types/argument_file.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/fail.hpp"

namespace godwit::code {
namespace {

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return fail(ErrorCode::not_found, "cannot open '{}': {}", path, errno_text(errno));
  }
  std::vector<std::byte> content;
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::size_t got = kChunk;
  while (got == kChunk) {
    const std::size_t start = content.size();
    if (start > kArgumentFileLimitBytes) {
      return fail(ErrorCode::too_large, "'{}' is larger than {} bytes", path,
                  kArgumentFileLimitBytes);
    }
    content.resize(start + kChunk);
    got = std::fread(content.data() + start, 1, kChunk, file.get());
    content.resize(start + got);
  }
  if (std::ferror(file.get()) != 0) {
    return fail(ErrorCode::io, "cannot read '{}': {}", path, errno_text(errno));
  }
  return content;
}

bool bools_valid(const Type& type, const std::byte* at) {
  if (type.kind == TypeKind::boolean) return static_cast<std::uint8_t>(*at) <= 1;
  if (type.kind == TypeKind::array) {
    for (std::uint64_t i = 0; i < type.count; ++i) {
      if (!bools_valid(type.items[0], at + i * type.items[0].size)) return false;
    }
  }
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    if (!bools_valid(type.items[i], at + type.fields[i].offset)) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<std::byte>> read_elements(const Type& type, const std::string& path) {
  GODWIT_TRY(std::vector<std::byte> content, read_file(path));
  const std::uint64_t size = type.raw_element_size();
  if (content.size() % size != 0) {
    return fail(ErrorCode::invalid_argument,
                "expected {}, got '{}' of {} bytes, which is no multiple of {}", type.text(), path,
                content.size(), size);
  }
  for (std::size_t at = 0; type.kind != TypeKind::bytes && at < content.size(); at += size) {
    if (bools_valid(type.items[0], content.data() + at)) continue;
    return fail(ErrorCode::invalid_argument, "'{}' holds a bool that is neither 0 nor 1", path);
  }
  return content;
}

}  // namespace godwit::code
