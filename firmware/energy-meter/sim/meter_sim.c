/* meter_sim runs the energy meter's firmware in simavr and feeds it a script.
 *
 *   meter_sim [-pty] [-shared FILE] [-noise MV] [-seed N] [-eeprom FILE] [-times FILE] meter.elf < script
 *
 * The script has one line per event, ordered by time, in seconds since power-up:
 *
 *   0 v 2500      millivolts on ADC0 (voltage); i for ADC1 (current)
 *   1.5 m 1       level of the marker pin
 *   2 rx a55001…  bytes sent to the meter, in hex, 40 us apart
 *   3 reset       the reset button
 *   4 hold        with -shared: what follows is so much later as it takes until it is let go on
 *   600 end
 *
 * Virtual time (the default): bytes that the meter sends go to stdout as fast as
 * possible, identical in every run; -times writes for each the ns at which its last bit was sent,
 * as a 64-bit number. With -pty they go to a pseudo terminal in real time, the first line on
 * stdout being "pty PATH T0", T0 the CLOCK_MONOTONIC ns of power-up; closing stdin does not
 * end it, the script's end does.
 *
 * -shared FILE, of a page that a test maps too, for tests on a busy machine: the meter's time is then real time less
 * the time for which this program did not run, or nobody read what the meter sent. The file has four 64-bit numbers:
 * the ns since power-up; how many holds the test has let go; the ns at which the last of them ended; bytes sent.
 *
 * simavr is GPL-3, and so is this program once linked with it. It is a test tool: no part of
 * it is in edgegauge.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>

#include <avr_adc.h>
#include <avr_eeprom.h>
#include <avr_ioport.h>
#include <avr_uart.h>
#include <sim_avr.h>
#include <sim_elf.h>

#define HZ 16000000.0
#define BYTE 640 /* cycles of a byte at 250000 Bd */

struct event { avr_cycle_count_t at; char what; int value; };

static avr_t *avr;
static elf_firmware_t firmware;
static struct event *events;
static size_t n_events, next_event;
static int volts, amps, noise, ended;
static uint64_t rng = 1;
static FILE *times, *out;
static int pty = -1;
static uint8_t pending[4096];
static size_t n_pending;
static unsigned long dropped;
static volatile uint64_t *shared;
static uint64_t releases;
static int held;

