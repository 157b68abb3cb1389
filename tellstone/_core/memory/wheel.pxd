"""A hierarchical timing wheel over nodes that live inside arena objects.

After Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987). Four levels of `slots` buckets; a bucket
of level n covers slots^n ticks. A deadline is filed by its distance into the finest level that reaches it; when a
coarse bucket's turn comes its nodes are filed again. Registering and cancelling cost O(1); advancing costs O(1) a node
and level, and stops after a given budget, so that a million deadlines of one second are worked off in small steps.

A node is three fields at WHEEL_NODE_AT of its object: u32 next, u32 prev, i64 deadline (Unix time in ms). `next` and
`prev` are handles. The first node of a bucket has the bucket's number plus one as `prev`: handles start at 8192, so a
smaller number is a bucket.

LOCK: guarded by the lock of the shard that owns the wheel.
INVARIANT: `tick` is the first tick that has not been worked off; no node is filed before it.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.memory.arena cimport Arena

cdef enum:
    WHEEL_NODE_AT = 7               # bytes into the object
    WHEEL_NODE_SIZE = 16
    WHEEL_LEVELS = 4
    WHEEL_SLOTS_MIN = 8
    WHEEL_SLOTS_MAX = 1024

cdef struct Wheel:
    uint32_t* heads                 # WHEEL_LEVELS * slots buckets; NULL until the first registration
    uint32_t slots
    int64_t tick_ms
    int64_t tick
    uint64_t count                  # nodes filed
    uint64_t sum                    # of their deadlines: 128 bits, for far deadlines are nearly 2^63
    uint64_t sum_high

# What to do with a node that is due. It has been taken off the wheel.
ctypedef void (*WheelExpire)(void* owner, uint32_t handle) noexcept nogil

cdef void wheel_init(Wheel* w, int64_t tick_ms, uint32_t slots) noexcept nogil
cdef void wheel_destroy(Wheel* w) noexcept nogil
cdef bint wheel_ready(Wheel* w, int64_t now_ms) noexcept nogil      # make the buckets if need be; False without memory
cdef void wheel_add(Wheel* w, Arena* a, uint32_t handle, int64_t deadline) noexcept nogil   # only after wheel_ready
cdef void wheel_cancel(Wheel* w, Arena* a, uint32_t handle) noexcept nogil
cdef void wheel_moved(Wheel* w, Arena* a, uint32_t was, uint32_t now) noexcept nogil  # an object has another handle now
cdef inline double wheel_sum(const Wheel* w) noexcept nogil:
    """The sum of the deadlines."""
    return <double>w.sum + <double>w.sum_high * 18446744073709551616.0
# Nodes for eviction, all by handle. The first one of a bucket, or of the next that has one, around the end; `bucket` is where it was.
# There is a node.
cdef uint32_t wheel_first(const Wheel* w, uint32_t* bucket) noexcept nogil
cdef uint32_t wheel_next(const Arena* a, uint32_t handle) noexcept nogil    # in the same bucket; 0: it was the last
# The nearest deadline, as far as `most` nodes of the first bucket of each level tell. There is a node.
cdef uint32_t wheel_nearest(const Wheel* w, const Arena* a, uint32_t most) noexcept nogil
# Work off what is due at now_ms, at most `budget` nodes and ticks. True when there is more to do.
cdef bint wheel_advance(Wheel* w, Arena* a, int64_t now_ms, uint32_t budget, WheelExpire expire, void* owner) noexcept nogil
