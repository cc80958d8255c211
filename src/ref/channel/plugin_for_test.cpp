// A library that adds a channel, as somebody else would write it: with the public header alone, and
// linked with nothing of Godwit's. It is as large as its path says, and full of one letter.
#include <algorithm>
#include <memory>
#include <string>

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

}  // namespace

GODWIT_CHANNEL_PLUGIN(makers) {
  return makers.add("letters", [](const godwit::ChannelUrl& url) {
    return godwit::Result<std::unique_ptr<godwit::Channel>>(
        std::make_unique<LetterChannel>(url.path.size()));
  });
}
