#include "program.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const struct stack *stack;

int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t cpu(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 + ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

// --- records: in memory while measuring, printed after it

// What is kept of an exchange. There are many, they count in the memory that is measured, and few of them failed.
struct kept {
  int64_t due, sent, done, connection, serialization, processing, sensor, deserialization, total, in, out;
  char *failure; // NULL: it did not
};

static struct kept keep(const struct exchange *x) {
  struct kept k = {x->due, x->sent, x->done, x->connection, x->serialization, x->processing, x->sensor, x->deserialization, x->total, x->in, x->out, NULL};
  if (*x->failure && !(k.failure = strdup(x->failure))) abort(); // a failure that looks like an answer would be a wrong figure
  return k;
}

static struct records { struct kept *x; size_t count, room; } records;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

void record_server(const struct exchange *x) {
  pthread_mutex_lock(&recording);
  if (records.count == records.room) {
    size_t room = records.room ? records.room * 2 : 4096;
    struct kept *more = realloc(records.x, room * sizeof *more);
    if (!more) { fprintf(stderr, "no memory for %zu records\n", room); abort(); } // a missing record would be a wrong figure
    records.x = more, records.room = room;
  }
  records.x[records.count++] = keep(x);
  pthread_mutex_unlock(&recording);
}

// Prints a record, and gives up what it has in memory of its own.
static void print(struct kept *x, size_t seq, int64_t start) {
  char failure[400];
  bool client = start != 0;
  printf("{\"type\":\"exchange\",\"seq\":%zu", seq);
  if (client) printf(",\"due\":%lld,\"sent\":%lld,\"done\":%lld", (long long)x->due, (long long)(x->sent ? x->sent - start : 0), (long long)(x->done ? x->done - start : 0));
  printf(",\"serialization\":%lld,\"deserialization\":%lld,\"total\":%lld,\"in\":%lld,\"out\":%lld", (long long)x->serialization,
         (long long)x->deserialization, (long long)x->total, (long long)x->in, (long long)x->out);
  if (!client) printf(",\"processing\":%lld", (long long)x->processing);
  if (x->connection) printf(",\"connection\":%lld", (long long)x->connection);
  if (x->sensor) printf(",\"sensor\":%lld", (long long)x->sensor);
  if (x->failure) json_quote(failure, sizeof failure, x->failure), printf(",\"failure\":%s", failure), free(x->failure);
  printf("}\n");
}

// --- lines

static char *line;
static bool unread; // the first line was read ahead

static bool next_line(void) {
  static size_t room;
  if (unread) { unread = false, room = 0; return true; }
  if (room == 0) line = NULL;
  return getline(&line, &room, stdin) > 0;
}

const char *program_first_line(void) {
  setvbuf(stdin, NULL, _IONBF, 0);
  if (!unread && !next_line()) return NULL;
  unread = true;
  return line;
}

void program_take_line(const char *taken) {
  if (!taken) return;
  line = strdup(taken);
  unread = true;
}

int program_fail(const char *message) {
  char quoted[1200];
  json_quote(quoted, sizeof quoted, message);
  printf("{\"type\":\"error\",\"message\":%s}\n", quoted);
  fflush(stdout);
  return 1;
}

static void ready(const char *url) {
  char u[300], v[100], r[200];
  json_quote(u, sizeof u, url), json_quote(v, sizeof v, stack->version), json_quote(r, sizeof r, stack->runtime);
  printf("{\"type\":\"ready\",\"url\":%s,\"version\":%s,\"runtime\":%s}\n", u, v, r);
  fflush(stdout);
}

static bool one_of(const char *const *list, const char *name) {
  for (; *list; list++)
    if (!strcmp(*list, name)) return true;
  return false;
}

static void refuse(char *why, size_t size, const char *what, const char *name, const char *const *has) {
  size_t n = (size_t)snprintf(why, size, "no %s %.60s; it has", what, name);
  for (; *has && n < size; has++) n += (size_t)snprintf(why + n, size - n, " %s", *has);
}

bool program_setup(struct setup *s, const struct stack *stack, const char *line, const char *type, char *why, size_t size) {
  const struct json *j = &s->line;
  if (!json_parse(&s->line, line)) { snprintf(why, size, "not a line of the protocol: %.60s", line); return false; }
  if (strcmp(json_text(j, "type", ""), type)) { snprintf(why, size, "no \"%s\" expected here, but \"%.40s\"", type, json_text(j, "type", "")); return false; }
  if (json_int(j, "protocol", 1) > 1) { snprintf(why, size, "the protocol is newer than mine (1); update the stack"); return false; }
  const char *service = json_text(j, "service", ""), *sensor = json_text(j, "sensor", NULL);
  s->service = service_of(service);
  s->encoding = json_text(j, "encoding", stack->encoding);
  s->security = json_text(j, "security", "none");
  s->transport = json_text(j, "transport", stack->transport);
  s->host = json_text(j, "host", "127.0.0.1");
  s->url = json_text(j, "url", "");
  s->directory = json_text(j, "directory", "");
  s->connection = json_text(j, "connection", "keep-alive");
  s->port = (int)json_int(j, "port", 0);
  s->limit = json_int(j, "limits.body", 16000000);
  s->timeout = json_int(j, "timeout", 30000000000);
  if (s->service == NO_SERVICE) { snprintf(why, size, "no service \"%.40s\"", service); return false; }
  if (!one_of(stack->encodings, s->encoding)) { refuse(why, size, "encoding", s->encoding, stack->encodings); return false; }
  if (!one_of(stack->security, s->security)) { refuse(why, size, "security", s->security, stack->security); return false; }
  const char *const transports[] = {stack->transport, NULL};
  if (*s->transport && !one_of(transports, s->transport)) { refuse(why, size, "transport", s->transport, transports); return false; }
  return !sensor || (s->sensor = sensor_open(sensor, why, size));
}

const char *setup_credential(const struct setup *s, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "credentials.%s", name);
  return json_text(&s->line, path, "");
}

