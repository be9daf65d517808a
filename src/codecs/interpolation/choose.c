/* choose.c - how a levels frame predicts: the choice, from what a sample of points says.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sampling is levels_probe.h's. What is decided here is the same for both backends.
 */
#include "codecs/interpolation/frame.h"
#include "codecs/interpolation/levels_probe.h"
#include "codecs/write.h"
#include "quant/restored.h"

/* Below this, halves of a fine step cost more than finer prediction gains. */
enum { LEAST_FINE_BITS = 4 };

/* Whether the margin of the step covers rounding to this lattice and back (docs/guarantees.md). */
static bool keeps_bound(const szg_bound_plan *bound, bool is_wide, double fine_step) {
  uint32_t const arithmetic = bound->quantizer.arithmetic;
  bool const is_close = arithmetic == SZG_ARITHMETIC_F32_CLOSE;
  bool const is_f32 = is_close || arithmetic == SZG_ARITHMETIC_F32;
  double const b = bound->quantizer.bound, greatest = bound->greatest;
  if (bound->has_raster) return false; /* its step may be larger than two bounds */
  if (bound->keeps_restored && !szg_restored_has_room(bound)) return false;
  if (is_close && !(is_wide && b <= 0x1p-11 * greatest)) return false;
  if (arithmetic == SZG_ARITHMETIC_F64_WIDE && !is_wide) return false;
  /* Restored values are normal numbers or 0, or as near as such ones, and do not overflow. */
  if (is_f32 && !(greatest >= 0x1p-126 && greatest <= 0x1p126)) return false;
  if (!is_f32 && !(greatest <= 0x1p1020)) return false;
  double const least = is_f32 && !is_wide ? 0x1p-126 : 0x1p-960;
  return b <= 2 * greatest && fine_step >= least && fine_step <= 1 / least;
}

/* The finest lattice, narrow if possible, on which every value up to `greatest` has a lattice
 * value. False: there is none. */
static bool find_lattice(const szg_bound_plan *bound, szg_levels *levels) {
  bool const is_fixed = bound->keeps_restored && !bound->only_differences;
  uint32_t const most = !levels->level_count ? 0
                        : is_fixed           ? SZG_RESTORED_FINE_BITS
                                             : SZG_LEVELS_MOST_FINE;
  uint32_t const least = is_fixed || !levels->level_count ? most : LEAST_FINE_BITS;
  double const step = bound->quantizer.step;
  for (int is_wide = 0; is_wide <= 1; is_wide++) {
    double const limit = is_wide ? 0x1p50 : 0x1p22;
    for (uint32_t fine_bits = most + 1; fine_bits-- > least;) {
      double const parts = fine_bits ? (double)((1u << fine_bits) + 1) : 1.0;
      if (!keeps_bound(bound, is_wide, step / parts * (1 - 0x1p-10))) continue;
      if (!(bound->greatest / step * parts < limit * (1 - 0x1p-10))) continue;
      levels->is_wide = is_wide;
      levels->fine_bits = fine_bits;
      return true;
    }
  }
  return false;
}

/* ---- ways to predict ---- */

/* Levels and lattice of a frame that goes this way. False: it cannot. */
static bool go(const szg_levels_asked *asked, const szg_levels_way *way, szg_levels *levels,
               szg_levels_lattice *lattice) {
  const szg_quantizer *const quantizer = &asked->bound->quantizer;
  if (!szg_levels_make(asked->grid, way->axis_count, way->fold, way->level_count, levels))
    return false;
  if (!find_lattice(asked->bound, levels)) return false;
  levels->base_axes = way->base_axes;
  levels->is_linear = way->is_linear;
  levels->is_halved = way->is_halved;
  levels->is_blended = way->is_blended;
  levels->is_quintic = way->is_quintic;
  memcpy(levels->ranks, way->ranks, sizeof levels->ranks);
  for (uint32_t i = 0; i <= way->level_count; i++)
    levels->stages[i].unit =
        szg_level_unit(way->unit_table, way->level_count - i, levels->fine_bits);
  *lattice = szg_levels_lattice_make(asked->request->dtype, levels->is_wide, levels->fine_bits,
                                     quantizer->step, quantizer->has_fill, quantizer->fill_bits);
  szg_levels_lattice_limit(asked->bound->greatest, szg_bound_may_be_exceeded(asked->bound),
                           lattice);
  return true;
}

