"""Handlers of the commands about the connection itself: PING, SELECT, HELLO, CLIENT and their kin.

Each answers what Redis 7.2 answers, errors and the order of checks included. CLIENT LIST and CLIENT KILL look at other
connections and are not here.
"""
from libc.stdint cimport int64_t

from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.client cimport Client
from tellstone._core.command.command cimport Context

cdef int cmd_ping(Context* c) noexcept nogil
cdef int cmd_echo(Context* c) noexcept nogil
cdef int cmd_quit(Context* c) noexcept nogil
cdef int cmd_reset(Context* c) noexcept nogil
cdef int cmd_select(Context* c) noexcept nogil
cdef int cmd_hello(Context* c) noexcept nogil
cdef int cmd_auth(Context* c) noexcept nogil
cdef int cmd_time(Context* c) noexcept nogil
cdef int cmd_role(Context* c) noexcept nogil

cdef int cmd_client_id(Context* c) noexcept nogil
cdef int cmd_client_getname(Context* c) noexcept nogil
cdef int cmd_client_setname(Context* c) noexcept nogil
cdef int cmd_client_setinfo(Context* c) noexcept nogil
cdef int cmd_client_info(Context* c) noexcept nogil
cdef int cmd_client_reply(Context* c) noexcept nogil
cdef int cmd_client_getredir(Context* c) noexcept nogil
cdef int cmd_client_trackinginfo(Context* c) noexcept nogil
cdef int cmd_client_no_evict(Context* c) noexcept nogil
cdef int cmd_client_no_touch(Context* c) noexcept nogil

cdef struct Footprint:              # what CLIENT LIST tells of a client beside what the client itself knows; all sizes in bytes
    size_t input                    # held until it is understood, behind the request that is being run
    size_t input_free               # room behind it
    size_t buffer                   # of replies; 0: none is lent at the moment
    size_t buffered                 # unsent replies in it
    size_t blocks                   # unsent values that are sent without a copy
    size_t block_bytes
    size_t memory                   # everything
    bint waits                      # held back by CLIENT PAUSE, or in WAIT
    bint reads                      # the driver waits for input
    bint writes                     # the driver waits until output can be sent

# Append the client's line of CLIENT INFO and CLIENT LIST, with its newline.
cdef void client_describe(const Client* client, OutBuf* out, int64_t now, const Footprint* size) noexcept nogil
