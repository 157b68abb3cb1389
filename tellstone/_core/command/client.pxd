"""What a command's handler may know and change of the connection that sent it.

Owned by the session; one thread at a time works on it (the one that runs the session). Strings are malloc'ed, NULL when unset.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum ClientFlag:
    CLIENT_CLOSE = 1                # close when what is written has been sent (QUIT, protocol errors, CLIENT KILL)
    CLIENT_REPLY_OFF = 2            # CLIENT REPLY OFF
    CLIENT_REPLY_SKIP = 4           # of the next command
    CLIENT_REPLY_SKIPPING = 8       # of this one
    CLIENT_UNIX = 16
    CLIENT_EMBEDDED = 32            # Engine.execute: there is no connection
    CLIENT_NO_EVICT = 64
    CLIENT_NO_TOUCH = 128
    CLIENT_MONITOR = 256            # is shown what others do
    CLIENT_NEWS = 512               # CLIENT_MONITOR has changed, and the driver does not know yet
    CLIENT_CAUGHT_UP = 1024         # a monitor has been shown all that came before its next command

cdef struct Text:                   # malloc'ed, not terminated
    char* ptr
    size_t len

cdef struct Client:
    uint64_t id
    uint32_t flags
    int db
    uint8_t proto                   # 2 or 3
    uint8_t authenticated
    int fd                          # -1: none
    int64_t created_ms              # Unix time
    int64_t active_ms               # Unix time of the last request
    uint64_t commands               # requests so far
    uint64_t input_bytes
    uint64_t output_bytes
    uint64_t argv_bytes             # of the arguments of a call that waits, or asks about its client
    uint64_t query_bytes            # of that call, sent as an array of bulk strings
    const char* last_command        # full name of the last command, static; NULL at first
    Text name
    Text lib_name
    Text lib_ver
    char addr[78]                   # "127.0.0.1:5000", "[::1]:5000", "/path:0"; terminated, and cut where Redis cuts it
    char laddr[78]
