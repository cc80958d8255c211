// A library that adds channels, as somebody else would write it: with the public header alone, and
// linked with nothing of Godwit's. One is as large as its path says, and full of one letter; the
// other, "box:/FOLDER", keeps a file for each value.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "godwit/channel.hpp"

namespace {

class LetterChannel final : public godwit::Channel {
 public:
  explicit LetterChannel(std::uint64_t size) : size_(size) {}
  godwit::Status put(std::string_view /*key*/, Parts /*parts*/) override {
    return tl::unexpected(godwit::Error{godwit::ErrorCode::permission, "letters are for reading"});
  }
  godwit::Status get(std::string_view /*key*/, std::uint64_t /*offset*/,
                     std::span<std::byte> into) override {
    std::fill(into.begin(), into.end(), std::byte{'a'});
    return {};
  }
  godwit::Result<std::uint64_t> size(std::string_view /*key*/) override { return size_; }
  godwit::Status remove(std::string_view /*key*/) override { return {}; }
  [[nodiscard]] std::string describe() const override { return "letters:"; }

 private:
  std::uint64_t size_;
};

class BoxChannel final : public godwit::Channel {
 public:
  explicit BoxChannel(std::filesystem::path folder) : folder_(std::move(folder)) {}
  godwit::Status put(std::string_view key, Parts parts) override {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    const std::filesystem::path aside = folder_ / ("new-" + std::string(key));
    std::ofstream out(aside, std::ios::binary);
    for (const auto part : parts) {
      out.write(reinterpret_cast<const char*>(part.data()),
                static_cast<std::streamsize>(part.size()));
    }
    out.close();
    if (out) std::filesystem::rename(aside, folder_ / key, failed);
    if (out && !failed) return {};
    return error(godwit::ErrorCode::io, key);
  }
  godwit::Status get(std::string_view key, std::uint64_t offset,
                     std::span<std::byte> into) override {
    std::ifstream in(folder_ / key, std::ios::binary);
    if (!in) return error(godwit::ErrorCode::not_found, key);
    in.seekg(static_cast<std::streamoff>(offset));
    in.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    if (!in) return error(godwit::ErrorCode::invalid_argument, key);
    return {};
  }
  godwit::Result<std::uint64_t> size(std::string_view key) override {
    std::error_code failed;
    const std::uint64_t bytes = std::filesystem::file_size(folder_ / key, failed);
    if (failed) return error(godwit::ErrorCode::not_found, key);
    return bytes;
  }
  godwit::Status remove(std::string_view key) override {
    std::error_code failed;
    std::filesystem::remove(folder_ / key, failed);
    if (failed) return error(godwit::ErrorCode::io, key);
    return {};
  }
  [[nodiscard]] std::string describe() const override { return "box:" + folder_.string(); }

 private:
  static tl::unexpected<godwit::Error> error(godwit::ErrorCode code, std::string_view key) {
    return tl::unexpected(godwit::Error{code, "the box and " + std::string(key)});
  }
  std::filesystem::path folder_;
};

}  // namespace

GODWIT_CHANNEL_PLUGIN(makers) {
  if (const auto added = makers.add("box",
                                    [](const godwit::ChannelUrl& url) {
                                      return godwit::Result<std::unique_ptr<godwit::Channel>>(
                                          std::make_unique<BoxChannel>(url.path));
                                    });
      !added) {
    return added;
  }
  return makers.add("letters", [](const godwit::ChannelUrl& url) {
    return godwit::Result<std::unique_ptr<godwit::Channel>>(
        std::make_unique<LetterChannel>(url.path.size()));
  });
}
