// What a security level adds to a message, and what it demands of one.
#ifndef EDGEGAUGE_SECURITY_H
#define EDGEGAUGE_SECURITY_H
#include "wire.h"

// The levels this build has, ended by NULL.
extern const char *const security_levels[];

// Prepares a context for the setup's level: certificates, keys, plugins. False and why if it cannot.
bool security_init(struct soap *s, struct wire *w, char *why, size_t size);

// Does to a copy of a context what soap_copy does not.
void security_copied(struct soap *s);

// Judges the message just decoded; SOAP_OK, or a fault is set.
int security_check(struct soap *s, struct wire *w);

// Adds its header to the message about to be made. A request says who asks.
int security_add(struct soap *s, struct wire *w);
#endif
