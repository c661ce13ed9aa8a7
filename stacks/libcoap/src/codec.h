// Messages to protobuf and back, by protobuf-c.
#ifndef EDGEGAUGE_CODEC_H
#define EDGEGAUGE_CODEC_H
#include "message.h"

// Packs a request, or a response, into malloced bytes. Never NULL but without memory.
unsigned char *codec_pack(enum service, bool response, const struct message *m, size_t *size);

// Unpacks bytes into m, which then lies in *hold until codec_free. False if they are no such message.
bool codec_unpack(enum service, bool response, const unsigned char *b, size_t size, struct message *m, void **hold);
void codec_free(struct message *m, void *hold);
#endif
