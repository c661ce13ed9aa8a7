// WS-Security, by gSOAP's plugin: UsernameToken digest and Timestamp; the same with an HMAC-SHA256 signature of body and Timestamp; Timestamp, X.509
// token and an RSA-SHA256 signature of both. What the plugin leaves open is judged here: the algorithm and the place of the key, the age of every
// message, and whether it was seen before.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "security.h"
#include "wsseapi.h"

const char *const security_levels[] = {"wss-username", "wss-hmac", "wss-rsa", NULL};

enum { LIFE = 60, SKEW = 60 }; // s a message lives, and clocks may differ

static struct {
  enum { USERNAME, HMAC_, RSA_ } level;
  const char *user, *password;
  unsigned char key[64];
  int keySize;
  EVP_PKEY *rsa;
  X509 *cert;
  const char *ca;
} wss;

static bool hex(const char *text, unsigned char *to, int *size, int room) {
  unsigned v;
  for (*size = 0; *text && *size < room; text += 2, ++*size) {
    if (strspn(text, "0123456789abcdefABCDEF") < 2 || sscanf(text, "%2x", &v) != 1) return false;
    to[*size] = (unsigned char)v;
  }
  return *size >= 16 && !*text;
}

static bool load(const struct setup *s, bool client, char *why, size_t size) {
  const char *key = setup_credential(s, client ? "client_rsa_key" : "rsa_key"), *cert = setup_credential(s, client ? "client_rsa_cert" : "rsa_cert");
  FILE *k = fopen(key, "r"), *c = fopen(cert, "r");
  if (k) wss.rsa = PEM_read_PrivateKey(k, NULL, NULL, NULL), fclose(k);
  if (c) wss.cert = PEM_read_X509(c, NULL, NULL, NULL), fclose(c);
  wss.ca = strdup(setup_credential(s, "ca"));
  if (wss.rsa && wss.cert && EVP_PKEY_base_id(wss.rsa) == EVP_PKEY_RSA) return true;
  snprintf(why, size, "wss-rsa needs an RSA key and certificate in credentials: %s, %s", *key ? key : "rsa_key", *cert ? cert : "rsa_cert");
  return false;
}

// The plugin asks for the key of a signature. It gets one only in the mode that has one.
static const void *token(struct soap *s, int *alg, const char *name, const unsigned char *id, int idSize, int *keySize) {
  (void)s, (void)name, (void)id, (void)idSize;
  if (wss.level != HMAC_ || (*alg & SOAP_SMD_ALGO) != SOAP_SMD_HMAC) return NULL;
  *keySize = wss.keySize;
  return wss.key;
}

// Verifying is switched on for each context: soap_copy does not take it along.
void security_copied(struct soap *s) {
  s->cafile = wss.ca;
  if (wss.level == RSA_) soap_wsse_verify_auto(s, SOAP_SMD_NONE, NULL, 0);
  if (wss.level == HMAC_) soap_wsse_verify_auto(s, SOAP_SMD_HMAC_SHA256, wss.key, (size_t)wss.keySize);
}

bool security_init(struct soap *s, struct wire *w, char *why, size_t size) {
  const struct setup *c = w->setup;
  wss.level = !strcmp(c->security, "wss-rsa") ? RSA_ : !strcmp(c->security, "wss-hmac") ? HMAC_ : USERNAME;
  wss.user = setup_credential(c, "user"), wss.password = setup_credential(c, "password");
  if (wss.level != RSA_ && (!*wss.user || !*wss.password)) { snprintf(why, size, "%s needs credentials.user and password", c->security); return false; }
  if (wss.level == HMAC_ && !hex(setup_credential(c, "psk"), wss.key, &wss.keySize, sizeof wss.key)) {
    snprintf(why, size, "wss-hmac needs credentials.psk, a key of 16 to 64 B in hex");
    return false;
  }
  soap_ssl_init();
  if (wss.level == RSA_ && !wss.rsa && !load(c, w->client, why, size)) return false;
  if (soap_register_plugin_arg(s, soap_wsse, (void *)token)) { snprintf(why, size, "gSOAP's wsse plugin does not register"); return false; }
  security_copied(s);
  return true;
}

// --- judging

static int refuse(struct soap *s, const char *why) { return soap_wsse_sender_fault_subcode(s, "wsse:InvalidSecurity", why, NULL); }

