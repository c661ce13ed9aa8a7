// Levels none and tls. The secured build has wss.c instead.
#include "security.h"

#include <string.h>

#include "tls.h"

#ifdef WITH_OPENSSL
const char *const security_levels[] = {"tls", "tls12", NULL};
#else
const char *const security_levels[] = {"none", NULL};
#endif

bool security_init(struct soap *s, struct wire *w, char *why, size_t size) {
#ifdef WITH_OPENSSL
  return w->client ? tls_client(s, w->setup, why, size) : tls_server(s, w->setup, why, size);
#else
  (void)s, (void)w, (void)why, (void)size;
  return true;
#endif
}

void security_copied(struct soap *s) { (void)s; }
int security_check(struct soap *s, struct wire *w) { return (void)s, (void)w, SOAP_OK; }
int security_add(struct soap *s, struct wire *w) { return (void)s, (void)w, SOAP_OK; }
