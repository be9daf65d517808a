/* restored_find.c - looks for restored values on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/bytes.h"
#include "core/dispatch.h"
#include "quant/restored.h"
#include "quant/restored_core.h"

enum { PATCH = SZG_RESTORED_PATCH, PART_PATCHES = 64 /* of a part: 2^18 values */ };

/* A patch in its frame. */
typedef struct patch_place {
  const szg_restored_look *look;
  uint64_t frame_values; /* of this frame */
  uint64_t first;        /* value */
  uint32_t columns;
} patch_place;

typedef struct patch_counts { /* as of szg_restored_found */
  uint32_t counted, fine, coarse, control, all, all_fine, all_coarse, fine_marks, coarse_marks;
} patch_counts;

/* The values of a line that begins at value `first`; 0: the frame has none. */
static inline uint32_t values_of_line(const patch_place *place, uint64_t first) {
  if (first >= place->frame_values) return 0;
  return (uint32_t)szg_min_u64(place->columns, place->frame_values - first);
}

static inline void add_counts(const patch_counts *counts, szg_restored_found *found) {
  found->counted += counts->counted;
  found->fine += counts->fine;
  found->coarse += counts->coarse;
  found->control += counts->control;
  found->all += counts->all;
  found->all_fine += counts->all_fine;
  found->all_coarse += counts->all_coarse;
  found->fine_marks |= counts->fine_marks;
  found->coarse_marks |= counts->coarse_marks;
}

/* Where runs may be. */
typedef struct patch_hints {
  uint64_t lines; /* bit i: in line i */
  bool has_columns;
} patch_hints;

static inline szg_restored_run longest(szg_restored_run a, szg_restored_run b) {
  return (szg_restored_run){a.fine > b.fine ? a.fine : b.fine,
                            a.coarse > b.coarse ? a.coarse : b.coarse};
}

static inline uint32_t runs_of(szg_restored_run most, uint32_t needed) {
  return ((uint32_t)most.fine >= needed ? SZG_RESTORED_HAS_FINE_RUN : 0) |
         ((uint32_t)most.coarse >= needed ? SZG_RESTORED_HAS_COARSE_RUN : 0);
}

typedef uint32_t __attribute__((may_alias)) bits_of_f32;
typedef uint64_t __attribute__((may_alias)) bits_of_f64;

#define VALUE float
#define ALIAS bits_of_f32
#define LANE int32_t
#define NOTE szg_restored_note_f32
#define FOLD(bits) (bits)
#define SUFFIX f32
#include "quant/restored_find.inc"

#define VALUE double
#define ALIAS bits_of_f64
#define LANE int64_t
#define NOTE szg_restored_note_f64
#define FOLD(bits) ((uint32_t)((bits) ^ (bits) >> 32))
#define SUFFIX f64
#include "quant/restored_find.inc"

/* ---- all values ---- */

/* The loop's parts: lines of a patch, and of these PART_PATCHES patches. Parts of the last frame
 * may be empty. */
typedef struct find_job {
  const szg_value_source *source;
  const szg_restored_look *look;
  uint64_t group_count, stretch_count; /* of a frame: groups of lines, stretches of columns */
  szg_restored_found by_worker[SZG_MAX_THREADS];
} find_job;

static uint32_t look_at_patch(const szg_value_source *source, const patch_place *place,
                              uint64_t frame_first, szg_restored_found *found) {
  return source->dtype == SZGPU_F32
             ? look_at_patch_f32(place, (const float *)source->values + frame_first, found)
             : look_at_patch_f64(place, (const double *)source->values + frame_first, found);
}

static szgpu_status find_part(void *job_pointer, uint64_t part, int worker) {
  find_job *const job = job_pointer;
  const szg_restored_look *const look = job->look;
  uint64_t const stretch = part % job->stretch_count;
  uint64_t const group = part / job->stretch_count % job->group_count;
  uint64_t const frame_first = part / job->stretch_count / job->group_count * look->frame_values;
  uint64_t const first_column = stretch * PART_PATCHES * PATCH;
  uint64_t const end = szg_min_u64(first_column + PART_PATCHES * PATCH, look->line_values);
  szg_restored_found *const found = &job->by_worker[worker];
  patch_place place = {.look = look};
  place.frame_values = szg_min_u64(look->frame_values, job->source->value_count - frame_first);
  for (uint64_t column = first_column; column < end; column += PATCH) {
    place.first = group * PATCH * look->line_values + column;
    place.columns = (uint32_t)szg_min_u64(PATCH, look->line_values - column);
    found->runs |= look_at_patch(job->source, &place, frame_first, found);
  }
  return SZGPU_OK;
}

static bool has_rest(const szg_value_source *source, uint64_t frame_values) {
  uint64_t const frame_first = (source->value_count - 1) / frame_values * frame_values;
  uint64_t const count = source->value_count - frame_first;
  return source->dtype == SZGPU_F32
             ? has_rest_f32((const float *)source->values + frame_first, count)
             : has_rest_f64((const double *)source->values + frame_first, count);
}

szgpu_status szg_restored_find_cpu(const szg_value_source *source, const szg_restored_look *look,
                                   szg_restored_found *found) {
  szg_threads *const threads = source->where;
  uint64_t const line_count = szg_div_up(look->frame_values, look->line_values);
  find_job job = {.source = source,
                  .look = look,
                  .group_count = szg_div_up(line_count, PATCH),
                  .stretch_count = szg_div_up(look->line_values, PART_PATCHES * PATCH)};
  uint64_t const frame_count = szg_div_up(source->value_count, look->frame_values);
  SZG_TRY(szg_for_parts(threads, frame_count * job.group_count * job.stretch_count, 0, find_part,
                        &job));
  *found = (szg_restored_found){0};
  for (int i = 0; i < threads->count; i++) szg_restored_merge(&job.by_worker[i], found);
  if (has_rest(source, look->frame_values)) found->runs |= SZG_RESTORED_HAS_REST;
  return SZGPU_OK;
}
