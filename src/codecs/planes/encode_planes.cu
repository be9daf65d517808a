/* encode_planes.cu - encodes values to the sections of lossless frames.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One kernel reads the values once (encode_pass.cuh). It needs shared memory for the bits of tiles.
 * If too few warps would have it, and in lists of frames, three kernels do the work:
 *
 *   measure   each lane's bits of each coded plane, and each tile's words; whether all symbols have
 *             codes, and constant planes are constant
 *   place     running sums of those
 *   write     lanes' bits into the tile's words in shared memory, then out; stored planes
 *
 * One warp per tile; each lane has four values of each row. For bf16 weights the one kernel moves 2
 * bytes per value in and 1.33 out, and the three read the values twice, plus 74 bytes per tile.
 */
#include "codecs/planes/encode_pass.cuh"
#include "codecs/planes/planes_items.cuh"
#include "core/tile_words.cuh"

namespace szg {
namespace {

typedef TileWords<512> PlaceWords;

/* ---- kernels ---- */

template <class Kind>
__global__ void __launch_bounds__(PlanesEncodePolicy<Kind>::kThreads,
                                  PlanesEncodePolicy<Kind>::kBlocks)
    planes_measure_kernel(const __grid_constant__ PlanesEncodeJob job) {
  measure_tiles<Kind>(job, blockIdx.x, gridDim.x);
}

__global__ void __launch_bounds__(PlaceWords::kThreads)
    planes_place_kernel(const __grid_constant__ PlaceWords::Job job) {
  __shared__ PlaceWords::Memory memory;
  PlaceWords::place_share(job, blockIdx.x, gridDim.x, &memory);
}

template <class Kind>
__global__ void __launch_bounds__(PlanesEncodePolicy<Kind>::kThreads,
                                  PlanesEncodePolicy<Kind>::kBlocks)
    planes_write_kernel(const __grid_constant__ PlanesEncodeJob job) {
  write_tiles<Kind>(job, blockIdx.x, gridDim.x);
}

template <class Kind>
__global__ void __launch_bounds__(PassPolicy<Kind>::kThreads, PassPolicy<Kind>::kBlocks)
    planes_pass_kernel(const __grid_constant__ PassJob<Kind> job) {
  encode_in_one_pass<Kind>(job);
}

/* ---- kernels over many frames ---- */

/* Tiles that a warp should have at least, so that the tables pay that its block loads. */
constexpr uint32_t kItemWarpTiles = 2;

template <class Kind>
__host__ __device__ uint64_t useful_blocks(uint64_t tile_count) {
  return szg_div_up(tile_count, PlanesEncodePolicy<Kind>::kWarps * kItemWarpTiles);
}

/* Takes the job of a frame if the block has a share of it; false: it has none. block_count: of the
 * frame's. The whole block calls. */
template <class Kind>
__device__ __forceinline__ bool take_job(const szg_planes_output_cuda &output, int shared_bytes,
                                         PlanesEncodeJob *job, uint32_t *block_count) {
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
__global__ void __launch_bounds__(PlanesEncodePolicy<Kind>::kThreads,
                                  PlanesEncodePolicy<Kind>::kBlocks)
    items_measure_kernel(const szg_planes_write_item *items, bool is_again) {
  __shared__ PlanesEncodeJob job;
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
__global__ void __launch_bounds__(PlanesEncodePolicy<Kind>::kThreads,
                                  PlanesEncodePolicy<Kind>::kBlocks)
    items_write_kernel(const szg_planes_write_item *items, int shared_bytes) {
  __shared__ PlanesEncodeJob job;
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
  typedef PlanesEncodePolicy<Kind> Policy;
  int block_bytes = 0;
  SZG_TRY(szg_shared_bytes_each(Policy::kBlocks, &block_bytes));
  *staged_words = encode_staged_words<Kind>(block_bytes - static_bytes, coded_planes);
  return SZGPU_OK;
}

/* As many blocks as the device holds at once, and no more than have tiles. */
template <class Policy, class Kernel>
szgpu_status launch(Kernel kernel, const PlanesEncodeJob &job, uint32_t shared_bytes,
                    cudaStream_t stream) {
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, Policy::kThreads, (int)shared_bytes, &most_blocks));
  unsigned const blocks = szg_grid_blocks(job.tile_count, Policy::kWarps, most_blocks);
  kernel<<<blocks, Policy::kThreads, shared_bytes, stream>>>(job);
  return szg_launched();
}

template <class Kind>
szgpu_status launch_measure(const PlanesEncodeJob &job, cudaStream_t stream) {
  return launch<PlanesEncodePolicy<Kind>>(planes_measure_kernel<Kind>, job, 0, stream);
}

template <class Kind>
szgpu_status launch_write(PlanesEncodeJob job, cudaStream_t stream) {
  typedef PlanesEncodePolicy<Kind> Policy;
  SZG_TRY(choose_staged_words<Kind>(job.coded_planes, 0, &job.staged_words));
  return launch<Policy>(planes_write_kernel<Kind>, job,
                        encode_shared_bytes<Kind>(job.coded_planes, job.staged_words), stream);
}

/* ---- one pass ---- */

/* Words for a lane's bits. Hardly any lane has so many bits more than typical ones, unless the tile
 * differs from most of the frame. */
uint32_t usual_lane_words(uint32_t typical_bits) {
  constexpr uint32_t kMoreWords = 3;
  return typical_bits / 32 + 1 + kMoreWords;
}
constexpr uint32_t kMostLaneWords = (SZG_PLANE_LANE_MOST_BITS + 31) / 32;

/* Shares out `room_words` words of a warp: at least what typical tiles need, and some more if there
 * are more; the rest is left to the cache. False: there are fewer. */
template <class Kind>
bool share_out(const uint32_t *typical_bits, uint32_t room_words, PassJob<Kind> *job) {
  const szg_planes_layout &layout = job->encode.output.layout;
  uint32_t const coded_planes = job->encode.coded_planes;
  uint32_t lane_words = 0; /* of all planes */
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (szg_plane_mode(layout.modes, plane) != SZG_PLANE_CODED) continue;
    job->lane_words[plane] = usual_lane_words(typical_bits[plane]);
    lane_words += job->lane_words[plane];
  }
  uint32_t const head_words = coded_planes * (1 + SZG_PLANE_MOST_WIDTH);
  uint32_t const needed_words = 2 * SZG_LANES * lane_words + head_words;
  if (needed_words > room_words) return false;
  constexpr uint32_t kMostMore = 4;
  uint32_t const left_words = room_words - needed_words;
  uint32_t const left = left_words / (2 * SZG_LANES * (coded_planes > 0 ? coded_planes : 1));
  uint32_t const more = left < kMostMore ? left : kMostMore;
  lane_words = 0;
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (szg_plane_mode(layout.modes, plane) != SZG_PLANE_CODED) continue;
    uint32_t const words = job->lane_words[plane] + more;
    job->lane_words[plane] = words < kMostLaneWords ? words : kMostLaneWords;
    lane_words += job->lane_words[plane];
  }
  job->stage_words = SZG_LANES * lane_words;
  job->tile_words = SZG_LANES * lane_words + head_words; /* enough, if the stage is */
  return true;
}

