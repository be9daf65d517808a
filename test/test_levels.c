/* test_levels.c - tiles of levels frames against a reference that goes point by point.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/interpolation/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/interpolation/frame.h"
#include "codecs/interpolation/levels_lattice.h"
#include "codecs/interpolation/levels_probe_core.h"
#include "container/format.h"
#include "support.h"

/* ---- the reference: docs/format.md, section 16, as it stands ---- */

typedef struct reference {
  const szg_levels *levels;
  const szg_levels_lattice *lattice;
  const void *values;
  uint32_t stage;
  const szg_levels_stage *s, *coarse;
  szg_levels_tile tile;
  int64_t *grids[SZG_LEVELS_MOST + 1];
  int64_t tile_values[64 * 64 * 16]; /* of the tile at hand, [z][y][x] of a full one */
  const void *given; /* the tile's codes, of the frame's width; NULL: values give them */
} reference;

static int64_t wrap(const reference *r, int64_t x) {
  return r->levels->is_wide ? x : (int64_t)(int32_t)(uint32_t)(uint64_t)x;
}
static int64_t add(const reference *r, int64_t a, int64_t b) {
  return wrap(r, (int64_t)((uint64_t)a + (uint64_t)b));
}
static int64_t times(const reference *r, int64_t a, int64_t b) {
  return wrap(r, (int64_t)((uint64_t)a * (uint64_t)b));
}
static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* The value of a point of the stage's grid, as an index; -1: it is virtual. */
static int64_t value_index(const reference *r, uint64_t box, uint64_t z, uint64_t y, uint64_t x) {
  const szg_levels *const l = r->levels;
  uint64_t const s = r->s->spacing;
  const szg_levels_stage *const view = &l->stages[l->level_count];
  if (l->axis_count == 3) z *= s;
  if (l->axis_count >= 2) y *= s;
  x *= s;
  uint64_t const index = ((box * view->z_extent + z) * view->y_extent + y) * view->x_extent + x;
  return index < l->value_count ? (int64_t)index : -1;
}

static bool lattice_value(const reference *r, int64_t index, int64_t *point) {
  const szg_levels_lattice *const k = r->lattice;
  if (index < 0) return false;
  if (k->has_fill && test_bits_at(k->dtype, r->values, (uint64_t)index) == k->fill_bits)
    return false;
  double const x = test_value_at(k->dtype, r->values, (uint64_t)index);
  double const limit = k->is_wide ? 0x1p50 : 0x1p22;
  double scaled;
  if (k->dtype == SZGPU_F32 && !k->is_wide)
    scaled = rint(x * (double)k->inverse_f32); /* the product is exact */
  else
    scaled = fma(x, k->inverse, 0x1.8p52) - 0x1.8p52;
  if (!(fabs(scaled) < limit) || !(fabs(x * k->inverse) < 2 * limit)) return false;
  *point = (int64_t)scaled;
  return true;
}

static int64_t grid_value(const reference *r, uint32_t stage, uint64_t z, uint64_t y, uint64_t x) {
  const szg_levels_stage *const s = &r->levels->stages[stage];
  return r->grids[stage][((r->tile.box * s->z_extent + z) * s->y_extent + y) * s->row_points + x];
}

static int64_t *in_tile(reference *r, int64_t z, int64_t y, int64_t x) {
  return &r->tile_values[(z * r->s->tile_y + y) * r->s->tile_x + x];
}

static int64_t predict(reference *r, const int64_t at[3]);

/* at: x, y, z in the tile's box */
static int64_t box_value(reference *r, const int64_t at[3]) {
  if ((at[0] | at[1] | at[2]) % 2 == 0)
    return grid_value(r, r->stage - 1, (r->tile.z + (uint64_t)at[2]) / 2,
                      (r->tile.y + (uint64_t)at[1]) / 2, (r->tile.x + (uint64_t)at[0]) / 2);
  if (at[1] < (int64_t)r->tile.y_extent && at[2] < (int64_t)r->tile.z_extent)
    return *in_tile(r, at[2], at[1], at[0]);
  return predict(r, at);
}

static int64_t moved(reference *r, const int64_t at[3], int axis, int64_t distance) {
  int64_t to[3] = {at[0], at[1], at[2]};
  to[axis] += distance;
  return box_value(r, to);
}

/* The same of a grid point anywhere: only points of class 0. */
static int64_t moved_anywhere(reference *r, const int64_t at[3], int axis, int64_t distance) {
  int64_t to[3] = {at[0] + (int64_t)r->tile.x, at[1] + (int64_t)r->tile.y,
                   at[2] + (int64_t)r->tile.z};
  to[axis] += distance;
  return grid_value(r, r->stage - 1, (uint64_t)to[2] / 2, (uint64_t)to[1] / 2, (uint64_t)to[0] / 2);
}

static int64_t stencil(reference *r, const int64_t at[3], int axis, int64_t v, int64_t hi,
                       int64_t (*w)(reference *, const int64_t[3], int, int64_t)) {
  int64_t const before = w(r, at, axis, -1), after = w(r, at, axis, 1);
  bool const left = v - 3 >= 0, right = v + 3 <= hi;
  if (r->levels->is_linear || (!left && !right)) return times(r, 8, add(r, before, after));
  if (left && right)
    return add(r, times(r, 9, add(r, before, after)),
               -add(r, w(r, at, axis, -3), w(r, at, axis, 3)));
  if (right)
    return add(r, add(r, times(r, 6, before), times(r, 12, after)),
               times(r, -2, w(r, at, axis, 3)));
  return add(r, add(r, times(r, 12, before), times(r, 6, after)), times(r, -2, w(r, at, axis, -3)));
}

/* w(c) of a quintic stencil of the point with the coordinate v; e: the last one of w. */
static int64_t quintic_value(reference *r, const int64_t at[3], int axis, int64_t v, int64_t c,
                             int64_t e) {
  int64_t const inward = c < 0 ? 2 : -2;
  if (c >= 0 && c <= e) return moved_anywhere(r, at, axis, c - v);
  int64_t const near = quintic_value(r, at, axis, v, c + inward, e);
  int64_t const middle = quintic_value(r, at, axis, v, c + 2 * inward, e);
  int64_t const far = quintic_value(r, at, axis, v, c + 3 * inward, e);
  return add(r, far, times(r, 3, add(r, near, times(r, -1, middle))));
}

static int64_t sum_quintic(reference *r, const int64_t at[3], int axis, int64_t v, int64_t hi) {
  static const struct {
    int64_t distance, weight;
  } taps[] = {{-1, 150}, {1, 150}, {-3, -25}, {3, -25}, {-5, 3}, {5, 3}};
  int64_t const e = hi - hi % 2;
  int64_t sum = 0;
  for (size_t i = 0; i < ARRAY_COUNT(taps); i++) {
    int64_t const w = quintic_value(r, at, axis, v, v + taps[i].distance, e);
    sum = add(r, sum, times(r, taps[i].weight, w));
  }
  return sum;
}

