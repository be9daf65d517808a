/* mapped.c - the field's values to those that are coded, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/mapped.h"

#include "codecs/run_masks.h"

enum { PART_VALUES = 1 << 16 };

/* Values on their way, in either direction. */
typedef struct mapped_job {
  const szg_mapping *mapping;
  const szg_missing *missing;      /* writing: what is edited; NULL: values are widened */
  const szg_read_job *frame;       /* reading */
  const szg_mapped_target *target; /* reading */
  const uint8_t *from;
  uint8_t *to;
  uint64_t value_count;
} mapped_job;

static uint64_t part_values(const mapped_job *job, uint64_t part) {
  return szg_min_u64(PART_VALUES, job->value_count - part * PART_VALUES);
}

/* Leads a part to its inner values; if values are missing, makes these, which are there, look as if
 * the field had no more than a fill value. */
static szgpu_status widen_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mapped_job *const job = job_pointer;
  uint64_t const first = part * PART_VALUES, count = part_values(job, part);
  const uint8_t *const from = job->from + first * szg_dtype_bytes(job->mapping->outer);
  uint8_t *const to = job->to + first * szg_dtype_bytes(job->mapping->inner);
  if (job->missing)
    szg_missing_edit(job->missing, job->mapping, from, count, to);
  else
    szg_values_to_inner(job->mapping, from, count, to);
  return SZGPU_OK;
}

static szgpu_status narrow_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mapped_job *const job = job_pointer;
  uint64_t const first = part * PART_VALUES;
  szg_values_to_outer(job->mapping, job->from + first * szg_dtype_bytes(job->mapping->inner),
                      part_values(job, part),
                      job->to + first * szg_dtype_bytes(job->mapping->outer));
  return SZGPU_OK;
}

/* Marks of the target's values from value i on. */
static szgpu_status take_marks(const mapped_job *job, uint32_t which, uint64_t i,
                               uint64_t value_count, szg_mask_run *latest, uint8_t *are_marked) {
  const szg_run_mask *const mask = &job->target->masks[which];
  const szg_region *const region = job->frame->region;
  if (!region)
    return szg_run_mask_take(mask, job->frame->first_value + i, 1, value_count, latest, are_marked);
  for (uint64_t count; value_count > 0; i += count, are_marked += count, value_count -= count) {
    uint64_t const row = i / region->count[3], place = i % region->count[3];
    uint64_t const first = szg_region_row_at(region, row) + place * region->step[3];
    count = szg_min_u64(value_count, region->count[3] - place);
    SZG_TRY(szg_run_mask_take(mask, first, region->step[3], count, latest, are_marked));
  }
  return SZGPU_OK;
}

/* Logarithms and signs to values. */
static szgpu_status raise_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mapped_job *const job = job_pointer;
  const szg_mapping *const mapping = job->mapping;
  uint64_t const end = part * PART_VALUES + part_values(job, part);
  szg_mask_run latest = {.run = UINT64_MAX};
  uint8_t are_negative[SZG_SIGN_RUN];
  for (uint64_t i = part * PART_VALUES; i < end; i += SZG_SIGN_RUN) {
    uint64_t const count = szg_min_u64(SZG_SIGN_RUN, end - i);
    SZG_TRY(take_marks(job, SZG_RUN_MASK_SIGNS, i, count, &latest, are_negative));
    szg_log_to_outer(mapping->outer, mapping->inner, mapping->fill,
                     job->from + i * szg_dtype_bytes(mapping->inner), are_negative, count,
                     job->to + i * szg_dtype_bytes(mapping->outer));
  }
  return SZGPU_OK;
}

/* Further fill values over what the first one stands for. */
static szgpu_status fill_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mapped_job *const job = job_pointer;
  const szg_header *const header = job->frame->header;
  size_t const width = szg_dtype_bytes(header->shape.dtype);
  uint64_t const end = part * PART_VALUES + part_values(job, part);
  uint8_t are_fill[SZG_SIGN_RUN];
  for (uint32_t which = 1; which <= header->more_fill_count; which++) {
    szg_mask_run latest = {.run = UINT64_MAX};
    uint8_t pattern[sizeof(uint64_t)];
    if (!job->target->masks[which].sizes.bytes) continue;
    szg_store_u64(pattern, header->more_fill_bits[which - 1]);
    for (uint64_t i = part * PART_VALUES; i < end; i += SZG_SIGN_RUN) {
      uint64_t const count = szg_min_u64(SZG_SIGN_RUN, end - i);
      SZG_TRY(take_marks(job, which, i, count, &latest, are_fill));
      for (uint64_t k = 0; k < count; k++)
        if (are_fill[k]) memcpy(job->to + (i + k) * width, pattern, width);
    }
  }
  return SZGPU_OK;
}

bool szg_is_edited(const szg_header *header) {
  szg_mapping const mapping = szg_mapping_of_header(header);
  return szg_is_mapped(&mapping) || header->more_fill_count > 0;
}

szg_mapping szg_mapping_of_header(const szg_header *header) {
  szgpu_dtype const dtype = header->shape.dtype, inner = szg_header_coded_dtype(header);
  if (header->mode != SZGPU_MODE_PWREL) return szg_mapping_of(header->mode, dtype);
  return (szg_mapping){
      .kind = SZG_MAPPING_LOG,
      .outer = dtype,
      .inner = inner,
      .fill = {header->has_own_fill, szg_log_fill_bits(dtype, inner, header->own_fill_bits)}};
}

szg_quantizer szg_quantizer_of_header(const szg_header *header) {
  szg_quantizer k = szg_quantizer_make(header->arithmetic, header->absolute_bound, header->step,
                                       header->has_fill, header->fill_bits);
  if (header->has_limits) szg_quantizer_set_limits(header->least, header->greatest, &k);
  return k;
}

