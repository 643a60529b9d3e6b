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
// Without this OpenSSL would ask at the terminal for the passphrase of a key that has one.
static inline int regent_no_passphrase(char *buffer, int size, int writing, void *data) {
  (void)buffer; (void)size; (void)writing; (void)data;
  return -1;
}
static inline void regent_SSL_CTX_ask_no_passphrase(SSL_CTX *context) {
  SSL_CTX_set_default_passwd_cb(context, regent_no_passphrase);
}
static inline int regent_is_unexpected_eof(unsigned long code) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  return 0;
#endif
}
