"""The bridge from a group to Python (see control.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport strlen

from tellstone._core.base.atomics cimport swap_u32
from tellstone._core.base.queue cimport QUEUE_OK, Node, queue_close, queue_init, queue_push, queue_take
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.wake cimport wake_clear
from tellstone._core.net.mailbox cimport (
    AnswerMessage, Mailbox, answer_message, mailbox_ref, mailbox_send, mailbox_unref,
)
from tellstone._core.session.session cimport ParkedCall, Patch, parked_free

check_layout(__name__)

cdef const char* UNANSWERED = b"-ERR internal error: the command was not answered\r\n"


cdef bint send_answer(
    Mailbox* mailbox, uint32_t slot, uint32_t generation, const char* reply, size_t len, const Patch* patch,
) noexcept nogil:
    """False without memory."""
    cdef AnswerMessage* message = answer_message(slot, generation, reply, len, patch)
    if message == NULL:
        return False
    mailbox_send(mailbox, &message.head)
    return True


cdef void send_unanswered(Mailbox* mailbox, uint32_t slot, uint32_t generation) noexcept nogil:
    cdef Patch patch
    patch.proto = patch.db = patch.authenticated = -1
    patch.close = False
    send_answer(mailbox, slot, generation, UNANSWERED, strlen(UNANSWERED), &patch)


cdef void item_free(ControlItem* item) noexcept nogil:
    """A call that is still in the item, and so has not become a ControlCall, is answered with an error."""
    if item.mailbox != NULL:
        send_unanswered(item.mailbox, item.slot, item.generation)
        mailbox_unref(item.mailbox)
    parked_free(item.parked)
    free(item.lines)
    free(item)


# For members ----------------------------------------------------------------------------------------------------


cdef bint control_send_call(
    Queue* q, Mailbox* mailbox, uint32_t slot, uint32_t generation, ParkedCall* parked,
) noexcept nogil:
    cdef ControlItem* item = <ControlItem*>calloc(1, sizeof(ControlItem))
    if item == NULL:
        parked_free(parked)
        return False
    mailbox_ref(mailbox)
    item.kind = CONTROL_CALL
    item.mailbox = mailbox
    item.slot = slot
    item.generation = generation
    item.parked = parked
    if queue_push(q, &item.node, True) == QUEUE_OK:
        return True
    item.mailbox = NULL                 # the member answers this one itself
    mailbox_unref(mailbox)
    item_free(item)
    return False


cdef void control_send_report(
    Queue* q, uint64_t token, uint32_t member, int64_t count, char* lines, size_t len,
) noexcept nogil:
    cdef ControlItem* item = <ControlItem*>calloc(1, sizeof(ControlItem))
    if item == NULL:
        free(lines)
        return
    item.kind = CONTROL_REPORT
    item.token = token
    item.member = member
    item.count = count
    item.lines = lines
    item.len = len
    if queue_push(q, &item.node, False) != QUEUE_OK:
        item_free(item)


# For Python -----------------------------------------------------------------------------------------------------


cdef class ControlCall:
    """A control command that a connection waits for.

    name: its full name in lower case, "config|get". args: what was sent, args[0] being the command's name. client_id,
    db, proto, addr, laddr, client_name: of the connection, at the time of the call.
    """

    def answer(self, bytes reply not None, *, int proto=-1, int db=-1, int authenticated=-1, bint close=False):
        """Send a whole reply, encoded for the connection's protocol; once, from any thread. The connection goes on.

        proto, db, authenticated: what the command changes of the connection; -1 leaves it. close: close it after the
        reply.
        """
        cdef Patch patch
        if swap_u32(&self.answered, 1):
            raise RuntimeError(f"{self.name} has been answered already")
        patch.proto = proto
        patch.db = db
        patch.authenticated = authenticated
        patch.close = close
        if not send_answer(self.mailbox, self.slot, self.generation, reply, len(reply), &patch):
            self.answered = 0
            raise MemoryError("no memory for a reply")

    def __dealloc__(self):
        if self.mailbox == NULL:
            return
        if not self.answered:
            send_unanswered(self.mailbox, self.slot, self.generation)
        mailbox_unref(self.mailbox)


cdef class Report:
    """What one thread says to a question of DriverGroup.ask_clients.

    token: of the question. member: which one answers. lines: the CLIENT LIST lines of its clients, or None. count: how
    many clients it has listed, or closed.
    """


cdef ControlCall call_of(ControlItem* item):
    cdef ControlCall call = ControlCall.__new__(ControlCall)
    cdef uint32_t i
    call.slot = item.slot
    call.generation = item.generation
    call.mailbox = item.mailbox         # the item's count; from here on the call answers, whatever happens
    item.mailbox = NULL
    call.name = item.parked.command.full_name.decode("ascii")
    call.args = tuple([item.parked.argv[i].ptr[:item.parked.argv[i].len] for i in range(item.parked.argc)])
    call.client_id = item.parked.client_id
    call.db = item.parked.db
    call.proto = item.parked.proto
    call.addr = item.parked.addr.ptr[:item.parked.addr.len]
    call.laddr = item.parked.laddr.ptr[:item.parked.laddr.len]
    call.client_name = item.parked.name.ptr[:item.parked.name.len]
    return call


cdef Report report_of(ControlItem* item):
    cdef Report report = Report.__new__(Report)
    report.token = item.token
    report.member = item.member
    report.count = item.count
    report.lines = None if item.lines == NULL else item.lines[:item.len]
    return report


cdef void items_free(Node* node) noexcept nogil:
    cdef Node* next
    while node != NULL:
        next = node.next
        item_free(<ControlItem*>node)
        node = next


cdef class ControlBridge:
    """The queue between the threads of a group and Python. capacity: how many control commands may wait; further ones hear BUSY."""

    def __cinit__(self, uint32_t capacity=1024):
        if queue_init(&self.queue, capacity) != 0:
            raise OSError("no descriptor for the control queue")

    def __dealloc__(self):
        items_free(queue_close(&self.queue))

    def fileno(self):
        """A descriptor that is readable while something is to be drained; for `loop.add_reader` and the like."""
        return self.queue.wake.reader

    def drain(self):
        """Everything that has arrived, oldest first: ControlCall and Report objects. Never waits."""
        cdef Node* node
        cdef ControlItem* item
        wake_clear(&self.queue.wake)
        node = queue_take(&self.queue)
        items = []
        try:
            while node != NULL:
                item = <ControlItem*>node
                items.append(call_of(item) if item.kind == CONTROL_CALL else report_of(item))
                node = node.next
                item_free(item)
        except BaseException:
            items_free(node)
            raise
        return items
