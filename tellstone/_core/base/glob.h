/* Glob patterns exactly as Redis reads them (stringmatchlen of its util.c), without its recursion.
 *
 * Every element of a pattern other than a star takes one byte, whatever that byte is. So once the part behind a star
 * has been reached, no other choice for an earlier star can help, and only the last star has to be remembered: at most
 * one pass over the pattern for each byte of the text, and no pattern explodes.
 *
 * What one would not expect, and Redis does: only the empty pattern matches the empty text, not even a star does; a set
 * that is not closed ends with the pattern; an escaped byte in a set keeps its case when letters compare without case.
 * Bytes are signed in ranges, on every system; with nocase Redis leaves those above 127 to the C library, and we treat
 * them as without. */
#ifndef TELLSTONE_GLOB_H
#define TELLSTONE_GLOB_H
#include <stddef.h>

static inline signed char ts_glob_fold(signed char c, int nocase) {
  return nocase && c >= 'A' && c <= 'Z' ? (signed char)(c | 0x20) : c;
}

static inline int ts_glob_in_range(signed char from, signed char to, signed char c, int nocase) {
  if (from > to) { signed char other = from; from = to; to = other; }
  c = ts_glob_fold(c, nocase);
  return c >= ts_glob_fold(from, nocase) && c <= ts_glob_fold(to, nocase);
}

/* Whether a set takes c. *at is the byte behind '[', and afterwards the one behind the set. */
static inline int ts_glob_set(const char **at, const char *end, char c, int nocase) {
  const char *p = *at;
  int inverted = p < end && *p == '^', found = 0;
  for (p += inverted; p < end && *p != ']'; p++) {
    if (*p == '\\' && end - p >= 2) {
      found |= *++p == c;
    } else if (end - p >= 3 && p[1] == '-') {
      found |= ts_glob_in_range((signed char)p[0], (signed char)p[2], (signed char)c, nocase);
      p += 2;
    } else {
      found |= ts_glob_fold((signed char)*p, nocase) == ts_glob_fold((signed char)c, nocase);
    }
  }
  *at = p < end ? p + 1 : end;
  return found != inverted;
}

/* Whether the element at *at, which is not a star, takes c. When it does, *at is behind it. */
static inline int ts_glob_takes(const char **at, const char *end, char c, int nocase) {
  const char *p = (*at)++;
  if (*p == '?') return 1;
  if (*p == '[') return ts_glob_set(at, end, c, nocase);
  if (*p == '\\' && end - p >= 2) p = (*at)++;
  return ts_glob_fold((signed char)*p, nocase) == ts_glob_fold((signed char)c, nocase);
}

static inline int ts_glob_match(const char *pattern, size_t pattern_len, const char *text, size_t text_len,
                                int nocase) {
  const char *p = pattern, *end = pattern + pattern_len;
  const char *t = text, *stop = text + text_len;
  const char *behind_star = NULL, *retry = NULL;  /* the last star takes the text up to `retry` */
  if (text_len == 0) return pattern_len == 0;
  while (t < stop) {
    if (p < end && *p == '*') {
      while (p < end && *p == '*') p++;
      if (p == end) return 1;
      behind_star = p;
      retry = t;
    } else if (p < end && ts_glob_takes(&p, end, *t, nocase)) {
      t++;
    } else {
      if (behind_star == NULL) return 0;
      p = behind_star;
      t = ++retry;
    }
  }
  while (p < end && *p == '*') p++;
  return p == end;
}
#endif
