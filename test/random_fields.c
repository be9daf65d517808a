/* random_fields.c - fields from adversarial distributions, with random shapes and parameters.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are drawn in steps of the lattice that will quantize them, so that the generators choose
 * the differences that are hard on it. Then a bound is drawn, and the step that follows from it
 * scales the values. Fill values and specials are sprinkled over the result.
 */
#include "random_fields.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 4, LANES = 32 };

/* A field in the making. */
typedef struct draft {
  test_random *random;
  szgpu_dtype dtype;
  uint64_t value_count;
  uint64_t extents[AXES], strides[AXES]; /* x, y, z, batch without the dims that are 1 */
  double reach;                          /* magnitude to aim at, in steps */
  bool noise_is_even, noise_is_whole;
  double *steps; /* the values, in steps */
} draft;

static uint64_t below(draft *d, uint64_t limit) { return test_random_below(d->random, limit); }
static bool one_in(draft *d, uint64_t count) { return below(d, count) == 0; }
static double unit(draft *d) { return test_random_unit(d->random); }
static double with_any_sign(draft *d, double x) { return below(d, 2) ? x : -x; }

static uint64_t coordinate(const draft *d, uint64_t i, int axis) {
  return i / d->strides[axis] % d->extents[axis];
}

/* A random axis longer than 1, if there is one. */
static int any_axis(draft *d) {
  int axis = (int)below(d, AXES);
  for (int i = 0; i < AXES && d->extents[axis] == 1; i++) axis = (axis + 1) % AXES;
  return axis;
}

/* Evenly distributed, or with every binary exponent equally likely. */
static double noise(draft *d, double reach) {
  double const share = unit(d), rest = unit(d);
  double const magnitude =
      d->noise_is_even ? share * reach : exp2(share * log2(reach + 1.0)) - rest;
  return with_any_sign(d, d->noise_is_whole ? rint(magnitude) : magnitude);
}

/* ---- distributions ---- */

static void make_one_value(draft *d) {
  double const value = one_in(d, 3) ? 0.0 : noise(d, d->reach);
  for (uint64_t i = 0; i < d->value_count; i++) d->steps[i] = value;
}

/* A few spikes among values near 0; the spikes have any size, or all about the same. */
static void make_spikes(draft *d) {
  uint64_t const rarity = UINT64_C(8) << below(d, 10);
  double const narrow = (double)below(d, 3), least = one_in(d, 2) ? 0.0 : d->reach;
  for (uint64_t i = 0; i < d->value_count; i++) {
    bool const is_spike = one_in(d, rarity);
    double const x = noise(d, is_spike ? d->reach : narrow);
    d->steps[i] = is_spike ? copysign(least, x) + x : x;
  }
}

static void make_alternating_signs(draft *d) {
  double const magnitude = fabs(noise(d, d->reach));
  uint64_t const axes = 1 + below(d, 15);
  for (uint64_t i = 0; i < d->value_count; i++) {
    uint64_t sum = 0;
    for (int axis = 0; axis < AXES; axis++)
      if (axes >> axis & 1) sum += coordinate(d, i, axis);
    d->steps[i] = sum % 2 ? magnitude : -magnitude;
  }
}

/* from + difference, or from - difference if the sum is beyond the reach. */
static double walk(const draft *d, double from, double difference) {
  double const to = from + difference;
  if (fabs(to) <= d->reach) return to;
  return fabs(from - difference) <= d->reach ? from - difference : from;
}

/* A difference at an edge: the least or greatest magnitude of a class, the last direct symbol or
 * the first without one, or the way to the other end of the lattice. */
static double class_edge(draft *d, double from) {
  double const power = exp2((double)below(d, (uint64_t)log2(d->reach) + 2));
  double const middle = power + floor(power / 2.0);
  double const across = from < 0.0 ? d->reach - from : -d->reach - from;
  double const edges[] = {power - 1.0, power, middle - 1.0, middle, 511.0, 512.0, across};
  return edges[below(d, ARRAY_COUNT(edges))];
}

