"""Redis's glob patterns: * ? [a-z] [^a-z] and a backslash to take the next byte as it is (`glob.h`)."""
cdef extern from "glob.h" nogil:
    # nocase: the letters A to Z compare without case
    bint glob_matches "ts_glob_match"(const char* pattern, size_t pattern_len, const char* text, size_t text_len,
                                      bint nocase) noexcept
