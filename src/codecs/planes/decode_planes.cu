/* decode_planes.cu - decodes lossless frames: coded lanes and stored planes to runs of four values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile; each lane has four values of each row. The kernel reads each value's words and
 * stored bytes and 10 bytes per tile, and writes the value: for bf16 weights 1.33 bytes in, 2 out,
 * and 1/16 of the stored bytes if they are summed up for the checksum (stored_sums.cuh).
 * It copies a tile's words to shared memory if there is room, next to an 8 KiB table per coded
 * plane. Lanes decode symbols from there, two from each window on their bits. They load the stored
 * bytes of the next rows before they decode the symbols of these.
 */
#include "codecs/planes/decode_planes.cuh"
#include "codecs/planes/planes_items.cuh"

namespace szg {
namespace {

/* ---- kernels ---- */

template <class Kind>
__global__ void __launch_bounds__(PlanesDecodePolicy<Kind>::kThreads,
                                  PlanesDecodePolicy<Kind>::kBlocks)
    planes_decode_kernel(const __grid_constant__ PlanesDecodeJob job) {
  decode_tiles<Kind>(job, gridDim.x);
}

/* Tiles that a warp of one of many frames should have at least, so that the tables pay that its
 * block loads. */
constexpr uint32_t kItemWarpTiles = 2;

template <class Kind>
__host__ __device__ uint64_t useful_blocks(uint64_t tile_count) {
  return szg_div_up(tile_count, PlanesDecodePolicy<Kind>::kWarps * kItemWarpTiles);
}

/* Where the values of a frame go; all are wanted. */
template <uint32_t kValueBytes>
__host__ __device__ WantedBytes all_bytes(uint8_t *bytes, uint64_t byte_count) {
  return {bytes, 0, byte_count, is_run_aligned<kValueBytes>(bytes),
          (uintptr_t)bytes % kValueBytes == 0};
}

/* Grid: blocks for each item, and the items. */
template <class Kind>
__global__ void __launch_bounds__(PlanesDecodePolicy<Kind>::kThreads,
                                  PlanesDecodePolicy<Kind>::kBlocks)
    items_decode_kernel(const szg_planes_read_item *items, int dynamic_bytes) {
  __shared__ PlanesDecodeJob job;
  const szg_planes_read_item &item = items[blockIdx.y];
  const szg_planes_layout &layout = item.input.layout;
  if (!item.is_there || !is_of_kind<Kind>(layout)) return;
  uint64_t const tile_count = szg_planes_tile_count(item.input.value_count);
  uint32_t const block_count = (uint32_t)szg_lesser_u64(useful_blocks<Kind>(tile_count), gridDim.x);
  if (blockIdx.x >= block_count) return; /* the whole block */
  if (threadIdx.x == 0) {
    job.input = item.input;
    job.wanted = all_bytes<Kind::kValueBytes>(item.bytes, item.byte_count);
    job.stored_plane_bytes = szg_stored_plane_bytes(item.input.value_count);
    job.first_tile = 0;
    job.end_tile = (uint32_t)tile_count;
    job.coded_planes = szg_planes_of_mode(layout.modes, Kind::kValueBytes, SZG_PLANE_CODED);
    job.staged_words =
        useful_words(decode_staged_words<Kind>(dynamic_bytes, job.coded_planes), job.coded_planes);
    job.stored_sums = {};
    job.verdict = item.verdict;
  }
  __syncthreads(); /* the job is there */
  decode_tiles<Kind>(job, block_count);
}

/* ---- launches ---- */

/* As many words as blocks of that size leave room for. If tables take too much memory for kBlocks,
 * one block has a multiprocessor. static_bytes: shared memory that the kernel declares. */
template <class Kind>
szgpu_status choose_staged_words(uint32_t coded_planes, int static_bytes, uint32_t *staged_words) {
  int bytes_each = 0, most_bytes = 0;
  SZG_TRY(szg_shared_bytes_each(PlanesDecodePolicy<Kind>::kBlocks, &bytes_each));
  SZG_TRY(szg_most_shared_bytes(&most_bytes));
  int words = decode_staged_words<Kind>(bytes_each - static_bytes, coded_planes);
  if (words < kLeastStagedWords)
    words = decode_staged_words<Kind>(most_bytes - static_bytes, coded_planes);
  *staged_words = useful_words(words, coded_planes);
  return SZGPU_OK;
}

/* What decoding these bytes sums up. */
template <class Kind>
SumJob sums_of(const szg_planes_input_cuda &input, const WantedBytes &wanted,
               uint64_t *summed_bytes) {
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  bool const is_all = wanted.count == input.value_count * kValueBytes && !input.listed_tiles &&
                      is_run_aligned<kValueBytes>(wanted.bytes);
  return sum_job_of<typename Kind::Summed>(input.value_count, is_all ? input.block_sums : NULL,
                                           summed_bytes);
}

template <class Kind>
szgpu_status launch(PlanesDecodeJob job, cudaStream_t stream) {
  typedef PlanesDecodePolicy<Kind> Policy;
  SZG_TRY(choose_staged_words<Kind>(job.coded_planes, 0, &job.staged_words));
  int const bytes = (int)decode_shared_bytes<Kind>(job.coded_planes, job.staged_words);
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(planes_decode_kernel<Kind>, Policy::kThreads, bytes, &most_blocks));
  /* If tiles are few, they spread over all multiprocessors. */
  unsigned const blocks = szg_grid_blocks(job.end_tile - job.first_tile, 1, most_blocks);
  planes_decode_kernel<Kind><<<blocks, Policy::kThreads, bytes, stream>>>(job);
  return szg_launched();
}

template <class Kind>
szgpu_status decode(PlanesDecodeJob job, cudaStream_t stream) {
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  WantedBytes &wanted = job.wanted;
  /* A value's address is where the frame's first one would be and a multiple of its bytes. */
  uintptr_t const frame = (uintptr_t)wanted.bytes - wanted.first;
  wanted.are_runs_aligned = is_run_aligned<kValueBytes>((const void *)frame);
  wanted.are_values_whole = frame % kValueBytes == 0 && wanted.first % kValueBytes == 0 &&
                            wanted.count % kValueBytes == 0;
  constexpr uint64_t kTileBytes = (uint64_t)SZG_TILE_VALUES * kValueBytes;
  job.first_tile = (uint32_t)(wanted.first / kTileBytes);
  job.end_tile = (uint32_t)((wanted.first + wanted.count - 1) / kTileBytes + 1);
  uint64_t summed_bytes;
  job.stored_sums = sums_of<Kind>(job.input, wanted, &summed_bytes);
  return job.stored_sums.planes > 0 ? launch<typename Kind::Summed>(job, stream)
                                    : launch<Kind>(job, stream);
}

template <uint32_t kValueBytes>
szgpu_status launch_kind(const PlanesDecodeJob &job, cudaStream_t stream) {
  if (job.input.layout.modes == PlanesKinds<kValueBytes>::kTopModes)
    return decode<typename PlanesKinds<kValueBytes>::Top>(job, stream);
  return decode<typename PlanesKinds<kValueBytes>::Any>(job, stream);
}

template <uint32_t kValueBytes>
uint64_t summed_bytes_of(const szg_planes_input_cuda &input, const uint8_t *bytes) {
  uint64_t summed_bytes = 0;
  WantedBytes wanted = {};
  wanted.bytes = const_cast<uint8_t *>(bytes);
  wanted.count = input.value_count * kValueBytes;
  if (input.layout.modes == PlanesKinds<kValueBytes>::kTopModes)
    sums_of<typename PlanesKinds<kValueBytes>::Top>(input, wanted, &summed_bytes);
  return summed_bytes;
}

template <class Kind>
szgpu_status launch_items(const szg_planes_read_list &list, cudaStream_t stream) {
  typedef PlanesDecodePolicy<Kind> Policy;
  constexpr uint32_t kCodedPlanes = most_coded_planes<Kind>();
  uint32_t staged_words = 0;
  SZG_TRY(choose_staged_words<Kind>(kCodedPlanes, (int)sizeof(PlanesDecodeJob), &staged_words));
  int const bytes = (int)decode_shared_bytes<Kind>(kCodedPlanes, staged_words);
  unsigned resident_blocks = 0;
  SZG_TRY(
      szg_resident_blocks(items_decode_kernel<Kind>, Policy::kThreads, bytes, &resident_blocks));
  uint64_t const tile_count = szg_planes_tile_count(list.most_bytes / Kind::kValueBytes);
  dim3 const blocks =
      item_blocks(useful_blocks<Kind>(tile_count), resident_blocks, list.item_count);
  items_decode_kernel<Kind><<<blocks, Policy::kThreads, bytes, stream>>>(list.items, bytes);
  return szg_launched();
}

} // namespace
} // namespace szg

