"""The sans-IO session (see session.pxd).

A turn of session_feed takes plain requests in batches: parse up to BATCH of them, find their rows, hash their keys four at a time,
prefetch what the keys will touch, then run them in order. Whatever is not a plain, whole request goes one at a time through
the parser that knows everything.
"""
from libc.stdint cimport INT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strlen

from tellstone._core.base.bytesops cimport View, copy_bytes
from tellstone._core.base.debug cimport LIVE_PARKED, LIVE_SESSION, live_add
from tellstone._core.base.fnv cimport fnv1a, fnv1a_x4
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append, outbuf_free, outbuf_size, outbuf_truncate
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_NOMEM, ST_PARKED
from tellstone._core.base.ticks cimport ticks_now
from tellstone._core.command.client cimport (
    CLIENT_CAUGHT_UP, CLIENT_CLOSE, CLIENT_MONITOR, CLIENT_NEWS, CLIENT_REPLY_OFF, CLIENT_REPLY_SKIP, CLIENT_REPLY_SKIPPING, Client,
)
from tellstone._core.command.command cimport (
    CMD_MAY_REPLICATE, CMD_QUICK, CMD_READONLY, CMD_WRITE, Command, Context, command_admits, command_call, command_find,
    command_hold, command_let_go, command_refuse,
)
from tellstone._core.command.monitor cimport monitor_append, monitor_shows
from tellstone._core.command.record cimport counters_free, counters_precise, record_error, record_time
from tellstone._core.protocol.native cimport FRAME_BAD, FRAME_ERROR, FRAME_PART, Frame, Taken, frame_write
from tellstone._core.protocol.reply cimport reply_error, reply_status
from tellstone._core.protocol.resp cimport (
    RESP_BAD, RESP_MORE, RESP_NOMEM, RespResult, RespTemplate, resp_fast, resp_free, resp_init, resp_next, resp_next_fast,
)
from tellstone._core.session.attention cimport ATTEND_MONITORS, Attention, attention_holds, attention_word
from tellstone._core.session.batch cimport BATCH, BATCH_ARGS, Request
from tellstone._core.session.frames cimport (
    CALL_COMMAND, CALL_PING, Mark, frame_begin, frame_end, frame_error, frame_items, frame_refusal, frames_front, frames_peek, frames_take,
)
from tellstone._core.store.grace cimport grace_join, grace_part
from tellstone._core.store.keyspace cimport (
    AHEAD_GROUP, Keyspace, keyspace_ahead, keyspace_ahead_begin, keyspace_ahead_end, keyspace_ahead_entry, keyspace_ahead_slot,
)

# The rows must be there before the first request is.
import tellstone._core.command.table

check_layout(__name__)

cdef enum:
    TURN_OUTPUT = 1048576           # bytes of replies after which a turn ends, so that they can leave
    AHEAD_FROM = 3                  # requests from which looking ahead pays
    DEFAULT_MAX_BULK = 16777216

cdef Attention nobody               # of workers without a group: never changes


# Life -----------------------------------------------------------------------------------------------------------


cdef bint worker_init(Worker* w, Keyspace* ks) noexcept nogil:
    memset(w, 0, sizeof(Worker))
    w.ks = ks
    w.reader = grace_join(&ks.shared.grace)
    w.attention = &nobody
    w.limits.max_bulk = DEFAULT_MAX_BULK
    w.limits.max_args = INT32_MAX
    w.max_frame = DEFAULT_MAX_BULK
    return True


cdef void worker_free(Worker* w) noexcept nogil:
    if w.reader >= 0:
        grace_part(&w.ks.shared.grace, w.reader)
        w.reader = -1
    counters_free(&w.counters)
    outbuf_free(&w.shown)


cdef void session_init(Session* s, uint64_t id, Wire wire, int64_t now) noexcept nogil:
    memset(s, 0, sizeof(Session))
    resp_init(&s.parser)
    s.wire = wire
    s.client.id = id
    s.client.proto = 2 if wire == WIRE_RESP else 3
    s.client.authenticated = 1
    s.client.fd = -1
    s.client.created_ms = now
    s.client.active_ms = now
    live_add(LIVE_SESSION, 1)


