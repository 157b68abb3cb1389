/* Assertions, counts of live objects, and address poisoning. In a release build all of it is nothing. */
#ifndef TELLSTONE_DEBUG_H
#define TELLSTONE_DEBUG_H
#include <stdint.h>

enum { TS_LIVE_KEYSPACE, TS_LIVE_PARTITION, TS_LIVE_BLOCK, TS_LIVE_SESSION, TS_LIVE_PARKED };

#ifdef TELLSTONE_DEBUG
#include <stdio.h>
#include <stdlib.h>
#define TS_DEBUG_BUILD 1
/* The counts stand in one array of the process (tellstone/_core/live.py). Each module has this pointer to it for itself, set by
 * check_layout, the first thing that every module of the core calls. */
static uint64_t *ts_live_counts;
static inline void ts_live_attach(uintptr_t counts) { ts_live_counts = (uint64_t *)counts; }
static inline void ts_live_add(int kind, int n) {
  if (ts_live_counts) __atomic_fetch_add(&ts_live_counts[kind], (uint64_t)(int64_t)n, __ATOMIC_RELAXED);
}
#define TS_ASSERT(ok) ((ok) ? (void)0 : (fprintf(stderr, "tellstone: assertion failed at %s:%d\n", __FILE__, __LINE__), abort()))
#else
#define TS_DEBUG_BUILD 0
static inline void ts_live_attach(uintptr_t counts) { (void)counts; }
static inline void ts_live_add(int kind, int n) { (void)kind; (void)n; }
#define TS_ASSERT(ok) ((void)0)
#endif
#if defined(__SANITIZE_ADDRESS__)
void __asan_poison_memory_region(void const volatile *p, size_t n);
void __asan_unpoison_memory_region(void const volatile *p, size_t n);
#define TS_POISON(p, n) __asan_poison_memory_region((p), (n))
#define TS_UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define TS_POISON(p, n) ((void)(p), (void)(n))
#define TS_UNPOISON(p, n) ((void)(p), (void)(n))
#endif
#endif
