/* outliers_write.c - writes a frame's exact values and fill mask.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "codecs/write.h"

void szg_outliers_carve_write(szg_arena *arena, const szg_write_request *request,
                              szg_outlier_write_plan *plan) {
  uint64_t const tile_count = request->frame_grid.tile_count;
  uint64_t const part_count = szg_div_up(tile_count, SZG_PART_TILES);
  plan->counts.exact_mask_bytes = szg_arena_take(arena, tile_count, sizeof(uint16_t));
  plan->counts.exact_values = szg_arena_take(arena, tile_count, sizeof(uint16_t));
  plan->counts.fill_mask_bytes = szg_arena_take(arena, tile_count, sizeof(uint16_t));
  plan->lists = szg_arena_take(arena, part_count, sizeof *plan->lists);
  plan->tiles = szg_arena_take(arena, (uint64_t)request->thread_count, sizeof *plan->tiles);
}

void szg_outliers_reset(szg_write_job *job) {
  for (uint64_t part = 0; part < job->part_count; part++)
    job->plan->outliers.lists[part] = szg_outlier_lists_make(&job->ctx->account);
}

void szg_outliers_release(szg_write_job *job) {
  for (uint64_t part = 0; part < job->part_count; part++)
    szg_outlier_lists_release(&job->plan->outliers.lists[part]);
}

szgpu_status szg_outliers_add(const szg_write_job *job, uint64_t tile_index, const szg_tile *tile,
                              const uint8_t *marks) {
  szg_outlier_write_plan *const plan = &job->plan->outliers;
  return szg_outlier_add_marked(job->request->dtype, tile, marks, job->exact_values, tile_index,
                                &plan->lists[tile_index / SZG_PART_TILES], &plan->counts);
}

uint64_t szg_outliers_part_bytes(const szg_write_job *job, uint64_t part) {
  const szg_outlier_lists *const lists = &job->plan->outliers.lists[part];
  return lists->exact_mask.used_bytes + lists->exact_values.used_bytes +
         lists->fill_mask.used_bytes;
}

szg_outlier_sizes szg_outliers_size(const szg_write_job *job) {
  szg_outlier_sizes sizes = {0};
  for (uint64_t part = 0; part < job->part_count; part++) {
    const szg_outlier_lists *const lists = &job->plan->outliers.lists[part];
    sizes.exact_mask += lists->exact_mask.used_bytes;
    sizes.exact_values += lists->exact_values.used_bytes;
    sizes.fill_mask += lists->fill_mask.used_bytes;
  }
  if (sizes.exact_mask) sizes.exact_counts = 4 * job->grid.tile_count;
  if (sizes.fill_mask) sizes.fill_counts = 2 * job->grid.tile_count;
  return sizes;
}

/* Two numbers per tile: the bytes of its mask, and the count of its values. */
static uint64_t exact_count_at(const szg_write_job *job, uint64_t i) {
  const szg_outlier_counts *const counts = &job->plan->outliers.counts;
  return i % 2 ? counts->exact_values[i / 2] : counts->exact_mask_bytes[i / 2];
}
static uint64_t fill_mask_bytes_at(const szg_write_job *job, uint64_t i) {
  return job->plan->outliers.counts.fill_mask_bytes[i];
}

/* Writes the parts' lists one after the other; frees each as soon as it is copied. */
static szgpu_status write_lists(szg_write_job *job, szg_writer *writer, uint32_t kind,
                                size_t list_offset, uint64_t byte_count) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  for (uint64_t part = 0; part < job->part_count; part++) {
    char *const lists = (char *)&job->plan->outliers.lists[part];
    szg_buffer *const list = (szg_buffer *)(void *)(lists + list_offset);
    if (list->used_bytes) memcpy(bytes, list->bytes, list->used_bytes);
    bytes += list->used_bytes;
    szg_buffer_release(list);
  }
  return szg_writer_end_section(writer, kind, byte_count);
}

static szgpu_status write_exact(szg_write_job *job, szg_writer *writer,
                                const szg_outlier_sizes *sizes) {
  SZG_TRY(szg_write_numbers(job, writer, SZG_SECTION_EXACT_COUNTS, sizes->exact_counts / 2,
                            exact_count_at));
  SZG_TRY(write_lists(job, writer, SZG_SECTION_EXACT_MASK, offsetof(szg_outlier_lists, exact_mask),
                      sizes->exact_mask));
  return write_lists(job, writer, SZG_SECTION_EXACT_VALUES,
                     offsetof(szg_outlier_lists, exact_values), sizes->exact_values);
}

static szgpu_status write_fill(szg_write_job *job, szg_writer *writer,
                               const szg_outlier_sizes *sizes) {
  SZG_TRY(szg_write_numbers(job, writer, SZG_SECTION_FILL_COUNTS, sizes->fill_counts / 2,
                            fill_mask_bytes_at));
  return write_lists(job, writer, SZG_SECTION_FILL_MASK, offsetof(szg_outlier_lists, fill_mask),
                     sizes->fill_mask);
}

szgpu_status szg_outliers_write_all(szg_write_job *job, szg_writer *writer,
                                    const szg_outlier_sizes *sizes) {
  SZG_TRY(write_exact(job, writer, sizes));
  return write_fill(job, writer, sizes);
}

szgpu_status szg_outliers_write(szg_write_job *job, szg_writer *writer,
                                const szg_outlier_sizes *sizes) {
  if (sizes->exact_mask) SZG_TRY(write_exact(job, writer, sizes));
  return sizes->fill_mask ? write_fill(job, writer, sizes) : SZGPU_OK;
}
