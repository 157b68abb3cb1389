"""Plain sockets of a client that waits (`plain.h`): numbers of bytes, or a negative errno."""
from libc.stdint cimport int64_t

cdef extern from "tellstone/_core/client/plain.h" nogil:
    const bint PLAIN "TS_PLAIN"                 # there are such sockets on this system
    enum: PLAIN_READ "TS_PLAIN_READ"
    enum: PLAIN_WRITE "TS_PLAIN_WRITE"

    ssize_t plain_send "ts_plain_send"(int fd, const void* p, size_t n) noexcept            # what it takes now
    ssize_t plain_wait "ts_plain_wait"(int fd, void* p, size_t n) noexcept                  # what comes, in the time of plain_bound
    ssize_t plain_take "ts_plain_take"(int fd, void* p, size_t n) noexcept                  # what is there
    int plain_ready "ts_plain_ready"(int fd, int want, int64_t deadline_us) noexcept        # which of READ and WRITE; 0: look again
    int plain_bound "ts_plain_bound"(int fd, int64_t us) noexcept                           # 0: for ever
    bint plain_quiet "ts_plain_quiet"(int fd) noexcept                                      # neither input nor the end is there
