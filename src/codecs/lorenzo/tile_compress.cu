/* tile_compress.cu - compresses a frame's values to the sections of a tile frame in one pass.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp compresses a tile: values to points, to deltas, to codes, to 32 lanes of bits in shared
 * memory, to the tile's words. Warps take tiles in order and never wait for the others of their
 * block. Meanwhile they find how many words come before each tile's (look_back.cuh), so the
 * kernel reads values once and writes words once. It reads a tile twice if its bits do not fit the
 * stage (compress_bits.cuh).
 *
 * On the 16-bit lattice one instruction handles two values (compress_pairs.cuh). Other lattices,
 * and tiles that leave the window of those pairs, have a way for wide codes (compress_wide.cuh).
 */
#include "codecs/lorenzo/compress_merge.cuh"
#include "codecs/lorenzo/compress_pairs.cuh"
#include "codecs/lorenzo/compress_wide.cuh"
#include "core/cuda_check.cuh"
#include "core/tile_queue.cuh"

namespace szg {
namespace {

/* ---- the archive's sections ---- */

/* The places of sections, and the room for them. */
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
  /* Writes zeros from an offset to the next multiple of SZG_ALIGNMENT. */
  __device__ void pad(uint64_t offset) const {
    for (; offset % SZG_ALIGNMENT != 0; offset++)
      if (has(offset, 1)) bytes[offset] = 0;
  }
};

/* Stores the codebook's section. The whole warp calls. */
__device__ void store_book(const Sections &sections, const szg_tile_book_cuda *book) {
  for (uint32_t i = threadIdx.x % 32; i < sections.sizes_offset; i += SZG_LANES)
    if (sections.has(i, 1)) sections.bytes[i] = i < book->section_bytes ? book->section[i] : 0;
}

/* Stores what only the last tile's warp knows. One thread calls. */
__device__ void store_result(const CompressJob &job, const Sections &sections,
                             uint64_t word_count) {
  sections.pad(sections.sizes_offset + (uint64_t)job.tile_count * sizeof(uint16_t));
  uint64_t const end = sections.word_offset(word_count);
  sections.pad(end);
  uint64_t const padded_end = (end + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
  job.result->word_count = word_count;
  job.result->is_too_large = !sections.has(padded_end, 0);
}

/* ---- one tile ---- */

/* Publishes the size that the tile will have. has_marks: the same for the whole warp. */
__device__ __forceinline__ void note_tile(const CompressJob &job, const Sections &sections,
                                          uint32_t tile, const TileBits &tile_bits,
                                          bool has_marks) {
  bool const is_marked = has_marks && !tile_bits.is_raw;
  if (threadIdx.x % 32 > 0) return;
  publish_words(job.sums, tile, tile_bits.words);
  sections.store_size(tile, tile_bits.words);
  if (job.tile_marks) job.tile_marks[tile] = is_marked;
  if (is_marked) atomicOr(&job.result->marked_tiles, 1u);
}

template <class Value>
__device__ __forceinline__ uint32_t raw_words_of(const TileShape &shape) {
  return szg_raw_tile_words(shape.x_extent * shape.y_extent * shape.z_extent, sizeof(Value));
}

/* Walks the tile and returns the lane's bits. */
template <class Walk>
__device__ __forceinline__ uint32_t walk_tile(const CompressJob &job, uint32_t tile,
                                              const TileShape &shape, const Coder &coder,
                                              LaneBits bits, LaneStage *stage, bool *has_marks) {
  bool const has_deltas = Walk::walk(job, tile, shape, coder, bits, stage, has_marks);
  uint32_t const lane_bits = finish_lane<typename Walk::Policy>(bits, stage);
  return has_deltas ? lane_bits : 0;
}

/* Where the tile's words go; NULL if there are none or no room for them. The tile's size is already
 * published. The whole warp calls. */
__device__ __forceinline__ uint32_t *find_place(const CompressJob &job, const Sections &sections,
                                                uint32_t tile, uint32_t words) {
  uint64_t const first_word = place_tile(job.sums, tile);
  if (tile + 1 == job.tile_count && threadIdx.x % 32 == 0)
    store_result(job, sections, first_word + words);
  bool const has_room =
      sections.has(sections.word_offset(first_word), (uint64_t)words * sizeof(uint32_t));
  return words > 0 && has_room ? sections.word(first_word) : NULL;
}

/* ---- what a warp carries from tile to tile ---- */

/* A tile that does not fit the stage. When its place is known, the warp walks its lanes a second
 * time and writes their bits to the archive. */
struct LongTile {
  uint32_t tile;      /* CompressJob::tile_count if there is none */
  uint32_t lane_bits; /* of this lane */
};

/* A warp places a tile only when it needs the room that the tile takes. By then the tiles before it
 * have published their sizes, however different tiles are. */
template <class Policy>
struct WarpState {
  TileQueue queue;    /* the next tile: the kernel alone asks for it and takes it */
  LongTile long_tile; /* waits for the end of the next tile: exchange_long_tile changes it */
  /* All others without a place: keep_tile adds them, make_room stores them. */
  WaitingTiles<Policy> waiting;
};

/* Puts the oldest of the waiting tiles into the archive. */
template <class Value, class Policy>
__device__ __forceinline__ void store_oldest(const CompressJob &job, const Sections &sections,
                                             WaitingTiles<Policy> *waiting) {
  WaitingTile<Policy> const oldest = waiting->oldest();
  uint32_t *const out = find_place(job, sections, oldest.tile, oldest.words);
  if (out && oldest.is_raw) {
    TileShape const shape = tile_shape(job.layout, oldest.tile);
    store_raw_tile<Value>(&shape, job.values, out);
  } else if (out) {
    store_merged(oldest.ring, oldest.words, out);
  }
  waiting->drop_oldest();
  __syncwarp(); /* all read the ring's words before others take their place */
}

/* Stores waiting tiles, the oldest first, until there is room for a tile of these bits; all of them
 * if there is no such tile. */
template <class Value, class Policy>
__device__ __forceinline__ void make_room(const CompressJob &job, const Sections &sections,
                                          bool is_there, const TileBits &bits,
                                          WarpState<Policy> *state) {
  while (state->waiting.count > 0 && !(is_there && state->waiting.has_room(bits)))
    store_oldest<Value>(job, sections, &state->waiting);
}

/* Whether a tile has to wait for its place like others. Tiles without words ask for one only
 * at the start of a chunk, so that others need not look far back, and at the very end. */
__device__ __forceinline__ bool has_to_wait(const CompressJob &job, uint32_t tile,
                                            const TileBits &bits) {
  if (bits.is_long) return false;
  return bits.words > 0 || tile % kChunkTiles == 0 || tile + 1 == job.tile_count;
}

/* Adds the tile to those that wait; there is room. */
template <class Policy>
__device__ __forceinline__ void keep_tile(uint32_t tile, const TileBits &bits,
                                          WarpState<Policy> *state) {
  RingWords<Policy> const ring = state->waiting.add(tile, bits);
  if (is_merged_tile(bits)) merge_lanes(bits, ring);
}

/* Puts the tile, if it is long, in the place of the previous long tile, and returns that one. */
template <class Policy>
__device__ __forceinline__ LongTile exchange_long_tile(uint32_t tile, uint32_t lane_bits,
                                                       bool is_long, uint32_t none,
                                                       WarpState<Policy> *state) {
  LongTile const before = state->long_tile;
  state->long_tile = {is_long ? tile : none, lane_bits};
  return before;
}

/* ---- the kernel ---- */

/* A long tile waits for the end of the warp's next tile. The inner loop then walks it a second time
 * in place of that tile, so that the code of a walk is there only once. A warp asks for its next
 * tile before it does other work, but not while a long tile may still delay it: others may wait for
 * the tile that it would get. */
template <class Walk>
__device__ __forceinline__ void compress_tiles(const CompressJob &job) {
  typedef typename Walk::Value Value;
  typedef typename Walk::Policy Policy;
  Coder const coder = {&job.book->encoder, job.lattice_bits, job.book->zero_groups};
  Sections const sections(job);
  uint32_t const none = job.tile_count;
  WarpState<Policy> state;
  state.queue.ask(job.ticket, threadIdx.x % 32);
  load_tables<Policy, Walk::kTwoWords>(coder.encoder);
  __syncthreads(); /* the table: warps do not meet again */
  state.long_tile = {none, 0};
  state.waiting = {};
  for (;;) {
    uint32_t tile = state.queue.take();
    bool is_there = tile < job.tile_count, asks_late = false;
    if (!is_there && state.long_tile.tile == none && state.waiting.count == 0) break;
    if (tile == 0) store_book(sections, job.book);
    LaneStage stage = {0, NULL};
    LaneBits bits = {0, 0, stage_start<Policy>()};
    for (bool is_placed = false;; is_placed = true) {
      bool has_marks = false;
      uint32_t lane_bits = 0;
      TileShape const shape = tile_shape(job.layout, is_there ? tile : 0);
      if (is_there) lane_bits = walk_tile<Walk>(job, tile, shape, coder, bits, &stage, &has_marks);
      if (is_placed) break;
      TileBits tile_bits = {};
      if (is_there) {
        uint32_t const raw_words = raw_words_of<Value>(shape);
        has_marks = __any_sync(kAllLanes, has_marks);
        tile_bits = has_marks && job.raw_outliers
                        ? raw_tile(raw_words)
                        : measure_tile<Policy>(lane_bits, stage.flushed_words > 0, raw_words);
        note_tile(job, sections, tile, tile_bits, has_marks);
      }
      make_room<Value>(job, sections, is_there, tile_bits, &state);
      asks_late = is_there;
      if (asks_late && state.long_tile.tile == none) {
        state.queue.ask(job.ticket, threadIdx.x % 32);
        asks_late = false;
      }
      if (is_there && has_to_wait(job, tile, tile_bits)) keep_tile(tile, tile_bits, &state);
      LongTile const placed = exchange_long_tile(tile, lane_bits, tile_bits.is_long, none, &state);
      if (placed.tile == none) break;
      TileBits const placed_bits = measure_tile<Policy>(placed.lane_bits, true, UINT32_MAX);
      uint32_t *const out = find_place(job, sections, placed.tile, placed_bits.words);
      if (!out) break;
      begin_long_tile<Policy>(placed_bits, out, &bits, &stage);
      tile = placed.tile;
      is_there = true;
    }
    if (asks_late) state.queue.ask(job.ticket, threadIdx.x % 32);
  }
}

/* The kernel's work memory, zeroed before the launch: the ticket, chunks, sizes of tiles. */
constexpr uint64_t kTicketBytes = 64;

constexpr uint64_t work_bytes(uint64_t tile_count) {
  return kTicketBytes + chunks_of(tile_count) * sizeof(ChunkState) + tile_count * sizeof(uint32_t);
}

__host__ __device__ inline TileSums sums_of(void *work, uint64_t tile_count) {
  auto const chunks = (ChunkState *)(void *)((uint8_t *)work + kTicketBytes);
  return {(uint32_t *)(void *)(chunks + chunks_of(tile_count)), chunks};
}

/* Sets the members of the job that are of the item. */
__device__ void take_item(const szg_tile_item &item, CompressJob *job) {
  job->layout = layout_of(item.grid);
  job->values = item.values;
  job->axes = item.axes;
  job->book = item.book;
  job->tile_count = (uint32_t)item.grid.tile_count;
  job->value_count = item.grid.value_count;
  job->sections = item.sections;
  job->room_bytes = item.room_bytes;
  job->ticket = (uint32_t *)item.work;
  job->sums = sums_of(item.work, item.grid.tile_count);
  job->result = item.result;
}

template <class Walk>
__global__ void __launch_bounds__(Walk::Policy::kThreads, Walk::Policy::kBlocks)
    tiles_compress_kernel(const __grid_constant__ CompressJob job) {
  compress_tiles<Walk>(job);
}

/* call: the job except what is of an item. Grid: blocks for each item, and the items. */
template <class Walk>
__global__ void __launch_bounds__(Walk::Policy::kThreads, Walk::Policy::kBlocks)
    items_compress_kernel(const __grid_constant__ CompressJob call, const szg_tile_item *items) {
  __shared__ CompressJob job;
  static_assert(sizeof job <= kMostJobBytes, "blocks have room for it");
  if (threadIdx.x == 0) {
    job = call;
    take_item(items[blockIdx.y], &job);
  }
  __syncthreads(); /* the job is there */
  if (blockIdx.x * Walk::Policy::kWarps >= job.tile_count) return;
  compress_tiles<Walk>(job);
}

/* ---- launches ---- */

/* The items of a launch; NULL: there is one, and the job has it all. */
struct CompressItems {
  const szg_tile_item *items;
  uint32_t count;
  uint64_t most_tiles;
};

/* Blocks for each item: one round of tiles if the device holds them all, else two. */
template <class Walk>
szgpu_status launch_items(const CompressJob &call, const CompressItems &items,
                          cudaStream_t stream) {
  typedef typename Walk::Policy Policy;
  constexpr int kBytes = sizeof(CompressBlock<Policy>);
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(items_compress_kernel<Walk>, (int)Policy::kThreads, kBytes,
                              &most_blocks));
  unsigned const one_round = szg_grid_blocks(items.most_tiles, Policy::kWarps, most_blocks);
  unsigned const each = szg_blocks_each(one_round, most_blocks, items.count);
  unsigned const two_rounds = (one_round + 1) / 2;
  dim3 const blocks(each > two_rounds ? each : two_rounds, items.count);
  items_compress_kernel<Walk><<<blocks, Policy::kThreads, kBytes, stream>>>(call, items.items);
  return szg_launched();
}

template <class Walk, class ItemsWalk>
szgpu_status launch_walk(const CompressJob &job, const CompressItems &items, cudaStream_t stream) {
  typedef typename Walk::Policy Policy;
  if (items.items) return launch_items<ItemsWalk>(job, items, stream);
  constexpr int kBytes = sizeof(CompressBlock<Policy>);
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(tiles_compress_kernel<Walk>, (int)Policy::kThreads, kBytes,
                              &most_blocks));
  unsigned const blocks = szg_grid_blocks(job.tile_count, Policy::kWarps, most_blocks);
  tiles_compress_kernel<Walk><<<blocks, Policy::kThreads, kBytes, stream>>>(job);
  return szg_launched();
}

