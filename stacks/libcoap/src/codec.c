#include "codec.h"

#include <stdlib.h>
#include <string.h>

#include "services.pb-c.h"

static unsigned char *pack(const ProtobufCMessage *m, size_t *size) {
  *size = protobuf_c_message_get_packed_size(m);
  unsigned char *b = malloc(*size + 1);
  if (b) protobuf_c_message_pack(m, b);
  return b;
}

static ProtobufCBinaryData bytes(const void *b, size_t n) { return (ProtobufCBinaryData){n, (uint8_t *)b}; }

static double *reals(const struct message *m) {
  double *d = malloc((m->count + 1) * sizeof *d);
  for (size_t i = 0; d && i < m->count; i++) d[i] = (double)m->x[i] / 100;
  return d;
}

static unsigned char *request(enum service service, const struct message *m, size_t *size) {
  switch (service) {
  case SORT: {
    Edgegauge__Sort q = EDGEGAUGE__SORT__INIT;
    q.n = m->n, q.n_n = m->count;
    return pack(&q.base, size);
  }
  case CONCAT: {
    Edgegauge__Concat q = EDGEGAUGE__CONCAT__INIT;
    q.s = m->s, q.n_s = m->count;
    return pack(&q.base, size);
  }
  case SUM: {
    Edgegauge__Sum q = EDGEGAUGE__SUM__INIT;
    q.n_x = m->count;
    if (!(q.x = reals(m))) return NULL;
    unsigned char *b = pack(&q.base, size);
    free(q.x);
    return b;
  }
  case ECHO_: {
    Edgegauge__Echo q = EDGEGAUGE__ECHO__INIT;
    q.text = m->text;
    return pack(&q.base, size);
  }
  case MONITOR: {
    Edgegauge__Monitor q = EDGEGAUGE__MONITOR__INIT;
    q.id = m->id, q.message = m->message;
    q.status = m->status, q.sequence = m->sequence, q.running = m->running;
    q.temperature = (double)m->temperature / 100, q.pressure = (double)m->pressure / 100;
    q.has_status = q.has_sequence = q.has_running = q.has_temperature = q.has_pressure = 1;
    return pack(&q.base, size);
  }
  case TEMPERATURE: {
    Edgegauge__Temperature q = EDGEGAUGE__TEMPERATURE__INIT;
    return pack(&q.base, size);
  }
  default: { // io and memory have the same form
    Edgegauge__Io q = EDGEGAUGE__IO__INIT;
    q.has_data = 1, q.data = bytes(m->data, m->count);
    return pack(&q.base, size);
  }
  }
}

static unsigned char *response(enum service service, const struct message *m, size_t *size) {
  switch (service) {
  case SORT: {
    Edgegauge__SortResponse a = EDGEGAUGE__SORT_RESPONSE__INIT;
    a.n = m->n, a.n_n = m->count;
    return pack(&a.base, size);
  }
  case CONCAT: {
    Edgegauge__ConcatResponse a = EDGEGAUGE__CONCAT_RESPONSE__INIT;
    a.text = m->text;
    return pack(&a.base, size);
  }
  case SUM: {
    Edgegauge__SumResponse a = EDGEGAUGE__SUM_RESPONSE__INIT;
    a.has_total = 1, a.total = (double)m->total / 100;
    return pack(&a.base, size);
  }
  case ECHO_: {
    Edgegauge__EchoResponse a = EDGEGAUGE__ECHO_RESPONSE__INIT;
    a.text = m->text;
    return pack(&a.base, size);
  }
  case MONITOR: {
    Edgegauge__MonitorResponse a = EDGEGAUGE__MONITOR_RESPONSE__INIT;
    a.has_accepted = a.has_sequence = 1, a.accepted = m->accepted, a.sequence = m->sequence;
    return pack(&a.base, size);
  }
  case TEMPERATURE: {
    Edgegauge__TemperatureResponse a = EDGEGAUGE__TEMPERATURE_RESPONSE__INIT;
    a.has_celsius = a.has_time = 1, a.celsius = (double)m->celsius / 100, a.time = m->time;
    return pack(&a.base, size);
  }
  default: {
    Edgegauge__IoResponse a = EDGEGAUGE__IO_RESPONSE__INIT;
    a.has_digest = 1, a.digest = bytes(m->digest, m->digest_size);
    return pack(&a.base, size);
  }
  }
}

unsigned char *codec_pack(enum service service, bool answer, const struct message *m, size_t *size) {
  return answer ? response(service, m, size) : request(service, m, size);
}

