/* floats_lattice.c - f32 and f64 at ties and limits of the lattice that codes them.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A case has a largest magnitude X and a bound b near a condition of docs/guarantees.md. The step
 * that an archive states for them places the other values: on lattice points, halfway between two,
 * and one or two numbers beside that.
 */
#include <float.h>

#include "floats.h"

/* b / X: what the conditions compare, and where lattice points need one bit more. */
static const double ratios[] = {
    0x1p60,        0x1p-60,       4.0,          2.0,           1.0,          0.5,
    0.1,           1e-3,          0x1p-11,      1 / 65536.0,   1 / 65532.0,  80 * 0x1p-24,
    257 * 0x1p-23, 129 * 0x1p-23, 65 * 0x1p-23, 33 * 0x1p-23,  17 * 0x1p-23, 0x1p-22,
    0x1p-23,       0x1p-24,       0x1p-31,      257 * 0x1p-51, 17 * 0x1p-51, 80 * 0x1p-53,
    8 * 0x1p-53,   5 * 0x1p-53,   0x1p-51};
enum { RATIO_COUNT = sizeof ratios / sizeof *ratios, NUDGE_COUNT = 6, REPEAT_COUNT = 64 };

/* What has the exponent: X, the step, or the fine step with 256 parts. */
typedef enum anchor { ANCHOR_X, ANCHOR_STEP, ANCHOR_FINE } anchor;
typedef struct scale {
  szgpu_dtype dtype;
  anchor anchor;
  int exponent;
} scale;
static const scale scales[] = {{SZGPU_F32, ANCHOR_X, -149},     {SZGPU_F32, ANCHOR_X, -145},
                               {SZGPU_F32, ANCHOR_X, -133},     {SZGPU_F32, ANCHOR_X, -127},
                               {SZGPU_F32, ANCHOR_X, -126},     {SZGPU_F32, ANCHOR_X, -125},
                               {SZGPU_F32, ANCHOR_X, -110},     {SZGPU_F32, ANCHOR_X, -31},
                               {SZGPU_F32, ANCHOR_X, 0},        {SZGPU_F32, ANCHOR_X, 43},
                               {SZGPU_F32, ANCHOR_X, 110},      {SZGPU_F32, ANCHOR_X, 125},
                               {SZGPU_F32, ANCHOR_X, 126},      {SZGPU_F32, ANCHOR_X, 127},
                               {SZGPU_F32, ANCHOR_STEP, -149},  {SZGPU_F32, ANCHOR_STEP, -126},
                               {SZGPU_F32, ANCHOR_STEP, 126},   {SZGPU_F32, ANCHOR_FINE, -126},
                               {SZGPU_F32, ANCHOR_FINE, 118},   {SZGPU_F64, ANCHOR_X, -1074},
                               {SZGPU_F64, ANCHOR_X, -1060},    {SZGPU_F64, ANCHOR_X, -1022},
                               {SZGPU_F64, ANCHOR_X, -1000},    {SZGPU_F64, ANCHOR_X, -960},
                               {SZGPU_F64, ANCHOR_X, -300},     {SZGPU_F64, ANCHOR_X, 0},
                               {SZGPU_F64, ANCHOR_X, 77},       {SZGPU_F64, ANCHOR_X, 950},
                               {SZGPU_F64, ANCHOR_X, 1019},     {SZGPU_F64, ANCHOR_X, 1020},
                               {SZGPU_F64, ANCHOR_X, 1022},     {SZGPU_F64, ANCHOR_X, 1023},
                               {SZGPU_F64, ANCHOR_STEP, -1074}, {SZGPU_F64, ANCHOR_STEP, -1024},
                               {SZGPU_F64, ANCHOR_STEP, -1022}, {SZGPU_F64, ANCHOR_STEP, 1022},
                               {SZGPU_F64, ANCHOR_FINE, -960},  {SZGPU_F64, ANCHOR_FINE, 960}};
enum { SCALE_COUNT = sizeof scales / sizeof *scales };

static uint64_t count_cases(const floats_options *options) {
  (void)options;
  return (uint64_t)SCALE_COUNT * RATIO_COUNT * NUDGE_COUNT * FLOATS_WAY_COUNT * REPEAT_COUNT;
}

/* ---- numbers of a type ---- */

static double rounded(szgpu_dtype dtype, double x) {
  return dtype == SZGPU_F32 ? (double)(float)x : x;
}

