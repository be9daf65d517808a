/* mapped.c - the field's values to those that are coded, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/mapped.h"

#include "frames/signs.h"

enum { PART_VALUES = 1 << 16 };

/* Values on their way, in either direction. */
typedef struct mapped_job {
  const szg_mapping *mapping;
  const szg_read_job *frame;       /* reading */
  const szg_mapped_target *target; /* reading */
  const uint8_t *from;
  uint8_t *to;
  uint64_t value_count;
} mapped_job;

static uint64_t part_values(const mapped_job *job, uint64_t part) {
  return szg_min_u64(PART_VALUES, job->value_count - part * PART_VALUES);
}

static szgpu_status widen_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mapped_job *const job = job_pointer;
  uint64_t const first = part * PART_VALUES;
  szg_values_to_inner(job->mapping, job->from + first * szg_dtype_bytes(job->mapping->outer),
                      part_values(job, part),
                      job->to + first * szg_dtype_bytes(job->mapping->inner));
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

/* Signs of the target's values from value i on. */
static szgpu_status take_signs(const mapped_job *job, uint64_t i, uint64_t value_count,
                               szg_sign_run *latest, uint8_t *are_negative) {
  const szg_signs *const signs = &job->target->signs;
  const szg_region *const region = job->frame->region;
  if (!region)
    return szg_signs_take(signs, job->frame->first_value + i, 1, value_count, latest, are_negative);
  for (uint64_t count; value_count > 0; i += count, are_negative += count, value_count -= count) {
    uint64_t const row = i / region->count[3], place = i % region->count[3];
    uint64_t const first = szg_region_row_at(region, row) + place * region->step[3];
    count = szg_min_u64(value_count, region->count[3] - place);
    SZG_TRY(szg_signs_take(signs, first, region->step[3], count, latest, are_negative));
  }
  return SZGPU_OK;
}

/* Logarithms and signs to values. */
static szgpu_status raise_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mapped_job *const job = job_pointer;
  const szg_mapping *const mapping = job->mapping;
  uint64_t const end = part * PART_VALUES + part_values(job, part);
  szg_sign_run latest = {.run = UINT64_MAX};
  uint8_t are_negative[SZG_SIGN_RUN];
  for (uint64_t i = part * PART_VALUES; i < end; i += SZG_SIGN_RUN) {
    uint64_t const count = szg_min_u64(SZG_SIGN_RUN, end - i);
    SZG_TRY(take_signs(job, i, count, &latest, are_negative));
    szg_log_to_outer(mapping->outer, mapping->inner, mapping->fill,
                     job->from + i * szg_dtype_bytes(mapping->inner), are_negative, count,
                     job->to + i * szg_dtype_bytes(mapping->outer));
  }
  return SZGPU_OK;
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

szgpu_status szg_mapped_open(szgpu_ctx *ctx, const szg_mapping *mapping, uint64_t value_count) {
  uint64_t const bytes = value_count * szg_dtype_bytes(mapping->inner);
  szgpu_status const status = szg_buffer_reset(&ctx->mapped, bytes);
  if (status == SZGPU_OK) return SZGPU_OK;
  return szg_fail(ctx, status, "room for wider values of %llu bytes is needed",
                  (unsigned long long)bytes);
}

szgpu_status szg_mapped_begin_write(szg_write_job *job) {
  const szg_mapping *const mapping = &job->mapping;
  uint64_t const value_count = job->grid.value_count;
  job->values = job->field_values;
  if (!szg_is_mapped(mapping)) return SZGPU_OK;
  if (mapping->kind == SZG_MAPPING_LOG) SZG_TRY(szg_signs_find(job));
  if (job->bound->has_inner_values) {
    job->values = job->ctx->mapped.bytes;
    return SZGPU_OK;
  }
  SZG_TRY(szg_mapped_open(job->ctx, mapping, value_count));
  mapped_job widened = {.mapping = mapping,
                        .from = job->field_values,
                        .to = job->ctx->mapped.bytes,
                        .value_count = value_count};
  job->values = widened.to;
  return szg_for_parts(&job->ctx->threads, szg_div_up(value_count, PART_VALUES), 0, widen_part,
                       &widened);
}

szgpu_status szg_mapped_begin_read(szg_read_job *job, const szg_mapping *mapping,
                                   szg_mapped_target *target) {
  szgpu_ctx *const ctx = job->reader.ctx;
  *target = (szg_mapped_target){.values = job->values, .value_count = job->value_count};
  if (job->region) {
    target->region = *job->region;
    target->values = job->region->values;
    target->value_count = job->region->value_count;
  }
  if (mapping->kind == SZG_MAPPING_LOG) SZG_TRY(szg_signs_open(job, &target->signs));
  SZG_TRY(szg_mapped_open(ctx, mapping, target->value_count));
  target->region.values = job->values = ctx->mapped.bytes;
  if (job->region) job->region = &target->region;
  return SZGPU_OK;
}

szgpu_status szg_mapped_end_read(const szg_read_job *job, const szg_mapping *mapping,
                                 const szg_mapped_target *target) {
  szgpu_ctx *const ctx = job->reader.ctx;
  mapped_job narrowed = {.mapping = mapping,
                         .frame = job,
                         .target = target,
                         .from = ctx->mapped.bytes,
                         .to = target->values,
                         .value_count = target->value_count};
  return szg_for_parts(&ctx->threads, szg_div_up(target->value_count, PART_VALUES), 0,
                       mapping->kind == SZG_MAPPING_LOG ? raise_part : narrow_part, &narrowed);
}
