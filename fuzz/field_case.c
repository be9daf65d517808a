/* field_case.c - bytes as a compression: params, shape and field.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "field_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 9000, MOST_BOX_VALUES = 6000, MOST_FRAMES = 8 };

/* ---- shape ---- */

static void take_dims(fuzz_input *input, bool is_long, field_case *c) {
  uint64_t extents[4];
  for (int i = 0; i < 4; i++) extents[i] = 1 + fuzz_take(input, 1);
  uint64_t const line = 1 + fuzz_take(input, 2) % MOST_VALUES;
  c->value_count = 1;
  for (int i = 0; i < c->shape.ndim; i++) {
    uint64_t extent = extents[i];
    if (c->shape.ndim == 1 && is_long) extent = line;
    if (c->shape.ndim > 2 && c->value_count > 64) extent = 1 + extent % 40;
    if (c->value_count * extent > MOST_BOX_VALUES && c->shape.ndim > 1) extent = 1;
    c->shape.dims[i] = extent;
    c->value_count *= extent;
  }
}

/* Each frame takes as long as thousands of values do. */
static void limit_frames(field_case *c) {
  uint64_t rows = 1;
  for (int i = 0; i < c->shape.ndim && rows == 1; i++) rows = c->shape.dims[i];
  uint64_t const least = (rows + MOST_FRAMES - 1) / MOST_FRAMES;
  if (c->params.frame_rows > 0 && c->params.frame_rows < least) c->params.frame_rows = least;
}

/* ---- params ---- */

/* Any double, powers of two and of ten, and ordinary bounds. */
static double take_bound(fuzz_input *input) {
  uint64_t const kind = fuzz_take(input, 1), bits = fuzz_take(input, 8);
  double any;
  memcpy(&any, &bits, sizeof any);
  switch (kind % 6) {
    case 0:
      return any;
    case 1:
      return ldexp(1.0 + (double)(bits & 0xFFFF) / 65536.0, (int)(bits >> 16 & 63) - 60);
    case 2:
      return pow(10.0, -(double)(bits % 17));
    case 3:
      return ldexp(1.0, (int)(bits % 2100) - 1074);
    case 4:
      return 1.0 + (double)(bits % 300); /* of PSNR */
    default:
      return 0.5;
  }
}

static double take_fill(fuzz_input *input, bool is_f32) {
  uint64_t const bits = fuzz_take(input, 8);
  uint32_t const low_bits = (uint32_t)bits;
  double fill;
  float fill_f32;
  memcpy(&fill, &bits, sizeof fill);
  memcpy(&fill_f32, &low_bits, sizeof fill_f32);
  return is_f32 ? (double)fill_f32 : fill;
}

/* The types that can have a bound. */
static const szgpu_dtype bounded[] = {SZGPU_F32, SZGPU_F64, SZGPU_U8,  SZGPU_BF16, SZGPU_F16,
                                      SZGPU_I8,  SZGPU_U16, SZGPU_I16, SZGPU_I32};
enum { BOUNDED_TYPES = sizeof bounded / sizeof *bounded };

/* Of an integer type; NaN: the least. */
static double nearest_integer(szgpu_dtype dtype, double value) {
  double const least = dtype == SZGPU_I8    ? INT8_MIN
                       : dtype == SZGPU_I16 ? INT16_MIN
                       : dtype == SZGPU_I32 ? INT32_MIN
                                            : 0;
  double const most = dtype == SZGPU_I8    ? INT8_MAX
                      : dtype == SZGPU_U8  ? UINT8_MAX
                      : dtype == SZGPU_I16 ? INT16_MAX
                      : dtype == SZGPU_U16 ? UINT16_MAX
                                           : INT32_MAX;
  return value >= least ? rint(value <= most ? value : most) : least;
}

/* A fill value that the type has, near this one. */
static double fitting_fill(szgpu_dtype dtype, double fill) {
  if (dtype == SZGPU_F64) return fill;
  if (dtype != SZGPU_F32 && dtype != SZGPU_F16 && dtype != SZGPU_BF16)
    return nearest_integer(dtype, fill);
  double const most = dtype == SZGPU_F32 ? (double)FLT_MAX : 65504;
  return isfinite(fill) && fabs(fill) > most ? copysign(most, fill) : fill;
}

