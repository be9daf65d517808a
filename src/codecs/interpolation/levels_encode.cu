/* levels_encode.cu - a level of three axes from values to words: one warp per tile.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   march    values to codes in shared memory, plane by plane (levels_encode_step.cuh)
 *   lanes    codes to bits, over the codes (levels_encode_lanes.cuh)
 *   join     head and lanes to words, which go to the next free place in global memory
 *
 * Tiles that are cut off, and those with values without a lattice value, march by the form for any
 * tile. Tiles that do not fit in shared memory, by their codes or by their bits, march by it once
 * more: codes of 32 bits go to a slot of the warp's own in global memory, and from there to words
 * (levels_encode_direct.cuh).
 *
 * Memory traffic: reads the values of the level's points and the coarser grid once, with some of
 * it again for neighbouring tiles; writes words, and the grid unless the level is the finest.
 */
#include "codecs/interpolation/levels_encode.h"

#include "codecs/interpolation/levels_encode_direct.cuh"
#include "codecs/interpolation/levels_encode_edge.cuh"
#include "codecs/interpolation/levels_march_blended.cuh"

namespace szg {
namespace {

constexpr uint32_t kTableWords = sizeof(LevelsEncodeTable) / 4;

/* Shared memory of a warp: copies, later the tile's words; and codes. */
template <uint32_t kBytes, class A, LevelsForm kForm>
struct LevelsEncodePolicy {
  static constexpr uint32_t kReach = reach_of(kForm);
  typedef FullEncodeStep<kReach, kBytes, A, false> Step;
  typedef FullEncodeStep<kReach, kBytes, A, true> InnerStep;
  typedef EdgeEncodeStep<kReach, kBytes, A> EdgeStep; /* of any tile */
  /* Of a block, with 168 registers for each thread. 16 with 128 are slower: docs/notebook.md. */
  static constexpr uint32_t kMostWarps = 12;
  static constexpr uint32_t kStageWords = Step::kStageWords;
  static constexpr uint32_t kNotesWords = kMostWarps * sizeof(WarpNotes) / 4;
  static constexpr uint32_t kBlockWords = kTableWords + kNotesWords;
  static constexpr uint32_t kWarpWords = kStageWords + LevelsRegions::kAllWords;
  static_assert(4 * (kBlockWords + kWarpWords) <= SZG_LEAST_SHARED_BYTES, "a warp at least");
  static_assert(kStageWords >= EdgeStep::kStageWords, "");

  /* As many as there is shared memory for. */
  static uint32_t warps(int shared_bytes) {
    uint32_t const warps = ((uint32_t)shared_bytes / 4 - kBlockWords) / kWarpWords;
    return warps < kMostWarps ? warps : kMostWarps;
  }
};

template <class A>
struct LevelsEncodeJob {
  WarpLevel level;
  LevelsCoder<A> coder;
  MarkRule rule;
  const typename A::Value *values;
  const uint32_t *coarse;
  uint32_t *grid; /* NULL in the last level */
  const szg_tokens_book_cuda *book;
  szg_levels_encode_work_cuda work;
  szg_levels_encoded_cuda encoded;
  unsigned long long *stage_words; /* counters of the stage */
  uint32_t *next_tile;
  uint32_t tile_count;
  uint32_t spacing;
  bool copies_16;
  bool takes_inner; /* inner tiles may take the form for these */

  __device__ __forceinline__ LevelsTilePoints<A> points_of(const WarpTile &tile) const {
    LevelsTilePoints<A> points;
    points.values = values + level.first_value(tile);
    points.z_stride = level.z_stride, points.y_stride = level.y_stride;
    points.x_stride = spacing;
    points.grid = grid ? grid + level.first_point(tile) : nullptr;
    points.z_points = level.plane_points(), points.y_points = level.row_points;
    return points;
  }
};

/* ---- a tile ---- */

template <uint32_t kBytes>
__device__ __forceinline__ LevelsExtents extents_of(const WarpTile &tile, bool is_full) {
  return {tile.z_extent, tile.y_extent, tile.x_extent, kTilePairs<kBytes>, is_full};
}

/* Codes of any tile to memory, or, if wide_codes is not NULL, there. On its own, so that it takes
 * no registers from the others. The whole warp calls. */
template <LevelsForm kForm, class Step, class A>
__device__ __noinline__ CodedTile code_edge(const LevelsEncodeJob<A> &job, const WarpTile &tile,
                                            uint32_t *staging, uint32_t *memory,
                                            uint4 *wide_codes) {
  Step step(job.coder, job.rule, tile, job.points_of(tile), memory, wide_codes);
  EdgeMarchOf<kForm, Step> march(job.level, tile, job.coarse, staging, step);
  march.begin();
  march.run();
  return step.result();
}

/* Codes of a full tile whose values all have lattice values; result() says if that is so. While the
 * first copies are on their way, calls meanwhile(). */
template <LevelsForm kForm, class Step, class A, class Meanwhile>
__device__ __forceinline__ CodedTile code_full(const LevelsEncodeJob<A> &job, const WarpTile &tile,
                                               uint32_t *staging, uint32_t *memory,
                                               Meanwhile meanwhile) {
  Step step(job.coder, job.points_of(tile), memory, job.copies_16);
  FullMarchOf<kForm, Step> march(job.level, tile, job.coarse, staging, step);
  march.begin();
  meanwhile();
  march.run();
  return step.result();
}

/* Room for a tile's words: begin asks for it, and some time later it is there. The whole warp
 * calls. */
template <class A>
struct WordsRoom {
  const LevelsEncodeJob<A> &job;
  uint32_t tile_index;
  unsigned long long place; /* lane 0's */

