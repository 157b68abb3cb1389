/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; one round a word, three at the end, as in
 * the hash tables of Rust and CPython). */
#ifndef TELLSTONE_SIPHASH_H
#define TELLSTONE_SIPHASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define TS_ROTL(x, b) (uint64_t)(((x) << (b)) | ((x) >> (64 - (b))))
#define TS_SIPROUND() do { \
    v0 += v1; v1 = TS_ROTL(v1, 13); v1 ^= v0; v0 = TS_ROTL(v0, 32); \
    v2 += v3; v3 = TS_ROTL(v3, 16); v3 ^= v2; \
    v0 += v3; v3 = TS_ROTL(v3, 21); v3 ^= v0; \
    v2 += v1; v1 = TS_ROTL(v1, 17); v1 ^= v2; v2 = TS_ROTL(v2, 32); \
  } while (0)

static inline uint64_t ts_siphash13(const uint64_t key[2], const char *p, size_t n) {
  uint64_t v0 = key[0] ^ 0x736f6d6570736575ull, v1 = key[1] ^ 0x646f72616e646f6dull;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261ull, v3 = key[1] ^ 0x7465646279746573ull;
  uint64_t last = (uint64_t)n << 56, m;
  size_t left = n & 7, i;
  const char *end = p + (n - left);
  for (; p != end; p += 8) {
    memcpy(&m, p, 8); /* little-endian machines only; the result never leaves the process */
    v3 ^= m;
    TS_SIPROUND();
    v0 ^= m;
  }
  for (i = 0; i < left; i++) last |= (uint64_t)(uint8_t)p[i] << (8 * i);
  v3 ^= last;
  TS_SIPROUND();
  v0 ^= last;
  v2 ^= 0xff;
  TS_SIPROUND();
  TS_SIPROUND();
  TS_SIPROUND();
  return v0 ^ v1 ^ v2 ^ v3;
}
#endif
