/* Bits of a word of eight bytes whose first byte is the highest, so that bit 0 of a string is bit 63 here. One arm a compiler. */
#ifndef TELLSTONE_BITS_H
#define TELLSTONE_BITS_H
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#include <stdlib.h>
#define TS_SWAP64(w) _byteswap_uint64(w)
#if defined(_M_ARM64)
#define TS_POPCOUNT(w) ((unsigned)_CountOneBits64(w))
#else
#define TS_POPCOUNT(w) ((unsigned)__popcnt64(w))
#endif
static __inline unsigned ts_leading_zeros(uint64_t w) { unsigned long at; _BitScanReverse64(&at, w); return 63 - (unsigned)at; }
#else
#define TS_SWAP64(w) __builtin_bswap64(w)
#define TS_POPCOUNT(w) ((unsigned)__builtin_popcountll(w))
static inline unsigned ts_leading_zeros(uint64_t w) { return (unsigned)__builtin_clzll(w); }
#endif

static inline uint64_t ts_get_first_high(const void *p) { uint64_t w; memcpy(&w, p, 8); return TS_SWAP64(w); }
static inline void ts_put_first_high(void *p, uint64_t w) { w = TS_SWAP64(w); memcpy(p, &w, 8); }
#endif