const char *setup_option(const struct setup *s, const char *name, const char *otherwise) {
  char path[64];
  snprintf(path, sizeof path, "options.%s", name);
  return json_text(&s->line, path, otherwise);
}

const char *serve_temperature(struct setup *s, struct message *m, struct exchange *x, char *why, size_t size) {
  if (!s->sensor) return "there is no sensor; name one in serve's sensor";
  int64_t began = now();
  bool ok = sensor_read(s->sensor, &m->celsius, &m->time, why, size);
  x->sensor = now() - began;
  return ok ? NULL : why;
}

// --- serve

// leave ends the program beside threads that may still serve: they are not to meet what exit() has libraries free, as
// OpenSSL's locks, of which one that waited for them hung, and others crashed.
static _Noreturn void leave(int code) {
  fflush(stdout);
  _exit(code);
}

static int serve(void) {
  static struct setup s;
  char why[500] = "", url[300];
  if (!next_line()) return 0;
  if (!program_setup(&s, stack, line, "serve", why, sizeof why) || !stack->serve(&s, url, sizeof url, why, sizeof why)) return program_fail(why);
  ready(url);
  while (next_line()) {
    struct json j;
    if (!json_parse(&j, line) || strcmp(json_text(&j, "type", ""), "report")) { stack->stop(); leave(program_fail("no line but \"report\" expected here")); }
    if (stack->sync) stack->sync();
    pthread_mutex_lock(&recording);
    struct records got = records;
    memset(&records, 0, sizeof records);
    pthread_mutex_unlock(&recording);
    bool discard = !strcmp(json_text(&j, "discard", "false"), "true");
    for (size_t i = 0; i < got.count; i++)
      if (discard) free(got.x[i].failure);
      else print(&got.x[i], i + 1, 0);
    printf("{\"type\":\"end\",\"count\":%zu}\n", got.count);
    fflush(stdout);
    free(got.x);
    json_free(&j);
  }
  stack->stop();
  if (s.sensor) sensor_close(s.sensor);
  leave(0);
}

// --- call

// A run: requests and the instants they are due. Knows no clock.
static struct schedule {
  int64_t requests, duration, interval, taken, start;
  double rate, due;
  bool poisson, record;
  uint64_t seed;
  struct kept *x;     // of the recorded requests, in order of seq
  size_t room;
  int64_t failed;     // requests that are not recorded, and why the first of them did
  char first_failure[sizeof ((struct exchange *)0)->failure];
  pthread_mutex_t one;
} run = {.one = PTHREAD_MUTEX_INITIALIZER};

