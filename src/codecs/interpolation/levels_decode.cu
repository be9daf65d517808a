/* levels_decode.cu - levels of three axes on the GPU: from words to lattice values, or to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile: its words come into shared memory, become codes there, and the march takes
 * these to predictions. Nearly all codes have few bits, so they have 1 byte at the finest level, 2
 * at the next and 4 at all coarser ones. A tile with other codes, or with words that may be
 * invalid, is decoded again by the general form, to codes of 4 bytes in a slot of global memory.
 *
 * Memory traffic: the words, the coarser grid once and an eighth of it again, and all points
 * written. A block reads the tables, 16 or 32 KB.
 */
#include "codecs/interpolation/levels_decode_step.cuh"
#include "codecs/interpolation/levels_fused.h"
#include "codecs/interpolation/levels_march_blended.cuh"
#include "core/cuda_check.cuh"

namespace szg {
namespace {

constexpr uint32_t kMostWarps = 16; /* of a block, of which a multiprocessor has one */
constexpr uint32_t kStageWords = decode_slots(1) * march_plane_words(1);
static_assert(decode_slots(2) * march_plane_words(2) <= kStageWords, "slots of any reach fit");
static_assert(kCodeWords >= kOverrunWords, "lanes may read behind the staged words");
static_assert(kStageWords * 4 >= SZG_TOKENS_MOST_GROUPS * sizeof(uint64_t), "general form's place");

struct LevelsWarpMemory {
  uint32_t stage[kStageWords]; /* words of the tile, then planes of the coarser grid */
  uint32_t codes[kCodeWords];
  WarpNotes notes;
};
static_assert(sizeof(LevelsWarpMemory) % 16 == 0 && kStageWords % 4 == 0, "16 bytes at once");

struct LevelsDecodeMemory {
  szg_tokens_tables_cuda tables;
  LevelsWarpMemory warps[1]; /* as many as the block has */
};

/* ---- a tile ---- */

/* Its codes to shared memory. next: lane 0's, to be noted. False: declined. The whole warp
 * calls. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ bool decode_short(const LevelsDecodeJob &job,
                                             const szg_tokens_tables_cuda &tables,
                                             const WarpTile &tile, uint64_t tile_index,
                                             uint32_t next, LevelsWarpMemory *memory) {
  constexpr uint32_t kGroups = SZG_TOKENS_MOST_GROUPS / kCodeBytes;
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const lane = threadIdx.x % 32;
  szg_tokens_shape const shape = {kGroups, opened.lane_groups_log2, false};
  szg_head_form const form = szg_tokens_head_form(&shape);
  ArchiveWords words = {nullptr, 0};
  bool const has_words = !opened.is_coded || words_of_tile(job.input, tile_index, &words);
  if (lane == 0) memory->notes.next = next; /* waited for by now */
  if (!has_words) return false;
  bool const is_staged = words.end <= kStageWords;
  if (!is_staged &&
      (words.end > kMostShortWords ||
       (uint64_t)job.input.first_words[tile_index] + words.end + kOverrunWords > opened.word_count))
    return false;
  if (is_staged) {
    for (uint32_t i = lane; i < words.end; i += 32)
      copy_ahead<4>(memory->stage + i, words.words + i);
    end_copies();
  }
  for (uint32_t i = lane; i < kCodeWords / 4; i += 32)
    ((uint4 *)memory->codes)[i] = make_uint4(0, 0, 0, 0);
  await_copies<0>();
  __syncwarp(); /* words are there, and codes are 0 */
  if (words.end == 0) return true;
  bool is_decoded;
  if (is_staged) {
    LaneRange const range = read_head(form, ArchiveWords{memory->stage, words.end});
    is_decoded = range.is_sound;
    if (range.is_sound && range.is_live())
      is_decoded =
          decode_short_lane<kCodeBytes>(opened, tables, memory->stage, range, tile, memory->codes);
  } else {
    LaneRange const range = read_head(form, words);
    is_decoded = range.is_sound;
    if (range.is_sound && range.is_live())
      is_decoded =
          decode_short_lane<kCodeBytes>(opened, tables, words.words, range, tile, memory->codes);
  }
  __syncwarp(); /* codes are there, and words no longer needed: a vote orders no memory */
  return __all_sync(kAllLanes, is_decoded);
}

/* Its codes to a slot. The whole warp calls. */
__device__ __noinline__ void decode_to_slot(const LevelsDecodeJob &job,
                                            const szg_tokens_tables_cuda &tables,
                                            uint64_t tile_index, LevelsWarpMemory *memory,
                                            int32_t *slot) {
  __syncwarp(); /* the codes before are no longer needed */
  bool const is_sound = decode_tile(job.input, tile_index, tables, (uint64_t *)memory->stage, slot);
  if (!is_sound && threadIdx.x % 32 == 0) job.verdict->bad_data = 1;
  __syncwarp(); /* the stage is free */
}

/* Inner tiles that are wanted as a whole and have their codes in shared memory. The whole warp
 * calls all of these. */
template <uint32_t kCodeBytes, LevelsForm kForm, class Target>
__device__ __forceinline__ void restore_inner(const LevelsDecodeJob &job, const WarpTile &tile,
                                              uint32_t unit, LevelsWarpMemory *memory) {
  Target const target(job, tile);
  DecodeStep<reach_of(kForm), kCodeBytes, Target, true> step(target, memory->codes, unit);
  FullMarchOf<kForm, decltype(step)> march(job.level, tile, job.coarse, memory->stage, step);
  march.begin();
  march.run();
}

/* Forms of their own take no registers from that one, and its instructions stay together. */

/* Any tile that is wanted as a whole and has its codes in shared memory. */
template <uint32_t kCodeBytes, LevelsForm kForm, class Target>
__device__ __noinline__ void restore_edge(const LevelsDecodeJob &job, const WarpTile &tile,
                                          uint32_t unit, LevelsWarpMemory *memory) {
  EdgeTarget<Target, true> const target(job, tile);
  DecodeStep<reach_of(kForm), kCodeBytes, decltype(target), false> step(target, memory->codes,
                                                                        unit);
  EdgeMarchOf<kForm, decltype(step)> march(job.level, tile, job.coarse, memory->stage, step);
  march.begin();
  march.run();
}
/* Any tile. slot: NULL if the codes are in shared memory. */
template <uint32_t kCodeBytes, LevelsForm kForm, class Target>
__device__ __noinline__ void restore_any(const LevelsDecodeJob &job, const WarpTile &tile,
                                         uint32_t unit, const int32_t *slot,
                                         LevelsWarpMemory *memory) {
  EdgeTarget<Target, false> const target(job, tile);
  AnyDecodeStep<reach_of(kForm), kCodeBytes, decltype(target)> step(target, memory->codes, slot,
                                                                    unit);
  constexpr LevelsForm kOwn = kForm == LevelsForm::kPlain ? LevelsForm::kAny : kForm;
  EdgeMarchOf<kOwn, decltype(step)> march(job.level, tile, job.coarse, memory->stage, step);
  march.begin();
  march.run();
}

/* Codes of tile k of the order of work; returns the slot that they are in, NULL: they are in shared
 * memory. Notes the tile, and `next`. The whole warp calls. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ int32_t *decode_codes(const LevelsDecodeJob &job,
                                                 const szg_tokens_tables_cuda &tables, uint32_t k,
                                                 uint32_t next, uint32_t slot_index,
                                                 LevelsWarpMemory *memory) {
  const WarpLevel &level = job.level;
  WarpOrder const place(level, k, kCodeBytes == 1);
  WarpTile const tile = level.tile_at(place.layer, place.in_layer, 2 * kTilePairs<kCodeBytes>);
  uint64_t const tile_index =
      (uint64_t)place.layer * (level.y_tiles * level.x_tiles) + place.in_layer;
  if (threadIdx.x % 32 == 0) memory->notes.tile = tile;
  if (decode_short<kCodeBytes>(job, tables, tile, tile_index, next, memory)) return nullptr;
  int32_t *const slot = job.slots + (uint64_t)slot_index * (SZG_LEVELS_MOST_PLACES / kCodeBytes);
  decode_to_slot(job, tables, tile_index, memory, slot);
  return slot;
}

/* The tile that is noted, from its codes. The whole warp calls. */
template <uint32_t kCodeBytes, LevelsForm kForm, class Target>
__device__ __forceinline__ void restore_tile(const LevelsDecodeJob &job, uint32_t unit,
                                             const int32_t *slot, LevelsWarpMemory *memory) {
  const WarpLevel &level = job.level;
  const WarpTile &tile = memory->notes.tile;
  if (slot || !Target(job, tile).takes_all(tile))
    restore_any<kCodeBytes, kForm, Target>(job, tile, unit, slot, memory);
  else if (level.is_full<kCodeBytes>(tile) && level.is_inner<kCodeBytes>(tile))
    restore_inner<kCodeBytes, kForm, Target>(job, tile, unit, memory);
  else
    restore_edge<kCodeBytes, kForm, Target>(job, tile, unit, memory);
}

/* ---- the kernel ---- */

/* In plain mode others are not set. */
__device__ void load_tables(const szg_tokens_opened_cuda &opened, szg_tokens_tables_cuda *to) {
  constexpr uint32_t kVectors = SZG_TOKENS_ENTRIES / 4;
  bool const has_others = opened.mode != SZG_LEVELS_MODE_PLAIN;
  for (uint32_t i = threadIdx.x; i < kVectors; i += blockDim.x) {
    ((uint4 *)to->values)[i] = ((const uint4 *)opened.tables.values)[i];
    if (has_others) ((uint4 *)to->others)[i] = ((const uint4 *)opened.tables.others)[i];
  }
}

/* A warp's first tile is that of its own number, and so is its slot. */
template <uint32_t kCodeBytes, LevelsForm kForm, class Target>
__global__ void __launch_bounds__(kMostWarps * 32, 1)
    levels_decode_kernel(const __grid_constant__ LevelsDecodeJob job) {
  extern __shared__ __align__(16) unsigned char block_memory[];
  auto *const memory = reinterpret_cast<LevelsDecodeMemory *>(block_memory);
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t const warp_count = gridDim.x * (blockDim.x / 32);
  uint32_t const slot = warp * gridDim.x + blockIdx.x;
  uint32_t const tile_count =
      (job.level.end_layer - job.level.first_layer) * job.level.y_tiles * job.level.x_tiles;
  uint32_t const unit = opened.unit;
  if (opened.is_coded) load_tables(opened, &memory->tables);
  __syncthreads(); /* the tables are there */
  LevelsWarpMemory *const warps = memory->warps;
  for (uint32_t k = slot; k < tile_count;) {
    uint32_t asked = 0; /* every tile asks once, so the counter is 0 again after the launch */
    if (lane == 0) asked = ask_ahead(&job.input.opened->ticket, tile_count - 1);
    int32_t *const tile_slot =
        decode_codes<kCodeBytes>(job, memory->tables, k, asked, slot, own_of(warps));
    __syncwarp(); /* tile and next number are noted */
    restore_tile<kCodeBytes, kForm, Target>(job, unit, tile_slot, own_of(warps));
    k = warp_count + own_of(warps)->notes.next;
    __syncwarp(); /* all lanes know it, and codes are no longer needed */
  }
}

/* ---- launchers ---- */

/* Warps of a block: as many as shared memory has room for. */
szgpu_status warps_of_block(uint32_t *warps) {
  int most_bytes = 0;
  SZG_TRY(szg_most_shared_bytes(&most_bytes));
  uint32_t const room = (uint32_t)most_bytes - (uint32_t)sizeof(szg_tokens_tables_cuda);
  *warps = szg_lesser_u64(room / sizeof(LevelsWarpMemory), kMostWarps);
  return SZGPU_OK;
}
static_assert(sizeof(LevelsDecodeMemory) <= SZG_LEAST_SHARED_BYTES, "a warp fits on any GPU");

template <uint32_t kCodeBytes, LevelsForm kForm, class Target>
szgpu_status launch(const LevelsDecodeJob &job, uint64_t slot_count, cudaStream_t stream) {
  auto const kernel = levels_decode_kernel<kCodeBytes, kForm, Target>;
  uint32_t warps = 0;
  int multiprocessors = 0;
  SZG_TRY(warps_of_block(&warps));
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  uint64_t const tile_count = job.level.tile_count();
  uint64_t blocks = szg_lesser_u64((uint64_t)multiprocessors, tile_count);
  if (slot_count < tile_count) blocks = szg_lesser_u64(blocks, slot_count / warps);
  size_t const bytes = sizeof(szg_tokens_tables_cuda) + warps * sizeof(LevelsWarpMemory);
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned)blocks, warps * 32, bytes, stream>>>(job);
  return szg_launched();
}

