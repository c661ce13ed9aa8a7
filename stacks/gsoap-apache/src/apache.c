#include "apache.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char program[] = "/usr/sbin/apache2", modules[] = "/usr/lib/apache2/modules";

static bool failed(char *why, size_t size, const char *what) {
  snprintf(why, size, "%s: %s", what, strerror(errno));
  return false;
}

// --- address

static int address(const char *host, int port, struct sockaddr_storage *to, socklen_t *n) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
  char service[8];
  snprintf(service, sizeof service, "%d", port);
  if (getaddrinfo(host, service, &hints, &found)) return -1;
  memcpy(to, found->ai_addr, found->ai_addrlen);
  *n = found->ai_addrlen;
  freeaddrinfo(found);
  return to->ss_family;
}

// A port that is free now: Apache cannot be asked for any free one.
static int free_port(const char *host) {
  struct sockaddr_storage a;
  socklen_t n;
  int family = address(host, 0, &a, &n), fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;
  if (fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0)
    port = ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port : ((struct sockaddr_in *)&a)->sin_port);
  if (fd >= 0) close(fd);
  return port;
}

static bool listens(const char *host, int port) {
  struct sockaddr_storage a;
  socklen_t n;
  int family = address(host, port, &a, &n), fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&a, n) == 0;
  if (fd >= 0) close(fd);
  return ok;
}

// --- folder

static bool copy(const char *from, const char *to) {
  char b[65536];
  ssize_t n = -1;
  int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (in >= 0 && out >= 0)
    while ((n = read(in, b, sizeof b)) > 0 && write(out, b, (size_t)n) == n) {}
  if (in >= 0) close(in);
  if (out >= 0 && (fchmod(out, 0755) || close(out))) n = -1;
  return n == 0;
}

// Workers that are www-data must be able to reach the folder; the lab's own directory is private, so it is opened for passing through.
static bool reachable(const struct apache *a, const struct passwd *worker) {
  pid_t p = fork();
  if (p == 0) _exit(setgid(worker->pw_gid) || setuid(worker->pw_uid) || access(a->root, X_OK));
  int status;
  return p > 0 && waitpid(p, &status, 0) == p && status == 0;
}

static bool folder(struct apache *a, const struct setup *s, const struct passwd *worker, char *why, size_t size) {
  char path[300], cgi[4200];
  ssize_t n = readlink("/proc/self/exe", cgi, 4096);
  const char *below = *s->directory ? s->directory : "/tmp";
  // A socket's name has 107 characters: Apache puts /run/cgid, a full stop and its process's number behind the folder's.
  if (n < 0 || snprintf(a->root, sizeof a->root, "%s/apache-XXXXXX", below) > 90) { snprintf(why, size, "the directory's name is too long for Apache's socket: %s", below); return false; }
  cgi[n] = 0;
  strcpy(strrchr(cgi, '/'), "/gsoap");
  if (!mkdtemp(a->root)) return failed(why, size, a->root);
  if (chmod(a->root, 0755)) return failed(why, size, a->root);
  static const char *const parts[] = {"run", "logs", "htdocs", "io"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    snprintf(path, sizeof path, "%s/%s", a->root, parts[i]);
    if (mkdir(path, 0755) || (worker && i == 3 && chown(path, worker->pw_uid, worker->pw_gid))) return failed(why, size, path);
  }
  snprintf(path, sizeof path, "%s/gsoap", a->root);
  if (!copy(cgi, path)) return failed(why, size, path);
  snprintf(a->records, sizeof a->records, "%s/records", a->root);
  int fd = open(a->records, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || (worker && fchown(fd, worker->pw_uid, worker->pw_gid)) || close(fd)) return failed(why, size, a->records);
  struct stat st;
  if (worker && *s->directory && !stat(s->directory, &st)) chmod(s->directory, st.st_mode | 0011);
  if (!worker || reachable(a, worker)) return true;
  snprintf(why, size, "user %s cannot reach %s; run as an ordinary user, or set TMPDIR to a folder that all may enter", worker->pw_name, a->root);
  return false;
}

