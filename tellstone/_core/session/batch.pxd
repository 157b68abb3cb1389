"""The working memory of a thread that runs sessions, and the batch of requests in it.

A batch is what one turn has parsed off the front of its input, of either protocol, before any of it runs: whole, plain requests whose
rows are known, so that their keys can be hashed in lanes and their memory fetched ahead.
LIFETIME: views point into the input, or into the worker itself, and are good until the turn ends.
LOCK: a Worker belongs to one thread.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.command.command cimport Command
from tellstone._core.command.record cimport Counters
from tellstone._core.protocol.resp cimport RespLimits
from tellstone._core.session.attention cimport Attention
from tellstone._core.store.keyspace cimport Keyspace
from tellstone._core.store.table cimport SlotHint

cdef enum Wire:                     # the protocol of a connection, for all its life
    WIRE_RESP = 0
    WIRE_NATIVE = 1

cdef enum:
    BATCH = 64                      # requests parsed, hashed and prefetched together
    BATCH_ARGS = 512
    TTL_TEXT = 24                   # room for an integer

cdef struct Request:                # of a batch
    uint32_t first                  # its arguments are views[first : first + argc]
    uint32_t argc
    const Command* row
    uint8_t hashed                  # bool: Worker.hashes holds its first key's hash
    uint8_t call                    # of a frame: NativeCall
    size_t end                      # bytes of the data up to and with it

cdef struct Worker:                 # the working memory of a thread that runs sessions
    Keyspace* ks
    int reader                      # of the grace period; -1: no look-ahead
    Attention* attention            # of the group; the driver's, one that is never needed where there is none
    OutBuf shown                    # lines for monitors
    RespLimits limits
    uint64_t max_frame              # of the native protocol: bytes that a frame's length may announce
    Counters counters
    View views[BATCH_ARGS]
    Request batch[BATCH]
    SlotHint hints[BATCH]
    char ttls[BATCH][TTL_TEXT]      # of frames that set a time to live: its text
    uint64_t hashes[BATCH + 4]      # of the requests of the batch; lanes write up to three more
