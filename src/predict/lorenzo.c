/* lorenzo.c - values of a tile to codes and back, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "predict/lorenzo.h"

#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "predict/sum_rows.h"

enum { CACHE_LINE = 64, BLOCK_VALUES = 32 };

/* The number of rows of the tile's plane z that may be read in whole blocks; memory after the
 * tile's last value may not exist. */
static uint32_t count_readable_rows(const szg_tile *tile, uint32_t z) {
  uint32_t const width = tile->x_extent;
  uint32_t const read = (width + BLOCK_VALUES - 1) / BLOCK_VALUES * BLOCK_VALUES;
  if (read == width) return tile->y_extent;
  uint64_t const there =
      (tile->z_extent - 1 - z) * tile->z_stride + (tile->y_extent - 1) * tile->y_stride + width;
  if (there < read) return 0;
  return (uint32_t)szg_lesser_u64(tile->y_extent, (there - read) / tile->y_stride + 1);
}

/* Prefetching addresses beyond the field does no harm. */
SZG_INLINE void prefetch_row(const void *row, size_t row_bytes) {
  for (size_t ahead = 0; ahead < row_bytes; ahead += CACHE_LINE)
    __builtin_prefetch((void *)((uintptr_t)row + ahead));
}

#define VALUE float
#define BITS uint32_t
#define POINT int32_t
#define FOUND int32_t
#define LATTICE szg_lattice_f32
#define RESTORE szg_restore_f32
#define WITHIN szg_within_f32
#define GIVE szg_value_f32
#define SUFFIX f32
#include "predict/quantize.inc"

#define VALUE float
#define BITS uint32_t
#define POINT int32_t
#define FOUND int32_t
#define LATTICE szg_lattice_f32_close
#define RESTORE szg_restore_f32_close
#define WITHIN szg_within_f32_close
#define GIVE szg_value_f32_close
#define SUFFIX f32_close
#include "predict/quantize.inc"

#define VALUE double
#define BITS uint64_t
#define POINT int32_t
#define FOUND int32_t
#define LATTICE szg_lattice_f64
#define RESTORE szg_restore_f64
#define WITHIN szg_within_f64
#define GIVE szg_value_f64
#define SUFFIX f64
#include "predict/quantize.inc"

#define VALUE double
#define BITS uint64_t
#define POINT int64_t
#define FOUND int64_t
#define LATTICE szg_lattice_f64_wide
#define RESTORE szg_restore_f64_wide
#define WITHIN szg_within_f64
#define GIVE szg_value_f64_wide
#define SUFFIX f64_wide
#include "predict/quantize.inc"

#define VALUE float
#define BITS uint32_t
#define POINT int16_t
#define FOUND int32_t
#define LATTICE szg_lattice_f32
#define RESTORE szg_restore_f32
#define WITHIN szg_within_f32
#define GIVE szg_value_f32
#define SUFFIX f32_16
#include "predict/quantize.inc"

#define VALUE double
#define BITS uint64_t
#define POINT int16_t
#define FOUND int32_t
#define LATTICE szg_lattice_f64
#define RESTORE szg_restore_f64
#define WITHIN szg_within_f64
#define GIVE szg_value_f64
#define SUFFIX f64_16
#include "predict/quantize.inc"

#define UPOINT uint16_t
#define SUM_ROWS SZG_WITH_AVX2(szg_sum_rows_16_avx2, sum_rows_16)
#define SUFFIX 16
#include "predict/difference.inc"

#define UPOINT uint32_t
#define SUM_ROWS SZG_WITH_AVX2(szg_sum_rows_32_avx2, sum_rows_32)
#define SUFFIX 32
#include "predict/difference.inc"

#define UPOINT uint64_t
#define SUM_ROWS sum_rows_64
#define SUFFIX 64
#include "predict/difference.inc"

#define POINT int32_t
#define UPOINT uint32_t
#define SUFFIX 32
#include "predict/codes.inc"

#define POINT int64_t
#define UPOINT uint64_t
#define SUFFIX 64
#include "predict/codes.inc"

void szg_tile_quantize(const szg_quantizer *k, const szg_tile *tile, const void *frame_values,
                       szg_tile_work *work) {
  switch (k->arithmetic) {
    case SZG_ARITHMETIC_F32:
      work->has_marks = quantize_tile_f32(k, tile, frame_values, work->lattice.i32, work->marks);
      break;
    case SZG_ARITHMETIC_F32_CLOSE:
      work->has_marks =
          quantize_tile_f32_close(k, tile, frame_values, work->lattice.i32, work->marks);
      break;
    case SZG_ARITHMETIC_F64:
      work->has_marks = quantize_tile_f64(k, tile, frame_values, work->lattice.i32, work->marks);
      break;
    default:
      work->has_marks =
          quantize_tile_f64_wide(k, tile, frame_values, work->lattice.i64, work->marks);
  }
}

/* f32 converts to f64 exactly, so one comparison serves both types. */
void szg_tile_mark_constant(const szg_quantizer *k, szgpu_dtype dtype, uint64_t constant_bits,
                            const szg_tile *tile, const void *frame_values, szg_tile_work *work) {
  double const constant = szg_value_of_bits(dtype, constant_bits);
  size_t const width = szg_dtype_bytes(dtype);
  uint8_t *mark = work->marks;
  work->has_marks = false;
  for (uint32_t z = 0; z < tile->z_extent; z++)
    for (uint32_t y = 0; y < tile->y_extent; y++) {
      const uint8_t *value = (const uint8_t *)frame_values +
                             width * (tile->first_value + z * tile->z_stride + y * tile->y_stride);
      for (uint32_t x = 0; x < tile->x_extent; x++, value += width, mark++) {
        uint64_t const bits = dtype == SZGPU_F32 ? szg_load_u32(value) : szg_load_u64(value);
        bool const is_coded = szg_value_of_bits(dtype, bits) == constant; /* false for NaN */
        *mark = is_coded ? SZG_MARK_CODED : SZG_MARK_EXACT;
        if (k->has_fill && bits == k->fill_bits) *mark = SZG_MARK_FILL;
        work->has_marks |= *mark != SZG_MARK_CODED;
      }
    }
}

