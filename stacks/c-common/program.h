// The adapter protocol (stacks/PROTOCOL.md) for stacks in C: what every program does the same way.
#ifndef EDGEGAUGE_PROGRAM_H
#define EDGEGAUGE_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "message.h"
#include "sensor.h"

// What a serve or call line asks for.
struct setup {
  struct json line;
  enum service service;
  const char *encoding, *security, *transport, *host, *url, *directory, *connection;
  int port;
  int64_t limit;   // B of a request's body
  int64_t timeout; // ns a request
  struct sensor *sensor; // NULL: none named
};

const char *setup_credential(const struct setup *s, const char *name); // "" if absent
const char *setup_option(const struct setup *s, const char *name, const char *otherwise);

// One request and its response as this side saw it; instants on now's clock, phases in ns, sizes in bytes of message body.
struct exchange {
  int64_t due, begun, sent, done;
  int64_t connection; // client: opening a connection, or looking at a kept one, before sent
  int64_t closed;     // client: what call took to close the connection, no part of total
  int64_t serialization, processing, sensor, deserialization, total;
  int64_t in, out;
  char failure[160];
};

// A stack: its hooks into the program below. Functions that can fail return false and say why.
struct stack {
  const char *version, *runtime;
  const char *encoding; // the default
  const char *transport; // the only one
  const char *const *encodings, *const *security; // ended by NULL
  bool (*serve)(struct setup *s, char *url, size_t size, char *why, size_t whySize);
  void (*sync)(void); // before a report: wait for records on their way; may be NULL
  void (*stop)(void);
  void *(*dial)(const struct setup *s, char *why, size_t whySize); // one connection, opened when first used or before
  // Sends request and fills x but for total, which ends when it returns; the answer stays valid until the next call.
  void (*call)(void *connection, const struct message *request, struct message *answer, struct exchange *x);
  void (*hang_up)(void *connection);
};

// Runs the protocol on stdin and stdout; the exit status.
int program_main(int argc, char **argv, const struct stack *stack);

// The first line, for programs that choose what to be by it: read once, without reading ahead. NULL at the end of stdin. program_take_line gives
// one that was read by the program this one was.
const char *program_first_line(void);
void program_take_line(const char *line);

// Reads a serve or call line, whichever type says.
bool program_setup(struct setup *s, const struct stack *stack, const char *line, const char *type, char *why, size_t size);

// Says an error line; the exit status.
int program_fail(const char *message);

int64_t now(void); // ns, monotonic

// Keeps a server's record until the next report.
void record_server(const struct exchange *x);

// Reads the sensor for the server: NULL, or what failed. Times itself into x->sensor, which is part of x->processing.
const char *serve_temperature(struct setup *s, struct message *m, struct exchange *x, char *why, size_t size);
#endif
