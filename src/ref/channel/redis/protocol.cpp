#include "ref/channel/redis/protocol.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"

namespace godwit::ref {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

ErrorCode code_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(' '));
  if (first == "NOAUTH" || first == "WRONGPASS") return ErrorCode::unauthorised;
  if (first == "NOPERM" || first == "READONLY") return ErrorCode::permission;
  if (first == "OOM" || first == "MISCONF") return ErrorCode::resource_exhausted;
  if (first == "LOADING" || first == "CLUSTERDOWN" || first == "TRYAGAIN" ||
      first == "MASTERDOWN") {
    return ErrorCode::unreachable;
  }
  // Before version 6, and where only a password is set.
  if (text.find("invalid password") != std::string_view::npos ||
      text.find("AUTH") != std::string_view::npos) {
    return ErrorCode::unauthorised;
  }
  return ErrorCode::io;
}

}  // namespace

// --- Commands ---

RedisCommand::RedisCommand(std::initializer_list<std::string_view> words) {
  pieces_.emplace_back();
  for (const std::string_view word : words) add(word);
}

RedisCommand& RedisCommand::add(std::string_view word) {
  count_ = fmt::format("*{}\r\n", ++words_);
  pieces_.back().text += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return *this;
}

RedisCommand& RedisCommand::add_value(Bytes head, Channel::Parts parts) {
  count_ = fmt::format("*{}\r\n", ++words_);
  pieces_.back().text += fmt::format("${}\r\n", head.size() + total_size(parts));
  pieces_.back().text += text_of(head);
  for (const Bytes part : parts) {
    if (!part.empty()) pieces_.push_back({{}, part});
  }
  pieces_.push_back({"\r\n", {}});
  return *this;
}

void RedisCommand::append_to(std::vector<Bytes>& pieces) const {
  pieces.push_back(bytes_of(count_));
  for (const Piece& piece : pieces_) {
    pieces.push_back(piece.lent.empty() ? bytes_of(piece.text) : piece.lent);
  }
}

// --- Connecting ---

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const std::string& address,
                                                               const Stream::Options& options,
                                                               const RedisLogin& login) {
  std::unique_ptr<RedisConnection> connection(new RedisConnection(address));
  GODWIT_TRY(connection->stream_, Stream::connect(address, options));
  GODWIT_CHECK(connection->log_in(login));
  return connection;
}

Status RedisConnection::log_in(const RedisLogin& login) {
  std::vector<RedisCommand> commands;
  if (!login.password.empty()) {
    RedisCommand& command = commands.emplace_back(RedisCommand{"AUTH"});
    if (!login.user.empty()) command.add(login.user);
    command.add(login.password);
  }
  if (login.database != 0) {
    commands.push_back(RedisCommand{"SELECT", std::to_string(login.database)});
  }
  if (commands.empty()) return {};
  GODWIT_CHECK(send(commands));
  Status all;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto reply = receive();
    if (!reply && all) all = tl::unexpected(reply.error());
  }
  return all;
}

Status RedisConnection::send(std::span<const RedisCommand> commands) {
  static const RedisCommand kAsking{"ASKING"};
  std::vector<Bytes> pieces;
  for (const RedisCommand& command : commands) {
    if (asking_) kAsking.append_to(pieces);
    command.append_to(pieces);
  }
  Status sent = stream_->write(pieces);
  broken_ |= !sent;
  return sent;
}

// --- Replies ---

tl::unexpected<Error> RedisConnection::violation(std::string_view what) {
  broken_ = true;
  return fail(ErrorCode::protocol_violation, "{} does not speak as Redis does: {}", address_, what);
}

tl::unexpected<Error> RedisConnection::server_error(std::string_view text) {
  const bool ask = text.starts_with("ASK ");
  if (ask || text.starts_with("MOVED ")) {
    const std::size_t last = text.rfind(' ');
    redirect_ = Redirect{std::string(text.substr(last + 1)), ask};
  }
  return fail(code_of(text), "{} says: {}", address_, text);
}

std::optional<RedisConnection::Redirect> RedisConnection::take_redirect() noexcept {
  return std::exchange(redirect_, std::nullopt);
}

Status RedisConnection::fill() {
  begin_ = 0;
  end_ = 0;
  const auto got = stream_->read(buffer_);
  broken_ |= !got;
  if (!got) return tl::unexpected(got.error());
  end_ = *got;
  return {};
}

