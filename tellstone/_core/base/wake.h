/* A descriptor that becomes readable when another thread says so: an eventfd on Linux, a pipe elsewhere. */
#ifndef TELLSTONE_WAKE_H
#define TELLSTONE_WAKE_H
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/eventfd.h>
#endif

typedef struct { int reader, writer; } ts_wake;

static inline int ts_wake_open(ts_wake *w) {
#if defined(__linux__)
  w->reader = w->writer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return w->reader < 0 ? -1 : 0;
#else
  int ends[2];
  if (pipe(ends) != 0) { w->reader = w->writer = -1; return -1; }
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[i], F_SETFL, O_NONBLOCK);
  }
  w->reader = ends[0];
  w->writer = ends[1];
  return 0;
#endif
}
static inline void ts_wake_close(ts_wake *w) {
  if (w->reader >= 0) close(w->reader);
  if (w->writer >= 0 && w->writer != w->reader) close(w->writer);
  w->reader = w->writer = -1;
}
/* Both may fail only with EAGAIN: then the descriptor is readable already, or not any more. */
static inline void ts_wake_signal(ts_wake *w) {
  uint64_t one = 1;
  ssize_t n = write(w->writer, &one, sizeof one);
  (void)n;
}
static inline void ts_wake_clear(ts_wake *w) {
  char bytes[512];
  while (read(w->reader, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {}
}
#endif