template <class A, int kDims, class Policy, class ItemsPolicy>
szgpu_status launch_pair_walk(const CompressJob &job, const CompressItems &items,
                              cudaStream_t stream) {
  return launch_walk<PairWalk<A, kDims, Policy>, PairWalk<A, kDims, ItemsPolicy>>(job, items,
                                                                                  stream);
}

template <int kDims, class Policy, class ItemsPolicy>
szgpu_status launch_pairs(const CompressJob &job, const CompressItems &items, cudaStream_t stream) {
  if (job.k.arithmetic == SZG_ARITHMETIC_F32)
    return launch_pair_walk<Arithmetic<SZG_ARITHMETIC_F32>, kDims, Policy, ItemsPolicy>(job, items,
                                                                                        stream);
  return launch_pair_walk<Arithmetic<SZG_ARITHMETIC_F64>, kDims, Policy, ItemsPolicy>(job, items,
                                                                                      stream);
}

/* From here on values spread over several windows of a 3-D tile, and codes are wide. */
constexpr double kSpreadPoints = 8192.0;

template <int kDims>
szgpu_status launch_dims(const CompressJob &job, double greatest_point, bool is_near,
                         const CompressItems &items, cudaStream_t stream) {
  if (job.lattice_bits == 16 && is_near) {
    if (greatest_point < kSpreadPoints)
      return launch_pairs<kDims, NarrowPolicy, NarrowItemsPolicy>(job, items, stream);
    return launch_pairs<kDims, WidePolicy16, WidePolicy16>(job, items, stream);
  }
  return with_arithmetic(job.k.arithmetic, [&](auto arithmetic) {
    typedef WideWalk<decltype(arithmetic), kDims> Walk;
    return launch_walk<Walk, Walk>(job, items, stream);
  });
}