cdef void session_free(Session* s) noexcept nogil:
    resp_free(&s.parser)
    outbuf_free(&s.out)
    parked_free(s.parked)
    free(s.client.name.ptr)
    free(s.client.lib_name.ptr)
    free(s.client.lib_ver.ptr)
    memset(s, 0, sizeof(Session))
    live_add(LIVE_SESSION, -1)


# Parking --------------------------------------------------------------------------------------------------------


cdef inline View park_text(char** room, const char* text, size_t len) noexcept nogil:
    cdef View v
    copy_bytes(room[0], text, len)
    v.ptr = room[0]
    v.len = len
    room[0] += len
    return v


cdef int park(Session* s, Context* c) noexcept nogil:
    """Copy a control command for Python: its arguments are views into a buffer that will be gone."""
    cdef size_t size = sizeof(ParkedCall) + c.argc * sizeof(View) + strlen(s.client.addr) + strlen(s.client.laddr) + s.client.name.len
    cdef ParkedCall* call
    cdef char* room
    cdef uint32_t i
    for i in range(c.argc):
        size += c.argv[i].len
    call = <ParkedCall*>malloc(size)
    if call == NULL:
        return ST_NOMEM
    call.command = c.command
    call.client_id = s.client.id
    call.db = s.client.db
    call.proto = s.client.proto
    call.argc = c.argc
    call.argv = <View*>(call + 1)
    room = <char*>(call.argv + c.argc)
    for i in range(c.argc):
        call.argv[i] = park_text(&room, c.argv[i].ptr, c.argv[i].len)
    call.addr = park_text(&room, s.client.addr, strlen(s.client.addr))
    call.laddr = park_text(&room, s.client.laddr, strlen(s.client.laddr))
    call.name = park_text(&room, s.client.name.ptr, s.client.name.len)
    s.parked = call
    command_hold(c)
    live_add(LIVE_PARKED, 1)
    s.waiting = 1
    return ST_PARKED


cdef void parked_free(ParkedCall* call) noexcept nogil:
    if call != NULL:
        free(call)
        live_add(LIVE_PARKED, -1)


cdef inline void end_of_command(Session* s, size_t len, uint32_t ref_count) noexcept nogil:
    """CLIENT REPLY OFF and SKIP take a written reply back; SKIP then moves on to the command behind it."""
    if s.client.flags & (CLIENT_REPLY_OFF | CLIENT_REPLY_SKIPPING):
        outbuf_truncate(&s.out, len, ref_count)
        s.client.flags &= ~<uint32_t>CLIENT_REPLY_SKIPPING
    if s.client.flags & CLIENT_REPLY_SKIP:
        s.client.flags = (s.client.flags & ~<uint32_t>CLIENT_REPLY_SKIP) | CLIENT_REPLY_SKIPPING


cdef void session_resume(Session* s, const char* reply, size_t len, const Patch* patch) noexcept nogil:
    cdef Mark mark
    cdef size_t was = s.out.len
    cdef uint32_t refs = s.out.ref_count
    if s.wire == WIRE_NATIVE:
        frame_begin(&s.out, s.call, &mark)
        was = s.out.len
    outbuf_append(&s.out, reply, len)
    end_of_command(s, was, refs)
    if s.wire == WIRE_NATIVE:
        frame_end(&s.out, s.call, &mark)
    if patch.proto >= 0 and s.wire == WIRE_RESP:
        s.client.proto = <uint8_t>patch.proto
    if patch.db >= 0:
        s.client.db = patch.db
    if patch.authenticated >= 0:
        s.client.authenticated = <uint8_t>patch.authenticated
    if patch.close > 0:
        s.client.flags |= CLIENT_CLOSE
    command_let_go(&s.client)
    s.waiting = 0


# Running --------------------------------------------------------------------------------------------------------


