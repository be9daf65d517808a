/* rewrites.c - chunks that are read, written in parts and compressed again, many times.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rewrites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 32, DIMS = 4 };
enum { PLANES, BOXES, STRIDES, POINTS, CHANCE, NEARLY_ALL, KINDS };
static const char *const kind_names[KINDS] = {"planes", "boxes",  "every n-th value",
                                              "points", "chance", "nearly all"};

static double between(test_random *random, double low, double high) {
  return low + (high - low) * test_random_unit(random);
}

static int int_between(test_random *random, int low, int high) {
  return low + (int)test_random_below(random, (uint64_t)(high - low + 1));
}

/* ---- what a case is ---- */

static szgpu_dtype any_dtype(test_random *random) {
  static const szgpu_dtype dtypes[] = {SZGPU_F32,  SZGPU_F32, SZGPU_F32, SZGPU_F64,
                                       SZGPU_F64,  SZGPU_F16, SZGPU_I16, SZGPU_U8,
                                       SZGPU_BF16, SZGPU_I8,  SZGPU_U16, SZGPU_I32};
  return dtypes[test_random_below(random, ARRAY_COUNT(dtypes))];
}

static bool is_integer(szgpu_dtype dtype) {
  return dtype == SZGPU_U8 || dtype == SZGPU_I8 || dtype == SZGPU_U16 || dtype == SZGPU_I16 ||
         dtype == SZGPU_I32;
}

static szgpu_shape any_shape(test_random *random, szgpu_dtype dtype, rewrite_parts parts) {
  szgpu_shape shape = {.dtype = dtype, .ndim = int_between(random, 1, DIMS)};
  double const most = parts == REWRITE_CELLS ? 0 : pow(10, between(random, 1.2, 4.2));
  for (int i = 0; i < shape.ndim; i++) {
    double const share = pow(most, 1.0 / shape.ndim) * between(random, 0.3, 2.0);
    shape.dims[i] = 1 + (uint64_t)share;
  }
  if (parts == REWRITE_ANY) return shape;
  for (int i = 0; i < shape.ndim; i++) shape.dims[i] = CELL;
  if (shape.ndim == 4) shape.dims[0] = 2;
  int const doublings = shape.ndim == 1 ? 7 : shape.ndim == 2 ? 4 : 1;
  for (int i = 0; i < doublings; i++)
    shape.dims[test_random_below(random, (uint64_t)shape.ndim)] *= 2;
  return shape;
}

/* Magnitudes of the type, and the bound. */
static double choose_bound(rewrite_case *c) {
  test_random *const random = &c->random;
  szgpu_dtype const dtype = c->shape.dtype;
  c->offset = test_random_below(random, 5) < 2 ? 0 : pow(10, between(random, 0, 2));
  c->scale = 1;
  double const greatest = c->offset + 1.5;
  if (dtype == SZGPU_I32) c->scale = 1e8 / greatest;
  if (dtype == SZGPU_I16 || dtype == SZGPU_U16) c->scale = 1e4 / greatest;
  if (dtype == SZGPU_I8 || dtype == SZGPU_U8) c->scale = 80 / greatest;
  if (dtype == SZGPU_F32 && test_random_below(random, 3) == 0)
    c->scale = pow(10, between(random, -20, 20));
  if (dtype == SZGPU_F64 && test_random_below(random, 3) == 0)
    c->scale = pow(10, between(random, -200, 200));
  double const most = dtype == SZGPU_F64 ? 45 : dtype == SZGPU_F32 ? 23 : 10;
  double bound = greatest * exp2(-between(random, 1, most)) * c->scale;
  if (c->parts == REWRITE_CELLS) bound = fmin(bound, c->scale / 8);
  return is_integer(dtype) ? fmax(bound, 0.7) : bound;
}

/* ---- values ---- */

static double fitting(szgpu_dtype dtype, double value) {
  double least = -60000, greatest = 60000;
  if (dtype == SZGPU_F32 || dtype == SZGPU_F64 || dtype == SZGPU_BF16) return value;
  if (dtype == SZGPU_U8 || dtype == SZGPU_U16) least = 0;
  if (dtype == SZGPU_U8) greatest = 255;
  if (dtype == SZGPU_I8) least = -128, greatest = 127;
  if (dtype == SZGPU_I16) least = -32768, greatest = 32767;
  if (dtype == SZGPU_I32) least = -0x1p31, greatest = 0x1p31 - 1;
  return fmin(fmax(value, least), greatest);
}

