"""Readiness of many descriptors: epoll or kqueue (`poller.h`).

Level-triggered. `owner` comes back with each event and belongs to the caller. poller_remove comes before close: a
forked child may hold a duplicate of the descriptor, and epoll would go on reporting it.
"""
from libc.stdint cimport int64_t, uint32_t

cdef extern from "poller.h" nogil:
    ctypedef struct Event "ts_event":
        pass
    const uint32_t POLL_READ "TS_POLL_READ"
    const uint32_t POLL_WRITE "TS_POLL_WRITE"
    const uint32_t POLL_BROKEN "TS_POLL_BROKEN"         # reported unasked: the connection is gone in both directions

    int poller_open "ts_poller_open"() noexcept         # a descriptor, -1: none to be had
    int poller_add "ts_poller_add"(int poller, int fd, uint32_t interest, void* owner) noexcept     # 0 or -1
    int poller_change "ts_poller_change"(int poller, int fd, uint32_t was, uint32_t interest, void* owner) noexcept
    void poller_remove "ts_poller_remove"(int poller, int fd, uint32_t was) noexcept
    # The number of events, 0 after the timeout (in ms; -1: none) or a signal, -1: broken.
    int poller_wait "ts_poller_wait"(int poller, Event* events, int room, int timeout_ms) noexcept
    # The same with a timeout in ns, not below 0; costs a system call more when it sleeps.
    int poller_wait_ns "ts_poller_wait_ns"(int poller, Event* events, int room, int64_t timeout_ns) noexcept
    void* event_owner "ts_event_owner"(const Event* e) noexcept
    uint32_t event_what "ts_event_what"(const Event* e) noexcept