cdef inline int run_plain(Session* s, Context* c, const Command* row, bint hashed) noexcept nogil:
    """One request, its reply in RESP. FEED_NEED_DATA: go on with the next one."""
    cdef size_t was = s.out.len
    cdef uint32_t refs = s.out.ref_count
    cdef int status = command_call(c, row, hashed)
    s.client.commands += 1
    if status == ST_PARKED:
        status = park(s, c)
        if status == ST_PARKED:
            return FEED_PARKED
        reply_status(&s.out, status, c.command.full_name)
    if s.client.flags:
        end_of_command(s, was, refs)
        if s.client.flags & CLIENT_CLOSE:
            return FEED_CLOSE
        if s.client.flags & CLIENT_NEWS:
            s.client.flags &= ~<uint32_t>CLIENT_NEWS
            return FEED_NEWS
    return FEED_CLOSE if s.out.failed else FEED_NEED_DATA


cdef int refuse_frame(Session* s, Context* c, const char* error) noexcept nogil:
    cdef size_t was = s.out.len
    frame_write(&s.out, FRAME_ERROR, error, strlen(error))
    record_error(c.counters, error, strlen(error))
    s.client.commands += 1
    end_of_command(s, was, s.out.ref_count)
    return FEED_NEED_DATA


cdef int run_translated(Session* s, Context* c, const Command* row, bint hashed) noexcept nogil:
    """One request of the native protocol whose handler, if it has one, writes a reply of RESP."""
    cdef Mark mark
    cdef int result
    cdef const char* refusal = frame_refusal(s.call)
    if refusal != NULL:
        return refuse_frame(s, c, refusal)
    frame_begin(&s.out, s.call, &mark)
    result = run_plain(s, c, row, hashed)
    frame_end(&s.out, s.call, &mark)
    s.client.proto = 3                  # whatever HELLO or RESET has made of it
    return result


cdef inline int run_framed(Session* s, Context* c, const Command* row, bint hashed) noexcept nogil:
    """One request of the native protocol, s.call, its reply a frame."""
    cdef size_t was = s.out.len
    cdef int result
    if s.call > CALL_PING:
        return run_translated(s, c, row, hashed)
    result = run_plain(s, c, row, hashed)
    frame_error(&s.out, s.call, was)
    return result


cdef inline int run(Session* s, Context* c, const Command* row, bint hashed) noexcept nogil:
    return run_plain(s, c, row, hashed) if s.wire == WIRE_RESP else run_framed(s, c, row, hashed)


cdef uint32_t take_batch(Worker* w, const char* data, size_t len) noexcept nogil:
    """Parse plain requests off the front of the data; answers how many."""
    cdef const char* at = data
    cdef const char* end = data + len
    cdef uint32_t n = 0, used = 0, argc = 0
    cdef size_t size
    cdef Request* r
    cdef const View* name = w.views
    cdef const Command* row = NULL
    cdef RespTemplate template
    cdef bint again
    template.start = NULL
    while n < BATCH:
        size = resp_next_fast(at, end, &w.limits, &w.views[used], BATCH_ARGS - used, &argc, &template, name, &again)
        if size == 0:
            break
        at += size
        name = &w.views[used]
        if not again:
            row = command_find(name.ptr, name.len)
        r = &w.batch[n]
        r.row = row
        r.first = used
        r.argc = argc
        r.end = <size_t>(at - data)
        used += argc
        n += 1
    return n


cdef inline bint has_key(const Request* r) noexcept nogil:
    return r.row != NULL and r.row.first_key > 0 and r.argc > <uint32_t>r.row.first_key and r.row.subs == NULL


cdef void hash_batch(Worker* w, uint32_t n) noexcept nogil:
    """Hash the first key of every request, four in lanes. A request without one gets the hash of nothing, which is not used."""
    cdef const char* ptrs[BATCH + 4]
    cdef size_t lens[BATCH + 4]
    cdef uint32_t i
    cdef Request* r
    cdef View* key
    for i in range(n):
        r = &w.batch[i]
        r.hashed = has_key(r)
        key = &w.views[r.first + (<uint32_t>r.row.first_key if r.hashed else 0)]
        ptrs[i] = key.ptr
        lens[i] = key.len if r.hashed else 0
    for i in range(n, (n + 3) & ~<uint32_t>3):
        ptrs[i] = ptrs[0]
        lens[i] = 0
    i = 0
    while i < n:
        fnv1a_x4(&ptrs[i], &lens[i], &w.hashes[i])
        i += 4


