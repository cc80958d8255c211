#include "ntriples/reader.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/fail.hpp"

namespace godwit::graph {

Status NtriplesReader::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      if (begun_.size() + piece.size() > kMaxLineBytes) return too_long();
      begun_ += piece;
      return {};
    }
    const std::string_view rest = piece.substr(0, end);
    piece.remove_prefix(end + 1);
    if (begun_.empty()) {
      GODWIT_CHECK(line(rest));
      continue;
    }
    if (begun_.size() + rest.size() > kMaxLineBytes) return too_long();
    begun_ += rest;
    GODWIT_CHECK(line(begun_));
    begun_.clear();
  }
  return {};
}

Status NtriplesReader::finish() {
  if (begun_.empty()) return {};
  return line(std::exchange(begun_, {}));
}

Status NtriplesReader::line(std::string_view line) {
  if (line.size() > kMaxLineBytes) return too_long();
  ++lines_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto triple = parser_.parse(line);
  if (!triple) {
    return fail(triple.error().code, "{}:{}:{}: {}", name_, lines_, parser_.column(),
                triple.error().message);
  }
  if (!*triple) return {};
  ++triples_;
  return sink_.add(**triple);
}

tl::unexpected<Error> NtriplesReader::too_long() const {
  return fail(ErrorCode::bad_format, "{}:{}: the line has more than {} bytes", name_, lines_ + 1,
              kMaxLineBytes);
}

namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

Result<std::uint64_t> read_ntriples(const std::string& path, TripleSink& sink,
                                    const ReadOptions& options) {
  const bool standard = path == "-";
  const std::unique_ptr<std::FILE, Close> file(standard ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot open {}: {}", path,
                errno_text(errno));
  }
  std::error_code unknown;
  const std::uint64_t size = standard ? 0 : std::filesystem::file_size(path, unknown);
  ReadProgress progress{.total_bytes = unknown ? 0 : size};
  NtriplesReader reader(standard ? "standard input" : path, sink);
  std::string chunk(options.chunk_bytes, '\0');
  while (const std::size_t bytes = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    GODWIT_CHECK(reader.feed(std::string_view(chunk).substr(0, bytes)));
    progress.bytes += bytes;
    progress.triples = reader.triples();
    if (options.progress) options.progress(progress);
  }
  if (std::ferror(file.get()) != 0) {
    return fail(ErrorCode::io, "reading {} failed: {}", path, errno_text(errno));
  }
  GODWIT_CHECK(reader.finish());
  return reader.triples();
}

}  // namespace godwit::graph
