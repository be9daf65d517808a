/* values.h - reads the values of options and the dims in file names, strictly.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_VALUES_H
#define SZGPU_APP_VALUES_H

#include "szgpu.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_DIMS = 4 };

enum dims_fault {
  DIMS_OK,
  DIMS_MALFORMED,
  DIMS_TOO_MANY,
  DIMS_ZERO,
  DIMS_OVERFLOW /* a dim or the field's bytes do not fit in 64 bits */
};

/* All of text must be the value, without spaces around it. */
bool read_real(const char *text, double *value); /* as strtod reads it: 1e-4, 0x1p-10, nan, inf */
bool read_count(const char *text, uint64_t *count);     /* decimal digits only */
bool read_size(const char *text, uint64_t *byte_count); /* 500, 500K: KiB; M, G, T; above 0 */
enum dims_fault read_dims(const char *text, size_t text_chars, szgpu_shape *shape);
const char *words_for_dims_fault(enum dims_fault fault); /* "is not ...; try ..." */
/* Reads digits from text up to end. Returns where they stop; NULL if they do not fit in 64 bits. */
const char *read_digits(const char *text, const char *end, uint64_t *count);

/* Bytes of a field; false if they do not fit in 64 bits. */
bool shape_bytes(const szgpu_shape *shape, uint64_t *byte_count);
uint64_t shape_values(const szgpu_shape *shape); /* of a shape with bytes that fit */
size_t dtype_bytes(szgpu_dtype dtype);

/* The bits of a value, right-aligned. Values need not be aligned. */
uint64_t value_bits(szgpu_dtype dtype, const void *values, uint64_t index);
/* The number that they mean; of fp8, which has two formats, the bits themselves. */
double value_of_bits(szgpu_dtype dtype, uint64_t bits);
/* The numbers of values from `first` on. Values need not be aligned. */
void read_values(szgpu_dtype dtype, const void *values, uint64_t first, uint64_t count,
                 double *read);
bool dtype_is_integer(szgpu_dtype dtype);
/* Whether the type has the value, perhaps rounded, but not a finite one to an infinity. */
bool dtype_has_value(szgpu_dtype dtype, double value);
/* The value of the type that is nearest; one that is not finite stays. */
double value_rounded(szgpu_dtype dtype, double value);
/* Whether an archive keeps a value bit for bit, because it stands for one that is missing. */
bool value_is_kept(const szgpu_info *info, uint64_t bits);
/* The distance from a value to the next one of greater magnitude. */
double value_spacing(szgpu_dtype dtype, double value);

#ifdef __cplusplus
}
#endif

#endif