double case_value(szgpu_dtype dtype, uint64_t bits) {
  uint32_t const magnitude = (uint32_t)bits & 0x7FFF;
  uint32_t single = (uint32_t)bits;
  float value_f32;
  double value;
  switch (dtype) {
    case SZGPU_F64:
      memcpy(&value, &bits, sizeof value);
      return value;
    case SZGPU_I8:
      return (int8_t)bits;
    case SZGPU_I16:
      return (int16_t)bits;
    case SZGPU_I32:
      return (int32_t)bits;
    case SZGPU_U8:
    case SZGPU_U16:
    case SZGPU_FP8:
      return (double)bits;
    case SZGPU_F16: /* by its parts */
      value = magnitude >= 0x7C00 ? (magnitude > 0x7C00 ? NAN : INFINITY)
              : magnitude < 0x400 ? ldexp(magnitude, -24)
                                  : ldexp((magnitude & 0x3FF) + 0x400, (int)(magnitude >> 10) - 25);
      return bits & 0x8000 ? -value : value;
    case SZGPU_BF16:
      single <<= 16;
      break;
    case SZGPU_F32:
      break;
  }
  memcpy(&value_f32, &single, sizeof value_f32);
  return (double)value_f32;
}

/* Whatever the mode and the layout allow. Returns flags for what needs values of the field. */
static uint64_t take_params(fuzz_input *input, field_case *c) {
  szgpu_params *const p = &c->params;
  bool const is_lossless = fuzz_take(input, 1) % 4 == 0;
  uint64_t const type = fuzz_take(input, 1), mode = fuzz_take(input, 1);
  uint64_t const flags = fuzz_take(input, 1), fill_flags = fuzz_take(input, 1);
  uint64_t const rows = fuzz_take(input, 1), radius = fuzz_take(input, 2);
  c->shape.dtype = is_lossless ? (szgpu_dtype)(type % 10) : bounded[type % BOUNDED_TYPES];
  c->shape.ndim = 1 + (int)(mode / 4 % 4);
  p->mode = is_lossless ? SZGPU_MODE_LOSSLESS : (szgpu_mode)(mode % 3);
  if (!is_lossless && c->shape.dtype <= SZGPU_F64 && mode >= 192) p->mode = SZGPU_MODE_PWREL;
  p->layout = (szgpu_layout)(flags & 1);
  p->zstd_level = flags & 2 ? 1 + (int)(flags >> 2 & 3) : 0;
  p->frame_rows = rows & 1 ? rows >> 1 : 0;
  p->source = (uint32_t)(flags >> 5 & SZGPU_SOURCE_ALL);
  if (p->layout == SZGPU_LAYOUT_LINEAR) {
    p->without_gaps = (int)(flags >> 4 & 1);
    if (!is_lossless && radius % 4 == 0) p->radius = 2 + (uint32_t)radius / 4 * 2;
  } else if (!is_lossless) {
    p->predictor = (szgpu_predictor)(radius % 3);
  }
  p->bound = take_bound(input);
  double const fill = take_fill(input, fill_flags & 4);
  p->has_fill = !is_lossless && fill_flags % 4 == 1;
  if (p->has_fill) p->fill = fitting_fill(c->shape.dtype, fill);
  p->keep = fill_flags & 8 ? SZGPU_KEEP_RANGE : 0;
  if (fill_flags & 16) p->keep |= SZGPU_KEEP_RESTORED;
  if (fill_flags & 32) p->keep |= SZGPU_KEEP_MISSING;
  return fill_flags;
}

/* ---- values ---- */

static void set_value(field_case *c, uint64_t i, double value) {
  szgpu_dtype const dtype = c->shape.dtype;
  float const value_f32 = (float)value;
  uint64_t bits = 0;
  if (dtype == SZGPU_F64) {
    memcpy(&bits, &value, sizeof value);
  } else if (dtype == SZGPU_F32 || dtype == SZGPU_BF16) {
    memcpy(&bits, &value_f32, sizeof value_f32);
    if (dtype == SZGPU_BF16) bits >>= 16;
  } else {
    bits = (uint64_t)(int64_t)nearest_integer(dtype, value);
  }
  fuzz_store(c->field + c->width * i, (unsigned)c->width, bits);
}

/* One value of what the generator makes; `byte` is what the input has for it. */
typedef struct generator {
  unsigned kind;
  double base, scale, sum;
} generator;

enum { GENERATE_BYTES, GENERATE_WALK, GENERATE_WAVE, GENERATE_STEPS, GENERATORS };

