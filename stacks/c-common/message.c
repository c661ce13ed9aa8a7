#include "message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"sort", "concat", "sum", "echo", "temperature", "monitor", "io", "memory"};

enum service service_of(const char *name) {
  for (int i = 0; i < NO_SERVICE; i++)
    if (!strcmp(names[i], name)) return (enum service)i;
  return NO_SERVICE;
}

const char *service_name(enum service s) { return s < NO_SERVICE ? names[s] : ""; }

static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static char *letters(uint64_t *r, size_t n, const char *alphabet) {
  size_t many = strlen(alphabet);
  char *s = malloc(n + 1);
  for (size_t i = 0; i < n; i++) s[i] = alphabet[next(r) % many];
  s[n] = 0;
  return s;
}

static const char lower[] = "abcdefghijklmnopqrstuvwxyz", mixed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

void message_make(enum service service, uint64_t r, size_t n, int width, uint64_t max, struct message *m) {
  memset(m, 0, sizeof *m);
  switch (service) {
  case SORT:
    m->n = calloc(n + 1, sizeof *m->n);
    for (m->count = 0; m->count < n; m->count++) m->n[m->count] = (int32_t)(next(&r) >> 33);
    break;
  case CONCAT:
    m->s = calloc(n + 1, sizeof *m->s);
    for (m->count = 0; m->count < n; m->count++) m->s[m->count] = letters(&r, width ? (size_t)width : 8 + next(&r) % 9, lower);
    break;
  case SUM:
    m->x = calloc(n + 1, sizeof *m->x);
    for (m->count = 0; m->count < n; m->count++) m->x[m->count] = (int64_t)(next(&r) % (max ? max : 100000));
    break;
  case ECHO_:
    m->text = letters(&r, n, mixed);
    break;
  case MONITOR:
    m->id = letters(&r, 8, lower);
    m->status = (int32_t)(next(&r) % 4);
    m->sequence = (int32_t)(next(&r) >> 33);
    m->temperature = (int64_t)(next(&r) % 10000) - 2000;
    m->pressure = 90000 + (int64_t)(next(&r) % 20000);
    m->running = next(&r) % 2 == 1;
    m->message = letters(&r, n, mixed);
    break;
  case IO:
  case MEMORY:
    m->data = malloc(n + 1);
    for (m->count = 0; m->count < n;) {
      uint64_t z = next(&r);
      for (int i = 0; i < 8 && m->count < n; i++, z >>= 8) m->data[m->count++] = (unsigned char)z;
    }
    break;
  default: // temperature asks nothing
    break;
  }
}

void message_free(struct message *m) {
  for (size_t i = 0; m->s && i < m->count; i++) free(m->s[i]);
  free(m->n), free(m->s), free(m->x), free(m->data), free(m->text), free(m->id), free(m->message);
  memset(m, 0, sizeof *m);
}

static const int64_t largest = 1000000000000000; // |k|, so that a double carries it

bool decimal_parse(const char *s, int64_t *k) {
  bool negative = false, digits = false;
  int64_t v = 0;
  s += strspn(s, " \t\r\n");
  if (*s == '-' || *s == '+') negative = *s++ == '-';
  for (; *s >= '0' && *s <= '9'; s++, digits = true)
    if ((v = v * 10 + (*s - '0')) > largest) return false;
  v *= 100;
  if (*s == '.') {
    int place = 0;
    for (s++; *s >= '0' && *s <= '9'; s++, digits = true, place++) {
      if (place == 0) v += 10 * (*s - '0');
      if (place == 1) v += *s - '0';
      if (place == 2 && *s >= '5') v++; // halves go away from zero: the sign comes last
    }
  }
  s += strspn(s, " \t\r\n");
  *k = negative ? -v : v;
  return digits && *s == 0 && v <= largest;
}

int decimal_text(int64_t k, char to[24]) {
  char b[24], *p = b + sizeof b;
  uint64_t a = k < 0 ? -(uint64_t)k : (uint64_t)k;
  *--p = 0;
  for (int i = 0; i < 3 || a; i++) {
    if (i == 2) *--p = '.';
    *--p = (char)('0' + a % 10);
    a /= 10;
  }
  if (k < 0) *--p = '-';
  int n = (int)(b + sizeof b - 1 - p);
  memcpy(to, p, (size_t)n + 1);
  return n;
}

bool decimal_of_double(double d, int64_t *k) {
  if (!(fabs(d) < 1e15)) return false;
  *k = llround(d * 100);
  return *k <= largest && *k >= -largest;
}

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

void answer_sort(int32_t *n, size_t count) {
  if (count) qsort(n, count, sizeof *n, by_value);
}

size_t concat_size(char *const *s, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += strlen(s[i]);
  return size;
}

void answer_concat(char *const *s, size_t count, char *to) {
  for (size_t i = 0; i < count; i++) to = stpcpy(to, s[i]);
  *to = 0;
}

bool answer_sum(const int64_t *x, size_t count, int64_t *total) {
  *total = 0;
  for (size_t i = 0; i < count; i++)
    if (__builtin_add_overflow(*total, x[i], total)) return false;
  return *total <= largest && *total >= -largest;
}

void answer_memory(const unsigned char *data, size_t size, unsigned char digest[8]) {
  uint64_t h = 14695981039346656037u;
  size_t i = 0;
  for (size_t step = 0; step < size; step++) {
    h = (h ^ data[i]) * 1099511628211u;
    i = (size_t)(h % size);
  }
  for (int b = 7; b >= 0; b--, h >>= 8) digest[b] = (unsigned char)h;
}

void message_expected(enum service service, const struct message *in, struct message *want) {
  memset(want, 0, sizeof *want);
  switch (service) {
  case SORT:
    want->count = in->count;
    want->n = malloc((in->count + 1) * sizeof *in->n);
    memcpy(want->n, in->n, in->count * sizeof *in->n);
    answer_sort(want->n, want->count);
    break;
  case CONCAT:
    want->text = malloc(concat_size(in->s, in->count) + 1);
    answer_concat(in->s, in->count, want->text);
    break;
  case SUM: answer_sum(in->x, in->count, &want->total); break;
  case ECHO_: want->text = strdup(in->text); break;
  case MONITOR: want->sequence = in->sequence; break;
  case IO: sha256(in->data, in->count, want->digest); want->digest_size = 32; break;
  case MEMORY: answer_memory(in->data, in->count, want->digest); want->digest_size = 8; break;
  default: break;
  }
}

static const char *check_sort(const struct message *want, const struct message *got) {
  for (size_t i = 1; i < got->count; i++)
    if (got->n[i - 1] > got->n[i]) return "answer is not sorted";
  bool same = got->count == want->count && (got->count == 0 || !memcmp(got->n, want->n, got->count * sizeof *got->n));
  return same ? NULL : "answer has other numbers";
}

const char *message_check(enum service service, const struct message *want, const struct message *got) {
  switch (service) {
  case SORT: return check_sort(want, got);
  case CONCAT:
  case ECHO_: return got->text && !strcmp(want->text, got->text) ? NULL : "answer has another text";
  case SUM: return want->total == got->total ? NULL : "answer has another total";
  case MONITOR: return !got->accepted ? "answer is not accepted" : want->sequence != got->sequence ? "answer has another sequence" : NULL;
  case TEMPERATURE: return got->time <= 0 ? "answer has no time" : llabs(got->celsius) > 100000 ? "answer is a temperature that no sensor reads" : NULL;
  default: return got->digest_size == want->digest_size && !memcmp(got->digest, want->digest, want->digest_size) ? NULL : "answer has another digest";
  }
}
