#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  const char *at;
  struct json *j;
  char path[64];
};

static bool value(struct reader *r, int depth);

static void blank(struct reader *r) { r->at += strspn(r->at, " \t\r\n"); }

static bool eat(struct reader *r, char c) {
  blank(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static char *utf8(char *to, unsigned code) {
  if (code < 0x80) *to++ = (char)code;
  else if (code < 0x800) *to++ = (char)(0xC0 | code >> 6), *to++ = (char)(0x80 | (code & 63));
  else *to++ = (char)(0xE0 | code >> 12), *to++ = (char)(0x80 | (code >> 6 & 63)), *to++ = (char)(0x80 | (code & 63));
  return to;
}

// Reads a string after its quote. Surrogate pairs do not occur in the protocol: paths and names.
static char *string(struct reader *r) {
  char *s = malloc(strlen(r->at) + 1), *to = s;
  if (!s) return NULL;
  for (;;) {
    char c = *r->at++;
    unsigned code;
    switch (c) {
    case '"': *to = 0; return s;
    case 0: free(s); return NULL;
    default: *to++ = c; continue;
    case '\\': break;
    }
    switch (c = *r->at++) {
    case 'n': *to++ = '\n'; break;
    case 't': *to++ = '\t'; break;
    case 'r': *to++ = '\r'; break;
    case 'b': *to++ = '\b'; break;
    case 'f': *to++ = '\f'; break;
    case '"': case '\\': case '/': *to++ = c; break;
    case 'u':
      if (sscanf(r->at, "%4x", &code) != 1 || strspn(r->at, "0123456789abcdefABCDEF") < 4) { free(s); return NULL; }
      to = utf8(to, code);
      r->at += 4;
      break;
    default: free(s); return NULL;
    }
  }
}

static bool keep(struct reader *r, char *text) {
  struct json *j = r->j;
  if (!text || j->count == (int)(sizeof j->field / sizeof *j->field)) { free(text); return false; }
  strcpy(j->field[j->count].path, r->path);
  j->field[j->count++].text = text;
  return true;
}

static bool object(struct reader *r, int depth) {
  size_t outer = strlen(r->path);
  if (eat(r, '}')) return true;
  do {
    if (!eat(r, '"')) return false;
    char *key = string(r);
    if (!key || outer + strlen(key) + 2 > sizeof r->path) { free(key); return false; }
    if (outer) strcat(r->path, ".");
    strcat(r->path, key);
    free(key);
    if (!eat(r, ':') || !value(r, depth + 1)) return false;
    r->path[outer] = 0;
  } while (eat(r, ','));
  return eat(r, '}');
}

static bool value(struct reader *r, int depth) {
  if (depth > 8) return false;
  if (eat(r, '{')) return object(r, depth);
  if (eat(r, '[')) { // nothing of the protocol is a list: passed over
    if (eat(r, ']')) return true;
    int count = r->j->count;
    do if (!value(r, depth + 1)) return false; while (eat(r, ','));
    while (r->j->count > count) free(r->j->field[--r->j->count].text);
    return eat(r, ']');
  }
  if (eat(r, '"')) return keep(r, string(r));
  size_t n = strcspn(r->at, ",}] \t\r\n");
  if (n == 0) return false;
  char *text = strndup(r->at, n);
  r->at += n;
  return keep(r, text);
}

bool json_parse(struct json *j, const char *line) {
  struct reader r = {.at = line, .j = j};
  j->count = 0;
  if (eat(&r, '{') && object(&r, 0) && (blank(&r), *r.at == 0)) return true;
  json_free(j);
  return false;
}

void json_free(struct json *j) {
  while (j->count > 0) free(j->field[--j->count].text);
}

const char *json_text(const struct json *j, const char *path, const char *otherwise) {
  for (int i = j->count - 1; i >= 0; i--)
    if (!strcmp(j->field[i].path, path)) return *j->field[i].text ? j->field[i].text : otherwise;
  return otherwise;
}

int64_t json_int(const struct json *j, const char *path, int64_t otherwise) {
  int64_t v = strtoll(json_text(j, path, "0"), NULL, 10);
  return v ? v : otherwise;
}

uint64_t json_bits(const struct json *j, const char *path) { return strtoull(json_text(j, path, "0"), NULL, 10); }

double json_real(const struct json *j, const char *path) { return strtod(json_text(j, path, "0"), NULL); }

void json_quote(char *to, unsigned long size, const char *text) {
  char *end = to + size - 8;
  *to++ = '"';
  for (; *text && to < end; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') *to++ = '\\', *to++ = (char)c;
    else if (c < 0x20 || c >= 0x7f) to += sprintf(to, c < 0x20 ? " " : "?"); // a message is one line, and ours are ASCII
    else *to++ = (char)c;
  }
  *to++ = '"';
  *to = 0;
}
