/* values.c - reads the values of options and the dims in file names, strictly.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values.h"

#include <errno.h>
#include <math.h>
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
  static const unsigned char bytes[] = {4, 8, 1, 2, 2, 1, 1, 2, 2, 4}; /* as in szgpu_dtype */
  return bytes[dtype];
}

uint64_t value_bits(szgpu_dtype dtype, const void *values, uint64_t index) {
  size_t const width = dtype_bytes(dtype);
  unsigned char byte[sizeof(uint64_t)] = {0};
  uint64_t bits = 0;
  memcpy(byte, (const unsigned char *)values + index * width, width);
  memcpy(&bits, byte, sizeof bits); /* the library is for little-endian hosts */
  return bits;
}

static float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* As if it were an f32 with a smaller exponent, which the factor makes up for. */
static double f16_of_bits(uint32_t bits) {
  double const sign = bits & 0x8000 ? -1 : 1;
  if ((bits & 0x7c00) == 0x7c00) return sign * (bits & 0x3ff ? NAN : INFINITY);
  return sign * (double)float_of_bits((bits & 0x7fff) << 13) * 0x1p112;
}

/* In a loop of its own for each type, which compilers make fast. */
#define READ_AS(type, number)                                                                 \
  for (uint64_t i = 0; i < count; i++) {                                                      \
    type value;                                                                               \
    memcpy(&value, (const unsigned char *)values + (first + i) * sizeof value, sizeof value); \
    read[i] = number;                                                                         \
  }                                                                                           \
  return

void read_values(szgpu_dtype dtype, const void *values, uint64_t first, uint64_t count,
                 double *read) {
  switch (dtype) {
    case SZGPU_F32:
      READ_AS(float, value);
    case SZGPU_F64:
      READ_AS(double, value);
    case SZGPU_F16:
      READ_AS(uint16_t, f16_of_bits(value));
    case SZGPU_BF16:
      READ_AS(uint16_t, float_of_bits((uint32_t)value << 16));
    case SZGPU_I8:
      READ_AS(int8_t, value);
    case SZGPU_I16:
      READ_AS(int16_t, value);
    case SZGPU_I32:
      READ_AS(int32_t, value);
    case SZGPU_U16:
      READ_AS(uint16_t, value);
    case SZGPU_U8:
    case SZGPU_FP8:
      READ_AS(uint8_t, value);
  }
}

double value_of_bits(szgpu_dtype dtype, uint64_t bits) {
  double value = NAN;
  read_values(dtype, &bits, 0, 1, &value); /* the library is for little-endian hosts */
  return value;
}

/* Of floats: where rounding begins to give an infinity, the exponent of the least spacing, and the
 * bits of a significand. Of integers: bits, and whether half the values are negative. */
static const struct {
  bool is_integer, has_sign;
  int bits, least_exponent;
  double overflow;
} traits[] = {[SZGPU_F32] = {false, true, 24, -149, 0x1.ffffffp127},
              [SZGPU_F64] = {false, true, 53, -1074, INFINITY},
              [SZGPU_F16] = {false, true, 11, -24, 65520},
              [SZGPU_BF16] = {false, true, 8, -133, 0x1.ffp127},
              [SZGPU_U8] = {.is_integer = true, .bits = 8},
              [SZGPU_FP8] = {.is_integer = true, .bits = 8},
              [SZGPU_I8] = {.is_integer = true, .has_sign = true, .bits = 8},
              [SZGPU_U16] = {.is_integer = true, .bits = 16},
              [SZGPU_I16] = {.is_integer = true, .has_sign = true, .bits = 16},
              [SZGPU_I32] = {.is_integer = true, .has_sign = true, .bits = 32}};

bool dtype_is_integer(szgpu_dtype dtype) { return traits[dtype].is_integer; }

bool dtype_has_value(szgpu_dtype dtype, double value) {
  if (!traits[dtype].is_integer) return !isfinite(value) || fabs(value) < traits[dtype].overflow;
  double const end = ldexp(1, traits[dtype].bits - traits[dtype].has_sign);
  return value == rint(value) && value < end && value >= (traits[dtype].has_sign ? -end : 0);
}

bool value_is_kept(const szgpu_info *info, uint64_t bits) {
  bool is_fill = info->has_fill && bits == info->fill_bits;
  for (uint32_t i = 0; i < info->more_fill_count; i++) is_fill |= bits == info->more_fill_bits[i];
  if (is_fill || !info->has_limits) return is_fill;
  double const value = value_of_bits(info->shape.dtype, bits);
  return value < info->least || value > info->greatest;
}

double value_spacing(szgpu_dtype dtype, double value) {
  int exponent; /* the magnitude is below 2^exponent */
  if (traits[dtype].is_integer) return 1;
  frexp(value, &exponent);
  exponent -= traits[dtype].bits;
  return ldexp(1, value != 0 && exponent > traits[dtype].least_exponent
                      ? exponent
                      : traits[dtype].least_exponent);
}

double value_rounded(szgpu_dtype dtype, double value) {
  if (dtype == SZGPU_F64 || !isfinite(value)) return value;
  double const spacing = value_spacing(dtype, value);
  return rint(value / spacing) * spacing; /* a power of two: exact */
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
