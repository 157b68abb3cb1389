/* The hashes of keys that were looked up lately. FNV-1a is a chain of multiplies, some 20 ns for 16 bytes: as much as all the rest
 * of finding a key that is in cache, and a dict, which keeps a hash with its object, pays nothing. Where a key's bytes lie in
 * memory says which entry may have its hash; the bytes themselves say whether it does.
 * LOCK: the GIL. An interpreter without one computes every hash. */
#ifndef TELLSTONE_RECENT_H
#define TELLSTONE_RECENT_H
#include "bytesops.h"
#include "fnv.h"

#define TS_RECENT_KEY 48
#define TS_RECENT_BITS 10

typedef struct {
  uint64_t hash;
  size_t len;
  char key[TS_RECENT_KEY];
} ts_recent_entry;

typedef struct { ts_recent_entry entry[1 << TS_RECENT_BITS]; } ts_recent;

static inline uint64_t ts_recent_hash(ts_recent *recent, const char *key, size_t len) {
#ifndef Py_GIL_DISABLED
  ts_recent_entry *e;
  if (len - 8 > TS_RECENT_KEY - 8) return ts_fnv1a(key, len);
  e = &recent->entry[(uintptr_t)key * 0x9e3779b97f4a7c15ull >> (64 - TS_RECENT_BITS)];
  if (e->len == len && ts_same_bytes(e->key, key, len)) return e->hash;
  e->hash = ts_fnv1a(key, len);
  e->len = len;
  memcpy(e->key, key, len);
  return e->hash;
#else
  (void)recent;
  return ts_fnv1a(key, len);
#endif
}
#endif