static void coordinates_of(const szgpu_shape *shape, uint64_t i, uint64_t *at) {
  for (int axis = shape->ndim - 1; axis >= 0; axis--) {
    at[axis] = i % shape->dims[axis];
    i /= shape->dims[axis];
  }
}

static double fresh_value(rewrite_case *c, const uint64_t *at) {
  double phases[2] = {c->step, 0.3 * c->step};
  for (int axis = 0; axis < c->shape.ndim; axis++)
    for (int wave = 0; wave < 2; wave++) phases[wave] += c->waves[wave][axis] * (double)at[axis];
  double const noise = c->noise * between(&c->random, -1, 1);
  double const value = c->offset + sin(phases[0]) + 0.3 * sin(phases[1]) + noise;
  return fitting(c->shape.dtype, value * c->scale * pow(c->growth, c->step));
}

static void write_value(rewrite_case *c, uint64_t i, double value) {
  test_set_value(c->shape.dtype, c->chunk, i, value);
  test_set_value(c->shape.dtype, c->truth, i, value);
}

/* What is there before anything is written: missing, 0, values, or a number. */
static void write_first(rewrite_case *c) {
  int const first = int_between(&c->random, 0, c->parts == REWRITE_CELLS ? 3 : 4);
  bool const has_nan = !is_integer(c->shape.dtype);
  double const number = fitting(c->shape.dtype, int_between(&c->random, 1, 100));
  uint64_t at[DIMS];
  for (uint64_t i = 0; i < test_value_count(&c->shape); i++) {
    coordinates_of(&c->shape, i, at);
    write_value(c, i,
                first == 0 && has_nan ? NAN
                : first <= 1          ? 0
                : first == 4          ? number
                                      : fresh_value(c, at));
  }
}

rewrite_case rewrite_make(test_random *random, rewrite_parts parts, szgpu_predictor predictor) {
  rewrite_case c = {.parts = parts, .random = {test_random_bits(random)}};
  bool const is_auto = predictor != SZGPU_PREDICTOR_LORENZO;
  szgpu_dtype const dtype = !is_auto                          ? any_dtype(&c.random)
                            : test_random_below(&c.random, 3) ? SZGPU_F32
                                                              : SZGPU_F64;
  c.shape = any_shape(&c.random, dtype, parts);
  c.params = test_params(SZGPU_MODE_ABS, choose_bound(&c));
  c.params.keep = test_random_below(&c.random, 2) ? SZGPU_KEEP_RESTORED : SZGPU_KEEP_ALL;
  c.params.predictor = predictor;
  c.params.layout = SZGPU_LAYOUT_TILE;
  if (!is_auto && test_random_below(&c.random, 4) == 0) c.params.layout = SZGPU_LAYOUT_LINEAR;
  if (test_random_below(&c.random, 5) == 0) c.params.frame_rows = test_random_below(&c.random, 40);
  c.noise = test_random_below(&c.random, 3) ? pow(10, between(&c.random, -5, 0)) : 0;
  if (parts == REWRITE_CELLS && c.noise == 0) c.noise = 0.1;
  c.growth = test_random_below(&c.random, 3) ? 1 : between(&c.random, 1.02, 1.3);
  double const rough = pow(10, between(&c.random, -2, 0));
  for (int wave = 0; wave < 2; wave++)
    for (int axis = 0; axis < DIMS; axis++)
      c.waves[wave][axis] = rough * (1 + 2 * wave) * between(&c.random, -1, 1);
  c.steps = int_between(&c.random, 4, 24);
  c.kind = parts == REWRITE_CELLS ? BOXES : int_between(&c.random, 0, KINDS - 1);
  c.chunk = test_allocate(test_field_bytes(&c.shape));
  c.truth = test_allocate(test_field_bytes(&c.shape));
  write_first(&c);
  const uint64_t *const d = c.shape.dims;
  snprintf(c.what, sizeof c.what,
           "dtype %d, %d dims %llu %llu %llu %llu, bound %g, layout %d, predictor %d, %s", dtype,
           c.shape.ndim, (unsigned long long)d[0], (unsigned long long)d[1],
           (unsigned long long)d[2], (unsigned long long)d[3], c.params.bound, c.params.layout,
           predictor, kind_names[c.kind]);
  return c;
}

