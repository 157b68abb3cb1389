"""What is evicted at the ceiling, and what an entry's 24 bits of access mean under that.

Every policy keeps its books in the 24 bits that an entry has anyway (store.entry); none needs a byte more in it:

    TRACK_TIME      seconds of Unix time of the last access: noeviction, lru, random, ttl
    TRACK_LFU       16 bits of minutes of Unix time, when the counter was last looked at, above an 8-bit counter that grows with the
                    logarithm of the accesses and shrinks with the minutes (Redis's numbers and rules): lfu
    TRACK_S3FIFO    22 bits of the key's number in the small queue above 2 bits that count accesses up to 3 (store.s3fifo)

Another policy at run time takes the bits as they are and sorts itself out with use, as in Redis.

THREADS: all fields are written by CONFIG and read relaxed, by whoever holds whatever lock.
"""
from libc.stdint cimport uint32_t

cdef enum EvictionPolicy:           # the order is that of POLICIES in store.keyspace
    POLICY_NONE = 0
    POLICY_ALLKEYS_LRU = 1
    POLICY_ALLKEYS_LFU = 2
    POLICY_ALLKEYS_RANDOM = 3
    POLICY_ALLKEYS_S3FIFO = 4
    POLICY_VOLATILE_LRU = 5
    POLICY_VOLATILE_LFU = 6
    POLICY_VOLATILE_RANDOM = 7
    POLICY_VOLATILE_TTL = 8

cdef enum Tracking:
    TRACK_TIME = 0
    TRACK_LFU = 1
    TRACK_S3FIFO = 2

cdef enum:
    SAMPLES_MAX = 64

cdef struct EvictionRules:
    uint32_t policy                 # EvictionPolicy
    uint32_t tracking               # the policy's Tracking
    uint32_t samples                # maxmemory-samples, 1 to SAMPLES_MAX
    uint32_t lfu_log_factor         # accesses that a counter's next step takes, times the steps it has made
    uint32_t lfu_decay_time         # minutes that cost a counter one step; 0: it never shrinks

cdef inline Tracking policy_tracking(EvictionPolicy policy) noexcept nogil:
    if policy == POLICY_ALLKEYS_LFU or policy == POLICY_VOLATILE_LFU:
        return TRACK_LFU
    return TRACK_S3FIFO if policy == POLICY_ALLKEYS_S3FIFO else TRACK_TIME

cdef inline bint policy_is_volatile(EvictionPolicy policy) noexcept nogil:
    """Only keys with a deadline may go."""
    return policy >= POLICY_VOLATILE_LRU
