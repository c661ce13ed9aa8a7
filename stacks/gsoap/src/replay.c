#include "replay.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

// An open hash table of digests; 0 in until is a free place. It grows, and forgets what has expired, when half full.
static struct entry { unsigned char digest[16]; int64_t until; } *table;
static size_t places, used;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

enum { MOST = 1 << 24 }; // places: 400 MB, 70,000 messages a second for two minutes

static struct entry *find(struct entry *t, size_t n, const unsigned char *digest) {
  size_t i;
  memcpy(&i, digest, sizeof i);
  for (i &= n - 1; t[i].until && memcmp(t[i].digest, digest, sizeof t[i].digest); i = (i + 1) & (n - 1)) {}
  return &t[i];
}

static int grow(int64_t at) {
  size_t live = 0, n = 1024;
  for (size_t i = 0; i < places; i++) live += table[i].until > at;
  while (n < live * 4) n *= 2;
  struct entry *t = n > MOST ? NULL : calloc(n, sizeof *t);
  if (!t) return 0;
  for (size_t i = 0; i < places; i++)
    if (table[i].until > at) *find(t, n, table[i].digest) = table[i];
  free(table);
  table = t, places = n, used = live;
  return 1;
}

enum replay replay_seen(const void *signature, size_t size, time_t until) {
  unsigned char d[32];
  enum replay r = REPLAY_NEW;
  sha256(signature, size, d);
  pthread_mutex_lock(&one);
  if (used * 2 >= places && !grow((int64_t)time(NULL))) r = REPLAY_FULL;
  else {
    struct entry *e = find(table, places, d);
    if (e->until) r = REPLAY_SEEN;
    else {
      memcpy(e->digest, d, sizeof e->digest);
      e->until = (int64_t)until;
      used++;
    }
  }
  pthread_mutex_unlock(&one);
  return r;
}
