/* Decimal text and long double, as Redis reads and writes them (string2ld and ld2string of its util.c), whatever the process's
 * locale says: an embedding program may have set one with another decimal point. */
#ifndef TELLSTONE_DECIMAL_H
#define TELLSTONE_DECIMAL_H
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__) || defined(__FreeBSD__)
#include <xlocale.h>
#endif

#define TS_DECIMAL_ROOM 5120 /* the text of the largest long double (4951 bytes) and a terminator */

/* The number at the front of a terminated text, in the C locale. */
static inline long double ts_read_decimal(const char *text, char **end) {
  long double value;
#if defined(_WIN32)
  _locale_t plain = _create_locale(LC_ALL, "C");
  value = _strtold_l(text, end, plain);
  _free_locale(plain);
#elif defined(__APPLE__) || defined(__FreeBSD__)
  value = strtold_l(text, end, NULL);
#else
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* allocates nothing for "C" */
  value = strtold_l(text, end, plain);
  freelocale(plain);
#endif
  return value;
}

/* The whole text is one number: decimal, hexadecimal or an infinity, without blanks before it. Not: NaN, over- and underflow. */
static inline int ts_parse_decimal(const char *s, size_t n, long double *out) {
  char text[TS_DECIMAL_ROOM];
  char *end;
  if (n == 0 || n >= sizeof text || strchr(" \t\n\v\f\r", s[0])) return 0;
  memcpy(text, s, n);
  text[n] = 0;
  errno = 0;
  *out = ts_read_decimal(text, &end);
  if (end != text + n || isnan(*out)) return 0;
  return errno == 0 || (errno == ERANGE && !isinf(*out) && *out != 0);
}

/* A finite value with at most 17 digits behind the point and no zero at the end. Writes into out (TS_DECIMAL_ROOM bytes) and
 * answers the length. */
static inline size_t ts_format_decimal(char *out, long double value) {
  size_t n = (size_t)snprintf(out, TS_DECIMAL_ROOM, "%.17Lf", value);
  size_t whole = out[0] == '-';
  while (out[whole] >= '0' && out[whole] <= '9') whole++;
  memmove(out + whole + 1, out + n - 17, 17); /* a locale's decimal point may be longer than a byte */
  out[whole] = '.';
  n = whole + 18;
  while (out[n - 1] == '0') n--;
  if (out[n - 1] == '.') n--;
  if (n == 2 && out[0] == '-' && out[1] == '0') { out[0] = '0'; n = 1; }
  return n;
}
#endif
