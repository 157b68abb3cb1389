/* CRC-32C by the processor's own instruction: one arm an architecture. Where the compiler knows none, TS_CRC32C_HERE is 0 and the
 * function is never called; where it knows one, ts_crc32c_there() asks the processor at run time.
 *
 * The instruction takes three cycles and one can begin in each, so long input is cut into lanes of three streams; what the two
 * later lanes do to the checksum of the first is in `shift`, a table of what LANE zero bytes do to it (memory/checksum.pyx). */
#ifndef TELLSTONE_CRC32C_H
#define TELLSTONE_CRC32C_H
#include "bytesops.h"
#include <stddef.h>
#include <stdint.h>

#define TS_CRC32C_LANE 512
#define TS_CRC32C_HERE 1
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <nmmintrin.h>
#define TS_CRC32C_TARGET __attribute__((target("sse4.2")))
#define TS_CRC32C_8(crc, w) ((uint32_t)_mm_crc32_u64((crc), (w)))
#define TS_CRC32C_1(crc, b) (_mm_crc32_u8((crc), (b)))
static inline int ts_crc32c_there(void) { return __builtin_cpu_supports("sse4.2") != 0; }
#elif defined(_M_X64)
#include <intrin.h>
#include <nmmintrin.h>
#define TS_CRC32C_TARGET
#define TS_CRC32C_8(crc, w) ((uint32_t)_mm_crc32_u64((crc), (w)))
#define TS_CRC32C_1(crc, b) (_mm_crc32_u8((crc), (b)))
static __inline int ts_crc32c_there(void) { int r[4]; __cpuid(r, 1); return r[2] >> 20 & 1; }
#elif defined(_M_ARM64)
#include <arm64intr.h>
#include <windows.h>
#define TS_CRC32C_TARGET
#define TS_CRC32C_8(crc, w) (__crc32cd((crc), (w)))
#define TS_CRC32C_1(crc, b) (__crc32cb((crc), (b)))
static __inline int ts_crc32c_there(void) { return IsProcessorFeaturePresent(PF_ARM_V8_CRC32_INSTRUCTIONS_AVAILABLE); }
#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#if defined(__clang__)
#define TS_CRC32C_TARGET __attribute__((target("crc")))
#define TS_CRC32C_8(crc, w) (__builtin_arm_crc32cd((crc), (w)))
#define TS_CRC32C_1(crc, b) (__builtin_arm_crc32cb((crc), (b)))
#else
#define TS_CRC32C_TARGET __attribute__((target("+crc")))
#define TS_CRC32C_8(crc, w) (__builtin_aarch64_crc32cx((crc), (w)))
#define TS_CRC32C_1(crc, b) (__builtin_aarch64_crc32cb((crc), (b)))
#endif
#if defined(__linux__)
#include <sys/auxv.h>
static inline int ts_crc32c_there(void) { return (int)(getauxval(AT_HWCAP) >> 7 & 1); } /* HWCAP_CRC32 */
#else
static inline int ts_crc32c_there(void) { return 1; }
#endif
#else
#undef TS_CRC32C_HERE
#define TS_CRC32C_HERE 0
#define TS_CRC32C_TARGET
#define TS_CRC32C_8(crc, w) ((void)(w), (crc))
#define TS_CRC32C_1(crc, b) ((void)(b), (crc))
static inline int ts_crc32c_there(void) { return 0; }
#endif

static inline uint32_t ts_crc32c_shifted(uint32_t crc, const uint32_t (*shift)[256]) {
  return shift[0][crc & 0xFF] ^ shift[1][crc >> 8 & 0xFF] ^ shift[2][crc >> 16 & 0xFF] ^ shift[3][crc >> 24];
}

/* Neither end inverts: the caller does. */
TS_CRC32C_TARGET static uint32_t ts_crc32c(uint32_t crc, const char *p, size_t n, const uint32_t (*shift)[256]) {
  for (; n >= 3 * TS_CRC32C_LANE; n -= 3 * TS_CRC32C_LANE, p += 3 * TS_CRC32C_LANE) {
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < TS_CRC32C_LANE; i += 8) {
      crc = TS_CRC32C_8(crc, ts_get_u64(p + i));
      second = TS_CRC32C_8(second, ts_get_u64(p + i + TS_CRC32C_LANE));
      third = TS_CRC32C_8(third, ts_get_u64(p + i + 2 * TS_CRC32C_LANE));
    }
    crc = ts_crc32c_shifted(crc, shift) ^ second;
    crc = ts_crc32c_shifted(crc, shift) ^ third;
  }
  for (; n >= 8; n -= 8, p += 8) crc = TS_CRC32C_8(crc, ts_get_u64(p));
  for (; n; n--, p++) crc = TS_CRC32C_1(crc, (uint8_t)*p);
  return crc;
}
#endif