/* Sets what the pass has of shared memory. False: too few blocks would have it. */
template <class Kind>
szgpu_status plan_pass(const uint32_t *typical_bits, PassJob<Kind> *job, bool *fits) {
  typedef PassPolicy<Kind> Policy;
  *fits = false;
  for (int blocks = Policy::kBlocks; blocks >= Policy::kLeastBlocks && !*fits; blocks--) {
    int block_bytes = 0;
    SZG_TRY(szg_shared_bytes_each(blocks, &block_bytes));
    int const other_bytes = (int)pass_shared_bytes(*job); /* nothing is shared out yet */
    if (block_bytes <= other_bytes) continue;
    uint32_t const room_words = (uint32_t)(block_bytes - other_bytes) / 4 / Policy::kWarps;
    *fits = share_out(typical_bits, room_words, job);
  }
  return SZGPU_OK;
}

constexpr uint64_t kFacts = 2; /* that end first_words */

/* Where memory of the pass begins behind the facts, in u64 from first_words on. All of it is 0
 * before the launch. */
struct PassPlaces {
  uint64_t chunks;     /* ChunkState[chunks] */
  uint64_t tile_words; /* uint32_t[tiles]; then the ticket, uint32_t */
  uint64_t end;
};

PassPlaces pass_places(uint64_t tile_count) {
  static_assert(sizeof(ChunkState) == 2 * sizeof(uint64_t), "chunks begin at an even word");
  PassPlaces places;
  places.chunks = szg_align_up(tile_count + kFacts, 2);
  places.tile_words = places.chunks + 2 * chunks_of(tile_count);
  places.end = places.tile_words + tile_count / 2 + 1;
  return places;
}

