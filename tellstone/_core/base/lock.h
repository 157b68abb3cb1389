/* The small lock of a shard: spin a little, then sleep. Three states, after Drepper, "Futexes are tricky" (2011), mutex 2:
 * 0 free, 1 held, 2 held and somebody may sleep. A futex puts sleepers to bed on Linux; elsewhere, and with
 * TELLSTONE_PORTABLE, they nap. Four bytes, no destructor, no owner: whoever holds it may hand it on. */
#ifndef TELLSTONE_LOCK_H
#define TELLSTONE_LOCK_H
#include "atomics.h"
#include "platform.h"
#if defined(__linux__) && !defined(TELLSTONE_PORTABLE)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
static inline void ts_lock_sleep(uint32_t *word) {
  struct timespec t = {0, 1000000};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, &t, 0, 0);
}
static inline void ts_lock_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0); }
static inline void ts_word_wait(uint32_t *word, uint32_t value, int64_t us) {
  struct timespec t = {us / 1000000, (us % 1000000) * 1000};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, 0, 0);
}
static inline void ts_word_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0); }
#else
static inline void ts_lock_sleep(uint32_t *word) { (void)word; ts_sleep_us(50); }
static inline void ts_lock_wake(uint32_t *word) { (void)word; }
static inline void ts_word_wait(uint32_t *word, uint32_t value, int64_t us) {
  for (; us > 0 && ts_load_u32(word) == value; us -= 5000) ts_sleep_us(us < 5000 ? us : 5000);
}
static inline void ts_word_wake(uint32_t *word) { (void)word; }
#endif

typedef struct { uint32_t word; } ts_lock;

static inline int ts_lock_try(ts_lock *lock) { return ts_cas_u32(&lock->word, 0, 1); }

static inline void ts_lock_wait(ts_lock *lock) {
  for (int spin = 0; spin < 128; spin++) {
    TS_RELAX();
    if (ts_relaxed_u32(&lock->word) == 0 && ts_cas_u32(&lock->word, 0, 1)) return;
  }
  while (ts_swap_u32(&lock->word, 2) != 0) ts_lock_sleep(&lock->word);
}

static inline void ts_lock_acquire(ts_lock *lock) {
  if (!ts_cas_u32(&lock->word, 0, 1)) ts_lock_wait(lock);
}

/* A locked instruction costs as much as a look-up, so the usual case looks first and stores then. A sleeper that comes in between is
 * not woken: only a holder that is preempted just there gives it the time, and its sleep is short for that reason. */
static inline void ts_lock_release(ts_lock *lock) {
  if (ts_relaxed_u32(&lock->word) == 1) ts_store_u32(&lock->word, 0);
  else if (ts_swap_u32(&lock->word, 0) == 2) ts_lock_wake(&lock->word);
}
#endif
