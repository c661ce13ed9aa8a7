// Reads a temperature: fixed:CELSIUS, hwmon:PATH, iio:PATH, w1:ID, serial:DEVICE, program:COMMAND.
#ifndef EDGEGAUGE_SENSOR_H
#define EDGEGAUGE_SENSOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sensor;

// NULL if there is no such kind; why says which there are. Nothing is opened before the first reading.
struct sensor *sensor_open(const char *name, char *why, size_t size);

// Reads hundredths of a degree and when, in ms since 1970. Readers wait for each other, in this process and, at a serial line, in others too.
// Within 2 s; on failure why says what, and the next reading begins anew.
bool sensor_read(struct sensor *s, int64_t *celsius, int64_t *at, char *why, size_t size);

// Opens a serial line and keeps it open, so that what is said unasked waits in it for processes that open it for one reading only and trust it.
bool sensor_keep_open(struct sensor *s);

// Says that another process keeps the line open: the first reading need not wait until it is silent.
void sensor_trust(struct sensor *s);

// Closes the line, and ends its program.
void sensor_close(struct sensor *s);
#endif
