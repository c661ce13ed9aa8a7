// A serial or program sensor speaks "T\n" -> "21.50\n". What is not such a line within the limit is a failure: the line is closed, and the next
// reading opens it anew and waits until it is silent, so that a late or endless answer is never taken for the next one. So it does whenever somebody
// spoke unasked.
#include "sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "message.h"

enum { LIMIT_MS = 2000, SILENCE_MS = 30 };

struct sensor {
  char kind[12], what[240];
  int64_t fixed;
  int fd; // of a line; -1: closed
  bool trusted; // that what was said unasked lies waiting, also while we had not opened it
  pid_t program;
  pthread_mutex_t one;
};

static int64_t now_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct sensor *sensor_open(const char *name, char *why, size_t size) {
  static const char *const kinds[] = {"fixed", "hwmon", "iio", "w1", "serial", "program"};
  const char *colon = strchr(name, ':');
  size_t n = colon ? (size_t)(colon - name) : 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strlen(kinds[i]) != n || strncmp(kinds[i], name, n)) continue;
    struct sensor *s = calloc(1, sizeof *s);
    strcpy(s->kind, kinds[i]);
    s->fd = -1;
    pthread_mutex_init(&s->one, NULL);
    if (snprintf(s->what, sizeof s->what, "%s", colon + 1) < (int)sizeof s->what && (i != 0 || decimal_parse(s->what, &s->fixed))) return s;
    free(s);
    snprintf(why, size, "sensor %s: not a temperature; write fixed:21.5", name);
    return NULL;
  }
  snprintf(why, size, "no sensor %s; there are fixed:CELSIUS, hwmon:PATH, iio:PATH, w1:ID, serial:DEVICE, program:COMMAND", name);
  return NULL;
}

// Reads a small file's text.
static bool text(const char *path, char *b, size_t size, char *why, size_t whySize) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, b, size - 1);
  if (n < 0) snprintf(why, whySize, "sensor %s: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  b[n < 0 ? 0 : n] = 0;
  return n >= 0;
}

static bool number(const char *path, double *v, char *why, size_t size) {
  char b[64], *end;
  if (!text(path, b, sizeof b, why, size)) return false;
  *v = strtod(b, &end);
  if (end != b && end[strspn(end, "\n ")] == 0) return true;
  snprintf(why, size, "sensor %s: not a number", path);
  return false;
}

// Linux, Documentation/ABI/testing/sysfs-bus-iio: milli-degrees are (raw + offset) * scale, or in_temp_input as it is.
static bool iio(const char *folder, double *milli, char *why, size_t size) {
  char path[300], ignored[64];
  double raw, scale = 1, offset = 0;
  snprintf(path, sizeof path, "%s/in_temp_input", folder);
  if (number(path, milli, ignored, sizeof ignored)) return true;
  snprintf(path, sizeof path, "%s/in_temp_raw", folder);
  if (!number(path, &raw, why, size)) return false;
  snprintf(path, sizeof path, "%s/in_temp_offset", folder);
  if (!number(path, &offset, ignored, sizeof ignored)) offset = 0;
  snprintf(path, sizeof path, "%s/in_temp_scale", folder);
  if (!number(path, &scale, why, size)) return false;
  *milli = (raw + offset) * scale;
  return true;
}

// Linux, Documentation/w1/slaves/w1_therm.rst: the first line ends in YES if the check sum is right, the second in t=MILLIDEGREES.
static bool w1(const char *id, double *milli, char *why, size_t size) {
  char path[300], b[200], *t;
  if (strchr(id, '/')) snprintf(path, sizeof path, "%s", id);
  else snprintf(path, sizeof path, "/sys/bus/w1/devices/%s/w1_slave", id);
  if (!text(path, b, sizeof b, why, size)) return false;
  if (strstr(b, "YES") && (t = strstr(b, "t="))) { *milli = strtod(t + 2, NULL); return true; }
  snprintf(why, size, "sensor %s: its check sum is wrong", path);
  return false;
}

static void line_close(struct sensor *s) {
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
  if (s->program > 0) {
    kill(s->program, SIGKILL);
    while (waitpid(s->program, NULL, 0) < 0 && errno == EINTR) {}
    s->program = 0;
  }
}

static bool serial(struct sensor *s) {
  struct termios t;
  s->fd = open(s->what, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (s->fd < 0) return false;
  if (tcgetattr(s->fd, &t)) return false;
  cfmakeraw(&t);
  cfsetspeed(&t, B9600);
  t.c_cflag |= CLOCAL | CREAD;
  t.c_cflag &= ~HUPCL; // closing must not reset the sensor's board
  return tcsetattr(s->fd, TCSANOW, &t) == 0;
}

static bool program(struct sensor *s) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return false;
  s->program = fork();
  if (s->program == 0) {
    dup2(pair[1], 0), dup2(pair[1], 1);
    execl("/bin/sh", "sh", "-c", s->what, (char *)NULL);
    _exit(127);
  }
  close(pair[1]);
  s->fd = pair[0];
  return s->program > 0 && fcntl(s->fd, F_SETFL, O_NONBLOCK) == 0;
}

