/* encode_planes.cu - encodes values to the sections of lossless frames: sizes first, then bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   measure   each lane's bits of each coded plane, and each tile's words; whether all symbols have
 *             codes, and constant planes are constant
 *   place     running sums of those
 *   write     lanes' bits into the tile's words in shared memory, then out; stored planes
 *
 * One warp per tile; each lane has four values of each row. The kernels read values twice and write
 * words and stored bytes once, plus 74 bytes per tile: for bf16 weights 4 bytes per value in and
 * 1.33 out.
 */
#include "core/tile_words.cuh"
#include "lossless/encode_planes.cuh"
#include "lossless/planes_items.cuh"

namespace szg {
namespace {

typedef TileWords<512> PlaceWords;

/* ---- kernels ---- */

template <class Kind>
__global__ void __launch_bounds__(EncodePolicy<Kind>::kThreads, EncodePolicy<Kind>::kBlocks)
    planes_measure_kernel(const __grid_constant__ EncodeJob job) {
  measure_tiles<Kind>(job, blockIdx.x, gridDim.x);
}

__global__ void __launch_bounds__(PlaceWords::kThreads)
    planes_place_kernel(const __grid_constant__ PlaceWords::Job job) {
  __shared__ PlaceWords::Memory memory;
  PlaceWords::place_share(job, blockIdx.x, gridDim.x, &memory);
}

template <class Kind>
__global__ void __launch_bounds__(EncodePolicy<Kind>::kThreads, EncodePolicy<Kind>::kBlocks)
    planes_write_kernel(const __grid_constant__ EncodeJob job) {
  write_tiles<Kind>(job, blockIdx.x, gridDim.x);
}

/* ---- kernels over many frames ---- */

/* Tiles that a warp should have at least, so that the tables pay that its block loads. */
constexpr uint32_t kItemWarpTiles = 2;

template <class Kind>
__host__ __device__ uint64_t useful_blocks(uint64_t tile_count) {
  return szg_div_up(tile_count, EncodePolicy<Kind>::kWarps * kItemWarpTiles);
}

/* Takes the job of a frame if the block has a share of it; false: it has none. block_count: of the
 * frame's. The whole block calls. */
template <class Kind>
__device__ __forceinline__ bool take_job(const szg_planes_output_cuda &output, int shared_bytes,
                                         EncodeJob *job, uint32_t *block_count) {
  uint64_t const tile_count = szg_planes_tile_count(output.value_count);
  *block_count = (uint32_t)szg_lesser_u64(useful_blocks<Kind>(tile_count), gridDim.x);
  if (blockIdx.x >= *block_count) return false;
  if (threadIdx.x == 0) {
    job->output = output;
    job->tile_count = tile_count;
    job->stored_plane_bytes = szg_stored_plane_bytes(output.value_count);
    job->coded_planes = szg_planes_of_mode(output.layout.modes, Kind::kValueBytes, SZG_PLANE_CODED);
    job->staged_words = encode_staged_words<Kind>(shared_bytes, job->coded_planes);
    job->are_runs_aligned = is_run_aligned<Kind::kValueBytes>(output.values);
  }
  __syncthreads(); /* the job is there */
  return true;
}

/* Grids: blocks for each item, and the items. */
template <class Kind>
__global__ void __launch_bounds__(EncodePolicy<Kind>::kThreads, EncodePolicy<Kind>::kBlocks)
    items_measure_kernel(const szg_planes_write_item *items, bool is_again) {
  __shared__ EncodeJob job;
  const szg_planes_write_item &item = items[blockIdx.y];
  uint32_t block_count = 0;
  if (!is_of_kind<Kind>(item.output.layout) || item.is_again != is_again) return;
  if (!take_job<Kind>(item.output, 0, &job, &block_count)) return;
  measure_tiles<Kind>(job, blockIdx.x, block_count);
}

__global__ void __launch_bounds__(PlaceWords::kThreads)
    items_place_kernel(const szg_planes_write_item *items, bool is_again) {
  __shared__ PlaceWords::Memory memory;
  const szg_planes_write_item &item = items[blockIdx.y];
  if (item.is_again != is_again) return;
  PlaceWords::Job const job = {item.output.sizes, item.output.first_words,
                               szg_planes_tile_count(item.output.value_count)};
  PlaceWords::place_share(job, blockIdx.x, gridDim.x, &memory);
}

template <class Kind>
__global__ void __launch_bounds__(EncodePolicy<Kind>::kThreads, EncodePolicy<Kind>::kBlocks)
    items_write_kernel(const szg_planes_write_item *items, int shared_bytes) {
  __shared__ EncodeJob job;
  const szg_planes_write_item &item = items[blockIdx.y];
  uint32_t block_count = 0;
  if (!is_of_kind<Kind>(item.output.layout) || !item.has_sections) return;
  if (!take_job<Kind>(item.output, shared_bytes, &job, &block_count)) return;
  write_tiles<Kind>(job, blockIdx.x, block_count);
}

/* ---- launches ---- */

/* static_bytes: shared memory that the kernel declares. */
template <class Kind>
szgpu_status choose_staged_words(uint32_t coded_planes, int static_bytes, uint32_t *staged_words) {
  typedef EncodePolicy<Kind> Policy;
  int block_bytes = 0;
  SZG_TRY(szg_shared_bytes_each(Policy::kBlocks, &block_bytes));
  *staged_words = encode_staged_words<Kind>(block_bytes - static_bytes, coded_planes);
  return SZGPU_OK;
}

/* As many blocks as the device holds at once, and no more than have tiles. */
template <class Policy, class Kernel>
szgpu_status launch(Kernel kernel, const EncodeJob &job, uint32_t shared_bytes,
                    cudaStream_t stream) {
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, Policy::kThreads, (int)shared_bytes, &most_blocks));
  unsigned const blocks = szg_grid_blocks(job.tile_count, Policy::kWarps, most_blocks);
  kernel<<<blocks, Policy::kThreads, shared_bytes, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

template <class Kind>
szgpu_status launch_measure(const EncodeJob &job, cudaStream_t stream) {
  return launch<EncodePolicy<Kind>>(planes_measure_kernel<Kind>, job, 0, stream);
}

template <class Kind>
szgpu_status launch_write(EncodeJob job, cudaStream_t stream) {
  typedef EncodePolicy<Kind> Policy;
  SZG_TRY(choose_staged_words<Kind>(job.coded_planes, 0, &job.staged_words));
  return launch<Policy>(planes_write_kernel<Kind>, job,
                        encode_shared_bytes<Kind>(job.coded_planes, job.staged_words), stream);
}

template <uint32_t kValueBytes>
szgpu_status launch_kind(EncodeJob job, bool is_write, cudaStream_t stream) {
  typedef typename PlanesKinds<kValueBytes>::Top Top;
  typedef typename PlanesKinds<kValueBytes>::Any Any;
  job.are_runs_aligned = is_run_aligned<kValueBytes>(job.output.values);
  if (job.output.layout.modes == PlanesKinds<kValueBytes>::kTopModes)
    return is_write ? launch_write<Top>(job, stream) : launch_measure<Top>(job, stream);
  return is_write ? launch_write<Any>(job, stream) : launch_measure<Any>(job, stream);
}

szgpu_status launch_bytes(const szg_planes_output_cuda &output, bool is_write,
                          cudaStream_t stream) {
  EncodeJob job = {};
  job.output = output;
  job.tile_count = szg_planes_tile_count(output.value_count);
  job.stored_plane_bytes = szg_stored_plane_bytes(output.value_count);
  job.coded_planes =
      szg_planes_of_mode(output.layout.modes, output.layout.value_bytes, SZG_PLANE_CODED);
  switch (output.layout.value_bytes) {
    case 1:
      return launch_kind<1>(job, is_write, stream);
    case 2:
      return launch_kind<2>(job, is_write, stream);
    case 4:
      return launch_kind<4>(job, is_write, stream);
    default:
      return launch_kind<8>(job, is_write, stream);
  }
}

/* ---- launches over many frames ---- */

template <class Kind, class... Arguments>
szgpu_status launch_items(void (*kernel)(const szg_planes_write_item *, Arguments...),
                          const szg_planes_write_list &list, int shared_bytes, cudaStream_t stream,
                          Arguments... arguments) {
  typedef EncodePolicy<Kind> Policy;
  unsigned resident_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, Policy::kThreads, shared_bytes, &resident_blocks));
  uint64_t const tile_count = szg_planes_tile_count(list.most_bytes / Kind::kValueBytes);
  dim3 const blocks =
      item_blocks(useful_blocks<Kind>(tile_count), resident_blocks, list.item_count);
  kernel<<<blocks, Policy::kThreads, shared_bytes, stream>>>(list.items, arguments...);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

