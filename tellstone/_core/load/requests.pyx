"""Requests encoded beforehand (see requests.pxd)."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.load.draw cimport draw_free, draw_init, draw_number
from tellstone._core.protocol.native cimport FRAME_REQUEST, OP_GET, OP_SET, REQUEST_HEAD

from struct import Struct

check_layout(__name__)

cdef bytes NAME = b"key:%012d"
cdef object HEAD = Struct(">IBBHq")     # of a frame, and of the request in it
cdef bytes FILL = b"abcdefghijklmnopqrstuvwxyz0123456789"


cdef size_t request_max(const Mix* m) noexcept nogil:
    return m.write.len if m.write.len > m.read.len else m.read.len


cdef bint value_holds(const Mix* m, uint32_t number, View value) noexcept nogil:
    cdef const Encoded* w = &m.write
    cdef char key[KEY_LEN]
    cdef char mark[KEY_LEN]
    if value.len != m.value_size:
        return False
    memcpy(key, w.text + w.key_at, KEY_LEN)
    key_number(key, number)
    key_mark(key, w.mark, mark)
    if memcmp(value.ptr, mark, w.mark) != 0:
        return False
    return memcmp(value.ptr + w.mark, w.text + w.value_at + w.mark, value.len - w.mark) == 0


# Encoding -------------------------------------------------------------------------------------------------------


cdef bytes resp_request(tuple words):
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])


cdef bytes native_request(int op, bytes key, bytes value):
    """Without a time to live."""
    return HEAD.pack(1 + REQUEST_HEAD + len(key) + len(value), FRAME_REQUEST, op, len(key), 0) + key + value


cdef Encoded encoded(bytes text, bytes key, size_t value_size, size_t behind):
    """Where key and value are in a request that has so many bytes behind its value. LIFETIME: points into `text`."""
    cdef Encoded kind
    kind.text = text
    kind.len = len(text)
    kind.key_at = text.index(key)
    kind.value_at = kind.len - behind - value_size
    kind.mark = value_size if value_size < KEY_LEN else KEY_LEN
    return kind


cdef int encode(Workload self, bytes key, bytes value) except -1:
    cdef Mix* m = &self.mix
    if self.protocol == "resp":
        self.read_text = resp_request((b"GET", key))
        self.write_text = resp_request((b"SET", key, value))
    else:
        self.read_text = native_request(OP_GET, key, b"")
        self.write_text = native_request(OP_SET, key, value)
    m.read = encoded(self.read_text, key, 0, 0)
    m.write = encoded(self.write_text, key, len(value), 2 if self.protocol == "resp" else 0)
    return 0


@cython.final
cdef class Workload:
    """What a load asks of a server: reads and writes of numbered keys, in one protocol ("resp" or "native").

    keyspace: the number of keys, below 2^32. value_size: bytes. read_ratio: the share of reads, 0 to 1. skew: of Zipf's law, by which
    low numbers come more often; 0: all keys alike.
    """

    def __cinit__(self, str protocol not None, *, uint32_t keyspace, size_t value_size, double read_ratio=0, double skew=0):
        if protocol not in ("resp", "native") or not keyspace or not 0 <= read_ratio <= 1 or not skew >= 0:
            raise ValueError(f"no workload: {protocol!r}, {keyspace} keys, {read_ratio} reads, skew {skew}")
        self.protocol = protocol
        self.mix.value_size = value_size
        self.mix.reads_below = <uint64_t>(read_ratio * 4294967296.0)
        draw_init(&self.mix.draw, keyspace, skew)
        encode(self, NAME % 0, (FILL * (value_size // len(FILL) + 1))[:value_size])

    def __dealloc__(self):
        draw_free(&self.mix.draw)

    @property
    def keyspace(self):
        """The number of keys."""
        return self.mix.draw.keyspace

    @property
    def longest(self):
        """Bytes of the longest request."""
        return request_max(&self.mix)

    def key(self, uint32_t number):
        """The name of a key."""
        return NAME % number

    def value(self, uint32_t number):
        """What is written to a key."""
        cdef Encoded* w = &self.mix.write
        cdef bytes name = NAME % number
        cdef char mark[KEY_LEN]
        key_mark(name, w.mark, mark)
        return mark[:w.mark] + w.text[w.value_at + w.mark:w.value_at + self.mix.value_size]

    def numbers(self, uint32_t count, uint64_t seed):
        """Keys as they are drawn for requests."""
        return [draw_number(&self.mix.draw, &seed) for _ in range(count)]
