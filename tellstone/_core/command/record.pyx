"""What calls leave behind (see record.pxd)."""
from libc.stdint cimport UINT64_MAX, int64_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset, strlen

from tellstone._core.base.atomics cimport load_ptr, relaxed_u32, relaxed_u64, store_ptr, store_u32, store_u64
from tellstone._core.base.bytesops cimport View, copy_bytes, same_bytes, same_word
from tellstone._core.base.lock cimport lock_acquire, lock_release
from tellstone._core.base.platform cimport mono_us, sleep_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.ticks cimport TICK_BUCKETS, bucket_floor, tick_bucket, ticks_now
from tellstone._core.command.client cimport Client

check_layout(__name__)


# What a tick is worth -------------------------------------------------------------------------------------------

cdef uint64_t first_ticks = ticks_now()
cdef int64_t first_us = mono_us()


cdef double ticks_per_us() noexcept nogil:
    """Since this module was loaded; the longer ago, the better. A first call that comes at once waits a little."""
    while mono_us() - first_us < 5000:
        sleep_us(1000)
    return <double>(ticks_now() - first_ticks) / <double>(mono_us() - first_us)


# Counting -------------------------------------------------------------------------------------------------------


cdef void counters_free(Counters* c) noexcept nogil:
    cdef uint32_t i
    for i in range(<uint32_t>COMMANDS_MAX):
        free(c.latency[i])
        c.latency[i] = NULL


cdef void counters_reset(Counters* c) noexcept nogil:
    cdef uint32_t i
    store_u64(&c.commands, 0)
    store_u64(&c.errors, 0)
    store_u64(&c.unknown, 0)
    for i in range(<uint32_t>COMMANDS_MAX):
        store_u64(&c.calls[i], 0)
        store_u64(&c.ticks[i], 0)
        store_u64(&c.failed[i], 0)
        store_u64(&c.rejected[i], 0)
        if c.latency[i] != NULL:
            memset(c.latency[i], 0, TICK_BUCKETS * sizeof(uint32_t))
    for i in range(<uint32_t>ERROR_WORDS):
        store_u64(&c.words[i].count, 0)


cdef void add_row(Counters* to, const Counters* more, uint32_t row) noexcept nogil:
    cdef uint32_t* theirs = <uint32_t*>load_ptr(<void**>&more.latency[row])
    cdef uint32_t* latency
    cdef uint32_t i
    to.calls[row] += relaxed_u64(&more.calls[row])
    to.ticks[row] += relaxed_u64(&more.ticks[row])
    to.failed[row] += relaxed_u64(&more.failed[row])
    to.rejected[row] += relaxed_u64(&more.rejected[row])
    latency = latency_row(to, row) if theirs != NULL else NULL
    if latency != NULL:
        for i in range(<uint32_t>TICK_BUCKETS):
            latency[i] += relaxed_u32(&theirs[i])


cdef void counters_add(Counters* to, const Counters* more) noexcept nogil:
    cdef uint32_t i
    to.commands += relaxed_u64(&more.commands)
    to.errors += relaxed_u64(&more.errors)
    to.unknown += relaxed_u64(&more.unknown)
    for i in range(<uint32_t>COMMANDS_MAX):
        add_row(to, more, i)
    for i in range(<uint32_t>ERROR_WORDS):
        if relaxed_u64(&more.words[i].count):
            count_word(to, more.words[i].word, strlen(more.words[i].word), relaxed_u64(&more.words[i].count))


cdef void count_word(Counters* c, const char* word, size_t len, uint64_t count) noexcept nogil:
    """Errors that begin with a word. What no place is left for is not counted."""
    cdef uint32_t i
    for i in range(<uint32_t>ERROR_WORDS):
        if c.words[i].word[0] == 0:
            memcpy(c.words[i].word, word, len)
        elif strlen(c.words[i].word) != len or not same_bytes(c.words[i].word, word, len):
            continue
        store_u64(&c.words[i].count, c.words[i].count + count)
        return


