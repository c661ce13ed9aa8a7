#ifndef EDGEGAUGE_LIBCOAP_H
#define EDGEGAUGE_LIBCOAP_H
#include <coap3/coap.h>
#include <stdio.h>

#include "program.h"

enum { PROTOBUF = 42 }; // the contract's Content-Format

void libcoap_startup(void);
bool libcoap_address(const char *host, int port, coap_address_t *to);
bool libcoap_key(const struct setup *s, unsigned char to[64], size_t *size, char *why, size_t whySize);

bool server_start(struct setup *s, char *url, size_t size, char *why, size_t whySize);
void *client_dial(const struct setup *s, char *why, size_t size);
void client_call(void *connection, const struct message *request, struct message *answer, struct exchange *x);
void client_hang_up(void *connection);
#endif
