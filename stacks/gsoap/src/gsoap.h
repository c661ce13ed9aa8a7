#ifndef EDGEGAUGE_GSOAP_H
#define EDGEGAUGE_GSOAP_H
#include "wire.h"

bool server_start(struct setup *setup, char *url, size_t size, char *why, size_t whySize);

// Serves the requests of s's connection until it ends.
int server_requests(struct soap *s);

void *client_dial(const struct setup *setup, char *why, size_t size);
void client_call(void *connection, const struct message *request, struct message *answer, struct exchange *x);
void client_hang_up(void *connection);

// Answers the one request of a CGI, in the place of main; line is the serve line.
int cgi_main(const struct stack *stack, const char *line);
#endif
