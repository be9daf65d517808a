/* bound.h - from the caller's parameters to the step of the lattice: range, bound, margin, fill.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BOUND_H
#define SZG_BOUND_H

#include "core/device.h"
#include "core/threads.h"
#include "quant/missing.h"
#include "quant/quant_core.h"
#include "szgpu.h"
#include "values/mapping.h"

SZG_C_BEGIN

/* What the range pass finds over a field. */
struct szg_range {
  bool has_values;        /* any finite value that is not fill */
  double least, greatest; /* of those values; -0 counts as +0 */
  bool has_fill;
  uint64_t fill_bits; /* bit pattern in the inner type, right-aligned */
  /* Known fill values that occur after that one: ordinary values unless the caller keeps them. */
  uint32_t more_fill_count;
  uint64_t more_fill_bits[SZG_MOST_MORE_FILLS];
};

/* The sample: a run of neighbouring values in every whole span of this many, for fields that are
 * not small. */
enum {
  SZG_RANGE_SPAN_LOG2 = 11,
  SZG_RANGE_RUN_LOG2 = 5,
  SZG_RANGE_LEAST_SAMPLED = 1 << 16, /* values of a field */
  SZG_RANGE_LEAST_BOUNDS = 8         /* X, in bounds, if not from all values */
};

/* The first value of a span's run. Runs change their place from span to span, because rows often
 * have the length of some spans. */
SZG_HD uint64_t szg_range_run_of(uint64_t span) {
  uint32_t const mixed = (uint32_t)span * 0x9E3779B1u; /* 2^32 over the golden ratio */
  uint32_t const run = mixed >> (32 - (SZG_RANGE_SPAN_LOG2 - SZG_RANGE_RUN_LOG2));
  return (span << SZG_RANGE_SPAN_LOG2) + ((uint64_t)run << SZG_RANGE_RUN_LOG2);
}

/* How the frames of a field are coded. */
typedef struct szg_bound_plan {
  bool is_sampled;  /* it follows from a sample: a field with values that stray is coded anew */
  bool is_declared; /* it follows from what the caller says of the values */
  bool is_constant; /* every finite value that is not fill equals constant_bits as a number */
  bool is_hopeless; /* no value can be coded under this bound: raw frames */
  bool has_inner_values; /* the source has left them all in its inner_values */
  uint64_t constant_bits;
  double value_range; /* greatest - least */
  bool has_limits;    /* restored values are brought between these, as in szg_header */
  double least_value, greatest_value;
  szg_missing missing; /* as the call asks for it, with bits of the field's type */
  bool has_own_fill;   /* SZG_MAPPING_LOG: the field has a fill value, with these bits */
  uint64_t own_fill_bits;
  double absolute_bound; /* of the field's values; the quantizer's is of those that are coded */
  double magnitude;      /* of the largest value that is coded; of a sample, half as much again */
  double greatest;       /* X: the largest magnitude for which the bound means anything */
  szg_quantizer quantizer;
  bool keeps_restored;   /* the lattice is that of restored.h */
  bool only_differences; /* levels frames do not interpolate */
  bool has_raster;       /* the step is that of raster.h; there are no levels frames */
  uint32_t most_strays;  /* then, of 1024 values of a frame */
  /* The values have a raster, but levels frames are expected to be smaller without it. */
  bool counts_on_levels;
} szg_bound_plan;

/* What a pass over the values finds. */
typedef struct szg_extremes {
  double least, greatest; /* least > greatest: there are none */
  uint32_t fills_seen;    /* one bit per known fill value, in the order of the list */
} szg_extremes;

static inline void szg_extremes_merge(const szg_extremes *more, szg_extremes *extremes) {
  if (more->least < extremes->least) extremes->least = more->least;
  if (more->greatest > extremes->greatest) extremes->greatest = more->greatest;
  extremes->fills_seen |= more->fills_seen;
}

/* Bits whose order as unsigned numbers is that of the values; -0 is before +0. NaNs are before and
 * after all numbers, and infinities next to them. */
SZG_HD uint64_t szg_ordered_bits(szgpu_dtype dtype, uint64_t bits) {
  uint64_t const sign = (uint64_t)1 << (dtype == SZGPU_F32 ? 31 : 63);
  return (bits & sign ? ~bits : bits | sign) & (sign | (sign - 1));
}
SZG_HD uint64_t szg_bits_of_ordered(szgpu_dtype dtype, uint64_t ordered) {
  uint64_t const sign = (uint64_t)1 << (dtype == SZGPU_F32 ? 31 : 63);
  return (ordered & sign ? ordered & ~sign : ~ordered) & (sign | (sign - 1));
}

/* What a survey looks for among the values that are finite and not missing: the neighbours of two
 * of them, and how often these occur. All are ordered bits. */
typedef struct szg_survey {
  const szg_missing *missing;
  uint64_t low, high;
} szg_survey;

typedef struct szg_ends {
  uint64_t above, below;          /* least above low, UINT64_MAX: none; greatest below high, 0 */
  uint64_t low_count, high_count; /* of values that are low, and high */
} szg_ends;

