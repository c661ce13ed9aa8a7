#include "tls.h"

#ifdef WITH_OPENSSL
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

// The oldest version allowed: TLS 1.3, or 1.2 where the study says so for a client that has no newer.
static int oldest(const struct setup *setup) {
  return strcmp(setup_option(setup, "tls", "1.3"), "1.2") ? TLS1_3_VERSION : TLS1_2_VERSION;
}

static bool failed(const char *what, char *why, size_t size) {
  snprintf(why, size, "%s: %s", what, ERR_reason_error_string(ERR_peek_last_error()));
  return false;
}

bool tls_server(struct soap *s, const struct setup *setup, char *why, size_t size) {
  const char *cert = setup_credential(setup, "cert"), *key = setup_credential(setup, "key");
  soap_ssl_init();
  if (soap_ssl_server_context(s, SOAP_SSL_DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) return failed("TLS", why, size);
  // Not by soap_ssl_server_context, which wants key and certificate in one file.
  if (SSL_CTX_use_certificate_chain_file(s->ctx, cert) != 1) return failed(cert, why, size);
  if (SSL_CTX_use_PrivateKey_file(s->ctx, key, SSL_FILETYPE_PEM) != 1) return failed(key, why, size);
  return SSL_CTX_set_min_proto_version(s->ctx, oldest(setup)) == 1 || failed("TLS 1.3", why, size);
}

bool tls_client(struct soap *s, const struct setup *setup, char *why, size_t size) {
  const char *ca = setup_credential(setup, "ca");
  soap_ssl_init();
  if (soap_ssl_client_context(s, SOAP_SSL_REQUIRE_SERVER_AUTHENTICATION, NULL, NULL, ca, NULL, NULL)) return failed(ca, why, size);
  return SSL_CTX_set_min_proto_version(s->ctx, oldest(setup)) == 1 || failed("TLS 1.3", why, size);
}
#endif
