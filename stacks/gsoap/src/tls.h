#ifndef EDGEGAUGE_TLS_H
#define EDGEGAUGE_TLS_H
#include "program.h"
#include "soapH.h"

// TLS 1.3 (level tls) or 1.2 (level tls12), and no other. The client checks the server's certificate against credentials.ca and its name.
bool tls_server(struct soap *s, const struct setup *setup, char *why, size_t size);
bool tls_client(struct soap *s, const struct setup *setup, char *why, size_t size);
#endif
