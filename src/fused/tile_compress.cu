/* tile_compress.cu - values of a frame to the sections of a tile frame, in one pass.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp compresses a tile: values to points, to deltas, to codes, to 32 lanes of bits in shared
 * memory, to the tile's words. Seven tiles are a chunk, which a block of threads takes; how many
 * words there are in the chunks before is found while blocks go on (look_back.cuh), so values are
 * read once and words written once. Tiles of more bits than the stage holds, over 6 a code, are
 * read twice.
 *
 * On the 16-bit lattice two values share an instruction (compress_pairs.cuh).
 */
#include "core/cuda_check.cuh"
#include "fused/compress_merge.cuh"
#include "fused/compress_pairs.cuh"
#include "fused/compress_plain.cuh"
#include "fused/look_back.cuh"

namespace szg {
namespace {

constexpr uint32_t kChunkTiles = CompressPolicy::kWarps;

/* ---- the archive's sections ---- */

/* Where sections lie, and how much of them there is room for. */
struct Sections {
  uint8_t *bytes;
  uint64_t room_bytes, sizes_offset, words_offset;

  __device__ __forceinline__ explicit Sections(const CompressJob &job)
      : bytes(job.sections),
        room_bytes(job.room_bytes),
        sizes_offset(szg_tile_sizes_offset(job.book->section_bytes)),
        words_offset(szg_tile_words_offset(job.book->section_bytes, job.tile_count)) {}

