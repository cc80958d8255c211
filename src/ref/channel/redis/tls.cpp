#include "ref/channel/redis/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ref {
namespace {

// OpenSSL's own socket BIO raises SIGPIPE when the other side is gone, which ends programs.
int write_to_socket(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t done = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(done);
}

int read_from_socket(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t done = ::recv(fd, data, static_cast<std::size_t>(size), 0);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(done);
}

long control_socket(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "godwit socket");
    BIO_meth_set_write(made, &write_to_socket);
    BIO_meth_set_read(made, &read_from_socket);
    BIO_meth_set_ctrl(made, &control_socket);
    return made;
  }();
  return method;
}

std::string tls_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "no reason given";
}

SSL_CTX* context_of(void* pointer) {
  return static_cast<SSL_CTX*>(pointer);
}
SSL* session_of(void* pointer) {
  return static_cast<SSL*>(pointer);
}

int int_size(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

// Of a call that returned `result`, which is not above 0.
Result<TlsSession::Step> step_of(SSL* session, int result, ErrorCode code) {
  switch (SSL_get_error(session, result)) {
    case SSL_ERROR_WANT_READ: return TlsSession::Step{TlsSession::Wants::to_read, 0};
    case SSL_ERROR_WANT_WRITE: return TlsSession::Step{TlsSession::Wants::to_write, 0};
    case SSL_ERROR_ZERO_RETURN: return TlsSession::Step{};
    default: break;
  }
  const long verdict = SSL_get_verify_result(session);
  if (verdict != X509_V_OK) {
    return fail(ErrorCode::handshake_failed,
                "its certificate is not accepted: {}; check ca= and name=",
                X509_verify_cert_error_string(verdict));
  }
  return fail(code, "TLS ended: {}", tls_error());
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::create(const Options& options) {
  SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
  if (made == nullptr) return fail(ErrorCode::out_of_memory, "no memory for TLS");
  std::shared_ptr<TlsContext> context(new TlsContext(made, options.server_name));
  SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
  SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const int trusted = options.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(made)
                          : SSL_CTX_load_verify_locations(made, options.ca_file.c_str(), nullptr);
  if (trusted != 1) {
    return fail(ErrorCode::bad_format, "ca={}: no certificates can be read from it: {}",
                options.ca_file, tls_error());
  }
  if (options.cert_file.empty()) return std::shared_ptr<const TlsContext>(std::move(context));
  if (SSL_CTX_use_certificate_chain_file(made, options.cert_file.c_str()) != 1) {
    return fail(ErrorCode::bad_format, "cert={}: no certificate can be read from it: {}",
                options.cert_file, tls_error());
  }
  if (SSL_CTX_use_PrivateKey_file(made, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(ErrorCode::bad_format, "key={}: it is no private key of {}: {}", options.key_file,
                options.cert_file, tls_error());
  }
  return std::shared_ptr<const TlsContext>(std::move(context));
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_of(context_));
}

Result<std::unique_ptr<TlsSession>> TlsSession::create(const TlsContext& context, int socket,
                                                       const std::string& host) {
  SSL* const made = SSL_new(context_of(context.context_));
  BIO* const bio = BIO_new(socket_method());
  if (made == nullptr || bio == nullptr) {
    SSL_free(made);
    BIO_free(bio);
    return fail(ErrorCode::out_of_memory, "no memory for a TLS connection");
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(made, bio, bio);
  SSL_set_connect_state(made);
  std::unique_ptr<TlsSession> session(new TlsSession(made));
  const std::string& name = context.server_name_.empty() ? host : context.server_name_;
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(made);
  const bool numeric = X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1;
  if (!numeric && SSL_set1_host(made, name.c_str()) != 1) {
    return fail(ErrorCode::bad_address, "'{}' cannot be the name of a server", name);
  }
  if (!numeric) SSL_set_tlsext_host_name(made, name.c_str());
  ERR_clear_error();
  return session;
}

TlsSession::~TlsSession() {
  SSL_free(session_of(session_));
}

Result<TlsSession::Step> TlsSession::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_of(session_));
  if (result == 1) return Step{Wants::nothing, 1};
  GODWIT_TRY(const Step step, step_of(session_of(session_), result, ErrorCode::handshake_failed));
  if (step.wants == Wants::nothing) {
    return fail(ErrorCode::handshake_failed, "the server ended the TLS handshake");
  }
  return step;
}

Result<TlsSession::Step> TlsSession::read(MutableBytes into) {
  ERR_clear_error();
  const int result = SSL_read(session_of(session_), into.data(), int_size(into.size()));
  if (result > 0) return Step{Wants::nothing, static_cast<std::size_t>(result)};
  return step_of(session_of(session_), result, ErrorCode::link_lost);
}

Result<TlsSession::Step> TlsSession::write(Bytes bytes) {
  ERR_clear_error();
  const int result = SSL_write(session_of(session_), bytes.data(), int_size(bytes.size()));
  if (result > 0) return Step{Wants::nothing, static_cast<std::size_t>(result)};
  return step_of(session_of(session_), result, ErrorCode::link_lost);
}

}  // namespace godwit::ref
