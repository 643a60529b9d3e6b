// OpenSSL's client side, and functions for those of its calls that are macros, which Swift cannot see.
#pragma once
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline long regent_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
  return SSL_set_tlsext_host_name(ssl, name);
}
static inline long regent_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version);
}
static inline long regent_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_session_cache_mode(context, mode);
}
static inline long regent_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_mode(context, mode);
}
static inline int regent_is_unexpected_eof(unsigned long code) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  return 0;
#endif
}
