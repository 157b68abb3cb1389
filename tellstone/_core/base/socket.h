/* Sockets as a reactor uses them: never waiting, errors sorted by what the caller can do about them. */
#ifndef TELLSTONE_SOCKET_H
#define TELLSTONE_SOCKET_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define TS_SOCK_AGAIN (-1)  /* nothing now */
#define TS_SOCK_BROKEN (-2) /* never again */
#define TS_SOCK_SCARCE (-3) /* accept: no descriptors or memory for another one */

static inline ptrdiff_t ts_sock_result(ssize_t n) {
  if (n >= 0) return n;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? TS_SOCK_AGAIN : TS_SOCK_BROKEN;
}
/* SIGPIPE: threads of ours block all signals, and the interpreter ignores it. */
static inline ptrdiff_t ts_sock_read(int fd, void *p, size_t n) { return ts_sock_result(read(fd, p, n)); }
static inline ptrdiff_t ts_sock_write(int fd, const void *p, size_t n) { return ts_sock_result(write(fd, p, n)); }
static inline ptrdiff_t ts_sock_writev(int fd, const struct iovec *v, int n) {
  return ts_sock_result(writev(fd, v, n));
}

/* Whether the connection is gone in both directions, as a poller would report unasked. */
static inline int ts_sock_gone(int fd) {
  struct pollfd p = {fd, 0, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

static inline int ts_sock_accept(int listener) {
#if defined(__APPLE__)
  int fd = accept(listener, 0, 0);
  if (fd >= 0) { fcntl(fd, F_SETFL, O_NONBLOCK); fcntl(fd, F_SETFD, FD_CLOEXEC); }
#else
  int fd = accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
#endif
  if (fd >= 0) return fd;
  switch (errno) {
    case EMFILE: case ENFILE: case ENOBUFS: case ENOMEM: return TS_SOCK_SCARCE;
    case EBADF: case EINVAL: case ENOTSOCK: case EOPNOTSUPP: case EFAULT: return TS_SOCK_BROKEN;
    default: return TS_SOCK_AGAIN; /* Linux also reports here what became of that one connection */
  }
}

/* Small replies leave at once; a peer that has vanished is found out after about two keepalive intervals (0: never). */
static inline void ts_sock_set_up(int fd, int keepalive_s) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (keepalive_s <= 0) return;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
#if defined(TCP_KEEPIDLE)
  int step = keepalive_s / 3 > 0 ? keepalive_s / 3 : 1, probes = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &keepalive_s, sizeof keepalive_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &step, sizeof step);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
#elif defined(TCP_KEEPALIVE)
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPALIVE, &keepalive_s, sizeof keepalive_s);
#endif
}

/* "127.0.0.1:5000" or "[::1]:5000", terminated; "?:0" where the peer is gone already. */
static inline void ts_sock_address(int fd, int peer, char *text, size_t room) {
  struct sockaddr_storage a;
  socklen_t n = sizeof a;
  char host[INET6_ADDRSTRLEN];
  int failed = peer ? getpeername(fd, (struct sockaddr *)&a, &n) : getsockname(fd, (struct sockaddr *)&a, &n);
  if (!failed && a.ss_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    snprintf(text, room, "%s:%d", host, ntohs(v4->sin_port));
  } else if (!failed && a.ss_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    snprintf(text, room, "[%s]:%d", host, ntohs(v6->sin6_port));
  } else {
    snprintf(text, room, "?:0");
  }
}
static inline void ts_sock_finish(int fd) { shutdown(fd, SHUT_WR); }
static inline void ts_sock_close(int fd) { close(fd); }
#endif
