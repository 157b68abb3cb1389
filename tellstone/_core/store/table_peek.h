/* The slot array, how it is probed, and the one reader that looks at it without the shard's lock.
 *
 * Probing counts smaller tags four slots at a time without a branch: how far a slot is from home is a coin toss, and a branch
 * on it would be mispredicted at almost every look-up. Behind an empty slot all tags are larger, so nothing is counted twice.
 *
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

#define TS_PROBE_WIDTH 4 /* the slots behind the slack, empty for ever, that a probe may read */

/* The slot is that of a smaller tag; an empty one is not: it becomes the largest number. */
#define TS_SMALLER(v, tag) ((((v) - 1) >> 32) < (uint64_t)(tag))

/* The first slot at or behind `at` that is empty or whose tag is not smaller. */
static inline const uint64_t *ts_probe(const uint64_t *at, uint32_t tag) {
  for (;;) {
    int n = TS_SMALLER(at[0], tag) + TS_SMALLER(at[1], tag) + TS_SMALLER(at[2], tag) + TS_SMALLER(at[3], tag);
    at += n;
    if (n < TS_PROBE_WIDTH) return at;
  }
}

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
  const uint64_t *at;
  if (!a) return;
  at = &a->slot[(uint64_t)tag * a->size >> 32];
  TS_PREFETCH(at);
  TS_PREFETCH(at + TS_PROBE_WIDTH - 1); /* three in eight probes reach into the next line */
}

/* Where a peek found a slot, and what was in it: both may be the past by the time they are used. */
typedef struct {
  const uint64_t *at; /* NULL: nothing was found */
  uint64_t value;
} ts_slot_hint;

static TS_RACY uint32_t ts_peek_handle(ts_slot_array **now, ts_slot_array **old, const uint64_t *boundary, uint32_t tag,
                                       ts_slot_hint *hint) {
  ts_slot_array *a = ts_peek_array(now, old, boundary, tag);
  const uint64_t *at;
  uint64_t v[TS_PROBE_WIDTH];
  int n;
  hint->at = 0;
  if (!a) return 0;
  at = &a->slot[(uint64_t)tag * a->size >> 32];
  for (n = 0; n < TS_PROBE_WIDTH; n++) v[n] = ts_relaxed_u64(&at[n]);
  n = TS_SMALLER(v[0], tag) + TS_SMALLER(v[1], tag) + TS_SMALLER(v[2], tag) + TS_SMALLER(v[3], tag);
  if (n == TS_PROBE_WIDTH) { /* one more step reaches nearly all */
    at += n;
    for (n = 0; n < TS_PROBE_WIDTH; n++) v[n] = at < &a->slot[a->size + a->slack] ? ts_relaxed_u64(&at[n]) : 0;
    n = TS_SMALLER(v[0], tag) + TS_SMALLER(v[1], tag) + TS_SMALLER(v[2], tag) + TS_SMALLER(v[3], tag);
    if (n == TS_PROBE_WIDTH) return 0;
  }
  if (v[n] >> 32 != tag) return 0;
  hint->at = &at[n];
  hint->value = v[n];
  return (uint32_t)v[n];
}
#endif
