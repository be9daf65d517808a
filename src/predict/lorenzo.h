/* lorenzo.h - values of a tile to differences of lattice points, to codes, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lorenzo prediction (Ibarria et al., 2003) on quantized values (cuSZ's dual quantization), local
 * to a tile: points outside count as 0. Along a set S of axes the whole tile is differenced; along
 * each other axis only the values whose coordinates on all axes of S are 0, so that no part of a
 * tile goes unpredicted. Differences wrap in 32 bits (64 on the wide lattice): integers make the
 * inverse exact in any order.
 */
#ifndef SZG_LORENZO_H
#define SZG_LORENZO_H

#include <stdbool.h>
#include <stdint.h>

#include "container/format.h"
#include "core/device.h"
#include "core/tiles.h"
#include "quant/quant_core.h"

SZG_C_BEGIN

/* Lattice points of a tile or their differences, in code order. slim: on the 16-bit lattice, which
 * only the tile layout has. */
typedef union szg_tile_points {
  int16_t slim[SZG_TILE_VALUES];
  int32_t narrow[SZG_TILE_VALUES];
  int64_t wide[SZG_TILE_VALUES];
} szg_tile_points;

/* The work for one tile; each worker has one. */
typedef struct szg_tile_work {
  szg_tile_points lattice, deltas;
  uint8_t marks[SZG_TILE_VALUES]; /* SZG_MARK_*; valid if has_marks */
  bool has_marks;
} szg_tile_work;

/* Quantizes the tile of the frame at frame_values into work->lattice and work->marks. A value
 * without a lattice point, or a fill value, takes the one before it in its row (0 at its start). */
void szg_tile_quantize(const szg_quantizer *quantizer, const szg_tile *tile,
                       const void *frame_values, szg_tile_work *work);

/* Only marks, for a field with all other values equal to the constant as a number. */
void szg_tile_mark_constant(const szg_quantizer *quantizer, szgpu_dtype dtype,
                            uint64_t constant_bits, const szg_tile *tile, const void *frame_values,
                            szg_tile_work *work);

/* Lattice points to differences, along the axes of S. */
void szg_tile_difference(bool is_wide, const szg_tile *tile, uint32_t axes,
                         const szg_tile_points *lattice, szg_tile_points *deltas);

/* work->deltas to symbols: delta + radius, or the escape. Returns how many escapes; their deltas
 * go to escapes in order (room for a whole tile), as int64. */
uint32_t szg_tile_code(bool is_wide, const szg_tile *tile, uint32_t radius,
                       const szg_tile_work *work, uint16_t *codes, int64_t *escapes);

/* The inverse of szg_tile_code: `escapes` has the tile's escapes, escape_bytes each. False if the
 * codes have another number of escapes than escape_count. */
bool szg_tile_uncode(bool is_wide, const szg_tile *tile, uint32_t radius, const uint16_t *codes,
                     const uint8_t *escapes, uint32_t escape_count, unsigned escape_bytes,
                     szg_tile_work *work);

/* The inverse of szg_tile_difference, in place: work->deltas become lattice points. */
void szg_tile_sum(bool is_wide, const szg_tile *tile, uint32_t axes, szg_tile_work *work);

/* Lattice points in work->deltas to values of the frame. */
void szg_tile_restore(const szg_quantizer *quantizer, const szg_tile *tile,
                      const szg_tile_work *work, void *frame_values);

/* All steps at once for the tile layout: its lattice may have 16 bits (lattice_bits: 16, 32 or 64;
 * 16 only with SZG_ARITHMETIC_F32 and _F64), and differences wrap in as many bits. deltas: int16_t,
 * int32_t or int64_t, SZG_TILE_VALUES of them; may be work->deltas. Marks go to work->marks. */
void szg_tile_values_to_deltas(const szg_quantizer *quantizer, uint32_t lattice_bits, uint32_t axes,
                               const szg_tile *tile, const void *frame_values, szg_tile_work *work,
                               void *deltas);

/* The inverse: turns the work's deltas into lattice points, and these into values of the frame. */
void szg_tile_deltas_to_values(const szg_quantizer *quantizer, uint32_t lattice_bits, uint32_t axes,
                               const szg_tile *tile, szg_tile_work *work, void *frame_values);

static inline bool szg_is_wide(uint32_t arithmetic) {
  return arithmetic == SZG_ARITHMETIC_F64_WIDE;
}

/* ---- CUDA: all pointers except quantizer and grid are to device memory ---- */

/* The results of coding a frame. */
typedef struct szg_coded_frame_cuda {
  uint16_t *codes;          /* [values], code order; aligned to 16 bytes */
  uint16_t *escape_counts;  /* [tiles] */
  uint8_t *tile_marks;      /* [tiles]: 1 if some value is exact or fill */
  int64_t *escape_extremes; /* least and greatest escaped delta; 0 if there is none */
} szg_coded_frame_cuda;

/* Values to codes, along *axes with *radius. escape_extremes must be 0, 0 before. */
szgpu_status szg_tiles_code_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                                 const void *frame_values, const uint32_t *axes,
                                 const uint32_t *radius, const szg_coded_frame_cuda *coded,
                                 struct CUstream_st *stream) SZG_CHECKED;

/* Writes the escaped deltas of the listed tiles, escape_bytes each, to each tile's place. */
szgpu_status szg_tiles_write_escapes_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                                          const void *frame_values, uint32_t axes, uint32_t radius,
                                          const uint32_t *tiles, const uint32_t *tile_count,
                                          const szg_tile_place *places, unsigned escape_bytes,
                                          uint8_t *escapes, struct CUstream_st *stream) SZG_CHECKED;

/* Codes of a frame to values. */
typedef struct szg_restore_input_cuda {
  const uint16_t *codes;       /* aligned to 16 bytes */
  const uint8_t *code_lengths; /* [2 * radius] */
  szg_tile_counts counts;
  const szg_tile_place *places;
  const uint8_t *escapes; /* NULL: none */
  unsigned escape_bytes;
  uint32_t axes, radius;
} szg_restore_input_cuda;

/* Restores tiles first_tile .. end_tile - 1. Value first_value of the frame goes to `values`; only
 * value_count values from there on are written. verdict->bad_data: a tile's codes take other bits,
 * or have other escapes, than the tile claims. */
szgpu_status szg_tiles_restore_cuda(const szg_quantizer *quantizer, const szg_grid *grid,
                                    const szg_restore_input_cuda *input, uint64_t first_tile,
                                    uint64_t end_tile, void *values, uint64_t first_value,
                                    uint64_t value_count, szg_verdict *verdict,
                                    struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