static void die(const char *what) {
  fprintf(stderr, "meter_sim: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* jitter is triangular, whole millivolts: real supplies dither a converter, ideal ones do not. */
static int jitter(void) {
  if (!noise) return 0;
  int sum = 0;
  for (int k = 0; k < 2; k++) {
    rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
    sum += (int)((rng >> 33) % (unsigned)(noise + 1));
  }
  return sum - noise;
}

static avr_irq_t *irq(uint32_t ioctl, int index) { return avr_io_getirq(avr, ioctl, index); }

static void convert(avr_irq_t *i, uint32_t value, void *param) {
  (void)i, (void)value, (void)param;
  int v = volts + jitter(), a = amps + jitter();
  avr_raise_irq(irq(AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC0), v < 0 ? 0 : v);
  avr_raise_irq(irq(AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC1), a < 0 ? 0 : a);
}

static void sent(avr_irq_t *i, uint32_t value, void *param) {
  (void)i, (void)param;
  if (shared) shared[3]++;
  if (pty >= 0) {
    if (n_pending < sizeof pending) pending[n_pending++] = value;
    else dropped++;
    return;
  }
  putc((int)value, out);
  if (times) {
    uint64_t ns = (uint64_t)((avr->cycle + BYTE) / HZ * 1e9);
    fwrite(&ns, sizeof ns, 1, times);
  }
}

static avr_cycle_count_t play(avr_t *a, avr_cycle_count_t when, void *param) {
  (void)when, (void)param;
  while (!held && next_event < n_events && events[next_event].at <= a->cycle) {
    struct event *e = &events[next_event++];
    switch (e->what) {
    case 'v': volts = e->value; break;
    case 'i': amps = e->value; break;
    case 'm': avr_raise_irq(irq(AVR_IOCTL_IOPORT_GETIRQ('B'), 0), (uint32_t)e->value); break;
    case 'x': avr_raise_irq(irq(AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), (uint32_t)e->value); break;
    case 'r': ended = 2; break; /* not from inside a timer: reset removes them all */
    case 'h': held = shared != NULL; break;
    default: ended = 1; break;
    }
  }
  return next_event < n_events && !ended && !held ? events[next_event].at : 0;
}

static void schedule(void) {
  if (next_event >= n_events) return;
  avr_cycle_count_t at = events[next_event].at;
  avr_cycle_timer_register(avr, at > avr->cycle ? at - avr->cycle : 1, play, NULL);
}

/* go_on ends a hold that the test has let go. */
static void go_on(void) {
  if (!held || shared[1] == releases) return;
  releases++, held = 0;
  avr_cycle_count_t later = avr->cycle - events[next_event - 1].at;
  for (size_t k = next_event; k < n_events; k++) events[k].at += later;
  shared[2] = (uint64_t)(avr->cycle * 62.5);
  schedule();
}

static void add(avr_cycle_count_t at, char what, int value) {
  if (n_events % 4096 == 0 && !(events = realloc(events, (n_events + 4096) * sizeof *events))) die("events");
  events[n_events++] = (struct event){at, what, value};
}

static int earlier(const void *a, const void *b) {
  const struct event *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

static void read_script(void) {
  static char line[65536], arg[65000], what[16];
  double t;
  for (int n = 1; fgets(line, sizeof line, stdin); n++) {
    arg[0] = 0;
    if (sscanf(line, "%lf %15s %64999s", &t, what, arg) < 2) {
      fprintf(stderr, "meter_sim: line %d: want \"SECONDS EVENT VALUE\"\n", n);
      exit(2);
    }
    avr_cycle_count_t at = (avr_cycle_count_t)(t * HZ + 0.5) + 1;
    if (strcmp(what, "rx")) add(at, what[0], atoi(arg));
    else
      for (unsigned k = 0, b; sscanf(arg + 2 * k, "%2x", &b) == 1; k++) add(at + k * BYTE, 'x', (int)b);
  }
  /* stable by construction except for overlapping rx, which no host sends */
  for (size_t k = 1; k < n_events; k++)
    if (events[k].at < events[k - 1].at) {
      qsort(events, n_events, sizeof *events, earlier);
      break;
    }
}

static void nosleep(avr_t *a, avr_cycle_count_t n) { (void)a, (void)n; }

static void setup(const char *elf) {
  if (elf_read_firmware(elf, &firmware)) {
    fprintf(stderr, "meter_sim: %s: no firmware\n", elf);
    exit(1);
  }
  if (!(avr = avr_make_mcu_by_name("atmega328p"))) die("atmega328p");
  avr_init(avr);
  avr->log = LOG_ERROR;
  avr_load_firmware(avr, &firmware);
  avr->frequency = (uint32_t)HZ;
  avr->vcc = avr->avcc = avr->aref = 5000;
  avr->sleep = nosleep;
  uint32_t fl = 0;
  avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &fl);
  fl &= ~(uint32_t)(AVR_UART_FLAG_POLL_SLEEP | AVR_UART_FLAG_STDIO);
  avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &fl);
  avr_irq_register_notify(irq(AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_OUT_TRIGGER), convert, NULL);
  avr_irq_register_notify(irq(AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), sent, NULL);
  avr_raise_irq(irq(AVR_IOCTL_IOPORT_GETIRQ('B'), 0), 0);
}

static void eeprom(const char *file, int save) {
  uint8_t bytes[1024];
  avr_eeprom_desc_t d = {.ee = bytes, .offset = 0, .size = sizeof bytes};
  FILE *f = fopen(file, save ? "wb" : "rb");
  if (!f && !save) return; /* a new meter */
  if (!f) die(file);
  if (save) {
    /* Subtle: with ee NULL simavr hands out its own memory; with a buffer it may copy nothing. */
    d.ee = NULL;
    avr_ioctl(avr, AVR_IOCTL_EEPROM_GET, &d);
    if (!d.ee || fwrite(d.ee, 1, sizeof bytes, f) != sizeof bytes) die(file);
  } else if (fread(bytes, 1, sizeof bytes, f) == sizeof bytes) {
    avr_ioctl(avr, AVR_IOCTL_EEPROM_SET, &d);
  }
  fclose(f);
}

/* step runs until the cycle or the end of the script, and performs a reset if asked to. */
static void run_to(avr_cycle_count_t cycle) {
  while (avr->cycle < cycle && ended != 1) {
    int state = avr_run(avr);
    if (state == cpu_Done || state == cpu_Crashed) {
      fprintf(stderr, "meter_sim: the firmware crashed at cycle %llu\n", (unsigned long long)avr->cycle);
      exit(3);
    }
    if (ended != 2) continue;
    ended = 0;
    avr_cycle_count_t c = avr->cycle;
    avr_reset(avr);
    avr->cycle = c;
    schedule();
  }
}

static void share(const char *file) {
  int fd = open(file, O_RDWR);
  void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) die(file);
  shared = page;
}