template <class Kind>
szgpu_status write_items(const szg_planes_write_list &list, cudaStream_t stream) {
  constexpr uint32_t kCodedPlanes = most_coded_planes<Kind>();
  uint32_t staged_words = 0;
  SZG_TRY(choose_staged_words<Kind>(kCodedPlanes, (int)sizeof(EncodeJob), &staged_words));
  int const bytes = (int)encode_shared_bytes<Kind>(kCodedPlanes, staged_words);
  return launch_items<Kind>(items_write_kernel<Kind>, list, bytes, stream, bytes);
}

} // namespace
} // namespace szg

szgpu_status szg_planes_output_carve_cuda(szg_arena *arena, const szg_planes_layout *layout,
                                          uint64_t value_count, szg_planes_output_cuda *output) {
  uint64_t const tile_count = szg_planes_tile_count(value_count);
  uint32_t const coded = szg_planes_of_mode(layout->modes, layout->value_bytes, SZG_PLANE_CODED);
  SZG_REQUIRE(tile_count < (uint64_t)1 << 31, SZGPU_UNSUPPORTED); /* as for decoding */
  output->first_words = (uint64_t *)szg_arena_take(arena, tile_count + 2, 8);
  output->lane_bits = (uint16_t *)szg_arena_take(arena, tile_count * coded * SZG_LANES, 2);
  return SZGPU_OK;
}