static int64_t predict_single(reference *r, const int64_t at[3], int axis) {
  uint64_t const first[3] = {r->tile.x, r->tile.y, r->tile.z};
  uint64_t const extents[3] = {r->s->x_extent, r->s->y_extent, r->s->z_extent};
  int64_t const v = at[axis] + (int64_t)first[axis], hi = (int64_t)extents[axis] - 1;
  int64_t const coarse_points = hi / 2 + 1;
  bool const has_both = hi >= v + 1, is_quintic = r->levels->is_quintic;
  if (is_quintic && has_both && coarse_points >= 3)
    return add(r, sum_quintic(r, at, axis, v, hi), 128) >> 8;
  int64_t sum;
  if (has_both && is_quintic)
    sum = times(r, 8, add(r, moved_anywhere(r, at, axis, -1), moved_anywhere(r, at, axis, 1)));
  else if (has_both)
    sum = stencil(r, at, axis, v, hi, moved_anywhere);
  else if (v < 3)
    sum = times(r, 16, moved_anywhere(r, at, axis, -1));
  else
    sum = add(r, times(r, 24, moved_anywhere(r, at, axis, -1)),
              times(r, -8, moved_anywhere(r, at, axis, -3)));
  return is_quintic ? add(r, times(r, 16, sum), 128) >> 8 : add(r, sum, 8) >> 4;
}

__extension__ typedef __int128 wide_product;

static int64_t mean(const reference *r, int64_t sum, int n) {
  if (n == 1) return add(r, sum, 8) >> 4;
  if (n == 2) return add(r, sum, 16) >> 5;
  if (!r->levels->is_wide) return add(r, (sum * 0x2AAAAAAB) >> 32, 4) >> 3;
  return add(r, (int64_t)(((wide_product)sum * 0x2AAAAAAAAAAAAAAB) >> 64), 4) >> 3;
}

static int64_t clamp(const reference *r, int64_t p) {
  int64_t const limit = (int64_t)1 << (r->levels->is_wide ? 50 : 22);
  if (r->stage == r->levels->level_count) return p;
  return p < -limit ? -limit : p > limit ? limit : p;
}

/* S(A) of blended predictions; set: the axes of A. */
static int64_t sum_around(reference *r, const int64_t at[3], const int64_t hi[3], uint32_t set) {
  int64_t sum = 0;
  for (uint32_t upper = 0; upper < 8; upper++) { /* the axes of A with the upper neighbour */
    int64_t to[3] = {at[0], at[1], at[2]};
    if (upper & ~set) continue;
    for (int axis = 0; axis < 3; axis++) {
      bool const takes_upper = upper >> axis & 1 && hi[axis] >= at[axis] + 1;
      if (set >> axis & 1) to[axis] += takes_upper ? 1 : -1;
    }
    sum = add(r, sum, box_value(r, to));
  }
  return sum;
}

static int64_t predict_blended(reference *r, const int64_t at[3], const int64_t hi[3]) {
  uint32_t const odd = (uint32_t)(at[0] % 2 + at[1] % 2 * 2 + at[2] % 2 * 4);
  int64_t sums[4] = {0}; /* by the number of axes of A */
  for (uint32_t set = 1; set < 8; set++) {
    int const n = (int)(set % 2 + set / 2 % 2 + set / 4);
    if ((set & ~odd) == 0) sums[n] = add(r, sums[n], sum_around(r, at, hi, set));
  }
  if (odd < 7) return add(r, add(r, times(r, 2, sums[1]), -sums[2]), 2) >> 2;
  return add(r, add(r, add(r, times(r, 4, sums[1]), times(r, -2, sums[2])), sums[3]), 4) >> 3;
}

static int64_t predict(reference *r, const int64_t at[3]) {
  const szg_levels_tile *const t = &r->tile;
  bool const far_y = t->y + t->y_extent < r->s->y_extent,
             far_z = t->z + t->z_extent < r->s->z_extent;
  int64_t const hi[3] = {t->x_extent - 1, (int64_t)t->y_extent - !far_y,
                         (int64_t)t->z_extent - !far_z};
  int odd_count = 0, odd_axis = 0, rank = -1, n = 0;
  for (int axis = 0; axis < 3; axis++)
    if (at[axis] % 2) odd_count++, odd_axis = axis;
  if (odd_count == 1) return clamp(r, predict_single(r, at, odd_axis));
  if (r->levels->is_blended) return clamp(r, predict_blended(r, at, hi));
  for (int axis = 0; axis < 3; axis++)
    if (at[axis] % 2 && hi[axis] >= at[axis] + 1 && r->levels->ranks[axis] > rank)
      rank = r->levels->ranks[axis];
  int64_t sum = 0;
  for (int axis = 0; axis < 3; axis++) {
    if (at[axis] % 2 == 0) continue;
    if (rank < 0) {
      sum = add(r, sum, times(r, 16, moved(r, at, axis, -1))), n++;
    } else if (hi[axis] >= at[axis] + 1 && r->levels->ranks[axis] == rank) {
      sum = add(r, sum, stencil(r, at, axis, at[axis], hi[axis], moved)), n++;
    }
  }
  return clamp(r, mean(r, sum, n));
}

static uint32_t place_of(const reference *r, uint32_t z, uint32_t y, uint32_t x) {
  uint32_t const d = r->levels->axis_count, m = x % 2 + y % 2 * 2 + z % 2 * 4;
  uint32_t const ty = r->s->tile_y, tz = r->s->tile_z;
  if (r->stage == 0)
    return d == 3 ? (z * 32 + x) * 8 + y : d == 2 ? (y / 8 * 64 + x) * 8 + y % 8 : x;
  if (d == 3) return (((m - 1) * tz / 2 + z / 2) * 32 + x / 2) * 4 + y / 2;
  if (d == 2) return (((m - 1) * ty / 8 + y / 2 / 4) * 32 + x / 2) * 4 + y / 2 % 4;
  return x / 2;
}

static int64_t element(bool is_wide, const void *elements, uint64_t i) {
  return is_wide ? ((const int64_t *)elements)[i] : ((const int32_t *)elements)[i];
}

static void settle_level_point(reference *r, const int64_t at[3], int64_t *codes) {
  int64_t const p = predict(r, at), unit = r->s->unit;
  uint32_t const place = place_of(r, (uint32_t)at[2], (uint32_t)at[1], (uint32_t)at[0]);
  int64_t point, k = 0;
  if (r->given)
    k = element(r->levels->is_wide, r->given, place);
  else if (lattice_value(r,
                         value_index(r, r->tile.box, r->tile.z + (uint64_t)at[2],
                                     r->tile.y + (uint64_t)at[1], r->tile.x + (uint64_t)at[0]),
                         &point))
    k = floor_divide(add(r, point, -p + unit / 2), unit);
  codes[place] = k;
  *in_tile(r, at[2], at[1], at[0]) = add(r, p, times(r, k, unit));
}