static const ProtobufCMessageDescriptor *descriptor(enum service s, bool answer) {
  const ProtobufCMessageDescriptor *all[][2] = {
      [SORT] = {&edgegauge__sort__descriptor, &edgegauge__sort_response__descriptor},
      [CONCAT] = {&edgegauge__concat__descriptor, &edgegauge__concat_response__descriptor},
      [SUM] = {&edgegauge__sum__descriptor, &edgegauge__sum_response__descriptor},
      [ECHO_] = {&edgegauge__echo__descriptor, &edgegauge__echo_response__descriptor},
      [TEMPERATURE] = {&edgegauge__temperature__descriptor, &edgegauge__temperature_response__descriptor},
      [MONITOR] = {&edgegauge__monitor__descriptor, &edgegauge__monitor_response__descriptor},
      [IO] = {&edgegauge__io__descriptor, &edgegauge__io_response__descriptor},
      [MEMORY] = {&edgegauge__io__descriptor, &edgegauge__io_response__descriptor},
  };
  return all[s][answer];
}

// RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF. protobuf-c does not look.
static bool utf8(const char *text) {
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    int more = *p < 0x80 ? 0 : *p >= 0xC2 && *p < 0xE0 ? 1 : (*p & 0xF0) == 0xE0 ? 2 : *p >= 0xF0 && *p < 0xF5 ? 3 : -1;
    unsigned char first = *p++, second = *p;
    if (more < 0) return false;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return false;
    for (; more > 0; more--)
      if ((*p++ & 0xC0) != 0x80) return false;
  }
  return true;
}

static char *text(char *s, bool *ok) {
  static char none[] = "";
  if (s && !utf8(s)) *ok = false;
  return s ? s : none;
}

static bool decimals(const double *d, size_t n, struct message *m) {
  if (!(m->x = malloc((n + 1) * sizeof *m->x))) return false;
  for (size_t i = 0; i < n; i++)
    if (!decimal_of_double(d[i], &m->x[i])) return false;
  return true;
}

static bool take_request(enum service service, const void *from, struct message *m) {
  bool ok = true;
  switch (service) {
  case SORT: m->n = ((const Edgegauge__Sort *)from)->n, m->count = ((const Edgegauge__Sort *)from)->n_n; break;
  case CONCAT: {
    const Edgegauge__Concat *q = from;
    m->s = q->s, m->count = q->n_s;
    for (size_t i = 0; i < q->n_s; i++) text(q->s[i], &ok);
    break;
  }
  case SUM: m->count = ((const Edgegauge__Sum *)from)->n_x; return decimals(((const Edgegauge__Sum *)from)->x, m->count, m);
  case ECHO_: m->text = text(((const Edgegauge__Echo *)from)->text, &ok); break;
  case MONITOR: {
    const Edgegauge__Monitor *q = from;
    m->id = text(q->id, &ok), m->message = text(q->message, &ok);
    m->status = q->status, m->sequence = q->sequence, m->running = q->running;
    return ok && decimal_of_double(q->temperature, &m->temperature) && decimal_of_double(q->pressure, &m->pressure);
  }
  case TEMPERATURE: break;
  default: m->data = ((const Edgegauge__Io *)from)->data.data, m->count = ((const Edgegauge__Io *)from)->data.len; break;
  }
  return ok;
}

static bool take_response(enum service service, const void *from, struct message *m) {
  bool ok = true;
  switch (service) {
  case SORT: m->n = ((const Edgegauge__SortResponse *)from)->n, m->count = ((const Edgegauge__SortResponse *)from)->n_n; break;
  case CONCAT: m->text = text(((const Edgegauge__ConcatResponse *)from)->text, &ok); break;
  case SUM: return decimal_of_double(((const Edgegauge__SumResponse *)from)->total, &m->total);
  case ECHO_: m->text = text(((const Edgegauge__EchoResponse *)from)->text, &ok); break;
  case MONITOR: m->accepted = ((const Edgegauge__MonitorResponse *)from)->accepted, m->sequence = ((const Edgegauge__MonitorResponse *)from)->sequence; break;
  case TEMPERATURE: m->time = ((const Edgegauge__TemperatureResponse *)from)->time; return decimal_of_double(((const Edgegauge__TemperatureResponse *)from)->celsius, &m->celsius);
  default: {
    const Edgegauge__IoResponse *a = from;
    m->digest_size = a->digest.len;
    if (a->digest.len <= sizeof m->digest && a->digest.len) memcpy(m->digest, a->digest.data, a->digest.len);
    break;
  }
  }
  return ok;
}

bool codec_unpack(enum service service, bool answer, const unsigned char *b, size_t size, struct message *m, void **hold) {
  memset(m, 0, sizeof *m);
  ProtobufCMessage *u = protobuf_c_message_unpack(descriptor(service, answer), NULL, size, b);
  *hold = u;
  if (!u) return false;
  if (answer ? take_response(service, u, m) : take_request(service, u, m)) return true;
  codec_free(m, u);
  *hold = NULL;
  return false;
}

void codec_free(struct message *m, void *hold) {
  free(m->x); // ours; the rest is protobuf-c's
  m->x = NULL;
  if (hold) protobuf_c_message_free_unpacked(hold, NULL);
}
