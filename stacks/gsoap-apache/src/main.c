// gsoap-apache serve: the adapter protocol over a private Apache whose CGI is gSOAP. It has no client.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "apache.h"
#include "record.h"

static struct apache apache;
static int records = -1;

static bool serve(struct setup *s, char *url, size_t size, char *why, size_t whySize) {
  if (s->sensor) sensor_keep_open(s->sensor); // an absent one is the CGI's to tell, at each reading
  if (!apache_start(&apache, s, why, whySize)) { apache_stop(&apache); return false; }
  if ((records = open(apache.records, O_RDONLY | O_CLOEXEC)) < 0) { snprintf(why, whySize, "cannot read %s", apache.records); apache_stop(&apache); return false; }
  bool six = strchr(s->host, ':') != NULL;
  snprintf(url, size, "%s://%s%s%s:%d/%s", strncmp(s->security, "tls", 3) ? "http" : "https", six ? "[" : "", s->host, six ? "]" : "", apache.port, service_name(s->service));
  return true;
}

// Takes what the CGI processes have appended. Each holds the file's lock until its record is written: with the lock to ourselves we have them all.
static void take(void) {
  struct cgi_record r;
  for (int64_t until = now() + 2000000000; flock(records, LOCK_EX | LOCK_NB) && now() < until;) nanosleep(&(struct timespec){0, 200000}, NULL);
  while (read(records, &r, sizeof r) == sizeof r) {
    struct exchange x = {.deserialization = r.deserialization, .processing = r.processing, .sensor = r.sensor, .serialization = r.serialization,
                         .total = r.total, .in = r.in, .out = r.out};
    record_server(&x);
  }
  flock(records, LOCK_UN);
}

static void stop(void) { apache_stop(&apache); }

static void *no_client(const struct setup *s, char *why, size_t size) {
  (void)s;
  snprintf(why, size, "gsoap-apache has no client; take gsoap's");
  return NULL;
}

int main(int argc, char **argv) {
  static const char *const encodings[] = {"soap11", "soap12", NULL}, *const security[] = {"none", "tls", "tls12", NULL};
  struct stack stack = {.version = apache_version(), .runtime = "C, glibc", .encoding = "soap11", .transport = "http", .encodings = encodings, .security = security,
                        .serve = serve, .sync = take, .stop = stop, .dial = no_client};
  return program_main(argc, argv, &stack);
}
