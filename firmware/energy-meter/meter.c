/* The energy meter: an ATmega328P (Arduino Nano, 16 MHz) that reads a supply's voltage on
 * ADC0 and its current on ADC1 without pause and sends the sums of each period, by default
 * 170 times per second. It only measures: calibration is stored here and applied by the host.
 * The circuit is in doc/energy-meter.md, the frames are in wire.h; `make firmware` builds it.
 *
 * Time is Timer 1 at clock/8: one tick is 0.5 us, 32 bits wrap after 35.8 minutes.
 */
#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>
#include <string.h>
#include <util/crc16.h>
#include <util/delay.h>

#include "wire.h"

#define ADC_ON (_BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0)) /* clock/128: 104 us per conversion */
#define ADC_GO (ADC_ON | _BV(ADIE) | _BV(ADSC))
#define VOLTAGE (_BV(REFS0) | 0)
#define CURRENT (_BV(REFS0) | 1)
#define BANDGAP (_BV(REFS0) | 14)

static uint8_t boot_cause; /* MCUSR, sent once: a second boot frame is a meter that restarted */

/* ---- time ---- */

static volatile uint32_t base; /* ticks up to the last wrap of Timer 1 */
static volatile uint16_t span; /* ticks of one wrap */
static volatile uint8_t wraps; /* wraps of one period: a slow rate needs several */
static uint8_t left;

static uint32_t at(uint16_t t) { /* call with interrupts off */
  uint32_t b = base;
  if ((TIFR1 & _BV(OCF1A)) && t < span / 2) b += span; /* wrapped, its interrupt still pending */
  return b + t;
}

static uint32_t now(void) { return at(TCNT1); }

/* ---- sending: a ring drained by the UART ---- */

static volatile uint8_t ring[256], head, tail; /* 8-bit indices wrap by themselves */

ISR(USART_UDRE_vect) {
  UDR0 = ring[tail++];
  if (tail == head) UCSR0B &= ~_BV(UDRIE0);
}

static uint16_t put(uint8_t c, uint16_t crc) {
  ring[head] = c;
  uint8_t sreg = SREG;
  cli();
  head++;
  UCSR0B |= _BV(UDRIE0);
  SREG = sreg;
  return _crc_xmodem_update(crc, c);
}

/* send queues a complete frame or nothing, and returns whether it did. */
static uint8_t send(uint8_t type, const void *payload, uint8_t len) {
  if ((uint8_t)(tail - head - 1) < len + WIRE_FRAME) return 0;
  const uint8_t *p = payload;
  put(WIRE_SYNC, 0);
  uint16_t crc = put(type, 0xFFFF);
  crc = put(len, crc);
  while (len--) crc = put(*p++, crc);
  put(crc & 0xFF, 0);
  put(crc >> 8, 0);
  return 1;
}

/* ---- sampling ---- */

static uint16_t volts_now;
static uint16_t pairs;
static uint32_t sum_v, sum_i, sum_vi;
static uint8_t limits;

/* Subtle: single conversions, restarted here, so that the channel is always known; a
 * free-running converter latches ADMUX at a time of its own. */
ISR(ADC_vect) {
  uint16_t a = ADC;
  if (ADMUX == VOLTAGE) {
    volts_now = a;
    ADMUX = CURRENT;
  } else {
    sum_v += volts_now;
    sum_i += a;
    sum_vi += (uint32_t)volts_now * a;
    pairs++;
    if (volts_now == 1023) limits |= WIRE_LIMIT_V;
    if (a == 1023) limits |= WIRE_LIMIT_I;
    ADMUX = VOLTAGE;
  }
  ADCSRA |= _BV(ADSC);
}

static void clear_sums(void) {
  pairs = 0;
  sum_v = sum_i = sum_vi = 0;
  limits = 0;
}

/* ---- periods: closed by the compare interrupt, sent by the main loop ---- */

static volatile uint8_t running; /* 0 stopped, 2 waiting for the first boundary, 1 streaming */
static volatile uint8_t ready, lost;
static uint16_t seq;
static struct wire_data latched;

static void close_period(void) {
  if (running == 2) running = 1;
  else if (running) {
    if (ready) lost++;
    latched.seq = seq++;
    latched.t = base;
    latched.pairs = pairs;
    wire_put24(latched.sum_v, sum_v);
    wire_put24(latched.sum_i, sum_i);
    latched.sum_vi = sum_vi;
    latched.flags = limits | ((PINB & 1) ? WIRE_PIN : 0);
    ready = 1;
  }
  clear_sums();
}

