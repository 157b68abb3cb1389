"""Percentiles of a histogram beside those of the sorted durations themselves."""

from __future__ import annotations

import math

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from tellstone._core.load.histogram import Histogram

pytestmark = pytest.mark.core

PERCENTS = (0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0)
LONGEST = 2**43 - 1  # beyond it all go to one bucket
durations = st.integers(0, 2000) | st.integers(0, LONGEST)


def exact(values: list[int], percent: float) -> int:
    ordered = sorted(values)
    return ordered[max(math.ceil(percent * len(ordered) / 100), 1) - 1]


@examples(200)
@given(st.lists(durations, min_size=1, max_size=300))
def test_percentiles_are_close_to_exact_ones(values: list[int]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    for percent in PERCENTS:
        right = exact(values, percent)
        assert abs(histogram.percentile(percent) - right) <= max(right / 256, 0.5), (percent, right)
    assert (histogram.count, histogram.longest) == (len(values), max(values))
    assert histogram.mean == pytest.approx(sum(values) / len(values))
    assert histogram.percentile(100) <= histogram.longest


@examples(50)
@given(st.lists(st.tuples(durations, st.integers(1, 1000)), max_size=50), st.lists(durations, max_size=50))
def test_merged_is_added_together(first: list[tuple[int, int]], second: list[int]) -> None:
    parts, whole = (Histogram(), Histogram()), Histogram()
    for value, times in first:
        parts[0].add(value, times)
        for _ in range(times):
            whole.add(value)
    for value in second:
        parts[1].add(value)
        whole.add(value)
    parts[0].merge(parts[1])
    for percent in PERCENTS:
        assert parts[0].percentile(percent) == whole.percentile(percent)
    assert (parts[0].count, parts[0].longest, parts[0].mean) == (whole.count, whole.longest, whole.mean)


def test_an_empty_one_is_all_zeros() -> None:
    histogram = Histogram()
    assert (histogram.count, histogram.mean, histogram.longest, histogram.percentile(99)) == (0, 0, 0, 0)


def test_what_is_too_long_is_still_counted() -> None:
    histogram = Histogram()
    histogram.add(2**60)
    histogram.add(5)
    assert (histogram.count, histogram.longest, histogram.percentile(50)) == (2, 2**60, 5)
    assert 2**42 < histogram.percentile(99) <= 2**60