/* Differences along one axis: all of them edges, or edges so rare that some have no code. */
static void make_class_edges(draft *d) {
  int const axis = any_axis(d);
  uint64_t const rarity = UINT64_C(1) << below(d, 14);
  for (uint64_t i = 0; i < d->value_count; i++) {
    double const from = coordinate(d, i, axis) ? d->steps[i - d->strides[axis]] : 0.0;
    double const edge = one_in(d, rarity) ? class_edge(d, from) : (double)below(d, 2);
    d->steps[i] = walk(d, from, with_any_sign(d, edge));
  }
}

/* Differences along one axis; each lane has its own width: none, a random one, or the widest. */
static void make_lanes(draft *d) {
  int const axis = any_axis(d);
  double widths[LANES];
  for (int lane = 0; lane < LANES; lane++) {
    uint64_t const kind = below(d, 4);
    widths[lane] = kind < 2 ? 0.0 : kind < 3 ? exp2(unit(d) * log2(d->reach)) : d->reach;
  }
  for (uint64_t i = 0; i < d->value_count; i++) {
    double const from = coordinate(d, i, axis) ? d->steps[i - d->strides[axis]] : 0.0;
    double const width = widths[coordinate(d, i, 0) % LANES];
    d->steps[i] = walk(d, from, rint((2.0 * unit(d) - 1.0) * width));
  }
}

static void make_noise(draft *d) {
  for (uint64_t i = 0; i < d->value_count; i++) d->steps[i] = noise(d, d->reach);
}

static void make_waves(draft *d) {
  double slopes[AXES];
  for (int axis = 0; axis < AXES; axis++) slopes[axis] = 0.5 * pow(unit(d), 3.0);
  double const share = one_in(d, 2) ? 0.0 : 0.01 * unit(d);
  for (uint64_t i = 0; i < d->value_count; i++) {
    double phase = 0.0;
    for (int axis = 0; axis < AXES; axis++) phase += slopes[axis] * (double)coordinate(d, i, axis);
    d->steps[i] = d->reach * (sin(phase) + share * unit(d));
  }
}

/* Boxes of noise among zeros. */
static void make_blobs(draft *d) {
  memset(d->steps, 0, d->value_count * sizeof *d->steps);
  for (uint64_t boxes = 1 + below(d, 6); boxes > 0; boxes--) {
    uint64_t first[AXES], end[AXES];
    for (int axis = 0; axis < AXES; axis++) {
      first[axis] = below(d, d->extents[axis]);
      end[axis] = first[axis] + 1 + below(d, d->extents[axis] / 2 + 1);
    }
    for (uint64_t i = 0; i < d->value_count; i++) {
      bool is_inside = true;
      for (int axis = 0; axis < AXES; axis++)
        is_inside &= coordinate(d, i, axis) >= first[axis] && coordinate(d, i, axis) < end[axis];
      if (is_inside) d->steps[i] = noise(d, d->reach);
    }
  }
}

static void make_ramp(draft *d) {
  double const origin = with_any_sign(d, d->reach);
  double slopes[AXES];
  for (int axis = 0; axis < AXES; axis++)
    slopes[axis] = with_any_sign(d, one_in(d, 3) ? (double)below(d, 600) : unit(d));
  for (uint64_t i = 0; i < d->value_count; i++) {
    d->steps[i] = origin;
    for (int axis = 0; axis < AXES; axis++)
      d->steps[i] += slopes[axis] * (double)coordinate(d, i, axis);
  }
}

/* Blocks of 0 and of one other value. */
static void make_mask(draft *d) {
  uint64_t const seed = test_random_bits(d->random), rarity = 2 + below(d, 8);
  uint64_t const shift = below(d, 7);
  for (uint64_t i = 0; i < d->value_count; i++) {
    uint64_t block = seed;
    for (int axis = 0; axis < AXES; axis++)
      block = test_hash(block ^ coordinate(d, i, axis) >> shift);
    d->steps[i] = block % rarity ? 0.0 : rint(d->reach);
  }
}

