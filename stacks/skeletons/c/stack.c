// A stack for edgegauge: the services echo and monitor, as JSON over HTTP/1.1.
// It speaks the adapter protocol (stacks/PROTOCOL.md): one JSON object per line on
// stdin and stdout. Replace the parts marked YOUR FRAMEWORK; keep the timing points.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VERSION "0.1" // YOUR FRAMEWORK: its version
#define JSON_TYPE "application/json"
typedef long long ns;

static ns now(void) { // monotonic
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wait_until(ns instant) {
  for (ns left; (left = instant - now()) > 0;) nanosleep(&(struct timespec){left / 1000000000, left % 1000000000}, NULL);
}

static void *grown(void *p, size_t size) {
  p = realloc(p, size);
  if (!p) abort(); // a missing record would be a wrong figure
  return p;
}

// A text may hold zero bytes. It grows; room is what it has.
struct text { char *s; size_t n, room; };

static void append(struct text *t, const char *s, size_t n) {
  if (t->n + n + 1 > t->room) t->s = grown(t->s, t->room = 2 * (t->n + n + 32));
  memcpy(t->s + t->n, s, n);
  t->s[t->n += n] = 0;
}

__attribute__((format(printf, 2, 3))) static void appendf(struct text *t, const char *format, ...) {
  char b[400];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(b, sizeof b, format, list);
  va_end(list);
  append(t, b, n < (int)sizeof b ? (size_t)n : sizeof b - 1);
}

// The services and their messages (stacks/contract/README.md). Decimals are in hundredths.

struct message {
  struct text text, id, message;
  int64_t status, sequence, temperature, pressure;
  bool running, accepted;
};

enum kind { TEXT, INT32, DECIMAL, BOOLEAN };
struct field { const char *name; enum kind kind; size_t at; };
struct fields { const struct field *list; int count; };
#define FIELD(name, kind) {#name, kind, offsetof(struct message, name)}

static const struct field
    echo_fields[] = {FIELD(text, TEXT)},
    monitor_request[] = {FIELD(id, TEXT), FIELD(status, INT32), FIELD(sequence, INT32), FIELD(temperature, DECIMAL),
                         FIELD(pressure, DECIMAL), FIELD(running, BOOLEAN), FIELD(message, TEXT)},
    monitor_response[] = {FIELD(accepted, BOOLEAN), FIELD(sequence, INT32)};

static bool monitor; // the service: monitor or echo
static const char *service(void) { return monitor ? "monitor" : "echo"; }
static struct fields request_fields(void) { return monitor ? (struct fields){monitor_request, 7} : (struct fields){echo_fields, 1}; }
static struct fields response_fields(void) { return monitor ? (struct fields){monitor_response, 2} : (struct fields){echo_fields, 1}; }

// answer is the service's own work. The response owns its text.
static void answer(const struct message *request, struct message *response) {
  if (!monitor) append(&response->text, request->text.s, request->text.n);
  response->accepted = true;
  response->sequence = request->sequence;
}

static bool same(const struct message *a, const struct message *b) {
  if (monitor) return a->accepted == b->accepted && a->sequence == b->sequence;
  return a->text.n == b->text.n && !memcmp(a->text.s, b->text.s, a->text.n);
}

static void release(struct message *m) {
  free(m->text.s), free(m->id.s), free(m->message.s);
}

static uint64_t next(uint64_t *state) { // SplitMix64
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static void letters(struct text *t, uint64_t *state, long n, const char *of, unsigned many) {
  append(t, "", 0);
  for (long i = 0; i < n; i++) append(t, of + next(state) % many, 1);
}

static void from_seed(uint64_t seed, long n, struct message *m) {
  const char *mixed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  if (!monitor) {
    letters(&m->text, &seed, n, mixed, 52);
    return;
  }
  letters(&m->id, &seed, 8, mixed + 26, 26);
  m->status = next(&seed) % 4;
  m->sequence = next(&seed) >> 33;
  m->temperature = (int64_t)(next(&seed) % 10000) - 2000;
  m->pressure = 90000 + (int64_t)(next(&seed) % 20000);
  m->running = next(&seed) % 2 == 1;
  letters(&m->message, &seed, n, mixed, 52);
}

// JSON. A span is a value as written; reading one moves its begin.

struct span { const char *at, *end; };

static void space(struct span *s) {
  while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at) s->at++;
}

static bool take(struct span *s, char c) {
  space(s);
  if (s->at == s->end || *s->at != c) return false;
  s->at++;
  return true;
}

static int hex4(struct span *s) { // -1 if there are no four digits
  int v = 0;
  for (int i = 0; i < 4; i++, s->at++) {
    const char *digits = "0123456789abcdef", *d = s->at < s->end && *s->at ? strchr(digits, *s->at | 32) : NULL;
    if (!d || (*s->at < '0')) return -1;
    v = v << 4 | (int)(d - digits);
  }
  return v;
}

static void append_rune(struct text *t, int r) {
  char b[4] = {(char)r};
  int n = 1;
  if (r >= 0x10000) n = 4, b[0] = (char)(0xf0 | r >> 18), b[1] = (char)(0x80 | (r >> 12 & 63)), b[2] = (char)(0x80 | (r >> 6 & 63));
  else if (r >= 0x800) n = 3, b[0] = (char)(0xe0 | r >> 12), b[1] = (char)(0x80 | (r >> 6 & 63));
  else if (r >= 0x80) n = 2, b[0] = (char)(0xc0 | r >> 6);
  if (n > 1) b[n - 1] = (char)(0x80 | (r & 63));
  append(t, b, (size_t)n);
}

static bool read_text(struct span *s, struct text *t) {
  t->n = 0;
  append(t, "", 0);
  if (!take(s, '"')) return false;
  for (;;) {
    const char *from = s->at;
    while (s->at < s->end && *s->at != '"' && *s->at != '\\' && (unsigned char)*s->at >= ' ') s->at++;
    append(t, from, (size_t)(s->at - from));
    if (s->at == s->end || (unsigned char)*s->at < ' ') return false;
    if (*s->at++ == '"') return true;
    if (s->at == s->end) return false;
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char c = *s->at++;
    const char *e = c ? strchr(escapes, c) : NULL;
    int rune = e ? means[e - escapes] : c == 'u' ? hex4(s) : -1;
    if (rune >= 0xd800 && rune < 0xdc00) { // the first half of a pair
      if (s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u') return false;
      s->at += 2;
      int low = hex4(s);
      rune = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((rune - 0xd800) << 10) + (low - 0xdc00) : -1;
    } else if (rune >= 0xdc00 && rune < 0xe000) return false;
    if (rune < 0) return false;
    append_rune(t, rune);
  }
}

static bool digits(struct span *s) {
  const char *from = s->at;
  while (s->at < s->end && *s->at >= '0' && *s->at <= '9') s->at++;
  return s->at > from;
}

struct number { bool minus; struct span whole, fraction; long exponent; };

static bool scan_number(struct span *s, struct number *n) {
  memset(n, 0, sizeof *n);
  space(s);
  if ((n->minus = s->at < s->end && *s->at == '-')) s->at++;
  n->whole.at = s->at;
  if (!digits(s) || (*n->whole.at == '0' && s->at > n->whole.at + 1)) return false;
  n->whole.end = n->fraction.at = n->fraction.end = s->at;
  if (s->at < s->end && *s->at == '.') {
    n->fraction.at = ++s->at;
    if (!digits(s)) return false;
    n->fraction.end = s->at;
  }
  if (s->at == s->end || (*s->at | 32) != 'e') return true;
  bool down = ++s->at < s->end && *s->at == '-';
  if (s->at < s->end && (*s->at == '-' || *s->at == '+')) s->at++;
  const char *from = s->at;
  if (!digits(s)) return false;
  for (; from < s->at; from++) n->exponent = n->exponent < 100000000 ? n->exponent * 10 + *from - '0' : n->exponent;
  if (down) n->exponent = -n->exponent;
  return true;
}

// read_number returns the number times 10^places, rounded, halves away from zero; false if it is not a number or exceeds most.
static bool read_number(struct span *s, int places, bool exact, int64_t most, int64_t *to) {
  struct number n;
  if (!scan_number(s, &n)) return false;
  long whole = n.whole.end - n.whole.at, many = whole + (n.fraction.end - n.fraction.at);
  long point = whole + n.exponent + places; // digits before it count
  int64_t v = 0;
  bool up = false;
  for (long i = 0; (i < many || (i < point && v)) && v <= most; i++) {
    int d = i >= many ? 0 : (i < whole ? n.whole.at[i] : n.fraction.at[i - whole]) - '0';
    if (i < point) v = v * 10 + d;
    if (i == point) up = d >= 5;
    if (i >= point && d && exact) return false;
  }
  v += up;
  *to = n.minus ? -v : v;
  return v <= most;
}

static bool word(struct span *s, const char *w) {
  size_t n = strlen(w);
  space(s);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, w, n)) return false;
  s->at += n;
  return true;
}