/* Points that have none get stand-ins, in rows of n, one after the other. */
static void stand_in(const reference *r, uint32_t rows, uint32_t n, const bool *has,
                     int64_t *points) {
  int64_t *const old = test_allocate((size_t)rows * n * sizeof *old);
  memcpy(old, points, (size_t)rows * n * sizeof *old);
  for (uint32_t row = 0; row < rows; row++)
    for (uint32_t i = 0; i < n; i++) {
      int64_t from_row = -1, before = -1, after = -1;
      for (uint32_t k = 0; k < rows; k++) {
        bool has_some = false;
        for (uint32_t x = 0; x < n; x++) has_some |= has[k * n + x];
        if (has_some && (k <= row || from_row < 0)) from_row = k;
      }
      points[row * n + i] = 0;
      if (from_row < 0) continue;
      for (uint32_t x = 0; x < n; x++) {
        if (!has[from_row * n + x]) continue;
        if (x <= i) before = x;
        if (x >= i && after < 0) after = x;
      }
      int64_t const b = old[from_row * n + (before < 0 ? after : before)];
      int64_t const a = old[from_row * n + (after < 0 ? before : after)];
      points[row * n + i] = add(r, b, add(r, a, -b) >> 1);
    }
  free(old);
}

/* Multiples that are not chosen by codes; at[]: in the tile. */
static bool find_multiple(const reference *r, const int64_t at[3], int64_t *multiple) {
  int64_t const unit = r->s->unit;
  uint64_t const z = r->tile.z + (uint64_t)at[2], y = r->tile.y + (uint64_t)at[1];
  bool const has =
      lattice_value(r, value_index(r, r->tile.box, z, y, r->tile.x + (uint64_t)at[0]), multiple);
  *multiple = has ? floor_divide(*multiple + unit / 2, unit) : 0;
  return has;
}

static void find_multiples(reference *r, bool *has) {
  int64_t at[3], *const multiples = test_allocate(SZG_LEVELS_BASE_PLACES * sizeof *multiples);
  uint32_t const n = r->tile.x_extent;
  uint32_t row = 0;
  for (at[2] = 0; at[2] < r->tile.z_extent; at[2]++)
    for (at[1] = 0; at[1] < r->tile.y_extent; at[1]++, row++)
      for (at[0] = 0; at[0] < n; at[0]++)
        has[row * n + at[0]] = find_multiple(r, at, &multiples[row * n + at[0]]);
  if (r->levels->level_count > 0) {
    stand_in(r, row, n, has, multiples);
    memset(has, true, (size_t)row * n);
  }
  row = 0;
  for (at[2] = 0; at[2] < r->tile.z_extent; at[2]++)
    for (at[1] = 0; at[1] < r->tile.y_extent; at[1]++, row++)
      for (at[0] = 0; at[0] < n; at[0]++)
        *in_tile(r, at[2], at[1], at[0]) = multiples[row * n + at[0]];
  free(multiples);
}

/* is_free: the point's multiple is what the code 0 makes it. */
static void settle_base_point(reference *r, const int64_t at[3], bool is_free, int64_t *codes) {
  int64_t p = 0;
  int64_t *const multiple = in_tile(r, at[2], at[1], at[0]);
  for (uint32_t set = 1; set < 8; set++) {
    int64_t to[3];
    bool is_there = (set & ~r->levels->base_axes) == 0;
    int sign = -1;
    for (int axis = 0; axis < 3; axis++) {
      to[axis] = at[axis] - (set >> axis & 1);
      if (to[axis] < 0) is_there = false;
      if (set >> axis & 1) sign = -sign;
    }
    if (is_there) p = add(r, p, sign * *in_tile(r, to[2], to[1], to[0]));
  }
  if (is_free) *multiple = p;
  codes[place_of(r, (uint32_t)at[2], (uint32_t)at[1], (uint32_t)at[0])] = add(r, *multiple, -p);
}

static void settle_base(reference *r, int64_t *codes) {
  static bool has[SZG_LEVELS_BASE_PLACES];
  int64_t at[3];
  uint32_t i = 0;
  find_multiples(r, has);
  for (at[2] = 0; at[2] < r->tile.z_extent; at[2]++)
    for (at[1] = 0; at[1] < r->tile.y_extent; at[1]++)
      for (at[0] = 0; at[0] < r->tile.x_extent; at[0]++) settle_base_point(r, at, !has[i++], codes);
}

/* From coarse to fine, in the points of the tile alone. */
static int64_t half_value(reference *r, const int64_t at[3], int axis, int64_t distance) {
  (void)axis;
  int64_t const h = at[0] & -at[0];
  return *in_tile(r, 0, 0, at[0] + distance * h);
}

static int64_t predict_half(reference *r, int64_t x, int64_t h) {
  int64_t const at[3] = {x, 0, 0}, v = x / h, hi = ((int64_t)r->tile.x_extent - 1) / h;
  int64_t sum;
  if (hi >= v + 1)
    sum = stencil(r, at, 0, v, hi, half_value);
  else if (v < 3)
    sum = times(r, 16, half_value(r, at, 0, -1));
  else
    sum = add(r, times(r, 24, half_value(r, at, 0, -1)), times(r, -8, half_value(r, at, 0, -3)));
  return clamp(r, add(r, sum, 8) >> 4);
}

static void settle_half(reference *r, int64_t x, int64_t p, int64_t *codes) {
  int64_t point, k = 0, unit = r->s->unit;
  if (lattice_value(r, value_index(r, 0, 0, 0, r->tile.x + (uint64_t)x), &point))
    k = floor_divide(add(r, point, -p + unit / 2), unit);
  codes[x] = k;
  *in_tile(r, 0, 0, x) = add(r, p, times(r, k, unit));
}

static void settle_halves(reference *r, int64_t *codes) {
  settle_half(r, 0, 0, codes);
  for (int64_t h = 2048; h > 0; h /= 2)
    for (int64_t x = h; x < r->tile.x_extent; x += 2 * h)
      settle_half(r, x, predict_half(r, x, h), codes);
}

static void settle_stage_0(reference *r, int64_t *codes) {
  if (r->levels->is_halved)
    settle_halves(r, codes);
  else
    settle_base(r, codes);
}

static void settle_level(reference *r, int64_t *codes) {
  int64_t at[3];
  for (int odd_count = 0; odd_count <= 3; odd_count++)
    for (at[2] = 0; at[2] < r->tile.z_extent; at[2]++)
      for (at[1] = 0; at[1] < r->tile.y_extent; at[1]++)
        for (at[0] = 0; at[0] < r->tile.x_extent; at[0]++) {
          if (at[0] % 2 + at[1] % 2 + at[2] % 2 != odd_count) continue;
          if (odd_count > 0)
            settle_level_point(r, at, codes);
          else
            *in_tile(r, at[2], at[1], at[0]) = box_value(r, at);
        }
}

static void begin_tile(reference *r, uint32_t stage, uint64_t tile_index, int64_t *codes) {
  r->stage = stage;
  r->s = &r->levels->stages[stage];
  r->tile = szg_levels_tile_at(r->levels, stage, tile_index);
  memset(codes, 0, r->s->place_count * sizeof *codes);
}

/* Codes the tile, and writes the stage's grid. */
static void reference_tile(reference *r, uint32_t stage, uint64_t tile_index, int64_t *codes) {
  int64_t at[3];
  begin_tile(r, stage, tile_index, codes);
  if (stage == 0)
    settle_stage_0(r, codes);
  else
    settle_level(r, codes);
  for (at[2] = 0; at[2] < r->tile.z_extent; at[2]++)
    for (at[1] = 0; at[1] < r->tile.y_extent; at[1]++)
      for (at[0] = 0; at[0] < r->tile.x_extent; at[0]++) {
        uint64_t const row =
            (r->tile.box * r->s->z_extent + r->tile.z + (uint64_t)at[2]) * r->s->y_extent +
            r->tile.y + (uint64_t)at[1];
        int64_t const value = *in_tile(r, at[2], at[1], at[0]);
        r->grids[stage][row * r->s->row_points + r->tile.x + (uint64_t)at[0]] =
            stage == 0 && !r->levels->is_halved ? times(r, value, r->s->unit) : value;
      }
}

