// PNG: a signature, and chunks of a length, a name, bytes and a checksum. The pixels are rows, each
// written as its difference from what stands around it, and all of that goes through zlib.
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/image.hpp"

namespace gallery {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put_number(Bytes& out, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<std::uint8_t>(number >> shift));
}

void put_chunk(Bytes& out, std::string_view name, const Bytes& content) {
  put_number(out, static_cast<std::uint32_t>(content.size()));
  const std::size_t begin = out.size();
  out.insert(out.end(), name.begin(), name.end());
  out.insert(out.end(), content.begin(), content.end());
  const auto checked = static_cast<uInt>(out.size() - begin);
  put_number(out, static_cast<std::uint32_t>(crc32(0, out.data() + begin, checked)));
}

// The one of the three neighbours that is nearest to left + above - corner.
int paeth(int left, int above, int corner) {
  const int guess = left + above - corner;
  const int to_left = std::abs(guess - left);
  const int to_above = std::abs(guess - above);
  const int to_corner = std::abs(guess - corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

enum class Filter : std::uint8_t { none, sub, up, average, paeth };

Bytes filtered(const Image& image, int row, Filter filter) {
  const std::size_t stride = std::size_t{3} * static_cast<std::size_t>(image.width);
  const std::uint8_t* const now = image.rgb.data() + static_cast<std::size_t>(row) * stride;
  Bytes out{static_cast<std::uint8_t>(filter)};
  for (std::size_t i = 0; i < stride; ++i) {
    const int left = i >= 3 ? now[i - 3] : 0;
    const int above = row > 0 ? *(now + i - stride) : 0;
    const int corner = row > 0 && i >= 3 ? *(now + i - stride - 3) : 0;
    const int guess = filter == Filter::sub       ? left
                      : filter == Filter::up      ? above
                      : filter == Filter::average ? (left + above) / 2
                      : filter == Filter::paeth   ? paeth(left, above, corner)
                                                  : 0;
    out.push_back(static_cast<std::uint8_t>(now[i] - guess));
  }
  return out;
}

// The filter that leaves the smallest differences, which is nearly always the one that packs best.
Bytes best_filtered(const Image& image, int row) {
  Bytes best;
  int least = 0;
  for (const Filter filter :
       {Filter::none, Filter::sub, Filter::up, Filter::average, Filter::paeth}) {
    Bytes candidate = filtered(image, row, filter);
    int sum = 0;
    for (const std::uint8_t byte : candidate) sum += std::abs(static_cast<std::int8_t>(byte));
    if (best.empty() || sum < least) {
      least = sum;
      best = std::move(candidate);
    }
  }
  return best;
}

Bytes packed_rows(const Image& image) {
  Bytes rows;
  for (int row = 0; row < image.height; ++row) {
    const Bytes one = best_filtered(image, row);
    rows.insert(rows.end(), one.begin(), one.end());
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  Bytes packed(size);
  if (compress2(packed.data(), &size, rows.data(), static_cast<uLong>(rows.size()),
                Z_BEST_COMPRESSION) != Z_OK) {
    throw std::runtime_error("zlib could not compress the picture");
  }
  packed.resize(size);
  return packed;
}

}  // namespace

void write_png(const Image& image, const std::string& path) {
  Bytes header;
  put_number(header, static_cast<std::uint32_t>(image.width));
  put_number(header, static_cast<std::uint32_t>(image.height));
  header.insert(header.end(), {8, 2, 0, 0, 0});  // 8 bits, RGB, deflate, filters, not interlaced
  Bytes file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", packed_rows(image));
  put_chunk(file, "IEND", {});
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write the picture to '" + path + "'");
}

}  // namespace gallery