// skip reads a value of any kind.
static bool skip(struct span *s, int depth, struct text *scratch) {
  space(s);
  if (s->at == s->end || depth > 60) return false;
  if (*s->at == '"') return read_text(s, scratch);
  if (*s->at == '{' || *s->at == '[') {
    bool object = *s->at++ == '{';
    char close = object ? '}' : ']';
    if (take(s, close)) return true;
    do {
      if (object && (!(space(s), read_text(s, scratch)) || !take(s, ':'))) return false;
      if (!skip(s, depth + 1, scratch)) return false;
    } while (take(s, ','));
    return take(s, close);
  }
  if (word(s, "true") || word(s, "false") || word(s, "null")) return true;
  struct number n;
  return scan_number(s, &n);
}

// lookup finds a path such as limits.body in an object.
static bool lookup(struct span s, const char *path, struct span *value) {
  struct text name = {0}, scratch = {0};
  size_t n = strcspn(path, ".");
  bool found = false, more = take(&s, '{');
  while (more && read_text(&s, &name) && take(&s, ':')) {
    struct span v = s;
    if (!skip(&s, 0, &scratch)) break;
    v.end = s.at;
    if (name.n == n && !memcmp(name.s, path, n)) *value = v, found = true;
    more = take(&s, ',');
  }
  free(name.s), free(scratch.s);
  return found && path[n] ? lookup(*value, path + n + 1, value) : found;
}