template <uint32_t kCodeBytes, class Target>
szgpu_status launch_form(const LevelsDecodeJob &job, LevelsForm form, uint64_t slot_count,
                         cudaStream_t stream) {
  if (form == LevelsForm::kBlended)
    return launch<kCodeBytes, LevelsForm::kBlended, Target>(job, slot_count, stream);
  return form == LevelsForm::kPlain
             ? launch<kCodeBytes, LevelsForm::kPlain, Target>(job, slot_count, stream)
             : launch<kCodeBytes, LevelsForm::kAny, Target>(job, slot_count, stream);
}

template <class A>
szgpu_status launch_values(const LevelsDecodeJob &job, LevelsForm form, uint64_t slot_count,
                           cudaStream_t stream) {
  size_t const pair_bytes = 2 * sizeof(typename A::Value);
  uint64_t const strides = job.level.box_stride | job.level.z_stride | job.level.y_stride;
  bool const is_paired =
      (uintptr_t)job.points % pair_bytes == 0 && (strides | job.first_value) % 2 == 0;
  return is_paired ? launch_form<1, ValueTarget<A, true>>(job, form, slot_count, stream)
                   : launch_form<1, ValueTarget<A, false>>(job, form, slot_count, stream);
}

} // namespace
} // namespace szg

/* Planes are counted in bytes of 32 bits. */
bool szg_levels_decode_serves(const szg_levels *levels, uint32_t stage) {
  const szg_levels_stage *const s = &levels->stages[stage];
  uint64_t const most = (uint64_t)1 << 32;
  return szg::WarpLevel::serves(*levels, stage) && levels->z_stride * sizeof(double) < most &&
         s->y_extent * s->row_points * sizeof(int32_t) < most;
}

