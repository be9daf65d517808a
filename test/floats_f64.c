/* floats_f64.c - f64: every exponent with the mantissas that matter, and ranges of any kind.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>

#include "floats.h"

enum { EXPONENT_COUNT = 2048, BOUND_COUNT = 13, MANTISSA_COUNT = 14, VALUE_COUNT = 3000 };

#define ALL_ONES UINT64_C(0xFFFFFFFFFFFFF)
static const uint64_t mantissas[MANTISSA_COUNT] = {
    0,
    1,
    2,
    ALL_ONES,
    ALL_ONES - 1,
    UINT64_C(1) << 51,
    (UINT64_C(1) << 51) - 1,
    (UINT64_C(1) << 51) + 1,
    UINT64_C(0x5555555555555),
    UINT64_C(0xAAAAAAAAAAAAA),
    UINT64_C(1) << 29, /* an f32's last bit */
    (UINT64_C(1) << 28) - 1,
    UINT64_C(1) << 28, /* halfway between two f32 */
    (UINT64_C(1) << 28) + 1,
};

/* Fields whose values share an exponent, or nearly, or have any. */
typedef enum spread { SPREAD_NONE, SPREAD_NEAR, SPREAD_ALL, SPREAD_COUNT } spread;

static uint64_t count_cases(const floats_options *options) {
  (void)options;
  return (uint64_t)EXPONENT_COUNT * BOUND_COUNT * SPREAD_COUNT;
}

static uint64_t bits_at(uint64_t exponent, spread s, uint64_t seed, uint64_t i) {
  uint64_t const hash = floats_hash(seed + i);
  uint64_t const sign = hash & 1;
  bool const is_listed = hash >> 1 & 1;
  uint64_t const mantissa =
      is_listed ? mantissas[(hash >> 2) % MANTISSA_COUNT] : floats_hash(hash) & ALL_ONES;
  uint64_t own = exponent;
  if (s == SPREAD_NEAR) own = exponent > (hash >> 40) % 40 ? exponent - (hash >> 40) % 40 : 0;
  if (s == SPREAD_ALL && hash >> 50 & 1) own = (hash >> 20) % EXPONENT_COUNT;
  return sign << 63 | own << 52 | mantissa;
}

/* Of the exponent's power of two, or relative, or a PSNR; down to bounds of 0. */
static void set_bound(uint64_t exponent, uint64_t choice, szgpu_params *params) {
  static const int shifts[] = {60, 0, -12, -30, -49, -52};
  static const double relative[] = {1.0, 1e-4, 1e-13, 1e-300}, decibels[] = {60, 6000};
  int const power = exponent > 0 && exponent < 2047 ? (int)exponent - 1023 : -1022;
  params->mode = SZGPU_MODE_ABS;
  if (choice < 6) {
    params->bound = fmin(fmax(ldexp(1.0, power + shifts[choice]), 0x1p-1074), DBL_MAX);
  } else if (choice < 10) {
    params->mode = SZGPU_MODE_REL;
    params->bound = relative[choice - 6];
  } else if (choice < 12) {
    params->mode = SZGPU_MODE_PSNR;
    params->bound = decibels[choice - 10];
  } else {
    params->mode = SZGPU_MODE_LOSSLESS;
  }
}

static void run_case(floats_worker *worker, floats_run_block *run_block, uint64_t number) {
  (void)run_block;
  uint64_t const choice = number % BOUND_COUNT, exponent = number / BOUND_COUNT % EXPONENT_COUNT;
  spread const s = (spread)(number / BOUND_COUNT / EXPONENT_COUNT);
  uint64_t const hash = floats_hash(number);
  worker->params = (szgpu_params)SZGPU_PARAMS_DEFAULTS;
  set_bound(exponent, choice, &worker->params);
  floats_set_way(hash % FLOATS_WAY_COUNT, &worker->params);
  worker->shape = (szgpu_shape){.dtype = SZGPU_F64, .ndim = 1, .dims = {VALUE_COUNT}};
  if (hash & 16) worker->shape = (szgpu_shape){SZGPU_F64, 2, {60, VALUE_COUNT / 60}};
  if (hash & 32) worker->shape = (szgpu_shape){SZGPU_F64, 3, {10, 12, VALUE_COUNT / 120}};
  uint64_t *const field = floats_room(worker, &worker->field, VALUE_COUNT * sizeof *field);
  for (uint64_t i = 0; i < VALUE_COUNT; i++) field[i] = bits_at(exponent, s, hash, i);
  if (hash & 64 && choice < 12) {
    worker->params.has_fill = 1;
    worker->params.fill = floats_value_f64(field[number % VALUE_COUNT]);
  }
  if (isnan(worker->params.fill)) worker->params.fill = NAN;
  floats_round_trip(worker);
}

const floats_sweep floats_sweep_f64 = {
    "f64", 32, "f64: every exponent with the mantissas that matter", count_cases, run_case};
