"""Commands about the connection itself (see connection.pxd).

There is one user so far, "default", who needs no password: AUTH and HELLO take any password for that name.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, int64_t, uint32_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strlen

from tellstone._core.base.atomics cimport relaxed_u64
from tellstone._core.base.bytesops cimport View, parse_i64, same_bytes
from tellstone._core.base.outbuf cimport OutBuf, outbuf_append, outbuf_free
from tellstone._core.base.platform cimport wall_us
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_ARITY, ST_DB_RANGE, ST_NOMEM, ST_NOPROTO, ST_OK, ST_REPLIED, ST_SYNTAX
from tellstone._core.command.arguments cimport argument_between, option_is
from tellstone._core.command.client cimport (
    CLIENT_CLOSE, CLIENT_EMBEDDED, CLIENT_MONITOR, CLIENT_NEWS, CLIENT_NO_EVICT, CLIENT_NO_TOUCH, CLIENT_REPLY_OFF, CLIENT_REPLY_SKIP,
    CLIENT_REPLY_SKIPPING, CLIENT_UNIX, Client, Text,
)
from tellstone._core.command.command cimport Context, command_hold, command_let_go
from tellstone._core.command.quoting cimport reply_error_quoting
from tellstone._core.command.version cimport REDIS_VERSION
from tellstone._core.protocol.reply cimport (
    reply_array, reply_bulk, reply_bulk_int, reply_bulk_text, reply_error, reply_int, reply_map, reply_null, reply_ok,
    reply_set, reply_simple, reply_verbatim,
)
from tellstone._core.store.keyspace cimport Keyspace
from tellstone._core.store.shard cimport DATABASES

check_layout(__name__)

cdef enum:
    PROTO_MIN = 2
    PROTO_MAX = 3


cdef int refuse(Context* c, const char* text) noexcept nogil:
    reply_error(c.out, text)
    return ST_REPLIED


# Names ----------------------------------------------------------------------------------------------------------


cdef bint name_is_clean(View name) noexcept nogil:
    """Printable ASCII without blanks, so that a line of CLIENT LIST splits at its blanks. Redis looks no further than a
    zero byte and lets anything pass behind it; we do not."""
    cdef size_t i
    for i in range(name.len):
        if not c'!' <= name.ptr[i] <= c'~':
            return False
    return True


cdef bint text_set(Text* t, View v) noexcept nogil:
    """Keep a copy; the empty text is no text. False without memory, with the old one kept."""
    cdef char* copy = NULL
    if v.len:
        copy = <char*>malloc(v.len)
        if copy == NULL:
            return False
        memcpy(copy, v.ptr, v.len)
    free(t.ptr)
    t.ptr = copy
    t.len = v.len
    return True


cdef void text_clear(Text* t) noexcept nogil:
    free(t.ptr)
    t.ptr = NULL
    t.len = 0


cdef int refuse_name(Context* c) noexcept nogil:
    return refuse(c, b"ERR Client names cannot contain spaces, newlines or special characters.")


# The small ones -------------------------------------------------------------------------------------------------


# PING [message]
cdef int cmd_ping(Context* c) noexcept nogil:
    if c.argc > 2:
        return ST_ARITY
    if c.argc == 2:
        reply_bulk(c.out, c.argv[1].ptr, c.argv[1].len)
    else:
        reply_simple(c.out, b"PONG", 4)
    return ST_OK


# ECHO message
cdef int cmd_echo(Context* c) noexcept nogil:
    reply_bulk(c.out, c.argv[1].ptr, c.argv[1].len)
    return ST_OK


# QUIT
cdef int cmd_quit(Context* c) noexcept nogil:
    reply_ok(c.out)
    c.client.flags |= CLIENT_CLOSE
    return ST_OK


# RESET
cdef int cmd_reset(Context* c) noexcept nogil:
    """As if the connection were new. The library's name and version stay: it is still the same one. ORDER: the flags go
    before the reply, which is therefore sent even while replies were off."""
    if c.client.flags & CLIENT_MONITOR:
        c.client.flags = (c.client.flags & ~<uint32_t>CLIENT_MONITOR) | CLIENT_NEWS
    c.client.db = 0
    c.client.proto = PROTO_MIN
    c.client.flags &= ~<uint32_t>(
        CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIPPING | CLIENT_NO_TOUCH | CLIENT_NO_EVICT)
    text_clear(&c.client.name)
    reply_simple(c.out, b"RESET", 5)
    return ST_OK


# SELECT index
cdef int cmd_select(Context* c) noexcept nogil:
    cdef int64_t db
    cdef int status = argument_between(c.out, c.argv[1], INT32_MIN, INT32_MAX, &db)
    if status != ST_OK:
        return status
    if db < 0 or db >= DATABASES:
        return ST_DB_RANGE
    c.client.db = <int>db
    reply_ok(c.out)
    return ST_OK


# TIME
cdef int cmd_time(Context* c) noexcept nogil:
    cdef int64_t frozen = <int64_t>relaxed_u64(&c.ks.shared.fixed_now)
    cdef int64_t us = frozen * 1000 if frozen else wall_us()
    reply_array(c.out, 2)
    reply_bulk_int(c.out, us // 1000000)
    reply_bulk_int(c.out, us % 1000000)
    return ST_OK


# ROLE
cdef int cmd_role(Context* c) noexcept nogil:
    """A master without replicas, whose replication offset is 0."""
    reply_array(c.out, 3)
    reply_bulk_text(c.out, b"master")
    reply_int(c.out, 0)
    reply_array(c.out, 0)
    return ST_OK


# Who, and in which protocol -------------------------------------------------------------------------------------


cdef int authenticate(Context* c, View user) noexcept nogil:
    if user.len != 7 or not same_bytes(user.ptr, b"default", 7):
        return refuse(c, b"WRONGPASS invalid username-password pair or user is disabled.")
    c.client.authenticated = True
    return ST_OK


# AUTH [username] password
cdef int cmd_auth(Context* c) noexcept nogil:
    cdef int status
    if c.argc > 3:
        return ST_SYNTAX
    if c.argc == 2:
        return refuse(c, b"ERR AUTH <password> called without any password configured for the default user. "
                         b"Are you sure your configuration is correct?")
    status = authenticate(c, c.argv[1])
    if status == ST_OK:
        reply_ok(c.out)
    return status


cdef struct Hello:
    int64_t proto                   # 0: as it is
    const View* user                # NULL: no AUTH
    const View* name                # NULL: no SETNAME


cdef int hello_options(Context* c, Hello* hello) noexcept nogil:
    """Of an option that is given twice the last counts. A bad name is refused where it stands."""
    cdef uint32_t i = 2
    while i < c.argc:
        if option_is(c.argv[i], b"auth", 4) and i + 2 < c.argc:
            hello.user = &c.argv[i + 1]
            i += 3
        elif option_is(c.argv[i], b"setname", 7) and i + 1 < c.argc:
            hello.name = &c.argv[i + 1]
            if not name_is_clean(c.argv[i + 1]):
                return refuse_name(c)
            i += 2
        else:
            return reply_error_quoting(c.out, b"ERR Syntax error in HELLO option '", c.argv[i], b"'")
    return ST_OK


cdef int hello_parse(Context* c, Hello* hello) noexcept nogil:
    memset(hello, 0, sizeof(Hello))
    if c.argc == 1:
        return ST_OK
    if not parse_i64(c.argv[1].ptr, c.argv[1].len, &hello.proto):
        return refuse(c, b"ERR Protocol version is not an integer or out of range")
    if not PROTO_MIN <= hello.proto <= PROTO_MAX:
        return ST_NOPROTO
    return hello_options(c, hello)


cdef void reply_hello(OutBuf* o, const Client* client, const Keyspace* ks) noexcept nogil:
    """In the protocol that has just been chosen."""
    reply_map(o, client.proto, 7)
    reply_bulk_text(o, b"server")
    reply_bulk_text(o, b"redis")
    reply_bulk_text(o, b"version")
    reply_bulk_text(o, REDIS_VERSION)
    reply_bulk_text(o, b"proto")
    reply_int(o, client.proto)
    reply_bulk_text(o, b"id")
    reply_int(o, <int64_t>client.id)
    reply_bulk_text(o, b"mode")
    if ks.cluster:
        reply_bulk_text(o, b"cluster")
    else:
        reply_bulk_text(o, b"standalone")
    reply_bulk_text(o, b"role")
    reply_bulk_text(o, b"master")
    reply_bulk_text(o, b"modules")
    reply_array(o, 0)


# HELLO [protover [AUTH username password] [SETNAME clientname]]
cdef int cmd_hello(Context* c) noexcept nogil:
    """ORDER: all options are read first, then the user is checked, then name and protocol change."""
    cdef Hello hello
    cdef int status = hello_parse(c, &hello)
    if status == ST_OK and hello.user != NULL:
        status = authenticate(c, hello.user[0])
    if status != ST_OK:
        return status
    if not c.client.authenticated:
        return refuse(c, b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
                         b"<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
                         b"RESP protocol version at the same time")
    if hello.name != NULL and not text_set(&c.client.name, hello.name[0]):
        return ST_NOMEM
    if hello.proto:
        c.client.proto = <unsigned char>hello.proto
    reply_hello(c.out, c.client, c.ks)
    return ST_OK


# CLIENT ---------------------------------------------------------------------------------------------------------


# CLIENT ID
cdef int cmd_client_id(Context* c) noexcept nogil:
    reply_int(c.out, <int64_t>c.client.id)
    return ST_OK


# CLIENT GETNAME
cdef int cmd_client_getname(Context* c) noexcept nogil:
    if c.client.name.ptr != NULL:
        reply_bulk(c.out, c.client.name.ptr, c.client.name.len)
    else:
        reply_null(c.out, c.client.proto)
    return ST_OK


# CLIENT SETNAME connection-name
cdef int cmd_client_setname(Context* c) noexcept nogil:
    if not name_is_clean(c.argv[2]):
        return refuse_name(c)
    if not text_set(&c.client.name, c.argv[2]):
        return ST_NOMEM
    reply_ok(c.out)
    return ST_OK


# CLIENT SETINFO LIB-NAME libname | LIB-VER libver
cdef int cmd_client_setinfo(Context* c) noexcept nogil:
    cdef Text* field
    if option_is(c.argv[2], b"lib-name", 8):
        field = &c.client.lib_name
    elif option_is(c.argv[2], b"lib-ver", 7):
        field = &c.client.lib_ver
    else:
        return reply_error_quoting(c.out, b"ERR Unrecognized option '", c.argv[2], b"'")
    if not name_is_clean(c.argv[3]):
        return reply_error_quoting(c.out, b"ERR ", c.argv[2],
                                   b" cannot contain spaces, newlines or special characters.")
    if not text_set(field, c.argv[3]):
        return ST_NOMEM
    reply_ok(c.out)
    return ST_OK


# CLIENT REPLY ON | OFF | SKIP
cdef int cmd_client_reply(Context* c) noexcept nogil:
    """Only ON replies, and always does. SKIP says nothing while replies are off."""
    if option_is(c.argv[2], b"on", 2):
        c.client.flags &= ~<uint32_t>(CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIPPING)
        reply_ok(c.out)
    elif option_is(c.argv[2], b"off", 3):
        c.client.flags |= CLIENT_REPLY_OFF
    elif option_is(c.argv[2], b"skip", 4):
        if not c.client.flags & CLIENT_REPLY_OFF:
            c.client.flags |= CLIENT_REPLY_SKIP
    else:
        return ST_SYNTAX
    return ST_OK


cdef int switch_flag(Context* c, uint32_t flag) noexcept nogil:
    if option_is(c.argv[2], b"on", 2):
        c.client.flags |= flag
    elif option_is(c.argv[2], b"off", 3):
        c.client.flags &= ~flag
    else:
        return ST_SYNTAX
    reply_ok(c.out)
    return ST_OK


# CLIENT NO-EVICT ON | OFF
cdef int cmd_client_no_evict(Context* c) noexcept nogil:
    return switch_flag(c, CLIENT_NO_EVICT)


# CLIENT NO-TOUCH ON | OFF
cdef int cmd_client_no_touch(Context* c) noexcept nogil:
    return switch_flag(c, CLIENT_NO_TOUCH)


# CLIENT GETREDIR
cdef int cmd_client_getredir(Context* c) noexcept nogil:
    reply_int(c.out, -1)
    return ST_OK


# CLIENT TRACKINGINFO
cdef int cmd_client_trackinginfo(Context* c) noexcept nogil:
    """What Redis answers to a client that has not turned tracking on."""
    reply_map(c.out, c.client.proto, 3)
    reply_bulk_text(c.out, b"flags")
    reply_set(c.out, c.client.proto, 1)
    reply_bulk_text(c.out, b"off")
    reply_bulk_text(c.out, b"redirect")
    reply_int(c.out, -1)
    reply_bulk_text(c.out, b"prefixes")
    reply_array(c.out, 0)
    return ST_OK


# CLIENT INFO
cdef int cmd_client_info(Context* c) noexcept nogil:
    cdef OutBuf line
    cdef Footprint size
    memset(&line, 0, sizeof(OutBuf))
    memset(&size, 0, sizeof(Footprint))
    size.buffer = c.out.cap
    size.buffered = c.out.len
    size.blocks = c.out.ref_count
    size.block_bytes = c.out.ref_bytes
    size.memory = sizeof(Client) + size.buffer + size.block_bytes
    size.reads = not c.client.flags & CLIENT_EMBEDDED
    command_hold(c)
    client_describe(c.client, &line, c.now, &size)
    command_let_go(c.client)
    if not line.failed:
        reply_verbatim(c.out, c.client.proto, b"txt", line.data, line.len)
    outbuf_free(&line)
    return ST_NOMEM if line.failed else ST_OK


# A client's line ------------------------------------------------------------------------------------------------


cdef void flag_letters(uint32_t flags, bint waits, char* out) noexcept nogil:
    """Redis's letters in Redis's order; room for six and a zero."""
    cdef char* p = out
    if flags & CLIENT_MONITOR:
        p[0] = c'O'
        p += 1
    if waits:
        p[0] = c'b'
        p += 1
    if flags & CLIENT_CLOSE:
        p[0] = c'c'
        p += 1
    if flags & CLIENT_UNIX:
        p[0] = c'U'
        p += 1
    if flags & CLIENT_NO_EVICT:
        p[0] = c'e'
        p += 1
    if flags & CLIENT_NO_TOUCH:
        p[0] = c'T'
        p += 1
    if p == out:
        p[0] = c'N'
        p += 1
    p[0] = 0


cdef inline void append_text(OutBuf* out, const Text* t) noexcept nogil:
    if t.ptr != NULL:
        outbuf_append(out, t.ptr, t.len)


cdef void describe_identity(const Client* client, OutBuf* out) noexcept nogil:
    cdef char text[256]
    cdef int n = snprintf(text, sizeof(text), b"id=%llu addr=%s laddr=%s fd=%d name=", <unsigned long long>client.id,
                          client.addr, client.laddr, client.fd)
    outbuf_append(out, text, <size_t>n)
    append_text(out, &client.name)


cdef void describe_state(const Client* client, OutBuf* out, int64_t now, const Footprint* size) noexcept nogil:
    """Redis's fixed reply buffer is the one that is lent, its list of replies the values sent without a copy. Ages count
    whole seconds of the clock, as Redis's do."""
    cdef char text[512]
    cdef char letters[8]
    cdef const char* command = client.last_command
    cdef size_t memory = size.memory + client.argv_bytes + client.name.len + client.lib_name.len + client.lib_ver.len
    cdef int n
    if command == NULL:
        command = b"NULL"
    flag_letters(client.flags, size.waits, letters)
    n = snprintf(text, sizeof(text),
                 b" age=%lld idle=%lld flags=%s db=%d sub=0 psub=0 ssub=0 multi=-1 qbuf=%zu qbuf-free=%zu argv-mem=%llu"
                 b" multi-mem=0 rbs=%zu rbp=%zu obl=%zu oll=%zu omem=%zu tot-mem=%zu events=%s%s cmd=%.64s user=default"
                 b" redir=-1 resp=%d lib-name=",
                 <long long>(now // 1000 - client.created_ms // 1000),
                 <long long>(now // 1000 - client.active_ms // 1000), letters, client.db, <size_t>client.query_bytes + size.input, size.input_free,
                 <unsigned long long>client.argv_bytes, size.buffer, size.buffered, size.buffered, size.blocks, size.block_bytes, memory,
                 b"r" if size.reads else b"", b"w" if size.writes else b"", command, <int>client.proto)
    outbuf_append(out, text, <size_t>n)
    append_text(out, &client.lib_name)


cdef void client_describe(const Client* client, OutBuf* out, int64_t now, const Footprint* size) noexcept nogil:
    describe_identity(client, out)
    describe_state(client, out, now, size)
    outbuf_append(out, b" lib-ver=", 9)
    append_text(out, &client.lib_ver)
    outbuf_append(out, b"\n", 1)