// get returns a field of a line as text, "" if it is absent. The text is never freed: there are few.
static const char *get(struct span line, const char *path) {
  struct span v;
  struct text t = {0};
  if (!lookup(line, path, &v)) return "";
  space(&v);
  if (*v.at != '"') append(&t, v.at, (size_t)(v.end - v.at));
  else if (!read_text(&v, &t)) return "";
  return t.s;
}

static ns number(struct span line, const char *path) { return strtoll(get(line, path), NULL, 10); }

static void quote(struct text *to, const char *s, size_t n) {
  append(to, "\"", 1);
  for (size_t i = 0; i < n; i++) {
    static const char escaped[] = "\"\\\b\f\n\r\t", by[] = "\"\\bfnrt";
    const char *e = s[i] ? strchr(escaped, s[i]) : NULL;
    if (e) appendf(to, "\\%c", by[e - escaped]);
    else if ((unsigned char)s[i] < ' ') appendf(to, "\\u%04x", s[i]);
    else append(to, s + i, 1);
  }
  append(to, "\"", 1);
}

// The encoding. YOUR FRAMEWORK: its own serializer, if it writes the canonical form.

static void encode(const struct message *m, struct fields f, struct text *to) {
  to->n = 0;
  append(to, "{", 1);
  for (int i = 0; i < f.count; i++) {
    const void *value = (const char *)m + f.list[i].at;
    appendf(to, "%s\"%s\":", i ? "," : "", f.list[i].name);
    if (f.list[i].kind == TEXT) quote(to, ((const struct text *)value)->s, ((const struct text *)value)->n);
    if (f.list[i].kind == BOOLEAN) appendf(to, "%s", *(const bool *)value ? "true" : "false");
    if (f.list[i].kind == INT32) appendf(to, "%lld", (ns) * (const int64_t *)value);
    if (f.list[i].kind == DECIMAL) {
      ns k = *(const int64_t *)value, a = k < 0 ? -k : k;
      appendf(to, "%s%lld.%02lld", k < 0 ? "-" : "", a / 100, a % 100);
    }
  }
  append(to, "}", 1);
}

static bool utf8(const unsigned char *s, size_t n) {
  for (size_t i = 0; i < n;) {
    int more = s[i] < 0x80 ? 0 : s[i] < 0xc2 ? -1 : s[i] < 0xe0 ? 1 : s[i] < 0xf0 ? 2 : s[i] < 0xf5 ? 3 : -1;
    if (more < 0 || i + (size_t)more >= n) return false;
    for (int k = 1; k <= more; k++)
      if ((s[i + (size_t)k] & 0xc0) != 0x80) return false;
    if ((s[i] == 0xe0 && s[i + 1] < 0xa0) || (s[i] == 0xed && s[i + 1] > 0x9f) || (s[i] == 0xf0 && s[i + 1] < 0x90) ||
        (s[i] == 0xf4 && s[i + 1] > 0x8f)) return false;
    i += (size_t)more + 1;
  }
  return true;
}

