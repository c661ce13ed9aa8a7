#include "wire.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool buffer_add(struct buffer *b, const void *from, size_t n) {
  if (b->size + n > b->room) {
    size_t room = (b->size + n) * 2 + 4096;
    char *more = realloc(b->b, room);
    if (!more) return false;
    b->b = more, b->room = room;
  }
  if (n) memcpy(b->b + b->size, from, n);
  b->size += n;
  return true;
}

// --- receiving

// The bytes of the connection: first what gSOAP has already, then what came behind the last body, then the socket's.
static size_t pull(struct soap *s, struct wire *w, char *to, size_t n) {
  size_t have = s->buflen - s->bufidx;
  if (have) {
    if (have > n) have = n;
    memcpy(to, s->buf + s->bufidx, have);
    s->bufidx += have;
    return have;
  }
  return w->receive(s, to, n);
}

static int refuse(struct soap *s, int status) {
  s->keep_alive = 0;
  return s->error = status;
}

static int exactly(struct soap *s, struct wire *w, size_t n) {
  if (w->in.size + n > (size_t)w->setup->limit) return refuse(s, 413);
  if (!buffer_add(&w->in, NULL, 0)) return s->error = SOAP_EOM;
  if (w->in.size + n > w->in.room) {
    size_t size = w->in.size, grown = n;
    static const char zero[4096];
    while (grown > 0) { // makes room, no more
      size_t part = grown < sizeof zero ? grown : sizeof zero;
      if (!buffer_add(&w->in, zero, part)) return s->error = SOAP_EOM;
      grown -= part;
    }
    w->in.size = size;
  }
  while (n > 0) {
    size_t r = pull(s, w, w->in.b + w->in.size, n);
    if (r == 0) return s->error = SOAP_EOF;
    w->in.size += r, n -= r;
  }
  return SOAP_OK;
}

// RFC 9112, section 7.1. A chunk's extensions and the trailer are passed over.
static int chunked(struct soap *s, struct wire *w) {
  for (;;) {
    char head[200];
    size_t n = 0;
    do {
      if (n == sizeof head - 1 || pull(s, w, head + n, 1) != 1) return refuse(s, 400);
    } while (head[n++] != '\n');
    head[n] = 0;
    if (*head == '\r' || *head == '\n') continue; // the end of the chunk before
    char *end;
    unsigned long long size = strtoull(head, &end, 16);
    if (end == head) return refuse(s, 400);
    if (size == 0) break;
    int r = exactly(s, w, size > (size_t)w->setup->limit ? (size_t)w->setup->limit + 1 : (size_t)size);
    if (r) return r;
  }
  for (char last = 0, c;; last = c) { // the trailer ends with an empty line
    do
      if (pull(s, w, &c, 1) != 1) return s->error = SOAP_EOF;
    while (c == '\r');
    if (c == '\n' && (last == '\n' || last == 0)) return SOAP_OK;
  }
}

static int to_the_end(struct soap *s, struct wire *w) {
  char b[4096];
  for (size_t r; (r = pull(s, w, b, sizeof b)) > 0;)
    if (w->in.size + r > (size_t)w->setup->limit || !buffer_add(&w->in, b, r)) return refuse(s, 413);
  return SOAP_OK;
}

// What only a server asks of a request's head.
static int acceptable(struct soap *s, struct wire *w) {
  char path[40];
  snprintf(path, sizeof path, "/%s", service_name(w->setup->service));
  if (s->status != SOAP_POST) return refuse(s, 405);
  if (strcmp(s->path, path)) return 404;
  const char *type = s->http_content ? s->http_content : "";
  if (strncasecmp(type, "text/xml", 8) && strncasecmp(type, "application/soap+xml", 20)) return 415;
  return SOAP_OK;
}

// gSOAP's parser reads past a document type; the contract refuses one. It can only stand before the root element.
static bool has_doctype(const char *b, size_t n) {
  const char *end = b + n;
  for (const char *p = b; (p = memchr(p, '<', (size_t)(end - p)));) {
    if (end - p < 9) return false;
    if (p[1] == '?') { p = memmem(p, (size_t)(end - p), "?>", 2); }
    else if (!memcmp(p, "<!--", 4)) { p = memmem(p, (size_t)(end - p), "-->", 3); }
    else return p[1] == '!';
    if (!p) return false;
  }
  return false;
}

