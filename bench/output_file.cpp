#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/fail.hpp"

namespace godwit::bench {

std::string default_file(std::string_view name) {
  return fmt::format("{}{}", std::filesystem::is_directory("build") ? "build/" : "", name);
}

Status write_file(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (written && closed) return {};
  return fail(ErrorCode::io, "cannot write {}: {}; choose another file", path, errno_text(errno));
}

}  // namespace godwit::bench