static bool read_field(struct span v, enum kind kind, void *to) {
  switch (kind) {
  case TEXT: return read_text(&v, to);
  case BOOLEAN: return (*(bool *)to = word(&v, "true")) || word(&v, "false");
  case INT32: {
    int64_t n = 0;
    space(&v);
    bool ok = read_number(&v, 0, true, 1LL << 31, &n) && n >= INT32_MIN && n <= INT32_MAX;
    *(int64_t *)to = n;
    return ok;
  }
  case DECIMAL: return read_number(&v, 2, false, 1000000000000000, to);
  }
  return false;
}

// decode returns NULL, or what is wrong. The message owns what was read, in either case.
static const char *decode(const char *body, size_t size, struct fields f, struct message *m) {
  struct span s = {body, body + size};
  struct text name = {0}, scratch = {0};
  unsigned have = 0;
  const char *wrong = NULL;
  if (!utf8((const unsigned char *)body, size)) return "not UTF-8";
  if (!take(&s, '{')) return "not an object";
  if (!take(&s, '}')) {
    do {
      space(&s);
      struct span v;
      if (!read_text(&s, &name) || !take(&s, ':') || (v.at = s.at, !skip(&s, 0, &scratch))) { wrong = "not JSON"; break; }
      v.end = s.at;
      for (int i = 0; i < f.count; i++) {
        if (name.n != strlen(f.list[i].name) || memcmp(name.s, f.list[i].name, name.n)) continue;
        if (!read_field(v, f.list[i].kind, (char *)m + f.list[i].at)) wrong = "a field of another type, or out of range";
        have |= 1u << i;
      }
    } while (!wrong && take(&s, ','));
    if (!wrong && !take(&s, '}')) wrong = "not JSON";
  }
  space(&s);
  if (!wrong && s.at < s.end) wrong = "something after the message";
  if (!wrong && have != (1u << f.count) - 1) wrong = "a field is missing";
  free(name.s), free(scratch.s);
  return wrong;
}

// HTTP/1.1, only what is needed. YOUR FRAMEWORK: its own.

struct conn { int fd; struct text in; size_t used; ns deadline; }; // deadline 0: none

struct http {
  char first[512], type[128];
  long long length; // announced; -1 if not
  bool chunked, close;
  struct text body;
};

enum got { GOT, NOTHING, LATE, CUT, LARGE };

static enum got fill(struct conn *c) {
  char b[65536];
  ns left = c->deadline ? c->deadline - now() : 0;
  struct pollfd p = {c->fd, POLLIN, 0};
  if (c->deadline && (left <= 0 || poll(&p, 1, (int)(left / 1000000) + 1) == 0)) return LATE;
  ssize_t n = recv(c->fd, b, sizeof b, 0);
  if (n <= 0) return CUT;
  if (c->used == c->in.n) c->used = c->in.n = 0;
  append(&c->in, b, (size_t)n);
  return GOT;
}

// line returns the bytes to the next \r\n, without it, in place.
static enum got head_line(struct conn *c, char *to, size_t size) {
  for (;;) {
    char *from = c->in.s + c->used, *end = c->in.n > c->used ? memmem(from, c->in.n - c->used, "\r\n", 2) : NULL;
    if (end) {
      snprintf(to, size, "%.*s", (int)(end - from), from);
      c->used += (size_t)(end - from) + 2;
      return GOT;
    }
    if (c->in.n - c->used > 65536) return LARGE;
    enum got g = fill(c);
    if (g != GOT) return g;
  }
}

static enum got body_bytes(struct conn *c, struct http *h, size_t n) {
  while (n > 0) {
    if (c->used == c->in.n) {
      enum got g = fill(c);
      if (g != GOT) return g;
    }
    size_t k = c->in.n - c->used < n ? c->in.n - c->used : n;
    append(&h->body, c->in.s + c->used, k);
    c->used += k, n -= k;
  }
  return GOT;
}

