/* temperature_sim runs the thermometer's firmware in simavr, in real time, with a pseudo terminal as its serial line.
 *
 *   temperature_sim temperature.elf
 *
 * It prints one line on stdout, {"device":"/dev/pts/3"}, and ends when stdin ends. The air around the sensor warms and
 * cools between 20 and 25 °C, so that successive readings differ.
 *
 * simavr is GPL-3, and so is this program once linked with it. No part of it is in edgegauge, which runs it as a separate
 * process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <avr_adc.h>
#include <avr_uart.h>
#include <sim_avr.h>
#include <sim_elf.h>

#define HZ 16000000
#define BYTE (HZ / 960)  /* cycles of a byte at 9600 Bd: ten bits */
#define SLICE (HZ / 5000) /* 200 us: shorter sleeps would use a whole core */

static avr_t *avr;
static int pty;

static void die(const char *what) {
  fprintf(stderr, "temperature_sim: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t monotonic(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* 20 to 25 °C and back within 100 s: 700 to 750 mV. */
static void convert(avr_irq_t *i, uint32_t value, void *param) {
  (void)i, (void)value, (void)param;
  int second = (int)(avr->cycle / HZ % 100), mV = 700 + (second < 50 ? second : 100 - second);
  avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC0), (uint32_t)mV);
}

static struct { avr_cycle_count_t due; uint8_t b; } leaving[8];
static unsigned first, last;

/* simavr tells of a byte when it begins to leave. */
static void sent(avr_irq_t *i, uint32_t value, void *param) {
  (void)i, (void)param;
  if (last - first == 8) return;
  leaving[last % 8].b = (uint8_t)value;
  leaving[last++ % 8].due = avr->cycle + BYTE;
}

/* deliver hands on what has left the pin whole. What nobody reads is lost, as on a line. */
static void deliver(void) {
  for (; first != last && leaving[first % 8].due <= avr->cycle; first++)
    if (write(pty, &leaving[first % 8].b, 1) != 1) continue;
}

static void nosleep(avr_t *a, avr_cycle_count_t n) { (void)a, (void)n; }

static void setup(const char *elf) {
  static elf_firmware_t firmware;
  if (elf_read_firmware(elf, &firmware)) {
    fprintf(stderr, "temperature_sim: %s: no firmware; run: make firmware\n", elf);
    exit(1);
  }
  if (!(avr = avr_make_mcu_by_name("atmega328p"))) die("atmega328p");
  avr_init(avr);
  avr->log = LOG_ERROR;
  avr_load_firmware(avr, &firmware);
  avr->frequency = HZ;
  avr->vcc = avr->avcc = avr->aref = 5000;
  avr->sleep = nosleep;
  uint32_t fl = 0;
  avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &fl);
  fl &= ~(uint32_t)(AVR_UART_FLAG_POLL_SLEEP | AVR_UART_FLAG_STDIO);
  avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &fl);
  avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_OUT_TRIGGER), convert, NULL);
  avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), sent, NULL);
}

static char *open_pty(void) {
  static char name[64];
  struct termios raw;
  int line; /* kept open: no EIO while nobody listens */
  if (openpty(&pty, &line, name, NULL, NULL) || tcgetattr(line, &raw)) die("pty");
  cfmakeraw(&raw);
  tcsetattr(line, TCSANOW, &raw);
  if (fcntl(pty, F_SETFL, O_NONBLOCK) || fchmod(line, 0666)) die(name); /* a CGI runs as another user */
  return name;
}

/* receive hands the UART a byte each ten bit times, as the line would; simavr lets it arrive ten bit times later. */
static void receive(void) {
  static avr_cycle_count_t next;
  uint8_t b;
  if (avr->cycle < next || read(pty, &b, 1) != 1) return;
  avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), b);
  next = avr->cycle + BYTE;
}

static void run_to(avr_cycle_count_t cycle) {
  while (avr->cycle < cycle) {
    int state = avr_run(avr);
    if (state == cpu_Done || state == cpu_Crashed) {
      fprintf(stderr, "temperature_sim: the firmware crashed at cycle %llu\n", (unsigned long long)avr->cycle);
      exit(3);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: temperature_sim temperature.elf\n");
    return 2;
  }
  /* Subtle: simavr talks on stdout, which is ours alone. */
  FILE *out = fdopen(dup(1), "w");
  if (!out || dup2(2, 1) < 0) die("stdout");
  setup(argv[1]);
  fprintf(out, "{\"device\":\"%s\"}\n", open_pty());
  fflush(out);
  int64_t t0 = monotonic();
  for (avr_cycle_count_t c = SLICE;; c += SLICE) {
    run_to(c);
    receive();
    deliver();
    struct pollfd in = {.fd = 0, .events = POLLIN};
    char b[64];
    if (poll(&in, 1, 0) > 0 && read(0, b, sizeof b) <= 0) return 0;
    int64_t due = t0 + (int64_t)((double)avr->cycle * 1e9 / HZ), late = monotonic() - due;
    if (late > 500000) t0 += late, due += late; /* time lost is not made up for: no line is faster than its speed */
    struct timespec ts = {due / 1000000000, due % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
  }
}
