/* The hashes of keys that were looked up lately. FNV-1a is a chain of multiplies, some 20 ns for 16 bytes: as much as all the rest
 * of finding a key that is in cache, and a dict, which keeps a hash with its object, pays nothing. Where a key's bytes lie in
 * memory says which entry may have its hash; the bytes themselves say whether it does. Beside the hash stands where the key was found,
 * which saves the next one the probing (see table_take_hint for when it holds).
 * LOCK: the GIL. An interpreter without one computes every hash. */
#ifndef TELLSTONE_RECENT_H
#define TELLSTONE_RECENT_H
#include "bytesops.h"
#include "fnv.h"
#include "tellstone/_core/store/table_peek.h"

#define TS_RECENT_KEY 48
#define TS_RECENT_BITS 10

typedef struct {
  uint64_t hash;
  ts_slot_hint place;
  size_t len;
  char key[TS_RECENT_KEY];
} ts_recent_entry;

typedef struct { ts_recent_entry entry[1 << TS_RECENT_BITS]; } ts_recent;

/* The key's hash, and its entry; NULL: none is kept for such a key. */
static inline ts_recent_entry *ts_recent_hash(ts_recent *recent, const char *key, size_t len, uint64_t *hash) {
#ifndef Py_GIL_DISABLED
  ts_recent_entry *e;
  if (len - 8 <= TS_RECENT_KEY - 8) {
    e = &recent->entry[(uintptr_t)key * 0x9e3779b97f4a7c15ull >> (64 - TS_RECENT_BITS)];
    if (e->len != len || !ts_same_bytes(e->key, key, len)) {
      e->hash = ts_fnv1a(key, len);
      e->place.at = 0;
      e->len = len;
      memcpy(e->key, key, len);
    }
    *hash = e->hash;
    return e;
  }
#endif
  (void)recent;
  *hash = ts_fnv1a(key, len);
  return 0;
}
#endif
