/* outlier.c - escapes, exact values and fill masks, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "outlier/outlier.h"

#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "rle/rle.h"

szg_outlier_lists szg_outlier_lists_make(szg_account *account) {
  szg_buffer const empty = {.account = account};
  return (szg_outlier_lists){empty, empty, empty, empty};
}

void szg_outlier_lists_release(szg_outlier_lists *lists) {
  szg_buffer_release(&lists->escapes);
  szg_buffer_release(&lists->exact_mask);
  szg_buffer_release(&lists->exact_values);
  szg_buffer_release(&lists->fill_mask);
}

szgpu_status szg_outlier_add_escapes(uint32_t lattice_bits, const int64_t *escapes,
                                     uint32_t escape_count, uint64_t tile_index,
                                     szg_outlier_lists *lists, szg_outlier_counts *counts) {
  counts->escapes[tile_index] = (uint16_t)escape_count;
  if (escape_count == 0) return SZGPU_OK;
  unsigned const width = lattice_bits / 8;
  SZG_TRY(szg_buffer_reserve(&lists->escapes, (size_t)escape_count * width));
  uint8_t *out = lists->escapes.bytes + lists->escapes.used_bytes;
  for (uint32_t i = 0; i < escape_count; i++, out += width)
    szg_store_narrow(out, (uint64_t)escapes[i], width);
  lists->escapes.used_bytes += (size_t)escape_count * width;
  return SZGPU_OK;
}

/* Sets the mask to 1 at the values marked `mark`; returns their number. */
SZG_HOT static uint32_t find_mask(const uint8_t *restrict marks, uint8_t mark, uint32_t count,
                                  uint8_t *restrict mask) {
  uint32_t marked_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    mask[i] = marks[i] == mark;
    marked_count += mask[i];
  }
  return marked_count;
}

/* Appends the coded mask of the values marked `mark`; gives its bytes and their number. */
static szgpu_status add_mask(const szg_tile *tile, const uint8_t *marks, uint8_t mark,
                             uint32_t distance, szg_buffer *list, uint16_t *mask_bytes,
                             uint32_t *value_count) {
  uint8_t mask[SZG_TILE_VALUES];
  uint32_t const marked_count = find_mask(marks, mark, tile->value_count, mask);
  *value_count = marked_count;
  *mask_bytes = 0;
  if (marked_count == 0) return SZGPU_OK;
  SZG_TRY(szg_buffer_reserve(list, SZG_MASK_MAX_BYTES));
  *mask_bytes =
      (uint16_t)szg_mask_encode(mask, tile->value_count, distance, list->bytes + list->used_bytes);
  list->used_bytes += *mask_bytes;
  return SZGPU_OK;
}

szgpu_status szg_outlier_add_marked(szgpu_dtype dtype, const szg_tile *tile, const uint8_t *marks,
                                    const void *frame_values, uint64_t tile_index,
                                    szg_outlier_lists *lists, szg_outlier_counts *counts) {
  counts->exact_mask_bytes[tile_index] = 0;
  counts->exact_values[tile_index] = 0;
  counts->fill_mask_bytes[tile_index] = 0;
  if (!marks) return SZGPU_OK;
  uint32_t exact_count, fill_count;
  SZG_TRY(add_mask(tile, marks, SZG_MARK_EXACT, 0, &lists->exact_mask,
                   &counts->exact_mask_bytes[tile_index], &exact_count));
  SZG_TRY(add_mask(tile, marks, SZG_MARK_FILL, tile->plane_values, &lists->fill_mask,
                   &counts->fill_mask_bytes[tile_index], &fill_count));
  counts->exact_values[tile_index] = (uint16_t)exact_count;
  if (exact_count == 0) return SZGPU_OK;
  size_t const width = szg_dtype_bytes(dtype);
  SZG_TRY(szg_buffer_reserve(&lists->exact_values, exact_count * width));
  uint8_t *out = lists->exact_values.bytes + lists->exact_values.used_bytes;
  const uint8_t *mark = marks;
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++) {
      const uint8_t *value = (const uint8_t *)frame_values +
                             width * (tile->first_value + z * tile->z_stride + y * tile->y_stride);
      for (uint32_t x = 0; x < tile->x_extent; x++, value += width) {
        if (*mark++ != SZG_MARK_EXACT) continue;
        memcpy(out, value, width);
        out += width;
      }
    }
  lists->exact_values.used_bytes += exact_count * width;
  return SZGPU_OK;
}

