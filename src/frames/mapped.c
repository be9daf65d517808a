/* mapped.c - the field's values to those that are coded, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/mapped.h"

enum { PART_VALUES = 1 << 16 };

/* Values on their way, in either direction. */
typedef struct mapped_job {
  const szg_mapping *mapping;
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

static szgpu_status open_buffer(szgpu_ctx *ctx, const szg_mapping *mapping, uint64_t value_count) {
  uint64_t const bytes = value_count * szg_dtype_bytes(mapping->inner);
  szgpu_status const status = szg_buffer_reset(&ctx->mapped, bytes);
  if (status == SZGPU_OK) return SZGPU_OK;
  return szg_fail(ctx, status, "room for wider values of %llu bytes is needed",
                  (unsigned long long)bytes);
}

szgpu_status szg_mapped_begin_write(szg_write_job *job) {
  const szg_mapping *const mapping = &job->request->mapping;
  uint64_t const value_count = job->grid.value_count;
  job->values = job->field_values;
  if (!szg_is_mapped(mapping)) return SZGPU_OK;
  SZG_TRY(open_buffer(job->ctx, mapping, value_count));
  mapped_job widened = {mapping, job->field_values, job->ctx->mapped.bytes, value_count};
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
  SZG_TRY(open_buffer(ctx, mapping, target->value_count));
  target->region.values = job->values = ctx->mapped.bytes;
  if (job->region) job->region = &target->region;
  return SZGPU_OK;
}

szgpu_status szg_mapped_end_read(const szg_read_job *job, const szg_mapping *mapping,
                                 const szg_mapped_target *target) {
  szgpu_ctx *const ctx = job->reader.ctx;
  mapped_job narrowed = {mapping, ctx->mapped.bytes, target->values, target->value_count};
  return szg_for_parts(&ctx->threads, szg_div_up(target->value_count, PART_VALUES), 0, narrow_part,
                       &narrowed);
}
