/* joined_fields.c - fields whose values ask for joined axes, or for none.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "joined_fields.h"

#include <math.h>
#include <stdlib.h>

static double noise(test_random *random) {
  return (double)test_random_below(random, 2001) / 1000 - 1;
}

/* Grids of noise that are the same but for a slow change: only the first axis predicts. */
static void make_steps(const szgpu_shape *shape, test_random *random, double *values) {
  uint64_t const steps = shape->dims[0];
  uint64_t const grid = test_value_count(shape) / steps;
  for (uint64_t i = 0; i < grid; i++) {
    values[i] = noise(random);
    for (uint64_t step = 1; step < steps; step++)
      values[step * grid + i] = values[i] + 0.002 * (double)step * sin((double)i / 50);
  }
}

/* A walk from value to value, whatever the axes: only a line predicts. */
static void make_walk(const szgpu_shape *shape, test_random *random, double *values) {
  uint64_t const count = test_value_count(shape);
  for (uint64_t i = 0; i < count; i++) values[i] = noise(random) + (i ? values[i - 1] : 0);
}

/* Walks of components beside one another. */
static void make_components(const szgpu_shape *shape, test_random *random, double *values) {
  uint64_t const count = test_value_count(shape), parts = shape->dims[shape->ndim - 1];
  for (uint64_t i = 0; i < count; i++)
    values[i] = noise(random) + (i >= parts ? values[i - parts] : 100 * (double)i);
}

/* Smooth along all axes. */
static void make_waves(const szgpu_shape *shape, test_random *random, double *values) {
  uint64_t const count = test_value_count(shape);
  (void)random;
  for (uint64_t i = 0; i < count; i++) {
    double sum = 0;
    uint64_t rest = i;
    for (int axis = shape->ndim - 1; axis >= 0; axis--) {
      sum += sin((double)(rest % shape->dims[axis]) / 9 + axis);
      rest /= shape->dims[axis];
    }
    values[i] = sum;
  }
}

const joined_field joined_fields[JOINED_FIELDS] = {
    {"steps", {SZGPU_F32, 4, {20, 9, 40, 48}}, 6, make_steps},
    {"steps in three axes", {SZGPU_F32, 4, {24, 1, 120, 100}}, 0, make_steps},
    {"walk of pairs", {SZGPU_F32, 4, {33000, 2, 2, 2}}, 7, make_walk},
    {"short walk of pairs", {SZGPU_F32, 4, {1100, 2, 1, 4}}, 7, make_walk},
    {"components", {SZGPU_F32, 2, {90000, 3, 0, 0}}, 0, make_components},
    {"few components", {SZGPU_F32, 3, {40, 80, 3, 0}}, 0, make_components},
    {"waves", {SZGPU_F32, 4, {3, 40, 50, 60}}, 0, make_waves},
};

void *joined_make(const joined_field *field, szgpu_dtype dtype) {
  test_random random = {1130};
  szgpu_shape shape = field->shape;
  uint64_t const count = test_value_count(&shape);
  shape.dtype = dtype;
  double *const numbers = test_allocate(count * sizeof *numbers);
  uint8_t *const values = test_allocate(test_field_bytes(&shape));
  field->make(&shape, &random, numbers);
  for (uint64_t i = 0; i < count; i++) {
    if (dtype == SZGPU_F32) ((float *)(void *)values)[i] = (float)numbers[i];
    if (dtype == SZGPU_F64) ((double *)(void *)values)[i] = numbers[i];
    if (dtype == SZGPU_I32) ((int32_t *)(void *)values)[i] = (int32_t)(1000 * numbers[i]);
  }
  free(numbers);
  return values;
}
