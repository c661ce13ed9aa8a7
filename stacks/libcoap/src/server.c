#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec.h"
#include "libcoap.h"

static struct {
  struct setup *setup;
  coap_context_t *context;
  coap_bin_const_t key, identity;
  unsigned char secret[64], name[128];
} server;

static void refuse(coap_pdu_t *response, coap_pdu_code_t code, const char *why) {
  coap_pdu_set_code(response, code);
  coap_add_data(response, strlen(why), (const uint8_t *)why); // RFC 7252, section 5.5.2: a diagnostic payload
}

static bool accepted(const coap_pdu_t *request, size_t size) {
  coap_opt_iterator_t i;
  const coap_opt_t *o = coap_check_option(request, COAP_OPTION_CONTENT_FORMAT, &i);
  return o ? coap_decode_var_bytes(coap_opt_value(o), coap_opt_length(o)) == PROTOBUF : size == 0;
}

static const char *answer(const struct message *in, struct message *out, struct exchange *x, char *why, size_t size) {
  switch (server.setup->service) {
  case SORT: answer_sort(in->n, in->count); out->n = in->n, out->count = in->count; return NULL;
  case CONCAT:
    if (!(out->text = malloc(concat_size(in->s, in->count) + 1))) return "no memory";
    answer_concat(in->s, in->count, out->text);
    return NULL;
  case SUM: return answer_sum(in->x, in->count, &out->total) ? NULL : "the sum is out of range";
  case ECHO_: out->text = in->text; return NULL;
  case MONITOR: out->accepted = true, out->sequence = in->sequence; return NULL;
  case TEMPERATURE: return serve_temperature(server.setup, out, x, why, size);
  case IO: out->digest_size = 32; return answer_io(server.setup->directory, in->data, in->count, out->digest);
  default: out->digest_size = 8; answer_memory(in->data, in->count, out->digest); return NULL;
  }
}

static void release(coap_session_t *session, void *b) { (void)session, free(b); }

// The request is whole: libcoap has put its blocks together.
static void handle(coap_resource_t *resource, coap_session_t *session, const coap_pdu_t *request, const coap_string_t *query, coap_pdu_t *response) {
  struct exchange x = {.begun = now()};
  struct message in, out = {0};
  const uint8_t *body = NULL;
  size_t size = 0, offset, total, made;
  char why[300];
  void *hold;
  if (!coap_get_data_large(request, &size, &body, &offset, &total)) size = 0;
  if (!accepted(request, size)) { refuse(response, COAP_RESPONSE_CODE_UNSUPPORTED_CONTENT_FORMAT, "only protobuf (42) is served"); return; }
  if ((int64_t)size > server.setup->limit) { refuse(response, COAP_RESPONSE_CODE_REQUEST_TOO_LARGE, "the body is larger than the limit"); return; }
  if (!codec_unpack(server.setup->service, false, body, size, &in, &hold)) { refuse(response, COAP_RESPONSE_CODE_BAD_REQUEST, "not the service's message"); return; }
  int64_t decoded = now();
  const char *wrong = answer(&in, &out, &x, why, sizeof why);
  int64_t worked = now();
  unsigned char *b = wrong ? NULL : codec_pack(server.setup->service, true, &out, &made);
  int64_t done = now();
  if (server.setup->service == CONCAT) free(out.text);
  codec_free(&in, hold);
  if (!b) { refuse(response, COAP_RESPONSE_CODE_INTERNAL_ERROR, wrong ? wrong : "no memory"); return; }
  coap_pdu_set_code(response, COAP_RESPONSE_CODE_CHANGED);
  coap_add_data_large_response(resource, session, request, response, query, PROTOBUF, -1, 0, made, b, release, b);
  x.deserialization = decoded - x.begun, x.processing = worked - decoded, x.serialization = done - worked;
  x.in = (int64_t)size, x.out = (int64_t)made;
  x.total = now() - x.begun; // libcoap sends the response, or its first block, when this returns
  record_server(&x);
}

static const coap_bin_const_t *key_of(coap_bin_const_t *identity, coap_session_t *session, void *nothing) {
  (void)session, (void)nothing;
  bool known = identity->length == server.identity.length && !memcmp(identity->s, server.identity.s, identity->length);
  return known ? &server.key : NULL;
}

static bool secure(char *why, size_t size) {
  const struct setup *s = server.setup;
  size_t n;
  if (!libcoap_key(s, server.secret, &n, why, size)) return false;
  snprintf((char *)server.name, sizeof server.name, "%s", setup_credential(s, "psk_identity"));
  server.key = (coap_bin_const_t){n, server.secret};
  server.identity = (coap_bin_const_t){strlen((char *)server.name), server.name};
  coap_dtls_spsk_t p = {.version = COAP_DTLS_SPSK_SETUP_VERSION, .validate_id_call_back = key_of, .psk_info = {.key = server.key}};
  return coap_context_set_psk2(server.context, &p) || (snprintf(why, size, "libcoap takes no pre-shared key"), false);
}

static void *work(void *nothing) {
  for (;;) coap_io_process(server.context, COAP_IO_WAIT);
  return nothing;
}

// libcoap does not tell the port it got: one is found first.
static int free_port(const char *host) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM}, *a;
  struct sockaddr_storage got;
  socklen_t n = sizeof got;
  int port = 0;
  if (getaddrinfo(host, "0", &hints, &a)) return 0;
  int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0 && getsockname(fd, (struct sockaddr *)&got, &n) == 0)
    port = ntohs(got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port : ((struct sockaddr_in *)&got)->sin_port);
  if (fd >= 0) close(fd);
  freeaddrinfo(a);
  return port;
}

bool server_start(struct setup *s, char *url, size_t size, char *why, size_t whySize) {
  bool dtls = !strcmp(s->security, "dtls-psk"), six = strchr(s->host, ':') != NULL;
  coap_address_t at;
  pthread_t t;
  int port = 0;
  server.setup = s;
  libcoap_startup();
  if (!(server.context = coap_new_context(NULL)) || (dtls && !secure(why, whySize))) return false;
  coap_context_set_block_mode(server.context, COAP_BLOCK_USE_LIBCOAP | COAP_BLOCK_SINGLE_BODY);
  for (int try = 0; try < 5; try++) { // another may take the port between
    port = s->port ? s->port : free_port(s->host);
    if (libcoap_address(s->host, port, &at) && coap_new_endpoint(server.context, &at, dtls ? COAP_PROTO_DTLS : COAP_PROTO_UDP)) break;
    if (s->port || try == 4) { snprintf(why, whySize, "cannot listen on %s port %d", s->host, port); return false; }
  }
  coap_resource_t *r = coap_resource_init(coap_make_str_const(service_name(s->service)), 0);
  coap_register_handler(r, COAP_REQUEST_POST, handle);
  coap_add_resource(server.context, r);
  snprintf(url, size, "%s://%s%s%s:%d/%s", dtls ? "coaps" : "coap", six ? "[" : "", s->host, six ? "]" : "", port, service_name(s->service));
  return pthread_create(&t, NULL, work, NULL) == 0;
}
