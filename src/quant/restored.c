/* restored.c - a lattice that depends on the bound alone, and what is taken for restored values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/restored.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "quant/restored_core.h"

/* ---- the lattice ---- */

/* What the coarse step leaves of the bound. Levels frames of f32 take up to this for their
 * roundings, so that the greatest magnitude there is 2^16 bounds; those of f64 take next to
 * nothing. */
static double margin_of(szgpu_dtype dtype) { return dtype == SZGPU_F32 ? 0x1p-7 : 0x1p-16; }

/* Bounds are brought to these, where no step over- or underflows. Below, all values are kept. */
#define LEAST_BOUND 0x1p-960
#define MOST_BOUND 0x1p1000

/* Bits of a fine step's mantissa; those of a coarse step are 8 more, and exact. */
enum { FINE_STEP_BITS_F32 = 16, FINE_STEP_BITS_F64 = 45 };

/* The largest number with so many bits, the last one set, of which SZG_RESTORED_PARTS are within
 * twice the bound without its margin. Because the last bit is set, numbers with few bits, such as
 * integers, are fine points no more often than others. 0: the bound is too small. */
static double fine_step(szgpu_dtype dtype, double bound) {
  if (bound < LEAST_BOUND) return 0.0;
  double const most = bound < MOST_BOUND ? bound : MOST_BOUND;
  double const target = 2.0 * (1.0 - margin_of(dtype)) / SZG_RESTORED_PARTS * most;
  int const cut = 53 - (dtype == SZGPU_F32 ? FINE_STEP_BITS_F32 : FINE_STEP_BITS_F64);
  uint64_t units = szg_bits_f64(target) >> cut;
  if (units % 2 == 0) units--;
  return szg_value_of_bits(SZGPU_F64, units << cut);
}

/* Whether the bound has room for so many roundings of the greatest magnitude. */
static bool has_room(szgpu_dtype dtype, double roundings, double bound, double step,
                     double greatest) {
  double const unit = dtype == SZGPU_F32 ? 0x1p-24 : 0x1p-53;
  return roundings * unit * greatest <= (bound - 0.5 * step) * (1.0 - 0x1p-10);
}

bool szg_restored_has_room(const szg_bound_plan *plan) {
  const szg_quantizer *const k = &plan->quantizer;
  bool const is_close = k->arithmetic == SZG_ARITHMETIC_F32_CLOSE;
  bool const is_f32 = is_close || k->arithmetic == SZG_ARITHMETIC_F32;
  return has_room(is_f32 ? SZGPU_F32 : SZGPU_F64, is_close ? 1.0 : 2.0, k->bound, k->step,
                  plan->greatest);
}

/* Larger points would not always be found again from what they restore, so that values could move
 * by a rounding each time. Values there are kept exactly. */
#define MOST_POINT_F32 0x1p21
#define MOST_POINT_F64_WIDE 0x1p50

static uint32_t arithmetic_of(szgpu_dtype dtype, double bound, double step, double greatest) {
  double const points = greatest / step;
  if (dtype == SZGPU_F64) return points < 0x1p30 ? SZG_ARITHMETIC_F64 : SZG_ARITHMETIC_F64_WIDE;
  bool const is_enough = step >= 0x1p-126 && step <= 0x1p126 && points < 0.5 * MOST_POINT_F32 &&
                         has_room(dtype, 2.0, bound, step, greatest);
  return is_enough ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F32_CLOSE;
}

static void set_step(szgpu_dtype dtype, double bound, double step, szg_bound_plan *plan) {
  szg_quantizer const before = plan->quantizer;
  plan->is_hopeless = !(step > 0.0);
  plan->has_limits &= !plan->is_hopeless; /* nothing is coded that could leave them */
  uint32_t const first = dtype == SZGPU_F32 ? SZG_ARITHMETIC_F32 : SZG_ARITHMETIC_F64;
  uint32_t const arithmetic =
      plan->is_hopeless ? first : arithmetic_of(dtype, bound, step, plan->greatest);
  szg_quantizer k = szg_quantizer_make(arithmetic, bound, step, before.has_fill, before.fill_bits);
  if (arithmetic == SZG_ARITHMETIC_F32) k.limit = MOST_POINT_F32;
  if (arithmetic == SZG_ARITHMETIC_F64_WIDE) k.limit = MOST_POINT_F64_WIDE;
  k.limit_f32 = (float)k.limit;
  plan->quantizer = k;
}

/* ---- looking at the values ---- */

/* Whether levels frames may have this fine step, and so values may lie on its lattice. */
static bool is_ordinary(szgpu_dtype dtype, double fine) {
  double const least = dtype == SZGPU_F32 ? 0x1p-100 : 0x1p-900;
  return fine >= least && fine <= 1.0 / least;
}