// The plugin takes a message without Timestamp, or one that never expires.
static int fresh(struct soap *s, time_t *until) {
  _wsu__Timestamp *t = soap_wsse_Timestamp(s);
  time_t created, expires, at = time(NULL);
  if (!t || !t->Created || !t->Expires || soap_s2dateTime(s, t->Created, &created) || soap_s2dateTime(s, t->Expires, &expires))
    return refuse(s, "a Timestamp with Created and Expires is required");
  if (expires - created > 5 * LIFE) return refuse(s, "the Timestamp lives too long");
  if (created > at + SKEW) return refuse(s, "the Timestamp is of the future");
  if (expires + SKEW <= at) return refuse(s, "the Timestamp has expired");
  *until = expires + SKEW;
  return SOAP_OK;
}

static const char *local(const char *name) { return strchr(name, ':') ? strchr(name, ':') + 1 : name; }

static const char *id_of(const struct soap_dom_element *e) {
  for (const struct soap_dom_attribute *a = e->atts; a; a = a->next)
    if (a->name && a->text && !strcmp(local(a->name), "Id")) return a->text;
  return NULL;
}

// Whether the one element of this name in the message is signed, and no other bears its Id.
//
// Not by soap_wsse_verify_element: it looks on behind the end of a signed element that is the last of its parent, and then counts a Body twice. WSS4J puts a
// signed Timestamp last into the header.
static bool covered(struct soap *s, const char *ns, const char *name) {
  const ds__SignedInfoType *info = soap_wsse_Signature(s)->SignedInfo;
  const char *id = NULL;
  int found = 0, bearers = 0, references = 0;
  for (const struct soap_dom_element *e = s->dom; e; e = soap_dom_next_element(e, NULL))
    if (e->name && e->nstr && !strcmp(e->nstr, ns) && !strcmp(local(e->name), name)) found++, id = id_of(e);
  if (found != 1 || !id) return false;
  for (const struct soap_dom_element *e = s->dom; e; e = soap_dom_next_element(e, NULL)) bearers += id_of(e) && !strcmp(id_of(e), id);
  for (int i = 0; i < info->__sizeReference; i++) references += info->Reference[i]->URI && info->Reference[i]->URI[0] == '#' && !strcmp(info->Reference[i]->URI + 1, id);
  return bearers == 1 && references == 1;
}

// Only the algorithms of the level pass, of the signature and of its digests. For HMAC the plugin would take the key out of the message itself, if a KeyIdentifier offers one: any
// sender could then sign anything.
static int pinned(struct soap *s) {
  ds__SignatureType *g = soap_wsse_Signature(s);
  const char *want = wss.level == RSA_ ? "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256" : "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
  if (!g || !g->SignedInfo || !g->SignedInfo->SignatureMethod || !g->SignatureValue) return refuse(s, "a signature is required");
  const char *alg = g->SignedInfo->SignatureMethod->Algorithm;
  if (!alg || strcmp(alg, want)) return refuse(s, "signed with another algorithm than this service asks for");
  for (int i = 0; i < g->SignedInfo->__sizeReference; i++) {
    ds__ReferenceType *r = g->SignedInfo->Reference[i];
    if (!r || !r->DigestMethod || !r->DigestMethod->Algorithm || strcmp(r->DigestMethod->Algorithm, "http://www.w3.org/2001/04/xmlenc#sha256"))
      return refuse(s, "digested by another algorithm than this service asks for");
  }
  if (wss.level == HMAC_ && g->KeyInfo) return refuse(s, "an HMAC signature brings no key");
  if (!s->dom || !s->dom->nstr || !covered(s, s->dom->nstr, "Body")) return refuse(s, "the body is not signed");
  if (!covered(s, "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd", "Timestamp")) return refuse(s, "the Timestamp is not signed");
  return SOAP_OK;
}

static int remember(struct soap *s, const void *what, size_t n, time_t until, int (*seen)(struct soap *)) {
  switch (replay_seen(what, n, until)) {
  case REPLAY_NEW: return SOAP_OK;
  case REPLAY_SEEN: return seen(s);
  default: return soap_receiver_fault(s, "no memory is left to remember messages by", NULL);
  }
}

static int answered(struct soap *s) { return refuse(s, "this message was answered before"); }

static int failed(struct soap *s) { return soap_wsse_fault(s, wsse__FailedAuthentication, NULL); }

// A signature is made of what it signs, so the same one is the same message: its bytes, not their base64, which has many spellings.
static int unseen(struct soap *s, time_t until) {
  int n = 0;
  const char *bytes = soap_base642s(s, soap_wsse_Signature(s)->SignatureValue, NULL, 0, &n);
  if (!bytes || n < 16) return refuse(s, "the signature is no base64");
  return remember(s, bytes, (size_t)n, until, answered);
}