static enum got receive_head(struct conn *c, struct http *h) {
  char line[1024];
  h->length = -1, h->chunked = h->close = false, h->body.n = 0, *h->type = 0;
  append(&h->body, "", 0);
  bool idle = c->used == c->in.n;
  enum got g = head_line(c, h->first, sizeof h->first);
  if (g != GOT) return g == CUT && idle && c->used == c->in.n ? NOTHING : g;
  while ((g = head_line(c, line, sizeof line)) == GOT && *line) {
    char *value = strchr(line, ':');
    if (!value) return CUT;
    *value++ = 0;
    value += strspn(value, " \t");
    if (!strcasecmp(line, "Content-Type")) snprintf(h->type, sizeof h->type, "%.*s", (int)strcspn(value, "; \t"), value);
    if (!strcasecmp(line, "Content-Length")) h->length = *value >= '0' && *value <= '9' ? strtoll(value, NULL, 10) : -2;
    if (!strcasecmp(line, "Transfer-Encoding")) h->chunked = !strcasecmp(value, "chunked");
    if (!strcasecmp(line, "Connection")) h->close = !strcasecmp(value, "close");
  }
  return g;
}

static enum got receive_body(struct conn *c, struct http *h, long long limit) {
  char line[1024];
  enum got g = GOT;
  if (!h->chunked) return h->length > limit ? LARGE : h->length < -1 ? CUT : body_bytes(c, h, h->length > 0 ? (size_t)h->length : 0);
  for (;;) {
    if ((g = head_line(c, line, sizeof line)) != GOT) return g;
    char *end;
    unsigned long long n = strtoull(line, &end, 16);
    if (end == line) return CUT;
    if (n > (unsigned long long)limit || h->body.n + n > (unsigned long long)limit) return LARGE;
    if (n > 0 && (g = body_bytes(c, h, (size_t)n)) != GOT) return g;
    if ((g = head_line(c, line, sizeof line)) != GOT) return g;
    if (n == 0) return *line ? CUT : GOT; // no trailers
  }
}

static bool send_all(int fd, const char *s, size_t n) {
  for (ssize_t k; n > 0; s += k, n -= (size_t)k)
    if ((k = send(fd, s, n, MSG_NOSIGNAL)) <= 0) return false;
  return true;
}

static void no_delay(int fd) { setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); }

// The server.

struct record { ns deserialization, processing, serialization, total; size_t in, out; };

static struct { struct record *r; size_t count, room; } records;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;
// held for reading while an answer is sent: the client may have it before it is recorded
static pthread_rwlock_t sending = PTHREAD_RWLOCK_INITIALIZER;
static ns limit, delay; // delay: slows the service, to test the lab

static void respond(struct conn *c, struct text *head, int status, const char *type, const char *body, size_t n) {
  head->n = 0; // header and body in one write: with two, Nagle and delayed acknowledgements cost 40 ms
  appendf(head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n", status, status == 200 ? "OK" : "Refused", type, n,
          status == 200 ? "" : "Connection: close\r\n");
  append(head, body, n);
  send_all(c->fd, head->s, head->n);
}

// refuse answers with an error and ends the connection. Further input is read and dropped for a
// second: closing would reset the connection, and the client would never see the answer.
static void refuse(struct conn *c, int status, const char *why) {
  struct text head = {0};
  respond(c, &head, status, "text/plain", why, strlen(why));
  free(head.s);
  shutdown(c->fd, SHUT_WR);
  c->deadline = now() + 1000000000;
  do c->used = c->in.n;
  while (fill(c) == GOT);
}

static bool serve_one(struct conn *c, struct http *h, struct text *out, struct text *head) {
  struct message request = {0}, response = {0};
  struct record r = {0};
  enum got g = receive_head(c, h);
  if (g != GOT) return false;
  char method[16] = "", path[256] = "", want[32];
  sscanf(h->first, "%15s %255s", method, path);
  snprintf(want, sizeof want, "/%s", service());
  if (strcmp(path, want)) return refuse(c, 404, "no such service\n"), false;
  if (strcmp(method, "POST")) return refuse(c, 405, "only POST is served\n"), false;
  if (strcasecmp(h->type, JSON_TYPE)) return refuse(c, 415, "send " JSON_TYPE "\n"), false;
  if ((g = receive_body(c, h, limit)) == LARGE) return refuse(c, 413, "the body is larger than the limit\n"), false;
  if (g != GOT) return refuse(c, 400, "the body is not whole\n"), false;
  ns begun = now(); // the request is complete
  const char *wrong = decode(h->body.s, h->body.n, request_fields(), &request);
  ns decoded = now();
  if (wrong) {
    refuse(c, 400, wrong);
    release(&request);
    return false;
  }
  if (delay) wait_until(decoded + delay);
  answer(&request, &response);
  ns answered = now();
  encode(&response, response_fields(), out);
  r.serialization = now() - answered;
  r.deserialization = decoded - begun, r.processing = answered - decoded;
  r.in = h->body.n, r.out = out->n;
  pthread_rwlock_rdlock(&sending);
  respond(c, head, 200, JSON_TYPE, out->s, out->n);
  r.total = now() - begun;
  pthread_mutex_lock(&recording);
  if (records.count == records.room) records.r = grown(records.r, (records.room = 2 * records.room + 1024) * sizeof *records.r);
  records.r[records.count++] = r;
  pthread_mutex_unlock(&recording);
  pthread_rwlock_unlock(&sending);
  release(&request), release(&response);
  return !h->close;
}