/* ---- the reference: estimates ---- */

enum { MOST_ROWS = 13 * 9, MOST_IN_ROW = 37 };

/* Puts what the tile needs of the coarse grid there, from the values. */
static void estimate_grid(reference *r, int64_t unit) {
  static int64_t points[MOST_ROWS * MOST_IN_ROW];
  static bool has[MOST_ROWS * MOST_IN_ROW];
  int64_t *rows[MOST_ROWS];
  const szg_levels_stage *const fine = r->s, *const c = fine - 1;
  const szg_levels_tile *const t = &r->tile;
  int64_t const first[3] = {(int64_t)t->x / 2, (int64_t)t->y / 2, (int64_t)t->z / 2};
  int64_t const even[3] = {0, (t->y_extent + 1) / 2, (t->z_extent + 1) / 2};
  bool const far_y = t->y + t->y_extent < fine->y_extent;
  bool const far_z = t->z + t->z_extent < fine->z_extent;
  int64_t const reach = r->levels->is_quintic ? 2 : 1, x_extent = (int64_t)c->x_extent;
  int64_t const begin = first[0] > reach ? first[0] - reach : 0;
  int64_t const last = first[0] + 32 + reach, end = last < x_extent ? last + 1 : x_extent;
  uint32_t const n = (uint32_t)(end - begin);
  uint32_t row_count = 0;
  r->s = c;
  for (int64_t z = -reach; z <= t->z_extent / 2 + reach; z++)
    for (int64_t y = -reach; y <= t->y_extent / 2 + reach; y++) {
      int64_t const grid_z = first[2] + z, grid_y = first[1] + y;
      bool const beside_z = z < 0 || z >= even[2] + far_z, beside_y = y < 0 || y >= even[1] + far_y;
      if (grid_z < 0 || grid_y < 0 || grid_z >= (int64_t)c->z_extent ||
          grid_y >= (int64_t)c->y_extent || (beside_z && beside_y))
        continue;
      rows[row_count] =
          r->grids[r->stage - 1] +
          ((int64_t)(t->box * c->z_extent) + grid_z) * (int64_t)(c->y_extent * c->row_points) +
          grid_y * (int64_t)c->row_points + begin;
      for (uint32_t i = 0; i < n; i++) {
        uint32_t const at = row_count * n + i;
        int64_t const index =
            value_index(r, t->box, (uint64_t)grid_z, (uint64_t)grid_y, (uint64_t)begin + i);
        has[at] = lattice_value(r, index, &points[at]);
        points[at] = floor_divide(points[at] + unit / 2, unit) * unit;
      }
      row_count++;
    }
  r->s = fine;
  stand_in(r, row_count, n, has, points);
  for (uint32_t row = 0; row < row_count; row++)
    memcpy(rows[row], points + row * n, n * sizeof *points);
}

/* The codes that a tile is counted with. Overwrites the grid before. */
static void reference_estimate(reference *r, uint32_t stage, uint64_t tile_index, int64_t *codes) {
  begin_tile(r, stage, tile_index, codes);
  if (stage == 0) {
    settle_stage_0(r, codes);
    return;
  }
  int64_t const unit = r->levels->stages[stage - 1].unit;
  szg_levels_tile const tile = r->tile;
  uint32_t const most = r->levels->axis_count == 1 ? 64 : tile.x_extent;
  for (uint32_t x = 0; x < tile.x_extent; x += most) {
    r->tile.x = tile.x + x;
    r->tile.x_extent = tile.x_extent - x < most ? tile.x_extent - x : most;
    estimate_grid(r, unit);
    settle_level(r, codes + (r->levels->axis_count == 1 ? x / 2 : 0));
  }
}

/* ---- cases ---- */

typedef struct levels_case {
  szgpu_shape shape;
  uint32_t axis_count, level_count;
  uint64_t fold;
  bool is_wide, must_be_quintic;
} levels_case;

static void *make_field(const levels_case *c, const szg_levels_lattice *lattice,
                        test_random *random, uint64_t fill_bits) {
  uint64_t const count = test_value_count(&c->shape);
  void *const field = test_allocate(count * test_dtype_bytes(c->shape.dtype));
  double const limit = lattice->fine * (c->is_wide ? 0x1p50 : 0x1p22); /* some are beyond it: */
  double const amplitude = test_random_below(random, 4) ? 1.0 : 0.6 * limit;
  double const noise = test_random_below(random, 3) ? 0.01 : 1.0;
  uint64_t const rare = test_random_below(random, 2) ? 20 : UINT64_MAX;
  double const special[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 0.0};
  for (uint64_t i = 0; i < count; i++) {
    double const smooth = sin((double)(i % 97) * 0.07) + cos((double)(i / 97) * 0.11);
    test_set_value(c->shape.dtype, field, i,
                   amplitude * (smooth + noise * (test_random_unit(random) - 0.5)));
    if (test_random_below(random, rare) == 0) {
      uint64_t const which = test_random_below(random, ARRAY_COUNT(special));
      double const x = which == 5 ? test_value_at(c->shape.dtype, &fill_bits, 0) : special[which];
      test_set_value(c->shape.dtype, field, i, x);
    }
  }
  return field;
}

static void choose_rules(const levels_case *c, test_random *random, szg_levels *levels) {
  uint32_t const d = c->axis_count;
  levels->is_wide = c->is_wide;
  levels->base_axes = 1 + (uint32_t)test_random_below(random, (1u << d) - 1);
  if (c->level_count == 0) return;
  levels->fine_bits = 1 + (uint32_t)test_random_below(random, SZG_LEVELS_MOST_FINE);
  levels->is_halved = d == 1 && test_random_below(random, 2);
  levels->is_linear = test_random_below(random, 2);
  for (uint32_t axis = 0; axis < 3 && axis < d; axis++)
    levels->ranks[axis] = (uint8_t)test_random_below(random, SZG_LEVELS_MOST_RANK + 1);
  levels->is_blended = d > 1 && test_random_below(random, 2);
  levels->is_quintic = levels->is_blended && !levels->is_linear && test_random_below(random, 2);
  if (c->must_be_quintic) levels->is_linear = false, levels->is_blended = levels->is_quintic = true;
  if (levels->is_blended || test_random_below(random, 2)) memset(levels->ranks, 0, 3);
  for (uint32_t i = 0; i <= c->level_count; i++)
    levels->stages[i].unit = 1 + (uint32_t)test_random_below(random, 1u << levels->fine_bits);
  if (test_random_below(random, 2))
    levels->stages[0].unit = 1u << test_random_below(random, levels->fine_bits + 1);
  levels->stages[c->level_count].unit = 1u << levels->fine_bits;
}

