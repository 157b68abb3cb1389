"""Status codes: what a core function answers instead of raising.

Zero and above is success of some kind, below zero is an error. A status becomes a reply in `protocol.reply`
(reply_status) and an exception in `engine`; nowhere else. A handler that has written its own error reply answers
ST_REPLIED.
"""
cdef enum Status:
    ST_OK = 0
    ST_MISSING = 1               # no such key, where that is an answer and not an error
    ST_REFUSED = 2               # a condition (NX, XX, GT, LT) said no
    ST_MORE = 3                  # a bounded step ended before the work did
    ST_PARKED = 4                # the reply comes later

    ST_NOMEM = -1                # the system has no memory left
    ST_OOM = -2                  # the configured ceiling is reached
    ST_REPLIED = -3              # an error reply has been written already
    ST_SYNTAX = -4
    ST_WRONGTYPE = -5
    ST_NOT_INTEGER = -6
    ST_NOT_FLOAT = -7
    ST_OVERFLOW = -8             # increment or decrement would overflow
    ST_DECR_OVERFLOW = -9        # DECRBY of the least integer
    ST_NAN = -10                 # increment would produce NaN or Infinity
    ST_TOO_BIG = -11             # string exceeds proto-max-bulk-len
    ST_OFFSET_RANGE = -12
    ST_NO_KEY = -13              # no such key, as an error
    ST_INVALID_EXPIRE = -14      # invalid expire time in 'name' command
    ST_DB_RANGE = -15            # DB index is out of range
    ST_INVALID_DB = -16          # invalid DB index
    ST_SAME_OBJECT = -17
    ST_INVALID_CURSOR = -18
    ST_GT_LT = -19
    ST_NX_WITH = -20             # NX and XX, GT or LT
    ST_ARITY = -21               # wrong number of arguments for 'name' command
    ST_OUT_OF_RANGE = -22        # value is out of range
    ST_NOT_POSITIVE = -23        # value is out of range, must be positive
    ST_INVALID_FIRST_DB = -24    # SWAPDB
    ST_INVALID_SECOND_DB = -25
    ST_NOPROTO = -26
    ST_BUSY = -27                # the control ring is full
    ST_STORAGE = -28             # the log cannot be written
    ST_LOADING = -29             # what is on disk is being read
    ST_UNSAFE = -30              # the change has been made, and its record may not be on the disk
