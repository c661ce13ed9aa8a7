#ifndef EDGEGAUGE_RECORD_H
#define EDGEGAUGE_RECORD_H
#include <stdint.h>

// What a CGI process appends for its request; ns and B.
struct cgi_record { int64_t deserialization, processing, sensor, serialization, total, in, out; };
#endif