static void assert_bound(const levels_case *c, const szg_levels_lattice *lattice, double step,
                         const void *field, const void *restored) {
  uint64_t const count = test_value_count(&c->shape);
  for (uint64_t i = 0; i < count; i++) {
    if (!szg_levels_has_lattice_value(lattice, field, i)) continue;
    long double const x = test_value_at(c->shape.dtype, field, i);
    long double const y = test_value_at(c->shape.dtype, restored, i);
    long double const ulp = c->shape.dtype == SZGPU_F32 ? 0x1p-22L : 0x1p-51L;
    assert_true(fabsl(x - y) <= (long double)step / 2 + fabsl(x) * ulp);
  }
}

static void assert_places(const szg_levels *levels, uint32_t stage, uint64_t tile_index,
                          reference *r) {
  const szg_levels_stage *const s = &levels->stages[stage];
  uint64_t groups[SZG_LEVELS_MOST_PLACES / 64], expected[SZG_LEVELS_MOST_PLACES / 64] = {0};
  szg_levels_existing_places(levels, stage, tile_index, groups);
  uint32_t count = 0;
  for (uint32_t z = 0; z < r->tile.z_extent; z++)
    for (uint32_t y = 0; y < r->tile.y_extent; y++)
      for (uint32_t x = 0; x < r->tile.x_extent; x++) {
        if (stage > 0 && x % 2 + y % 2 + z % 2 == 0) continue;
        uint32_t const place = place_of(r, z, y, x);
        assert_in_range(place, 0, s->place_count - 1);
        assert_false(expected[place / 64] >> place % 64 & 1);
        expected[place / 64] |= (uint64_t)1 << place % 64;
        count++;
      }
  assert_memory_equal(groups, expected, s->place_count / 8);
  assert_int_equal(szg_levels_tile_is_full(levels, stage, tile_index), count == s->place_count);
}

/* What the checks of a case share: codes of each stage, and lattice values, coded and restored. */
typedef struct coded_case {
  szg_levels levels;
  szg_levels_lattice lattice;
  void *field, *restored;
  uint8_t *codes[SZG_LEVELS_MOST + 1]; /* of all tiles */
  void *coded[SZG_LEVELS_MOST + 1], *back[SZG_LEVELS_MOST + 1];
  reference *reference;
  szg_levels_work *work;
  size_t element_bytes;
} coded_case;

static uint8_t *codes_of(const coded_case *k, uint32_t stage, uint64_t tile) {
  return k->codes[stage] + tile * k->levels.stages[stage].place_count * k->element_bytes;
}

static void assert_stage(const levels_case *c, coded_case *k, uint32_t i) {
  const szg_levels_stage *const s = &k->levels.stages[i];
  int64_t *const expected = test_allocate(s->place_count * 8);
  for (uint64_t tile = 0; tile < s->tile_count; tile++) {
    uint8_t *const codes = codes_of(k, i, tile);
    reference_tile(k->reference, i, tile, expected);
    memset(k->work, 0xa5, sizeof *k->work);
    szg_levels_code_tile(&k->levels, i, tile, &k->lattice, k->field, k->coded, k->work, codes);
    for (uint32_t place = 0; place < s->place_count; place++)
      assert_int_equal(element(c->is_wide, codes, place), expected[place]);
    memset(k->work, 0x5a, sizeof *k->work);
    szg_levels_restore_tile(&k->levels, i, tile, &k->lattice, codes, k->work, k->back, NULL);
    if (i == c->level_count)
      szg_levels_restore_tile(&k->levels, i, tile, &k->lattice, codes, k->work, k->back,
                              k->restored);
    assert_places(&k->levels, i, tile, k->reference);
  }
  for (uint64_t point = 0; point < s->point_count; point++) {
    if (point % s->row_points >= s->x_extent) continue; /* pads its row */
    int64_t const right = k->reference->grids[i][point];
    assert_int_equal(element(c->is_wide, k->back[i], point), right);
    if (k->coded[i]) assert_int_equal(element(c->is_wide, k->coded[i], point), right);
  }
  free(expected);
}

static void assert_estimates(const levels_case *c, coded_case *k, test_random *random) {
  for (uint32_t i = 0; i <= c->level_count; i++) {
    const szg_levels_stage *const s = &k->levels.stages[i];
    int64_t *const expected = test_allocate(s->place_count * 8);
    void *const codes = test_allocate(s->place_count * k->element_bytes);
    for (uint64_t tile = 0; tile < s->tile_count; tile++) {
      if (test_random_below(random, 3) > 0) continue;
      reference_estimate(k->reference, i, tile, expected);
      memset(k->work, 0xa5, sizeof *k->work);
      szg_levels_estimate_tile(&k->levels, i, tile, &k->lattice, k->field, k->work, codes);
      for (uint32_t place = 0; place < s->place_count; place++)
        assert_int_equal(element(c->is_wide, codes, place), expected[place]);
    }
    free(expected), free(codes);
  }
}

/* Restores some values from the tiles that they are said to need. */
static void assert_spans(const levels_case *c, coded_case *k, test_random *random) {
  size_t const value_bytes = test_dtype_bytes(c->shape.dtype);
  uint64_t const count = test_value_count(&c->shape), first = test_random_below(random, count);
  uint64_t const end = first + 1 + test_random_below(random, (count - first + 7) / 8);
  uint8_t *const part = test_allocate(count * value_bytes);
  szg_tile_range spans[SZG_LEVELS_MOST + 1];
  szg_levels_spans_of_values(&k->levels, first, end, spans);
  for (uint32_t i = 0; i <= c->level_count; i++) {
    assert_in_range(spans[i].end_tile, spans[i].first_tile + 1, k->levels.stages[i].tile_count);
    memset(k->back[i], 0x77, k->levels.stages[i].point_count * k->element_bytes);
    for (uint64_t tile = spans[i].first_tile; tile < spans[i].end_tile; tile++)
      szg_levels_restore_tile(&k->levels, i, tile, &k->lattice, codes_of(k, i, tile), k->work,
                              k->back, part);
  }
  assert_memory_equal(part + first * value_bytes, (uint8_t *)k->restored + first * value_bytes,
                      (end - first) * value_bytes);
  free(part);
}

/* Where a whole grid has a point. */
static uint64_t point_at(const szg_levels_stage *s, uint64_t box, uint64_t z, uint64_t y,
                         uint64_t x) {
  return ((box * s->z_extent + z) * s->y_extent + y) * s->row_points + x;
}

/* Restores the points of a box from the tiles that it is said to need. */
static void assert_box(const levels_case *c, coded_case *k, uint32_t last, const szg_box *points) {
  szg_box tiles[SZG_LEVELS_MOST + 1];
  szg_levels_tiles_of_points(&k->levels, last, points, tiles);
  for (uint32_t i = 0; i <= last; i++) {
    const szg_levels_stage *const s = &k->levels.stages[i];
    memset(k->back[i], 0x77, s->point_count * k->element_bytes);
    for (uint64_t tile = 0; tile < s->tile_count; tile++)
      if (szg_box_has_tile(&tiles[i], s->z_tiles, s->y_tiles, s->x_tiles, tile))
        szg_levels_restore_tile(&k->levels, i, tile, &k->lattice, codes_of(k, i, tile), k->work,
                                k->back, NULL);
  }
  for (uint64_t box = points->first[0]; box < points->end[0]; box++)
    for (uint64_t z = points->first[1]; z < points->end[1]; z++)
      for (uint64_t y = points->first[2]; y < points->end[2]; y++)
        for (uint64_t x = points->first[3]; x < points->end[3]; x++) {
          uint64_t const at = point_at(&k->levels.stages[last], box, z, y, x);
          assert_int_equal(element(c->is_wide, k->back[last], at), k->reference->grids[last][at]);
        }
}

