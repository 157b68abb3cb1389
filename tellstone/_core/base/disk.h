/* Files, as logs and snapshots use them. Every call that changes something on a disk stands here and is a plain one of the C library
 * (pwrite, fdatasync, fsync, posix_fallocate, ftruncate, rename, unlink; pwrite64 and its like where offsets are wide), so that
 * a preloaded library can get at each of them.
 *
 * Answers are 0 or an errno; where a number or a descriptor is the answer, an errno comes negative. Paths are UTF-8. */
#ifndef TELLSTONE_DISK_H
#define TELLSTONE_DISK_H
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define TS_DISK_READ 0    /* an existing file, to read */
#define TS_DISK_CREATE 1  /* a new file, mode 0600, to read and write; EEXIST where there is one */
#define TS_DISK_MODIFY 2  /* an existing file, to read and write */
#define TS_DISK_CHUNK (1 << 30) /* bytes of one call */

/* An errno that says that there is no room. */
static inline int ts_disk_is_full(int error) {
#ifdef EDQUOT
  if (error == EDQUOT) return 1;
#endif
  return error == ENOSPC || error == EFBIG;
}

typedef int (*ts_disk_visit)(void *owner, const char *name); /* not 0: that will do */

#ifdef _WIN32
#include <direct.h>
#include <io.h>
#include <share.h>
#include <windows.h>
#define TS_DISK_PATH 32768

static __inline int ts_disk_error(void) {
  switch (GetLastError()) {
    case ERROR_DISK_FULL: case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_FILE_NOT_FOUND: case ERROR_PATH_NOT_FOUND: return ENOENT;
    case ERROR_ACCESS_DENIED: case ERROR_SHARING_VIOLATION: case ERROR_LOCK_VIOLATION: return EACCES;
    case ERROR_FILE_EXISTS: case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_WRITE_PROTECT: return EROFS;
    default: return EIO;
  }
}
static __inline int ts_disk_wide(const char *path, wchar_t *wide) {
  return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, TS_DISK_PATH) ? 0 : EINVAL;
}
static __inline int ts_disk_open(const char *path, int how) {
  static const int flags[3] = {_O_RDONLY, _O_RDWR | _O_CREAT | _O_EXCL, _O_RDWR};
  wchar_t wide[TS_DISK_PATH];
  int fd;
  if (ts_disk_wide(path, wide)) return -EINVAL;
  if (_wsopen_s(&fd, wide, flags[how] | _O_BINARY | _O_NOINHERIT, _SH_DENYNO, _S_IREAD | _S_IWRITE)) return -errno;
  return fd;
}
static __inline int ts_disk_write(int fd, const char *p, size_t n, uint64_t at) {
  while (n) {
    DWORD done = 0, step = (DWORD)(n < TS_DISK_CHUNK ? n : TS_DISK_CHUNK);
    OVERLAPPED o = {0};
    o.Offset = (DWORD)at; o.OffsetHigh = (DWORD)(at >> 32);
    if (!WriteFile((HANDLE)_get_osfhandle(fd), p, step, &done, &o)) return ts_disk_error();
    p += done; n -= done; at += done;
  }
  return 0;
}
static __inline int64_t ts_disk_read(int fd, char *p, size_t n, uint64_t at) {
  size_t all = 0;
  while (all < n) {
    DWORD done = 0, step = (DWORD)(n - all < TS_DISK_CHUNK ? n - all : TS_DISK_CHUNK);
    OVERLAPPED o = {0};
    o.Offset = (DWORD)(at + all); o.OffsetHigh = (DWORD)((at + all) >> 32);
    if (!ReadFile((HANDLE)_get_osfhandle(fd), p + all, step, &done, &o)) {
      if (GetLastError() == ERROR_HANDLE_EOF) break;
      return -ts_disk_error();
    }
    if (!done) break;
    all += done;
  }
  return (int64_t)all;
}
static __inline int64_t ts_disk_size(int fd) { int64_t n = _filelengthi64(fd); return n < 0 ? -errno : n; }
static __inline int ts_disk_truncate(int fd, uint64_t size) { return _chsize_s(fd, (int64_t)size); }
static __inline int ts_disk_allocate(int fd, uint64_t size) { return ts_disk_truncate(fd, size); }
static __inline int ts_disk_sync(int fd) { return FlushFileBuffers((HANDLE)_get_osfhandle(fd)) ? 0 : ts_disk_error(); }
static __inline int ts_disk_sync_all(int fd) { return ts_disk_sync(fd); }
static __inline int ts_disk_sync_directory(const char *path) { (void)path; return 0; } /* renames below write through */
static __inline void ts_disk_close(int fd) { _close(fd); }
static __inline int ts_disk_rename(const char *from, const char *to) {
  wchar_t a[TS_DISK_PATH], b[TS_DISK_PATH];
  if (ts_disk_wide(from, a) || ts_disk_wide(to, b)) return EINVAL;
  return MoveFileExW(a, b, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) ? 0 : ts_disk_error();
}
static __inline int ts_disk_unlink(const char *path) {
  wchar_t wide[TS_DISK_PATH];
  if (ts_disk_wide(path, wide)) return EINVAL;
  return DeleteFileW(wide) ? 0 : ts_disk_error();
}
static __inline int ts_disk_make_directory(const char *path) {
  wchar_t wide[TS_DISK_PATH];
  if (ts_disk_wide(path, wide)) return EINVAL;
  return CreateDirectoryW(wide, 0) || GetLastError() == ERROR_ALREADY_EXISTS ? 0 : ts_disk_error();
}
static __inline int ts_disk_list(const char *path, ts_disk_visit visit, void *owner) {
  wchar_t wide[TS_DISK_PATH];
  char name[1024];
  WIN32_FIND_DATAW found;
  HANDLE h;
  int stop = 0;
  if (ts_disk_wide(path, wide)) return EINVAL;
  if (wcslen(wide) + 3 > TS_DISK_PATH) return ENAMETOOLONG;
  wcscat_s(wide, TS_DISK_PATH, L"\\*");
  h = FindFirstFileW(wide, &found);
  if (h == INVALID_HANDLE_VALUE) return ts_disk_error();
  do {
    if (WideCharToMultiByte(CP_UTF8, 0, found.cFileName, -1, name, sizeof name, 0, 0)) stop = visit(owner, name);
  } while (!stop && FindNextFileW(h, &found));
  FindClose(h);
  return 0;
}
static __inline int ts_disk_lock(const char *path) {
  wchar_t wide[TS_DISK_PATH];
  HANDLE h;
  if (ts_disk_wide(path, wide)) return -EINVAL;
  h = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ, 0, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, 0);
  if (h == INVALID_HANDLE_VALUE) return GetLastError() == ERROR_SHARING_VIOLATION ? -EWOULDBLOCK : -ts_disk_error();
  return _open_osfhandle((intptr_t)h, _O_RDWR | _O_BINARY);
}
#else
#include <dirent.h>
#include <sys/file.h>
#include <unistd.h>