szgpu_status szg_planes_decode_cuda(const szg_planes_input_cuda *input, uint64_t first_byte,
                                    uint64_t byte_count, uint8_t *bytes, szg_verdict *verdict,
                                    struct CUstream_st *stream) {
  if (byte_count == 0) return SZGPU_OK;
  szg::PlanesDecodeJob job = {};
  job.input = *input;
  job.wanted.bytes = bytes;
  job.wanted.first = first_byte;
  job.wanted.count = byte_count;
  job.stored_plane_bytes = szg_stored_plane_bytes(input->value_count);
  job.coded_planes =
      szg_planes_of_mode(input->layout.modes, input->layout.value_bytes, SZG_PLANE_CODED);
  job.verdict = verdict;
  return szg_with_width(input->layout.value_bytes,
                        [&](auto bits) { return szg::launch_kind<sizeof bits>(job, stream); });
}

uint64_t szg_planes_summed_bytes_cuda(const szg_planes_input_cuda *input, const uint8_t *bytes) {
  return szg_with_width(input->layout.value_bytes, [&](auto bits) {
    return szg::summed_bytes_of<sizeof bits>(*input, bytes);
  });
}

szgpu_status szg_planes_decode_items_cuda(const szg_planes_read_list *list,
                                          struct CUstream_st *stream) {
  return szg::for_each_width(list->value_bytes, [&](auto width) {
    typedef szg::PlanesKinds<decltype(width)::value> Kinds;
    SZG_TRY(szg::launch_items<typename Kinds::Top>(*list, stream));
    return szg::launch_items<typename Kinds::Any>(*list, stream);
  });
}