/* Also of coarse grids. The tiles of small boxes have others beside them on all sides. Quintic
 * stencils reach one point further, which lies in another tile only for few boxes. */
static void assert_boxes(const levels_case *c, coded_case *k, test_random *random) {
  for (uint32_t last = 0; last <= c->level_count; last++) {
    const szg_levels_stage *const s = &k->levels.stages[last];
    uint64_t const extents[] = {s->box_count, s->z_extent, s->y_extent, s->x_extent};
    for (int round = 0; round < (c->must_be_quintic ? 6 : 2); round++) {
      szg_box points;
      for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
        uint64_t const first = test_random_below(random, extents[axis]);
        uint64_t const most = extents[axis] - first;
        points.first[axis] = first;
        points.end[axis] = first + 1 + test_random_below(random, most < 10 ? most : 10);
      }
      assert_box(c, k, last, &points);
    }
  }
}

/* The reference restores the tiles of a level, and then its grid is the same. */
static void assert_random_level(const levels_case *c, coded_case *k, uint32_t i) {
  const szg_levels_stage *const s = &k->levels.stages[i];
  int64_t *const codes = test_allocate(s->place_count * 8);
  for (uint64_t tile = 0; tile < s->tile_count; tile++) {
    k->reference->given = codes_of(k, i, tile);
    reference_tile(k->reference, i, tile, codes);
  }
  k->reference->given = NULL;
  for (uint64_t at = 0; at < s->point_count; at++)
    if (at % s->row_points < s->x_extent)
      assert_int_equal(element(c->is_wide, k->back[i], at), k->reference->grids[i][at]);
  free(codes);
}

/* Codes that no encoder writes: for sanitizers to see, and sums that wrap. */
static void restore_random_codes(const levels_case *c, coded_case *k, test_random *random) {
  for (uint32_t i = 0; i <= c->level_count; i++) {
    const szg_levels_stage *const s = &k->levels.stages[i];
    for (uint64_t tile = 0; tile < s->tile_count; tile++) {
      uint8_t *const codes = codes_of(k, i, tile);
      for (size_t at = 0; at < s->place_count * k->element_bytes; at += 4) {
        uint32_t const bits = (uint32_t)test_random_bits(random);
        memcpy(codes + at, &bits, sizeof bits);
      }
      szg_levels_restore_tile(&k->levels, i, tile, &k->lattice, codes, k->work, k->back,
                              k->restored);
      if (i > 0 && i == c->level_count)
        szg_levels_restore_tile(&k->levels, i, tile, &k->lattice, codes, k->work, k->back, NULL);
    }
    for (uint64_t at = 0; i == 0 && at < s->point_count; at++)
      k->reference->grids[0][at] = element(c->is_wide, k->back[0], at);
    if (i > 0) assert_random_level(c, k, i);
  }
}

static void run_case(const levels_case *c, test_random *random) {
  coded_case k = {.element_bytes = c->is_wide ? 8 : 4};
  szg_grid frame;
  assert_int_equal(szg_grid_of_shape(&c->shape, &frame), SZGPU_OK);
  assert_true(szg_levels_make(&frame, c->axis_count, c->fold, c->level_count, &k.levels));
  choose_rules(c, random, &k.levels);
  double const step = 0.01 * (1 + test_random_unit(random));
  bool const is_f32 = c->shape.dtype == SZGPU_F32;
  uint64_t const fill_bits = is_f32 ? 0x3f800000u : 0x3ff0000000000000u; /* 1 */
  k.lattice = szg_levels_lattice_make(c->shape.dtype, c->is_wide, k.levels.fine_bits, step,
                                      test_random_below(random, 2), fill_bits);
  k.field = make_field(c, &k.lattice, random, fill_bits);
  k.restored = test_allocate(test_field_bytes(&c->shape));
  k.work = test_allocate(sizeof *k.work);
  k.reference = test_allocate(sizeof *k.reference);
  *k.reference = (reference){.levels = &k.levels, .lattice = &k.lattice, .values = k.field};
  for (uint32_t i = 0; i <= c->level_count; i++) {
    const szg_levels_stage *const s = &k.levels.stages[i];
    k.reference->grids[i] = test_allocate(s->point_count * 8);
    if (i < c->level_count) k.coded[i] = test_allocate(s->point_count * k.element_bytes);
    k.back[i] = test_allocate(s->point_count * k.element_bytes);
    k.codes[i] = test_allocate(s->tile_count * s->place_count * k.element_bytes);
    assert_stage(c, &k, i);
  }
  assert_bound(c, &k.lattice, step, k.field, k.restored);
  assert_spans(c, &k, random);
  assert_boxes(c, &k, random);
  restore_random_codes(c, &k, random);
  assert_estimates(c, &k, random);
  for (uint32_t i = 0; i <= c->level_count; i++)
    free(k.reference->grids[i]), free(k.coded[i]), free(k.back[i]), free(k.codes[i]);
  free(k.field), free(k.restored), free(k.work), free(k.reference);
}

static const uint64_t extents[] = {2, 3, 5, 7, 8, 17, 33, 63, 64, 65, 127, 128, 129};

static void run_cases(int ndim, uint32_t axis_count, bool folds, int rounds, test_random *random,
                      uint64_t most_values) {
  for (int round = 0; round < rounds; round++) {
    levels_case c = {.axis_count = axis_count, .is_wide = test_random_below(random, 3) == 0};
    uint64_t dims[4] = {1, 1, 1, 1}, count = 1;
    for (int i = 0; i < ndim; i++) {
      dims[i] = extents[test_random_below(random, ARRAY_COUNT(extents))];
      while (dims[i] > 5 && count * dims[i] > most_values) dims[i] = dims[i] / 2;
      count *= dims[i];
    }
    for (int i = 0; i < ndim; i++) { /* the last axis is not always the long one */
      uint64_t const other = test_random_below(random, (uint64_t)ndim), dim = dims[i];
      dims[i] = dims[other], dims[other] = dim;
    }
    if (ndim == 1) dims[0] = count = 1 + test_random_below(random, 20000);
    if (ndim == 1 && !folds && round < (int)ARRAY_COUNT(extents)) dims[0] = extents[round];
    if (folds)
      c.fold = 2 + test_random_below(random, (dims[0] < 4 ? dims[0] = 4 : dims[0]) / 2 - 1);
    if (folds && c.fold > 300 && round % 2) c.fold = 2 + c.fold % 200;
    c.level_count = (uint32_t)test_random_below(random, SZG_LEVELS_MOST + 1);
    c.shape = test_shape(test_random_below(random, 2) ? SZGPU_F32 : SZGPU_F64, ndim, dims[0],
                         dims[1], dims[2], dims[3]);
    run_case(&c, random);
  }
}

static void lines_are_coded_as_the_format_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  run_cases(1, 1, false, 40, &random, 20000);
}

static void folded_lines_are_coded_as_the_format_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  run_cases(1, 2, true, 40, &random, 20000);
}

