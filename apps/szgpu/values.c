/* values.c - reads the values of options and the dims in file names, strictly.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char *read_digits(const char *text, const char *end, uint64_t *count) {
  *count = 0;
  for (; text < end && is_digit(*text); text++) {
    uint64_t const digit = (uint64_t)(*text - '0');
    if (*count > (UINT64_MAX - digit) / 10) return NULL;
    *count = *count * 10 + digit;
  }
  return text;
}

bool read_real(const char *text, double *value) {
  char *end = NULL;
  if (strchr(" \t\n\v\f\r", *text)) /* strtod would skip it; true for an empty text too */
    return false;
  *value = strtod(text, &end);
  return end != text && *end == '\0';
}

bool read_count(const char *text, uint64_t *count) {
  const char *end = text + strlen(text);
  return text < end && read_digits(text, end, count) == end;
}

bool read_size(const char *text, uint64_t *byte_count) {
  static const char units[] = "KMGT";
  char *end;
  if (!strchr("0123456789", text[0]) || !text[0]) return false;
  errno = 0;
  unsigned long long const number = strtoull(text, &end, 10);
  const char *unit = *end ? strchr(units, *end) : NULL;
  if (errno || number == 0 || (*end && (!unit || end[1]))) return false;
  unsigned const shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
  *byte_count = (uint64_t)number << shift;
  return *byte_count >> shift == number;
}

enum dims_fault read_dims(const char *text, size_t text_chars, szgpu_shape *shape) {
  const char *end = text + text_chars;
  enum dims_fault fault = DIMS_OK; /* the first, unless the text is malformed */
  int dim_count = 0;
  for (bool is_last = false; !is_last; dim_count++) {
    uint64_t dim = 1;
    if (text >= end || !is_digit(*text)) return DIMS_MALFORMED;
    const char *stop = read_digits(text, end, &dim);
    if (!stop) return DIMS_OVERFLOW;
    if (dim == 0 && fault == DIMS_OK) fault = DIMS_ZERO;
    if (dim_count < MAX_DIMS) shape->dims[dim_count] = dim;
    is_last = stop == end;
    if (!is_last && *stop != 'x') return DIMS_MALFORMED;
    text = stop + 1;
  }
  if (dim_count > MAX_DIMS) return DIMS_TOO_MANY;
  shape->ndim = dim_count;
  uint64_t byte_count;
  if (fault == DIMS_OK && !shape_bytes(shape, &byte_count)) fault = DIMS_OVERFLOW;
  return fault;
}

const char *words_for_dims_fault(enum dims_fault fault) {
  switch (fault) {
    case DIMS_TOO_MANY:
      return "has more than 4 dims; join or drop some";
    case DIMS_ZERO:
      return "has a dim of zero; give dims of at least 1";
    case DIMS_OVERFLOW:
      return "does not fit in 64 bits; give smaller dims";
    case DIMS_MALFORMED:
    case DIMS_OK:
      break;
  }
  return "is not a shape; write the dims slowest first, as in -d 100x500x500";
}

size_t dtype_bytes(szgpu_dtype dtype) {
  static const unsigned char bytes[] = {4, 8, 1, 2, 2, 1}; /* in the order of szgpu_dtype */
  return bytes[dtype];
}

bool shape_bytes(const szgpu_shape *shape, uint64_t *byte_count) {
  *byte_count = dtype_bytes(shape->dtype);
  for (int axis = 0; axis < shape->ndim; axis++) {
    if (shape->dims[axis] == 0 || *byte_count > UINT64_MAX / shape->dims[axis]) return false;
    *byte_count *= shape->dims[axis];
  }
  return true;
}

uint64_t shape_values(const szgpu_shape *shape) {
  uint64_t count = 1;
  for (int axis = 0; axis < shape->ndim; axis++) count *= shape->dims[axis];
  return count;
}
