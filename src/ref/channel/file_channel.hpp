// Values in files of a folder, which may be on a file system that several hosts share.
//
//   file:/shared/scratch?fsync=1&ttl=86400
//
// A value is a file in one of 256 subfolders: a head of 32 bytes with its size and checksum, then
// its bytes. It is written under another name and renamed when it is whole, so readers find all of
// it or nothing; one that has opened it reads on whatever becomes of the name. A get() of a whole
// value checks its checksum, one of a part only its size.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "fabric/fd.hpp"
#include "godwit/channel.hpp"

namespace godwit::ref {

class FileChannel final : public Channel {
 public:
  static constexpr std::uint64_t kTimeToLiveS = 86'400;
  // What a writer that died left behind goes when a process opens the folder that long afterwards.
  static constexpr std::uint64_t kLeftoverS = 3'600;

  // Options: fsync=1 (a machine that loses power has what put() returned for), ttl=SECONDS (0:
  // values stay until removed). The folder is made if its parent is there. Errors: bad_address,
  // io, permission.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(const ChannelUrl& url);

  Status put(std::string_view key, Parts parts) override;
  Status get(std::string_view key, std::uint64_t offset, std::span<std::byte> into) override;
  Result<std::uint64_t> size(std::string_view key) override;
  Status remove(std::string_view key) override;
  [[nodiscard]] std::uint64_t time_to_live_s() const override { return options_.ttl_s; }
  // Also removes what is older than the time to live.
  Status renew(std::span<const std::string> keys) override;
  Status ping() override;
  [[nodiscard]] ChannelCost cost_hint() const override { return {50, 700}; }
  [[nodiscard]] std::string describe() const override { return "file:" + options_.path; }

 private:
  struct Options {
    std::string path;
    bool fsync = false;
    std::uint64_t ttl_s = kTimeToLiveS;
  };
  struct Opened {
    fabric::Fd file;
    std::string path;
    std::uint64_t size = 0;
    std::uint64_t checksum = 0;
  };
  FileChannel(Options options, fabric::Fd folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<Opened> open(std::string_view key);
  // Where a key's file is, below the folder.
  [[nodiscard]] static std::string place_of(std::string_view key);
  [[nodiscard]] Status make_subfolder(const std::string& place);
  void sweep();

  const Options options_;
  const fabric::Fd folder_;
};

}  // namespace godwit::ref
