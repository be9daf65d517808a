/* outliers_read.c - puts a frame's exact and fill values over its restored ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/read.h"

szgpu_status szg_outliers_load(szg_read_job *job) {
  szg_reader *const reader = &job->reader;
  szg_outlier_sections *const sections = &job->outliers;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_EXACT_COUNTS, &sections->exact_counts));
  SZG_TRY(szg_reader_map(reader, SZG_SECTION_EXACT_MASK, &sections->exact_mask));
  SZG_TRY(szg_reader_map(reader, SZG_SECTION_EXACT_VALUES, &sections->exact_values));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_FILL_COUNTS, &sections->fill_counts));
  return szg_reader_map(reader, SZG_SECTION_FILL_MASK, &sections->fill_mask);
}

szg_outlier_share szg_outlier_share_at(const szg_outlier_sections *sections, uint64_t tile_index) {
  return (szg_outlier_share){
      .exact_mask_bytes = szg_count_at(&sections->exact_counts, 2 * tile_index),
      .exact_count = szg_count_at(&sections->exact_counts, 2 * tile_index + 1),
      .fill_mask_bytes = szg_count_at(&sections->fill_counts, tile_index)};
}

bool szg_has_outliers(const szg_outlier_share *share) {
  return share->exact_mask_bytes | share->exact_count | share->fill_mask_bytes;
}

/* A tile's bytes of a section, if the frame has it. */
static const uint8_t *bytes_from(const szg_loaded *loaded, uint64_t offset) {
  return loaded->bytes ? loaded->bytes + offset : NULL;
}

szgpu_status szg_outliers_apply(const szg_read_job *job, uint64_t tile_index,
                                const szg_tile *placed, const szg_part_start *at, void *values) {
  const szg_outlier_sections *const sections = &job->outliers;
  szg_outlier_share const share = szg_outlier_share_at(sections, tile_index);
  if (!szg_has_outliers(&share)) return SZGPU_OK;
  szgpu_dtype const dtype = szg_header_coded_dtype(job->header);
  uint64_t const value_bytes = szg_dtype_bytes(dtype);
  if (szg_reader_only_asks(&job->reader)) {
    SZG_TRY(szg_reader_ask(&job->reader, &sections->exact_mask, at->exact_mask,
                           share.exact_mask_bytes));
    SZG_TRY(szg_reader_ask(&job->reader, &sections->exact_values, at->exact_value * value_bytes,
                           share.exact_count * value_bytes));
    return szg_reader_ask(&job->reader, &sections->fill_mask, at->fill_mask, share.fill_mask_bytes);
  }
  szg_tile_outliers const outliers = {
      .exact_mask = bytes_from(&sections->exact_mask, at->exact_mask),
      .exact_values = bytes_from(&sections->exact_values, at->exact_value * value_bytes),
      .fill_mask = bytes_from(&sections->fill_mask, at->fill_mask),
      .exact_mask_bytes = share.exact_mask_bytes,
      .exact_count = share.exact_count,
      .fill_mask_bytes = share.fill_mask_bytes,
  };
  return szg_outlier_apply(dtype, placed, &outliers, job->header->fill_bits, values);
}
