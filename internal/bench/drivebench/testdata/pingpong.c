/* The floor in C: one request and one answer of n bytes at a time, blocking.
 *   pingpong serve tcp|udp n             prints its port, serves until stdin ends
 *   pingpong call  tcp|udp n port count  prints the median round trip in ns
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static char buf[65536];

static void die(const char *what) { perror(what); exit(1); }

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *watch(void *unused) { /* the parent is gone: so are we */
  (void)unused;
  while (read(0, buf + sizeof buf - 1, 1) > 0) ;
  _exit(0);
}

static void serve(int fd, int stream, size_t n) {
  struct sockaddr_in from;
  for (;;) {
    int c = stream ? accept(fd, NULL, NULL) : fd, one = 1;
    if (c < 0) die("accept");
    if (stream) setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (;;) {
      socklen_t size = sizeof from;
      if (!stream) {
        ssize_t r = recvfrom(fd, buf, n, 0, (struct sockaddr *)&from, &size);
        if (r < 0) die("recvfrom");
        sendto(fd, buf, r, 0, (struct sockaddr *)&from, size);
        continue;
      }
      size_t got = 0;
      ssize_t r = 0;
      while (got < n && (r = read(c, buf + got, n - got)) > 0) got += r;
      if (r <= 0 || write(c, buf, n) != (ssize_t)n) break;
    }
    close(c);
  }
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void call(int fd, int stream, size_t n, struct sockaddr_in *to, int count) {
  int64_t *took = malloc(sizeof *took * count);
  int one = 1;
  memset(took, 0, sizeof *took * count);
  if (connect(fd, (struct sockaddr *)to, sizeof *to) < 0) die("connect");
  if (stream) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  for (int i = 0; i < count; i++) {
    int64_t sent = now();
    if (write(fd, buf, n) != (ssize_t)n) die("write");
    for (size_t got = 0; got < n;) {
      ssize_t r = read(fd, buf, n - got);
      if (r <= 0) die("read");
      got += r;
    }
    took[i] = now() - sent;
  }
  qsort(took, count, sizeof *took, ascending);
  printf("%lld\n", (long long)took[count / 2]);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  int stream = !strcmp(argv[2], "tcp");
  size_t n = atoi(argv[3]);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, stream ? SOCK_STREAM : SOCK_DGRAM, 0);
  if (fd < 0) die("socket");
  if (!strcmp(argv[1], "call") && argc > 5) {
    at.sin_port = htons(atoi(argv[4]));
    call(fd, stream, n, &at, atoi(argv[5]));
    return 0;
  }
  socklen_t size = sizeof at;
  pthread_t t;
  if (bind(fd, (struct sockaddr *)&at, size) < 0 || (stream && listen(fd, 8) < 0)) die("bind");
  getsockname(fd, (struct sockaddr *)&at, &size);
  printf("%d\n", ntohs(at.sin_port));
  fflush(stdout);
  pthread_create(&t, NULL, watch, NULL);
  serve(fd, stream, n);
}