static inline void szg_ends_merge(const szg_ends *more, szg_ends *ends) {
  if (more->above < ends->above) ends->above = more->above;
  if (more->below > ends->below) ends->below = more->below;
  ends->low_count += more->low_count;
  ends->high_count += more->high_count;
}

/* Runs of neighbouring values, all of the same length, that are picked out of a field. */
enum { SZG_MOST_RUNS = 512, SZG_MOST_PICKED = 4096 };
typedef struct szg_runs {
  uint32_t count;      /* at most SZG_MOST_RUNS */
  uint32_t run_values; /* count * run_values: at most SZG_MOST_PICKED */
  uint64_t first[SZG_MOST_RUNS];
} szg_runs;

struct szg_restored_look; /* restored.h */
struct szg_restored_found;

/* A field's values, in any memory, and the passes over them. */
struct szg_value_source {
  szgpu_dtype dtype;   /* of what the passes see: F32 or F64 */
  szg_mapping mapping; /* leads there from `values` */
  const void *values;
  uint64_t value_count;
  /* Room for all inner values, where the passes over them leave these; NULL: they are dropped. Only
   * with a mapping. */
  void *inner_values;
  uint64_t first_span; /* the values begin with this one of the field's spans, for the sample */
  void *where;         /* the CPU's threads, or the szg_value_source_cuda */
  /* SZG_MAPPING_LOG without a fill value of the field's own: find_extremes notes known fill values
   * of the field in fills_seen. If there are any, least and greatest mean nothing. */
  bool notes_own_fills;
  /* Extremes of the values that are finite and not fill. named_fill: the bits of the only fill
   * value; NULL: all known fill values count as fill, and fills_seen notes them. */
  szgpu_status (*find_extremes)(const szg_value_source *source, const uint64_t *named_fill,
                                szg_extremes *extremes);
  /* Extremes of the sample. fills_seen: not 0 if a value is NaN, infinite or of a magnitude that
   * known fill values have. */
  szgpu_status (*sample_extremes)(const szg_value_source *source, szg_extremes *extremes);
  /* The greatest magnitude up to `limit`, not counting the fill of `range`; 0 if there is none. */
  szgpu_status (*greatest_up_to)(const szg_value_source *source, const szg_range *range,
                                 double limit, double *greatest);
  /* Not with SZG_MAPPING_LOG. */
  szgpu_status (*survey)(const szg_value_source *source, const szg_survey *survey, szg_ends *ends);
  /* What restored.h looks for, after one of the passes above. Not with a mapping. */
  szgpu_status (*find_restored)(const szg_value_source *source,
                                const struct szg_restored_look *look,
                                struct szg_restored_found *found);
  /* Copies runs, as they are in the field's type, to the host's memory, after one of the passes
   * above. Not with SZG_MAPPING_LOG. */
  szgpu_status (*pick)(const szg_value_source *source, const szg_runs *runs, void *picked);
};

/* Values of F32 or F64, and values that the mapping leads to these. */
szg_value_source szg_value_source_cpu(szg_threads *threads, szgpu_dtype dtype, const void *values,
                                      uint64_t value_count);
szg_value_source szg_value_source_mapped_cpu(szg_threads *threads, const szg_mapping *mapping,
                                             const void *values, uint64_t value_count);

/* The missing values of a range, with the source's bits; of several known ones, all. */
szg_missing szg_missing_of_range(const szg_range *range);

/* Runs one pass over the source. named_fill: its bits in the inner type; NULL: looks for one of the
 * known fill values. */
szgpu_status szg_range_take(const szg_value_source *source, const uint64_t *named_fill,
                            szg_range *range) SZG_CHECKED;
/* The range that follows from what such a pass has found. */
szg_range szg_range_of_extremes(szgpu_dtype dtype, const uint64_t *named_fill,
                                szg_extremes extremes);

/* The bound of the field's values that a mode other than PWREL asks for, if they have this
 * range. */
double szg_bound_of_range(szgpu_mode mode, double asked, const szg_mapping *mapping, double least,
                          double greatest);

/* Applies the mode and derives the quantizer. Reads the values again only if some are too large for
 * the bound to mean anything. SZGPU_BAD_BOUND: the bound is not finite and positive. */
szgpu_status szg_bound_derive(const szg_value_source *source, szgpu_mode mode, double asked,
                              const szg_range *range, szg_bound_plan *plan) SZG_CHECKED;

/* The same for a bound relative to each value, below 1; the source's mapping is SZG_MAPPING_LOG.
 * named_fill: bits of the field's fill value; NULL: it may be one of the known ones. Reads the
 * values once, or twice: to look for these, or if a source that notes them has found one.
 * kept_range: of the field's values, which restored ones shall not leave; or NULL. */
szgpu_status szg_bound_derive_log(const szg_value_source *source, double asked,
                                  const uint64_t *named_fill, const szg_range *kept_range,
                                  szg_bound_plan *plan) SZG_CHECKED;

/* Limits what is restored to the range of the values that are coded, if plan is to code any by it;
 * not for a bound relative to each value. */
