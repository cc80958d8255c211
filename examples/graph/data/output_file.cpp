#include "data/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fail.hpp"

namespace godwit::graph {

void OutputFile::Close::operator()(std::FILE* file) const noexcept {
  if (file != stdout) std::fclose(file);
}

Result<OutputFile> OutputFile::create(std::string path) {
  if (path == "-") return OutputFile(std::move(path), "", stdout);
  std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    return fail(ErrorCode::io, "cannot write {}: {}", path, errno_text(errno));
  }
  return OutputFile(std::move(path), std::move(temporary), file);
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && !temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::string_view bytes) {
  if (bytes.empty()) return {};  // an empty array may have no address, which fwrite wants
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return failed("writing to");
  }
  return {};
}

Status OutputFile::commit() {
  if (std::fflush(file_.get()) != 0) return failed("writing to");
  if (temporary_.empty()) return {};
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return failed("renaming to");
  file_.reset();
  return {};
}

tl::unexpected<Error> OutputFile::failed(std::string_view doing) const {
  return fail(ErrorCode::io, "{} {} failed: {}", doing, path_, errno_text(errno));
}

}  // namespace godwit::graph
