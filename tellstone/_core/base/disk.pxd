"""Files, as logs and snapshots use them: the one place where the core touches a disk (`disk.h` has the arms).

Answers are 0 or an errno, and a negative errno where a number or a descriptor is the answer. Writes and syncs wait: nobody calls them with a
shard's lock held.
"""
from libc.stdint cimport int64_t, uint64_t

cdef extern from "disk.h" nogil:
    enum: DISK_READ "TS_DISK_READ"                  # an existing file, to read
    enum: DISK_CREATE "TS_DISK_CREATE"              # a new one, mode 0600, to read and write; EEXIST where there is one
    enum: DISK_MODIFY "TS_DISK_MODIFY"              # an existing one, to read and write
    ctypedef int (*DiskVisit "ts_disk_visit")(void* owner, const char* name) noexcept nogil     # not 0: that will do

    bint disk_is_full "ts_disk_is_full"(int error) noexcept         # an errno that says that there is no room
    int disk_open "ts_disk_open"(const char* path, int how) noexcept        # a descriptor
    void disk_close "ts_disk_close"(int fd) noexcept
    # All of it or an error, after which the bytes before it may be there
    int disk_write "ts_disk_write"(int fd, const char* p, size_t n, uint64_t at) noexcept
    # How many bytes were there, fewer than n only at the file's end
    int64_t disk_read "ts_disk_read"(int fd, char* p, size_t n, uint64_t at) noexcept
    int64_t disk_size "ts_disk_size"(int fd) noexcept
    # The file is at least so long and has room on the disk for it; what is new reads as zeros
    int disk_allocate "ts_disk_allocate"(int fd, uint64_t size) noexcept
    int disk_truncate "ts_disk_truncate"(int fd, uint64_t size) noexcept
    int disk_sync "ts_disk_sync"(int fd) noexcept                           # what is in it and how long it is
    int disk_sync_all "ts_disk_sync_all"(int fd) noexcept                   # and when it was written
    int disk_rename "ts_disk_rename"(const char* source, const char* target) noexcept       # replaces what is there
    int disk_unlink "ts_disk_unlink"(const char* path) noexcept
    int disk_make_directory "ts_disk_make_directory"(const char* path) noexcept             # mode 0700; 0 where one is
    int disk_sync_directory "ts_disk_sync_directory"(const char* path) noexcept             # names made, changed and gone in it
    int disk_list "ts_disk_list"(const char* path, DiskVisit visit, void* owner) noexcept
    # A file that only one process holds at a time: a descriptor to keep, -EWOULDBLOCK: another has it. A child of fork holds it too until
    # it closes the descriptor.
    int disk_lock "ts_disk_lock"(const char* path) noexcept
