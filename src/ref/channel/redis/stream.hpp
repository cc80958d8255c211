// A connection to a server over tcp or a Unix socket, with TLS if asked for. Every wait ends: a
// read or write that makes no progress for the time-out is an error.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::ref {

// What TLS connections of one channel have in common. Servers are always verified. Any thread.
class TlsContext {
 public:
  struct Options {
    std::string ca_file{};    // empty: those the system trusts
    std::string cert_file{};  // of this side, with key_file
    std::string key_file{};
    std::string server_name{};  // to verify; empty: the host that is connected to
  };
  // Errors: bad_format and io (a file is no good), naming the file.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> create(const Options& options);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

 private:
  friend class TlsSession;
  explicit TlsContext(void* context, std::string name)
      : context_(context), server_name_(std::move(name)) {}
  void* context_;  // an SSL_CTX
  std::string server_name_;
};

class TlsSession;

// One thread at a time. After an error it is of no use any more.
class Stream {
 public:
  struct Options {
    std::chrono::milliseconds time_out{2000};
    std::shared_ptr<const TlsContext> tls{};  // none: plain
  };
  // `address` is "host:port", "[v6]:port" or "/path/of/a/socket". Names are looked up by the
  // system, in its own time. Errors: bad_address, unreachable, handshake_failed (TLS).
  [[nodiscard]] static Result<std::unique_ptr<Stream>> connect(const std::string& address,
                                                               const Options& options);
  ~Stream();

  // All of the parts. Errors: link_lost, deadline.
  [[nodiscard]] Status write(std::span<const Bytes> parts);
  // At least one byte. Errors: link_lost (also at the other side's end), deadline.
  [[nodiscard]] Result<std::size_t> read(MutableBytes into);

 private:
  Stream(std::string address, const Options& options);
  [[nodiscard]] Status open_socket();
  [[nodiscard]] Status write_plain(std::span<const Bytes> parts);
  // Until the socket is ready for that.
  [[nodiscard]] Status wait_for(short events);
  [[nodiscard]] tl::unexpected<Error> lost(const char* verb) const;

  const std::string address_;
  const Options options_;
  fabric::Fd socket_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace godwit::ref
