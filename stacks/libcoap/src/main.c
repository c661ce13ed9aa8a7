#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "libcoap.h"

void libcoap_startup(void) {
  coap_startup();
  coap_set_log_level(LOG_ERR);
  coap_dtls_set_log_level(LOG_ERR);
}

bool libcoap_address(const char *host, int port, coap_address_t *to) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM}, *found;
  char service[8];
  snprintf(service, sizeof service, "%d", port);
  if (getaddrinfo(host, service, &hints, &found)) return false;
  coap_address_init(to);
  to->size = found->ai_addrlen;
  memcpy(&to->addr, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return true;
}

bool libcoap_key(const struct setup *s, unsigned char to[64], size_t *size, char *why, size_t whySize) {
  const char *hex = setup_credential(s, "psk");
  unsigned v;
  for (*size = 0; *hex && *size < 64; hex += 2, ++*size) {
    if (strspn(hex, "0123456789abcdefABCDEF") < 2 || sscanf(hex, "%2x", &v) != 1) break;
    to[*size] = (unsigned char)v;
  }
  if (*size > 0 && !*hex) return true;
  snprintf(why, whySize, "dtls-psk needs credentials.psk, a key in hex");
  return false;
}

static void stop(void) {} // the thread ends with the process

int main(int argc, char **argv) {
  static const char *const encodings[] = {"protobuf", NULL}, *const security[] = {"none", "dtls-psk", NULL};
  char runtime[100];
  snprintf(runtime, sizeof runtime, "C, glibc, protobuf-c");
  struct stack stack = {.version = coap_package_version(), .runtime = runtime, .encoding = "protobuf", .transport = "coap", .encodings = encodings, .security = security,
                        .serve = server_start, .stop = stop, .dial = client_dial, .call = client_call, .hang_up = client_hang_up};
  return program_main(argc, argv, &stack);
}
