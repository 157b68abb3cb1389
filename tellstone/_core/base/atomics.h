/* Named memory orders over the compiler's atomics: GCC and clang builtins, MSVC intrinsics.
 * Only the shapes that Tellstone uses. On x86-64 every plain access is already acquire/release, which is why
 * the MSVC arm may use volatile accesses with /volatile:ms semantics. */
#ifndef TELLSTONE_ATOMICS_H
#define TELLSTONE_ATOMICS_H
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static __inline uint32_t ts_load_u32(const volatile uint32_t *p) { return *p; }
static __inline uint64_t ts_load_u64(const volatile uint64_t *p) { return *p; }
static __inline void *ts_load_ptr(void *const volatile *p) { return *p; }
static __inline void ts_store_u32(volatile uint32_t *p, uint32_t v) { *p = v; }
static __inline void ts_store_u64(volatile uint64_t *p, uint64_t v) { *p = v; }
static __inline void ts_store_ptr(void *volatile *p, void *v) { *p = v; }
static __inline uint64_t ts_swap_u64(volatile uint64_t *p, uint64_t v) { return (uint64_t)_InterlockedExchange64((volatile __int64 *)p, (__int64)v); }
static __inline uint32_t ts_swap_u32(volatile uint32_t *p, uint32_t v) { return (uint32_t)_InterlockedExchange((volatile long *)p, (long)v); }
static __inline uint32_t ts_add_u32(volatile uint32_t *p, uint32_t v) { return (uint32_t)_InterlockedExchangeAdd((volatile long *)p, (long)v); }
static __inline uint64_t ts_add_u64(volatile uint64_t *p, uint64_t v) { return (uint64_t)_InterlockedExchangeAdd64((volatile __int64 *)p, (__int64)v); }
static __inline int ts_cas_u32(volatile uint32_t *p, uint32_t was, uint32_t to) { return (uint32_t)_InterlockedCompareExchange((volatile long *)p, (long)to, (long)was) == was; }
static __inline uint64_t ts_relaxed_u64(const volatile uint64_t *p) { return *p; }
static __inline uint32_t ts_relaxed_u32(const volatile uint32_t *p) { return *p; }
#else
static inline uint32_t ts_load_u32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline uint64_t ts_load_u64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void *ts_load_ptr(void *const *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void ts_store_u32(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline void ts_store_u64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline void ts_store_ptr(void **p, void *v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline uint64_t ts_swap_u64(uint64_t *p, uint64_t v) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }
static inline uint32_t ts_swap_u32(uint32_t *p, uint32_t v) { return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL); }
static inline uint32_t ts_add_u32(uint32_t *p, uint32_t v) { return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL); }
static inline uint64_t ts_add_u64(uint64_t *p, uint64_t v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
static inline int ts_cas_u32(uint32_t *p, uint32_t was, uint32_t to) {
  return __atomic_compare_exchange_n(p, &was, to, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline uint64_t ts_relaxed_u64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline uint32_t ts_relaxed_u32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
#endif
#endif
