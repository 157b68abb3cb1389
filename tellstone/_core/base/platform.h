/* What the core asks of the operating system and the compiler: clocks, mapped memory, threads, hints. One arm a system. */
#ifndef TELLSTONE_PLATFORM_H
#define TELLSTONE_PLATFORM_H
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define TS_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#define TS_RELAX() _mm_pause()
static __inline uint64_t ts_mul_fold(uint64_t a, uint64_t b) { uint64_t hi, lo = _umul128(a, b, &hi); return hi ^ lo; }
#else
#define TS_PREFETCH(p) __builtin_prefetch((const void *)(p))
#if defined(__x86_64__) || defined(__i386__)
#define TS_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define TS_RELAX() __asm__ __volatile__("yield")
#else
#define TS_RELAX() ((void)0)
#endif
static inline uint64_t ts_mul_fold(uint64_t a, uint64_t b) {
  __uint128_t m = (__uint128_t)a * b;
  return (uint64_t)(m >> 64) ^ (uint64_t)m;
}
#endif

#ifdef _WIN32
#include <windows.h>
static inline int64_t ts_wall_ms(void) {
  FILETIME f; GetSystemTimePreciseAsFileTime(&f);
  return (int64_t)((((uint64_t)f.dwHighDateTime << 32 | f.dwLowDateTime) - 116444736000000000ull) / 10000);
}
static inline int64_t ts_wall_us(void) {
  FILETIME f; GetSystemTimePreciseAsFileTime(&f);
  return (int64_t)((((uint64_t)f.dwHighDateTime << 32 | f.dwLowDateTime) - 116444736000000000ull) / 10);
}
static inline int64_t ts_mono_us(void) {
  LARGE_INTEGER c, f; QueryPerformanceCounter(&c); QueryPerformanceFrequency(&f);
  return (int64_t)((double)c.QuadPart * 1e6 / (double)f.QuadPart);
}
static inline int64_t ts_mono_ns(void) {
  LARGE_INTEGER c, f; QueryPerformanceCounter(&c); QueryPerformanceFrequency(&f);
  return (int64_t)((double)c.QuadPart * 1e9 / (double)f.QuadPart);
}
static inline void *ts_map(size_t n) { return VirtualAlloc(0, n, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }
static inline void ts_unmap(void *p, size_t n) { (void)n; VirtualFree(p, 0, MEM_RELEASE); }
static inline void ts_discard(void *p, size_t n) { DiscardVirtualMemory(p, n); }
static inline void ts_make_huge(void *p, size_t n) { (void)p; (void)n; }
static inline void *ts_map_aligned(size_t n) { return ts_map(n); }
typedef HANDLE ts_thread;
typedef void (*ts_thread_main)(void *);
typedef struct { ts_thread_main run; void *arg; } ts_thread_start;
static DWORD WINAPI ts_thread_entry(LPVOID p) { ts_thread_start s = *(ts_thread_start *)p; free(p); s.run(s.arg); return 0; }
static inline int ts_thread_create(ts_thread *t, ts_thread_main run, void *arg) {
  ts_thread_start *s = (ts_thread_start *)malloc(sizeof *s);
  if (!s) return -1;
  s->run = run; s->arg = arg;
  *t = CreateThread(0, 0, ts_thread_entry, s, 0, 0);
  if (!*t) { free(s); return -1; }
  return 0;
}
static inline void ts_thread_join(ts_thread t) { WaitForSingleObject(t, INFINITE); CloseHandle(t); }
static inline void ts_thread_punctual(void) {}
static inline int ts_fork_handlers(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before; (void)parent; (void)child; /* nothing forks here */
  return 0;
}
static inline void ts_sleep_us(int64_t us) { Sleep((DWORD)(us / 1000 ? us / 1000 : 1)); }
static inline void ts_yield(void) { SwitchToThread(); }
#else
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
static inline int64_t ts_wall_us(void) {
  struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
static inline int64_t ts_wall_ms(void) { return ts_wall_us() / 1000; }
static inline int64_t ts_mono_ns(void) {
  struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int64_t ts_mono_us(void) { return ts_mono_ns() / 1000; }
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
/* Zeroed memory straight from the system; NULL when there is none. Nothing is resident until it is touched. */
static inline void *ts_map(size_t n) {
  void *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? 0 : p;
}
static inline void ts_unmap(void *p, size_t n) { munmap(p, n); }
/* n bytes aligned to n (a power of two): what transparent huge pages need. */
static inline void *ts_map_aligned(size_t n) {
  char *p = (char *)ts_map(n * 2);
  if (!p) return 0;
  size_t skip = (n - ((uintptr_t)p & (n - 1))) & (n - 1);
  if (skip) munmap(p, skip);
  munmap(p + skip + n, n - skip);
  return p + skip;
}
/* The pages keep their addresses and lose their content: they read as zero and cost nothing until touched again. */
static inline void ts_discard(void *p, size_t n) {
#if defined(__linux__)
  madvise(p, n, MADV_DONTNEED);
#else
  mmap(p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#endif
}
/* Memory that is all in use becomes huge pages: at once where the kernel can (Linux 6.1), else when it gets to it. */
static inline void ts_make_huge(void *p, size_t n) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
  if (madvise(p, n, MADV_HUGEPAGE) == 0) madvise(p, n, MADV_COLLAPSE);
#else
  (void)p; (void)n;
#endif
}
typedef pthread_t ts_thread;
typedef void (*ts_thread_main)(void *);
typedef struct { ts_thread_main run; void *arg; } ts_thread_start;
static void *ts_thread_entry(void *p) {
  ts_thread_start s = *(ts_thread_start *)p;
  free(p);
  s.run(s.arg);
  return 0;
}
/* Threads of ours take no signals: they belong to the interpreter's main thread. */
static inline int ts_thread_create(ts_thread *t, ts_thread_main run, void *arg) {
  sigset_t all, was;
  ts_thread_start *s = (ts_thread_start *)malloc(sizeof *s);
  if (!s) return -1;
  s->run = run;
  s->arg = arg;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &was);
  int failed = pthread_create(t, 0, ts_thread_entry, s);
  pthread_sigmask(SIG_SETMASK, &was, 0);
  if (failed) free(s);
  return failed ? -1 : 0;
}
static inline void ts_thread_join(ts_thread t) { pthread_join(t, 0); }
static inline void ts_thread_punctual(void) {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}
static inline int ts_fork_handlers(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  return pthread_atfork(before, parent, child);
}
static inline void ts_sleep_us(int64_t us) {
  struct timespec t = {us / 1000000, (us % 1000000) * 1000};
  nanosleep(&t, 0);
}
static inline void ts_yield(void) { sched_yield(); }
#endif
#endif