/* The number `count` places above x, or below if negative. */
static double moved(szgpu_dtype dtype, double x, int count) {
  double const toward = count > 0 ? INFINITY : -INFINITY;
  for (int i = count < 0 ? -count : count; i > 0; i--)
    x = dtype == SZGPU_F32 ? (double)nextafterf((float)x, (float)toward) : nextafter(x, toward);
  return x;
}

static void set_value(szgpu_dtype dtype, void *field, uint64_t i, double x) {
  if (dtype == SZGPU_F32)
    ((float *)field)[i] = (float)x;
  else
    ((double *)field)[i] = x;
}

/* ---- a case ---- */

/* How multiples of the point distance lie in a field. */
typedef enum arrangement {
  ARRANGED_EVENLY,      /* anywhere up to X */
  ARRANGED_BY_EXPONENT, /* all magnitudes */
  ARRANGED_NEAR_X,
  ARRANGED_NEAR_A_LIMIT, /* of a lattice, or of what floats state exactly */
  ARRANGED_ON_PLATEAUS,  /* every other value half a unit of a level away from its neighbours */
  ARRANGED_EQUAL,        /* to X; needs no multiples */
  ARRANGEMENT_COUNT
} arrangement;

typedef struct lattice_case {
  szgpu_dtype dtype;
  double greatest; /* X */
  double bound;
  double point;       /* the distance of points that values are placed by: step or a part of it */
  uint32_t fine_bits; /* point is step / (2^fine_bits + 1); 0: it is the step */
  arrangement arrangement;
  uint64_t hash;
} lattice_case;

static double nudged(double bound, uint64_t nudge) {
  if (nudge == 3) return bound * (1 + 0x1p-10);
  if (nudge == 4) return bound * (1 - 0x1p-10);
  if (nudge == 5) return bound * (1 + 0x1p-22);
  return moved(SZGPU_F64, bound, (int)nudge - 1);
}

/* X and b. False: there is no such case, for want of exponents. */
static bool set_magnitudes(const scale *s, double ratio, uint64_t nudge, lattice_case *c) {
  static const double mantissas[] = {1.0, 1 + 0x1p-23, 2 - 0x1p-23, 1.3333332538604736};
  double const mantissa = mantissas[c->hash % 4];
  double const parts = s->anchor == ANCHOR_FINE ? 257.0 : 1.0;
  c->dtype = s->dtype;
  if (s->anchor == ANCHOR_X)
    c->greatest = ldexp(mantissa, s->exponent);
  else
    c->greatest = ldexp(mantissa, s->exponent) / (2 * ratio) * parts;
  c->greatest = rounded(s->dtype, c->greatest);
  c->bound = fmin(nudged(c->greatest * ratio, nudge), DBL_MAX);
  return c->greatest > 0 && c->greatest < INFINITY && c->bound > 0;
}

/* Compresses X and 0 alone. */
static double find_step(floats_worker *worker, const lattice_case *c) {
  double const fields[2] = {c->greatest, 0};
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  szgpu_shape const shape = {.dtype = c->dtype, .ndim = 1, .dims = {2}};
  szgpu_info info = {.struct_bytes = sizeof info};
  params.mode = SZGPU_MODE_ABS;
  params.bound = c->bound;
  float const fields_f32[2] = {(float)c->greatest, 0};
  size_t capacity, archive_bytes;
  worker->params = params;
  worker->shape = shape;
  floats_must(worker, szgpu_sizes(worker->ctx, &params, &shape, NULL, &capacity), "sizes");
  uint8_t *const archive = floats_room(worker, &worker->archive, capacity);
  const void *const field = c->dtype == SZGPU_F32 ? (const void *)fields_f32 : fields;
  floats_must(
      worker,
      szgpu_compress(worker->ctx, &params, &shape, field, archive, capacity, &archive_bytes),
      "compress two values");
  floats_must(worker, szgpu_inspect(archive, archive_bytes, &info), "inspect");
  return info.step;
}

