#include "ref/redis_objects.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fail.hpp"
#include "ref/wire.hpp"

namespace godwit::bench {
namespace {

// Head, value and tail in one system call; the rest of a large value in more.
Status send_three(int fd, const std::string& head, std::span<const std::byte> value,
                  const std::string& tail) {
  iovec parts[3] = {{const_cast<char*>(head.data()), head.size()},
                    {const_cast<std::byte*>(value.data()), value.size()},
                    {const_cast<char*>(tail.data()), tail.size()}};
  ssize_t sent = ::writev(fd, parts, 3);
  if (sent < 0) return fail(ErrorCode::io, "write to redis-server: {}", errno_text(errno));
  for (const iovec& part : parts) {
    const auto done = std::min<std::size_t>(part.iov_len, static_cast<std::size_t>(sent));
    sent -= static_cast<ssize_t>(done);
    if (done == part.iov_len) continue;
    GODWIT_CHECK(
        send_bytes(fd, static_cast<const char*>(part.iov_base) + done, part.iov_len - done));
  }
  return {};
}

std::string bulk(std::string_view text) {
  return fmt::format("${}\r\n{}\r\n", text.size(), text);
}

}  // namespace

Result<RedisObjects> RedisObjects::connect(const std::string& unix_socket) {
  fabric::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (unix_socket.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::bad_address, "{} is too long for a socket", unix_socket);
  }
  std::memcpy(address.sun_path, unix_socket.c_str(), unix_socket.size() + 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(ErrorCode::io, "connect to redis-server: {}", errno_text(errno));
  }
  return RedisObjects(std::move(fd));
}

Status RedisObjects::read_more() {
  char some[4096];
  const ssize_t got = ::read(connection_.get(), some, sizeof some);
  if (got <= 0) return fail(ErrorCode::io, "redis-server hung up");
  ahead_.append(some, static_cast<std::size_t>(got));
  return {};
}

Result<std::string> RedisObjects::read_line() {
  std::size_t end = ahead_.find("\r\n");
  while (end == std::string::npos) {
    GODWIT_CHECK(read_more());
    end = ahead_.find("\r\n");
  }
  std::string line = ahead_.substr(0, end);
  ahead_.erase(0, end + 2);
  if (line.starts_with('-')) return fail(ErrorCode::io, "redis-server says: {}", line);
  return line;
}

Status RedisObjects::expect_ok() {
  GODWIT_TRY(const std::string line, read_line());
  if (line != "+OK") return fail(ErrorCode::io, "redis-server says: {}", line);
  return {};
}

Result<std::size_t> RedisObjects::read_bulk(std::span<std::byte> into) {
  GODWIT_TRY(const std::string line, read_line());
  const std::size_t size = line.starts_with('$') ? std::stoull(line.substr(1)) : SIZE_MAX;
  if (size > into.size()) return fail(ErrorCode::io, "redis-server says: {}", line);
  const std::size_t had = std::min(size, ahead_.size());
  std::memcpy(into.data(), ahead_.data(), had);
  ahead_.erase(0, had);
  GODWIT_CHECK(receive_bytes(connection_.get(), into.data() + had, size - had, Waiting::sleep));
  while (ahead_.size() < 2) GODWIT_CHECK(read_more());
  ahead_.erase(0, 2);
  return size;
}

Status RedisObjects::set(std::string_view key, std::span<const std::byte> bytes) {
  const std::string head =
      "*3\r\n" + bulk("SET") + bulk(key) + fmt::format("${}\r\n", bytes.size());
  GODWIT_CHECK(send_three(connection_.get(), head, bytes, "\r\n"));
  return expect_ok();
}

Result<std::size_t> RedisObjects::get(std::string_view key, std::span<std::byte> into) {
  const std::string request = "*2\r\n" + bulk("GET") + bulk(key);
  GODWIT_CHECK(send_bytes(connection_.get(), request.data(), request.size()));
  return read_bulk(into);
}

Status RedisObjects::set_all(std::size_t count, std::span<const std::byte> bytes) {
  const std::size_t size = bytes.size() / count;
  std::string request = fmt::format("*{}\r\n", 1 + 2 * count) + bulk("MSET");
  request.reserve(bytes.size() + count * 64);
  for (std::size_t i = 0; i < count; ++i) {
    request += bulk(std::to_string(i));
    request += bulk({reinterpret_cast<const char*>(bytes.data()) + i * size, size});
  }
  GODWIT_CHECK(send_bytes(connection_.get(), request.data(), request.size()));
  return expect_ok();
}

Status RedisObjects::get_all(std::size_t count, std::span<std::byte> into) {
  std::string request = fmt::format("*{}\r\n", 1 + count) + bulk("MGET");
  for (std::size_t i = 0; i < count; ++i) request += bulk(std::to_string(i));
  GODWIT_CHECK(send_bytes(connection_.get(), request.data(), request.size()));
  GODWIT_TRY(const std::string line, read_line());
  if (line != fmt::format("*{}", count)) return fail(ErrorCode::io, "redis-server says: {}", line);
  const std::size_t size = into.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    GODWIT_TRY(const std::size_t got, read_bulk(into.subspan(i * size, size)));
    if (got != size) return fail(ErrorCode::io, "redis-server sent {} of {} bytes", got, size);
  }
  return {};
}

}  // namespace godwit::bench
