// The client: the generated stubs, timed by the hooks of wire.c.
#include <stdlib.h>
#include <string.h>

#include "gsoap.h"
#include "security.h"

struct client {
  struct setup setup;
  struct wire wire;
  struct soap *soap;
  char action[60];
};

void *client_dial(const struct setup *setup, char *why, size_t size) {
  struct client *c = calloc(1, sizeof *c);
  c->setup = *setup;
  if (strcmp(setup->connection, "keep-alive") && strcmp(setup->connection, "per-request")) {
    snprintf(why, size, "no connection %s; there are keep-alive, per-request", setup->connection);
    return NULL;
  }
  if (!(c->soap = wire_new(&c->setup, &c->wire, true))) { snprintf(why, size, "no memory"); return NULL; }
  int us = -(int)(setup->timeout / 1000 > 2000000000 ? 2000000000 : setup->timeout / 1000); // negative: microseconds
  c->soap->connect_timeout = c->soap->send_timeout = c->soap->recv_timeout = us;
  snprintf(c->action, sizeof c->action, "urn:edgegauge:services:1/%s", service_name(setup->service));
  return security_init(c->soap, &c->wire, why, size) ? c : NULL;
}

static char *decimal(struct soap *s, int64_t k) {
  char b[24];
  decimal_text(k, b);
  return soap_strdup(s, b);
}

static int undecimal(struct soap *s, const char *text, int64_t *k) {
  return text && decimal_parse(text, k) ? SOAP_OK : soap_set_receiver_error(s, "a decimal is no number", NULL, SOAP_TYPE);
}

static int sum(struct client *c, const struct message *q, struct message *a) {
  struct soap *s = c->soap;
  struct _eg__sum in = {(int)q->count, soap_malloc(s, (q->count + 1) * sizeof(char *))};
  struct _eg__sumResponse out;
  for (size_t i = 0; i < q->count; i++) in.x[i] = decimal(s, q->x[i]);
  int r = soap_call___eg__sum(s, c->setup.url, c->action, &in, &out);
  return r ? r : undecimal(s, out.total, &a->total);
}

static int temperature(struct client *c, struct message *a) {
  struct _eg__temperature in;
  struct _eg__temperatureResponse out;
  memset(&in, 0, sizeof in);
  int r = soap_call___eg__temperature(c->soap, c->setup.url, c->action, &in, &out);
  if (r) return r;
  a->time = out.time;
  return undecimal(c->soap, out.celsius, &a->celsius);
}

static int monitor(struct client *c, const struct message *q, struct message *a) {
  struct soap *s = c->soap;
  struct _eg__monitor in = {q->id, q->status, q->sequence, decimal(s, q->temperature), decimal(s, q->pressure),
                            q->running ? xsd__boolean__true_ : xsd__boolean__false_, q->message};
  struct _eg__monitorResponse out;
  int r = soap_call___eg__monitor(s, c->setup.url, c->action, &in, &out);
  if (r) return r;
  a->accepted = out.accepted == xsd__boolean__true_;
  a->sequence = out.sequence;
  return r;
}

static void digest(const struct xsd__base64Binary *from, struct message *a) {
  a->digest_size = from->__size < 0 ? 0 : (size_t)from->__size;
  memcpy(a->digest, from->__ptr, a->digest_size < sizeof a->digest ? a->digest_size : sizeof a->digest);
}

// Sends q by the service's stub and gives its answer. The stub's memory is gSOAP's until the next call.
static int ask(struct client *c, const struct message *q, struct message *a) {
  struct soap *s = c->soap;
  int r;
  switch (c->setup.service) {
  case SORT: {
    struct _eg__sort in = {(int)q->count, q->n};
    struct _eg__sortResponse out;
    r = soap_call___eg__sort(s, c->setup.url, c->action, &in, &out);
    if (!r) a->count = (size_t)out.__sizen, a->n = out.n;
    return r;
  }
  case CONCAT: {
    struct _eg__concat in = {(int)q->count, q->s};
    struct _eg__concatResponse out;
    r = soap_call___eg__concat(s, c->setup.url, c->action, &in, &out);
    if (!r) a->text = out.text;
    return r;
  }
  case ECHO_: {
    struct _eg__echo in = {q->text};
    struct _eg__echoResponse out;
    r = soap_call___eg__echo(s, c->setup.url, c->action, &in, &out);
    if (!r) a->text = out.text;
    return r;
  }
  case SUM: return sum(c, q, a);
  case TEMPERATURE: return temperature(c, a);
  case MONITOR: return monitor(c, q, a);
  case IO: {
    struct _eg__io in = {{q->data, (int)q->count}};
    struct _eg__ioResponse out;
    r = soap_call___eg__io(s, c->setup.url, c->action, &in, &out);
    if (!r) digest(&out.digest, a);
    return r;
  }
  default: {
    struct _eg__memory in = {{q->data, (int)q->count}};
    struct _eg__memoryResponse out;
    r = soap_call___eg__memory(s, c->setup.url, c->action, &in, &out);
    if (!r) digest(&out.digest, a);
    return r;
  }
  }
}

static void failure(struct client *c, struct exchange *x) {
  struct soap *s = c->soap;
  soap_set_fault(s);
  const char *text = *soap_faultstring(s), *code = *soap_faultcode(s);
  snprintf(x->failure, sizeof x->failure, "%s: %s", code ? code : "gSOAP", text ? text : "no reason given");
}

void client_call(void *connection, const struct message *q, struct message *a, struct exchange *x) {
  struct client *c = connection;
  struct wire *w = &c->wire;
  soap_destroy(c->soap);
  soap_end(c->soap);
  memset(&w->x, 0, sizeof w->x);
  w->connecting = w->closing = 0;
  w->x.begun = now();
  int r = security_add(c->soap, w);
  if (!r) r = ask(c, q, a);
  int64_t stub = now();
  if (!r) r = security_check(c->soap, w);
  int64_t end = now();
  // gSOAP closes the connection, or waits for TLS to close it, before the stub returns: no deserialization.
  int64_t closed = w->closing > w->x.done && w->x.done ? stub - w->closing : 0;
  if (w->x.done) w->x.deserialization = end - w->x.done - closed;
  *x = w->x;
  x->closed = closed;
  if (r) failure(c, x);
}

void client_hang_up(void *connection) {
  struct client *c = connection;
  soap_force_closesock(c->soap);
  soap_destroy(c->soap);
  soap_end(c->soap);
  soap_free(c->soap);
}
