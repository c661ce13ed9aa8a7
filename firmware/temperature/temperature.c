/* A thermometer on a serial line: it answers "T\n" at 9600 Bd, 8N1, with "21.50\n".
 *
 * ATmega328P (Arduino Nano, Uno) with a TMP36 or LM35-like sensor on ADC0: 10 mV/°C, and 500 mV at 0 °C. The reading is
 * the mean of 4 conversions against AVcc of 5 V. Between requests the core sleeps. Anything but "T" is ignored, so a
 * line may end in LF or CR LF.
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdio.h>

#define BAUD 9600
#include <util/setbaud.h>

static volatile char asked;

ISR(USART_RX_vect) {
  if (UDR0 == 'T') asked = 1;
}

static void put(char c) {
  while (!(UCSR0A & _BV(UDRE0))) {}
  UDR0 = c;
}

static unsigned convert(void) {
  ADCSRA |= _BV(ADSC);
  while (ADCSRA & _BV(ADSC)) {}
  return ADC;
}

/* Hundredths of a degree. */
static long celsius(void) {
  long sum = 0;
  for (char k = 0; k < 4; k++) sum += convert();
  /* Tenths of mV of 4 conversions of 1024 steps of 5 V, less the 500 mV of 0 °C: a tenth of a mV is a hundredth of a
   * degree. */
  return (sum * 50000 + 2048) / 4096 - 5000;
}

int main(void) {
  char line[16];
  UBRR0H = UBRRH_VALUE, UBRR0L = UBRRL_VALUE;
#if USE_2X
  UCSR0A |= _BV(U2X0);
#endif
  UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
  UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
  ADMUX = _BV(REFS0);                                          /* AVcc, channel 0 */
  ADCSRA = _BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0); /* 125 kHz: 104 us a conversion */
  set_sleep_mode(SLEEP_MODE_IDLE);
  sei();
  for (;;) {
    cli();
    if (!asked) {
      /* Subtle: the instruction after sei runs before any interrupt, so sleep never misses one. */
      sleep_enable();
      sei();
      sleep_cpu();
      sleep_disable();
      continue;
    }
    asked = 0;
    sei();
    long c = celsius(), a = c < 0 ? -c : c;
    snprintf(line, sizeof line, "%s%ld.%02ld\n", c < 0 ? "-" : "", a / 100, a % 100);
    for (const char *p = line; *p; p++) put(*p);
  }
}