  __device__ __forceinline__ void begin(uint32_t word_count) {
    place = 0;
    if (threadIdx.x % 32 > 0) return;
    if (word_count > 0) {
      place = atomicAdd(&job.work.counters->word_count, (unsigned long long)word_count);
      atomicAdd(job.stage_words, (unsigned long long)word_count);
      atomicAdd(&job.encoded.sums[tile_index / SZG_LEVELS_SUM_TILES], word_count);
    }
    job.encoded.sizes[tile_index] = (uint16_t)word_count;
  }
  /* NULL: there is none. */
  __device__ __forceinline__ uint32_t *end(uint32_t word_count) {
    if (threadIdx.x % 32 == 0) job.encoded.places[tile_index] = place;
    unsigned long long const first = __shfl_sync(kAllLanes, place, 0);
    return first + word_count <= job.work.word_capacity ? job.work.words + first : nullptr;
  }
};

template <class A>
__device__ __forceinline__ uint32_t *take_words(const LevelsEncodeJob<A> &job, uint32_t tile_index,
                                                uint32_t word_count) {
  WordsRoom<A> room = {job, tile_index, 0};
  room.begin(word_count);
  return room.end(word_count);
}

/* A tile whose codes or bits did not fit, by way of a slot in global memory; on its own, so that
 * registers of other tiles need not outlive the call. memory: all of the warp's. The whole warp
 * calls. */
template <uint32_t kBytes, class A, LevelsForm kForm>
__device__ __noinline__ void encode_slow(const LevelsEncodeJob<A> &job,
                                         const LevelsEncodeTable &table, const WarpTile &tile,
                                         uint32_t *memory, uint4 *slot) {
  typedef LevelsEncodePolicy<kBytes, A, kForm> Policy;
  uint32_t const tile_index = job.level.template index_of<kBytes>(tile);
  code_edge<kForm, typename Policy::EdgeStep>(job, tile, memory, memory, slot);
  __syncwarp(); /* all lanes see the codes */
  bool const is_full = job.level.template is_full<kBytes>(tile);
  encode_direct<4 / kBytes>(
      table, slot, LaneTeam::of<kBytes>(table.lane_groups_log2), extents_of<kBytes>(tile, is_full),
      memory + Policy::kStageWords,
      [&](uint32_t word_count) { return take_words(job, tile_index, word_count); });
  __syncwarp(); /* slot and memory are free */
}

/* Words of a tile straight to global memory, from shares whose bits are more than staging has room
 * for. On its own, since it is rare. The whole warp calls. */
template <class A>
__device__ __noinline__ void join_far(const LevelsEncodeJob<A> &job, uint32_t tile_index, Share own,
                                      LaneTeam team) {
  WordsLayout const layout(own.bit_count, team);
  uint32_t *const words = take_words(job, tile_index, layout.word_count);
  if (!words) return;
  join_shares(layout, own, team, GlobalWords{words});
}

/* Full tiles that are not inner, on their own, so that the others' instructions stay together. */
template <LevelsForm kForm, class Step, class A>
__device__ __noinline__ CodedTile code_outer(const LevelsEncodeJob<A> &job, const WarpTile &tile,
                                             uint32_t *staging, uint32_t *memory) {
  return code_full<kForm, Step>(job, tile, staging, memory, [] {});
}

/* Notes tile k of the order of work. The whole warp calls. */
template <uint32_t kBytes>
__device__ __forceinline__ void note_tile(const WarpLevel &level, uint32_t k, WarpTile *tile) {
  WarpOrder const order(level, k, kBytes == 1);
  if (threadIdx.x % 32 == 0)
    *tile = level.tile_at(order.layer, order.in_layer, 2 * kTilePairs<kBytes>);
  __syncwarp(); /* the tile is noted */
}

/* Codes of the tile that is noted, in shared memory, if they fit there; notes the next tile, too.
 * staging, memory: the warp's shared memory. The whole warp calls. */
template <uint32_t kBytes, class A, LevelsForm kForm>
__device__ __forceinline__ CodedTile code_tile(const LevelsEncodeJob<A> &job, WarpNotes *notes,
                                               uint32_t *staging, uint32_t *memory) {
  typedef LevelsEncodePolicy<kBytes, A, kForm> Policy;
  const WarpTile &tile = notes->tile;
  CodedTile coded = {false, false, false};
  bool const is_full = job.level.template is_full<kBytes>(tile);
  uint32_t asked = 0;
  if (threadIdx.x % 32 == 0) asked = ask_ahead(job.next_tile, UINT32_MAX - 1);
  auto const note_next = [&] {
    if (threadIdx.x % 32 == 0) notes->next = asked;
  };
  if (is_full && job.takes_inner && job.level.template is_inner<kBytes>(tile)) {
    coded = code_full<kForm, typename Policy::InnerStep>(job, tile, staging, memory, note_next);
  } else {
    note_next();
    if (is_full) coded = code_outer<kForm, typename Policy::Step>(job, tile, staging, memory);
  }
  if (coded.is_sound) return coded;
  return code_edge<kForm, typename Policy::EdgeStep>(job, tile, staging, memory, nullptr);
}

/* Encodes a tile from its codes, if they and its bits fit. The whole warp calls. */
template <uint32_t kBytes, class A, LevelsForm kForm>
__device__ __forceinline__ bool encode_tile(const LevelsEncodeJob<A> &job,
                                            const LevelsEncodeTable &table, const WarpTile &tile,
                                            const CodedTile &coded, uint32_t *staging,
                                            uint32_t *memory) {
  if (!coded.fits) return false;
  uint32_t const tile_index = job.level.template index_of<kBytes>(tile);
  WordsRoom<A> room = {job, tile_index, 0};
  uint32_t word_count = 0;
  if (coded.is_zero) {
    room.begin(0);
  } else {
    LaneTeam const team = LaneTeam::of<kBytes>(table.lane_groups_log2);
    bool const is_full = job.level.template is_full<kBytes>(tile);
    Share const own = encode_region<kBytes>(table, memory, team, extents_of<kBytes>(tile, is_full));
    if (__any_sync(kAllLanes, !own.fits)) return false;
    WordsLayout const layout(own.bit_count, team);
    word_count = layout.word_count;
    if (word_count > LevelsEncodePolicy<kBytes, A, kForm>::kStageWords) {
      join_far(job, tile_index, own, team);
      __syncwarp(); /* memory is free */
      return true;
    }
    room.begin(word_count);
    join_shares(layout, own, team, SharedWords{shared_address(staging)});
    __syncwarp(); /* words are there */
  }
  uint32_t *const words = room.end(word_count);
  if (words) copy_words<4>(staging, word_count, words);
  __syncwarp(); /* staging is free */
  return true;
}

template <uint32_t kBytes, class A, LevelsForm kForm>
__global__ void __launch_bounds__(LevelsEncodePolicy<kBytes, A, kForm>::kMostWarps * 32, 1)
    levels_encode_kernel(const __grid_constant__ LevelsEncodeJob<A> job) {
  extern __shared__ __align__(1024) uint32_t levels_memory[];
  typedef LevelsEncodePolicy<kBytes, A, kForm> Policy;
  uint32_t const warp = threadIdx.x / 32, warps = blockDim.x / 32;
  LevelsEncodeTable *const table = (LevelsEncodeTable *)levels_memory;
  make_levels_table(*job.book, table);
  __syncthreads(); /* the table is there */
  uint32_t *const staging = levels_memory + Policy::kBlockWords + warp * Policy::kWarpWords;
  uint32_t *const memory = staging + Policy::kStageWords;
  WarpNotes *const notes = (WarpNotes *)(levels_memory + kTableWords); /* of all warps */
  uint4 *const slot =
      (uint4 *)(job.work.slots + (uint64_t)(blockIdx.x * warps + warp) * SZG_LEVELS_MOST_PLACES);
  /* A warp's first tile is fixed, and spread over multiprocessors. */
#pragma unroll 1
  for (uint32_t k = blockIdx.x + gridDim.x * warp; k < job.tile_count;) {
    note_tile<kBytes>(job.level, k, &own_of(notes)->tile);
    CodedTile const coded = code_tile<kBytes, A, kForm>(job, own_of(notes), staging, memory);
    __syncwarp(); /* codes are there, and the next tile is noted */
    if (!encode_tile<kBytes, A, kForm>(job, *table, own_of(notes)->tile, coded, staging, memory))
      encode_slow<kBytes, A, kForm>(job, *table, own_of(notes)->tile, staging, slot);
    k = gridDim.x * warps + own_of(notes)->next;
    __syncwarp(); /* all lanes know it */
  }
}

/* ---- launchers ---- */

template <uint32_t kBytes, class A, LevelsForm kForm>
szgpu_status launch(const LevelsEncodeJob<A> &job, cudaStream_t stream) {
  typedef LevelsEncodePolicy<kBytes, A, kForm> Policy;
  int shared_bytes, multiprocessors;
  SZG_TRY(szg_most_shared_bytes(&shared_bytes));
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  uint32_t warps = Policy::warps(shared_bytes);
  if (warps > job.work.slot_count) warps = job.work.slot_count;
  uint32_t const most_blocks = job.work.slot_count / warps, tile_count = job.tile_count;
  uint32_t blocks = tile_count < (uint32_t)multiprocessors ? tile_count : (uint32_t)multiprocessors;
  if (blocks > most_blocks) blocks = most_blocks;
  size_t const bytes = 4 * (size_t)(Policy::kBlockWords + warps * Policy::kWarpWords);
  auto const kernel = levels_encode_kernel<kBytes, A, kForm>;
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<blocks, 32 * warps, bytes, stream>>>(job);
  return szg_launched();
}

template <uint32_t kBytes, class A>
szgpu_status launch_for(const szg_levels &levels, const LevelsEncodeJob<A> &job,
                        cudaStream_t stream) {
  LevelsForm const form = WarpLevel::form_of(levels);
  if (form == LevelsForm::kBlended) return launch<kBytes, A, LevelsForm::kBlended>(job, stream);
  return form == LevelsForm::kPlain ? launch<kBytes, A, LevelsForm::kPlain>(job, stream)
                                    : launch<kBytes, A, LevelsForm::kAny>(job, stream);
}

/* Rows of the field begin at multiples of 16 bytes, and end there, so that whole pieces of them may
 * be read. */
template <class A>
bool rows_are_aligned(const LevelsEncodeJob<A> &job) {
  constexpr uint64_t kValues = 16 / sizeof(typename A::Value);
  return (uintptr_t)job.values % 16 == 0 && job.level.y_stride % (kValues * job.spacing) == 0 &&
         job.level.z_stride % kValues == 0 && job.level.box_stride % kValues == 0;
}

} // namespace
} // namespace szg

