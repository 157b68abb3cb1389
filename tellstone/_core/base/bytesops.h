/* Views of bytes, and integers as text, exactly as Redis reads and writes them (string2ll and ll2string of its util.c). */
#ifndef TELLSTONE_BYTESOPS_H
#define TELLSTONE_BYTESOPS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { const char *ptr; size_t len; } ts_view;

static inline uint16_t ts_get_u16(const void *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static inline uint32_t ts_get_u32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t ts_get_u64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void ts_put_u16(void *p, uint16_t v) { memcpy(p, &v, 2); }
static inline void ts_put_u32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void ts_put_u64(void *p, uint64_t v) { memcpy(p, &v, 8); }

/* Big-endian fields of a wire format; compilers make one load and a swap of them. */
static inline uint16_t ts_get_be16(const void *p) {
  const uint8_t *b = (const uint8_t *)p;
  return (uint16_t)((uint16_t)b[0] << 8 | b[1]);
}
static inline uint32_t ts_get_be32(const void *p) {
  const uint8_t *b = (const uint8_t *)p;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}
static inline uint64_t ts_get_be64(const void *p) {
  return (uint64_t)ts_get_be32(p) << 32 | ts_get_be32((const uint8_t *)p + 4);
}
static inline void ts_put_be16(void *p, uint16_t v) {
  uint8_t *b = (uint8_t *)p;
  b[0] = (uint8_t)(v >> 8); b[1] = (uint8_t)v;
}
static inline void ts_put_be32(void *p, uint32_t v) {
  uint8_t *b = (uint8_t *)p;
  b[0] = (uint8_t)(v >> 24); b[1] = (uint8_t)(v >> 16); b[2] = (uint8_t)(v >> 8); b[3] = (uint8_t)v;
}
static inline void ts_put_be64(void *p, uint64_t v) {
  ts_put_be32(p, (uint32_t)(v >> 32));
  ts_put_be32((uint8_t *)p + 4, (uint32_t)v);
}

/* memcpy for text that may be absent: C gives no meaning to a NULL source, not even for no bytes. */
static inline void ts_copy(void *to, const void *from, size_t n) { if (n) memcpy(to, from, n); }

static inline uint8_t ts_lower(uint8_t c) { return (uint8_t)(c - 'A') < 26 ? (uint8_t)(c | 0x20) : c; }

/* Letters compare without case; b is lower case already. */
static inline int ts_same_word(const char *a, size_t n, const char *b, size_t m) {
  if (n != m) return 0;
  for (size_t i = 0; i < n; i++) if (ts_lower((uint8_t)a[i]) != (uint8_t)b[i]) return 0;
  return 1;
}

/* Short memory compares in line: keys are mostly 8 to 32 bytes, where a call to memcmp costs more than the work. The last eight
 * bytes overlap those before them. */
static inline int ts_same_bytes(const char *a, const char *b, size_t n) {
  if (n >= 8) {
    size_t i = 0, last = n - 8;
    while (i < last) {
      if (ts_get_u64(a + i) != ts_get_u64(b + i)) return 0;
      i += 8;
    }
    return ts_get_u64(a + last) == ts_get_u64(b + last);
  }
  if (n >= 4) return ts_get_u32(a) == ts_get_u32(b) && ts_get_u32(a + n - 4) == ts_get_u32(b + n - 4);
  while (n--) if (*a++ != *b++) return 0;
  return 1;
}

/* The whole text is one integer in its only canonical form: no sign but '-', no leading zero, no blank, no "-0". */
static inline int ts_parse_i64(const char *s, size_t n, int64_t *out) {
  size_t i = 0;
  int negative = 0;
  uint64_t v;
  if (n == 0 || n > 20) return 0;
  if (s[0] == '-') { negative = 1; i = 1; if (n == 1) return 0; }
  if (s[i] == '0') { if (n != 1) return 0; *out = 0; return 1; }
  if (s[i] < '1' || s[i] > '9') return 0;
  v = (uint64_t)(s[i++] - '0');
  for (; i < n; i++) {
    unsigned d = (unsigned char)s[i] - (unsigned)'0';
    if (d > 9) return 0;
    if (v > UINT64_MAX / 10) return 0;
    v *= 10;
    if (v > UINT64_MAX - d) return 0;
    v += d;
  }
  if (negative) {
    if (v > (uint64_t)INT64_MAX + 1) return 0;
    *out = (int64_t)(0 - v);
  } else {
    if (v > (uint64_t)INT64_MAX) return 0;
    *out = (int64_t)v;
  }
  return 1;
}

static const char ts_digit_pairs[201] =
  "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263"
  "6465666768697071727374757677787980818283848586878889909192939495969798" "99";

static inline size_t ts_format_long(char *out, uint64_t v) {
  char text[20];
  size_t at = 20;
  while (v >= 100) { at -= 2; memcpy(text + at, ts_digit_pairs + (v % 100) * 2, 2); v /= 100; }
  if (v >= 10) { at -= 2; memcpy(text + at, ts_digit_pairs + v * 2, 2); } else text[--at] = (char)('0' + v);
  memcpy(out, text + at, 20 - at);
  return 20 - at;
}

/* Writes v without a terminator and returns its length; room for 20 bytes is enough. Most numbers are lengths of a few digits. */
static inline size_t ts_format_u64(char *out, uint64_t v) {
  uint32_t n = (uint32_t)v;
  if (v >= 10000) return ts_format_long(out, v);
  if (n < 10) { out[0] = (char)('0' + n); return 1; }
  if (n < 100) { memcpy(out, ts_digit_pairs + n * 2, 2); return 2; }
  if (n < 1000) { out[0] = (char)('0' + n / 100); memcpy(out + 1, ts_digit_pairs + n % 100 * 2, 2); return 3; }
  memcpy(out, ts_digit_pairs + n / 100 * 2, 2);
  memcpy(out + 2, ts_digit_pairs + n % 100 * 2, 2);
  return 4;
}
static inline size_t ts_format_i64(char *out, int64_t v) {
  if (v >= 0) return ts_format_u64(out, (uint64_t)v);
  *out = '-';
  return 1 + ts_format_u64(out + 1, 0 - (uint64_t)v);
}
#endif
