"""A queue from many threads to one, with a descriptor that wakes the receiver.

    sender                                      receiver, when wake.reader is readable
    queue_push(q, &item.node, bounded)          wake_clear(&q.wake)
                                                node = queue_take(q)        a chain, oldest first

Items are the sender's memory until they are taken. The descriptor is signalled only when the queue was empty. A list
and not an array: of the items some must never be lost (answers, reports), and their number is bounded by what they
belong to; only `bounded` pushes are refused when `limit` items wait. A ring would make the others wait, or lose them.
ORDER: the receiver clears before it takes. An item pushed in between is either taken now or signals again; at worst a
wake-up finds nothing.
LOCK: `lock` guards everything but `wake`; it is a leaf.
"""
from libc.stdint cimport uint32_t

from tellstone._core.base.lock cimport Lock, lock_acquire, lock_release
from tellstone._core.base.wake cimport Wake, wake_close, wake_open, wake_signal

cdef enum QueueResult:
    QUEUE_OK = 0
    QUEUE_FULL = -1
    QUEUE_CLOSED = -2                   # the receiver is gone; the item is still the sender's

cdef struct Node:                       # the first field of an item
    Node* next

cdef struct Queue:
    Lock lock
    uint32_t count
    uint32_t limit
    uint32_t closed                     # bool
    Node* head
    Node* tail
    Wake wake

cdef inline int queue_init(Queue* q, uint32_t limit) noexcept nogil:
    """0, or -1 without descriptors."""
    q.lock.word = 0
    q.count = 0
    q.limit = limit
    q.closed = False
    q.head = NULL
    q.tail = NULL
    return wake_open(&q.wake)

cdef inline int queue_push(Queue* q, Node* node, bint bounded) noexcept nogil:
    cdef int result = QUEUE_OK
    cdef bint was_empty = False
    node.next = NULL
    lock_acquire(&q.lock)
    if q.closed:
        result = QUEUE_CLOSED
    elif bounded and q.count >= q.limit:
        result = QUEUE_FULL
    else:
        was_empty = q.count == 0
        if was_empty:
            q.head = node
        else:
            q.tail.next = node
        q.tail = node
        q.count += 1
    # LOCK: signalled under the lock, so that queue_close cannot close the descriptor in between. It never waits.
    if was_empty:
        wake_signal(&q.wake)
    lock_release(&q.lock)
    return result

cdef inline Node* queue_take(Queue* q) noexcept nogil:
    """Everything that is there; the chain is the caller's."""
    cdef Node* chain
    lock_acquire(&q.lock)
    chain = q.head
    q.head = NULL
    q.tail = NULL
    q.count = 0
    lock_release(&q.lock)
    return chain

cdef inline void queue_wake(Queue* q) noexcept nogil:
    """Make the receiver look, though nothing has been pushed."""
    lock_acquire(&q.lock)
    if not q.closed:
        wake_signal(&q.wake)
    lock_release(&q.lock)

cdef inline Node* queue_close(Queue* q) noexcept nogil:
    """Refuse further items and close the descriptor; answers the rest."""
    cdef Node* chain
    lock_acquire(&q.lock)
    q.closed = True
    chain = q.head
    q.head = NULL
    q.tail = NULL
    q.count = 0
    wake_close(&q.wake)
    lock_release(&q.lock)
    return chain