static double next_value(generator *g, uint64_t i, int byte) {
  switch (g->kind % GENERATORS) {
    case GENERATE_WALK:
      g->sum += byte;
      return g->base + g->sum * g->scale;
    case GENERATE_WAVE:
      return g->base + g->scale * (sin(0.01 * (double)i * (1 + (byte & 3))) + byte * 1e-3);
    default:
      return g->base + byte * g->scale;
  }
}

static const double specials[] = {
    NAN, INFINITY, -INFINITY, -0.0, 1e20, 5e-324, 0x1.fffffffffffffp1023, -0x1.fffffep127};
enum { SPECIAL_COUNT = sizeof specials / sizeof *specials };

static void make_values(field_case *c, fuzz_input *input) {
  generator g = {.kind = (unsigned)fuzz_take(input, 1)};
  uint64_t const exponents = fuzz_take(input, 2);
  const uint8_t *const bytes = input->at;
  size_t const byte_count = (size_t)(input->end - input->at);
  bool const is_of_bytes = c->shape.dtype == SZGPU_F16 || c->shape.dtype == SZGPU_FP8;
  if (g.kind % GENERATORS == GENERATE_BYTES || is_of_bytes) {
    for (size_t i = 0; i < c->field_bytes; i++)
      c->field[i] = byte_count ? bytes[i % byte_count] : (uint8_t)i;
    return;
  }
  /* In units of the bound, values lie on ties, and rounding them takes a part of the bound. */
  double const unit = c->params.bound < 1e300 && c->params.bound > 0.0 ? c->params.bound : 1.0;
  bool const is_steps = g.kind % GENERATORS == GENERATE_STEPS, is_in_units = is_steps || g.kind & 8;
  int const low = (int)(exponents & 255), high = (int)(exponents >> 8);
  g.scale = is_in_units ? ldexp(g.kind & 32 ? 0.5 * unit : unit, is_steps ? 0 : low % 16 - 2)
                        : ldexp(1.0, low - 128);
  if (g.kind & 16) g.base = is_in_units ? ldexp(unit, high % 64) : ldexp(1.0, high - 100);
  for (uint64_t i = 0; i < c->value_count; i++) {
    int const byte = byte_count ? (int8_t)bytes[i % byte_count] : 0;
    bool const is_special = byte == 127 && g.kind & 64;
    set_value(c, i, is_special ? specials[i % SPECIAL_COUNT] : next_value(&g, i, byte));
  }
  if (!(g.kind & 128) || byte_count < c->width) return;
  for (uint64_t i = 0; i < 64 && i < byte_count; i++) /* any bits among them */
    memcpy(c->field + i * 2654435761u % c->value_count * c->width,
           bytes + i % (byte_count - c->width + 1), c->width);
}

/* A number of the field. */
static double number_at(const field_case *c, uint64_t place) {
  uint64_t const i = place * 2654435761u % c->value_count;
  double const value =
      case_value(c->shape.dtype, fuzz_load(c->field + c->width * i, (unsigned)c->width));
  return isfinite(value) ? value : 0.0;
}

/* Further fill values, and limits of valid values, are numbers of the field. */
static void take_missing(field_case *c, uint64_t flags) {
  szgpu_params *const p = &c->params;
  if (p->has_fill && flags & 64) {
    p->more_fill_count = 1 + (uint32_t)(c->value_count % SZGPU_MOST_MORE_FILLS);
    for (uint32_t i = 0; i < p->more_fill_count; i++) p->more_fills[i] = number_at(c, i);
  }
  if (!(flags & 128) || p->mode == SZGPU_MODE_PWREL || p->mode == SZGPU_MODE_LOSSLESS) return;
  double const a = number_at(c, 7), b = number_at(c, 8);
  p->has_valid = 1;
  p->valid_least = a < b ? a : b;
  p->valid_greatest = a < b ? b : a;
}

field_case case_make(const uint8_t *data, size_t size) {
  static const size_t widths[] = {4, 8, 1, 2, 2, 1, 1, 2, 2, 4};
  fuzz_input header = {data, data + CASE_HEADER_BYTES};
  fuzz_input values = {data + CASE_HEADER_BYTES, data + size};
  field_case c = {.params = SZGPU_PARAMS_DEFAULTS};
  uint64_t const flags = take_params(&header, &c);
  take_dims(&header, c.params.frame_rows % 2 == 0, &c);
  limit_frames(&c);
  c.width = widths[c.shape.dtype];
  c.field_bytes = c.value_count * c.width;
  c.field = fuzz_allocate(c.field_bytes);
  make_values(&c, &values);
  take_missing(&c, flags);
  return c;
}