szgpu_status szg_levels_decode_cuda(const szg_levels_decode_job *job, szg_verdict *verdict,
                                    struct CUstream_st *stream) {
  const szg_levels_tiles_cuda &tiles = job->tiles;
  if (tiles.first_tile >= tiles.end_tile) return SZGPU_OK;
  szg::LevelsJob const stage(*job->levels, job->stage, *job->lattice, &tiles);
  bool const is_last = job->stage == job->levels->level_count;
  szg::LevelsForm const form = szg::WarpLevel::form_of(*job->levels);
  szg::LevelsDecodeJob const own = {szg::WarpLevel(stage, tiles.first_tile, tiles.end_tile),
                                    *job->input,
                                    *job->lattice,
                                    (const uint32_t *)job->grids[job->stage - 1],
                                    is_last ? job->values : job->grids[job->stage],
                                    job->first_value,
                                    job->end_value - job->first_value,
                                    job->codes,
                                    verdict};
  uint64_t const slots = job->slot_count;
  if (!is_last && stage.stage.spacing == 2)
    return szg::launch_form<2, szg::GridTarget>(own, form, slots, stream);
  if (!is_last) return szg::launch_form<4, szg::GridTarget>(own, form, slots, stream);
  return job->lattice->dtype == SZGPU_F32
             ? szg::launch_values<szg::LevelsF32>(own, form, slots, stream)
             : szg::launch_values<szg::LevelsF64>(own, form, slots, stream);
}