cdef inline bint is_quick(const Command* row) noexcept nogil:
    return row != NULL and row.handler != NULL and row.flags & CMD_QUICK != 0


cdef void share_time(Worker* w, uint32_t n, uint64_t ticks) noexcept nogil:
    """The time of a batch, in equal parts to its calls that were not timed by themselves. Runs of one command count at once."""
    cdef uint32_t i = 0, run
    cdef uint32_t quick = 0
    cdef const Command* row
    for i in range(n):
        quick += is_quick(w.batch[i].row)
    if quick == 0 or counters_precise(&w.counters):
        return
    ticks = ticks // quick
    i = 0
    while i < n:
        row = w.batch[i].row
        run = 1
        while i + run < n and w.batch[i + run].row == row:
            run += 1
        if is_quick(row):
            record_time(&w.counters, row.id, ticks * run, run)
        i += run


cdef inline int run_request(Session* s, Worker* w, Context* c, uint32_t i) noexcept nogil:
    cdef Request* r = &w.batch[i]
    c.argv = &w.views[r.first]
    c.argc = r.argc
    s.call = r.call
    c.hash = w.hashes[i]
    c.hint = &w.hints[i] if r.hashed else NULL
    return run(s, c, r.row, r.hashed)


cdef inline int run_ahead(Session* s, Worker* w, Context* c, uint32_t n, uint32_t* ran) noexcept nogil:
    """While a group of requests runs, memory brings what the next group will touch: work and waiting overlap."""
    cdef uint32_t i
    cdef int db = s.client.db           # a SELECT among them spoils the guess, not the answer
    cdef int result = FEED_NEED_DATA
    hash_batch(w, n)
    keyspace_ahead_begin(w.ks, w.reader, db, w.hashes, w.hints, n)
    for i in range(n):
        if i % AHEAD_GROUP == 0:
            keyspace_ahead(w.ks, db, &w.hashes[i], &w.hints[i], n - i)
        result = run_request(s, w, c, i)
        ran[0] = i + 1
        if result != FEED_NEED_DATA:
            break
    keyspace_ahead_end(w.ks, w.reader)
    return result


cdef inline int run_few(Session* s, Worker* w, Context* c, uint32_t n, uint32_t* ran) noexcept nogil:
    cdef uint32_t i
    cdef int result = FEED_NEED_DATA
    for i in range(n):
        w.batch[i].hashed = 0
        result = run_request(s, w, c, i)
        ran[0] = i + 1
        if result != FEED_NEED_DATA:
            break
    return result


cdef inline int run_batch(Session* s, Worker* w, Context* c, uint32_t n, size_t* done) noexcept nogil:
    cdef uint32_t ran = 0
    cdef int result
    cdef uint64_t begun = ticks_now()
    c.timed = 0
    if n >= AHEAD_FROM and w.reader >= 0:
        result = run_ahead(s, w, c, n, &ran)
    else:
        result = run_few(s, w, c, n, &ran)
    done[0] = w.batch[ran - 1].end
    share_time(w, ran, ticks_now() - begun - c.timed)
    return result


# Commands one at a time ------------------------------------------------------------------------------------------


cdef int run_timed(Session* s, Worker* w, Context* c, const Command* row) noexcept nogil:
    cdef uint64_t begun = ticks_now()
    cdef int result
    c.timed = 0
    c.hint = NULL
    c.command = NULL
    result = run(s, c, row, False)
    if c.timed == 0 and is_quick(c.command):
        record_time(&w.counters, c.command.id, ticks_now() - begun, 1)
    return result