static int body_ready(struct soap *s, struct wire *w) {
  w->x.in = (int64_t)w->in.size;
  w->read = 0;
  w->inBody = true;
  s->bufidx = s->buflen = 0;
  // Subtle: the clock is read when the body is whole and nothing is decoded yet.
  if (w->client) w->x.done = now();
  else w->x.begun = now();
  if (has_doctype(w->in.b, w->in.size)) {
    s->version = 1;
    return soap_sender_fault(s, "a document type is refused", NULL);
  }
  return SOAP_OK;
}

static int parse(struct soap *s) {
  struct wire *w = s->user;
  if (w->cgi) return refuse(s, 400); // Apache has read the head: this is a body that is no XML
  int r = w->parse(s);
  if (r) return r;
  w->in.size = 0;
  int wrong = w->client ? SOAP_OK : acceptable(s, w);
  if ((s->imode & SOAP_IO) == SOAP_IO_CHUNK) {
    s->imode &= ~SOAP_IO;
    r = chunked(s, w);
  } else if (s->length > 0) r = exactly(s, w, s->length > (ULONG64)w->setup->limit ? (size_t)w->setup->limit + 1 : (size_t)s->length);
  else if (w->client && s->body && !s->keep_alive) r = to_the_end(s, w);
  if (r) return s->error = r;
  if (wrong) return refuse(s, wrong);
  if (s->buflen > s->bufidx && !buffer_add(&w->rest, s->buf + s->bufidx, s->buflen - s->bufidx)) return s->error = SOAP_EOM;
  return s->error = body_ready(s, w);
}

static size_t receive(struct soap *s, char *to, size_t n) {
  struct wire *w = s->user;
  struct buffer *from = w->inBody ? &w->in : &w->rest;
  if (!w->inBody && !from->size) return w->receive(s, to, n);
  size_t have = from->size - w->read;
  if (have > n) have = n;
  memcpy(to, from->b + w->read, have);
  w->read += have;
  if (!w->inBody && w->read == from->size) from->size = w->read = 0;
  return have;
}

// A message begins: what gSOAP had buffered belongs to the one before.
static int begin(struct soap *s) {
  struct wire *w = s->user;
  if (!w->cgi) s->bufidx = s->buflen = 0, w->inBody = false, w->read = 0;
  w->out.size = 0;
  w->answered = false;
  return w->begin ? w->begin(s) : SOAP_OK;
}

int wire_body(struct soap *s, struct wire *w) {
  char b[16384];
  for (ssize_t r; (r = read(0, b, sizeof b)) > 0;)
    if (w->in.size + (size_t)r > (size_t)w->setup->limit || !buffer_add(&w->in, b, (size_t)r)) return refuse(s, 413);
  return body_ready(s, w);
}

// --- sending

static int sending; // responses handed to the socket and not yet recorded

void wire_sync(void) {
  for (int64_t until = now() + 1000000000; __atomic_load_n(&sending, __ATOMIC_SEQ_CST) > 0 && now() < until;)
    nanosleep(&(struct timespec){0, 20000}, NULL);
}

static int hand_over(struct soap *s, struct wire *w) {
  bool record = !w->client && w->answered;
  if (record) __atomic_add_fetch(&sending, 1, __ATOMIC_SEQ_CST);
  w->x.out = (int64_t)w->body;
  int64_t at = now();
  if (w->client) w->x.sent = at, w->x.connection = w->connecting, w->x.serialization = at - w->x.begun - w->connecting;
  else w->x.serialization = at - w->x.serialization; // it held its beginning
  int r = w->send(s, w->out.b, w->out.size);
  w->out.size = 0;
  if (record) {
    w->x.total = now() - w->x.begun;
    w->record(&w->x);
    __atomic_sub_fetch(&sending, 1, __ATOMIC_SEQ_CST);
  }
  return r;
}

static int collect(struct soap *s, const char *b, size_t n) {
  struct wire *w = s->user;
  if (!buffer_add(&w->out, b, n)) return SOAP_EOM;
  const char *head = memmem(w->out.b, w->out.size < 4096 ? w->out.size : 4096, "\r\n\r\n", 4);
  if (!head) return SOAP_OK;
  size_t whole = (size_t)(head - w->out.b) + 4 + w->body;
  return w->out.size < whole ? SOAP_OK : hand_over(s, w);
}