/* What all of a launch's tiles have in common. */
CompressJob begin_job(const szg_quantizer *quantizer, uint32_t lattice_bits, bool raw_outliers) {
  CompressJob job = {};
  job.k = *quantizer;
  job.lattice_bits = lattice_bits;
  job.raw_outliers = raw_outliers;
  find_reach(&job);
  return job;
}

szgpu_status launch(const CompressJob &job, double greatest_point, const szg_grid &grid,
                    const CompressItems &items, cudaStream_t stream) {
  uint64_t const value_bytes = job.k.arithmetic <= SZG_ARITHMETIC_F32_CLOSE ? 4 : 8;
  bool const is_near = grid.tile_y == 1 || grid.x_extent <= UINT32_MAX / value_bytes;
  if (grid.tile_z > 1) return launch_dims<3>(job, greatest_point, is_near, items, stream);
  if (grid.tile_y > 1) return launch_dims<2>(job, greatest_point, is_near, items, stream);
  return launch_dims<1>(job, greatest_point, is_near, items, stream);
}

} // namespace
} // namespace szg

extern "C" uint64_t szg_tile_compress_work_bytes_cuda(uint64_t tile_count) {
  uint64_t const bytes = szg::work_bytes(tile_count);
  return (bytes + SZG_ALIGNMENT - 1) / SZG_ALIGNMENT * SZG_ALIGNMENT;
}

