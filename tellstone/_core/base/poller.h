/* Readiness of many descriptors: epoll on Linux, kqueue on macOS and BSD. Level-triggered: what is not read is reported
 * again. On kqueue a descriptor may be reported twice in one wait, once to read and once to write. */
#ifndef TELLSTONE_POLLER_H
#define TELLSTONE_POLLER_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ppoll */
#endif
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#if defined(__linux__)
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#define TS_POLL_READ EPOLLIN
#define TS_POLL_WRITE EPOLLOUT
#define TS_POLL_BROKEN (EPOLLERR | EPOLLHUP)
typedef struct epoll_event ts_event;

static inline int ts_poller_open(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int ts_poller_ctl(int poller, int op, int fd, uint32_t interest, void *owner) {
  ts_event e;
  e.events = interest;
  e.data.ptr = owner;
  return epoll_ctl(poller, op, fd, &e);
}
static inline int ts_poller_add(int poller, int fd, uint32_t interest, void *owner) {
  return ts_poller_ctl(poller, EPOLL_CTL_ADD, fd, interest, owner);
}
static inline int ts_poller_change(int poller, int fd, uint32_t was, uint32_t interest, void *owner) {
  (void)was;
  return ts_poller_ctl(poller, EPOLL_CTL_MOD, fd, interest, owner);
}
static inline void ts_poller_remove(int poller, int fd, uint32_t was) {
  (void)was;
  ts_poller_ctl(poller, EPOLL_CTL_DEL, fd, 0, 0);
}
static inline int ts_poller_wait(int poller, ts_event *events, int room, int timeout_ms) {
  int n = epoll_wait(poller, events, room, timeout_ms);
  return n < 0 && errno == EINTR ? 0 : n;
}
/* epoll_wait counts in milliseconds; epoll_pwait2 does not, but is newer than the systems that we run on. */
static inline int ts_poller_wait_ns(int poller, ts_event *events, int room, int64_t timeout_ns) {
  struct pollfd ready = {poller, POLLIN, 0};
  struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  if (timeout_ns > 0 && ppoll(&ready, 1, &t, 0) == 0) return 0;
  return ts_poller_wait(poller, events, room, 0);
}
static inline void *ts_event_owner(const ts_event *e) { return e->data.ptr; }
static inline uint32_t ts_event_what(const ts_event *e) { return e->events; }

#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>
#define TS_POLL_READ 1u
#define TS_POLL_WRITE 2u
#define TS_POLL_BROKEN 4u /* never reported: the read or the write that follows fails instead */
typedef struct kevent ts_event;

static inline int ts_poller_open(void) { return kqueue(); }
static inline int ts_poller_change(int poller, int fd, uint32_t was, uint32_t interest, void *owner) {
  struct kevent changes[2];
  int n = 0;
  if ((was ^ interest) & TS_POLL_READ)
    EV_SET(&changes[n++], fd, EVFILT_READ, interest & TS_POLL_READ ? EV_ADD : EV_DELETE, 0, 0, owner);
  if ((was ^ interest) & TS_POLL_WRITE)
    EV_SET(&changes[n++], fd, EVFILT_WRITE, interest & TS_POLL_WRITE ? EV_ADD : EV_DELETE, 0, 0, owner);
  return n ? kevent(poller, changes, n, 0, 0, 0) : 0;
}
static inline int ts_poller_add(int poller, int fd, uint32_t interest, void *owner) {
  return ts_poller_change(poller, fd, 0, interest, owner);
}
static inline void ts_poller_remove(int poller, int fd, uint32_t was) { ts_poller_change(poller, fd, was, 0, 0); }
static inline int ts_poller_wait_ns(int poller, ts_event *events, int room, int64_t timeout_ns) {
  struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  int n = kevent(poller, 0, 0, events, room, timeout_ns < 0 ? 0 : &t);
  return n < 0 && errno == EINTR ? 0 : n;
}
static inline int ts_poller_wait(int poller, ts_event *events, int room, int timeout_ms) {
  return ts_poller_wait_ns(poller, events, room, timeout_ms < 0 ? -1 : timeout_ms * (int64_t)1000000);
}
static inline void *ts_event_owner(const ts_event *e) { return (void *)e->udata; }
static inline uint32_t ts_event_what(const ts_event *e) {
  return e->filter == EVFILT_READ ? TS_POLL_READ : TS_POLL_WRITE;
}

#else
#error "the reactor needs epoll or kqueue"
#endif
#endif