cdef void show(Session* s, Worker* w, Context* c, bint quiet) noexcept nogil:
    """Tell monitors of a call. A monitor sees its own calls behind their replies, and none while its replies are off."""
    cdef size_t from_ = w.shown.len
    monitor_append(c, &w.shown)
    if w.shown.failed:                  # they miss some
        outbuf_free(&w.shown)
        w.shown.failed = False
    elif s.client.flags & CLIENT_MONITOR and not quiet and not s.client.flags & CLIENT_REPLY_OFF:
        outbuf_append(&s.out, w.shown.data + from_, w.shown.len - from_)


cdef int refuse_monitor(Session* s, Context* c, const Command* row) noexcept nogil:
    cdef size_t was = s.out.len
    command_refuse(c, row, b"ERR Replica can't interact with the keyspace")
    s.client.commands += 1
    end_of_command(s, was, s.out.ref_count)
    return FEED_NEED_DATA


cdef int run_attended(Session* s, Worker* w, Context* c, const Command* row) noexcept nogil:
    """One request while some clients are paused, or watched. ORDER: what a gate refuses is refused at once and shown to nobody; a
    call is shown when it has been executed, one for Python when it sets off. A monitor's own command waits until it has been shown what
    it may be an answer to."""
    cdef const Command* real = command_admits(c, row)
    cdef bint watches = s.client.flags & CLIENT_MONITOR != 0
    cdef bint quiet = s.client.flags & CLIENT_REPLY_SKIPPING != 0
    cdef int result
    if real == NULL:
        return run_timed(s, w, c, row)
    if watches:
        s.client.flags ^= CLIENT_CAUGHT_UP
        if s.client.flags & CLIENT_CAUGHT_UP:
            return FEED_LATER
    if watches and real.flags & (CMD_WRITE | CMD_READONLY | CMD_MAY_REPLICATE):
        return refuse_monitor(s, c, real)
    if not watches and attention_holds(w.attention, real.flags):
        s.client.last_command = real.full_name
        return FEED_HELD
    result = run_timed(s, w, c, row)
    if attention_word(w.attention) & ATTEND_MONITORS and monitor_shows(real):
        show(s, w, c, quiet)
    return result


cdef int run_alone(Session* s, Worker* w, Context* c, const Command* row) noexcept nogil:
    if attention_word(w.attention) == 0 or (s.wire == WIRE_NATIVE and frame_refusal(s.call) != NULL):
        return run_timed(s, w, c, row)
    return run_attended(s, w, c, row)


cdef inline bint is_put_off(int result) noexcept nogil:
    """The request has not been run, and is fed again."""
    return result == FEED_HELD or result == FEED_LATER


cdef int run_each(Session* s, Worker* w, Context* c, uint32_t n, size_t* done) noexcept nogil:
    """The requests of a batch without looking ahead."""
    cdef uint32_t i
    cdef int result = FEED_NEED_DATA
    done[0] = 0
    for i in range(n):
        c.argv = &w.views[w.batch[i].first]
        c.argc = w.batch[i].argc
        s.call = w.batch[i].call
        result = run_alone(s, w, c, w.batch[i].row)
        if is_put_off(result):
            break
        done[0] = w.batch[i].end
        if result != FEED_NEED_DATA:
            break
    return result


cdef int run_one(Session* s, Worker* w, Context* c, const char* data, size_t len, size_t* done) noexcept nogil:
    """A request that the fast path has declined. FEED_YIELD here means: it is not complete."""
    cdef RespResult got = resp_next(&s.parser, data, len, &w.limits, done)
    cdef char text[128]
    cdef int result
    if got == RESP_MORE:
        return FEED_YIELD
    if got == RESP_NOMEM:
        reply_status(&s.out, ST_NOMEM, b"")
        return FEED_CLOSE
    if got == RESP_BAD:
        memcpy(text, b"ERR ", 4)
        copy_text(text + 4, s.parser.error, sizeof(text) - 4)
        reply_error(&s.out, text)
        record_error(&w.counters, b"ERR", 3)
        done[0] = len
        return FEED_CLOSE
    if s.parser.argc == 0:
        return FEED_NEED_DATA
    c.argv = s.parser.argv
    c.argc = s.parser.argc
    result = run_alone(s, w, c, NULL)
    if is_put_off(result):
        done[0] = 0
    return result