bool szg_levels_encode_serves(const szg_levels *levels, uint32_t stage) {
  return szg::WarpLevel::serves(*levels, stage);
}

void szg_levels_encoded_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                   szg_levels_encoded_cuda *encoded) {
  encoded->sizes = (uint16_t *)szg_arena_take(arena, tile_count, sizeof *encoded->sizes);
  encoded->places = (uint64_t *)szg_arena_take(arena, tile_count, sizeof *encoded->places);
}

void szg_levels_sums_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                szg_levels_encoded_cuda *encoded) {
  uint64_t const sum_count = (tile_count + SZG_LEVELS_SUM_TILES - 1) / SZG_LEVELS_SUM_TILES;
  encoded->sums = (uint32_t *)szg_arena_take(arena, sum_count, sizeof *encoded->sums);
}

szgpu_status szg_levels_encode_cuda(const szg_levels *levels, uint32_t stage,
                                    const szg_levels_lattice *lattice, const void *values,
                                    void *const *grids, const szg_tokens_book_cuda *book,
                                    const szg_levels_marks_cuda *marks,
                                    const szg_levels_encode_work_cuda *work,
                                    const szg_levels_encoded_cuda *encoded,
                                    struct CUstream_st *stream) {
  return szg::with_levels_lattice(*lattice, [&](auto kind) -> szgpu_status {
    typedef decltype(kind) A;
    if constexpr (A::kLimitBits == SZG_LEVELS_LIMIT_BITS) {
      const szg_levels_stage &own = levels->stages[stage];
      bool const is_last = stage == levels->level_count;
      szg::LevelsEncodeJob<A> job = {
          szg::WarpLevel(szg::LevelsJob(*levels, stage, *lattice, NULL), 0, own.tile_count),
          szg::LevelsCoder<A>(*lattice, own.unit),
          szg::MarkRule(*levels, marks),
          (const typename A::Value *)values,
          (const uint32_t *)grids[stage - 1],
          is_last ? nullptr : (uint32_t *)grids[stage],
          book,
          *work,
          *encoded,
          &work->counters->stage_words[stage],
          &work->counters->tiles[stage],
          (uint32_t)own.tile_count,
          (uint32_t)own.spacing,
          false,
          false};
      job.copies_16 = szg::rows_are_aligned(job);
      job.takes_inner = !lattice->has_fill && (own.spacing > 2 || job.copies_16);
      if (own.spacing == 1) return szg::launch_for<1>(*levels, job, stream);
      if (own.spacing == 2) return szg::launch_for<2>(*levels, job, stream);
      return szg::launch_for<4>(*levels, job, stream);
    } else {
      return SZGPU_UNSUPPORTED; /* wide frames are not served */
    }
  });
}