ISR(TIMER1_COMPA_vect) {
  base += span;
  if (--left) return;
  left = wraps;
  close_period();
}

static void send_data(void) {
  struct wire_data d;
  cli();
  d = latched;
  ready = 0;
  sei();
  d.lost = lost;
  if (!send(WIRE_DATA, &d, sizeof d)) lost++;
}

/* ---- markers on ICP1 (PB0, Nano pin D8), stamped by hardware ---- */

#define EDGES 16
static volatile struct wire_edge edges[EDGES];
static volatile uint8_t edge_head, edge_tail, edges_missed;

static void push_edge(uint8_t edge, uint32_t t) {
  if ((uint8_t)(edge_head - edge_tail) == EDGES) {
    edges_missed++;
    return;
  }
  volatile struct wire_edge *e = &edges[edge_head++ % EDGES];
  e->edge = edge;
  e->t = t;
}

/* wait_for_other waits for the other edge. A pulse shorter than this handler has already
 * ended: its end is stamped late and marked as late, so that later edges are not inverted. */
static void wait_for_other(void) {
  for (uint8_t tries = 4; tries; tries--) {
    TCCR1B ^= _BV(ICES1);
    if (TIFR1 & _BV(ICF1)) TIFR1 = _BV(ICF1); /* Subtle: only if set: simavr 1.6 drops a pending compare as well */
    uint8_t high = PINB & 1, rising = !!(TCCR1B & _BV(ICES1));
    if (high != rising) return;
    push_edge(rising | WIRE_EDGE_LATE, now());
  }
}

ISR(TIMER1_CAPT_vect) {
  push_edge(!!(TCCR1B & _BV(ICES1)), at(ICR1));
  wait_for_other();
}

static void send_edge(void) {
  struct wire_edge e;
  cli();
  e.edge = edges[edge_tail % EDGES].edge;
  e.t = edges[edge_tail % EDGES].t;
  e.missed = edges_missed;
  sei();
  if (!send(WIRE_EDGE, &e, sizeof e)) return; /* it stays in its ring */
  cli();
  edge_tail++;
  sei();
}

/* ---- calibration and self-description ---- */

#define CAL_MAGIC 0xE6
struct stored { uint8_t magic; struct wire_cal cal; uint16_t crc; } __attribute__((packed));
static struct stored EEMEM stored_cal;
static struct wire_cal cal = {5.0 / 1024 * 2, 0, 5.0 / 1024 / 5, 0, 0, "uncalibrated"}; /* 10k:10k; 0.1 ohm times 50 */
static uint8_t calibrated;

static uint16_t crc_of(const void *p, uint8_t n) {
  const uint8_t *b = p;
  uint16_t crc = 0xFFFF;
  while (n--) crc = _crc_xmodem_update(crc, *b++);
  return crc;
}

static void load_cal(void) {
  struct stored s;
  eeprom_read_block(&s, &stored_cal, sizeof s);
  calibrated = s.magic == CAL_MAGIC && s.crc == crc_of(&s.cal, sizeof s.cal);
  if (calibrated) cal = s.cal;
}

static void store_cal(const void *payload) {
  struct stored s = {.magic = CAL_MAGIC};
  memcpy(&s.cal, payload, sizeof s.cal);
  s.crc = crc_of(&s.cal, sizeof s.cal);
  eeprom_update_block(&s, &stored_cal, sizeof s);
  eeprom_busy_wait();
  load_cal();
}

/* bandgap reads the internal 1.1 V reference against AVcc, 64 conversions summed. AVcc is
 * USB's 5 V +-5 %; the host scales by the ratio of this sum at calibration to this sum now. */
static uint16_t bandgap(void) {
  ADCSRA &= ~_BV(ADIE);
  while (ADCSRA & _BV(ADSC)) {}
  ADMUX = BANDGAP;
  _delay_ms(2); /* the reference is of high impedance and charges the sampling capacitor slowly */
  uint16_t sum = 0;
  for (uint8_t k = 0; k < 66; k++) {
    ADCSRA = ADC_ON | _BV(ADSC);
    while (ADCSRA & _BV(ADSC)) {}
    if (k >= 2) sum += ADC;
  }
  ADMUX = VOLTAGE;
  ADCSRA = ADC_ON | _BV(ADIF);
  ADCSRA = ADC_GO;
  return sum;
}

static void describe(void) {
  static uint16_t band;
  if (!running) band = bandgap(); /* never while streaming: it would take samples away */
  struct wire_info i = {.format = WIRE_FORMAT, .firmware = WIRE_FIRMWARE, .boot = boot_cause,
    .calibrated = calibrated, .tick_ns = 500, .period = (uint32_t)span * wraps, .bandgap = band, .cal = cal};
  if (send(WIRE_INFO, &i, sizeof i)) boot_cause = 0;
}