/* ---- what the probes say ---- */

/* What a value costs, in units of 2^-16 bits. */
typedef struct finding {
  szg_levels_way interpolation, differences;
  uint64_t interpolation_cost;
  uint64_t differences_cost; /* in the coder of levels frames */
  uint64_t tile_cost;        /* in that of tile frames */
} finding;

/* The sum over the classes of the way's axes, at a scale. The last odd points of a tile along an
 * axis have a neighbour on its far plane there, which is predicted like any point of that class,
 * but not corrected. */
static uint64_t sum_classes(const uint64_t *costs, const szg_levels_way *way, uint32_t scale) {
  uint64_t sum = 0;
  for (uint32_t set = 1; set < 1u << way->axis_count; set++) {
    uint32_t const used = szg_ranked_axes(set, way->ranks);
    uint64_t const cost = costs[set - 1];
    sum += cost;
    for (uint32_t axis = 0; axis < way->axis_count; axis++) {
      uint32_t const on_plane = set & ~(1u << axis);
      if (!(used >> axis & 1) || !on_plane || costs[on_plane - 1] <= cost) continue;
      sum += (costs[on_plane - 1] - cost) * 2 /
             szg_level_tile_extent(way->axis_count, axis, 1u << scale);
    }
  }
  return sum;
}

/* What the way costs if points are disturbed. Neighbours that are all rounded would say that
 * blended stencils, which have larger weights, are worse than they are where most codes are 0. */
static uint64_t disturbed_cost(const szg_probe_found *probes, const szg_levels_way *way) {
  uint64_t scales[SZG_PROBE_SCALES], costs[SZG_PROBE_SETS];
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
    for (uint32_t set = 1; set <= SZG_PROBE_SETS; set++) {
      bool const has_other = szg_probe_axes_in(set) > 1 ? way->is_blended : way->is_quintic;
      costs[set - 1] = (has_other ? probes->blended : probes->disturbed)[scale][set - 1];
    }
    scales[scale] = sum_classes(costs, way, scale);
  }
  return szg_probe_frame_cost(scales, way);
}

/* Takes blended stencils, or these and quintic ones, if that is the cheapest; then the way's cost
 * falls by as much. It does not if there are values so large that they have no lattice value: the
 * sample leaves them out, and levels frames keep them exactly. */
static void judge_stencils(const szg_probe_found *probes, const szg_bound_plan *bound,
                           finding *found) {
  szg_levels_way const given = found->interpolation;
  uint64_t const cost = disturbed_cost(probes, &given);
  uint64_t least = cost;
  int const forms = given.axis_count == 1 ? 0 : given.is_linear ? 1 : 2;
  for (int form = 0; form < forms; form++) {
    szg_levels_way way = given;
    way.is_blended = true;
    way.is_quintic = form == 1;
    memset(way.ranks, 0, sizeof way.ranks);
    uint64_t const own = disturbed_cost(probes, &way);
    if (own >= least) continue;
    least = own;
    found->interpolation = way;
  }
  if (bound->value_range <= 2 * bound->greatest)
    found->interpolation_cost -= szg_min_u64(found->interpolation_cost, cost - least);
}

static void judge_way(const szg_probe_found *probes, const szg_bound_plan *bound, finding *found) {
  szg_levels_way *const way = &found->interpolation;
  uint64_t scales[SZG_PROBE_SCALES], noisy[SZG_PROBE_TABLES];
  for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++)
    scales[scale] = sum_classes(probes->scales[scale], way, scale);
  for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
    noisy[table] = sum_classes(probes->noisy[table], way, 0);
  way->unit_table = szg_finer_units_pay(noisy, scales[1], way->axis_count);
  scales[0] = noisy[way->unit_table];
  found->interpolation_cost = szg_probe_frame_cost(scales, way);
  judge_stencils(probes, bound, found);
}

/* Along a set of axes, with the first points of a tile along each, which lack a neighbour there. */
static szg_probe_cost cost_in_tiles(const szg_probe_cost *costs, uint32_t axis_count,
                                    uint32_t set) {
  szg_probe_cost sum = costs[set];
  for (uint32_t axis = 0; axis < axis_count; axis++) {
    if (!(set >> axis & 1)) continue;
    const szg_probe_cost *const less = &costs[set & ~(1u << axis)];
    uint32_t const share = szg_tile_extent_log2(axis_count, axis);
    sum.entropy += (less->entropy >> share) - (costs[set].entropy >> share);
    sum.floor += (less->floor >> share) - (costs[set].floor >> share);
  }
  return sum;
}

