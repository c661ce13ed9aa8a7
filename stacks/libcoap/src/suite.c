// DTLS with exactly one suite: TLS_PSK_WITH_AES_128_CCM_8, which RFC 7252, section 9.1.3.1, makes mandatory. libcoap 4.3
// has no setting for it and gives OpenSSL lists of its own; the linker hands those calls to us (build.sh, --wrap).
#include <openssl/ssl.h>

// Subtle: OpenSSL counts the tag of 8 bytes as 64 bits of security, less than its default level takes.
static const char suite[] = "PSK-AES128-CCM8:@SECLEVEL=0";

int __real_SSL_CTX_set_cipher_list(SSL_CTX *context, const char *list);
int __real_SSL_set_cipher_list(SSL *session, const char *list);
int __wrap_SSL_CTX_set_cipher_list(SSL_CTX *context, const char *list);
int __wrap_SSL_set_cipher_list(SSL *session, const char *list);

int __wrap_SSL_CTX_set_cipher_list(SSL_CTX *context, const char *list) {
  (void)list;
  return __real_SSL_CTX_set_cipher_list(context, suite);
}

int __wrap_SSL_set_cipher_list(SSL *session, const char *list) {
  (void)list;
  return __real_SSL_set_cipher_list(session, suite);
}