cdef void record_error(Counters* c, const char* text, size_t len) noexcept nogil:
    cdef size_t n = 0
    store_u64(&c.errors, c.errors + 1)
    while n < len and n < ERROR_WORD_MAX and text[n] != c' ' and text[n] != c'\r':
        n += 1
    count_word(c, text, n, 1)


cdef inline uint32_t* latency_row(Counters* c, uint32_t row) noexcept nogil:
    """The distribution of a row's durations, made when it is first asked for; NULL without memory."""
    if c.latency[row] == NULL:          # ORDER: it is all zeros before others can see it
        store_ptr(<void**>&c.latency[row], calloc(TICK_BUCKETS, sizeof(uint32_t)))
    return c.latency[row]


cdef void record_time(Counters* c, uint32_t row, uint64_t ticks, uint32_t n) noexcept nogil:
    cdef uint32_t* latency
    c.ticks[row] += ticks
    if not counters_track(c):
        return
    latency = latency_row(c, row)
    if latency != NULL:
        latency[tick_bucket(ticks // n if n > 1 else ticks)] += n


cdef void record_call(Counters* c, uint32_t row, bint fast, uint64_t ticks, const View* argv, uint32_t argc, const Client* client,
                      int64_t now_ms) noexcept nogil:
    record_time(c, row, ticks, 1)
    if c.slow == NULL:
        return
    if ticks >= relaxed_u64(&c.slow.threshold):
        slowlog_add(c.slow, ticks, argv, argc, client, now_ms)
    if ticks >= relaxed_u64(&c.slow.monitor):
        monitor_add(c.slow, EVENT_FAST_COMMAND if fast else EVENT_COMMAND, ticks, now_ms)


# The slow log ---------------------------------------------------------------------------------------------------


cdef bint slowlog_init(SlowLog* s, uint32_t max_len, bint one_by_one) noexcept nogil:
    memset(s, 0, sizeof(SlowLog))
    s.one_by_one = one_by_one
    s.threshold = UINT64_MAX
    s.monitor = UINT64_MAX
    return slowlog_set(s, -1, max_len)


cdef void drop_oldest(SlowLog* s) noexcept nogil:
    free(s.ring[s.first])
    s.ring[s.first] = NULL
    s.first = (s.first + 1) % s.max_len
    s.count -= 1


cdef inline uint64_t ticks_of(double us) noexcept nogil:
    us = us * ticks_per_us()
    return <uint64_t>us if us < 1e19 else UINT64_MAX


cdef void set_thresholds(SlowLog* s) noexcept nogil:
    """LOCK: the log's."""
    cdef bint precise = s.one_by_one or 0 <= s.threshold_us < RECORD_PRECISE_US or 0 < s.monitor_ms < RECORD_PRECISE_US // 1000
    store_u64(&s.threshold, UINT64_MAX if s.threshold_us < 0 else ticks_of(<double>s.threshold_us))
    store_u64(&s.monitor, ticks_of(<double>s.monitor_ms * 1000) if s.monitor_ms else UINT64_MAX)
    store_u32(&s.precise, precise)


cdef bint slowlog_set(SlowLog* s, int64_t threshold_us, uint32_t max_len) noexcept nogil:
    """A ring of another length keeps the newest calls."""
    cdef SlowCall** ring
    cdef uint32_t i
    lock_acquire(&s.lock)
    if max_len != s.max_len or s.ring == NULL:
        ring = <SlowCall**>calloc(max_len if max_len else 1, sizeof(SlowCall*))
        if ring == NULL:
            lock_release(&s.lock)
            return False
        while s.count > max_len:
            drop_oldest(s)
        for i in range(s.count):
            ring[i] = s.ring[(s.first + i) % s.max_len]
        free(s.ring)
        s.ring = ring
        s.first = 0
        s.max_len = max_len
    s.threshold_us = threshold_us
    set_thresholds(s)
    lock_release(&s.lock)
    return True


cdef void slowlog_reset(SlowLog* s) noexcept nogil:
    lock_acquire(&s.lock)
    while s.count:
        drop_oldest(s)
    lock_release(&s.lock)


cdef void slowlog_free(SlowLog* s) noexcept nogil:
    if s.ring != NULL:
        slowlog_reset(s)
        free(s.ring)
        s.ring = NULL


cdef inline View keep_text(char** room, const char* text, size_t len) noexcept nogil:
    cdef View v
    copy_bytes(room[0], text, len)
    v.ptr = room[0]
    v.len = len
    room[0] += len
    return v


cdef View keep_argument(char** room, View text) noexcept nogil:
    """The argument, or its beginning and how much is missing, in Redis's words."""
    cdef View v
    if text.len <= SLOW_TEXT:
        return keep_text(room, text.ptr, text.len)
    v = keep_text(room, text.ptr, SLOW_TEXT)
    v.len += snprintf(room[0], 64, b"... (%zu more bytes)", text.len - SLOW_TEXT)
    room[0] = <char*>v.ptr + v.len
    return v


cdef inline bint word_is(View v, const char* word) noexcept nogil:
    return same_word(v.ptr, v.len, word, strlen(word))


cdef bint is_secret(const View* argv, uint32_t i) noexcept nogil:
    """AUTH [username] password; HELLO ... AUTH username password."""
    if i > 0 and word_is(argv[0], b"auth"):
        return True
    if not word_is(argv[0], b"hello"):
        return False
    return (i > 2 and word_is(argv[i - 1], b"auth")) or (i > 3 and word_is(argv[i - 2], b"auth"))


cdef SlowCall* slow_call(const View* argv, uint32_t argc, const Client* client) noexcept nogil:
    """A copy of a call in one piece; NULL without memory."""
    cdef uint32_t kept = argc if argc <= SLOW_ARGS else SLOW_ARGS
    cdef size_t size = sizeof(SlowCall) + kept * (SLOW_TEXT + 64) + strlen(client.addr) + client.name.len
    cdef SlowCall* call = <SlowCall*>malloc(size)
    cdef char* room
    cdef uint32_t i
    if call == NULL:
        return NULL
    room = <char*>(call + 1)
    call.argc = kept
    for i in range(kept):
        if argc > kept and i == kept - 1:
            call.argv[i].ptr = room
            call.argv[i].len = snprintf(room, 64, b"... (%u more arguments)", argc - kept + 1)
            room += call.argv[i].len
        elif is_secret(argv, i):
            call.argv[i] = keep_text(&room, b"(redacted)", 10)
        else:
            call.argv[i] = keep_argument(&room, argv[i])
    call.addr = keep_text(&room, client.addr, strlen(client.addr))
    call.name = keep_text(&room, client.name.ptr, client.name.len)
    return call


cdef void slowlog_add(SlowLog* s, uint64_t ticks, const View* argv, uint32_t argc, const Client* client, int64_t now_ms) noexcept nogil:
    cdef SlowCall* call = slow_call(argv, argc, client)
    if call == NULL:
        return                              # the log of a process without memory may have gaps
    call.unix_s = now_ms // 1000
    call.us = <uint64_t>(<double>ticks / ticks_per_us())
    lock_acquire(&s.lock)
    call.id = s.next_id
    s.next_id += 1
    if s.max_len == 0:
        free(call)
    else:
        if s.count == s.max_len:
            drop_oldest(s)
        s.ring[(s.first + s.count) % s.max_len] = call
        s.count += 1
    lock_release(&s.lock)


cdef object text_of(View v):
    return v.ptr[:v.len]


cdef list slowlog_newest(SlowLog* s, int64_t count):
    cdef list calls = []
    cdef SlowCall* call
    cdef uint32_t i, j
    lock_acquire(&s.lock)                   # LOCK: a leaf, and nobody who holds it waits for the GIL
    try:
        for i in range(s.count):
            if 0 <= count <= <int64_t>i:
                break
            call = s.ring[(s.first + s.count - 1 - i) % s.max_len]
            args = [text_of(call.argv[j]) for j in range(call.argc)]
            calls.append((call.id, call.unix_s, call.us, args, text_of(call.addr), text_of(call.name)))
    finally:
        lock_release(&s.lock)
    return calls


# The latency monitor --------------------------------------------------------------------------------------------


cdef void monitor_set(SlowLog* s, uint64_t threshold_ms) noexcept nogil:
    lock_acquire(&s.lock)
    s.monitor_ms = threshold_ms
    set_thresholds(s)
    lock_release(&s.lock)


cdef void monitor_add(SlowLog* s, MonitorEvent event, uint64_t ticks, int64_t now_ms) noexcept nogil:
    """Of several samples in a second the worst is kept."""
    cdef LatencyEvent* e = &s.events[<int>event]
    cdef uint64_t ms = <uint64_t>(<double>ticks / ticks_per_us()) // 1000
    cdef int64_t unix_s = now_ms // 1000
    cdef LatencySample* last
    lock_acquire(&s.lock)
    if ms > e.worst:
        e.worst = ms
    last = &e.samples[(e.next + MONITOR_SAMPLES - 1) % MONITOR_SAMPLES]
    if last.unix_s == unix_s:
        if ms > last.ms:
            last.ms = ms
    else:
        e.samples[e.next].unix_s = unix_s
        e.samples[e.next].ms = ms
        e.next = (e.next + 1) % MONITOR_SAMPLES
    lock_release(&s.lock)


cdef bint monitor_reset(SlowLog* s, MonitorEvent event) noexcept nogil:
    cdef LatencyEvent* e = &s.events[<int>event]
    cdef bint any
    lock_acquire(&s.lock)
    any = e.samples[(e.next + MONITOR_SAMPLES - 1) % MONITOR_SAMPLES].unix_s != 0
    memset(e, 0, sizeof(LatencyEvent))
    lock_release(&s.lock)
    return any


cdef tuple monitor_history(SlowLog* s, MonitorEvent event):
    cdef LatencyEvent e
    cdef LatencySample* sample
    cdef list samples = []
    cdef uint32_t i
    lock_acquire(&s.lock)
    e = s.events[<int>event]
    lock_release(&s.lock)
    for i in range(<uint32_t>MONITOR_SAMPLES):
        sample = &e.samples[(e.next + i) % MONITOR_SAMPLES]
        if sample.unix_s:
            samples.append((sample.unix_s, sample.ms))
    return (samples, e.worst) if samples else None


# For Python -----------------------------------------------------------------------------------------------------


cdef list latency_of(const uint32_t* latency):
    """(microseconds in the middle of a bucket, calls), from short to long."""
    cdef double rate = 2 * ticks_per_us()
    cdef uint32_t i
    if latency == NULL:
        return []
    return [((bucket_floor(i) + bucket_floor(i + 1)) / rate, latency[i]) for i in range(<uint32_t>TICK_BUCKETS) if latency[i]]


cdef dict counters_told(const Counters* c):
    cdef double rate = ticks_per_us()
    cdef uint32_t i
    cdef dict rows = {}
    cdef dict words = {}
    for i in range(<uint32_t>COMMANDS_MAX):
        if c.calls[i] or c.rejected[i] or c.ticks[i] or c.failed[i]:
            rows[i] = c.calls[i], c.ticks[i] / rate, c.failed[i], c.rejected[i], latency_of(c.latency[i])
    for i in range(<uint32_t>ERROR_WORDS):
        if c.words[i].count:
            words[(<bytes>c.words[i].word).decode("latin-1")] = c.words[i].count
    return {"rows": rows, "words": words}
