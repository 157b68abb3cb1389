"""Durations in log-linear buckets (base.ticks), for percentiles of any number of them in bounded memory.

A bucket is at most 1/128 of its durations wide, and a percentile is the middle of its bucket: wrong by 0.4 % at most.
"""
from libc.stdint cimport uint32_t, uint64_t

from tellstone._core.base.ticks cimport log_bucket

cdef enum:
    HISTOGRAM_BITS = 7
    HISTOGRAM_BUCKETS = 4736        # up to 2^43 ns, 2.4 hours; what is longer goes to the last one

cdef struct Durations:              # all zero is empty; its owner adds, others may read meanwhile and be behind by some
    uint64_t count
    uint64_t total                  # ns
    uint64_t longest                # ns, exact
    uint64_t buckets[HISTOGRAM_BUCKETS]

cdef inline void durations_add(Durations* d, uint64_t ns, uint64_t n) noexcept nogil:
    """n durations of the same length."""
    cdef uint32_t bucket = log_bucket(ns, HISTOGRAM_BITS)
    d.buckets[bucket if bucket < HISTOGRAM_BUCKETS else HISTOGRAM_BUCKETS - 1] += n
    d.count += n
    d.total += ns * n
    if ns > d.longest:
        d.longest = ns

cdef void durations_merge(Durations* into, const Durations* more) noexcept nogil

cdef class Histogram:
    cdef Durations durations