/* Each tile differs: zeros, narrow noise, or wide noise that the book may not have counted. */
static void make_tiles(draft *d) {
  static const uint64_t extents[][AXES] = {{4096, 1, 1, 1}, {64, 64, 1, 1}, {32, 8, 16, 1}};
  int const ndim = (d->extents[1] > 1) + (d->extents[2] > 1);
  uint64_t const seed = test_random_bits(d->random), rarity = 3 + below(d, 30);
  double const narrow = fmin((double)below(d, 20), d->reach);
  d->noise_is_even = true;
  if (one_in(d, 2)) d->reach = d->dtype == SZGPU_F64 ? 0x1p61 : 0x1p30;
  for (uint64_t i = 0; i < d->value_count; i++) {
    uint64_t tile = seed;
    for (int axis = 0; axis < AXES; axis++)
      tile = test_hash(tile ^ coordinate(d, i, axis) / extents[ndim][axis]);
    d->steps[i] = tile % rarity > 1 ? 0.0 : noise(d, tile % rarity ? d->reach : narrow);
  }
}

/* Halfway between two lattice points. */
static void make_ties(draft *d) {
  for (uint64_t i = 0; i < d->value_count; i++) d->steps[i] = rint(noise(d, d->reach)) + 0.5;
}

static const struct distribution {
  const char *name;
  void (*make)(draft *d);
} distributions[] = {{"one value", make_one_value},
                     {"spikes", make_spikes},
                     {"alternating signs", make_alternating_signs},
                     {"class edges", make_class_edges},
                     {"class edges", make_class_edges},
                     {"lanes", make_lanes},
                     {"lanes", make_lanes},
                     {"noise", make_noise},
                     {"waves", make_waves},
                     {"blobs", make_blobs},
                     {"ramp", make_ramp},
                     {"mask", make_mask},
                     {"tiles", make_tiles},
                     {"ties", make_ties},
                     {"bits", make_noise}}; /* sprinkled over the whole field */
enum { BITS = ARRAY_COUNT(distributions) - 1 };

/* ---- shapes ---- */

/* Near the extents of tiles, groups and lanes. */
static const uint64_t borders[] = {1,  2,  7,  8,  9,  15,  16,   17,   31,
                                   32, 33, 63, 64, 65, 127, 4095, 4096, 4097};

static uint64_t draw_extent(test_random *random, uint64_t most) {
  uint64_t const border = borders[test_random_below(random, ARRAY_COUNT(borders))];
  uint64_t const kind = test_random_below(random, 4);
  if (kind == 0) return 1 + test_random_below(random, most);
  if (kind == 1 && border * 8 < most) return border * (1 + test_random_below(random, 7)) + 1;
  return border < most ? border : most;
}

static szgpu_shape draw_shape(test_random *random, uint64_t most_values) {
  double const share = test_random_unit(random);
  bool const is_tiny = test_random_below(random, 6) == 0;
  uint64_t most = (uint64_t)pow((double)most_values, is_tiny ? share : 0.6 + 0.4 * share);
  szgpu_shape shape = {.dtype = (szgpu_dtype)test_random_below(random, 2)};
  shape.ndim = 1 + (int)test_random_below(random, 4);
  int const first = (int)test_random_below(random, 4);
  for (int i = 0; i < shape.ndim; i++) {
    uint64_t *const extent = &shape.dims[(first + i) % shape.ndim];
    *extent = draw_extent(random, most ? most : 1);
    most /= *extent;
  }
  return shape;
}

static draft draft_make(test_random *random, const szgpu_shape *shape) {
  draft d = {.random = random, .dtype = shape->dtype, .value_count = test_value_count(shape)};
  int axis = 0;
  for (int i = shape->ndim - 1; i >= 0; i--)
    if (shape->dims[i] > 1) d.extents[axis++] = shape->dims[i];
  while (axis < AXES) d.extents[axis++] = 1;
  d.strides[0] = 1;
  for (int i = 1; i < AXES; i++) d.strides[i] = d.strides[i - 1] * d.extents[i - 1];
  d.steps = test_allocate(d.value_count * sizeof *d.steps);
  return d;
}

/* ---- from steps to values ---- */

/* Up to the ends of the lattices (32766 for 16 bits, 2^30 for 32 bits, 2^62 for 64 bits), and near
 * the magnitude beyond which the bound means nothing. */
static double draw_reach(draft *d) {
  bool const is_f64 = d->dtype == SZGPU_F64;
  uint64_t const half_bits = is_f64 ? 31 : 15, few = below(d, 1000);
  double const scale = exp2((double)below(d, half_bits + 1));
  double const reaches[] = {(double)(1 + few % 8),
                            (double)(1 + few),
                            32764.0 + 0.5 * (double)(few % 10),
                            scale + (double)(few % 3),
                            scale * (double)(1000 + few),
                            scale * exp2((double)half_bits),
                            exp2((double)((is_f64 ? 48 : 21) + few % 5)),
                            0x1p30 - 1.0};
  return reaches[below(d, ARRAY_COUNT(reaches))];
}

