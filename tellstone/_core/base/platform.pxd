"""Clocks, mapped memory, threads and compiler hints, the same on every system (`platform.h` has the arms)."""
from libc.stdint cimport int64_t, uint64_t

cdef extern from "platform.h" nogil:
    ctypedef struct Thread "ts_thread":
        pass
    ctypedef void (*ThreadMain "ts_thread_main")(void* arg) noexcept nogil

    int64_t wall_ms "ts_wall_ms"() noexcept          # Unix time; may step when the clock is set
    int64_t wall_us "ts_wall_us"() noexcept
    int64_t mono_us "ts_mono_us"() noexcept          # never steps back; its zero means nothing
    int64_t mono_ns "ts_mono_ns"() noexcept
    void sleep_us "ts_sleep_us"(int64_t us) noexcept
    void thread_yield "ts_yield"() noexcept

    # Memory from the system, zeroed, in whole pages; NULL when refused. The caller gives the same size back.
    void* map_memory "ts_map"(size_t size) noexcept
    void* map_aligned "ts_map_aligned"(size_t size) noexcept
    void unmap_memory "ts_unmap"(void* p, size_t size) noexcept
    void discard_memory "ts_discard"(void* p, size_t size) noexcept   # content lost, addresses kept
    void make_huge "ts_make_huge"(void* p, size_t size) noexcept      # memory in use becomes huge pages, if it can; slow

    # A thread of ours: it blocks all signals and never touches the interpreter. 0, or -1 when it cannot start.
    int thread_create "ts_thread_create"(Thread* t, ThreadMain run, void* arg) noexcept
    void thread_join "ts_thread_join"(Thread t) noexcept
    # The calling thread's sleeps end on time: Linux lets them run 50 us longer, so that it may wake several threads at once.
    void thread_punctual "ts_thread_punctual"() noexcept

    # Called around every fork of this process, whoever forks: before it, and after it on either side. 0, or an errno.
    int fork_handlers "ts_fork_handlers"(void (*before)() noexcept nogil, void (*parent)() noexcept nogil, void (*child)() noexcept nogil) noexcept

    void prefetch "TS_PREFETCH"(const void* p) noexcept    # a hint: any address will do, it never faults
    void cpu_relax "TS_RELAX"() noexcept
    uint64_t mul_fold "ts_mul_fold"(uint64_t a, uint64_t b) noexcept  # 64x64->128 multiply, halves folded by xor