void rewrite_free(rewrite_case *c) {
  free(c->chunk);
  free(c->truth);
}

/* ---- writing a part ---- */

typedef struct part {
  uint64_t first[DIMS], end[DIMS], stride[DIMS];
  double chance; /* of a value in there to be written */
} part;

static part whole(const szgpu_shape *shape) {
  part p = {.chance = 1};
  for (int axis = 0; axis < shape->ndim; axis++) {
    p.end[axis] = shape->dims[axis];
    p.stride[axis] = 1;
  }
  return p;
}

/* From `first` to `end`, or the other way round, in units. */
static void make_box(rewrite_case *c, uint64_t unit, part *p) {
  for (int axis = 0; axis < c->shape.ndim; axis++) {
    uint64_t const extent = c->shape.dims[axis], units = (extent + unit - 1) / unit;
    uint64_t const a = test_random_below(&c->random, units);
    uint64_t const b = test_random_below(&c->random, units);
    p->first[axis] = unit * (a < b ? a : b);
    p->end[axis] = unit * ((a < b ? b : a) + 1);
    if (p->end[axis] > extent) p->end[axis] = extent;
  }
}

static part next_part(rewrite_case *c) {
  part p = whole(&c->shape);
  int const axis = int_between(&c->random, 0, c->shape.ndim - 1);
  uint64_t const extent = c->shape.dims[axis];
  uint64_t const few = 1 + test_random_below(&c->random, 3);
  switch (c->kind) {
    case PLANES: /* in their order, and then in any */
      p.first[axis] =
          c->step < (int)extent ? (uint64_t)c->step : test_random_below(&c->random, extent);
      p.end[axis] = p.first[axis] + 1;
      break;
    case BOXES:
      make_box(c, c->parts == REWRITE_CELLS ? CELL : 1, &p);
      break;
    case STRIDES:
      for (int i = 0; i < c->shape.ndim; i++) {
        p.first[i] = test_random_below(&c->random, 3);
        p.stride[i] = 1 + test_random_below(&c->random, 3);
      }
      break;
    case POINTS:
      p.chance = (double)few / (double)test_value_count(&c->shape);
      break;
    case CHANCE:
      p.chance = test_random_unit(&c->random);
      break;
    default: /* all but some first or last planes */
      if (test_random_below(&c->random, 2))
        p.first[axis] = few;
      else
        p.end[axis] = extent > few ? extent - few : 0;
  }
  return p;
}

static bool has(const part *p, int ndim, const uint64_t *at) {
  for (int axis = 0; axis < ndim; axis++)
    if (at[axis] < p->first[axis] || at[axis] >= p->end[axis] ||
        (at[axis] - p->first[axis]) % p->stride[axis])
      return false;
  return true;
}

void rewrite_part(rewrite_case *c) {
  part const p = next_part(c);
  uint64_t at[DIMS];
  for (uint64_t i = 0; i < test_value_count(&c->shape); i++) {
    coordinates_of(&c->shape, i, at);
    if (!has(&p, c->shape.ndim, at)) continue;
    if (p.chance >= 1 || test_random_unit(&c->random) < p.chance)
      write_value(c, i, fresh_value(c, at));
  }
  c->step++;
}

double rewrite_error(const rewrite_case *c) {
  long double greatest = 0;
  for (uint64_t i = 0; i < test_value_count(&c->shape); i++) {
    double const is = test_value_at(c->shape.dtype, c->chunk, i);
    double const was = test_value_at(c->shape.dtype, c->truth, i);
    if (isfinite(is) != isfinite(was)) return INFINITY;
    if (isfinite(is)) greatest = fmaxl(greatest, fabsl((long double)is - was));
  }
  return (double)(greatest / c->params.bound);
}
