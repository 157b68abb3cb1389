"""The version of Redis that we answer as, in HELLO and INFO: clients choose their commands by it."""
cdef extern from *:
    """
    #define TELLSTONE_REDIS_VERSION "7.2.0"
    """
    const char* REDIS_VERSION "TELLSTONE_REDIS_VERSION"