void szg_bound_set_limits(const szg_range *range, szg_bound_plan *plan);

/* The mapping of a field's values once their bound is known. */
szg_mapping szg_bound_mapping(const szg_bound_plan *plan, const szg_mapping *mapping);

/* Derives the quantizer for an absolute bound from a sample, without a pass over the values: X is
 * half as much again as the greatest magnitude there. is_enough: false if the sample does not
 * suffice, because the field is small or all the sample equal, because of values that may be fill
 * or for which the bound means little, or because the bound is a large part of X. */
szgpu_status szg_bound_sample(const szg_value_source *source, double asked, szg_bound_plan *plan,
                              bool *is_enough) SZG_CHECKED;

/* Derives the quantizer for an absolute bound from a magnitude that the caller declares: X is that
 * number, but at least 8 bounds, and not more than the bound means something for. named_fill: as
 * for szg_range_take, but NULL means that no value is fill. */
szgpu_status szg_bound_declare(const szg_mapping *mapping, double asked, double greatest,
                               const uint64_t *named_fill, szg_bound_plan *plan) SZG_CHECKED;

/* Whether values may be greater than X although the bound means something for them. */
static inline bool szg_bound_may_be_exceeded(const szg_bound_plan *plan) {
  return plan->is_sampled || plan->is_declared;
}

/* Whether the field must be coded anew, under a bound for which more of its values were looked at:
 * under this one a frame has strays. */
static inline bool szg_bound_fails(const szg_bound_plan *plan, bool has_strays) {
  return plan && (plan->is_sampled || plan->has_raster || plan->counts_on_levels) && has_strays;
}

/* Whether a frame with so many values that are kept exactly (not in raw tiles) has strays. A raster
 * was found in a few values, so that some of the others may be off it: one of 1024 takes less than
 * a raster saves. */
static inline bool szg_bound_has_strays(const szg_bound_plan *plan, uint64_t value_count,
                                        uint64_t exact_count) {
  if (!plan->has_raster) return exact_count > 0;
  uint64_t const rest = value_count % 1024 * plan->most_strays / 1024;
  return exact_count > 1 + value_count / 1024 * plan->most_strays + rest;
}

/* A quantizer made from the header's fields, for restoring. */
szg_quantizer szg_quantizer_make(uint32_t arithmetic, double bound, double step, bool has_fill,
                                 uint64_t fill_bits);

/* Limits the values that *k restores. */
void szg_quantizer_set_limits(double least, double greatest, szg_quantizer *k);

/* Makes *k quantize to the 16-bit lattice, if all magnitudes up to `greatest` have a point there;
 * says whether. */
bool szg_quantizer_take_16_bits(double greatest, szg_quantizer *k);

/* ---- CUDA ---- */

/* Bytes, aligned to 8: on the device, 0 before and after a pass; pinned, for the result; and pinned
 * of a source that picks, for runs and values, too. */
enum {
  SZG_RANGE_WORK_BYTES = 128,
  SZG_PICK_WORK_BYTES = SZG_RANGE_WORK_BYTES + 8 * (SZG_MOST_RUNS + SZG_MOST_PICKED)
};

/* Values on the device. Each pass waits for its result: one round trip. pinned_work has
 * SZG_PICK_WORK_BYTES if the source is to pick values, else SZG_RANGE_WORK_BYTES. */
typedef struct szg_value_source_cuda {
  szg_value_source source; /* its `where` points here, so this must not move */
  szg_device *device;
  void *work, *pinned_work;
} szg_value_source_cuda;

void szg_value_source_open_cuda(szg_device *device, szgpu_dtype dtype, const void *values,
                                uint64_t value_count, void *work, void *pinned_work,
                                szg_value_source_cuda *source);

/* Picks runs of values on the device (pick.cu). dtype: theirs. */
szgpu_status szg_pick_cuda(szg_device *device, szgpu_dtype dtype, const void *values,
                           const szg_runs *runs, void *pinned_work, void *picked) SZG_CHECKED;

/* Values on the device that a mapping leads to F32 or F64. inner: where the inner values go, and
 * signs (values/mapping.h) with them; NULL: nowhere. named_fill and extremes: of the inner values,
 * as for find_extremes. fills_seen: as for a source that notes_own_fills. */
typedef struct szg_map_range_cuda {
  szg_device *device;
  const szg_mapping *mapping;
  const void *values;
  uint64_t value_count;
  void *inner;
  uint32_t *signs;
  void *work, *pinned_work; /* as of szg_value_source_cuda */
} szg_map_range_cuda;

/* Maps the values and finds their extremes, in one pass (mapped_range.cu). */
szgpu_status szg_map_extremes_cuda(const szg_map_range_cuda *map, const uint64_t *named_fill,
                                   szg_extremes *extremes) SZG_CHECKED;
/* Surveys inner values of narrow types; leaves none. */
szgpu_status szg_map_survey_cuda(const szg_map_range_cuda *map, const szg_survey *survey,
                                 szg_ends *ends) SZG_CHECKED;

SZG_C_END

#endif
