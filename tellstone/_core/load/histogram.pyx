"""Histograms of durations, for Python (see histogram.pxd)."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.ticks cimport log_bucket_floor

check_layout(__name__)


cdef void durations_merge(Durations* into, const Durations* more) noexcept nogil:
    """`count` follows from the buckets that were seen, so that a histogram that is being added to is consistent in itself."""
    cdef uint64_t n, longest = relaxed_u64(&more.longest)
    cdef uint32_t i
    for i in range(<uint32_t>HISTOGRAM_BUCKETS):
        n = relaxed_u64(&more.buckets[i])
        into.buckets[i] += n
        into.count += n
    into.total += relaxed_u64(&more.total)
    if longest > into.longest:
        into.longest = longest


cdef uint64_t percentile_of(const Durations* d, double percent) noexcept nogil:
    cdef uint64_t seen = 0, middle
    cdef uint32_t i
    for i in range(<uint32_t>HISTOGRAM_BUCKETS):
        seen += d.buckets[i]
        if seen and <double>seen >= percent * <double>d.count / 100:
            middle = (log_bucket_floor(i, HISTOGRAM_BITS) + log_bucket_floor(i + 1, HISTOGRAM_BITS)) // 2
            return middle if middle < d.longest else d.longest
    return d.longest


@cython.final
cdef class Histogram:
    """Durations in nanoseconds."""

    @property
    def count(self):
        """How many there are."""
        return self.durations.count

    @property
    def mean(self):
        """Their mean; 0 without any."""
        return self.durations.total / <double>self.durations.count if self.durations.count else 0.0

    @property
    def longest(self):
        """The longest one, exactly; 0 without any."""
        return self.durations.longest

    def add(self, uint64_t ns, uint64_t n=1):
        """Count n durations of this length."""
        durations_add(&self.durations, ns, n)

    def merge(self, Histogram other not None):
        """Count what another one has counted."""
        durations_merge(&self.durations, &other.durations)

    def percentile(self, double percent):
        """The duration that so many percent do not exceed, to 0.4 %; 0 without any."""
        return percentile_of(&self.durations, percent)
