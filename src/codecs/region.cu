/* region.cu - regions of frames on the GPU: boxes, lists of tiles, and the copy of the region.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves up to 98 bytes for each tile of the box, there and back, and each value of the region once.
 */
#include "codecs/region_cuda.h"

#include "core/cuda_check.cuh"

/* ---- geometry ---- */

void szg_region_carve_cuda(szg_arena *arena, uint64_t byte_count, uint64_t tile_count,
                           szg_region_plan_cuda *plan) {
  plan->values = (uint8_t *)szg_arena_take(arena, byte_count, 1);
  plan->sizes = (uint16_t *)szg_arena_take(arena, tile_count, sizeof *plan->sizes);
  plan->first_words = (uint64_t *)szg_arena_take(arena, tile_count, sizeof *plan->first_words);
  plan->exact = (uint16_t *)szg_arena_take(arena, tile_count, 2 * sizeof *plan->exact);
  plan->fill_mask_bytes =
      (uint16_t *)szg_arena_take(arena, tile_count, sizeof *plan->fill_mask_bytes);
  plan->places = (szg_tile_place *)szg_arena_take(arena, tile_count, sizeof *plan->places);
  plan->ends = (szg_tile_place *)szg_arena_take(arena, tile_count, sizeof *plan->ends);
  plan->line_tiles = (uint32_t *)szg_arena_take(arena, tile_count, sizeof *plan->line_tiles);
}

szg_box szg_region_box(const szg_region *region, const uint64_t units[SZG_BOX_AXES]) {
  szg_box box;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    uint64_t const end = region->first[axis] + region->count[axis];
    box.first[axis] = region->first[axis] / units[axis] * units[axis];
    box.end[axis] = szg_min_u64(szg_align_up(end, units[axis]), region->extent[axis]);
  }
  return box;
}

szg_box szg_region_rows(const szg_region *region, const szg_grid *frame) {
  int const row_axis = frame->row_axis;
  szg_box box = szg_box_of_level(frame, 0);
  box.first[row_axis] = region->first[row_axis];
  box.end[row_axis] = region->first[row_axis] + region->count[row_axis];
  return box;
}

szg_grid szg_grid_of_box(const szg_grid *frame, const szg_box *box) {
  szg_grid grid = *frame;
  grid.batch_extent = box->end[0] - box->first[0];
  grid.z_extent = box->end[1] - box->first[1];
  grid.y_extent = box->end[2] - box->first[2];
  grid.x_extent = box->end[3] - box->first[3];
  szg_grid_count_tiles(&grid);
  grid.row_extent = 1; /* nobody takes a part of it */
  grid.row_values = grid.value_count;
  grid.row_quantum = 1;
  return grid;
}

szg_box szg_tiles_of_box(const szg_grid *frame, const szg_box *box) {
  uint64_t const extents[] = {1, frame->tile_z, frame->tile_y, frame->tile_x};
  szg_box tiles;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) {
    tiles.first[axis] = box->first[axis] / extents[axis];
    tiles.end[axis] = szg_div_up(box->end[axis], extents[axis]);
  }
  return tiles;
}

namespace {

struct RegionPolicy {
  static constexpr int kThreads = 256;
  static constexpr unsigned kWarps = kThreads / 32;
  static constexpr unsigned kMostBlocks = 2048;
};

/* ---- lists ---- */

struct ListJob {
  szg_box tiles;
  uint64_t z_tiles, y_tiles, x_tiles; /* of all */
  uint64_t tile_count;                /* of the box */
  szg_tile_lists_cuda all;
  szg_region_plan_cuda plan;

  __device__ uint64_t number_in_all(uint64_t i) const {
    uint64_t const x_count = tiles.end[3] - tiles.first[3];
    uint64_t const y_count = tiles.end[2] - tiles.first[2];
    uint64_t const z_count = tiles.end[1] - tiles.first[1];
    uint64_t const row = i / x_count, layer = row / y_count, batch = layer / z_count;
    uint64_t const all_layers =
        (tiles.first[0] + batch) * z_tiles + tiles.first[1] + (layer - batch * z_count);
    uint64_t const all_rows = all_layers * y_tiles + tiles.first[2] + (row - layer * y_count);
    return all_rows * x_tiles + tiles.first[3] + (i - row * x_count);
  }
};

__global__ void __launch_bounds__(RegionPolicy::kThreads)
    region_list_kernel(const __grid_constant__ ListJob job) {
  uint64_t const stride = (uint64_t)gridDim.x * RegionPolicy::kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * RegionPolicy::kThreads + threadIdx.x; i < job.tile_count;
       i += stride) {
    uint64_t const t = job.number_in_all(i);
    if (job.all.sizes) job.plan.sizes[i] = job.all.sizes[t];
    if (job.all.first_words) job.plan.first_words[i] = job.all.first_words[t];
    if (job.all.exact) {
      job.plan.exact[2 * i] = job.all.exact[2 * t];
      job.plan.exact[2 * i + 1] = job.all.exact[2 * t + 1];
    }
    if (job.all.fill_mask_bytes) job.plan.fill_mask_bytes[i] = job.all.fill_mask_bytes[t];
    if (job.all.places) {
      job.plan.places[i] = job.all.places[t];
      job.plan.ends[i] = job.all.ends[t];
    }
  }
}

/* ---- tiles of a line ---- */

struct LineJob {
  szg_region region;
  uint64_t row_count, tile_values;
  uint32_t first_tile, end_tile;
};

