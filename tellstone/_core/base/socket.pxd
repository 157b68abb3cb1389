"""Non-blocking sockets (`socket.h`).

Reads and writes answer the number of bytes, SOCK_AGAIN or SOCK_BROKEN; a read answers 0 when the peer has ended.
"""
cdef extern from "socket.h" nogil:
    const int SOCK_AGAIN "TS_SOCK_AGAIN"
    const int SOCK_BROKEN "TS_SOCK_BROKEN"
    const int SOCK_SCARCE "TS_SOCK_SCARCE"              # of sock_accept: try again in a while

    ctypedef struct IoVec "struct iovec":
        void* iov_base
        size_t iov_len

    ssize_t sock_read "ts_sock_read"(int fd, void* p, size_t n) noexcept
    ssize_t sock_write "ts_sock_write"(int fd, const void* p, size_t n) noexcept
    ssize_t sock_writev "ts_sock_writev"(int fd, const IoVec* v, int n) noexcept
    bint sock_gone "ts_sock_gone"(int fd) noexcept                   # broken, or ended by both sides
    int sock_accept "ts_sock_accept"(int listener) noexcept          # a non-blocking descriptor, or one of the above
    void sock_set_up "ts_sock_set_up"(int fd, int keepalive_s) noexcept      # of an accepted TCP socket
    void sock_address "ts_sock_address"(int fd, bint peer, char* text, size_t room) noexcept
    void sock_finish "ts_sock_finish"(int fd) noexcept               # nothing more will be written
    void sock_close "ts_sock_close"(int fd) noexcept
