"""S3-FIFO over a partition: what stays is what is asked for again.

After Yang, Zhang, Qiu, Yue and Vigfusson, "FIFO queues are all you need for cache eviction" (SOSP 2023). A new key enters a small
queue, a tenth of the keys; one that leaves it having been asked for twice or more moves to the main queue, any other is evicted and
its tag remembered. A remembered key that comes back goes to the main queue at once. That queue takes whoever is at its end and
was asked for since back to its head, one access poorer. So a scan, however long, washes through a tenth of the memory.

Three queues of 8-byte nodes would cost 16 bytes a key and more. Here it is at most 2, with nothing moved on a read:

- Accesses: 2 bits of the entry's 24 (store.policy), counted up to 3, so that a hot key is not written to any more.
- Small queue: a queue of 4-byte tags in chunks, 0.4 to 0.7 bytes a key of the partition. Its places are numbered; an entry's
  other 22 bits are its number. It is in the queue if its number lies between the queue's ends: one that is overwritten, moved or
  deleted needs nothing done to the queue, and a place whose key is gone is recognized and skipped.
- Main queue: a CLOCK over the table in the order of tags, 0 bytes. A key joins somewhere on the hand's way instead of behind it; a
  tag has nothing to do with how a key is used, so over many keys that is the same (replayed traces agree within noise).
- Ghosts: 16-bit remainders of tags in rows of eight, each row a FIFO, for 0.6 times as many as there are keys: 1.2 bytes a key.
  A stranger is taken for a ghost once in 8,000 times. Where nothing is evicted there are none.

As long as there is room, what would make the small queue half as long again as it should be moves to the main queue unseen (its number
drops out between the ends, nothing else happens): the queue's memory stays bounded before the first eviction too.

LOCK: guarded by the shard's lock.
INVARIANT: head - tail < S3_NUMBERS / 2, so that a number's distance from tail tells whether it is between them. A number that was left
behind seems to be so again when the queue has gone round, for a while: such a key is passed over for that long, and that is all.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from tellstone._core.memory.arena cimport Arena
from tellstone._core.store.table cimport Table

cdef enum:
    S3_COUNT_MAX = 3
    S3_COUNT_BITS = 2
    S3_NUMBERS = 1 << 22
    S3_CHUNK = 128                  # tags
    S3_ROW = 8                      # ghosts

cdef struct S3Fifo:                 # all zero: empty
    uint32_t** chunks               # a circle: the chunk of place n is at n / S3_CHUNK % chunks_room
    uint64_t chunks_room
    uint64_t tail                   # place of the oldest key of the small queue
    uint64_t head                   # place of the next
    uint16_t* ghosts                # rows of S3_ROW, the latest first, 0: none
    uint64_t ghost_rows
    uint64_t hand                   # tag at which the clock goes on
    uint64_t bytes                  # of what the pointers point to

cdef inline uint32_t s3_count(uint32_t access) noexcept nogil:
    return access & S3_COUNT_MAX

cdef inline uint32_t s3_touched(uint32_t access) noexcept nogil:
    return access + (access & S3_COUNT_MAX != S3_COUNT_MAX)

cdef void s3_clear(S3Fifo* q) noexcept nogil                # gives its memory back
# What the access bits of a new key with this tag are; `keys` is how many there are. Without memory it belongs to the main queue.
cdef uint32_t s3_begin(S3Fifo* q, uint32_t tag, uint64_t keys) noexcept nogil
# The slot of the key to evict, of the table's; it has left its queue. Takes what it has looked at from the budget. NULL: the
# budget is used up, or the table is empty.
cdef uint64_t* s3_victim(S3Fifo* q, Table* t, Arena* a, uint32_t* budget) noexcept nogil