szgpu_status szg_mapped_open(szgpu_ctx *ctx, const szg_mapping *mapping, uint64_t value_count) {
  uint64_t const bytes = value_count * szg_dtype_bytes(mapping->inner);
  return szg_ctx_make_room(ctx, &ctx->kept[SZG_KEPT_INNER], bytes, "room for wider values");
}

/* Sets job->exact_values, and edits the values in the ctx's buffer. */
static szgpu_status edit_values(szg_write_job *job) {
  const szg_missing *const missing = &job->bound->missing;
  uint64_t const value_count = job->grid.value_count;
  uint64_t const bytes = value_count * szg_dtype_bytes(job->mapping.inner);
  uint8_t *const values = job->ctx->kept[SZG_KEPT_INNER].bytes;
  if (szg_is_mapped(&job->mapping) && missing->has_valid) {
    SZG_TRY(szg_buffer_reset(&job->ctx->kept[SZG_KEPT_UNEDITED], bytes));
    job->exact_values = memcpy(job->ctx->kept[SZG_KEPT_UNEDITED].bytes, values, bytes);
  }
  if (!szg_is_mapped(&job->mapping)) memcpy(values, job->field_values, bytes);
  mapped_job edited = {.mapping = &job->mapping,
                       .missing = missing,
                       .from = job->field_values,
                       .to = values,
                       .value_count = value_count};
  job->values = values;
  return szg_for_parts(&job->ctx->threads, szg_div_up(value_count, PART_VALUES), 0, widen_part,
                       &edited);
}

/* Sets job->values to the inner values of field_values. */
static szgpu_status map_values(szg_write_job *job) {
  uint64_t const value_count = job->grid.value_count;
  if (job->bound->has_inner_values) {
    job->values = job->ctx->kept[SZG_KEPT_INNER].bytes;
    return SZGPU_OK;
  }
  SZG_TRY(szg_mapped_open(job->ctx, &job->mapping, value_count));
  mapped_job widened = {.mapping = &job->mapping,
                        .from = job->field_values,
                        .to = job->ctx->kept[SZG_KEPT_INNER].bytes,
                        .value_count = value_count};
  job->values = widened.to;
  return szg_for_parts(&job->ctx->threads, szg_div_up(value_count, PART_VALUES), 0, widen_part,
                       &widened);
}

szgpu_status szg_mapped_begin_write(szg_write_job *job) {
  bool const is_mapped = szg_is_mapped(&job->mapping);
  bool const is_edited = job->bound && szg_has_more_missing(&job->bound->missing);
  job->values = job->field_values;
  SZG_TRY(szg_run_masks_find(job));
  if (is_mapped) SZG_TRY(map_values(job));
  job->exact_values = job->values;
  if (!is_edited) return SZGPU_OK;
  if (!is_mapped) SZG_TRY(szg_mapped_open(job->ctx, &job->mapping, job->grid.value_count));
  return edit_values(job);
}

szgpu_status szg_mapped_begin_read(szg_read_job *job, szg_mapped_target *target) {
  szgpu_ctx *const ctx = job->reader.ctx;
  *target = (szg_mapped_target){.mapping = szg_mapping_of_header(job->header),
                                .values = job->values,
                                .value_count = job->value_count};
  if (job->region) {
    target->region = *job->region;
    target->values = job->region->values;
    target->value_count = job->region->value_count;
  }
  if (target->mapping.kind == SZG_MAPPING_LOG)
    SZG_TRY(szg_run_mask_open(job, SZG_RUN_MASK_SIGNS, &target->masks[SZG_RUN_MASK_SIGNS]));
  for (uint32_t which = 1; which <= job->header->more_fill_count; which++)
    SZG_TRY(szg_run_mask_open(job, which, &target->masks[which]));
  if (!szg_is_mapped(&target->mapping)) return SZGPU_OK;
  SZG_TRY(szg_mapped_open(ctx, &target->mapping, target->value_count));
  target->region.values = job->values = ctx->kept[SZG_KEPT_INNER].bytes;
  if (job->region) job->region = &target->region;
  return SZGPU_OK;
}

/* The shares of the masks that have the target's values. */
static szgpu_status ask_for_marks(const mapped_job *job) {
  uint8_t unused[SZG_SIGN_RUN] = {0};
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++) {
    szg_mask_run latest = {.run = UINT64_MAX};
    if (!job->target->masks[which].part_starts) continue;
    for (uint64_t i = 0; i < job->target->value_count; i += SZG_SIGN_RUN)
      SZG_TRY(take_marks(job, which, i, szg_min_u64(SZG_SIGN_RUN, job->target->value_count - i),
                         &latest, unused));
  }
  return SZGPU_OK;
}

szgpu_status szg_mapped_end_read(const szg_read_job *job, const szg_mapped_target *target) {
  szgpu_ctx *const ctx = job->reader.ctx;
  uint64_t const part_count = szg_div_up(target->value_count, PART_VALUES);
  mapped_job way = {.mapping = &target->mapping,
                    .frame = job,
                    .target = target,
                    .from = ctx->kept[SZG_KEPT_INNER].bytes,
                    .to = target->values,
                    .value_count = target->value_count};
  bool const is_log = target->mapping.kind == SZG_MAPPING_LOG;
  if (szg_reader_only_asks(&job->reader)) return ask_for_marks(&way);
  if (szg_is_mapped(&target->mapping))
    SZG_TRY(szg_for_parts(&ctx->threads, part_count, 0, is_log ? raise_part : narrow_part, &way));
  if (!job->header->more_fill_count) return SZGPU_OK;
  return szg_for_parts(&ctx->threads, part_count, 0, fill_part, &way);
}