static void *serve_connection(void *fd) {
  struct conn c = {.fd = (int)(intptr_t)fd};
  struct http h = {0};
  struct text out = {0}, head = {0};
  no_delay(c.fd);
  while (serve_one(&c, &h, &out, &head)) {}
  close(c.fd);
  free(c.in.s), free(h.body.s), free(out.s), free(head.s);
  return NULL;
}

static void *accept_all(void *listener) {
  for (;;) {
    int fd = accept4((int)(intptr_t)listener, NULL, NULL, SOCK_CLOEXEC);
    pthread_t thread;
    if (fd < 0) continue;
    if (pthread_create(&thread, NULL, serve_connection, (void *)(intptr_t)fd)) close(fd);
    else pthread_detach(thread);
  }
  return NULL;
}

// The adapter protocol.

static void fail(const char *format, ...) {
  char why[600];
  va_list list;
  va_start(list, format);
  vsnprintf(why, sizeof why, format, list);
  va_end(list);
  struct text t = {0};
  quote(&t, why, strlen(why));
  printf("{\"type\":\"error\",\"message\":%s}\n", t.s);
  fflush(stdout);
  _exit(1);
}

// next_line reads a line of a type; at the end of stdin the program ends.
static struct span next_line(const char *type) {
  static char *line;
  static size_t room;
  ssize_t n = getline(&line, &room, stdin);
  if (n <= 0) _exit(0); // even if threads still run
  char *kept = strndup(line, (size_t)n); // what get returns may be needed as long as the program runs
  struct span s = {kept, kept + n};
  if (strcmp(get(s, "type"), type)) fail("no type \"%.50s\" expected here; send %s", get(s, "type"), type);
  return s;
}

static void ready(const char *more) {
  printf("{\"type\":\"ready\",\"version\":\"" VERSION "\",\"runtime\":\"glibc %s\"%s}\n", gnu_get_libc_version(), more);
  fflush(stdout);
}

static struct addrinfo *resolve(const char *host, const char *port) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *a = NULL;
  int e = getaddrinfo(host, port, &hints, &a);
  if (e) fail("no address %.100s: %s", host, gai_strerror(e));
  return a;
}

// A setting that is not understood is refused, not replaced.
static ns nanoseconds(struct span line, const char *path) {
  const char *text = get(line, path);
  char *end = NULL;
  if (!*text) return 0;
  errno = 0;
  ns n = strtoll(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno) fail("unknown %s \"%.100s\"; write nanoseconds, such as 1000000", path, text);
  return n;
}

static void serve(struct span line) {
  const char *host = get(line, "host"), *port = get(line, "port");
  struct addrinfo *a = resolve(host, *port ? port : "0");
  limit = *get(line, "limits.body") ? number(line, "limits.body") : 16000000;
  delay = nanoseconds(line, "options.delay");
  int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 128)) fail("cannot listen on %s: %s", host, strerror(errno)); // this host only
  struct sockaddr_storage own;
  socklen_t size = sizeof own;
  getsockname(fd, (struct sockaddr *)&own, &size);
  bool six = strchr(host, ':') != NULL;
  int bound = ntohs(six ? ((struct sockaddr_in6 *)&own)->sin6_port : ((struct sockaddr_in *)&own)->sin_port);
  pthread_t thread;
  pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)fd);
  char url[300];
  snprintf(url, sizeof url, ",\"url\":\"http://%s%s%s:%d/%s\"", six ? "[" : "", host, six ? "]" : "", bound, service());
  ready(url);
  for (;;) {
    bool discard = !strcmp(get(next_line("report"), "discard"), "true");
    pthread_rwlock_wrlock(&sending);
    for (size_t i = 0; i < records.count && !discard; i++) {
      struct record r = records.r[i];
      printf("{\"type\":\"exchange\",\"seq\":%zu,\"deserialization\":%lld,\"processing\":%lld,\"serialization\":%lld,\"total\":%lld,"
             "\"in\":%zu,\"out\":%zu}\n", i + 1, r.deserialization, r.processing, r.serialization, r.total, r.in, r.out);
    }
    printf("{\"type\":\"end\",\"count\":%zu}\n", records.count);
    records.count = 0;
    pthread_rwlock_unlock(&sending);
    fflush(stdout);
  }
}