/* Whether a row of the region has any of the line's values first to end - 1. Rows are in the line
 * one behind the other, so the first one that ends behind `first` decides. */
__device__ bool meets_rows(const LineJob &job, uint64_t first, uint64_t end) {
  uint64_t begin = 0, found = job.row_count;
  while (begin < found) {
    uint64_t const middle = begin + (found - begin) / 2;
    if (szg_region_row_at(&job.region, middle) + job.region.count[3] > first)
      found = middle;
    else
      begin = middle + 1;
  }
  return found < job.row_count && szg_region_row_at(&job.region, found) < end;
}

__global__ void __launch_bounds__(RegionPolicy::kThreads)
    region_line_kernel(const __grid_constant__ LineJob job, uint32_t *tiles) {
  uint32_t const stride = gridDim.x * RegionPolicy::kThreads;
  for (uint64_t t = job.first_tile + blockIdx.x * RegionPolicy::kThreads + threadIdx.x;
       t < job.end_tile; t += stride)
    if (meets_rows(job, t * job.tile_values, (t + 1) * job.tile_values))
      tiles[1 + atomicAdd(tiles, 1)] = (uint32_t)t;
}

/* ---- the region ---- */

struct TakeJob {
  uint64_t z_count, y_count, x_count, row_count;    /* of the region */
  uint64_t batch_stride, z_stride, y_stride, first; /* of the box; where the region begins there */
};

/* A warp takes a row. */
template <class Bits>
__global__ void __launch_bounds__(RegionPolicy::kThreads)
    region_take_kernel(const __grid_constant__ TakeJob job, const Bits *box, Bits *region) {
  unsigned const lane = threadIdx.x % 32;
  uint64_t const stride = (uint64_t)gridDim.x * RegionPolicy::kWarps;
  for (uint64_t row = (uint64_t)blockIdx.x * RegionPolicy::kWarps + threadIdx.x / 32;
       row < job.row_count; row += stride) {
    uint64_t const plane = row / job.y_count, batch = plane / job.z_count;
    const Bits *const from = box + job.first + batch * job.batch_stride +
                             (plane - batch * job.z_count) * job.z_stride +
                             (row - plane * job.y_count) * job.y_stride;
    Bits *const to = region + row * job.x_count;
    for (uint64_t x = lane; x < job.x_count; x += 32) to[x] = from[x];
  }
}

template <class Bits>
szgpu_status take(const TakeJob &job, const uint8_t *box, uint8_t *region, cudaStream_t stream) {
  unsigned const blocks =
      szg_grid_blocks(job.row_count, RegionPolicy::kWarps, RegionPolicy::kMostBlocks);
  region_take_kernel<Bits><<<blocks, RegionPolicy::kThreads, 0, stream>>>(
      job, (const Bits *)(const void *)box, (Bits *)(void *)region);
  return szg_launched();
}

} // namespace

/* ---- launchers ---- */

szgpu_status szg_region_list_cuda(const szg_box *tiles, uint64_t z_tiles, uint64_t y_tiles,
                                  uint64_t x_tiles, const szg_tile_lists_cuda *all,
                                  const szg_region_plan_cuda *plan, struct CUstream_st *stream) {
  ListJob const job = {*tiles, z_tiles, y_tiles, x_tiles, szg_box_value_count(tiles), *all, *plan};
  unsigned const blocks =
      szg_grid_blocks(job.tile_count, RegionPolicy::kThreads, RegionPolicy::kMostBlocks);
  region_list_kernel<<<blocks, RegionPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

szgpu_status szg_region_line_tiles_cuda(const szg_region *region, uint64_t tile_values,
                                        uint32_t *tiles, struct CUstream_st *stream) {
  uint64_t const row_count = szg_region_row_count(region);
  uint64_t const end = szg_region_row_at(region, row_count - 1) + region->count[3];
  LineJob const job = {*region, row_count, tile_values,
                       (uint32_t)(szg_region_row_at(region, 0) / tile_values),
                       (uint32_t)szg_div_up(end, tile_values)};
  unsigned const blocks = szg_grid_blocks(job.end_tile - job.first_tile, RegionPolicy::kThreads,
                                          RegionPolicy::kMostBlocks);
  SZG_TRY_CUDA(cudaMemsetAsync(tiles, 0, sizeof *tiles, stream));
  region_line_kernel<<<blocks, RegionPolicy::kThreads, 0, stream>>>(job, tiles);
  return szg_launched();
}

szgpu_status szg_region_take_cuda(const szg_region *region, const szg_box *box, unsigned width,
                                  const uint8_t *box_values, struct CUstream_st *stream) {
  uint64_t const y_stride = box->end[3] - box->first[3];
  uint64_t const z_stride = y_stride * (box->end[2] - box->first[2]);
  uint64_t const batch_stride = z_stride * (box->end[1] - box->first[1]);
  uint64_t const first = (region->first[0] - box->first[0]) * batch_stride +
                         (region->first[1] - box->first[1]) * z_stride +
                         (region->first[2] - box->first[2]) * y_stride + region->first[3] -
                         box->first[3];
  TakeJob const job = {
      region->count[1], region->count[2], region->count[3], szg_region_row_count(region),
      batch_stride,     z_stride,         y_stride,         first};
  return szg_with_width(width, [&](auto bits) {
    return take<decltype(bits)>(job, box_values, region->values, stream);
  });
}