Result<std::string> RedisConnection::line() {
  constexpr std::size_t kMaxLine = 4096;
  std::string text;
  for (;;) {
    if (begin_ == end_) GODWIT_CHECK(fill());
    const char c = static_cast<char>(buffer_[begin_++]);
    if (c == '\n' && text.ends_with('\r')) {
      text.pop_back();
      return text;
    }
    text.push_back(c);
    if (text.size() > kMaxLine) return violation("a line has no end");
  }
}

Status RedisConnection::take(MutableBytes into) {
  const std::size_t ready = std::min(into.size(), end_ - begin_);
  if (ready > 0) std::memcpy(into.data(), buffer_.data() + begin_, ready);
  begin_ += ready;
  into = into.subspan(ready);
  while (!into.empty()) {
    const auto got = stream_->read(into);
    broken_ |= !got;
    if (!got) return tl::unexpected(got.error());
    into = into.subspan(*got);
  }
  return {};
}

Status RedisConnection::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    if (begin_ == end_) GODWIT_CHECK(fill());
    const std::uint64_t some = std::min<std::uint64_t>(bytes, end_ - begin_);
    begin_ += static_cast<std::size_t>(some);
    bytes -= some;
  }
  return {};
}

Status RedisConnection::skip_asking() {
  if (!asking_) return {};
  GODWIT_TRY(const RedisReply ignored, parse(0));
  static_cast<void>(ignored);
  return {};
}

Result<RedisReply> RedisConnection::receive(std::size_t max_text) {
  GODWIT_CHECK(skip_asking());
  max_text_ = max_text;
  return parse(0);
}

Result<RedisReply> RedisConnection::parse(unsigned depth) {
  GODWIT_TRY(const std::string head, line());
  if (head.empty() || depth > kMaxDepth) return violation("a reply of no kind, or too deep");
  const std::string_view rest = std::string_view(head).substr(1);
  RedisReply reply;
  if (head[0] == '+') {
    reply.kind = RedisReply::Kind::text;
    reply.text = rest;
    return reply;
  }
  if (head[0] == '-') return server_error(rest);
  const auto number = number_in(rest);
  if (!number) return violation("a number is none");
  if (head[0] == ':') {
    reply.kind = RedisReply::Kind::number;
    reply.number = *number;
    return reply;
  }
  if (*number < 0) return reply;
  if (head[0] == '$') {
    if (static_cast<std::uint64_t>(*number) > max_text_) return violation("a reply is too long");
    reply.kind = RedisReply::Kind::text;
    reply.text.resize(static_cast<std::size_t>(*number));
    GODWIT_CHECK(take(std::as_writable_bytes(std::span(reply.text))));
    GODWIT_CHECK(skip(2));
    return reply;
  }
  if (head[0] != '*') return violation("a reply of an unknown kind");
  if (static_cast<std::uint64_t>(*number) > kMaxItems) return violation("a list is too long");
  reply.kind = RedisReply::Kind::list;
  std::optional<Error> failed;  // the others have to be read all the same
  for (std::int64_t i = 0; i < *number; ++i) {
    auto item = parse(depth + 1);
    if (!item && broken_) return item;
    if (!item) failed = item.error();
    reply.items.push_back(item ? *std::move(item) : RedisReply());
  }
  if (failed) return tl::unexpected(*std::move(failed));
  return reply;
}

Result<std::optional<std::uint64_t>> RedisConnection::receive_value(MutableBytes head,
                                                                    MutableBytes body) {
  GODWIT_CHECK(skip_asking());
  GODWIT_TRY(const std::string first, line());
  if (first.starts_with('-')) return server_error(std::string_view(first).substr(1));
  const auto size = first.starts_with('$') ? number_in(std::string_view(first).substr(1))
                                           : std::optional<std::int64_t>();
  if (!size) return violation("it sent no value where one was asked for");
  if (*size < 0) return std::optional<std::uint64_t>();
  auto left = static_cast<std::uint64_t>(*size);
  for (const MutableBytes room : {head, body}) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left, room.size()));
    GODWIT_CHECK(take(room.first(some)));
    left -= some;
  }
  GODWIT_CHECK(skip(left + 2));
  return std::optional<std::uint64_t>(static_cast<std::uint64_t>(*size));
}

}  // namespace godwit::ref
