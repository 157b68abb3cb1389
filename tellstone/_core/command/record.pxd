"""What calls leave behind: counts, time and errors by command, errors by their first word, the slow log, and the latency monitor.

Every thread that runs commands has its own Counters and adds to them without locks; who reads them adds them up first. Durations are
kept in ticks (base.ticks) and become microseconds only when they are read.

Calls that take a constant time (CMD_QUICK) are timed by the group: two readings of the clock for up to eight of them, each of which is
given an equal share. All others are timed one by one, and so is everything while the threshold of the slow log or of the monitor is
below RECORD_PRECISE_US, and where calls come one by one anyway. What they show is therefore the time of that very call.

LOCK: Counters belong to their thread; others read them relaxed. A SlowLog has a lock of its own, a leaf.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tellstone._core.base.atomics cimport relaxed_u32
from tellstone._core.base.bytesops cimport View
from tellstone._core.base.lock cimport Lock
from tellstone._core.command.client cimport Client

cdef enum:
    COMMANDS_MAX = 1024             # rows, subcommands included
    ERROR_WORDS = 128               # of one thread; Redis stops at as many
    ERROR_WORD_MAX = 31
    RECORD_PRECISE_US = 10000

    SLOW_ARGS = 32                  # arguments of a call that are kept, the last one says how many more there were
    SLOW_TEXT = 128                 # bytes of an argument that are kept

    MONITOR_SAMPLES = 160           # of an event, one a second at most

cdef struct ErrorCount:
    char word[ERROR_WORD_MAX + 1]   # terminated; written once, before count is
    uint64_t count

cdef struct SlowCall:               # one malloc'ed piece with what the views point to
    uint64_t id
    int64_t unix_s
    uint64_t us
    uint32_t argc
    View argv[SLOW_ARGS]
    View addr
    View name

cdef enum MonitorEvent:             # Redis's names: "command" and "fast-command"
    EVENT_COMMAND = 0
    EVENT_FAST_COMMAND = 1
    EVENTS_KNOWN = 2

cdef struct LatencySample:
    int64_t unix_s                  # 0: none
    uint64_t ms

cdef struct LatencyEvent:
    LatencySample samples[MONITOR_SAMPLES]
    uint32_t next
    uint64_t worst                  # ms, since the last reset

cdef struct SlowLog:
    Lock lock
    SlowCall** ring                 # room for max_len, newest at (first + count - 1) % max_len
    uint32_t max_len
    uint32_t first
    uint32_t count
    uint64_t next_id
    uint64_t threshold              # ticks; atomic. UINT64_MAX: off
    uint64_t monitor                # the monitor's threshold, likewise
    uint32_t precise                # bool, atomic: see above
    uint32_t untracked              # bool, atomic: no distributions of durations are kept
    bint one_by_one                 # every call is timed by itself, whatever the thresholds
    int64_t threshold_us            # negative: off
    uint64_t monitor_ms             # 0: off
    LatencyEvent events[EVENTS_KNOWN]

cdef struct Counters:
    uint64_t commands
    uint64_t errors                 # error replies
    uint64_t unknown                # requests for no command of ours
    uint64_t calls[COMMANDS_MAX]
    uint64_t ticks[COMMANDS_MAX]
    uint64_t failed[COMMANDS_MAX]   # calls whose handler answered an error
    uint64_t rejected[COMMANDS_MAX] # calls that a gate refused
    uint32_t* latency[COMMANDS_MAX] # TICK_BUCKETS counts, malloc'ed with the first call
    ErrorCount words[ERROR_WORDS]
    SlowLog* slow                   # shared; NULL: none

cdef inline bint counters_precise(const Counters* c) noexcept nogil:
    """Whether every call is to be timed by itself."""
    return c.slow != NULL and relaxed_u32(&c.slow.precise) != 0

cdef inline bint counters_track(const Counters* c) noexcept nogil:
    """Whether the distribution of durations is recorded."""
    return c.slow == NULL or relaxed_u32(&c.slow.untracked) == 0

cdef void counters_free(Counters* c) noexcept nogil
cdef void counters_reset(Counters* c) noexcept nogil         # CONFIG RESETSTAT; races with the owner lose a count, no more
cdef void counters_add(Counters* to, const Counters* more) noexcept nogil
# For Python: {"rows": row of the command -> (calls, microseconds, failed, rejected, [(microseconds, calls), ...] from short to long),
# "words": first word of error replies -> count}.
cdef dict counters_told(const Counters* c)
# An error reply: text begins behind its '-'.
cdef void record_error(Counters* c, const char* text, size_t len) noexcept nogil
# n calls of a row that took `ticks` together.
cdef void record_time(Counters* c, uint32_t row, uint64_t ticks, uint32_t n) noexcept nogil
# One call that was timed by itself: record_time, and the slow log and the monitor if it was slow.
cdef void record_call(Counters* c, uint32_t row, bint fast, uint64_t ticks, const View* argv, uint32_t argc, const Client* client,
                      int64_t now_ms) noexcept nogil

# one_by_one: see above. False without memory.
cdef bint slowlog_init(SlowLog* s, uint32_t max_len, bint one_by_one) noexcept nogil
cdef void slowlog_free(SlowLog* s) noexcept nogil
cdef bint slowlog_set(SlowLog* s, int64_t threshold_us, uint32_t max_len) noexcept nogil    # negative: off. False without memory
cdef void slowlog_reset(SlowLog* s) noexcept nogil
cdef list slowlog_newest(SlowLog* s, int64_t count)          # tuples (id, unix_s, us, args, addr, name); negative: all

cdef void monitor_set(SlowLog* s, uint64_t threshold_ms) noexcept nogil      # 0: off
cdef bint monitor_reset(SlowLog* s, MonitorEvent event) noexcept nogil       # True: there was something
cdef tuple monitor_history(SlowLog* s, MonitorEvent event)   # ([(unix_s, ms), ...] oldest first, the worst ms); None: no samples

# Whether an argument is one of AUTH, or behind AUTH in HELLO: nobody else is to see it.
cdef bint is_secret(const View* argv, uint32_t i) noexcept nogil

cdef double ticks_per_us() noexcept nogil
