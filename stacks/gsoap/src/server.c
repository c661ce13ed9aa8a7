// The server: operations that the generated code calls, and threads that accept one connection at a time.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gsoap.h"
#include "security.h"

// --- operations. Each: enter (verify, end of deserialization), the work, leave (sign, begin of serialization).

static int enter(struct soap *s, enum service service, const void *in) {
  struct wire *w = s->user;
  int version = strcmp(w->setup->encoding, "soap12") ? 1 : 2;
  if (s->version != version) return s->error = SOAP_VERSIONMISMATCH;
  if (w->setup->service != service || !in) return soap_sender_fault(s, "another service is served here", NULL);
  return security_check(s, w);
}

static void decoded(struct wire *w) {
  int64_t at = now();
  w->x.deserialization = at - w->x.begun;
  w->x.processing = at;
  w->x.sensor = 0;
}

static void worked(struct wire *w) {
  int64_t at = now();
  w->x.processing = at - w->x.processing;
  w->x.serialization = at; // its beginning, until the message is made
}

static int leave(struct soap *s) {
  struct wire *w = s->user;
  if (security_add(s, w)) return s->error;
  w->answered = true;
  return SOAP_OK;
}

static int bad(struct soap *s) { return soap_sender_fault(s, "a decimal is no number, or out of range", NULL); }

static char *decimal(struct soap *s, int64_t k) {
  char b[24];
  decimal_text(k, b);
  return soap_strdup(s, b);
}

int __eg__sort(struct soap *s, struct _eg__sort *in, struct _eg__sortResponse *out) {
  if (enter(s, SORT, in)) return s->error;
  decoded(s->user);
  answer_sort(in->n, (size_t)in->__sizen);
  worked(s->user);
  out->__sizen = in->__sizen, out->n = in->n;
  return leave(s);
}

int __eg__concat(struct soap *s, struct _eg__concat *in, struct _eg__concatResponse *out) {
  if (enter(s, CONCAT, in)) return s->error;
  decoded(s->user);
  if (!(out->text = soap_malloc(s, concat_size(in->s, (size_t)in->__sizes) + 1))) return s->error = SOAP_EOM;
  answer_concat(in->s, (size_t)in->__sizes, out->text);
  worked(s->user);
  return leave(s);
}

int __eg__sum(struct soap *s, struct _eg__sum *in, struct _eg__sumResponse *out) {
  int64_t total, *x;
  if (enter(s, SUM, in)) return s->error;
  if (!(x = soap_malloc(s, ((size_t)in->__sizex + 1) * sizeof *x))) return s->error = SOAP_EOM;
  for (int i = 0; i < in->__sizex; i++)
    if (!decimal_parse(in->x[i], &x[i])) return bad(s);
  decoded(s->user);
  bool ok = answer_sum(x, (size_t)in->__sizex, &total);
  worked(s->user);
  if (!ok) return soap_receiver_fault(s, "the sum is out of range", NULL);
  out->total = decimal(s, total);
  return leave(s);
}

int __eg__echo(struct soap *s, struct _eg__echo *in, struct _eg__echoResponse *out) {
  if (enter(s, ECHO_, in)) return s->error;
  decoded(s->user);
  out->text = in->text;
  worked(s->user);
  return leave(s);
}

int __eg__temperature(struct soap *s, struct _eg__temperature *in, struct _eg__temperatureResponse *out) {
  struct wire *w = s->user;
  struct message m = {0};
  char why[300];
  if (enter(s, TEMPERATURE, in)) return s->error;
  decoded(w);
  const char *wrong = serve_temperature(w->setup, &m, &w->x, why, sizeof why);
  worked(w);
  if (wrong) return soap_receiver_fault(s, soap_strdup(s, wrong), NULL);
  out->celsius = decimal(s, m.celsius);
  out->time = m.time;
  return leave(s);
}

int __eg__monitor(struct soap *s, struct _eg__monitor *in, struct _eg__monitorResponse *out) {
  int64_t temperature, pressure;
  if (enter(s, MONITOR, in)) return s->error;
  if (!decimal_parse(in->temperature, &temperature) || !decimal_parse(in->pressure, &pressure)) return bad(s);
  decoded(s->user);
  out->accepted = xsd__boolean__true_;
  out->sequence = in->sequence;
  worked(s->user);
  return leave(s);
}

static int digest(struct soap *s, struct xsd__base64Binary *d, const unsigned char *from, int n) {
  if (!(d->__ptr = soap_malloc(s, (size_t)n))) return s->error = SOAP_EOM;
  memcpy(d->__ptr, from, (size_t)n);
  d->__size = n;
  return leave(s);
}

