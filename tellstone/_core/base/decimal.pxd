"""Numbers with a point as text, exactly as Redis reads and writes them (`decimal.h`)."""
cdef extern from "decimal.h" nogil:
    enum:
        DECIMAL_ROOM "TS_DECIMAL_ROOM"
    # The whole text is one number other than NaN (as Redis's string2ld).
    bint parse_decimal "ts_parse_decimal"(const char* s, size_t n, long double* out) noexcept
    # A finite value, at most 17 digits behind the point; room DECIMAL_ROOM. Answers the length (ld2string, human).
    size_t format_decimal "ts_format_decimal"(char* out, long double value) noexcept