/* The step that a bound gives, as docs/guarantees.md derives it: step = 2 (bound - margin), where
 * the margin grows with the largest magnitude for which the bound means anything. */
static double step_of(const draft *d, double bound) {
  double const limit = d->dtype == SZGPU_F32 ? 0x1p22 : 0x1p49;
  double greatest = 0.0;
  for (uint64_t i = 0; i < d->value_count; i++)
    if (fabs(d->steps[i]) < limit) greatest = fmax(greatest, fabs(d->steps[i]));
  double margin = d->dtype == SZGPU_F64 ? 0x1p-50 : 0x1p-21;
  if (d->dtype == SZGPU_F32 && greatest > 0x1p24 / 160.0) margin = 0x1p-23 * (1.0 + 0x1p-10);
  return 2.0 * bound / (1.0 + margin * greatest);
}

/* Mostly ordinary bounds; some below the least normal value, some near the greatest value. */
static double draw_bound(draft *d) {
  int exponent = (int)below(d, 40) - 20;
  bool const is_f32 = d->dtype == SZGPU_F32;
  if (one_in(d, 12)) exponent = (is_f32 ? -150 : -1074) + (int)below(d, 50);
  if (one_in(d, 12)) exponent = is_f32 ? (int)below(d, 128) : (int)below(d, 1024);
  return (one_in(d, 2) ? 1.0 : 1.0 + unit(d)) * exp2((double)exponent);
}

/* Asks for the bound in a random mode; the values lie between `least` and `greatest`. */
static void ask_bound(draft *d, double bound, double least, double greatest, szgpu_params *params) {
  double const range = greatest - least;
  szgpu_mode const mode = (szgpu_mode)below(d, 3);
  double const asked = mode == SZGPU_MODE_REL    ? bound / range
                       : mode == SZGPU_MODE_PSNR ? 20.0 * log10(sqrt(3.0) * range / bound)
                                                 : bound;
  bool const can_ask = asked > 0.0 && asked <= 0x1p1000;
  params->mode = can_ask ? mode : SZGPU_MODE_ABS;
  params->bound = can_ask ? asked : bound;
}

static void scale_field(draft *d, void *field, szgpu_params *params) {
  double const bound = draw_bound(d), step = step_of(d, bound);
  double least = INFINITY, greatest = -INFINITY;
  for (uint64_t i = 0; i < d->value_count; i++) {
    double const value = d->steps[i] * step;
    test_set_value(d->dtype, field, i, value);
    least = fmin(least, value);
    greatest = fmax(greatest, value);
  }
  ask_bound(d, bound, least, greatest, params);
}

/* ---- specials and fill values ---- */

static void set_bits(const draft *d, void *field, uint64_t i, uint64_t bits) {
  size_t const width = d->dtype == SZGPU_F32 ? 4 : 8; /* the low bytes come first */
  memcpy((uint8_t *)field + width * i, &bits, width);
}

/* Bit patterns: ordinary values near 1, denormals, NaN, infinities, 0 and -0, or any bits. */
static uint64_t draw_bits(draft *d) {
  uint64_t const bits = test_random_bits(d->random), few = below(d, 24);
  bool const is_f32 = d->dtype == SZGPU_F32;
  int const shift = is_f32 ? 23 : 52;
  uint64_t const sign = bits & UINT64_C(1) << (is_f32 ? 31 : 63);
  uint64_t const mantissa = bits & ((UINT64_C(1) << shift) - 1);
  uint64_t const exponents = is_f32 ? 0xFF : 0x7FF;
  uint64_t const patterns[] = {mantissa | (exponents / 2 + few % 3) << shift | sign,
                               mantissa >> few | sign,
                               mantissa | exponents << shift | sign,
                               exponents << shift | sign,
                               sign,
                               bits};
  return patterns[below(d, ARRAY_COUNT(patterns))];
}

static void sprinkle_bits(draft *d, uint64_t rarity, void *field) {
  bool const are_any = one_in(d, 4);
  for (uint64_t i = 0; i < d->value_count; i++)
    if (one_in(d, rarity))
      set_bits(d, field, i, are_any ? test_random_bits(d->random) : draw_bits(d));
}