/* The multiple that value i is placed by. hash: its own. */
static double multiple_at(const lattice_case *c, uint64_t i, uint64_t hash) {
  static const double limits[] = {1,      2,      32766,  32767,  32768,  0x1p16, 0x1p17,
                                  0x1p20, 0x1p22, 0x1p24, 0x1p30, 0x1p31, 0x1p50, 0x1p53};
  double const most = c->greatest / c->point, share = (double)(hash >> 11) * 0x1p-53;
  double const few = (double)(hash >> 40 & 3);
  double const limit = limits[(c->hash >> 10) % (sizeof limits / sizeof *limits)];
  double const plateau = floor(most * 0x1p-16 * (double)(floats_hash(c->hash + (i >> 9)) & 0xFFFF));
  switch (c->arrangement) {
    case ARRANGED_EVENLY:
      return floor(most * share);
    case ARRANGED_BY_EXPONENT:
      return floor(most * exp2(-share * 60));
    case ARRANGED_NEAR_X:
      return floor(most) - few;
    case ARRANGED_NEAR_A_LIMIT:
      return (limit < most ? limit : floor(most)) - 2 + few;
    default:
      return plateau + (i & 1 ? ldexp(0.5, (int)c->fine_bits) + few - 2 : 0);
  }
}

/* Special values, and one beyond those for which the bound means anything. */
static double special(const lattice_case *c, uint64_t choice) {
  double const beyond = c->bound * (c->dtype == SZGPU_F32 ? 0x1p23 : 0x1p50);
  switch (choice) {
    case 0:
      return NAN;
    case 1:
      return INFINITY;
    case 2:
      return -0.0;
    case 3:
      return c->dtype == SZGPU_F32 ? 0x1p-149 : 0x1p-1074;
    case 4:
      return beyond < 0x1p126 || c->dtype == SZGPU_F64 ? moved(c->dtype, beyond, 2) : 0;
    default:
      return c->greatest;
  }
}

static double value_at(const lattice_case *c, uint64_t i) {
  uint64_t const hash = floats_hash(c->hash + i);
  bool const is_noisy = c->arrangement <= ARRANGED_BY_EXPONENT;
  bool const is_negative = (is_noisy ? hash : i >> 9) & 1;
  if (c->arrangement == ARRANGED_EQUAL) return hash % 97 ? c->greatest : special(c, hash / 97 % 2);
  if (i == 77) return c->greatest;
  if (hash % 512 < 6) return special(c, hash % 512);
  double const half = hash >> 20 & 3 ? 0.5 : 0.0;
  double const multiple = multiple_at(c, i, floats_hash(hash)) + half;
  double const near = rounded(c->dtype, fabs(multiple) * c->point);
  double const x = moved(c->dtype, near, (int)((hash >> 24) % 5) - 2);
  double const magnitude = x <= c->greatest ? x : c->greatest;
  return is_negative ? -magnitude : magnitude;
}

static void set_shape(uint64_t choice, szgpu_shape *shape) {
  static const uint16_t dims[6][4] = {{5000},   {67, 75},       {17, 9, 35},
                                      {64, 64}, {2, 16, 8, 33}, {129}};
  static const int ndims[6] = {1, 2, 3, 2, 4, 1};
  shape->ndim = ndims[choice];
  for (int i = 0; i < shape->ndim; i++) shape->dims[i] = dims[choice][i];
}

static void run_case(floats_worker *worker, floats_run_block *run_block, uint64_t number) {
  (void)run_block;
  uint64_t const way = number % FLOATS_WAY_COUNT, rest = number / FLOATS_WAY_COUNT;
  const scale *const s = &scales[rest / NUDGE_COUNT / RATIO_COUNT % SCALE_COUNT];
  lattice_case c = {.hash = floats_hash(number)};
  if (!set_magnitudes(s, ratios[rest / NUDGE_COUNT % RATIO_COUNT], rest % NUDGE_COUNT, &c)) return;
  c.arrangement = (arrangement)((c.hash >> 48) % ARRANGEMENT_COUNT);
  c.fine_bits = (uint32_t)(c.hash >> 32) % 9;
  if (c.fine_bits < 4) c.fine_bits = 0;
  double const step = find_step(worker, &c);
  c.point = c.fine_bits ? step / ((1 << c.fine_bits) + 1) : step;
  if (!(c.point > 0)) c.point = c.greatest / 1000; /* a bound too small to be coded with */
  floats_set_way(way, &worker->params);
  worker->shape = (szgpu_shape){.dtype = c.dtype};
  set_shape((c.hash >> 40) % 6, &worker->shape);
  uint64_t const count = floats_value_count(&worker->shape);
  void *const field = floats_room(worker, &worker->field, count * floats_value_bytes(c.dtype));
  for (uint64_t i = 0; i < count; i++) set_value(c.dtype, field, i, value_at(&c, i));
  floats_round_trip(worker);
}

const floats_sweep floats_sweep_lattice = {
    "lattice", 1, "f32 and f64 at ties and limits of the lattice", count_cases, run_case};