/* ---- either way ---- */

szgpu_status launch_place(const PlanesEncodeJob &job, cudaStream_t stream) {
  PlaceWords::Job const places = {job.output.sizes, job.output.first_words, job.tile_count};
  planes_place_kernel<<<PlaceWords::blocks(job.tile_count), PlaceWords::kThreads, 0, stream>>>(
      places);
  return szg_launched();
}

/* What there is to do with a frame. */
struct Task {
  bool is_to_encode; /* else it is only measured */
  const uint32_t *typical_bits;
  uint64_t *summed_bytes;
};

template <class Kind>
szgpu_status launch_pass(PassJob<Kind> job, cudaStream_t stream) {
  typedef PassPolicy<Kind> Policy;
  PassPlaces const places = pass_places(job.encode.tile_count);
  uint64_t *const memory = job.encode.output.first_words;
  uint32_t *const tile_words = (uint32_t *)(void *)(memory + places.tile_words);
  unsigned most_blocks = 0;
  uint32_t const shared_bytes = pass_shared_bytes(job);
  job.ticket = tile_words + job.encode.tile_count;
  job.sums = {tile_words, (ChunkState *)(void *)(memory + places.chunks)};
  SZG_TRY(szg_resident_blocks(planes_pass_kernel<Kind>, Policy::kThreads, (int)shared_bytes,
                              &most_blocks));
  unsigned const blocks = szg_grid_blocks(job.encode.tile_count, Policy::kWarps, most_blocks);
  planes_pass_kernel<Kind><<<blocks, Policy::kThreads, shared_bytes, stream>>>(job);
  return szg_launched();
}

template <class Kind>
szgpu_status do_task(const PlanesEncodeJob &job, const Task &task, cudaStream_t stream) {
  static const uint32_t no_bits[SZG_PLANES_MOST] = {};
  const uint32_t *const typical_bits = job.coded_planes > 0 ? task.typical_bits : no_bits;
  PassJob<typename Kind::Summed> pass = {};
  bool fits = false;
  pass.encode = job;
  if (task.is_to_encode && typical_bits) SZG_TRY(plan_pass(typical_bits, &pass, &fits));
  if (fits) {
    uint64_t *const sums = job.are_runs_aligned ? job.output.block_sums : NULL;
    pass.stored_sums =
        sum_job_of<typename Kind::Summed>(job.output.value_count, sums, task.summed_bytes);
    return launch_pass(pass, stream);
  }
  SZG_TRY(launch_measure<Kind>(job, stream));
  SZG_TRY(launch_place(job, stream));
  return task.is_to_encode ? launch_write<Kind>(job, stream) : SZGPU_OK;
}

template <uint32_t kValueBytes>
szgpu_status launch_kind(PlanesEncodeJob job, const Task &task, cudaStream_t stream) {
  typedef typename PlanesKinds<kValueBytes>::Top Top;
  typedef typename PlanesKinds<kValueBytes>::Any Any;
  job.are_runs_aligned = is_run_aligned<kValueBytes>(job.output.values);
  return job.output.layout.modes == PlanesKinds<kValueBytes>::kTopModes
             ? do_task<Top>(job, task, stream)
             : do_task<Any>(job, task, stream);
}

