"""A descriptor that another thread makes readable (`wake.h`); for pollers of ours, and for asyncio."""
cdef extern from "wake.h" nogil:
    ctypedef struct Wake "ts_wake":
        int reader                      # the end to wait for
    int wake_open "ts_wake_open"(Wake* w) noexcept              # 0, or -1 without descriptors
    void wake_close "ts_wake_close"(Wake* w) noexcept
    void wake_signal "ts_wake_signal"(Wake* w) noexcept         # readable until cleared
    void wake_clear "ts_wake_clear"(Wake* w) noexcept