static int respond(struct soap *s, int status, ULONG64 count) {
  struct wire *w = s->user;
  w->body = (size_t)count;
  return w->respond(s, status, count);
}

static int post(struct soap *s, const char *endpoint, const char *host, int port, const char *path, const char *action, ULONG64 count) {
  struct wire *w = s->user;
  w->body = (size_t)count;
  return w->post(s, endpoint, host, port, path, action, count);
}

static SOAP_SOCKET connect_timed(struct soap *s, const char *endpoint, const char *host, int port) {
  struct wire *w = s->user;
  int64_t began = now();
#ifdef WITH_OPENSSL
  // gSOAP keeps its last session and offers it again: each connection pays a whole handshake (stacks/PROTOCOL.md).
  if (s->session) SSL_SESSION_free(s->session);
  s->session = NULL;
#endif
  SOAP_SOCKET k = w->connect(s, endpoint, host, port);
  w->connecting += now() - began;
  return k;
}

// The look whether a kept connection is still open is part of "connection".
static int look_timed(struct soap *s) {
  struct wire *w = s->user;
  int64_t began = now();
  int r = w->look(s);
  w->connecting += now() - began;
  return r;
}

static int shut(struct soap *s) {
  struct wire *w = s->user;
  if (!w->closing) w->closing = now();
  w->rest.size = 0;
  return w->shut(s);
}

void wire_hook(struct soap *s, struct wire *w) {
  s->user = w;
  if (s->fparse == parse) return;
  w->parse = s->fparse, s->fparse = parse;
  w->receive = s->frecv, s->frecv = receive;
  w->send = s->fsend, s->fsend = collect;
  w->respond = s->fresponse, s->fresponse = respond;
  w->post = s->fpost, s->fpost = post;
  w->begin = s->fprepareinitrecv, s->fprepareinitrecv = begin;
  w->shut = s->fclose, s->fclose = shut;
  w->connect = s->fopen, s->fopen = connect_timed;
  if (w->client) w->look = s->fpoll, s->fpoll = look_timed;
}

// The generated table with SOAP 1.2 in the place of 1.1: what is written; either is read.
static const struct Namespace *namespaces12(void) {
  static struct Namespace t[32];
  size_t n = 0;
  for (; n < 31 && namespaces[n].id; n++) t[n] = namespaces[n];
  t[0].ns = "http://www.w3.org/2003/05/soap-envelope", t[0].in = "http://schemas.xmlsoap.org/soap/envelope/";
  t[1].ns = "http://www.w3.org/2003/05/soap-encoding", t[1].in = "http://schemas.xmlsoap.org/soap/encoding/";
  return t;
}

struct soap *wire_new(struct setup *setup, struct wire *w, bool client) {
  bool keep = !client || !strcmp(setup->connection, "keep-alive");
  soap_mode mode = SOAP_IO_BUFFER | (keep ? SOAP_IO_KEEPALIVE : 0) | SOAP_C_UTFSTRING;
  // Subtle: the wsse plugin finds no signature right that was read strictly; its messages are read so from the body on (server.c).
  bool secured = !strncmp(setup->security, "wss-", 4);
  // What is signed is written in the form of Exclusive XML Canonicalization, with the transform that says so: without it no other stack can verify a signature.
  bool signed_ = secured && strcmp(setup->security, "wss-username");
  struct soap *s = soap_new2(secured ? mode : mode | SOAP_XML_STRICT, signed_ ? mode | SOAP_XML_CANONICAL : mode);
  if (!s) return NULL;
  soap_set_namespaces(s, strcmp(setup->encoding, "soap12") ? namespaces : namespaces12());
  w->setup = setup;
  w->client = client;
  w->record = record_server;
  s->double_format = "%.2f";
  s->max_keep_alive = 0x7fffffff;
  s->maxoccurs = 0x7fffffff;
  s->maxlevel = 100;
  s->bind_flags = SO_REUSEADDR;
  s->connect_flags = s->accept_flags = 0;
  s->tcp_keep_alive = 0;
  wire_hook(s, w);
  return s;
}