szgpu_status szg_planes_measure_cuda(const szg_planes_output_cuda *output,
                                     struct CUstream_st *stream) {
  szg::PlaceWords::Job const places = {output->sizes, output->first_words,
                                       szg_planes_tile_count(output->value_count)};
  SZG_TRY_CUDA(
      cudaMemsetAsync(output->first_words + places.tile_count + 1, 0, sizeof(uint64_t), stream));
  SZG_TRY(szg::launch_bytes(*output, false, stream));
  szg::planes_place_kernel<<<szg::PlaceWords::blocks(places.tile_count), szg::PlaceWords::kThreads,
                             0, stream>>>(places);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_planes_write_cuda(const szg_planes_output_cuda *output,
                                   struct CUstream_st *stream) {
  return szg::launch_bytes(*output, true, stream);
}

szgpu_status szg_planes_measure_items_cuda(const szg_planes_write_list *list, bool is_again,
                                           struct CUstream_st *stream) {
  SZG_TRY(szg::for_each_width(list->value_bytes, [&](auto width) {
    typedef szg::PlanesKinds<decltype(width)::value> Kinds;
    typedef typename Kinds::Top Top;
    typedef typename Kinds::Any Any;
    SZG_TRY(szg::launch_items<Top>(szg::items_measure_kernel<Top>, *list, 0, stream, is_again));
    return szg::launch_items<Any>(szg::items_measure_kernel<Any>, *list, 0, stream, is_again);
  }));
  uint64_t const value_bytes = list->value_bytes ? list->value_bytes : 1;
  dim3 const shares(szg::PlaceWords::blocks(szg_planes_tile_count(list->most_bytes / value_bytes)),
                    list->item_count);
  szg::items_place_kernel<<<shares, szg::PlaceWords::kThreads, 0, stream>>>(list->items, is_again);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_planes_write_items_cuda(const szg_planes_write_list *list,
                                         struct CUstream_st *stream) {
  return szg::for_each_width(list->value_bytes, [&](auto width) {
    typedef szg::PlanesKinds<decltype(width)::value> Kinds;
    SZG_TRY(szg::write_items<typename Kinds::Top>(*list, stream));
    return szg::write_items<typename Kinds::Any>(*list, stream);
  });
}