static double unit(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

// Gives the next request's number from 0 and its due instant; -1 at the end.
static int64_t take(int64_t *due) {
  pthread_mutex_lock(&run.one);
  int64_t since = now() - run.start, mine = run.taken;
  if (run.rate == 0) *due = run.interval ? mine * run.interval : since;
  else if (!run.poisson) *due = llround((double)mine * 1e9 / run.rate);
  else *due = llround(run.due += -log1p(-unit(&run.seed)) * 1e9 / run.rate);
  bool over = mine >= run.requests || *due >= run.duration || (run.interval && since >= run.duration);
  if (!over && run.record && (size_t)mine == run.room) {
    size_t room = run.room ? run.room * 2 : 4096;
    struct kept *more = realloc(run.x, room * sizeof *more);
    if (!more) abort();
    run.x = more, run.room = room;
  }
  if (!over) run.taken++;
  pthread_mutex_unlock(&run.one);
  return over ? -1 : mine;
}

static struct { struct setup s; struct message request, expected; bool begun; int64_t first; } calling;

static void *work(void *connection) {
  struct exchange x;
  struct message answer;
  int64_t due, seq;
  while ((seq = take(&due)) >= 0) {
    for (int64_t left; (left = run.start + due - now()) > 0;) nanosleep(&(struct timespec){left / 1000000000, left % 1000000000}, NULL);
    memset(&x, 0, sizeof x);
    memset(&answer, 0, sizeof answer);
    stack->call(connection, &calling.request, &answer, &x);
    x.total = now() - x.begun - x.closed; // before the check, which is the lab's and no client's
    if (!*x.failure) {
      const char *wrong = message_check(calling.s.service, &calling.expected, &answer);
      if (wrong) snprintf(x.failure, sizeof x.failure, "%s", wrong);
    }
    x.due = due;
    pthread_mutex_lock(&run.one);
    if (!calling.begun && seq == 0 && !*x.failure) calling.first = x.total;
    if (run.record) run.x[seq] = keep(&x);
    else if (*x.failure && run.failed++ == 0) memcpy(run.first_failure, x.failure, sizeof x.failure);
    pthread_mutex_unlock(&run.one);
  }
  return NULL;
}

static bool run_read(const struct json *j, char *why, size_t size) {
  const char *arrival = json_text(j, "arrival", "constant");
  run.requests = json_int(j, "requests", INT64_MAX);
  run.duration = json_int(j, "duration", INT64_MAX);
  run.interval = json_int(j, "interval", 0);
  run.rate = json_real(j, "rate");
  run.poisson = run.rate > 0 && !strcmp(arrival, "poisson");
  run.seed = json_bits(j, "seed");
  run.record = !strcmp(json_text(j, "record", "false"), "true");
  run.taken = 0, run.due = 0, run.failed = 0;
  if (run.requests == INT64_MAX && run.duration == INT64_MAX) snprintf(why, size, "run has no end; give requests or duration");
  else if (run.rate < 0 || run.interval < 0 || (run.rate > 0 && run.interval)) snprintf(why, size, "run has both rate and interval, or a negative one; give one");
  else if (!run.poisson && strcmp(arrival, "constant")) snprintf(why, size, "no arrival \"%.40s\"; it has constant, poisson", arrival);
  else return true;
  return false;
}

static void **connections;
static int opened;

static bool open_up(int many, char *why, size_t size) {
  void **more = realloc(connections, (size_t)many * sizeof *more);
  if (more) connections = more;
  for (; more && opened < many; opened++)
    if (!(connections[opened] = stack->dial(&calling.s, why, size))) return false;
  return more != NULL;
}

static bool go(const struct json *j, char *why, size_t size) {
  int many = (int)json_int(j, "concurrency", 1);
  if (many < 1 || many > 10000) { snprintf(why, size, "concurrency %d is not from 1 to 10000", many); return false; }
  if (!run_read(j, why, size) || !open_up(many, why, size)) return false;
  pthread_t *threads = calloc((size_t)many, sizeof *threads);
  int64_t spent = cpu();
  run.start = now();
  for (int i = 1; i < many; i++)
    if (pthread_create(&threads[i], NULL, work, connections[i])) { snprintf(why, size, "cannot start %d threads", many); return false; }
  work(connections[0]);
  for (int i = 1; i < many; i++) pthread_join(threads[i], NULL);
  spent = cpu() - spent;
  free(threads);
  for (int64_t i = 0; run.record && i < run.taken; i++) print(&run.x[i], (size_t)i + 1, run.start);
  printf("{\"type\":\"end\",\"count\":%lld,\"cpu\":%lld", (long long)run.taken, (long long)spent);
  if (calling.first) printf(",\"phases\":{\"first_invoke\":%lld}", (long long)calling.first);
  calling.begun = true, calling.first = 0; // each phase is told once
  if (run.failed) {
    char quoted[400];
    json_quote(quoted, sizeof quoted, run.first_failure);
    printf(",\"failed\":%lld,\"first_failure\":%s", (long long)run.failed, quoted);
  }
  printf("}\n");
  fflush(stdout);
  return true;
}

static int call(void) {
  struct setup *s = &calling.s;
  char why[500] = "";
  if (!next_line()) return 0;
  if (!program_setup(s, stack, line, "call", why, sizeof why)) return program_fail(why);
  message_make(s->service, json_bits(&s->line, "message.seed"), (size_t)json_int(&s->line, "message.n", 0), (int)json_int(&s->line, "message.letters", 0),
               json_bits(&s->line, "message.max"), &calling.request);
  message_expected(s->service, &calling.request, &calling.expected);
  if (!open_up(1, why, sizeof why)) return program_fail(why);
  ready(s->url);
  while (next_line()) {
    struct json j;
    if (!json_parse(&j, line) || strcmp(json_text(&j, "type", ""), "run")) return program_fail("no line but \"run\" expected here");
    if (!go(&j, why, sizeof why)) return program_fail(why);
    json_free(&j);
  }
  while (opened > 0) stack->hang_up(connections[--opened]);
  return 0;
}

int program_main(int argc, char **argv, const struct stack *s) {
  stack = s;
  signal(SIGPIPE, SIG_IGN);
  if (argc == 2 && !strcmp(argv[1], "serve")) return serve();
  if (argc == 2 && !strcmp(argv[1], "call")) return call();
  return program_fail("called with something else than serve or call");
}
