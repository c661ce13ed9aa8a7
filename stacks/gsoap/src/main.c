#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsoap.h"
#include "security.h"

static void stop(void) {} // threads end with the process

// The builds lie side by side: gsoap (no security, no OpenSSL), gsoap-tls, gsoap-wss. The first is called and becomes the one the line asks for.
static void become(char **argv, const char *security) {
  char path[4096];
  const char *suffix = !strncmp(security, "tls", 3) ? "-tls" : !strncmp(security, "wss-", 4) ? "-wss" : NULL;
  if (!suffix) return;
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
  if (n < 0) return;
  path[n] = 0;
  char *dash = strrchr(path, '-'), *slash = strrchr(path, '/');
  strcpy(dash > slash && (!strcmp(dash, "-tls") || !strcmp(dash, "-wss")) ? dash : path + n, suffix);
  setenv("EDGEGAUGE_LINE", program_first_line(), 1);
  execv(path, argv);
  strcat(path, ": not built");
  exit(program_fail(path));
}

int main(int argc, char **argv) {
  static const char *const encodings[] = {"soap11", "soap12", NULL};
  static const char *const levels[] = {"none", "tls", "tls12", "wss-username", "wss-hmac", "wss-rsa", NULL};
  struct stack stack = {.version = "2.8.124", .runtime = "C, glibc", .encoding = "soap11", .transport = "http", .encodings = encodings, .security = levels,
                        .serve = server_start, .sync = wire_sync, .stop = stop, .dial = client_dial, .call = client_call, .hang_up = client_hang_up};
  const char *cgi = getenv("GATEWAY_INTERFACE") ? getenv("EDGEGAUGE_SERVE") : NULL;
  if (cgi) return cgi_main(&stack, cgi);
  program_take_line(getenv("EDGEGAUGE_LINE"));
  const char *line = program_first_line();
  struct json j;
  if (line && json_parse(&j, line)) {
    const char *security = json_text(&j, "security", "none");
    bool mine = false;
    for (const char *const *s = security_levels; *s; s++) mine = mine || !strcmp(*s, security);
    if (!mine) become(argv, security);
    json_free(&j);
  }
  return program_main(argc, argv, &stack);
}
