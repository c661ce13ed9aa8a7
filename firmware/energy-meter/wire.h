/* The energy meter's serial protocol, format 1. The frame is the same in both directions, little-endian:
 *
 *   A5 | type | len | payload, len bytes | crc lo | crc hi
 *
 * crc: CRC-16/CCITT-FALSE (0x1021 from FFFF) over type, len and payload. 250000 Bd, 8N1.
 * t: ticks of 0.5 us, 32 bits. The Go side is internal/instrument/meterframe.go.
 */
#include <stdint.h>

#define WIRE_FORMAT 1
#define WIRE_FIRMWARE 1
#define WIRE_SYNC 0xA5
#define WIRE_FRAME 5 /* bytes around a payload */
#define WIRE_MAX 30  /* longest payload of a command */

#define WIRE_PERIOD 11765      /* 169.996 per second */
#define WIRE_PERIOD_MIN 4000   /* 500 per second */
#define WIRE_PERIOD_MAX 200000 /* 10 per second */

/* meter to host */
#define WIRE_DATA 'D'
#define WIRE_EDGE 'M'
#define WIRE_ECHO 'E'
#define WIRE_INFO 'I'

/* host to meter; each is echoed */
#define WIRE_PING 'P'      /* token u8 */
#define WIRE_START 'S'     /* from seq 0 */
#define WIRE_STOP 'X'
#define WIRE_RATE 'R'      /* period u32, ticks; refused while streaming */
#define WIRE_QUERY 'Q'     /* an info frame follows the echo */
#define WIRE_CALIBRATE 'C' /* struct wire_cal, stored in EEPROM; refused while streaming */

#define WIRE_OK 0
#define WIRE_BAD 1
#define WIRE_BUSY 2
#define WIRE_UNKNOWN 3

#define WIRE_PIN 1     /* the marker pin is high */
#define WIRE_LIMIT_V 2 /* a conversion of the period was at the converter's limit: the sum is too low */
#define WIRE_LIMIT_I 4
#define WIRE_EDGE_LATE 2
#define WIRE_BOOT 0x80

/* Sums over the pairs (voltage, then current 104 us later) converted in (t - period, t]. */
struct wire_data {
  uint16_t seq; uint32_t t; uint16_t pairs;
  uint8_t sum_v[3], sum_i[3]; uint32_t sum_vi;
  uint8_t flags, lost; /* lost: frames that found no room since the start, modulo 256 */
} __attribute__((packed));

struct wire_edge { uint8_t edge; uint32_t t; uint8_t missed; } __attribute__((packed)); /* edge: 1 rising, 2 stamped late */

struct wire_echo { uint8_t command, token, status; uint32_t received, reply; } __attribute__((packed));

/* volts = (sum_v / pairs + 0.5) * volts_per_step + volts_offset, amperes likewise. */
struct wire_cal {
  float volts_per_step, volts_offset, amps_per_step, amps_offset;
  uint16_t bandgap; /* as in wire_info, when calibrated; 0: unknown */
  char label[12];
} __attribute__((packed));

struct wire_info {
  uint8_t format, firmware, boot, calibrated; /* boot: not 0 in the first one after a reset; MCUSR | 0x80 */
  uint16_t tick_ns; uint32_t period; uint16_t bandgap;
  struct wire_cal cal;
} __attribute__((packed));

static inline void wire_put24(uint8_t *p, uint32_t x) {
  p[0] = x;
  p[1] = x >> 8;
  p[2] = x >> 16;
}