cdef int run_wide(Session* s, Worker* w, Context* c, const Frame* f, uint32_t items) noexcept nogil:
    """A COMMAND with more arguments than a batch has room for."""
    cdef View* argv = <View*>malloc(items * sizeof(View))
    cdef int result
    if argv == NULL:
        s.out.failed = True
        return FEED_CLOSE
    c.argv = argv
    c.argc = frame_items(f, argv, items)
    s.call = CALL_COMMAND
    result = run_alone(s, w, c, NULL)
    free(argv)
    return result


cdef int run_front(Session* s, Worker* w, Context* c, const char* data, size_t len, size_t* done) noexcept nogil:
    """The frame that no batch takes. FEED_YIELD: it is not complete. What is no frame ends the connection without a word."""
    cdef Frame f
    cdef uint32_t items
    cdef int result
    cdef Taken taken = frames_front(w, data, len, &f, &items)
    done[0] = 0
    if taken == FRAME_PART:
        s.parser.hint = f.size
        return FEED_YIELD
    if taken == FRAME_BAD:
        done[0] = len
        return FEED_CLOSE
    result = run_wide(s, w, c, &f, items)
    if not is_put_off(result):
        done[0] = f.size
    return result


cdef inline void copy_text(char* to, const char* text, size_t room) noexcept nogil:
    cdef size_t i = 0
    while text[i] and i + 1 < room:
        to[i] = text[i]
        i += 1
    to[i] = 0


cdef int session_feed(Session* s, Worker* w, const char* data, size_t len, size_t* consumed, int64_t now) noexcept nogil:
    cdef Context c
    cdef size_t at = 0, done = 0, before = outbuf_size(&s.out)      # replies of earlier turns that are still unsent
    cdef uint32_t n
    cdef int result
    consumed[0] = 0
    if s.waiting:
        return FEED_PARKED
    c.ks = w.ks
    c.client = &s.client
    c.out = &s.out
    c.now = now
    c.counters = &w.counters
    c.hint = NULL
    s.client.active_ms = now
    while at < len:
        if outbuf_size(&s.out) - before > TURN_OUTPUT and at:
            consumed[0] = at
            return FEED_YIELD
        n = 0
        if s.wire == WIRE_NATIVE:
            n = frames_take(w, data + at, len - at)
            s.parser.hint = 0
        elif s.parser.pos == 0 and s.parser.left == 0:
            n = take_batch(w, data + at, len - at)
        if n:
            if attention_word(w.attention):
                result = run_each(s, w, &c, n, &done)
            else:
                result = run_batch(s, w, &c, n, &done)
        else:
            result = (run_front if s.wire == WIRE_NATIVE else run_one)(s, w, &c, data + at, len - at, &done)
            if result == FEED_YIELD:
                break
        at += done
        if result != FEED_NEED_DATA:
            consumed[0] = at
            return result
    consumed[0] = at
    return FEED_NEED_DATA


cdef bint session_ahead(const Session* s, Worker* w, const char* data, size_t len, uint64_t* hash) noexcept nogil:
    cdef uint32_t argc = 0
    cdef Request* r = &w.batch[0]
    cdef View key
    if w.reader < 0:
        return False
    if s.wire == WIRE_NATIVE:
        if not frames_peek(w, data, len):
            return False
    elif resp_fast(data, data + len, &w.limits, w.views, BATCH_ARGS, &argc) == 0:
        return False
    else:
        r.first = 0
        r.argc = argc
        r.row = command_find(w.views[0].ptr, w.views[0].len)
    if not has_key(r):
        return False
    key = w.views[r.row.first_key]
    hash[0] = fnv1a(key.ptr, key.len)
    keyspace_ahead_slot(w.ks, w.reader, s.client.db, hash[0])
    return True


cdef void session_ahead_entry(const Session* s, Worker* w, uint64_t hash) noexcept nogil:
    keyspace_ahead_entry(w.ks, w.reader, s.client.db, hash)