static const char gone[] = "is gone";

// Waits until the line is silent.
static const char *silent(struct sensor *s, int64_t until) {
  char b[256];
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  while (poll(&p, 1, SILENCE_MS) > 0) {
    if (read(s->fd, b, sizeof b) <= 0) return gone;
    if (now_ms(CLOCK_MONOTONIC) > until) return "babbles";
  }
  return NULL;
}

// Takes the lock of the line against other processes, such as those of a CGI.
static bool hold(struct sensor *s, int64_t until) {
  while (flock(s->fd, LOCK_EX | LOCK_NB)) {
    if (errno != EWOULDBLOCK || now_ms(CLOCK_MONOTONIC) > until) return false;
    nanosleep(&(struct timespec){0, 200000}, NULL);
  }
  return true;
}

static const char *ask(struct sensor *s, int64_t until, int64_t *celsius) {
  char b[32];
  size_t n = 0;
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  if (write(s->fd, "T\n", 2) != 2) return gone;
  while (n < sizeof b - 1) {
    int64_t left = until - now_ms(CLOCK_MONOTONIC);
    int r = left > 0 ? poll(&p, 1, (int)left) : 0;
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) return n ? "did not end its answer within 2 s" : "was silent for 2 s";
    if (read(s->fd, b + n, 1) != 1) return gone;
    if (b[n++] != '\n') continue;
    b[n] = 0;
    // A temperature within what sensors read, not any number: half a line may look like one.
    return decimal_parse(b, celsius) && strchr(b, '.') && *celsius >= -27315 && *celsius <= 100000 ? NULL : "answered no temperature";
  }
  return "babbles";
}

static bool open_line(struct sensor *s) { return !strcmp(s->kind, "serial") ? serial(s) : program(s); }

// Says whether bytes wait that nobody asked for.
static bool unasked(struct sensor *s) {
  int waiting = 0;
  return ioctl(s->fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

static const char *try(struct sensor *s, int64_t until, int64_t *celsius) {
  bool opened = s->fd < 0;
  if (opened && !open_line(s)) return strerror(errno);
  if (!strcmp(s->kind, "serial") && !hold(s, until)) return "is held by another reader";
  const char *wrong = (opened && !s->trusted) || unasked(s) ? silent(s, until) : NULL;
  if (!wrong) wrong = ask(s, until, celsius);
  return wrong ? wrong : unasked(s) ? "babbles" : NULL; // so was what we took for the answer
}

static bool line(struct sensor *s, int64_t *celsius, char *why, size_t size) {
  int64_t until = now_ms(CLOCK_MONOTONIC) + LIMIT_MS;
  bool kept = s->fd >= 0;
  const char *wrong = try(s, until, celsius);
  if (kept && wrong == gone) { // unplugged since the last reading, and perhaps plugged in again
    line_close(s);
    wrong = try(s, until, celsius);
  }
  if (!wrong) {
    flock(s->fd, LOCK_UN);
    return true;
  }
  snprintf(why, size, "sensor %s %s", s->what, wrong);
  line_close(s); // and its lock
  s->trusted = false;
  return false;
}

bool sensor_keep_open(struct sensor *s) { return strcmp(s->kind, "serial") || s->fd >= 0 || serial(s); }

void sensor_trust(struct sensor *s) { s->trusted = true; }

void sensor_close(struct sensor *s) {
  pthread_mutex_lock(&s->one);
  line_close(s);
  pthread_mutex_unlock(&s->one);
}

// Linux, Documentation/hwmon/sysfs-interface: a file of millidegrees, or that of the folder.
static bool hwmon(const char *what, double *milli, char *why, size_t size) {
  char path[300];
  struct stat st;
  snprintf(path, sizeof path, stat(what, &st) == 0 && S_ISDIR(st.st_mode) ? "%s/temp1_input" : "%s", what);
  return number(path, milli, why, size);
}

static bool milli(struct sensor *s, int64_t *celsius, char *why, size_t size) {
  double v;
  bool ok = !strcmp(s->kind, "hwmon") ? hwmon(s->what, &v, why, size) : !strcmp(s->kind, "iio") ? iio(s->what, &v, why, size) : w1(s->what, &v, why, size);
  return ok && decimal_of_double(v / 1000, celsius);
}

bool sensor_read(struct sensor *s, int64_t *celsius, int64_t *at, char *why, size_t size) {
  bool ok = true;
  pthread_mutex_lock(&s->one);
  if (!strcmp(s->kind, "fixed")) *celsius = s->fixed;
  else if (!strcmp(s->kind, "serial") || !strcmp(s->kind, "program")) ok = line(s, celsius, why, size);
  else ok = milli(s, celsius, why, size);
  *at = now_ms(CLOCK_REALTIME);
  pthread_mutex_unlock(&s->one);
  return ok;
}
