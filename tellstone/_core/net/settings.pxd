"""What a group of threads is told by configuration. Zero means no limit, or off.

LOCK: none. DriverGroup.configure stores each field atomically, the threads load it relaxed whenever they need it: a
setting need not change in all threads at once.
"""
from libc.stdint cimport uint64_t

cdef struct Settings:
    uint64_t max_clients
    uint64_t idle_timeout_ms            # close connections that have been silent for so long
    uint64_t keepalive_s                # of connections accepted from now on
    uint64_t output_hard                # bytes that may wait for a client to read them
    uint64_t output_soft                # bytes that may wait for longer than output_soft_ms
    uint64_t output_soft_ms
    uint64_t max_request                # bytes of one argument
    uint64_t max_frame                  # bytes of one frame of the native protocol
