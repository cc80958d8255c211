// Redis's protocol (RESP 2), from the client's side. Values go from and to the caller's memory:
// nothing large is copied on the way.
//
// Not hiredis: Debian's (0.14) has no TLS, and its reader copies each value twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/channel.hpp"
#include "godwit/error.hpp"
#include "ref/channel/redis/stream.hpp"

namespace godwit::ref {

class RedisCommand {
 public:
  RedisCommand(std::initializer_list<std::string_view> words);
  RedisCommand& add(std::string_view word);
  // One word made of a head and parts, which are lent until the command has been sent.
  RedisCommand& add_value(Bytes head, Channel::Parts parts);
  void append_to(std::vector<Bytes>& pieces) const;

 private:
  struct Piece {
    std::string text;
    Bytes lent{};
  };
  std::size_t words_ = 0;
  std::string count_;
  std::vector<Piece> pieces_;
};

struct RedisReply {
  enum class Kind : std::uint8_t { nothing, text, number, list };
  Kind kind = Kind::nothing;
  std::string text;
  std::int64_t number = 0;
  std::vector<RedisReply> items;
};

struct RedisLogin {
  std::string user;
  std::string password;
  std::uint64_t database = 0;
};

// One thread at a time.
class RedisConnection {
 public:
  static constexpr std::size_t kMaxReply = std::size_t{4} << 20;  // of those that are not values
  static constexpr std::size_t kMaxItems = 65'536;
  static constexpr unsigned kMaxDepth = 8;

  // Connects and logs in. Errors: those of Stream::connect(), unauthorised, what the server says.
  [[nodiscard]] static Result<std::unique_ptr<RedisConnection>> open(const std::string& address,
                                                                     const Stream::Options& options,
                                                                     const RedisLogin& login);

  // Errors: those of Stream. One receive follows for each command.
  [[nodiscard]] Status send(std::span<const RedisCommand> commands);
  // Errors: those of Stream; protocol_violation; what the server says: unauthorised, permission,
  // resource_exhausted (its memory is full), unreachable (it is not ready), io. A text of the reply
  // has at most so many bytes.
  [[nodiscard]] Result<RedisReply> receive(std::size_t max_text = kMaxReply);
  // A value: its first bytes fill `head`, those that follow `body`; the rest is read over. Its
  // whole size; nothing: there is no such key.
  [[nodiscard]] Result<std::optional<std::uint64_t>> receive_value(MutableBytes head,
                                                                   MutableBytes body);

  // Nothing can be sent or received any more.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  // Another server has the key, the server said last.
  struct Redirect {
    std::string address;
    bool only_now = false;  // ASK, where the key is moving
  };
  [[nodiscard]] std::optional<Redirect> take_redirect() noexcept;
  // Commands are for a key that is moving here.
  void set_asking(bool asking) noexcept { asking_ = asking; }

 private:
  explicit RedisConnection(std::string address) : address_(std::move(address)) {}
  [[nodiscard]] Status log_in(const RedisLogin& login);
  [[nodiscard]] Result<RedisReply> parse(unsigned depth);
  [[nodiscard]] Result<std::string> line();
  [[nodiscard]] Status fill();
  [[nodiscard]] Status take(MutableBytes into);
  [[nodiscard]] Status skip(std::uint64_t bytes);
  [[nodiscard]] Status skip_asking();
  [[nodiscard]] tl::unexpected<Error> violation(std::string_view what);
  [[nodiscard]] tl::unexpected<Error> server_error(std::string_view text);

  const std::string address_;
  std::unique_ptr<Stream> stream_;
  std::array<std::byte, 16384> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t max_text_ = kMaxReply;  // of the reply that is being read
  bool asking_ = false;
  bool broken_ = false;
  std::optional<Redirect> redirect_;
};

}  // namespace godwit::ref