/* Writes the next of `values` wherever the mask is set. */
static void write_exact(const szg_tile *tile, const uint8_t *mask, size_t width,
                        const uint8_t *values, void *frame_values) {
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++) {
      uint8_t *out = (uint8_t *)frame_values +
                     width * (tile->first_value + z * tile->z_stride + y * tile->y_stride);
      for (uint32_t x = 0; x < tile->x_extent; x++, out += width) {
        if (!*mask++) continue;
        memcpy(out, values, width);
        values += width;
      }
    }
}

/* Fill values are frequent, so these rows have no branch and vectorize. */
SZG_INLINE void fill_row_f32(const uint8_t *restrict mask, uint32_t count, uint32_t fill,
                             uint8_t *restrict row) {
  for (uint32_t x = 0; x < count; x++) {
    uint32_t const is_fill = -(uint32_t)mask[x];
    szg_store_u32(row + 4 * (size_t)x,
                  (szg_load_u32(row + 4 * (size_t)x) & ~is_fill) | (fill & is_fill));
  }
}

SZG_INLINE void fill_row_f64(const uint8_t *restrict mask, uint32_t count, uint64_t fill,
                             uint8_t *restrict row) {
  for (uint32_t x = 0; x < count; x++) {
    uint64_t const is_fill = -(uint64_t)mask[x];
    szg_store_u64(row + 8 * (size_t)x,
                  (szg_load_u64(row + 8 * (size_t)x) & ~is_fill) | (fill & is_fill));
  }
}

SZG_HOT static void write_fill(szgpu_dtype dtype, const szg_tile *tile, const uint8_t *mask,
                               uint64_t fill_bits, void *frame_values) {
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++, mask += tile->x_extent) {
      uint64_t const row_start = tile->first_value + z * tile->z_stride + y * tile->y_stride;
      if (dtype == SZGPU_F32)
        fill_row_f32(mask, tile->x_extent, (uint32_t)fill_bits,
                     (uint8_t *)frame_values + 4 * row_start);
      else
        fill_row_f64(mask, tile->x_extent, fill_bits, (uint8_t *)frame_values + 8 * row_start);
    }
}

szgpu_status szg_outlier_apply(szgpu_dtype dtype, const szg_tile *tile,
                               const szg_tile_outliers *outliers, uint64_t fill_bits,
                               void *frame_values) {
  uint8_t mask[SZG_TILE_VALUES];
  if (outliers->exact_mask_bytes) {
    SZG_REQUIRE(szg_mask_decode(outliers->exact_mask, outliers->exact_mask_bytes, tile->value_count,
                                0, mask),
                SZGPU_BAD_DATA);
    uint32_t marked_count = 0;
    for (uint32_t i = 0; i < tile->value_count; i++) marked_count += mask[i];
    SZG_REQUIRE(marked_count == outliers->exact_count, SZGPU_BAD_DATA);
    write_exact(tile, mask, szg_dtype_bytes(dtype), outliers->exact_values, frame_values);
  } else {
    SZG_REQUIRE(outliers->exact_count == 0, SZGPU_BAD_DATA);
  }
  if (outliers->fill_mask_bytes) {
    SZG_REQUIRE(szg_mask_decode(outliers->fill_mask, outliers->fill_mask_bytes, tile->value_count,
                                tile->plane_values, mask),
                SZGPU_BAD_DATA);
    write_fill(dtype, tile, mask, fill_bits, frame_values);
  }
  return SZGPU_OK;
}
