// Remembers signatures until their messages expire.
#ifndef EDGEGAUGE_REPLAY_H
#define EDGEGAUGE_REPLAY_H
#include <stddef.h>
#include <time.h>

enum replay { REPLAY_NEW, REPLAY_SEEN, REPLAY_FULL };

// Says whether the signature was seen before, and remembers it until then. Any thread may call it.
enum replay replay_seen(const void *signature, size_t size, time_t until);
#endif