// --- configuration

// Writes a value of Apache's configuration, in quotes.
static void quoted(FILE *f, const char *text) {
  fputc('"', f);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', f);
    fputc(*text, f);
  }
  fputc('"', f);
}

static void serve_line(const struct apache *a, const struct setup *s, char *to, size_t size) {
  char sensor[400], directory[400], io[300];
  snprintf(io, sizeof io, "%s/io", a->root);
  json_quote(directory, sizeof directory, io);
  json_quote(sensor, sizeof sensor, json_text(&s->line, "sensor", ""));
  snprintf(to, size, "{\"type\":\"serve\",\"service\":\"%s\",\"encoding\":\"%s\",\"limits\":{\"body\":%lld},\"directory\":%s,\"sensor\":%s}", service_name(s->service),
           s->encoding, (long long)s->limit, directory, sensor);
}

static bool configure(const struct apache *a, const struct setup *s, const struct passwd *worker, char *why, size_t size) {
  char path[300], line[1200];
  const char *mpm = setup_option(s, "mpm", "prefork");
  bool event = !strcmp(mpm, "event"), tls = !strncmp(s->security, "tls", 3), six = strchr(s->host, ':') != NULL;
  if (!event && strcmp(mpm, "prefork")) { snprintf(why, size, "no mpm %.40s; there are prefork (mod_cgi) and event (mod_cgid)", mpm); return false; }
  snprintf(path, sizeof path, "%s/httpd.conf", a->root);
  FILE *f = fopen(path, "we");
  if (!f) return failed(why, size, path);
  fprintf(f, "ServerRoot %s\nPidFile run/httpd.pid\nDefaultRuntimeDir run\nMutex file:%s/run default\n", a->root, a->root);
  fprintf(f, "LoadModule mpm_%s_module %s/mod_mpm_%s.so\nLoadModule %s_module %s/mod_%s.so\n", mpm, modules, mpm, event ? "cgid" : "cgi", modules, event ? "cgid" : "cgi");
  static const char *const always[] = {"authz_core", "alias", "env"};
  for (size_t i = 0; i < 3; i++) fprintf(f, "LoadModule %s_module %s/mod_%s.so\n", always[i], modules, always[i]);
  if (event) fprintf(f, "ScriptSock %s/run/cgid\n", a->root);
  if (worker) fprintf(f, "User %s\nGroup #%d\n", worker->pw_name, (int)worker->pw_gid);
  fprintf(f, "Listen %s%s%s:%d\nServerName localhost\nErrorLog /dev/stderr\nDocumentRoot %s/htdocs\n", six ? "[" : "", s->host, six ? "]" : "", a->port, a->root);
  fprintf(f, "KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout 86400\nTimeout 60\n");
  fprintf(f, "ScriptAlias /%s %s/gsoap\n<Directory %s>\nRequire all granted\n</Directory>\nSetEnv EDGEGAUGE_RECORDS %s\nSetEnv EDGEGAUGE_SERVE ", service_name(s->service), a->root, a->root, a->records);
  serve_line(a, s, line, sizeof line);
  quoted(f, line);
  fputc('\n', f);
  if (tls) {
    fprintf(f, "LoadModule socache_shmcb_module %s/mod_socache_shmcb.so\nLoadModule ssl_module %s/mod_ssl.so\nSSLEngine on\nSSLProtocol -all +TLSv1.%d\n", modules,
            modules, strcmp(s->security, "tls12") ? 3 : 2);
    // One group and one suite, as all stacks have (doc/method.md), and no session is resumed. Subtle: of TLS 1.2 the groups say also which certificates fit.
    bool old = !strcmp(s->security, "tls12");
    fprintf(f, "SSLOpenSSLConfCmd Groups %s\nSSLOpenSSLConfCmd NumTickets 0\nSSLSessionTickets off\nSSLSessionCache none\n", old ? "X25519:P-256" : "X25519");
    fputs(old ? "SSLCipherSuite ECDHE-ECDSA-AES128-GCM-SHA256\n" : "SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256\n", f);
    fputs("SSLCertificateFile ", f), quoted(f, setup_credential(s, "cert")), fputs("\nSSLCertificateKeyFile ", f), quoted(f, setup_credential(s, "key")), fputc('\n', f);
  }
  return fclose(f) == 0 || failed(why, size, path);
}