/* Fill values here and there or in one region; named by the parameters, known unnamed, or both. */
static void sprinkle_fill(draft *d, void *field, szgpu_params *params) {
  static const double fills[] = {1e20, 9.969209968386869e36, -1e34, 1e15, (double)NAN, 0.0, -9999.0,
                                 -0.0};
  double const fill = fills[below(d, ARRAY_COUNT(fills))];
  uint64_t const rarity = UINT64_C(1) << below(d, 10);
  uint64_t const first = below(d, d->value_count), count = below(d, d->value_count - first) + 1;
  bool const is_region = one_in(d, 2);
  for (uint64_t i = 0; i < d->value_count; i++)
    if (is_region ? i - first < count : one_in(d, rarity)) test_set_value(d->dtype, field, i, fill);
  params->has_fill = below(d, 3) ? 1 : 0;
  params->fill = params->has_fill ? fill : 0.0;
}

/* ---- cases ---- */

static void draw_params(draft *d, const szgpu_shape *shape, szgpu_params *params) {
  static const uint32_t radii[] = {0, 0, 0, 2, 512, 32768};
  params->layout = one_in(d, 6) ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
  if (params->layout == SZGPU_LAYOUT_LINEAR) params->radius = radii[below(d, ARRAY_COUNT(radii))];
  if (params->layout == SZGPU_LAYOUT_TILE) params->predictor = (szgpu_predictor)below(d, 3);
  params->zstd_level = one_in(d, 6) ? 1 + (int)below(d, 4) : 0;
  uint64_t rows = 1;
  for (int i = shape->ndim - 1; i >= 0; i--)
    if (shape->dims[i] > 1) rows = shape->dims[i];
  if (one_in(d, 3)) params->frame_rows = rows / 40 + 1 + below(d, rows); /* up to 40 frames or so */
  if (one_in(d, 3)) params->keep = SZGPU_KEEP_RESTORED;
}

random_case random_case_make(test_random *random, uint64_t most_values) {
  random_case c = {.params = SZGPU_PARAMS_DEFAULTS, .shape = draw_shape(random, most_values)};
  draft d = draft_make(random, &c.shape);
  c.threads = 1 + (int)below(&d, RANDOM_MOST_THREADS);
  c.field = test_allocate(test_field_bytes(&c.shape));
  draw_params(&d, &c.shape, &c.params);
  uint64_t const number = below(&d, ARRAY_COUNT(distributions));
  c.distribution = distributions[number].name;
  d.reach = draw_reach(&d);
  d.noise_is_even = one_in(&d, 2);
  d.noise_is_whole = one_in(&d, 2);
  distributions[number].make(&d);
  scale_field(&d, c.field, &c.params);
  if (number == BITS) sprinkle_bits(&d, 1, c.field);
  if (one_in(&d, 6)) sprinkle_bits(&d, UINT64_C(8) << below(&d, 10), c.field);
  if (one_in(&d, 6)) sprinkle_fill(&d, c.field, &c.params);
  free(d.steps);
  return c;
}

void random_case_print(const random_case *c, uint64_t seed) {
  static const char *const modes[] = {"rel", "abs", "psnr"};
  static const char *const predictors[] = {"auto", "lorenzo", "interpolation"};
  print_message("  SZGPU_TEST_SEED=%llu: %s, %s, %s ", (unsigned long long)seed,
                c->params.layout == SZGPU_LAYOUT_TILE ? "tile" : "linear",
                predictors[c->params.predictor], c->shape.dtype == SZGPU_F32 ? "f32" : "f64");
  for (int i = 0; i < c->shape.ndim; i++)
    print_message("%s%llu", i ? "x" : "", (unsigned long long)c->shape.dims[i]);
  print_message(", %s %.17g, frame rows %llu, radius %u, zstd %d, keep %u, %d threads",
                modes[c->params.mode], c->params.bound, (unsigned long long)c->params.frame_rows,
                c->params.radius, c->params.zstd_level, (unsigned)c->params.keep, c->threads);
  if (c->params.has_fill) print_message(", fill %g", c->params.fill);
  print_message(": %s\n", c->distribution);
}
