#include "tls.h"

#ifdef WITH_OPENSSL
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

// One version, one group and one suite, and no other: what is measured has a name, and is alike in all stacks (doc/method.md).
static bool pinned(struct soap *s, const struct setup *setup) {
  bool old = !strcmp(setup->security, "tls12");
  int version = old ? TLS1_2_VERSION : TLS1_3_VERSION;
  // Subtle: in TLS 1.2 the list says also which certificates are taken, and the lab's are of P-256.
  const char *groups = old ? "X25519:P-256" : "X25519";
  return SSL_CTX_set_min_proto_version(s->ctx, version) == 1 && SSL_CTX_set_max_proto_version(s->ctx, version) == 1 &&
         SSL_CTX_set1_groups_list(s->ctx, groups) == 1 && SSL_CTX_set_ciphersuites(s->ctx, "TLS_AES_128_GCM_SHA256") == 1 &&
         (!old || SSL_CTX_set_cipher_list(s->ctx, "ECDHE-ECDSA-AES128-GCM-SHA256") == 1);
}

static bool failed(const char *what, char *why, size_t size) {
  snprintf(why, size, "%s: %s", what, ERR_reason_error_string(ERR_peek_last_error()));
  return false;
}

bool tls_server(struct soap *s, const struct setup *setup, char *why, size_t size) {
  const char *cert = setup_credential(setup, "cert"), *key = setup_credential(setup, "key");
  soap_ssl_init();
  // Subtle: by default it asks the client for a certificate (SSL_VERIFY_PEER), which none has here.
  if (soap_ssl_server_context(s, SOAP_SSL_NO_AUTHENTICATION, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) return failed("TLS", why, size);
  // Not by soap_ssl_server_context, which wants key and certificate in one file.
  if (SSL_CTX_use_certificate_chain_file(s->ctx, cert) != 1) return failed(cert, why, size);
  if (SSL_CTX_use_PrivateKey_file(s->ctx, key, SSL_FILETYPE_PEM) != 1) return failed(key, why, size);
  SSL_CTX_set_num_tickets(s->ctx, 0); // no session is resumed: a ticket would be bytes for nothing
  return pinned(s, setup) || failed("TLS settings", why, size);
}

bool tls_client(struct soap *s, const struct setup *setup, char *why, size_t size) {
  const char *ca = setup_credential(setup, "ca");
  soap_ssl_init();
  if (soap_ssl_client_context(s, SOAP_SSL_REQUIRE_SERVER_AUTHENTICATION, NULL, NULL, ca, NULL, NULL)) return failed(ca, why, size);
  return pinned(s, setup) || failed("TLS settings", why, size);
}
#endif