szgpu_status launch_bytes(const szg_planes_output_cuda &output, const Task &task,
                          cudaStream_t stream) {
  PlanesEncodeJob job = {};
  job.output = output;
  job.tile_count = szg_planes_tile_count(output.value_count);
  job.stored_plane_bytes = szg_stored_plane_bytes(output.value_count);
  job.coded_planes =
      szg_planes_of_mode(output.layout.modes, output.layout.value_bytes, SZG_PLANE_CODED);
  return szg_with_width(output.layout.value_bytes,
                        [&](auto bits) { return launch_kind<sizeof bits>(job, task, stream); });
}

/* ---- launches over many frames ---- */

template <class Kind, class... Arguments>
szgpu_status launch_items(void (*kernel)(const szg_planes_write_item *, Arguments...),
                          const szg_planes_write_list &list, int shared_bytes, cudaStream_t stream,
                          Arguments... arguments) {
  typedef PlanesEncodePolicy<Kind> Policy;
  unsigned resident_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, Policy::kThreads, shared_bytes, &resident_blocks));
  uint64_t const tile_count = szg_planes_tile_count(list.most_bytes / Kind::kValueBytes);
  dim3 const blocks =
      item_blocks(useful_blocks<Kind>(tile_count), resident_blocks, list.item_count);
  kernel<<<blocks, Policy::kThreads, shared_bytes, stream>>>(list.items, arguments...);
  return szg_launched();
}

template <class Kind>
szgpu_status write_items(const szg_planes_write_list &list, cudaStream_t stream) {
  constexpr uint32_t kCodedPlanes = most_coded_planes<Kind>();
  uint32_t staged_words = 0;
  SZG_TRY(choose_staged_words<Kind>(kCodedPlanes, (int)sizeof(PlanesEncodeJob), &staged_words));
  int const bytes = (int)encode_shared_bytes<Kind>(kCodedPlanes, staged_words);
  return launch_items<Kind>(items_write_kernel<Kind>, list, bytes, stream, bytes);
}

} // namespace
} // namespace szg

szgpu_status szg_planes_output_carve_cuda(szg_arena *arena, const szg_planes_layout *layout,
                                          uint64_t value_count, bool is_listed,
                                          szg_planes_output_cuda *output) {
  uint64_t const tile_count = szg_planes_tile_count(value_count);
  uint32_t const coded = szg_planes_of_mode(layout->modes, layout->value_bytes, SZG_PLANE_CODED);
  SZG_REQUIRE(tile_count < (uint64_t)1 << 31, SZGPU_UNSUPPORTED); /* as for decoding */
  uint64_t const first_words =
      is_listed ? tile_count + szg::kFacts : szg::pass_places(tile_count).end;
  output->first_words = (uint64_t *)szg_arena_take(arena, first_words, sizeof *output->first_words);
  output->lane_bits = (uint16_t *)szg_arena_take(arena, tile_count * coded * SZG_LANES, 2);
  return SZGPU_OK;
}

szgpu_status szg_planes_output_clear_cuda(const szg_planes_output_cuda *output,
                                          struct CUstream_st *stream) {
  uint64_t const tile_count = szg_planes_tile_count(output->value_count);
  uint64_t const cleared = szg::pass_places(tile_count).end - tile_count;
  SZG_TRY_CUDA(
      cudaMemsetAsync(output->first_words + tile_count, 0, cleared * sizeof(uint64_t), stream));
  return SZGPU_OK;
}

szgpu_status szg_planes_measure_cuda(const szg_planes_output_cuda *output,
                                     struct CUstream_st *stream) {
  return szg::launch_bytes(*output, {false, NULL, NULL}, stream);
}

szgpu_status szg_planes_encode_cuda(const szg_planes_output_cuda *output,
                                    const uint32_t *typical_bits, uint64_t *summed_bytes,
                                    struct CUstream_st *stream) {
  *summed_bytes = 0;
  return szg::launch_bytes(*output, {true, typical_bits, summed_bytes}, stream);
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
  return szg_launched();
}

szgpu_status szg_planes_write_items_cuda(const szg_planes_write_list *list,
                                         struct CUstream_st *stream) {
  return szg::for_each_width(list->value_bytes, [&](auto width) {
    typedef szg::PlanesKinds<decltype(width)::value> Kinds;
    SZG_TRY(szg::write_items<typename Kinds::Top>(*list, stream));
    return szg::write_items<typename Kinds::Any>(*list, stream);
  });
}
