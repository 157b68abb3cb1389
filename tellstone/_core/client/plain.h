/* A plain socket of a client that waits: it blocks, bounded by SO_RCVTIMEO, so that a request costs one send and one receive.
 * Answers are numbers of bytes or a negative errno; -ETIMEDOUT when the time is up, -EINTR when the caller is to look for signals. */
#ifndef TELLSTONE_PLAIN_H
#define TELLSTONE_PLAIN_H
#include "platform.h"
#include <errno.h>

#define TS_PLAIN_READ 1
#define TS_PLAIN_WRITE 2

#ifdef _WIN32 /* there a client goes through Python's socket objects */
#define TS_PLAIN 0
static inline ptrdiff_t ts_plain_send(int fd, const void *p, size_t n) { (void)fd; (void)p; (void)n; return -EIO; }
static inline ptrdiff_t ts_plain_wait(int fd, void *p, size_t n) { (void)fd; (void)p; (void)n; return -EIO; }
static inline ptrdiff_t ts_plain_take(int fd, void *p, size_t n) { (void)fd; (void)p; (void)n; return -EIO; }
static inline int ts_plain_ready(int fd, int want, int64_t deadline_us) { (void)fd; (void)want; (void)deadline_us; return -EIO; }
static inline int ts_plain_bound(int fd, int64_t us) { (void)fd; (void)us; return -EIO; }
static inline int ts_plain_quiet(int fd) { (void)fd; return 0; }
#else
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#define TS_PLAIN 1
#ifndef MSG_NOSIGNAL /* the interpreter ignores SIGPIPE */
#define MSG_NOSIGNAL 0
#endif

static inline ptrdiff_t ts_plain_result(ssize_t n) { return n >= 0 ? n : errno == EWOULDBLOCK ? -EAGAIN : -errno; }

/* What the socket takes now; -EAGAIN: nothing. */
static inline ptrdiff_t ts_plain_send(int fd, const void *p, size_t n) {
  return ts_plain_result(send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL));
}
/* What the socket has; waits for it as long as ts_plain_bound has said. */
static inline ptrdiff_t ts_plain_wait(int fd, void *p, size_t n) {
  ptrdiff_t got = ts_plain_result(recv(fd, p, n, 0));
  return got == -EAGAIN ? -ETIMEDOUT : got;
}
/* What the socket has now; -EAGAIN: nothing. */
static inline ptrdiff_t ts_plain_take(int fd, void *p, size_t n) { return ts_plain_result(recv(fd, p, n, MSG_DONTWAIT)); }

/* Wait for what is wanted of READ and WRITE until a time of ts_mono_us, 0: for ever. Answers which of them it is. */
static inline int ts_plain_ready(int fd, int want, int64_t deadline_us) {
  struct pollfd p = {fd, (short)((want & TS_PLAIN_READ ? POLLIN : 0) | (want & TS_PLAIN_WRITE ? POLLOUT : 0)), 0};
  int64_t left = deadline_us ? deadline_us - ts_mono_us() : 0;
  int ms = !deadline_us ? -1 : left <= 0 ? 0 : left > 3600000000 ? 3600000 : (int)((left + 999) / 1000);
  int n = poll(&p, 1, ms);
  if (n < 0) return -errno;
  if (n == 0) return deadline_us && deadline_us <= ts_mono_us() ? -ETIMEDOUT : 0;
  /* An error or the end shows when it is read. */
  return (p.revents & ~POLLOUT ? TS_PLAIN_READ & want : 0) | (p.revents & ~POLLIN ? TS_PLAIN_WRITE & want : 0);
}
static inline int ts_plain_bound(int fd, int64_t us) {
  struct timeval t;
  t.tv_sec = us / 1000000;
  t.tv_usec = us % 1000000;
  return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) ? -errno : 0;
}
/* The peer has neither said anything nor gone. */
static inline int ts_plain_quiet(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}
#endif
#endif