/* ---- commands ---- */

static volatile struct { uint8_t type, len, payload[WIRE_MAX], ready; uint32_t t; } command;

/* The last byte of a valid frame is stamped here: the clock fit of the echo depends on it. */
ISR(USART_RX_vect) {
  static uint8_t state, got;
  static uint16_t crc, sent;
  uint8_t c = UDR0;
  if (command.ready) return; /* one at a time; the host waits for the echo */
  switch (state) {
  case 0: if (c == WIRE_SYNC) { state = 1; crc = 0xFFFF; got = 0; } return;
  case 1: command.type = c; state = 2; break;
  case 2: command.len = c; state = c > WIRE_MAX ? 0 : c ? 3 : 4; break;
  case 3: command.payload[got++] = c; if (got == command.len) state = 4; break;
  case 4: sent = c; state = 5; return;
  default:
    state = 0;
    if ((sent | (uint16_t)c << 8) != crc) return;
    command.t = now();
    command.ready = 1;
    return;
  }
  crc = _crc_xmodem_update(crc, c);
}

/* set_period takes ticks and comes as close as whole timer wraps allow; the info frame reports
 * the resulting period. */
static uint8_t set_period(uint32_t ticks) {
  if (ticks < WIRE_PERIOD_MIN || ticks > WIRE_PERIOD_MAX) return WIRE_BAD;
  uint8_t n = (ticks + 32767) / 32768;
  cli();
  base += TCNT1;
  TCNT1 = 0;
  wraps = left = n;
  span = (ticks + n / 2) / n;
  OCR1A = span - 1;
  TIFR1 = _BV(OCF1A);
  sei();
  return WIRE_OK;
}

static void start(void) {
  cli();
  seq = 0;
  ready = lost = 0;
  edge_tail = edge_head;
  edges_missed = 0;
  running = 2;
  sei();
}

static uint8_t obey(uint8_t type, uint8_t len, const uint8_t *p) {
  uint32_t ticks;
  switch (type) {
  case WIRE_PING: return len == 1 ? WIRE_OK : WIRE_BAD;
  case WIRE_START: start(); return WIRE_OK;
  case WIRE_STOP: running = 0; return WIRE_OK;
  case WIRE_QUERY: return WIRE_OK; /* described after the echo */
  case WIRE_RATE:
    if (running) return WIRE_BUSY;
    if (len != 4) return WIRE_BAD;
    memcpy(&ticks, p, 4);
    return set_period(ticks);
  case WIRE_CALIBRATE:
    if (running) return WIRE_BUSY;
    if (len != sizeof(struct wire_cal)) return WIRE_BAD;
    store_cal(p);
    return WIRE_OK;
  }
  return WIRE_UNKNOWN;
}

static void answer(void) {
  uint8_t p[WIRE_MAX];
  memcpy(p, (const void *)command.payload, sizeof p);
  struct wire_echo e = {.command = command.type, .token = command.len ? p[0] : 0, .received = command.t};
  e.status = obey(command.type, command.len, p);
  command.ready = 0;
  cli();
  e.reply = now();
  sei();
  send(WIRE_ECHO, &e, sizeof e);
  if (e.command == WIRE_QUERY) describe();
}

/* ---- */

static void setup(void) {
  boot_cause = MCUSR | WIRE_BOOT;
  MCUSR = 0;
  load_cal();
  UCSR0A = _BV(U2X0); /* 250000 Bd: exact at 16 MHz, where 115200 is 2.1 % off */
  UBRR0 = 7;
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
  TCCR1A = 0;
  set_period(WIRE_PERIOD);
  TCCR1B = _BV(WGM12) | _BV(CS11) | ((PINB & 1) ? 0 : _BV(ICES1));
  TIFR1 = _BV(ICF1);
  TIMSK1 = _BV(OCIE1A) | _BV(ICIE1);
  DIDR0 = 3;
  ADMUX = VOLTAGE;
  ADCSRA = ADC_GO;
  sei();
}

int main(void) {
  setup();
  describe();
  for (;;) {
    if (command.ready) answer();
    if (edge_head != edge_tail) send_edge();
    if (ready) send_data();
    cli();
    if (!command.ready && !ready && edge_head == edge_tail) {
      sleep_enable();
      sei(); /* Subtle: takes effect after the next instruction, so nothing slips in between */
      sleep_cpu();
      sleep_disable();
    }
    sei();
  }
}
