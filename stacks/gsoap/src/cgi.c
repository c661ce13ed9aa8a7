// One request of a CGI: Apache has read its head, and will send the answer. Its record is appended to a file, which gsoap-apache reads.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "gsoap.h"
#include "record.h"

static int records = -1;

static void append(const struct exchange *x) {
  struct cgi_record r = {x->deserialization, x->processing, x->sensor, x->serialization, x->total, x->in, x->out};
  // One write of less than a page at O_APPEND: records of processes at the same time do not mix.
  if (write(records, &r, sizeof r) != sizeof r) fprintf(stderr, "a record is lost\n");
}

static int acceptable(struct soap *s) {
  const char *method = getenv("REQUEST_METHOD"), *type = getenv("CONTENT_TYPE");
  if (!method || strcmp(method, "POST")) return 405;
  if (!type || (strncasecmp(type, "text/xml", 8) && strncasecmp(type, "application/soap+xml", 20))) return 415;
  return wire_body(s, s->user);
}

int cgi_main(const struct stack *stack, const char *line) {
  static struct setup setup;
  static struct wire w;
  char why[300];
  const char *file = getenv("EDGEGAUGE_RECORDS");
  if (!program_setup(&setup, stack, line, "serve", why, sizeof why)) { fprintf(stderr, "%s\n", why); return 1; }
  setup.security = "none"; // Apache's business
  if (setup.sensor) sensor_trust(setup.sensor);
  // Held until the record is written: whoever takes the file's lock for himself finds the records of all answers given.
  if (!file || (records = open(file, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0 || flock(records, LOCK_SH)) { fprintf(stderr, "cannot append to %s\n", file ? file : "EDGEGAUGE_RECORDS"); return 1; }
  struct soap *s = wire_new(&setup, &w, false);
  if (!s) return 1;
  w.cgi = true;
  w.record = append;
  int wrong = acceptable(s);
  if (!wrong) { server_requests(s); return 0; }
  soap_begin(s);
  s->error = wrong;
  if (wrong < 200) soap_set_version(s, strcmp(setup.encoding, "soap12") ? 1 : 2);
  soap_send_fault(s);
  return 0;
}
