#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "libcoap.h"

// libcoap 4.3 is not made for threads: there is one connection.
static struct client {
  struct setup setup;
  bool dtls, keep;
  coap_context_t *context;
  coap_session_t *session;
  coap_address_t server;
  unsigned char key[64];
  size_t keySize;
  uint8_t token[8];
  size_t tokenSize;
  bool waiting;
  struct exchange *x;     // of the request under way
  struct message *answer;
  void *hold;             // what the answer lies in
} client;

static void failed(const char *why) { snprintf(client.x->failure, sizeof client.x->failure, "%s", why); }

// The response is whole: libcoap has fetched its blocks.
static coap_response_t respond(coap_session_t *session, const coap_pdu_t *sent, const coap_pdu_t *received, const coap_mid_t mid) {
  (void)session, (void)sent, (void)mid;
  coap_bin_const_t token = coap_pdu_get_token(received);
  if (!client.waiting || token.length != client.tokenSize || memcmp(token.s, client.token, token.length)) return COAP_RESPONSE_OK; // late: of another request
  const uint8_t *body = NULL;
  size_t size = 0, offset, total;
  coap_pdu_code_t code = coap_pdu_get_code(received);
  client.x->done = now();
  client.waiting = false;
  if (!coap_get_data_large(received, &size, &body, &offset, &total)) size = 0;
  client.x->in = (int64_t)size;
  if (COAP_RESPONSE_CLASS(code) != 2) {
    snprintf(client.x->failure, sizeof client.x->failure, "%d.%02d %.*s", code >> 5, code & 31, (int)(size > 100 ? 100 : size), (const char *)body);
    return COAP_RESPONSE_OK;
  }
  if (!codec_unpack(client.setup.service, true, body, size, client.answer, &client.hold)) failed("the answer is not the service's message");
  client.x->deserialization = now() - client.x->done;
  return COAP_RESPONSE_OK;
}

static void refused(coap_session_t *session, const coap_pdu_t *sent, const coap_nack_reason_t reason, const coap_mid_t mid) {
  (void)session, (void)sent, (void)mid;
  static const char *const why[] = {[COAP_NACK_TOO_MANY_RETRIES] = "no answer to any retransmission", [COAP_NACK_NOT_DELIVERABLE] = "cannot be delivered",
                                    [COAP_NACK_RST] = "reset by the server", [COAP_NACK_TLS_FAILED] = "DTLS failed", [COAP_NACK_ICMP_ISSUE] = "nobody listens there"};
  if (!client.waiting) return;
  client.waiting = false;
  failed((size_t)reason < sizeof why / sizeof *why && why[reason] ? why[reason] : "not delivered");
}

static int64_t deadline(void) { return now() + client.setup.timeout; }

static unsigned left(int64_t until) {
  int64_t ms = (until - now() + 999999) / 1000000;
  return ms < 1 ? 1 : (unsigned)ms;
}

static bool connected(void) {
  const char *identity = setup_credential(&client.setup, "psk_identity");
  if (client.session) return true;
  int64_t began = now();
  client.session = client.dtls ? coap_new_client_session_psk(client.context, NULL, &client.server, COAP_PROTO_DTLS, identity, client.key, (unsigned)client.keySize)
                               : coap_new_client_session(client.context, NULL, &client.server, COAP_PROTO_UDP);
  if (!client.session) return false;
  for (int64_t until = deadline(); coap_session_get_state(client.session) != COAP_SESSION_STATE_ESTABLISHED;) {
    if (now() > until || coap_session_get_state(client.session) == COAP_SESSION_STATE_NONE || coap_io_process(client.context, left(until)) < 0) return false;
  }
  client.x->connection = now() - began;
  return true;
}

static void disconnect(void) {
  if (client.session) coap_session_release(client.session);
  client.session = NULL;
}

void *client_dial(const struct setup *s, char *why, size_t size) {
  char host[100] = "";
  coap_uri_t u;
  if (client.context) { snprintf(why, size, "libcoap has one connection; set concurrency to 1"); return NULL; }
  client.setup = *s;
  client.dtls = !strcmp(s->security, "dtls-psk");
  client.keep = !strcmp(s->connection, "keep-alive");
  if (!client.keep && strcmp(s->connection, "per-request")) { snprintf(why, size, "no connection %s; there are keep-alive, per-request", s->connection); return NULL; }
  if (coap_split_uri((const uint8_t *)s->url, strlen(s->url), &u) == 0 && u.host.length < sizeof host) memcpy(host, u.host.s, u.host.length);
  if (!libcoap_address(host, u.port, &client.server)) { snprintf(why, size, "not an address of CoAP: %s", s->url); return NULL; }
  if (client.dtls && !libcoap_key(s, client.key, &client.keySize, why, size)) return NULL;
  libcoap_startup();
  client.context = coap_new_context(NULL);
  coap_context_set_block_mode(client.context, COAP_BLOCK_USE_LIBCOAP | COAP_BLOCK_SINGLE_BODY);
  coap_register_response_handler(client.context, respond);
  coap_register_nack_handler(client.context, refused);
  return &client;
}

static void release(coap_session_t *session, void *b) { (void)session, free(b); }

// Sends the packed body; it is libcoap's to free from here on.
static bool send_request(unsigned char *b, size_t size) {
  const char *path = service_name(client.setup.service);
  uint8_t format[4];
  coap_pdu_t *p = coap_new_pdu(COAP_MESSAGE_CON, COAP_REQUEST_CODE_POST, client.session);
  if (!p) { free(b); return false; }
  coap_session_new_token(client.session, &client.tokenSize, client.token);
  coap_add_token(p, client.tokenSize, client.token);
  coap_add_option(p, COAP_OPTION_URI_PATH, strlen(path), (const uint8_t *)path);
  if (size) coap_add_option(p, COAP_OPTION_CONTENT_FORMAT, coap_encode_var_safe(format, sizeof format, PROTOBUF), format);
  if (size && !coap_add_data_large_request(client.session, p, size, b, release, b)) { coap_delete_pdu(p); return false; }
  if (!size) free(b);
  client.x->sent = now();
  client.waiting = true;
  return coap_send(client.session, p) != COAP_INVALID_MID;
}

static void ask(const struct message *q, struct exchange *x) {
  size_t size;
  x->begun = now();
  unsigned char *b = codec_pack(client.setup.service, false, q, &size);
  x->serialization = now() - x->begun;
  x->out = (int64_t)size;
  int64_t until = deadline();
  if (!b) { failed("no memory"); return; }
  if (!connected()) { free(b); disconnect(); failed("no connection within the time limit"); return; }
  if (!send_request(b, size)) { client.waiting = false; failed("cannot be sent"); return; }
  while (client.waiting && now() < until)
    if (coap_io_process(client.context, left(until)) < 0) break;
  if (!client.waiting) return;
  client.waiting = false;
  failed("no answer within the time limit");
  disconnect(); // a new one knows nothing of the old exchange
}

void client_call(void *connection, const struct message *q, struct message *a, struct exchange *x) {
  (void)connection;
  static struct message none; // an answer owns nothing but what holds it
  codec_free(&none, client.hold);
  client.hold = NULL;
  client.answer = a, client.x = x;
  ask(q, x);
  if (client.keep) return;
  int64_t began = now();
  disconnect();
  x->closed = now() - began;
}

void client_hang_up(void *connection) {
  (void)connection;
  disconnect();
  coap_free_context(client.context);
}