static void planes_are_coded_as_the_format_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  run_cases(2, 2, false, 60, &random, 20000);
}

static void grids_are_coded_as_the_format_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  run_cases(3, 3, false, 60, &random, 40000);
  run_cases(4, 3, false, 5, &random, 40000);
}

static void planes_of_grids_are_coded_as_the_format_says(void **state) {
  (void)state;
  test_random random = test_random_begin();
  run_cases(3, 2, false, 20, &random, 20000);
  run_cases(4, 2, false, 5, &random, 20000);
}

/* Axes of 1, 2, 3, 4 and more coarse points, with and without an odd last point. */
static void quintic_frames_are_coded_as_the_format_says(void **state) {
  (void)state;
  enum { MOST_EXTENT = 12, ROUNDS = 25 };
  test_random random = test_random_begin();
  for (uint32_t is_wide = 0; is_wide <= 1; is_wide++)
    for (uint64_t y = 2; y <= MOST_EXTENT; y++)
      for (uint64_t x = 2; x <= MOST_EXTENT; x++) {
        levels_case c = {
            .axis_count = 2, .level_count = 1, .is_wide = is_wide, .must_be_quintic = true};
        c.shape = test_shape((x + y) % 2 ? SZGPU_F32 : SZGPU_F64, 2, y, x, 0, 0);
        run_case(&c, &random);
        c.axis_count = 3;
        c.shape =
            test_shape(c.shape.dtype, 3, 2 + test_random_below(&random, MOST_EXTENT - 1), y, x, 0);
        run_case(&c, &random);
      }
  /* Many tiles of coarse levels along z, where these are shortest. */
  for (uint64_t z = 60; z <= 100; z += 4) {
    levels_case c = {.axis_count = 3, .is_wide = z % 8 == 0, .must_be_quintic = true};
    c.level_count = 4 + (uint32_t)(z / 4 % 3);
    c.shape = test_shape(SZGPU_F32, 3, z, 10, 12, 0);
    run_case(&c, &random);
  }
  /* Several tiles along each axis, of which the last are short. */
  for (int round = 0; round < ROUNDS; round++) {
    levels_case c = {.axis_count = 2 + (uint32_t)round % 2, .must_be_quintic = true};
    c.is_wide = round / 2 % 2;
    c.level_count = 1 + (uint32_t)test_random_below(&random, 3);
    uint64_t const y = (c.axis_count == 2 ? 120 : 13) + test_random_below(&random, 20);
    uint64_t const x = 120 + test_random_below(&random, 20);
    uint64_t const z = 28 + test_random_below(&random, 10);
    szgpu_dtype const dtype = round / 4 % 2 ? SZGPU_F32 : SZGPU_F64;
    c.shape =
        c.axis_count == 2 ? test_shape(dtype, 2, y, x, 0, 0) : test_shape(dtype, 3, z, y, x, 0);
    run_case(&c, &random);
  }
}

static void a_line_of_five_by_hand(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 6, 0, 0, 0);
  float const field[] = {0, 1, 2, 9, 12, 13}; /* F = 1: h is a third of the step, 3 */
  szg_grid frame;
  szg_levels levels;
  assert_int_equal(szg_grid_of_shape(&shape, &frame), SZGPU_OK);
  assert_true(szg_levels_make(&frame, 1, 0, 1, &levels));
  levels.fine_bits = 1, levels.stages[1].unit = 2;
  szg_levels_lattice const lattice = szg_levels_lattice_make(SZGPU_F32, false, 1, 3, false, 0);
  assert_true(lattice.fine == 1);
  int32_t grid[3], codes[SZG_LEVELS_BASE_PLACES];
  void *grids[] = {grid, NULL};
  float restored[6];
  szg_levels_work *const work = test_allocate(sizeof *work);
  szg_levels_code_tile(&levels, 0, 0, &lattice, field, grids, work, codes);
  assert_int_equal(codes[0], 0);
  assert_int_equal(codes[1], 2);
  assert_int_equal(codes[2], 10);
  assert_int_equal(grid[2], 12);
  szg_levels_code_tile(&levels, 1, 0, &lattice, field, grids, work, codes);
  assert_int_equal(codes[0], 1);  /* (6 * 0 + 12 * 2 - 2 * 12 + 8) >> 4 = 0 */
  assert_int_equal(codes[1], 2);  /* (12 * 2 + 6 * 12 - 2 * 0 + 8) >> 4 = 6: k = floor(4 / 2) */
  assert_int_equal(codes[2], -2); /* (24 * 12 - 8 * 2 + 8) >> 4 = 17: k = floor(-3 / 2) */
  szg_levels_restore_tile(&levels, 1, 0, &lattice, codes, work, grids, restored);
  assert_true(restored[5] == 13 && restored[4] == 12);
  free(work);
}

static bool makes(int ndim, uint64_t d0, uint64_t d1, uint64_t d2, uint32_t axis_count,
                  uint64_t fold, uint32_t level_count) {
  szgpu_shape const shape = test_shape(SZGPU_F32, ndim, d0, d1, d2, 0);
  szg_grid frame;
  szg_levels levels;
  assert_int_equal(szg_grid_of_shape(&shape, &frame), SZGPU_OK);
  return szg_levels_make(&frame, axis_count, fold, level_count, &levels);
}

static void rejects_views_that_do_not_suit(void **state) {
  (void)state;
  assert_true(makes(3, 5, 6, 7, 3, 0, 6));
  assert_true(makes(3, 5, 6, 7, 2, 0, 0));
  assert_false(makes(3, 5, 6, 7, 1, 0, 1));
  assert_false(makes(3, 5, 6, 7, 4, 0, 1));
  assert_false(makes(3, 5, 6, 7, 0, 0, 1));
  assert_false(makes(3, 5, 6, 7, 3, 2, 1));
  assert_false(makes(3, 5, 6, 7, 3, 0, 7));
  assert_true(makes(2, 5, 6, 0, 2, 0, 1));
  assert_false(makes(2, 5, 6, 0, 3, 0, 1));
  assert_false(makes(2, 5, 6, 0, 1, 0, 1));
  assert_true(makes(1, 9, 0, 0, 1, 0, 1));
  assert_false(makes(1, 9, 0, 0, 2, 0, 1));
  assert_false(makes(1, 9, 0, 0, 2, 1, 1));
  assert_true(makes(1, 9, 0, 0, 2, 2, 1));
  assert_true(makes(1, 9, 0, 0, 2, 4, 1));
  assert_false(makes(1, 9, 0, 0, 2, 5, 1));
  assert_false(makes(1, 9, 0, 0, 1, 2, 1));
}

/* One of each part, in order, and all if all are wanted. */
static void counts_tiles_all_over(void **state) {
  (void)state;
  uint64_t const counts[] = {1,    127,  128,  129,   1024,
                             1025, 2047, 2048, 16384, (UINT64_C(1) << 56) + 3};
  for (size_t c = 0; c < ARRAY_COUNT(counts); c++) {
    uint64_t const tile_count = counts[c];
    uint32_t const counted = szg_levels_counted_tiles(tile_count);
    uint32_t columns = 0; /* of 8 tiles a row */
    assert_int_equal(counted, tile_count < 128 ? tile_count : 128);
    for (uint64_t i = 0, before = 0; i < counted; i++) {
      uint64_t const tile = szg_number_in_part(tile_count, counted, i);
      assert_true(tile < tile_count && (i == 0 || tile > before));
      if (counted == tile_count) assert_int_equal(tile, i);
      columns |= 1u << tile % 8;
      before = tile;
    }
    if (tile_count >= 96) assert_int_equal(columns, 255);
  }
}

