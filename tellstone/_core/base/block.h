/* Counted blocks: values too big for an arena. Whoever holds a count may read the bytes without any lock; they never
 * change while more than one count is out. */
#ifndef TELLSTONE_BLOCK_H
#define TELLSTONE_BLOCK_H
#include "atomics.h"
#include "debug.h"
#include <stdlib.h>
typedef struct {
  uint32_t refs;
  uint32_t unused;
  uint64_t size; /* bytes in use */
  uint64_t room; /* bytes allocated behind the header */
  char data[];
} ts_block;

static inline ts_block *ts_block_new(size_t size, size_t room) {
  ts_block *b = (ts_block *)malloc(sizeof(ts_block) + room);
  if (b) { b->refs = 1; b->unused = 0; b->size = size; b->room = room; ts_live_add(TS_LIVE_BLOCK, 1); }
  return b;
}
static inline void ts_block_ref(ts_block *b) { ts_add_u32(&b->refs, 1); }
static inline void ts_block_unref(ts_block *b) {
  if (ts_add_u32(&b->refs, (uint32_t)-1) != 1) return;
  ts_live_add(TS_LIVE_BLOCK, -1);
  free(b);
}
static inline int ts_block_shared(ts_block *b) { return ts_load_u32(&b->refs) != 1; }
#endif
