"""Adding up what has been met with, and its face for Python (see outcome.pxd)."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.bytesops cimport View, copy_bytes
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.load.histogram cimport Histogram, durations_merge

check_layout(__name__)


cdef void outcome_error(Outcome* o, View text) noexcept nogil:
    """Keeps the first one: more would tell little more."""
    o.errors += 1
    if o.errors == 1:
        o.error_len = <uint32_t>(text.len if text.len < ERROR_KEPT else ERROR_KEPT)
        copy_bytes(o.error, text.ptr, o.error_len)


cdef void outcome_wrong(Outcome* o, uint64_t key, View value) noexcept nogil:
    o.wrong += 1
    if o.wrong == 1:
        o.wrong_key = key
        o.wrong_len = <uint32_t>(value.len if value.len < WRONG_KEPT else WRONG_KEPT)
        copy_bytes(o.wrong_value, value.ptr, o.wrong_len)


cdef void outcome_merge(Outcome* into, const Outcome* more) noexcept nogil:
    """Numbers may be read while their thread goes on. The first error and the first wrong value only after its end, as Python does."""
    cdef uint64_t* sum = &into.sent
    cdef const uint64_t* part = &more.sent
    cdef size_t i
    if more.error_len and not into.errors:
        into.error_len = more.error_len
        memcpy(into.error, more.error, more.error_len)
    if more.wrong and not into.wrong:
        into.wrong_key = more.wrong_key
        into.wrong_len = more.wrong_len
        memcpy(into.wrong_value, more.wrong_value, more.wrong_len)
    for i in range(<size_t>(<const char*>&more.reads - <const char*>more) // sizeof(uint64_t)):    # all before the histograms
        sum[i] += relaxed_u64(&part[i])
    durations_merge(&into.reads, &more.reads)
    durations_merge(&into.writes, &more.writes)


cdef Histogram histogram_of(const Durations* d):
    cdef Histogram histogram = Histogram.__new__(Histogram)
    durations_merge(&histogram.durations, d)
    return histogram


@cython.final
cdef class Tally:
    """What a load has met with so far."""

    @property
    def sent(self):
        """Requests that went out."""
        return self.outcome.sent

    @property
    def answered(self):
        """Requests whose reply has come."""
        return self.outcome.answered

    @property
    def hits(self):
        """Reads that found a value."""
        return self.outcome.hits

    @property
    def misses(self):
        """Reads that found none."""
        return self.outcome.misses

    @property
    def errors(self):
        """Error replies."""
        return self.outcome.errors

    @property
    def wrong(self):
        """Values that are not what their key must hold."""
        return self.outcome.wrong

    @property
    def unanswered(self):
        """Requests whose reply never came."""
        return self.outcome.unanswered

    @property
    def closed(self):
        """Connections that the server has closed."""
        return self.outcome.closed

    @property
    def garbled(self):
        """Connections on which something else than replies came."""
        return self.outcome.garbled

    @property
    def bytes_out(self):
        """Bytes sent."""
        return self.outcome.bytes_out

    @property
    def bytes_in(self):
        """Bytes received."""
        return self.outcome.bytes_in

    @property
    def reads(self):
        """Latencies of reads."""
        return histogram_of(&self.outcome.reads)

    @property
    def writes(self):
        """Latencies of writes."""
        return histogram_of(&self.outcome.writes)

    @property
    def first_error(self):
        """The text of the first error reply."""
        return self.outcome.error[:self.outcome.error_len] if self.outcome.errors else None

    @property
    def first_wrong(self):
        """The number of the first key that held something else, and the beginning of that."""
        return (self.outcome.wrong_key, self.outcome.wrong_value[:self.outcome.wrong_len]) if self.outcome.wrong else None