extern "C" szgpu_status szg_tile_compress_cuda(
    const szg_quantizer *quantizer, uint32_t lattice_bits, double greatest_point,
    const szg_grid *grid, const void *frame_values, const uint32_t *axes,
    const szg_tile_book_cuda *book, bool raw_outliers, uint8_t *sections, uint64_t room_bytes,
    uint8_t *tile_marks, void *work, szg_tile_result_cuda *result, struct CUstream_st *stream) {
  SZG_REQUIRE(grid->tile_count < (uint64_t)1 << 31, SZGPU_BAD_SHAPE); /* the ticket goes beyond */
  szg::CompressJob job = szg::begin_job(quantizer, lattice_bits, raw_outliers);
  job.layout = szg::layout_of(*grid);
  job.values = frame_values;
  job.axes = axes;
  job.book = book;
  job.tile_count = (uint32_t)grid->tile_count;
  job.value_count = grid->value_count;
  job.sections = sections;
  job.room_bytes = room_bytes;
  job.tile_marks = tile_marks;
  job.ticket = (uint32_t *)work;
  job.sums = szg::sums_of(work, grid->tile_count);
  job.result = result;
  return szg::launch(job, greatest_point, *grid, {}, stream);
}

extern "C" szgpu_status szg_tile_compress_items_cuda(const szg_quantizer *quantizer,
                                                     uint32_t lattice_bits, double greatest_point,
                                                     const szg_grid *example, uint64_t most_tiles,
                                                     const szg_tile_item *items,
                                                     uint32_t item_count,
                                                     struct CUstream_st *stream) {
  SZG_REQUIRE(most_tiles < (uint64_t)1 << 31, SZGPU_BAD_SHAPE); /* the ticket goes beyond */
  szg::CompressJob const job = szg::begin_job(quantizer, lattice_bits, true);
  return szg::launch(job, greatest_point, *example, {items, item_count, most_tiles}, stream);
}
