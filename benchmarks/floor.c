/* The least a server can do: one epoll loop that reads, walks the requests of RESP in what it has read, and writes a reply made
 * beforehand for each, +OK for a SET and a value for everything else. There is no store behind it. What a request costs it is the
 * price of the system's sockets, and what a request costs a real server is told in multiples of that.
 *
 *     floor PORT VALUE_SIZE
 *
 * Requests that end in the middle of a read wait in memory of their connection; all else goes through buffers of the process. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, READ = 1 << 18, REPLIES = 1 << 18, REQUEST_MIN = 14 };

typedef struct {
  int fd;
  size_t size;   /* of the part of a request that waits */
  char *waiting; /* room for `cap` bytes */
  size_t cap;
} connection;

static char *input, *replies, *bulk;
static size_t input_cap = READ, bulk_size, reply_size;

static void *must(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

static void send_replies(int fd) {
  size_t sent = 0;
  while (sent < reply_size) {
    ssize_t n = write(fd, replies + sent, reply_size - sent);
    if (n > 0) sent += (size_t)n;
    else if (n < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    else break; /* the next read finds out */
  }
  reply_size = 0;
}

static void reply(int fd, char command) {
  if (reply_size > REPLIES) send_replies(fd);
  if (command == 'S') {
    memcpy(replies + reply_size, "+OK\r\n", 5);
    reply_size += 5;
  } else {
    memcpy(replies + reply_size, bulk, bulk_size);
    reply_size += bulk_size;
  }
}

/* A number and the line's end behind a type byte; NULL: not all of it is there. */
static const char *number(const char *at, const char *end, size_t *value) {
  size_t n = 0;
  for (at++; at < end && *at != '\r'; at++) n = n * 10 + (size_t)(*at - '0');
  *value = n;
  return end - at >= 2 ? at + 2 : NULL;
}

/* Where a request ends that begins at `at`; NULL: it is not complete. */
static const char *walk(const char *at, const char *end, char *command) {
  size_t words, len, i;
  if (end - at < REQUEST_MIN || (at = number(at, end, &words)) == NULL) return NULL;
  for (i = 0; i < words; i++) {
    if (at >= end || (at = number(at, end, &len)) == NULL || (size_t)(end - at) < len + 2) return NULL;
    if (i == 0) *command = *at;
    at += len + 2;
  }
  return at;
}

static void keep(connection *c, const char *at, size_t size) {
  if (size > c->cap) c->waiting = must(realloc(c->waiting, c->cap = size));
  if (size) memcpy(c->waiting, at, size);
  c->size = size;
}

/* 0: the connection has ended. */
static int serve(connection *c) {
  const char *at = input, *next, *end;
  char command = 0;
  ssize_t n;
  if (c->size + READ > input_cap) {
    input_cap = 2 * (c->size + READ);
    at = input = must(realloc(input, input_cap));
  }
  if (c->size) memcpy(input, c->waiting, c->size);
  n = read(c->fd, input + c->size, input_cap - c->size);
  if (n <= 0) return n < 0 && errno == EAGAIN;
  end = input + c->size + n;
  while ((next = walk(at, end, &command)) != NULL) {
    reply(c->fd, command);
    at = next;
  }
  keep(c, at, (size_t)(end - at));
  send_replies(c->fd);
  return 1;
}

static void welcome(int poller, int listener) {
  int fd, one = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    connection *c = must(calloc(1, sizeof *c));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    c->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) abort();
  }
}

static void farewell(connection *c) {
  close(c->fd);
  free(c->waiting);
  free(c);
}

static int listen_at(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
    perror("floor");
    exit(1);
  }
  return fd;
}

static void make_bulk(size_t value_size) {
  bulk = must(malloc(value_size + 32));
  bulk_size = (size_t)sprintf(bulk, "$%zu\r\n", value_size);
  memset(bulk + bulk_size, 'x', value_size);
  memcpy(bulk + bulk_size + value_size, "\r\n", 2);
  bulk_size += value_size + 2;
}

int main(int argc, char **argv) {
  struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.ptr = NULL};
  int listener, poller, count, i;
  if (argc != 3) {
    fprintf(stderr, "usage: floor PORT VALUE_SIZE\n");
    return 2;
  }
  make_bulk((size_t)atol(argv[2]));
  input = must(malloc(input_cap));
  replies = must(malloc(REPLIES + 2 * bulk_size));
  listener = listen_at(atoi(argv[1]));
  poller = epoll_create1(0);
  if (epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) != 0) abort();
  while ((count = epoll_wait(poller, events, EVENTS, -1)) >= 0 || errno == EINTR) {
    for (i = 0; i < count; i++) {
      connection *c = events[i].data.ptr;
      if (c == NULL) welcome(poller, listener);
      else if (!serve(c)) farewell(c);
    }
  }
  return 1;
}