/* Bits of a multiple of the step that nothing predicts. */
static uint64_t bits_of_value(const szg_bound_plan *bound) {
  double const steps = bound->value_range / bound->quantizer.step;
  uint64_t bits = 1;
  for (double limit = 2; limit < steps && bits < 64; limit *= 2) bits++;
  return bits;
}

static void judge_differences(const szg_probe_found *probes, const szg_bound_plan *bound,
                              const szg_probe_view *view, finding *found) {
  uint32_t const axis_count = view->axis_count;
  szg_probe_cost costs[1 + SZG_PROBE_SETS]; /* by set */
  costs[0].entropy = costs[0].floor = bits_of_value(bound) << SZG_LOG_FRACTION_BITS;
  memcpy(costs + 1, probes->differences, sizeof probes->differences);
  found->differences =
      (szg_levels_way){.axis_count = axis_count, .fold = view->fold, .base_axes = 1};
  found->differences_cost = found->tile_cost = UINT64_MAX;
  for (uint32_t set = 1; set < 1u << axis_count; set++) {
    szg_probe_cost const cost = cost_in_tiles(costs, axis_count, set);
    if (cost.floor < found->tile_cost) found->tile_cost = cost.floor;
    if (cost.entropy >= found->differences_cost) continue;
    found->differences_cost = cost.entropy;
    found->differences.base_axes = set;
  }
}

static finding judge(const szg_levels_asked *asked, uint64_t fold, const szg_probe_found *probes) {
  szg_probe_view const view = szg_probe_view_of(asked->grid, fold);
  finding found;
  found.interpolation = szg_way(&view, probes->way_number);
  judge_way(probes, asked->bound, &found);
  judge_differences(probes, asked->bound, &view, &found);
  return found;
}

/* ---- the choice ---- */

/* The way that is small enough to be worth its time; NULL: tile frames. folded: NULL if there is no
 * fold. What a fold costs varies more over a frame, so it must save more. */
static const szg_levels_way *pick(szgpu_predictor predictor, bool only_differences,
                                  const finding *plain, const finding *folded) {
  uint64_t const cost = plain->interpolation_cost;
  bool const folds = folded && folded->interpolation_cost < cost - (cost >> 3);
  const finding *const best = folds ? folded : plain;
  if (predictor == SZGPU_PREDICTOR_INTERPOLATION && !only_differences) return &best->interpolation;
  bool const folds_differences = folded && folded->differences_cost < plain->differences_cost &&
                                 folded->differences_cost < cost - (cost >> 4);
  const finding *const lesser = folds_differences ? folded : plain;
  if (!only_differences && szg_saves_enough(best->interpolation_cost, plain->tile_cost) &&
      szg_saves_enough(best->interpolation_cost, lesser->differences_cost))
    return &best->interpolation;
  return szg_saves_enough(lesser->differences_cost, plain->tile_cost) ? &lesser->differences : NULL;
}

/* The sample says little of small frames: of their ends, of what books take, and least of all of
 * coasts. Without a fill value it has been wrong by up to a quarter of what a tile frame takes, and
 * in the larger ones of these by less than an eighth; but of sums of functions of one coordinate,
 * which blended stencils predict exactly, it knows even less what a tile frame takes. */
enum { MOST_DOUBTED_VALUES = 1 << 18, MOST_WRONG_BY_A_QUARTER = 1 << 17 };

/* In frames of three axes with so few values the tile frame's books weigh more than what the sample
 * may have wrong. */
enum { MOST_FEW_VALUES = 4096 };
static bool has_few_values(const szg_levels_asked *asked) {
  return asked->request->predictor == SZGPU_PREDICTOR_AUTO && asked->grid->tile_z > 1 &&
         asked->grid->value_count <= MOST_FEW_VALUES;
}

static uint64_t bytes_of(const szg_levels_asked *asked, uint64_t cost) {
  return asked->grid->value_count * cost >> (SZG_LOG_FRACTION_BITS + 3);
}

/* Whether levels are not worth trying in a frame of few values: heads and books take some 150 bytes
 * more than the sample says. In the larger ones of these, few that save less than a quarter turn
 * out smaller than the tile frame; in those of less than 1000, books decide. */
