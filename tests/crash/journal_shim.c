/* Preloaded before the C library: whatever a process changes on the disk under JOURNAL_ROOT is done and written down, in the file JOURNAL, in the
 * one order in which it happened (crash/journal.py reads it). A sync is written down twice, when it begins and when it has ended, and only takes a
 * moment: what it makes durable is for the reader of the journal to say.
 *
 * Before the change number JOURNAL_DEATH, from 1, the process kills itself. While there is a file JOURNAL_TROUBLE syncs of files fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FILES 65536
#define SYNC_US 200

enum { OPEN = 1, WRITE, ZEROS, SIZE, RENAME, UNLINK, MAKE, SYNC, SYNCED };

struct head {
  uint32_t size; /* of what follows */
  uint32_t kind;
  uint64_t file; /* what OPEN has called it */
  uint64_t at;
  int64_t time_us; /* of the monotonic clock */
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *root, *trouble;
static size_t root_len;
static int journal = -1;
static uint64_t files[FILES], opened;
static long until_death;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("JOURNAL"), *death = getenv("JOURNAL_DEATH");
  root = getenv("JOURNAL_ROOT");
  trouble = getenv("JOURNAL_TROUBLE");
  if (!path || !root) return;
  root_len = strlen(root);
  until_death = death ? atol(death) : 0;
  journal = REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
  return journal >= 0 && path && strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || !path[root_len]);
}
static uint64_t file_of(int fd) { return journal >= 0 && fd >= 0 && fd < FILES ? files[fd] : 0; }

static void note(uint32_t kind, uint64_t file, uint64_t at, const void *data, size_t n) {
  struct timespec now;
  struct head h = {(uint32_t)n, kind, file, at, 0};
  struct iovec parts[2] = {{&h, sizeof h}, {(void *)data, n}};
  clock_gettime(CLOCK_MONOTONIC, &now);
  h.time_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
  if (writev(journal, parts, n ? 2 : 1) != (ssize_t)(sizeof h + n)) abort();
}
/* The lock is held from before a change until it has been done and noted, so nothing comes in between, death neither. */
static void begin_change(void) {
  pthread_mutex_lock(&order);
  if (until_death && --until_death == 0) kill(getpid(), SIGKILL);
}
static void end_change(void) { pthread_mutex_unlock(&order); }

static int do_open(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  int fd;
  if (!is_ours(path)) {
    fd = real(path, flags, mode);
    if (fd >= 0 && fd < FILES) files[fd] = 0;
    return fd;
  }
  if (flags & O_CREAT) begin_change();
  else pthread_mutex_lock(&order);
  fd = real(path, flags, mode);
  if (fd >= 0 && fd < FILES) {
    files[fd] = (uint64_t)getpid() << 32 | ++opened;
    note(OPEN, files[fd], (flags & O_CREAT) != 0, path, strlen(path));
  }
  end_change();
  return fd;
}
int open(const char *path, int flags, ...) {
  va_list rest;
  mode_t mode;
  va_start(rest, flags);
  mode = va_arg(rest, mode_t);
  va_end(rest);
  return do_open(REAL(open), path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  mode_t mode;
  va_start(rest, flags);
  mode = va_arg(rest, mode_t);
  va_end(rest);
  return do_open(REAL(open64), path, flags, mode);
}

static ssize_t do_write(int fd, const void *p, size_t n, off64_t at) {
  uint64_t file = file_of(fd), size = n;
  ssize_t done;
  if (!file) return REAL(pwrite64)(fd, p, n, at);
  begin_change();
  done = REAL(pwrite64)(fd, p, n, at);
  if (done > 0) {
    size = (uint64_t)done;
    if (*(const char *)p == 0 && memcmp(p, (const char *)p + 1, size - 1) == 0) note(ZEROS, file, (uint64_t)at, &size, sizeof size);
    else note(WRITE, file, (uint64_t)at, p, size);
  }
  end_change();
  return done;
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return do_write(fd, p, n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) { return do_write(fd, p, n, at); }

static int do_truncate(int fd, off64_t size) {
  uint64_t file = file_of(fd);
  int failed;
  if (!file) return REAL(ftruncate64)(fd, size);
  begin_change();
  failed = REAL(ftruncate64)(fd, size);
  if (!failed) note(SIZE, file, (uint64_t)size, NULL, 0);
  end_change();
  return failed;
}
int ftruncate(int fd, off_t size) { return do_truncate(fd, size); }
int ftruncate64(int fd, off64_t size) { return do_truncate(fd, size); }

static int do_allocate(int fd, off64_t at, off64_t n) {
  uint64_t file = file_of(fd);
  struct stat s;
  int failed;
  if (!file) return REAL(posix_fallocate64)(fd, at, n);
  begin_change();
  failed = REAL(posix_fallocate64)(fd, at, n);
  if (!failed && fstat(fd, &s) == 0) note(SIZE, file, (uint64_t)s.st_size, NULL, 0);
  end_change();
  return failed;
}
int posix_fallocate(int fd, off_t at, off_t n) { return do_allocate(fd, at, n); }
int posix_fallocate64(int fd, off64_t at, off64_t n) { return do_allocate(fd, at, n); }

int rename(const char *from, const char *to) {
  char both[2 * PATH_MAX];
  size_t n;
  int failed;
  if (!is_ours(from) || !is_ours(to)) return REAL(rename)(from, to);
  n = strlen(from) + 1;
  memcpy(both, from, n);
  strcpy(both + n, to);
  begin_change();
  failed = REAL(rename)(from, to);
  if (!failed) note(RENAME, 0, 0, both, n + strlen(to));
  end_change();
  return failed;
}
int unlink(const char *path) {
  int failed;
  if (!is_ours(path)) return REAL(unlink)(path);
  begin_change();
  failed = REAL(unlink)(path);
  if (!failed) note(UNLINK, 0, 0, path, strlen(path));
  end_change();
  return failed;
}
int mkdir(const char *path, mode_t mode) {
  int failed;
  if (!is_ours(path)) return REAL(mkdir)(path, mode);
  begin_change();
  failed = REAL(mkdir)(path, mode);
  if (!failed) note(MAKE, 0, 0, path, strlen(path));
  end_change();
  return failed;
}

static int do_sync(int fd, int (*real)(int)) {
  uint64_t file = file_of(fd);
  struct stat s;
  if (!file) return real(fd);
  begin_change();
  note(SYNC, file, 0, NULL, 0);
  end_change();
  usleep(SYNC_US);
  if (trouble && access(trouble, F_OK) == 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
    errno = EIO;
    return -1;
  }
  begin_change();
  note(SYNCED, file, 0, NULL, 0);
  end_change();
  return 0;
}
int fsync(int fd) { return do_sync(fd, REAL(fsync)); }
int fdatasync(int fd) { return do_sync(fd, REAL(fdatasync)); }
