/* places.cu - running sums of the tiles' counts, and lists of tiles, by CUB's device scans.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves, for each tile: the scan reads 2 bytes per kind of count (4 for exact values) and writes
 * 40; a selection reads 1 to 6 and writes 4 for each listed tile.
 */
#include "core/places.h"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/cub.cuh>

#include "core/cuda_check.cuh"

namespace {

struct TileShare { /* tile t's share of each section; 0 past the last tile */
  szg_grid grid;
  szg_tile_counts counts;

  __host__ __device__ szg_tile_place operator()(uint64_t t) const {
    szg_tile_place share = {0, 0, 0, 0, 0};
    if (t >= grid.tile_count) return share;
    if (counts.bits) share.bit = counts.bits[t] + (uint64_t)szg_tile_at(&grid, t).value_count;
    if (counts.escapes) share.escape = counts.escapes[t];
    if (counts.exact) {
      share.exact_mask = counts.exact[2 * t];
      share.exact_value = counts.exact[2 * t + 1];
    }
    if (counts.fill_mask_bytes) share.fill_mask = counts.fill_mask_bytes[t];
    return share;
  }
};

struct PlaceSum {
  __host__ __device__ szg_tile_place operator()(const szg_tile_place &a,
                                                const szg_tile_place &b) const {
    return {a.bit + b.bit, a.escape + b.escape, a.exact_mask + b.exact_mask,
            a.exact_value + b.exact_value, a.fill_mask + b.fill_mask};
  }
};

struct TileNumber {
  __host__ __device__ uint32_t operator()(uint64_t t) const { return (uint32_t)t; }
};

struct TileFilter { /* keeps the tiles with a nonzero count in any array that is not NULL */
  const uint8_t *marks;
  const uint16_t *counts, *exact, *fill_mask_bytes;

  __host__ __device__ bool operator()(uint32_t t) const {
    uint64_t const pair = 2 * (uint64_t)t;
    return (marks && marks[t]) || (counts && counts[t]) ||
           (exact && (exact[pair] | exact[pair + 1])) || (fill_mask_bytes && fill_mask_bytes[t]);
  }
};

} // namespace

/* If scratch is NULL, only sets *scratch_bytes. */
static cudaError_t scan_places(void *scratch, size_t *scratch_bytes, const TileShare &share,
                               uint64_t tile_count, szg_tile_place *places, cudaStream_t stream) {
  auto const shares =
      thrust::make_transform_iterator(thrust::make_counting_iterator<uint64_t>(0), share);
  szg_tile_place const start = {0, 0, 0, 0, 0};
  return cub::DeviceScan::ExclusiveScan(scratch, *scratch_bytes, shares, places, PlaceSum(), start,
                                        tile_count + 1, stream);
}

static cudaError_t select_tiles(void *scratch, size_t *scratch_bytes, const TileFilter &filter,
                                uint64_t tile_count, uint32_t *tiles, uint32_t *selected_count,
                                cudaStream_t stream) {
  auto const numbers =
      thrust::make_transform_iterator(thrust::make_counting_iterator<uint64_t>(0), TileNumber());
  return cub::DeviceSelect::If(scratch, *scratch_bytes, numbers, tiles, selected_count,
                               (int64_t)tile_count, filter, stream);
}

szgpu_status szg_places_carve_cuda(szg_arena *arena, uint64_t tile_count, szg_places_cuda *work) {
  SZG_REQUIRE(tile_count <= UINT32_MAX, SZGPU_UNSUPPORTED);
  size_t scan_bytes = 0, select_bytes = 0;
  SZG_TRY_CUDA(scan_places(nullptr, &scan_bytes, TileShare(), tile_count, nullptr, nullptr));
  SZG_TRY_CUDA(
      select_tiles(nullptr, &select_bytes, TileFilter(), tile_count, nullptr, nullptr, nullptr));
  work->places = (szg_tile_place *)szg_arena_take(arena, tile_count + 1, sizeof *work->places);
  work->ends = work->places ? work->places + 1 : nullptr;
  work->tiles = (uint32_t *)szg_arena_take(arena, tile_count, sizeof *work->tiles);
  work->tile_count = (uint32_t *)szg_arena_take(arena, 1, sizeof *work->tile_count);
  work->scratch_bytes = scan_bytes > select_bytes ? scan_bytes : select_bytes;
  work->scratch = szg_arena_take(arena, work->scratch_bytes, 1);
  return SZGPU_OK;
}

szgpu_status szg_places_scan_cuda(const szg_places_cuda *work, const szg_grid *grid,
                                  const szg_tile_counts *counts, struct CUstream_st *stream) {
  size_t scratch_bytes = work->scratch_bytes;
  TileShare const share = {*grid, *counts};
  SZG_TRY_CUDA(
      scan_places(work->scratch, &scratch_bytes, share, grid->tile_count, work->places, stream));
  return SZGPU_OK;
}

static szgpu_status list_tiles(const szg_places_cuda *work, uint64_t tile_count,
                               const TileFilter &filter, cudaStream_t stream) {
  size_t scratch_bytes = work->scratch_bytes;
  SZG_TRY_CUDA(select_tiles(work->scratch, &scratch_bytes, filter, tile_count, work->tiles,
                            work->tile_count, stream));
  return SZGPU_OK;
}

szgpu_status szg_places_select_marked_cuda(const szg_places_cuda *work, uint64_t tile_count,
                                           const uint8_t *tile_marks, struct CUstream_st *stream) {
  return list_tiles(work, tile_count, {tile_marks, nullptr, nullptr, nullptr}, stream);
}

szgpu_status szg_places_select_counted_cuda(const szg_places_cuda *work, uint64_t tile_count,
                                            const uint16_t *counts, struct CUstream_st *stream) {
  return list_tiles(work, tile_count, {nullptr, counts, nullptr, nullptr}, stream);
}

szgpu_status szg_places_select_marks_counted_cuda(const szg_places_cuda *work, uint64_t tile_count,
                                                  const uint16_t *exact,
                                                  const uint16_t *fill_mask_bytes,
                                                  struct CUstream_st *stream) {
  return list_tiles(work, tile_count, {nullptr, nullptr, exact, fill_mask_bytes}, stream);
}
