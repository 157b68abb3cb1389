/* Assertions and address poisoning. In a release build all of it is nothing. */
#ifndef TELLSTONE_DEBUG_H
#define TELLSTONE_DEBUG_H
#ifdef TELLSTONE_DEBUG
#include <stdio.h>
#include <stdlib.h>
#define TS_ASSERT(ok) ((ok) ? (void)0 : (fprintf(stderr, "tellstone: assertion failed at %s:%d\n", __FILE__, __LINE__), abort()))
#else
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
