// io's file and SHA-256 (FIPS 180-4): the plain C programs link no cryptographic library.
#include "message.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void block(uint32_t h[8], const unsigned char *p) {
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; i++, p += 4) w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
  for (int i = 16; i < 64; i++)
    w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] + (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
  memcpy(v, h, sizeof v);
  for (int i = 0; i < 64; i++) {
    uint32_t a = v[0], e = v[4];
    uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
    uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (int i = 0; i < 8; i++) h[i] += v[i];
}

void sha256(const unsigned char *data, size_t size, unsigned char digest[32]) {
  uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char last[128] = {0};
  size_t whole = size / 64 * 64, rest = size - whole, tail = rest < 56 ? 64 : 128;
  for (size_t i = 0; i < whole; i += 64) block(h, data + i);
  if (rest) memcpy(last, data + whole, rest);
  last[rest] = 0x80;
  uint64_t bits = (uint64_t)size * 8;
  for (int i = 1; i <= 8; i++, bits >>= 8) last[tail - (size_t)i] = (unsigned char)bits;
  for (size_t i = 0; i < tail; i += 64) block(h, last + i);
  for (int i = 0; i < 32; i++) digest[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
}

static bool all(ssize_t (*move)(int, void *, size_t), int fd, unsigned char *b, size_t n) {
  while (n > 0) {
    ssize_t r = move(fd, b, n);
    if (r <= 0) return false;
    b += r, n -= (size_t)r;
  }
  return true;
}

static ssize_t put(int fd, void *b, size_t n) { return write(fd, b, n); }

const char *answer_io(const char *directory, const unsigned char *data, size_t size, unsigned char digest[32]) {
  char name[4096];
  const char *wrong = NULL;
  if (snprintf(name, sizeof name, "%s/io-XXXXXX", directory && *directory ? directory : "/tmp") >= (int)sizeof name) return "the directory's name is too long";
  int fd = mkostemp(name, O_CLOEXEC);
  if (fd < 0) return "io cannot make a file in its directory";
  unsigned char *back = malloc(size + 1);
  if (!back || !all(put, fd, (unsigned char *)data, size) || fsync(fd) || lseek(fd, 0, SEEK_SET) || !all(read, fd, back, size)) wrong = "io cannot write, sync and read back its file";
  else sha256(back, size, digest);
  free(back);
  close(fd);
  unlink(name);
  return wrong;
}