static inline int ts_disk_open(const char *path, int how) {
  static const int flags[3] = {O_RDONLY, O_RDWR | O_CREAT | O_EXCL, O_RDWR};
  int fd = open(path, flags[how] | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : fd;
}
/* All of it, or an error; bytes before the one that failed may be there. */
static inline int ts_disk_write(int fd, const char *p, size_t n, uint64_t at) {
  while (n) {
    ssize_t done = pwrite(fd, p, n < TS_DISK_CHUNK ? n : TS_DISK_CHUNK, (off_t)at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) return ENOSPC;
    p += done; n -= (size_t)done; at += (uint64_t)done;
  }
  return 0;
}
/* How many bytes there are, at most n: fewer only at the end. */
static inline int64_t ts_disk_read(int fd, char *p, size_t n, uint64_t at) {
  size_t all = 0;
  while (all < n) {
    ssize_t done = pread(fd, p + all, n - all < TS_DISK_CHUNK ? n - all : TS_DISK_CHUNK, (off_t)(at + all));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    if (done == 0) break;
    all += (size_t)done;
  }
  return (int64_t)all;
}
static inline int64_t ts_disk_size(int fd) { struct stat s; return fstat(fd, &s) ? -errno : (int64_t)s.st_size; }
static inline int ts_disk_truncate(int fd, uint64_t size) { return ftruncate(fd, (off_t)size) ? errno : 0; }
#if defined(__APPLE__)
static inline int ts_disk_allocate(int fd, uint64_t size) {
  struct stat s;
  fstore_t want = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, 0, 0};
  if (fstat(fd, &s)) return errno;
  if ((uint64_t)s.st_size >= size) return 0;
  want.fst_length = (off_t)(size - (uint64_t)s.st_size);
  if (fcntl(fd, F_PREALLOCATE, &want) && errno != ENOTSUP) return errno;
  return ts_disk_truncate(fd, size);
}
/* fsync leaves the data in the drive's cache; file systems of others do not know the flush. */
static inline int ts_disk_sync_all(int fd) {
  if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
  if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY) return errno;
  return fsync(fd) ? errno : 0;
}
static inline int ts_disk_sync(int fd) { return ts_disk_sync_all(fd); }
#else
/* File systems that cannot reserve get a longer file: then only a write tells that the disk is full. */
static inline int ts_disk_allocate(int fd, uint64_t size) {
  int failed = posix_fallocate(fd, 0, (off_t)size);
  return failed == EOPNOTSUPP || failed == EINVAL ? ts_disk_truncate(fd, size) : failed;
}
static inline int ts_disk_sync_all(int fd) { return fsync(fd) ? errno : 0; }
static inline int ts_disk_sync(int fd) { return fdatasync(fd) ? errno : 0; }
#endif
static inline void ts_disk_close(int fd) { close(fd); }
static inline int ts_disk_rename(const char *from, const char *to) { return rename(from, to) ? errno : 0; }
static inline int ts_disk_unlink(const char *path) { return unlink(path) ? errno : 0; }
static inline int ts_disk_make_directory(const char *path) { return mkdir(path, 0700) && errno != EEXIST ? errno : 0; }
/* Names made, renamed or removed in a directory are durable; some file systems know no such sync and need none. */
static inline int ts_disk_sync_directory(const char *path) {
  int failed, fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  failed = fsync(fd) && errno != EINVAL ? errno : 0;
  close(fd);
  return failed;
}
static inline int ts_disk_list(const char *path, ts_disk_visit visit, void *owner) {
  DIR *d = opendir(path);
  struct dirent *entry;
  if (!d) return errno;
  while ((entry = readdir(d)) && !visit(owner, entry->d_name)) {}
  closedir(d);
  return 0;
}
/* Held until the descriptor is closed, in a child of fork too; -EWOULDBLOCK: somebody else has it. */
static inline int ts_disk_lock(const char *path) {
  int failed, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return -errno;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  failed = errno;
  close(fd);
  return -failed;
}
#endif
#endif
