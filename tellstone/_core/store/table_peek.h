/* The slot array, and the one reader that looks at it without the shard's lock.
 * A peek may see a slot in the middle of a shift, or an array that has just been replaced. It uses what it sees for nothing
 * but a prefetch, so the worst is a prefetch of the wrong line. Memory order: the array's pointer is loaded with acquire, so
 * that its size is there; slots are relaxed. */
#ifndef TELLSTONE_TABLE_PEEK_H
#define TELLSTONE_TABLE_PEEK_H
#include "tellstone/_core/base/atomics.h"
#include "tellstone/_core/base/platform.h"

typedef struct {
  uint64_t size;
  uint64_t slack;
  uint64_t slot[];
} ts_slot_array;

#if defined(__SANITIZE_THREAD__)
#define TS_RACY __attribute__((no_sanitize("thread"), noinline))
#else
#define TS_RACY inline
#endif

static TS_RACY ts_slot_array *ts_peek_array(ts_slot_array **now, ts_slot_array **old, const uint64_t *boundary, uint32_t tag) {
  ts_slot_array *a;
  if (tag < ts_relaxed_u64(boundary)) return (ts_slot_array *)ts_load_ptr((void **)now);
  a = (ts_slot_array *)ts_load_ptr((void **)old);
  return a ? a : (ts_slot_array *)ts_load_ptr((void **)now);
}

static TS_RACY void ts_peek_prefetch(ts_slot_array **now, ts_slot_array **old, const uint64_t *boundary, uint32_t tag) {
  ts_slot_array *a = ts_peek_array(now, old, boundary, tag);
  if (a) TS_PREFETCH(&a->slot[(uint64_t)tag * a->size >> 32]);
}

static TS_RACY uint32_t ts_peek_handle(ts_slot_array **now, ts_slot_array **old, const uint64_t *boundary, uint32_t tag) {
  ts_slot_array *a = ts_peek_array(now, old, boundary, tag);
  uint64_t i, end, v;
  if (!a) return 0;
  i = (uint64_t)tag * a->size >> 32;
  end = i + 16 < a->size + a->slack ? i + 16 : a->size + a->slack;
  for (; i < end; i++) {
    v = ts_relaxed_u64(&a->slot[i]);
    if (v >> 32 >= tag) return v >> 32 == tag ? (uint32_t)v : 0;
    if (!v) return 0;
  }
  return 0;
}
#endif