/* The shortest lines of whole rows along x, y and so on that are not shorter than a patch. */
static uint64_t line_values_of(const szg_grid *grid) {
  uint64_t const extents[] = {grid->y_extent, grid->z_extent, grid->batch_extent};
  uint64_t line_values = grid->x_extent;
  for (int i = 0; i < 3 && line_values < SZG_RESTORED_PATCH; i++) line_values *= extents[i];
  return line_values;
}

/* A run of chance has 2^-12 of a chance in a field, for either lattice and direction. */
enum { SPARE_EVIDENCE = 12 };

static uint32_t bits_of(uint64_t number) { return 64 - (uint32_t)szg_leading_zeros_u64(number); }

static szg_restored_look look_of(const szg_restored_asked *asked, const szg_value_source *source,
                                 double fine, const szg_quantizer *quantizer) {
  bool const is_f32 = source->dtype == SZGPU_F32;
  float const fine_f32 = (float)fine;
  return (szg_restored_look){.half = 0.5 * fine,
                             .inverse = 2.0 / fine,
                             .half_f32 = 0.5f * fine_f32,
                             .inverse_f32 = 2.0f / fine_f32,
                             .exponent = is_f32 ? szg_exponent_f32(szg_bits_f32(fine_f32)) + 23
                                                : szg_exponent_f64(szg_bits_f64(fine)) + 52,
                             .least_evidence = is_f32 ? 1 : 4, /* so that points are found in f64 */
                             .needed = SPARE_EVIDENCE + bits_of(source->value_count),
                             .has_fill = quantizer->has_fill,
                             .fill_bits = quantizer->fill_bits,
                             .frame_values = asked->frame_values,
                             .line_values = line_values_of(asked->grid)};
}

/* Whether values up to this magnitude say anything. */
static bool is_recognizable(const szg_restored_look *look, szgpu_dtype dtype, double greatest) {
  if (dtype == SZGPU_F32 && greatest > FLT_MAX) return false; /* declared */
  int32_t const exponent = dtype == SZGPU_F32 ? szg_exponent_f32(szg_bits_f32((float)greatest))
                                              : szg_exponent_f64(szg_bits_f64(greatest));
  return look->exponent - exponent >= look->least_evidence;
}

/* So many different values have as many marks, or more, as good as always. */
static double least_distinct(uint32_t marks) { return ldexp(1.0, __builtin_popcount(marks) - 3); }

/* Whether there are more points than chance explains: by a 64th of the values, and by six standard
 * deviations of two counts' difference, if each value is there as often as others. */
static bool is_beyond_chance(uint64_t points, uint64_t by_chance, uint32_t marks,
                             uint64_t counted) {
  if (points <= by_chance || points - by_chance <= counted / 64) return false;
  double const more = (double)(points - by_chance), sum = (double)(points + by_chance);
  return more * more * least_distinct(marks) > 36.0 * (sum * sum);
}

/* Whether points are a 16th of all values or more, with those that repeat the one on their left.
 * These are no further evidence, but if a field has little else, one of them says enough. */
static bool is_repeated(uint64_t points, uint64_t all) { return points > 0 && points >= all / 16; }

static bool has_fine_points(const szg_restored_found *found) {
  return (found->runs & SZG_RESTORED_HAS_FINE_RUN) || is_repeated(found->all_fine, found->all) ||
         is_beyond_chance(found->fine, found->control, found->fine_marks, found->counted);
}

static bool has_coarse_points(const szg_restored_found *found) {
  return (found->runs & SZG_RESTORED_HAS_COARSE_RUN) ||
         is_repeated(found->all_coarse, found->all) ||
         is_beyond_chance(found->coarse, found->control / 64, found->coarse_marks, found->counted);
}

szgpu_status szg_restored_settle(const szg_restored_asked *asked, const szg_value_source *source,
                                 szg_bound_plan *plan) {
  szgpu_dtype const dtype = source->dtype;
  bool const insists = asked->predictor == SZGPU_PREDICTOR_INTERPOLATION;
  bool const is_mapped = szg_is_mapped(&source->mapping);
  if (plan->is_constant) return SZGPU_OK;
  double const bound = szg_mapping_inner_bound(&source->mapping, plan->absolute_bound, INFINITY);
  double const fine = fine_step(dtype, bound);
  plan->keeps_restored = true;
  plan->only_differences = true;
  set_step(dtype, bound, SZG_RESTORED_PARTS * fine, plan);
  if (is_mapped || !is_ordinary(dtype, fine)) return SZGPU_OK;

  szg_restored_look const look = look_of(asked, source, fine, &plan->quantizer);
  szg_restored_found found;
  SZG_TRY(source->find_restored(source, &look, &found));
  bool const has_fine = has_fine_points(&found);
  bool const has_rest = (found.runs & SZG_RESTORED_HAS_REST) && !insists;
  plan->only_differences = has_fine || has_coarse_points(&found) || has_rest ||
                           !is_recognizable(&look, dtype, plan->greatest);
  if (has_fine) set_step(dtype, bound, fine, plan);
  return SZGPU_OK;
}
