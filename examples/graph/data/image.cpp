#include "data/image.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "data/graph_builder.hpp"
#include "data/output_file.hpp"

namespace godwit::graph {
namespace {

constexpr char kMagic[8] = {'G', 'D', 'W', 'G', 'R', 'A', 'P', 'H'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kByteOrder = 0x01020304;

struct Header {
  char magic[8] = {};
  std::uint32_t version = 0;
  std::uint32_t byte_order = 0;
  std::uint64_t terms = 0;
  std::uint64_t triples = 0;
  std::uint64_t text_bytes = 0;
};
static_assert(sizeof(Header) == 40);

using File = std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })>;

bool read_exactly(std::FILE* file, void* to, std::size_t bytes) {
  return bytes == 0 || std::fread(to, 1, bytes, file) == bytes;
}

// Before anything is allocated: the file is as long as its header says.
Status check(const Header& header, std::uint64_t file_bytes, const std::string& path) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return fail(ErrorCode::bad_format, "{} is not a graph image", path);
  }
  if (header.version != kVersion || header.byte_order != kByteOrder) {
    return fail(ErrorCode::bad_format,
                "{} was written by another version or kind of machine; load the data again", path);
  }
  if (header.terms > kMaxTerms || header.triples > kMaxTriples ||
      header.text_bytes > kMaxTextBytes) {
    return fail(ErrorCode::bad_format, "{} claims more than a graph can have", path);
  }
  const std::uint64_t expected =
      sizeof(Header) + (header.terms * 2 + 1 + header.triples) * 8 + header.text_bytes;
  if (file_bytes != expected) {
    return fail(ErrorCode::bad_format, "{} has {} bytes and should have {}; load the data again",
                path, file_bytes, expected);
  }
  return {};
}

Result<Graph> read_arrays(std::FILE* file, const Header& header, const std::string& path) {
  std::vector<std::uint64_t> ends(header.terms);
  std::vector<std::uint64_t> offsets(header.terms + 1);
  std::vector<Edge> edges(header.triples);
  std::string text(header.text_bytes, '\0');
  for (std::vector<std::uint64_t>* array : {&ends, &offsets, &edges}) {
    if (!read_exactly(file, array->data(), array->size() * 8)) {
      return fail(ErrorCode::io, "reading {} failed: {}", path, errno_text(errno));
    }
  }
  if (!read_exactly(file, text.data(), text.size())) {
    return fail(ErrorCode::io, "reading {} failed: {}", path, errno_text(errno));
  }
  GODWIT_TRY(Dictionary dictionary, Dictionary::from(std::move(ends), std::move(text)));
  GODWIT_TRY(Adjacency out, Adjacency::from(std::move(offsets), std::move(edges)));
  return Graph(std::move(dictionary), std::move(out));
}

}  // namespace

Status write_image(const Graph& graph, const std::string& path) {
  const Dictionary& dictionary = graph.dictionary();
  Header header{.version = kVersion,
                .byte_order = kByteOrder,
                .terms = graph.terms(),
                .triples = graph.triples(),
                .text_bytes = dictionary.text().size()};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  GODWIT_TRY(OutputFile file, OutputFile::create(path));
  GODWIT_CHECK(file.write_array(std::span<const Header>(&header, 1)));
  GODWIT_CHECK(file.write_array(dictionary.ends()));
  GODWIT_CHECK(file.write_array(graph.out().offsets));
  GODWIT_CHECK(file.write_array(graph.out().edges));
  GODWIT_CHECK(file.write(dictionary.text()));
  return file.commit();
}

Result<Graph> read_image(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot open {}: {}", path,
                errno_text(errno));
  }
  std::error_code no_size;
  const std::uint64_t bytes = std::filesystem::file_size(path, no_size);
  Header header;
  if (no_size || !read_exactly(file.get(), &header, sizeof(header))) {
    return fail(ErrorCode::bad_format, "{} is too short for a graph image", path);
  }
  GODWIT_CHECK(check(header, bytes, path));
  auto graph = read_arrays(file.get(), header, path);
  if (!graph && graph.error().code == ErrorCode::bad_format) {
    return fail(ErrorCode::bad_format, "{} is damaged: {}; load the data again", path,
                graph.error().message);
  }
  return graph;
}

bool looks_like_image(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  char magic[sizeof(kMagic)] = {};
  return file != nullptr && read_exactly(file.get(), magic, sizeof(magic)) &&
         std::memcmp(magic, kMagic, sizeof(kMagic)) == 0;
}

}  // namespace godwit::graph
