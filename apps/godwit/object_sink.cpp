#include "object_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fail.hpp"
#include "base/write_all.hpp"

namespace godwit::cli {
namespace {

constexpr mode_t kMode = 0666;  // less what the user's umask takes away

tl::unexpected<Error> cannot_write(const std::string& name, int why) {
  return fail(why == EACCES || why == EPERM ? ErrorCode::permission : ErrorCode::io,
              "cannot write {}: {}", name, errno_text(why));
}

}  // namespace

Result<ObjectSink> ObjectSink::open(const std::string& file) {
  if (file == "-") return ObjectSink(file, "standard output");
  ObjectSink sink(file, "'" + file + "'");
  struct stat facts{};
  const bool there = ::stat(file.c_str(), &facts) == 0;
  if (there && S_ISDIR(facts.st_mode)) return cannot_write(sink.name_, EISDIR);
  const bool at_once = there && !S_ISREG(facts.st_mode);
  if (!at_once) sink.aside_ = fmt::format("{}.part-{}", file, ::getpid());
  const std::string& target = at_once ? file : sink.aside_;
  const int flags = O_WRONLY | O_CLOEXEC | (at_once ? 0 : O_CREAT | O_EXCL);
  sink.opened_ = fabric::Fd(::open(target.c_str(), flags, kMode));
  if (!sink.opened_) {
    const int why = errno;
    sink.aside_.clear();
    return cannot_write(sink.name_, why);
  }
  // Who could not read what was there before cannot read what replaces it.
  if (there && !at_once) (void)::fchmod(sink.opened_.get(), facts.st_mode & 07777U);
  return sink;
}

ObjectSink::~ObjectSink() {
  if (opened_ && !aside_.empty()) ::unlink(aside_.c_str());
}

int ObjectSink::fd() const noexcept {
  return opened_ ? opened_.get() : STDOUT_FILENO;
}

Status ObjectSink::write(Bytes bytes) {
  if (!write_all(fd(), bytes)) return cannot_write(name_, errno);
  return {};
}

Status ObjectSink::finish() {
  if (aside_.empty()) return {};
  if (std::rename(aside_.c_str(), file_.c_str()) != 0) return cannot_write(name_, errno);
  opened_.reset();
  return {};
}

}  // namespace godwit::cli