void szg_tile_difference(uint32_t lattice_bits, const szg_tile *tile, uint32_t axes,
                         const szg_tile_points *lattice, szg_tile_points *deltas) {
  assert(lattice_bits == 32 || lattice_bits == 64);
  if (lattice_bits == 64)
    difference_tile_64(tile, axes, (const uint64_t *)lattice->i64, (uint64_t *)deltas->i64);
  else
    difference_tile_32(tile, axes, (const uint32_t *)lattice->i32, (uint32_t *)deltas->i32);
}

uint32_t szg_tile_code(uint32_t lattice_bits, const szg_tile *tile, uint32_t radius,
                       const szg_tile_work *work, uint16_t *codes, int64_t *escapes) {
  assert(lattice_bits == 32 || lattice_bits == 64);
  uint32_t const count = tile->value_count;
  uint32_t const escape_count = lattice_bits == 64
                                    ? code_tile_64(count, radius, work->deltas.i64, codes)
                                    : code_tile_32(count, radius, work->deltas.i32, codes);
  for (uint32_t i = 0, found = 0; found < escape_count; i++)
    if (codes[i] == SZG_ESCAPE_SYMBOL)
      escapes[found++] = lattice_bits == 64 ? work->deltas.i64[i] : work->deltas.i32[i];
  return escape_count;
}

bool szg_tile_uncode(uint32_t lattice_bits, const szg_tile *tile, uint32_t radius,
                     const uint16_t *codes, const uint8_t *escapes, uint32_t escape_count,
                     unsigned escape_bytes, szg_tile_work *work) {
  assert(lattice_bits == 32 || lattice_bits == 64);
  uint32_t const count = tile->value_count;
  uint32_t const found_count = lattice_bits == 64
                                   ? uncode_tile_64(count, radius, codes, work->deltas.i64)
                                   : uncode_tile_32(count, radius, codes, work->deltas.i32);
  if (found_count != escape_count) return false;
  for (uint32_t i = 0, found = 0; found < escape_count; i++) {
    if (codes[i] != SZG_ESCAPE_SYMBOL) continue;
    int64_t const delta = szg_load_narrow(escapes + (size_t)escape_bytes * found++, escape_bytes);
    if (lattice_bits == 64)
      work->deltas.i64[i] = delta;
    else
      work->deltas.i32[i] = (int32_t)(uint32_t)(uint64_t)delta;
  }
  return true;
}

void szg_tile_sum(uint32_t lattice_bits, const szg_tile *tile, uint32_t axes, szg_tile_work *work) {
  assert(lattice_bits == 32 || lattice_bits == 64);
  if (lattice_bits == 64)
    sum_tile_64(tile, axes, (uint64_t *)work->deltas.i64);
  else
    sum_tile_32(tile, axes, (uint32_t *)work->deltas.i32);
}

void szg_tile_restore(const szg_quantizer *k, const szg_tile *tile, const szg_tile_work *work,
                      void *frame_values) {
  switch (k->arithmetic) {
    case SZG_ARITHMETIC_F32:
      restore_tile_f32(k, tile, work->deltas.i32, frame_values);
      break;
    case SZG_ARITHMETIC_F32_CLOSE:
      restore_tile_f32_close(k, tile, work->deltas.i32, frame_values);
      break;
    case SZG_ARITHMETIC_F64:
      restore_tile_f64(k, tile, work->deltas.i32, frame_values);
      break;
    default:
      restore_tile_f64_wide(k, tile, work->deltas.i64, frame_values);
  }
}

/* ---- the tile layout ---- */

static bool quantize_16(const szg_quantizer *k, const szg_tile *tile, const void *frame_values,
                        szg_tile_work *work) {
  return k->arithmetic == SZG_ARITHMETIC_F32
             ? quantize_tile_f32_16(k, tile, frame_values, work->lattice.i16, work->marks)
             : quantize_tile_f64_16(k, tile, frame_values, work->lattice.i16, work->marks);
}

void szg_tile_values_to_deltas(const szg_quantizer *k, uint32_t lattice_bits, uint32_t axes,
                               const szg_tile *tile, const void *frame_values, szg_tile_work *work,
                               void *deltas) {
  if (lattice_bits == 16) {
    work->has_marks = quantize_16(k, tile, frame_values, work);
    difference_tile_16(tile, axes, (const uint16_t *)work->lattice.i16, deltas);
    return;
  }
  szg_tile_quantize(k, tile, frame_values, work);
  if (lattice_bits == 32)
    difference_tile_32(tile, axes, (const uint32_t *)work->lattice.i32, deltas);
  else
    difference_tile_64(tile, axes, (const uint64_t *)work->lattice.i64, deltas);
}

void szg_tile_deltas_to_values(const szg_quantizer *k, uint32_t lattice_bits, uint32_t axes,
                               const szg_tile *tile, szg_tile_work *work, void *frame_values) {
  if (lattice_bits != 16) {
    szg_tile_sum(lattice_bits, tile, axes, work);
    szg_tile_restore(k, tile, work, frame_values);
    return;
  }
  int16_t *const points = work->deltas.i16;
  sum_tile_16(tile, axes, (uint16_t *)points);
  if (k->arithmetic == SZG_ARITHMETIC_F32)
    restore_tile_f32_16(k, tile, points, frame_values);
  else
    restore_tile_f64_16(k, tile, points, frame_values);
}