static bool is_hopeless(const szg_levels_asked *asked, const finding *plain) {
  enum { MORE_BYTES = 150, LEAST_VALUES = 1000, LEAST_SAVING_A_QUARTER = 3000 };
  if (!has_few_values(asked) || asked->grid->value_count < LEAST_VALUES) return false;
  uint64_t const levels_bytes = bytes_of(asked, plain->interpolation_cost) + MORE_BYTES;
  uint64_t const tile_bytes = bytes_of(asked, plain->tile_cost);
  bool const saves_a_quarter = asked->grid->value_count >= LEAST_SAVING_A_QUARTER;
  return levels_bytes >= tile_bytes - (saves_a_quarter ? tile_bytes >> 2 : 0);
}

static uint64_t doubtful_bytes(const szg_levels_asked *asked, const szg_levels_way *way,
                               uint64_t tile_cost) {
  uint64_t const value_count = asked->grid->value_count;
  if (asked->request->predictor != SZGPU_PREDICTOR_AUTO || value_count > MOST_DOUBTED_VALUES)
    return UINT64_MAX;
  if (asked->bound->quantizer.has_fill) return 0;
  uint64_t const tile_bytes = bytes_of(asked, tile_cost);
  if (has_few_values(asked)) return tile_bytes + tile_bytes / 10;
  if (way && way->is_blended) return tile_bytes / 2;
  return tile_bytes - (tile_bytes >> (value_count > MOST_WRONG_BY_A_QUARTER ? 3 : 2));
}

/* In the compact form of small archives the book of a tile frame shrinks most. */
bool szg_levels_save_enough(const szg_write_request *request, uint64_t stage_bytes,
                            uint64_t tile_bytes) {
  enum { MORE_BYTES = 64 };
  return szg_saves_enough(stage_bytes + (request->is_compacted ? MORE_BYTES : 0), tile_bytes);
}

/* Frames of so few values are tile frames: heads and books of stages take more there than levels
 * save, and trying them would take three quarters of the call. */
enum { MOST_UNPROBED_VALUES = 512 };

bool szg_levels_probe_source(const szg_levels_asked *asked, const void *values,
                             szg_probe_source *source) {
  if (asked->request->predictor == SZGPU_PREDICTOR_AUTO &&
      asked->grid->value_count <= MOST_UNPROBED_VALUES)
    return false;
  szg_probe_view const view = szg_probe_view_of(asked->grid, 0);
  szg_levels_way const natural = szg_way(&view, 0);
  szg_levels levels;
  if (!go(asked, &natural, &levels, &source->lattice)) return false;
  source->grid = *asked->grid;
  source->fine_bits = levels.fine_bits;
  source->values = values;
  return true;
}

void szg_levels_decide(const szg_levels_asked *asked, const szg_probes *probes,
                       szg_levels_choice *choice) {
  finding const plain = judge(asked, 0, &probes->plain);
  finding const folded =
      probes->fold ? judge(asked, probes->fold, &probes->folded) : (finding){.tile_cost = 0};
  const szg_levels_way *const way = pick(asked->request->predictor, asked->bound->only_differences,
                                         &plain, probes->fold ? &folded : NULL);
  choice->doubtful_bytes = doubtful_bytes(asked, way, plain.tile_cost);
  choice->is_chosen =
      way && !is_hopeless(asked, &plain) && go(asked, way, &choice->levels, &choice->lattice);
}

szgpu_status szg_levels_choose(szg_write_job *job, szg_levels_choice *choice) {
  szg_levels_asked const asked = {job->request, job->bound, &job->grid};
  szg_probe_source source;
  szg_probe_plan plan;
  szg_probes probes;
  szg_arena arena = {0};
  choice->is_chosen = false;
  if (!szg_levels_probe_source(&asked, job->values, &source)) return SZGPU_OK;
  szg_levels_probe_carve(&arena, &job->grid, job->request->thread_count, &plan);
  SZG_TRY(szg_levels_arena_open(job->ctx, &arena));
  szg_levels_probe_carve(&arena, &job->grid, job->request->thread_count, &plan);
  SZG_TRY(szg_levels_probe(&job->ctx->threads, &source, &plan, &probes));
  szg_levels_decide(&asked, &probes, choice);
  return SZGPU_OK;
}
