/* A clock for durations that costs next to nothing: the processor's counter where it runs at a fixed rate. What a tick is worth
 * is found by comparing it with the monotonic clock over a longer time (command.record). */
#ifndef TELLSTONE_TICKS_H
#define TELLSTONE_TICKS_H
#include "platform.h"
#if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
static __inline uint64_t ts_ticks(void) { return __rdtsc(); }
#elif defined(__x86_64__)
static inline uint64_t ts_ticks(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__) && !defined(_MSC_VER)
static inline uint64_t ts_ticks(void) {
  uint64_t v;
  __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(v));
  return v;
}
#else
static inline uint64_t ts_ticks(void) { return (uint64_t)ts_mono_us() * 1000; }
#endif

/* Which bucket a duration falls into: 2^bits to an octave, so that a bucket is no wider than its floor by 2^bits. */
static inline uint32_t ts_log_bucket(uint64_t duration, uint32_t bits) {
  uint32_t octave;
  if (duration >> bits == 0) return (uint32_t)duration;
#if defined(_MSC_VER) && !defined(__clang__)
  { unsigned long index; _BitScanReverse64(&index, duration); octave = index; }
#else
  octave = 63u - (uint32_t)__builtin_clzll(duration);
#endif
  return ((octave - bits + 1) << bits) + (uint32_t)(duration >> (octave - bits) & ((1u << bits) - 1));
}

/* Ticks: four buckets to an octave. */
#define TS_TICK_BUCKETS 160
static inline uint32_t ts_tick_bucket(uint64_t ticks) {
  uint32_t at = ts_log_bucket(ticks, 2);
  return at < TS_TICK_BUCKETS ? at : TS_TICK_BUCKETS - 1;
}
#endif
