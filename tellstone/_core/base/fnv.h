/* FNV-1a, 64 bits (Fowler, Noll, Vo; http://www.isthe.com/chongo/tech/comp/fnv/). One key, or four in lanes: the hash is a
 * chain of multiplies of some four cycles each, and four chains side by side cost little more than one. */
#ifndef TELLSTONE_FNV_H
#define TELLSTONE_FNV_H
#include <stddef.h>
#include <stdint.h>
#define TS_FNV_BASIS 0xcbf29ce484222325ull
#define TS_FNV_PRIME 0x100000001b3ull

static inline uint64_t ts_fnv1a_from(uint64_t h, const char *p, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)p[i]) * TS_FNV_PRIME;
  return h;
}
static inline uint64_t ts_fnv1a(const char *p, size_t n) { return ts_fnv1a_from(TS_FNV_BASIS, p, n); }

static inline void ts_fnv1a_x4(const char *const p[4], const size_t n[4], uint64_t out[4]) {
  const uint8_t *a = (const uint8_t *)p[0], *b = (const uint8_t *)p[1], *c = (const uint8_t *)p[2], *d = (const uint8_t *)p[3];
  uint64_t h0 = TS_FNV_BASIS, h1 = TS_FNV_BASIS, h2 = TS_FNV_BASIS, h3 = TS_FNV_BASIS;
  size_t least = n[0], i;
  for (i = 1; i < 4; i++) if (n[i] < least) least = n[i];
  for (i = 0; i < least; i++) {
    h0 = (h0 ^ a[i]) * TS_FNV_PRIME;
    h1 = (h1 ^ b[i]) * TS_FNV_PRIME;
    h2 = (h2 ^ c[i]) * TS_FNV_PRIME;
    h3 = (h3 ^ d[i]) * TS_FNV_PRIME;
  }
  out[0] = ts_fnv1a_from(h0, p[0] + least, n[0] - least);
  out[1] = ts_fnv1a_from(h1, p[1] + least, n[1] - least);
  out[2] = ts_fnv1a_from(h2, p[2] + least, n[2] - least);
  out[3] = ts_fnv1a_from(h3, p[3] + least, n[3] - least);
}
#endif