// The client. YOUR FRAMEWORK: its own client.

struct exchange { ns due, sent, done, connection, serialization, deserialization, total; size_t out, in; char failure[200]; };

static struct {
  struct conn c;
  struct addrinfo *to;
  char host[256], path[256];
  bool per_request;
  ns timeout;
  struct message request, expected;
  struct text body, head;
  struct http h;
} client = {.c.fd = -1};

static void hang_up(void) {
  if (client.c.fd >= 0) close(client.c.fd);
  client.c.fd = -1, client.c.used = client.c.in.n = 0;
}

static bool dial(void) {
  int fd = client.c.fd = socket(client.to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct pollfd p = {fd, POLLOUT, 0};
  int wrong = 0;
  if (connect(fd, client.to->ai_addr, client.to->ai_addrlen) && errno != EINPROGRESS) return false;
  if (poll(&p, 1, (int)(client.timeout / 1000000) + 1) == 0) return errno = ETIMEDOUT, false;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &wrong, &(socklen_t){sizeof wrong});
  fcntl(fd, F_SETFL, 0);
  no_delay(fd);
  return (errno = wrong) == 0;
}

// once sends one request and fills x; the failure says what went wrong.
static void once(struct exchange *x) {
  struct message received = {0};
  struct http *h = &client.h;
  ns begun = now();
  encode(&client.request, request_fields(), &client.body);
  x->serialization = now() - begun;
  x->out = client.body.n;
  if (client.c.fd < 0) {
    ns opening = now();
    if (!dial()) {
      snprintf(x->failure, sizeof x->failure, "cannot connect: %s", strerror(errno));
      return;
    }
    x->connection = now() - opening;
  }
  client.head.n = 0;
  appendf(&client.head, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: " JSON_TYPE "\r\n", client.path, client.host);
  appendf(&client.head, "Content-Length: %zu\r\n%s\r\n", x->out, client.per_request ? "Connection: close\r\n" : "");
  append(&client.head, client.body.s, x->out);
  client.c.deadline = now() + client.timeout;
  x->sent = now();
  enum got g = send_all(client.c.fd, client.head.s, client.head.n) ? receive_head(&client.c, h) : CUT;
  if (g == GOT) g = receive_body(&client.c, h, INT64_MAX);
  if (g != GOT) {
    snprintf(x->failure, sizeof x->failure, g == LATE ? "no response in time" : "the connection ended before the response");
    return;
  }
  x->done = now();
  x->in = h->body.n;
  if (strncmp(h->first, "HTTP/1.1 200 ", 13)) {
    snprintf(x->failure, sizeof x->failure, "%.40s: %.100s", h->first, h->body.s);
    return;
  }
  if (strcasecmp(h->type, JSON_TYPE)) {
    snprintf(x->failure, sizeof x->failure, "the answer is %s", h->type);
    return;
  }
  ns decoding = now();
  const char *wrong = decode(h->body.s, h->body.n, response_fields(), &received);
  x->deserialization = now() - decoding;
  x->total = now() - begun; // to check the answer and to close the connection are no part of it
  if (!wrong && !same(&received, &client.expected)) wrong = "the answer is another than was asked for";
  if (wrong) snprintf(x->failure, sizeof x->failure, "%s", wrong);
  release(&received);
}

static void print(const struct exchange *x, long seq, ns start) {
  printf("{\"type\":\"exchange\",\"seq\":%ld,\"due\":%lld", seq, x->due);
  if (x->sent) printf(",\"sent\":%lld", x->sent - start);
  if (x->done) printf(",\"done\":%lld", x->done - start);
  printf(",\"connection\":%lld,\"serialization\":%lld,\"deserialization\":%lld,\"total\":%lld,\"out\":%zu,\"in\":%zu", x->connection,
         x->serialization, x->deserialization, x->total, x->out, x->in);
  struct text t = {0};
  if (*x->failure) quote(&t, x->failure, strlen(x->failure)), printf(",\"failure\":%s", t.s);
  free(t.s);
  printf("}\n");
}

static void run(struct span ask) {
  ns requests = number(ask, "requests"), duration = number(ask, "duration"), interval = number(ask, "interval");
  double rate = strtod(get(ask, "rate"), NULL), pace = rate > 0 ? 1e9 / rate : (double)interval;
  const char *arrival = get(ask, "arrival");
  bool record = !strcmp(get(ask, "record"), "true");
  if (number(ask, "concurrency") > 1) fail("there is one connection; set concurrency to 1");
  if (*arrival && strcmp(arrival, "constant")) fail("no arrival \"%.50s\"; there is constant", arrival);
  if (!requests && !duration) fail("the run has no end; give requests or duration");
  struct exchange *all = NULL;
  long count = 0, room = 0, failed = 0;
  char first_failure[sizeof all->failure];
  ns start = now();
  while (!requests || count < requests) {
    struct exchange x = {.due = pace > 0 ? (ns)((double)count * pace) : now() - start};
    if (duration && (x.due >= duration || (rate == 0 && now() - start >= duration))) break; // at a rate, what is due is sent, if late
    wait_until(start + x.due);
    ns begun = now();
    once(&x);
    if (!x.total) x.total = now() - begun; // it failed before it was decoded
    if (*x.failure || client.per_request || client.h.close) hang_up();
    if (record && count == room) all = grown(all, (size_t)(room = 2 * room + 1024) * sizeof *all);
    if (record) all[count] = x; // printed after the last request: no output in between
    else if (*x.failure && failed++ == 0) memcpy(first_failure, x.failure, sizeof first_failure);
    count++;
  }
  for (long i = 0; record && i < count; i++) {
    print(&all[i], i + 1, start);
    if (i == 0) fflush(stdout); // the lab reads the run's CPU time when its first record comes
  }
  free(all);
  printf("{\"type\":\"end\",\"count\":%ld", count);
  if (failed) {
    struct text t = {0};
    quote(&t, first_failure, strlen(first_failure));
    printf(",\"failed\":%ld,\"first_failure\":%s", failed, t.s);
    free(t.s);
  }
  printf("}\n");
  fflush(stdout);
}

static void call(struct span line) {
  const char *connection = get(line, "connection"), *url = get(line, "url");
  char port[8];
  client.per_request = !strcmp(connection, "per-request");
  if (!client.per_request && strcmp(connection, "keep-alive")) fail("no connection \"%.50s\"; there are keep-alive, per-request", connection);
  if (number(line, "message.letters") || number(line, "message.max")) fail("letters and max are for concat and sum");
  if (sscanf(url, "http://[%100[^]]]:%7[0-9]%255s", client.host, port, client.path) != 3 &&
      sscanf(url, "http://%100[^]:/]:%7[0-9]%255s", client.host, port, client.path) != 3) fail("not an HTTP URL: %.100s", url);
  client.to = resolve(client.host, port);
  snprintf(client.host, sizeof client.host, "%.*s", (int)strcspn(url + 7, "/"), url + 7);
  client.timeout = *get(line, "timeout") ? number(line, "timeout") : 30000000000;
  from_seed(strtoull(get(line, "message.seed"), NULL, 10), number(line, "message.n"), &client.request);
  answer(&client.request, &client.expected);
  ready("");
  for (;;) run(next_line("run"));
}

static void offered(struct span line, const char *what, const char *have) {
  if (strcmp(get(line, what), have)) fail("no %s \"%.50s\"; there is %s", what, get(line, what), have);
}

int main(int argc, char **argv) {
  const char *verb = argc == 2 ? argv[1] : "";
  signal(SIGPIPE, SIG_IGN);
  if (strcmp(verb, "serve") && strcmp(verb, "call")) fail("no verb \"%.50s\"; there are serve, call", verb);
  struct span line = next_line(verb);
  monitor = !strcmp(get(line, "service"), "monitor");
  if (!monitor && strcmp(get(line, "service"), "echo")) fail("no service \"%.50s\"; there are echo, monitor", get(line, "service"));
  offered(line, "protocol", "1"), offered(line, "encoding", "json"), offered(line, "security", "none"), offered(line, "transport", "http");
  if (!strcmp(verb, "serve")) serve(line);
  call(line);
}
