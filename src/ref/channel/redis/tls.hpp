// TLS over a socket that does not block.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "ref/channel/redis/stream.hpp"

namespace godwit::ref {

class TlsSession {
 public:
  // What has to happen before a call is to be repeated.
  enum class Wants : unsigned char { nothing, to_read, to_write };
  struct Step {
    Wants wants = Wants::nothing;
    std::size_t bytes = 0;  // moved; 0 of a read: the other side has ended
  };

  // `host` as it was connected to.
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> create(const TlsContext& context,
                                                                  int socket,
                                                                  const std::string& host);
  ~TlsSession();

  // Errors: handshake_failed (and why, as far as the certificates tell).
  [[nodiscard]] Result<Step> shake_hands();
  // Errors: link_lost.
  [[nodiscard]] Result<Step> read(MutableBytes into);
  [[nodiscard]] Result<Step> write(Bytes bytes);

 private:
  explicit TlsSession(void* session) : session_(session) {}
  void* session_;  // an SSL
};

}  // namespace godwit::ref