int __eg__io(struct soap *s, struct _eg__io *in, struct _eg__ioResponse *out) {
  struct wire *w = s->user;
  unsigned char d[32];
  if (enter(s, IO, in)) return s->error;
  decoded(w);
  const char *wrong = answer_io(w->setup->directory, in->data.__ptr, (size_t)in->data.__size, d);
  worked(w);
  return wrong ? soap_receiver_fault(s, wrong, NULL) : digest(s, &out->digest, d, 32);
}

int __eg__memory(struct soap *s, struct _eg__memory *in, struct _eg__memoryResponse *out) {
  unsigned char d[8];
  if (enter(s, MEMORY, in)) return s->error;
  decoded(s->user);
  answer_memory(in->data.__ptr, (size_t)in->data.__size, d);
  worked(s->user);
  return digest(s, &out->digest, d, 8);
}

// --- requests

// A fault is a SOAP fault of the served version even if the request was too broken to have one.
static int fault(struct soap *s, struct wire *w) {
  if (s->version == 0 && s->error < 200) soap_set_version(s, strcmp(w->setup->encoding, "soap12") ? 1 : 2);
  // The end of the body, or no tag in it, would get no answer.
  if (s->error == SOAP_EOF || s->error == SOAP_OK || s->error == SOAP_NO_TAG || s->error >= SOAP_STOP) s->error = SOAP_SYNTAX_ERROR;
  s->header = NULL;
  return soap_send_fault(s);
}

int server_requests(struct soap *s) {
  struct wire *w = s->user;
  const char *how = w->cgi ? getenv("HTTP_CONNECTION") : NULL; // what Apache does with the connection is the client's wish, not ours
  s->keep_alive = how && !strcasecmp(how, "close") ? 0 : s->max_keep_alive;
  do {
    soap_begin(s);
    bool broken = soap_begin_recv(s) || soap_envelope_begin_in(s) || soap_recv_header(s) || soap_body_begin_in(s);
    s->mode |= SOAP_XML_STRICT; // see wire_new
    if (broken || soap_serve_request(s)) {
      if (s->error == SOAP_EOF && !w->inBody) return soap_closesock(s); // the client is gone
      return fault(s, w);
    }
    soap_destroy(s);
    soap_end(s);
  } while (s->keep_alive && !w->cgi);
  return SOAP_OK;
}

// --- connections: one thread is always waiting in accept; the one that accepts starts another if none is left

static struct {
  struct soap *soap; // listens, and is copied
  struct wire wire;
  int idle;
  pthread_mutex_t one;
} listener = {.one = PTHREAD_MUTEX_INITIALIZER};

static void *work(void *);

static bool start(void) {
  pthread_t t;
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&a, 1 << 20);
  return pthread_create(&t, &a, work, NULL) == 0;
}

static void idle(int change) {
  pthread_mutex_lock(&listener.one);
  listener.idle += change;
  bool needed = listener.idle == 0;
  if (needed) listener.idle++;
  pthread_mutex_unlock(&listener.one);
  if (needed && !start()) {
    pthread_mutex_lock(&listener.one);
    listener.idle--;
    pthread_mutex_unlock(&listener.one);
  }
}

static void *work(void *nothing) {
  struct wire w = listener.wire;
  struct soap *s = soap_copy(listener.soap);
  if (!s) return NULL;
  s->user = &w;
  security_copied(s);
  s->master = listener.soap->master;
  for (;;) {
    if (!soap_valid_socket(soap_accept(s))) continue;
    idle(-1);
#ifdef WITH_OPENSSL
    if (listener.soap->ctx && soap_ssl_accept(s)) { soap_destroy(s), soap_end(s), idle(1); continue; }
#endif
    server_requests(s);
    soap_destroy(s);
    soap_end(s);
    idle(1);
  }
  return nothing;
}

bool server_start(struct setup *setup, char *url, size_t size, char *why, size_t whySize) {
  struct soap *s = listener.soap = wire_new(setup, &listener.wire, false);
  if (!s) { snprintf(why, whySize, "no memory"); return false; }
  s->send_timeout = 30, s->recv_timeout = 3600;
  if (!security_init(s, &listener.wire, why, whySize)) return false;
  if (!soap_valid_socket(soap_bind(s, setup->host, setup->port, 1024))) {
    snprintf(why, whySize, "cannot listen on %s port %d: %s", setup->host, setup->port, *soap_faultdetail(s) ? *soap_faultdetail(s) : "");
    return false;
  }
  struct sockaddr_storage a;
  socklen_t n = sizeof a;
  getsockname(s->master, (struct sockaddr *)&a, &n);
  int port = ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port : ((struct sockaddr_in *)&a)->sin_port);
  bool six = strchr(setup->host, ':') != NULL;
  snprintf(url, size, "%s://%s%s%s:%d/%s", strncmp(setup->security, "tls", 3) ? "http" : "https", six ? "[" : "", setup->host, six ? "]" : "", port, service_name(setup->service));
  listener.idle = 1;
  return start();
}
