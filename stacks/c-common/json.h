// One line of the adapter protocol as a flat list: "credentials.ca" is a path, its value a text.
#ifndef EDGEGAUGE_JSON_H
#define EDGEGAUGE_JSON_H
#include <stdbool.h>
#include <stdint.h>

struct json {
  struct { char path[64]; char *text; } field[128];
  int count;
};

// Reads an object; false if line is none. Values of unknown depth or number are refused, not cut.
bool json_parse(struct json *j, const char *line);
void json_free(struct json *j);

// The text of a field, or otherwise if it is absent.
const char *json_text(const struct json *j, const char *path, const char *otherwise);

// An integer; 0 and absence give otherwise. Seeds have 64 bits without sign.
int64_t json_int(const struct json *j, const char *path, int64_t otherwise);
uint64_t json_bits(const struct json *j, const char *path);
double json_real(const struct json *j, const char *path);

// Appends text as a JSON string, quotes included; never beyond size.
void json_quote(char *to, unsigned long size, const char *text);
#endif
