/* support.h - what the tests share: seeded random numbers, shapes, round trips, the exact check.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_SUPPORT_H
#define SZG_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "szgpu.h"

#define ARRAY_COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- random numbers (splitmix64) ---- */

typedef struct test_random {
  uint64_t state;
} test_random;

/* From SZGPU_TEST_SEED, or a fixed seed; prints it and how to run the test again. */
test_random test_random_begin(void);
uint64_t test_random_bits(test_random *random);
uint64_t test_random_below(test_random *random, uint64_t limit); /* 0 .. limit - 1 */
double test_random_unit(test_random *random);                    /* [0, 1) */

/* ---- values ---- */

/* A pseudorandom number that depends on i only: for fields that are made again instead of kept. */
uint64_t test_hash(uint64_t i);

float test_float_of_bits(uint32_t bits);
double test_double_of_bits(uint64_t bits);
size_t test_dtype_bytes(szgpu_dtype dtype);
uint64_t test_bits_at(szgpu_dtype dtype, const void *field, uint64_t i);
/* The number that an f16 or bf16 is, and the nearest finite one, ties to even. */
double test_half_of_bits(szgpu_dtype dtype, uint64_t bits);
uint16_t test_nearest_half(szgpu_dtype dtype, double value);
/* Values of any type but fp8; integers are set to the nearest one, which the type must have. */
double test_value_of_bits(szgpu_dtype dtype, uint64_t bits);
double test_value_at(szgpu_dtype dtype, const void *field, uint64_t i);
void test_set_value(szgpu_dtype dtype, void *field, uint64_t i, double value);

/* Allocates at least one byte, or fails the test. */
void *test_allocate(size_t bytes);

/* ---- shapes and fields ---- */

szgpu_shape test_shape(szgpu_dtype dtype, int ndim, uint64_t d0, uint64_t d1, uint64_t d2,
                       uint64_t d3);
uint64_t test_value_count(const szgpu_shape *shape);
size_t test_field_bytes(const szgpu_shape *shape);

/* Shapes of 1 to 4 dims that tiles do not divide, with unit dims among them. */
extern const szgpu_shape test_awkward_shapes[];
extern const size_t test_awkward_shape_count;

/* A new field: waves with noise, between -101 and 101. */
void *test_make_waves(const szgpu_shape *shape);
/* A new field: the product of a sine along each axis, between -100 and 100. Quintic stencils are
 * the best for it. */
void *test_make_smooth(const szgpu_shape *shape);
/* A plane as a line of f32. Its columns differ, so that interpolation folds it. */
float *test_make_folded(int rows, int columns);
/* A new field of random bits, so that nothing predicts a value. */
void *test_make_bits(const szgpu_shape *shape);

/* ---- round trips through the public interface ---- */

typedef struct test_archive {
  uint8_t *bytes; /* owned by the test: free() it */
  size_t byte_count;
} test_archive;

/* A ctx with that many threads and the default decoder, or with the serial decoder, the oracle. */
szgpu_ctx *test_make_ctx(int threads);
szgpu_ctx *test_make_serial_ctx(void);

/* The layout in test_params: tile, or linear if SZGPU_TEST_LAYOUT=linear is in the environment. */
szgpu_layout test_layout(void);
/* The kind of frame that has codes: "tile" or "linear". */
const char *test_coded_kind(void);
szgpu_params test_params(szgpu_mode mode, double bound);
szgpu_params test_linear_params(szgpu_mode mode, double bound);
/* Asks for a radius if the layout has one. */
void test_ask_radius(szgpu_params *params, uint32_t radius);
test_archive test_compress(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field);
void *test_decompress(szgpu_ctx *ctx, const test_archive *archive, size_t field_bytes);
szgpu_info test_inspect(const test_archive *archive);

/* Whether a planes frame of the archive has coded planes, which needs format version 7. */
bool test_has_coded_planes(const test_archive *archive);
/* Whether some frame is an interpolated line, whose base is halved. */
bool test_has_halved_base(const test_archive *archive);
/* Whether some frame has blended predictions. */
bool test_has_blended(const test_archive *archive);
/* Whether some frame has these and quintic stencils. */
bool test_has_quintic(const test_archive *archive);

/* Asserts that every value is within the bound, in long double, or bit-identical to the original;
 * NaN, infinities and values with the archive's fill pattern must be bit-identical. */
void test_assert_bound(const szgpu_shape *shape, const void *field, const void *restored,
                       const szgpu_info *info);

/* Compresses, restores and asserts the bound. Returns the archive's info for further claims. */
szgpu_info test_round_trip(szgpu_ctx *ctx, const szgpu_params *params, const szgpu_shape *shape,
                           const void *field);

#endif