static uint32_t lane_bits(uint64_t z, uint64_t y, uint64_t x, uint32_t axis_count, uint32_t levels,
                          uint32_t stage) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, z, y, x, 0);
  szg_grid frame;
  szg_levels made;
  assert_int_equal(szg_grid_of_shape(&shape, &frame), SZGPU_OK);
  assert_true(szg_levels_make(&frame, axis_count, 0, levels, &made));
  return szg_levels_lane_bits(&made, stage);
}

/* The base of three axes has the shortest lanes if it has four tiles that are half full. */
static void large_bases_have_short_lanes(void **state) {
  (void)state;
  assert_int_equal(lane_bits(512, 512, 512, 3, 3, 0), 0);
  assert_int_equal(lane_bits(512, 512, 256, 3, 3, 1), 320);
  assert_int_equal(lane_bits(512, 512, 512, 3, 3, 3), 160);
  assert_int_equal(lane_bits(128, 256, 256, 3, 3, 0), 0);
  assert_int_equal(lane_bits(128, 192, 256, 3, 3, 0), 320); /* three tiles */
  assert_int_equal(lane_bits(128, 256, 121, 3, 3, 0), 0);   /* 4 x 2048 points */
  assert_int_equal(lane_bits(128, 256, 120, 3, 3, 0), 320);
  assert_int_equal(lane_bits(400, 10, 18, 3, 3, 0), 320);
  assert_int_equal(lane_bits(64, 256, 256, 2, 3, 0), 320); /* planes */
  assert_int_equal(lane_bits(128, 128, 128, 3, 0, 0), 320);
  assert_int_equal(lane_bits(256, 256, 256, 3, 0, 0), 160);
}

/* The sample's points near multiples of a unit, where products with its inverse may round. */
static void assert_rounding(int32_t unit) {
  int32_t const most = 1 << SZG_LEVELS_LIMIT_BITS;
  double const inverse = 1.0 / (double)unit;
  for (int32_t multiple = -most / unit; multiple <= most / unit; multiple++)
    for (int32_t near = -1; near <= 1; near++) {
      int32_t const point = multiple * unit + near;
      assert_true(szg_levels_divide_i32(point, unit, 1.0f / (float)unit) ==
                  (int32_t)floor((double)point * inverse));
    }
}

static void sampled_points_are_rounded_as_the_format_says(void **state) {
  (void)state;
  for (uint32_t fine_bits = 4; fine_bits <= SZG_LEVELS_MOST_FINE; fine_bits++) {
    int32_t const noise = (int32_t)szg_level_unit(1, 1, fine_bits);
    assert_rounding(1 << fine_bits);
    assert_rounding(noise / 2);
    if (szg_levels_rounds_by_division(noise)) assert_rounding(noise);
  }
}

static void fine_step_is_rounded_toward_zero(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < 10000; i++) {
    uint32_t const fine_bits = 1 + (uint32_t)test_random_below(&random, SZG_LEVELS_MOST_FINE);
    long double const parts = (1 << fine_bits) + 1;
    double const step = ldexp(1 + test_random_unit(&random), (int)(i % 200) - 100);
    double const h = szg_levels_lattice_make(SZGPU_F64, false, fine_bits, step, false, 0).fine;
    assert_true(h * parts <= step && nextafter(h, 1e300) * parts > step);
    float const narrow =
        (float)szg_levels_lattice_make(SZGPU_F32, false, fine_bits, step, false, 0).fine;
    assert_true((double)narrow <= h && (double)nextafterf(narrow, INFINITY) > h);
    assert_true(szg_levels_lattice_make(SZGPU_F32, true, fine_bits, step, false, 0).fine == h);
  }
}

static void marks_values_without_lattice_values(void **state) {
  (void)state;
  float const values[] = {0,        -1,       7,   4194303,   4194304, -4194303,
                          -4194304, -4194305, NAN, -INFINITY, 1e38f};
  uint8_t const right[] = {0, 0, SZG_MARK_FILL, 0, 1, 0, 0, 1, 1, 1, 1};
  uint8_t marks[ARRAY_COUNT(values)];
  szg_levels_lattice const lattice =
      szg_levels_lattice_make(SZGPU_F32, false, 0, 1, true, 0x40e00000u /* 7 */);
  assert_false(szg_levels_mark(&lattice, values, 0, 2, marks));
  assert_true(szg_levels_mark(&lattice, values, 1, 2, marks));
  assert_true(szg_levels_mark(&lattice, values, 0, ARRAY_COUNT(values), marks));
  assert_memory_equal(marks, right, sizeof right);
  for (uint32_t i = 0; i < ARRAY_COUNT(values); i++)
    assert_int_equal(szg_levels_has_lattice_value(&lattice, values, i), right[i] == 0);
}

/* The margin of the step covers values up to the greatest, so others have no lattice value, also
 * if they are within the reach of the lattice. They came up while the field was compressed; some
 * frames coded them, off by more than the bound. */
static void only_values_up_to_the_greatest_have_lattice_values(void **state) {
  (void)state;
  for (uint32_t form = 0; form < 4; form++) {
    szgpu_dtype const dtype = form % 2 ? SZGPU_F64 : SZGPU_F32;
    szg_levels_lattice k = szg_levels_lattice_make(dtype, form >= 2, 0, 0.75, false, 0);
    szg_levels_lattice_limit(1000.0, false, &k);
    static const double magnitudes[] = {0.0, 999.9, 1000.0, 1002.0, 1e5, 1e6, INFINITY, NAN};
    for (size_t i = 0; i < ARRAY_COUNT(magnitudes); i++)
      for (int sign = -1; sign <= 1; sign += 2) {
        double value[1];
        test_set_value(dtype, value, 0, sign * magnitudes[i]);
        assert_int_equal(szg_levels_has_lattice_value(&k, value, 0), magnitudes[i] <= 1000.0);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_of_five_by_hand),
      cmocka_unit_test(rejects_views_that_do_not_suit),
      cmocka_unit_test(counts_tiles_all_over),
      cmocka_unit_test(large_bases_have_short_lanes),
      cmocka_unit_test(sampled_points_are_rounded_as_the_format_says),
      cmocka_unit_test(fine_step_is_rounded_toward_zero),
      cmocka_unit_test(marks_values_without_lattice_values),
      cmocka_unit_test(only_values_up_to_the_greatest_have_lattice_values),
      cmocka_unit_test(lines_are_coded_as_the_format_says),
      cmocka_unit_test(folded_lines_are_coded_as_the_format_says),
      cmocka_unit_test(planes_are_coded_as_the_format_says),
      cmocka_unit_test(planes_of_grids_are_coded_as_the_format_says),
      cmocka_unit_test(grids_are_coded_as_the_format_says),
      cmocka_unit_test(quintic_frames_are_coded_as_the_format_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