static int64_t monotonic(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void open_pty(void) {
  struct termios raw;
  pty = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (pty < 0 || grantpt(pty) || unlockpt(pty)) die("pty");
  int slave = open(ptsname(pty), O_RDWR | O_NOCTTY); /* kept open: no EIO while nobody listens */
  if (slave < 0 || tcgetattr(slave, &raw)) die(ptsname(pty));
  cfmakeraw(&raw);
  tcsetattr(slave, TCSANOW, &raw);
}

/* exchange moves bytes between the pty and the UART. Unread bytes are dropped, as on a
 * serial line. */
static void exchange(void) {
  static uint8_t in[512];
  static ssize_t have, used;
  static avr_cycle_count_t next;
  if (used == have) {
    used = 0;
    have = read(pty, in, sizeof in);
    if (have < 0) have = 0;
  }
  while (used < have && next <= avr->cycle) {
    avr_raise_irq(irq(AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), in[used++]);
    next = avr->cycle + BYTE;
  }
  if (!n_pending) return;
  ssize_t n = write(pty, pending, n_pending);
  if (n <= 0 && (shared || n_pending < sizeof pending / 2)) return;
  if (n <= 0) n = (ssize_t)n_pending, dropped += n_pending;
  memmove(pending, pending + n, n_pending - (size_t)n);
  n_pending -= (size_t)n;
}

static void real_time(void) {
  open_pty();
  int64_t t0 = monotonic();
  fprintf(out, "pty %s %lld\n", ptsname(pty), (long long)t0);
  fflush(out);
  for (avr_cycle_count_t c = BYTE; ended != 1; c += BYTE) {
    while (shared && n_pending >= sizeof pending / 2) usleep(1000), exchange();
    run_to(c);
    exchange();
    int64_t due = t0 + (int64_t)(avr->cycle * 62.5), early = due - monotonic();
    if (shared) {
      shared[0] = (uint64_t)(avr->cycle * 62.5);
      go_on();
      if (early < -1000000) t0 -= early; /* it is not made up for */
    }
    if (early < 200000) continue; /* sleeps of 200 us or more: finer ones cost a core */
    struct timespec ts = {due / 1000000000, due % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
  }
  if (dropped) fprintf(stderr, "meter_sim: %lu bytes found no reader\n", dropped);
}

int main(int argc, char **argv) {
  const char *ee = NULL, *elf = NULL;
  int real = 0;
  for (int k = 1; k < argc; k++) {
    const char *arg = k + 1 < argc ? argv[k + 1] : "";
    if (!strcmp(argv[k], "-pty")) real = 1;
    else if (!strcmp(argv[k], "-noise")) noise = atoi(arg), k++;
    else if (!strcmp(argv[k], "-seed")) rng = strtoull(arg, NULL, 10) * 2654435761u + 1, k++;
    else if (!strcmp(argv[k], "-eeprom")) ee = arg, k++;
    else if (!strcmp(argv[k], "-shared")) share(arg), k++;
    else if (!strcmp(argv[k], "-times")) { if (!(times = fopen(arg, "wb"))) die(arg); k++; }
    else elf = argv[k];
  }
  if (!elf) {
    fprintf(stderr, "usage: meter_sim [-pty] [-shared FILE] [-noise MV] [-seed N] [-eeprom FILE] [-times FILE] meter.elf < script\n");
    return 2;
  }
  /* Subtle: simavr prints to stdout, which must carry our output only. */
  if (!(out = fdopen(dup(1), "w")) || dup2(2, 1) < 0) die("stdout");
  read_script();
  setup(elf);
  if (ee) eeprom(ee, 0);
  schedule();
  if (real) real_time();
  else run_to(~(avr_cycle_count_t)0);
  if (ee) eeprom(ee, 1);
  if (times && fclose(times)) die("times");
  return fclose(out) ? 1 : 0;
}