// --- process

// watch_over runs Apache until it ends, or until this program's parent ends or asks for the end, and leaves no process of it.
// Apache cannot be left to do this: a signal before its start is complete ends its first process only, and mod_cgid's stays.
static _Noreturn void watch_over(const struct apache *a, pid_t parent) {
  sigset_t both, before;
  sigemptyset(&both), sigaddset(&both, SIGTERM), sigaddset(&both, SIGCHLD);
  sigprocmask(SIG_BLOCK, &both, &before);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  int null = open("/dev/null", O_RDWR);
  dup2(null, 0), dup2(null, 1); // standard output is the protocol's
  pid_t apache = fork();
  if (apache == 0) {
    setsid(); // Apache ends itself by a signal to its process group
    dup2(2, 1);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    char conf[300];
    snprintf(conf, sizeof conf, "%s/httpd.conf", a->root);
    execl(program, program, "-d", a->root, "-f", conf, "-DFOREGROUND", (char *)NULL);
    _exit(127);
  }
  bool ended = apache < 0;
  for (int got = 0; !ended && got != SIGTERM;) {
    sigwait(&both, &got);
    ended = got == SIGCHLD && waitpid(apache, NULL, WNOHANG) == apache;
  }
  if (!ended) kill(apache, SIGTERM);
  for (int64_t until = now() + 2000000000; !ended && now() < until; nanosleep(&(struct timespec){0, 2000000}, NULL))
    ended = waitpid(apache, NULL, WNOHANG) == apache;
  if (apache > 0) kill(-apache, SIGKILL);
  if (!ended) kill(apache, SIGKILL);
  _exit(0);
}

static bool launch(struct apache *a) {
  pid_t parent = getpid();
  if ((a->pid = fork()) == 0) watch_over(a, parent);
  return a->pid > 0;
}

static bool up(struct apache *a, const char *host) {
  for (int64_t until = now() + 10000000000; now() < until; nanosleep(&(struct timespec){0, 5000000}, NULL)) {
    if (waitpid(a->pid, NULL, WNOHANG) == a->pid) { a->pid = 0; return false; }
    if (listens(host, a->port)) return true;
  }
  return false;
}

bool apache_start(struct apache *a, const struct setup *s, char *why, size_t size) {
  const struct passwd *worker = NULL;
  if (geteuid() == 0 && !(worker = getpwnam("www-data"))) { snprintf(why, size, "no user www-data for Apache's workers; run as an ordinary user"); return false; }
  if (!folder(a, s, worker, why, size)) return false;
  for (int try = 0; try < 5; try++) { // another may take the port between
    a->port = s->port ? s->port : free_port(s->host);
    if (!configure(a, s, worker, why, size)) return false;
    if (launch(a) && up(a, s->host)) return true;
    if (s->port) break;
  }
  snprintf(why, size, "Apache does not listen on %s port %d; see the log", s->host, a->port);
  return false;
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
  (void)st, (void)flag, (void)ftw;
  return remove(path);
}

void apache_stop(struct apache *a) {
  if (a->pid > 0) {
    kill(a->pid, SIGTERM);
    while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR) {} // killed, it would leave Apache's processes behind
  }
  a->pid = 0;
  if (*a->root) nftw(a->root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

const char *apache_version(void) {
  static char version[100] = "2.8.124";
  char line[200] = "", command[100];
  snprintf(command, sizeof command, "%s -v", program);
  FILE *f = popen(command, "re");
  if (f && fgets(line, sizeof line, f)) {
    char *slash = strchr(line, '/');
    if (slash) snprintf(version, sizeof version, "2.8.124, Apache %.*s", (int)strcspn(slash + 1, " \n"), slash + 1);
  }
  if (f) pclose(f);
  return version;
}
