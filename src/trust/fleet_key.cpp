#include "trust/fleet_key.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fail.hpp"

namespace godwit::trust {
namespace {

constexpr std::size_t kDigits = FleetKey::kSize * 2;
constexpr std::size_t kLongestFile = kDigits + 2;  // a line end, of either kind

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

void update(crypto_generichash_state& state, Bytes part) {
  const std::uint64_t size = part.size();
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                            part.size());
}

Status check_private(int fd, const std::filesystem::path& file) {
  struct stat info{};
  if (::fstat(fd, &info) != 0)
    return fail(ErrorCode::io, "cannot examine key file {}: {}", file.string(), errno_text(errno));
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::bad_format, "key file {} is not a regular file", file.string());
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(ErrorCode::permission,
                "key file {} can be used by others (mode {:o}); run: chmod 600 {}", file.string(),
                info.st_mode & 07777U, file.string());
  return {};
}

}  // namespace

FleetKey::~FleetKey() {
  sodium_memzero(bytes_.data(), bytes_.size());
}

FleetKey FleetKey::generate() {
  FleetKey key;
  randombytes_buf(key.bytes_.data(), key.bytes_.size());
  return key;
}

FleetKey FleetKey::open_fleet() {
  FleetKey key;
  constexpr std::string_view kText = "godwit: open fleet, not a secret";
  static_assert(kText.size() == kSize);
  std::copy(kText.begin(), kText.end(), key.bytes_.begin());
  return key;
}

Result<FleetKey> FleetKey::from_hex(std::string_view digits) {
  FleetKey key;
  std::size_t written = 0;
  const bool parsed =
      digits.size() == kDigits && sodium_hex2bin(key.bytes_.data(), kSize, digits.data(),
                                                 digits.size(), nullptr, &written, nullptr) == 0;
  if (!parsed || written != kSize)
    return fail(ErrorCode::bad_format,
                "a fleet key is {} hexadecimal digits; got {} characters that are not", kDigits,
                digits.size());
  return key;
}

Result<FleetKey> FleetKey::load(const std::filesystem::path& file) {
  const OpenFile opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.fd() < 0) {
    const auto code = errno == ENOENT   ? ErrorCode::not_found
                      : errno == EACCES ? ErrorCode::permission
                                        : ErrorCode::io;
    return fail(code, "cannot open key file {}: {}", file.string(), errno_text(errno));
  }
  GODWIT_CHECK(check_private(opened.fd(), file));
  std::string text(kLongestFile + 1, '\0');
  const ssize_t got = ::read(opened.fd(), text.data(), text.size());
  if (got < 0)
    return fail(ErrorCode::io, "cannot read key file {}: {}", file.string(), errno_text(errno));
  text.resize(static_cast<std::size_t>(got));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  auto key = from_hex(text);
  sodium_memzero(text.data(), text.size());
  if (!key)
    return fail(ErrorCode::bad_format, "key file {}: {}", file.string(), key.error().message);
  return key;
}

Status FleetKey::save(const std::filesystem::path& file) const {
  const OpenFile opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (opened.fd() < 0) {
    const auto code = errno == EEXIST   ? ErrorCode::already_exists
                      : errno == EACCES ? ErrorCode::permission
                                        : ErrorCode::io;
    return fail(code, "cannot create key file {}: {}", file.string(), errno_text(errno));
  }
  const std::string text = hex() + '\n';
  if (::write(opened.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::unlink(file.c_str());
    return fail(ErrorCode::io, "cannot write key file {}: {}", file.string(), errno_text(errno));
  }
  return {};
}

std::string FleetKey::hex() const {
  std::string text(kDigits + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes_.data(), bytes_.size());
  text.pop_back();
  return text;
}

Tag FleetKey::tag(std::string_view purpose, std::initializer_list<Bytes> parts) const {
  crypto_generichash_state state;
  crypto_generichash_init(&state, bytes_.data(), bytes_.size(), Tag{}.size());
  update(state, bytes_of(purpose));
  for (const Bytes part : parts) update(state, part);
  Tag tag{};
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(tag.data()), tag.size());
  return tag;
}

FleetKey FleetKey::derive(std::string_view purpose) const {
  Tag made = tag(purpose, {});
  FleetKey key;
  static_assert(kSize == sizeof made);
  std::memcpy(key.bytes_.data(), made.data(), kSize);
  sodium_memzero(made.data(), made.size());
  return key;
}

FleetKey relay_key_of(const FleetKey& fleet) {
  return fleet.derive("godwit relay 1: admission");
}

bool equal_in_constant_time(Bytes a, Bytes b) noexcept {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace godwit::trust
