#include "code/toolchain/scratch_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/fail.hpp"

namespace godwit::code {

Result<ScratchDirectory> ScratchDirectory::create() {
  std::error_code error;
  std::string pattern = std::filesystem::temp_directory_path(error) / "godwit-cc-XXXXXX";
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    return fail(ErrorCode::io, "cannot make a directory for temporary files at '{}': {}", pattern,
                error ? error.message() : errno_text(errno));
  }
  return ScratchDirectory(pattern);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty() && !keep_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace godwit::code
