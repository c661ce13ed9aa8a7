// Between gSOAP and its socket: a message is received whole before it is decoded, and made whole before it is sent, so that the phases hold no I/O.
#ifndef EDGEGAUGE_WIRE_H
#define EDGEGAUGE_WIRE_H
#include "program.h"
#include "soapH.h"

#include <stdio.h>
#include <strings.h>

struct buffer { char *b; size_t size, room; };

struct wire {
  struct setup *setup;
  bool client, cgi;
  struct exchange x;
  void (*record)(const struct exchange *);
  int64_t connecting;      // ns, of the request under way, the look at a kept connection included
  int64_t closing;         // instant the connection was closed; 0: not
  struct buffer in, rest;  // the body received; what came behind it
  size_t read;             // of in
  bool inBody;             // gSOAP reads from in, not from the socket
  struct buffer out;       // head and body to be sent
  size_t body;             // B of out's body
  bool answered;           // the operation was done: what is sent is no fault
  const struct message *request; // client: what is being sent
  // gSOAP's own functions, below ours
  int (*parse)(struct soap *);
  size_t (*receive)(struct soap *, char *, size_t);
  int (*send)(struct soap *, const char *, size_t);
  int (*respond)(struct soap *, int, ULONG64);
  int (*post)(struct soap *, const char *, const char *, int, const char *, const char *, ULONG64);
  int (*begin)(struct soap *);
  int (*shut)(struct soap *);
  SOAP_SOCKET (*connect)(struct soap *, const char *, const char *, int);
  int (*look)(struct soap *);
};

// A context of gSOAP with the hooks in place; modes as soap_new2 takes them. NULL without memory.
struct soap *wire_new(struct setup *s, struct wire *w, bool client);

// Puts w's hooks into a context; a copied one keeps the functions of its original.
void wire_hook(struct soap *soap, struct wire *w);

// CGI: takes the body from standard input, which ends with it; SOAP_OK, or an error to be answered.
int wire_body(struct soap *s, struct wire *w);

// The server's records on their way to the socket; wire_sync waits for them.
void wire_sync(void);

bool buffer_add(struct buffer *b, const void *from, size_t n);
#endif
