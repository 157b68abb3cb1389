"""Arguments whose errors hold numbers (see arguments.pxd)."""
from libc.stdint cimport int64_t
from libc.stdio cimport snprintf

from tellstone._core.base.bytesops cimport View
from tellstone._core.base.outbuf cimport OutBuf
from tellstone._core.base.stamp cimport check_layout
from tellstone._core.base.status cimport ST_OK, ST_REPLIED
from tellstone._core.protocol.reply cimport reply_error

check_layout(__name__)


cdef int argument_between(OutBuf* out, View text, int64_t least, int64_t most, int64_t* value) noexcept nogil:
    cdef char line[128]
    cdef int status = argument_int(text, value)
    if status != ST_OK or least <= value[0] <= most:
        return status
    snprintf(line, sizeof(line), "ERR value is out of range, value must between %lld and %lld", <long long>least, <long long>most)
    reply_error(out, line)
    return ST_REPLIED
