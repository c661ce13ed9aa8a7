// The services of stacks/contract/README.md: their messages from a seed, their work, and the check of an answer.
#ifndef EDGEGAUGE_MESSAGE_H
#define EDGEGAUGE_MESSAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum service { SORT, CONCAT, SUM, ECHO_, TEMPERATURE, MONITOR, IO, MEMORY, NO_SERVICE };
enum service service_of(const char *name);
const char *service_name(enum service s);

// A request or a response. A decimal k/100 is k. What a stack decoded it owns; message_free is for what message_make made.
struct message {
  size_t count;                     // of n, s, x or data
  int32_t *n;                       // sort
  char **s;                         // concat
  int64_t *x;                       // sum
  unsigned char *data;              // io, memory
  char *text;                       // echo; concat's answer
  int64_t total;                    // sum's answer
  char *id, *message;               // monitor
  int32_t status, sequence;
  int64_t temperature, pressure;
  bool running, accepted;
  int64_t celsius, time;            // temperature's answer; ms since 1970
  unsigned char digest[32];
  size_t digest_size;
};

// Makes the request of a seed; letters and max are the width parameters, 0 for the contract's own.
void message_make(enum service, uint64_t seed, size_t n, int letters, uint64_t max, struct message *m);
void message_free(struct message *m);

// Decimals. decimal_parse looks at the digits written and refuses exponents; false if it is no number or too large.
bool decimal_parse(const char *text, int64_t *k);
int decimal_text(int64_t k, char to[24]);
bool decimal_of_double(double d, int64_t *k);

// The work. Sort sorts in place; concat writes concat_size bytes and a 0. io gives NULL, or what failed.
void answer_sort(int32_t *n, size_t count);
size_t concat_size(char *const *s, size_t count);
void answer_concat(char *const *s, size_t count, char *to);
bool answer_sum(const int64_t *x, size_t count, int64_t *total);
void answer_memory(const unsigned char *data, size_t size, unsigned char digest[8]);
const char *answer_io(const char *directory, const unsigned char *data, size_t size, unsigned char digest[32]);
void sha256(const unsigned char *data, size_t size, unsigned char digest[32]);

// What a right answer to request is (temperature's is not known before), and NULL or what is wrong with got.
void message_expected(enum service, const struct message *request, struct message *want);
const char *message_check(enum service, const struct message *want, const struct message *got);
#endif