  __device__ __forceinline__ bool has(uint64_t offset, uint64_t byte_count) const {
    return offset <= room_bytes && byte_count <= room_bytes - offset;
  }
  __device__ __forceinline__ uint64_t word_offset(uint64_t word) const {
    return words_offset + word * sizeof(uint32_t);
  }
  __device__ __forceinline__ uint32_t *word(uint64_t index) const {
    return (uint32_t *)(void *)(bytes + word_offset(index));
  }
  __device__ __forceinline__ void store_size(uint32_t tile, uint32_t words) const {
    uint64_t const offset = sizes_offset + (uint64_t)tile * sizeof(uint16_t);
    if (has(offset, sizeof(uint16_t))) *(uint16_t *)(void *)(bytes + offset) = (uint16_t)words;
  }
  /* Zeros from an offset to the next multiple of SZG_ALIGNMENT. */
  __device__ void pad(uint64_t offset) const {
    for (; offset % SZG_ALIGNMENT != 0; offset++)
      if (has(offset, 1)) bytes[offset] = 0;
  }
};

/* The codebook's section. The whole block calls. */
__device__ void store_book(const Sections &sections, const szg_tile_book_cuda *book) {
  for (uint32_t i = threadIdx.x; i < sections.sizes_offset; i += CompressPolicy::kThreads)
    if (sections.has(i, 1)) sections.bytes[i] = i < book->section_bytes ? book->section[i] : 0;
}

/* What only the last chunk's block knows. One thread calls. */
__device__ void store_result(const CompressJob &job, const Sections &sections,
                             uint64_t word_count) {
  sections.pad(sections.sizes_offset + (uint64_t)job.tile_count * sizeof(uint16_t));
  uint64_t const end = sections.word_offset(word_count);
  sections.pad(end);
  uint64_t const padded_end = (end + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
  job.result->word_count = word_count;
  job.result->is_too_large = !sections.has(padded_end, 0);
}

/* ---- the kernel ---- */

/* Words of the chunk's tiles before a warp's: where its own go, from the chunk's first word on.
 * Between the two barriers of a chunk. */
__device__ __forceinline__ uint32_t words_before(uint32_t warp) {
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t i = 0; i < kChunkTiles; i++) sum += i < warp ? shared_block().tile_words[i] : 0;
  return sum;
}

/* The first warp finds out where the chunk's words begin. */
__device__ __forceinline__ void place_chunk(const CompressJob &job, const Sections &sections,
                                            uint32_t chunk, uint32_t chunk_words) {
  uint64_t const first_word = sum_before(job.states, chunk, chunk_words);
  if (threadIdx.x > 0) return;
  shared_block().first_word = first_word;
  if (chunk + 1 == job.chunk_count) store_result(job, sections, first_word + chunk_words);
}

__device__ __forceinline__ void note_tile(const CompressJob &job, const Sections &sections,
                                          uint32_t tile, const TileBits &tile_bits,
                                          bool has_marks) {
  bool const is_marked = __any_sync(kAllLanes, has_marks) && !tile_bits.is_raw;
  if (threadIdx.x % 32 > 0) return;
  sections.store_size(tile, tile_bits.words);
  job.tile_marks[tile] = is_marked;
  if (is_marked) atomicOr(&job.result->marked_tiles, 1u);
}

template <class Value>
__device__ __forceinline__ uint32_t raw_words_of(const TileShape &shape) {
  return szg_raw_tile_words(shape.x_extent * shape.y_extent * shape.z_extent, sizeof(Value));
}

/* Walks the tile and gives the lane's bits. */
template <class Walk>
__device__ __forceinline__ uint32_t walk_tile(const CompressJob &job, uint32_t tile,
                                              const TileShape &shape, const Coder &coder,
                                              LaneBits bits, LaneStage *stage, bool *has_marks) {
  bool const has_deltas = Walk::walk(job, tile, shape, coder, bits, stage, has_marks);
  uint32_t const lane_bits = finish_lane(bits, stage);
  return has_deltas ? lane_bits : 0;
}

/* A chunk's tile of this warp, from its first walk until its words are in the archive. */
struct WaitingTile {
  uint32_t chunk;
  uint32_t index;
  uint32_t own_place;   /* of its words, from the chunk's first on */
  uint32_t chunk_words; /* of all the chunk's tiles */
  TileBits bits;        /* 0 words: there is nothing to store */
};

__device__ __forceinline__ bool is_merged_tile(const TileBits &bits) {
  return bits.words > 0 && !bits.is_raw && !bits.is_long;
}

/* A chunk's place is looked for only when the next chunk's tiles were walked: by then those before
 * it have mostly said how long they are, however different tiles are. */
template <class Walk>
__global__ void __launch_bounds__(CompressPolicy::kThreads, Walk::kBlocks)
    tiles_compress_kernel(const __grid_constant__ CompressJob job) {
  typedef typename Walk::Value Value;
  uint32_t const warp = threadIdx.x / 32;
  Coder const coder = {&job.book->encoder, job.lattice_bits, job.book->zero_groups};
  Sections const sections(job);
  load_table(coder.encoder);
  if (threadIdx.x == 0) shared_block().next_chunk = atomicAdd(job.ticket, 1);
  __syncthreads(); /* the table and the first chunk's number */
  uint32_t chunk = shared_block().next_chunk;
  __syncthreads(); /* all have read it */
  if (chunk == 0) store_book(sections, job.book);
  WaitingTile waiting = {};
  waiting.chunk = job.chunk_count; /* there is none yet */
  while (chunk < job.chunk_count || waiting.chunk < job.chunk_count) {
    WaitingTile present = {};
    present.chunk = chunk;
    present.index = __shfl_sync(kAllLanes, chunk * kChunkTiles + warp, 0);
    LaneStage stage = lane_stage();
    LaneBits bits = {0, 0, stage.start};
    uint32_t next_chunk = chunk;
    uint32_t tile = present.index;
    bool is_there = chunk < job.chunk_count && tile < job.tile_count;
    /* A long tile is walked a second time, when its place is known: the same code. */
    for (bool is_placed = false;; is_placed = true) {
      bool has_marks = false;
      uint32_t lane_bits = 0;
      TileShape const shape = tile_shape(job.layout, is_there ? tile : 0);
      if (is_there) lane_bits = walk_tile<Walk>(job, tile, shape, coder, bits, &stage, &has_marks);
      if (is_placed) break;
      uint32_t taken_chunk = chunk;
      if (threadIdx.x == 0 && chunk < job.chunk_count) taken_chunk = atomicAdd(job.ticket, 1);
      if (is_there) {
        present.bits = measure_tile(lane_bits, stage.flushed_words > 0, raw_words_of<Value>(shape));
        note_tile(job, sections, tile, present.bits, has_marks);
      }
      if (threadIdx.x % 32 == 0) shared_block().tile_words[warp] = present.bits.words;
      if (threadIdx.x == 0) shared_block().next_chunk = taken_chunk;
      __syncthreads(); /* sizes, and the next chunk's number */
      present.chunk_words = words_before(kChunkTiles);
      present.own_place = words_before(warp);
      next_chunk = shared_block().next_chunk;
      if (threadIdx.x == 0 && chunk < job.chunk_count)
        publish_sum(job.states, chunk, present.chunk_words);
      if (warp == 0 && waiting.chunk < job.chunk_count)
        place_chunk(job, sections, waiting.chunk, waiting.chunk_words);
      __syncthreads(); /* the waiting chunk's place; what was read above may change */
      uint64_t const first_word = shared_block().first_word + waiting.own_place;
      uint64_t const tile_bytes = (uint64_t)waiting.bits.words * sizeof(uint32_t);
      bool const is_stored =
          tile_bytes > 0 && sections.has(sections.word_offset(first_word), tile_bytes);
      uint32_t *const out = is_stored ? sections.word(first_word) : NULL;
      if (is_stored && is_merged_tile(waiting.bits)) store_merged(waiting.bits.words, out);
      __syncwarp(); /* the merged words are read before others take their place */
      if (is_merged_tile(present.bits)) merge_lanes(present.bits, stage);
      if (!is_stored) break;
      if (waiting.bits.is_raw) {
        TileShape const waiting_shape = tile_shape(job.layout, waiting.index);
        store_raw_tile<Value>(&waiting_shape, job.values, out);
      }
      if (!waiting.bits.is_long) break;
      begin_long_tile(waiting.bits, out, &bits, &stage);
      tile = waiting.index;
      is_there = true;
    }
    waiting = present;
    chunk = next_chunk;
  }
}

/* ---- launches ---- */

constexpr uint64_t kTicketBytes = 64; /* before the states */

uint64_t chunks_of(uint64_t tile_count) { return (tile_count + kChunkTiles - 1) / kChunkTiles; }

uint64_t zeroed_bytes(uint64_t tile_count) {
  return kTicketBytes + chunks_of(tile_count) * sizeof(uint64_t);
}

template <class Walk>
szgpu_status launch_walk(const CompressJob &job, cudaStream_t stream) {
  constexpr int kBytes = sizeof(CompressBlock);
  int multiprocessors, blocks_each;
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  SZG_TRY_CUDA(cudaFuncSetAttribute(tiles_compress_kernel<Walk>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  SZG_TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks_each, tiles_compress_kernel<Walk>, (int)CompressPolicy::kThreads, kBytes));
  unsigned const blocks =
      szg_grid_blocks(job.chunk_count, 1, (unsigned)(multiprocessors * blocks_each));
  tiles_compress_kernel<Walk><<<blocks, CompressPolicy::kThreads, kBytes, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

template <int kDims>
szgpu_status launch_dims(const CompressJob &job, cudaStream_t stream) {
  uint64_t const value_bytes = job.k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? 4 : 8;
  bool const is_near = kDims == 1 || job.layout.x_extent <= UINT32_MAX / value_bytes;
  if (job.lattice_bits == 16 && is_near) {
    if (job.k.arithmetic == SZG_ARITHMETIC_F32)
      return launch_walk<PairWalk<Arithmetic<SZG_ARITHMETIC_F32>, kDims>>(job, stream);
    return launch_walk<PairWalk<Arithmetic<SZG_ARITHMETIC_F64>, kDims>>(job, stream);
  }
  return with_arithmetic(job.k.arithmetic, [&](auto arithmetic) {
    return launch_walk<PlainWalk<decltype(arithmetic), kDims>>(job, stream);
  });
}

TileLayout layout_of(const szg_grid &grid) {
  return {(uint32_t)grid.x_tiles,
          (uint32_t)grid.y_tiles,
          (uint32_t)grid.z_tiles,
          grid.tile_x,
          grid.tile_y,
          grid.tile_z,
          grid.x_extent,
          grid.y_extent,
          grid.z_extent};
}

} // namespace
} // namespace szg

extern "C" uint64_t szg_tile_compress_work_bytes_cuda(uint64_t tile_count) {
  uint64_t const bytes = szg::zeroed_bytes(tile_count);
  return (bytes + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
}

extern "C" szgpu_status szg_tile_compress_cuda(const szg_quantizer *quantizer,
                                               uint32_t lattice_bits, const szg_grid *grid,
                                               const void *frame_values, const uint32_t *axes,
                                               const szg_tile_book_cuda *book, uint8_t *sections,
                                               uint64_t room_bytes, uint8_t *tile_marks, void *work,
                                               szg_tile_result_cuda *result,
                                               struct CUstream_st *stream) {
  SZG_REQUIRE(grid->tile_count <= UINT32_MAX - szg::kChunkTiles, SZGPU_BAD_SHAPE);
  szg::CompressJob job = {};
  job.k = *quantizer;
  job.layout = szg::layout_of(*grid);
  job.values = frame_values;
  job.axes = axes;
  job.book = book;
  job.lattice_bits = lattice_bits;
  job.tile_count = (uint32_t)grid->tile_count;
  job.value_count = grid->value_count;
  job.chunk_count = (uint32_t)szg::chunks_of(grid->tile_count);
  job.sections = sections;
  job.room_bytes = room_bytes;
  job.tile_marks = tile_marks;
  job.ticket = (uint32_t *)work;
  job.states = (uint64_t *)(void *)((uint8_t *)work + szg::kTicketBytes);
  job.result = result;
  if (lattice_bits == 16) szg::find_reach(&job);
  SZG_TRY_CUDA(cudaMemsetAsync(work, 0, szg::zeroed_bytes(grid->tile_count), stream));
  SZG_TRY_CUDA(cudaMemsetAsync(result, 0, sizeof *result, stream));
  if (grid->tile_z > 1) return szg::launch_dims<3>(job, stream);
  if (grid->tile_y > 1) return szg::launch_dims<2>(job, stream);
  return szg::launch_dims<1>(job, stream);
}