// WS-Security UsernameToken profile 1.0, section 3.1: Password_Digest = Base64(SHA-1(nonce + created + password)).
//
// Not by soap_wsse_verify_Password: it searches a list of all nonces from end to end, and takes the same nonce in another spelling for a new one. The digest is
// made of nonce and time, so the same one is the same token.
static int digest_check(struct soap *s, const _wsse__UsernameToken *t) {
  unsigned char want[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  int nonceSize = 0, n = 0;
  time_t created, at = time(NULL);
  const char *nonce = soap_base642s(s, t->Nonce->__item, NULL, 0, &nonceSize), *got = soap_base642s(s, t->Password->__item, NULL, 0, &n);
  EVP_MD_CTX *c = EVP_MD_CTX_new();
  bool made = c && nonce && got && EVP_DigestInit_ex(c, EVP_sha1(), NULL) == 1 && EVP_DigestUpdate(c, nonce, (size_t)nonceSize) == 1 &&
              EVP_DigestUpdate(c, t->wsu__Created, strlen(t->wsu__Created)) == 1 && EVP_DigestUpdate(c, wss.password, strlen(wss.password)) == 1 &&
              EVP_DigestFinal_ex(c, want, &size) == 1;
  EVP_MD_CTX_free(c);
  if (!made || n != (int)size || CRYPTO_memcmp(got, want, size)) return failed(s);
  if (soap_s2dateTime(s, t->wsu__Created, &created) || created > at + SKEW || created + 5 * LIFE <= at) return failed(s);
  return remember(s, want, size, created + 5 * LIFE, failed);
}

static int user_check(struct soap *s) {
  const char *user = soap_wsse_get_Username(s);
  _wsse__UsernameToken *t = soap_wsse_UsernameToken(s, NULL);
  if (!user || !t || !t->Password || !t->Password->__item || !t->Password->Type || !strstr(t->Password->Type, "#PasswordDigest"))
    return refuse(s, "a UsernameToken with a password digest is required");
  if (!t->Nonce || !t->Nonce->__item || (t->Nonce->EncodingType && !strstr(t->Nonce->EncodingType, "#Base64Binary")) || !t->wsu__Created)
    return refuse(s, "the UsernameToken has no nonce in base64, or no time");
  return strcmp(user, wss.user) ? failed(s) : digest_check(s, t);
}

int security_check(struct soap *s, struct wire *w) {
  time_t until = 0;
  if (fresh(s, &until)) return s->error;
  if (wss.level != USERNAME && pinned(s)) return s->error;
  if (w->client) return SOAP_OK; // two equal answers of one second have one signature, and nothing in them says which request they are for
  if (wss.level != USERNAME && unseen(s, until)) return s->error;
  return wss.level != RSA_ ? user_check(s) : SOAP_OK;
}

// --- adding

static int sign(struct soap *s) {
  if (wss.level == HMAC_) return soap_wsse_sign_body(s, SOAP_SMD_HMAC_SHA256, wss.key, wss.keySize);
  return soap_wsse_add_BinarySecurityTokenX509(s, "X509Token", wss.cert) || soap_wsse_add_KeyInfo_SecurityTokenReferenceX509(s, "#X509Token")
      || soap_wsse_sign_body(s, SOAP_SMD_SIGN_RSA_SHA256, wss.rsa, 0) ? s->error : SOAP_OK;
}

// A Timestamp counts seconds and an RSA signature has no other salt: equal requests of one second would be taken for replays. A name that never comes
// again, which is signed too, makes them different. HMAC requests have the nonce of the UsernameToken.
static const char *timestamp_name(struct soap *s, struct wire *w) {
  unsigned char r[8];
  char name[32] = "Time";
  if (w->client && wss.level == RSA_ && RAND_bytes(r, sizeof r) == 1)
    for (int i = 0; i < 8; i++) sprintf(name + 4 + 2 * i, "%02x", r[i]);
  return soap_strdup(s, name);
}

int security_add(struct soap *s, struct wire *w) {
  soap_wsse_delete_Security(s);
  if (soap_wsse_add_Timestamp(s, timestamp_name(s, w), LIFE)) return s->error;
  if (w->client && wss.level != RSA_ && soap_wsse_add_UsernameTokenDigest(s, "User", wss.user, wss.password)) return s->error;
  return wss.level == USERNAME ? SOAP_OK : sign(s);
}
