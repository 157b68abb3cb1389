/* Preloaded before the C library: the disk calls of tellstone/_core/base/disk.h fail when they are told to, and are counted. A program sets the
 * variables through ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

int shim_fail_sync, shim_fail_directory, shim_fail_write, shim_fail_allocate; /* an errno, 0: no */
int shim_short_write;                                                         /* at most so many bytes of a write, 0: all */
int shim_hold_sync;                                                           /* not 0: the sync of a file waits until it is */
int shim_syncs, shim_writes;
unsigned long shim_failed_inode; /* of the file whose sync has failed last */
int shim_syncs_of_failed;        /* syncs of that file since */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int sync_fails(int fd) {
  struct stat s;
  int directory;
  if (fstat(fd, &s)) return 0;
  directory = S_ISDIR(s.st_mode);
  shim_syncs += !directory;
  while (!directory && *(volatile int *)&shim_hold_sync) usleep(1000);
  if (!directory && s.st_ino == shim_failed_inode) shim_syncs_of_failed++;
  if (!(directory ? shim_fail_directory : shim_fail_sync)) return 0;
  if (!directory) { shim_failed_inode = s.st_ino; shim_syncs_of_failed = 0; }
  errno = directory ? shim_fail_directory : shim_fail_sync;
  return 1;
}
int fdatasync(int fd) { return sync_fails(fd) ? -1 : REAL(fdatasync)(fd); }
int fsync(int fd) { return sync_fails(fd) ? -1 : REAL(fsync)(fd); }

static int write_fails(size_t *n) {
  shim_writes++;
  if (shim_fail_write) { errno = shim_fail_write; return 1; }
  if (shim_short_write && *n > (size_t)shim_short_write) *n = (size_t)shim_short_write;
  return 0;
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return write_fails(&n) ? -1 : REAL(pwrite)(fd, p, n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) { return write_fails(&n) ? -1 : REAL(pwrite64)(fd, p, n, at); }
int posix_fallocate(int fd, off_t at, off_t n) { return shim_fail_allocate ? shim_fail_allocate : REAL(posix_fallocate)(fd, at, n); }
int posix_fallocate64(int fd, off64_t at, off64_t n) {
  return shim_fail_allocate ? shim_fail_allocate : REAL(posix_fallocate64)(fd, at, n);
}
