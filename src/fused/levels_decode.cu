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
#include "core/cuda_check.cuh"
#include "fused/levels_decode_lanes.cuh"
#include "fused/levels_fused.h"
#include "fused/levels_march.cuh"
#include "fused/levels_march_any.cuh"

namespace szg {
namespace {

constexpr uint32_t kMostWarps = 16; /* of a block, of which a multiprocessor has one */
constexpr int kSlots = 4;           /* three planes of the coarser grid are on their way */
constexpr uint32_t kStageWords = kSlots * kMarchPlaneWords;
static_assert(kCodeWords >= kOverrunWords, "lanes may read behind the staged words");
static_assert(kStageWords * 4 >= SZG_TOKENS_MOST_GROUPS * sizeof(uint64_t), "general form's place");

struct WarpMemory {
  uint32_t stage[kStageWords]; /* words of the tile, then planes of the coarser grid */
  uint32_t codes[kCodeWords];
  WarpNotes notes;
};
static_assert(sizeof(WarpMemory) % 16 == 0 && kStageWords % 4 == 0, "16 bytes at once");

struct BlockMemory {
  szg_tokens_tables_cuda tables;
  WarpMemory warps[1]; /* as many as the block has */
};

struct DecodeJob {
  WarpLevel level;
  szg_tokens_input_cuda input;
  szg_levels_lattice lattice;
  const uint32_t *coarse;
  void *points; /* the grid; or the values wanted */
  uint64_t first_value, value_count;
  int32_t *slots;
  szg_verdict *verdict;
};

/* ---- where points go ---- */

__device__ __forceinline__ void store_neighbours(float *to, float even, float odd) {
  __stcs((float2 *)to, make_float2(even, odd));
}
__device__ __forceinline__ void store_neighbours(double *to, double even, double odd) {
  __stcs((double2 *)to, make_double2(even, odd));
}

/* To the level's grid. */
struct GridTarget {
  uint32_t *first; /* this lane's first point */
  uint32_t plane_bytes, row_bytes;

  __device__ __forceinline__ GridTarget(const DecodeJob &job, const WarpTile &tile)
      : first((uint32_t *)job.points + job.level.first_point(tile) + 2 * (threadIdx.x % 32)),
        plane_bytes((uint32_t)job.level.plane_points() * 4),
        row_bytes(job.level.row_points * 4) {}
  /* Whether all points of a full tile are wanted. */
  __device__ __forceinline__ bool takes_all(const WarpTile &) const { return true; }

  __device__ __forceinline__ uint32_t *at(uint32_t z, uint32_t y) const {
    return step_by(step_by(first, z, plane_bytes), y, row_bytes);
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    *(uint2 *)at(z, y) = make_uint2(even, odd);
  }
  __device__ __forceinline__ void store_any(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                            bool has_even, bool has_odd) const {
    uint32_t *const to = at(z, y);
    if (has_even) to[0] = even;
    if (has_odd) to[1] = odd;
  }
};

/* To the field, if they are among the values wanted. The level is the finest. kIsPaired: two
 * neighbours of a row are an aligned piece. */
template <class A, bool kIsPaired>
struct ValueTarget {
  typedef typename A::Value Value;

  const szg_levels_lattice &lattice;
  uint64_t first_index, value_count; /* this lane's first value among those wanted; all of these */
  Value *first;                      /* if it is wanted */
  uint32_t plane_bytes, row_bytes;

  __device__ __forceinline__ ValueTarget(const DecodeJob &job, const WarpTile &tile)
      : lattice(job.lattice),
        first_index(job.level.first_value(tile) - job.first_value + 2 * (threadIdx.x % 32)),
        value_count(job.value_count),
        first((Value *)job.points + first_index),
        plane_bytes((uint32_t)(job.level.z_stride * sizeof(Value))),
        row_bytes((uint32_t)(job.level.y_stride * sizeof(Value))) {}
  __device__ __forceinline__ bool takes_all(const WarpTile &tile) const {
    uint64_t const index = first_index - 2 * (threadIdx.x % 32); /* wraps before the window */
    uint64_t const last =
        ((tile.z_extent - 1) * (uint64_t)plane_bytes + (tile.y_extent - 1) * (uint64_t)row_bytes) /
            sizeof(Value) +
        kWarpTileX - 1;
    return index < value_count && last < value_count - index;
  }
  __device__ __forceinline__ Value value_of(uint32_t point) const {
    return A::restore(lattice, (int32_t)point);
  }
  __device__ __forceinline__ Value *at(uint32_t z, uint32_t y) const {
    return step_by(step_by(first, z, plane_bytes), y, row_bytes);
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    Value *const to = at(z, y);
    if (kIsPaired) {
      store_neighbours(to, value_of(even), value_of(odd));
    } else {
      to[0] = value_of(even);
      to[1] = value_of(odd);
    }
  }
  __device__ __forceinline__ void store_any(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                            bool has_even, bool has_odd) const {
    Value *const to = at(z, y);
    uint64_t const index = first_index + (uint64_t)(to - first);
    if (has_even && index < value_count) to[0] = value_of(even);
    if (has_odd && index + 1 < value_count) to[1] = value_of(odd);
  }
};

/* ---- the march's steps ---- */

/* Codes in shared memory. */
template <uint32_t kBytes, class Target, bool kIsInner_>
struct DecodeStep {
  static constexpr uint32_t kCodeBytes = kBytes;
  static constexpr int kSlots = szg::kSlots, kPairs = kTilePairs<kBytes>;
  static constexpr uint32_t kSlotWords = kMarchPlaneWords;
  static constexpr int kLateGroups = 0;
  static constexpr bool kPins = true, kIsInner = kIsInner_;
  /* Of the codes of a class in shared memory. */
  static constexpr uint32_t kClassWords = kPairs * 32 * kBytes / kCodeRegion * kCodePitch;
  static_assert(kPairs * 32 * kBytes % kCodeRegion == 0, "classes are whole regions");

  const Target &target;
  uint32_t lane;
  uint32_t codes; /* address in shared memory */
  uint32_t unit;
  uint32_t words[7][kBytes]; /* of each class, the codes of this step */

  __device__ __forceinline__ DecodeStep(const Target &target_, const uint32_t *codes_,
                                        uint32_t unit_)
      : target(target_), lane(kept(threadIdx.x % 32)), codes(shared_address(codes_)), unit(unit_) {}

  /* Zeros if there is no such pair. */
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void load(int pair) {
    bool const is_there = (uint32_t)pair < (uint32_t)kPairs;
    uint32_t const first = ((is_there ? (uint32_t)pair : 0) * 32 + lane) * kBytes;
    uint32_t const at = codes + 4 * code_word(first);
#pragma unroll
    for (uint32_t index = kFirst; index < kEnd; index++)
#pragma unroll
      for (uint32_t i = 0; i < kBytes; i++)
        words[index][i] = load_shared(at + 4 * (index * kClassWords + i)) & (is_there ? ~0u : 0);
  }
  __device__ __forceinline__ void begin(int i, const uint32_t *) {
    load<0, 3>(i);
    load<3, 7>(i - 2);
  }
  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool) const {
    const uint32_t *const w = words[kClass - 1];
    int32_t const code = kBytes == 1   ? (int32_t)(int8_t)(w[0] >> 8 * j)
                         : kBytes == 2 ? (int32_t)(int16_t)(w[j / 2 % kBytes] >> 16 * (j % 2))
                                       : (int32_t)w[j % kBytes];
    return predicted + (uint32_t)code * unit;
  }
  __device__ __forceinline__ void store(uint32_t z, uint32_t y, uint32_t even, uint32_t odd) const {
    target.store(z, y, even, odd);
  }

  __device__ __forceinline__ void copy(int, uint32_t *) const {}
  __device__ __forceinline__ void start(uint32_t *) const {}
  __device__ __forceinline__ void load_rows(bool, bool) const {}
  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int, bool) const {}
};

/* Codes there or in a slot. */
template <uint32_t kBytes, class Target>
struct AnyDecodeStep {
  typedef typename CodeOf<kBytes>::Type Code;
  static constexpr uint32_t kCodeBytes = kBytes;
  static constexpr int kPairs = kTilePairs<kBytes>;

  const Target &target;
  const uint32_t *codes;
  const int32_t *slot; /* NULL: in shared memory */
  uint32_t unit;
  int step;

  __device__ __forceinline__ AnyDecodeStep(const Target &target_, const uint32_t *codes_,
                                           const int32_t *slot_, uint32_t unit_)
      : target(target_), codes(codes_), slot(slot_), unit(unit_), step(0) {}

  __device__ __forceinline__ void begin_any(int i) { step = i; }
  template <uint32_t kClass>
  __device__ __forceinline__ uint32_t settle(int j, uint32_t predicted, bool exists) const {
    int const pair = kClass & SZG_AXIS_Z ? step - 2 : step;
    uint32_t const first = (((kClass - 1) * kPairs + (uint32_t)pair) * 32 + threadIdx.x % 32);
    if (!exists) return predicted;
    int32_t const code = slot ? slot[4 * first + j]
                              : (int32_t)((const Code *)(codes + code_word(first * kBytes)))[j];
    return predicted + (uint32_t)code * unit;
  }
  __device__ __forceinline__ void store_any(uint32_t z, uint32_t y, uint32_t even, uint32_t odd,
                                            bool has_even, bool has_odd) const {
    target.store_any(z, y, even, odd, has_even, has_odd);
  }

  __device__ __forceinline__ void load_rows(bool, bool) const {}
  template <uint32_t kClass>
  __device__ __forceinline__ void end_class(int) const {}
  __device__ __forceinline__ void end_absent(int, bool) const {}
};

/* ---- a tile ---- */

/* Its codes to shared memory. next: lane 0's, to be noted. False: declined. The whole warp
 * calls. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ bool decode_short(const DecodeJob &job,
                                             const szg_tokens_tables_cuda &tables,
                                             const WarpTile &tile, uint64_t tile_index,
                                             uint32_t next, WarpMemory *memory) {
  constexpr uint32_t kGroups = SZG_TOKENS_MOST_GROUPS / kCodeBytes;
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const lane = threadIdx.x % 32;
  szg_tokens_shape const shape = {kGroups, opened.lane_groups_log2, false};
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
    LaneRange const range = read_tile_head(shape, ArchiveWords{memory->stage, words.end});
    is_decoded = range.is_sound;
    if (range.is_sound && range.is_live)
      is_decoded =
          decode_short_lane<kCodeBytes>(opened, tables, memory->stage, range, tile, memory->codes);
  } else {
    LaneRange const range = read_tile_head(shape, words);
    is_decoded = range.is_sound;
    if (range.is_sound && range.is_live)
      is_decoded =
          decode_short_lane<kCodeBytes>(opened, tables, words.words, range, tile, memory->codes);
  }
  __syncwarp(); /* codes are there, and words no longer needed: a vote orders no memory */
  return __all_sync(kAllLanes, is_decoded);
}

/* Its codes to a slot. The whole warp calls. */
__device__ __noinline__ void decode_to_slot(const DecodeJob &job,
                                            const szg_tokens_tables_cuda &tables,
                                            uint64_t tile_index, WarpMemory *memory,
                                            int32_t *slot) {
  __syncwarp(); /* the codes before are no longer needed */
  bool const is_sound = decode_tile(job.input, tile_index, tables, (uint64_t *)memory->stage, slot);
  if (!is_sound && threadIdx.x % 32 == 0) job.verdict->bad_data = 1;
  __syncwarp(); /* the stage is free */
}

/* slot: NULL if the codes are in shared memory. On its own, so that it takes no registers from the
 * others. The whole warp calls. */
template <uint32_t kCodeBytes, class Target>
__device__ __noinline__ void restore_any(const DecodeJob &job, const WarpTile &tile,
                                         const uint32_t *codes, const int32_t *slot,
                                         uint32_t unit) {
  Target const target(job, tile);
  AnyDecodeStep<kCodeBytes, Target> step(target, codes, slot, unit);
  AnyMarch<decltype(step)>(job.level, tile, job.coarse, step).run();
}

template <uint32_t kCodeBytes, bool kIsPlain, bool kIsInner, class Target>
__device__ __forceinline__ void restore_by(const DecodeJob &job, const WarpTile &tile,
                                           WarpMemory *memory, uint32_t unit) {
  typedef DecodeStep<kCodeBytes, Target, kIsInner> Step;
  Target const target(job, tile);
  Step step(target, memory->codes, unit);
  FullMarch<kIsPlain, Step> march(job.level, tile, job.coarse, memory->stage, step);
  march.begin();
  march.run();
}
/* Full tiles that are not inner, on their own, so that the others' instructions stay together. */
template <uint32_t kCodeBytes, bool kIsPlain, class Target>
__device__ __noinline__ void restore_full(const DecodeJob &job, const WarpTile &tile,
                                          WarpMemory *memory, uint32_t unit) {
  restore_by<kCodeBytes, kIsPlain, false, Target>(job, tile, memory, unit);
}

/* Codes of tile k of the order of work; returns the slot that they are in, NULL: they are in shared
 * memory. Notes the tile, and `next`. The whole warp calls. */
template <uint32_t kCodeBytes>
__device__ __forceinline__ int32_t *decode_codes(const DecodeJob &job,
                                                 const szg_tokens_tables_cuda &tables, uint32_t k,
                                                 uint32_t next, uint32_t slot_index,
                                                 WarpMemory *memory) {
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
template <uint32_t kCodeBytes, bool kIsPlain, class Target>
__device__ __forceinline__ void restore_tile(const DecodeJob &job, uint32_t unit,
                                             const int32_t *slot, WarpMemory *memory) {
  const WarpLevel &level = job.level;
  const WarpTile &tile = memory->notes.tile;
  if (slot || !level.is_full<kCodeBytes>(tile) || !Target(job, tile).takes_all(tile))
    restore_any<kCodeBytes, Target>(job, tile, memory->codes, slot, unit);
  else if (level.is_inner<kCodeBytes>(tile))
    restore_by<kCodeBytes, kIsPlain, true, Target>(job, tile, memory, unit);
  else
    restore_full<kCodeBytes, kIsPlain, Target>(job, tile, memory, unit);
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
template <uint32_t kCodeBytes, bool kIsPlain, class Target>
__global__ void __launch_bounds__(kMostWarps * 32, 1)
    levels_decode_kernel(const __grid_constant__ DecodeJob job) {
  extern __shared__ __align__(16) unsigned char block_memory[];
  auto *const memory = reinterpret_cast<BlockMemory *>(block_memory);
  const szg_tokens_opened_cuda &opened = *job.input.opened;
  uint32_t const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t const warp_count = gridDim.x * (blockDim.x / 32);
  uint32_t const slot = warp * gridDim.x + blockIdx.x;
  uint32_t const tile_count =
      (job.level.end_layer - job.level.first_layer) * job.level.y_tiles * job.level.x_tiles;
  uint32_t const unit = opened.unit;
  if (opened.is_coded) load_tables(opened, &memory->tables);
  __syncthreads(); /* the tables are there */
  WarpMemory *const warps = memory->warps;
  for (uint32_t k = slot; k < tile_count;) {
    uint32_t asked = 0; /* every tile asks once, so the counter is 0 again after the launch */
    if (lane == 0) asked = ask_ahead(&job.input.opened->ticket, tile_count - 1);
    int32_t *const tile_slot =
        decode_codes<kCodeBytes>(job, memory->tables, k, asked, slot, own_of(warps));
    __syncwarp(); /* tile and next number are noted */
    restore_tile<kCodeBytes, kIsPlain, Target>(job, unit, tile_slot, own_of(warps));
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
  *warps = szg_lesser_u64(room / sizeof(WarpMemory), kMostWarps);
  return SZGPU_OK;
}
static_assert(sizeof(BlockMemory) <= SZG_LEAST_SHARED_BYTES, "a warp fits on any GPU");

template <uint32_t kCodeBytes, bool kIsPlain, class Target>
szgpu_status launch(const DecodeJob &job, uint64_t slot_count, cudaStream_t stream) {
  auto const kernel = levels_decode_kernel<kCodeBytes, kIsPlain, Target>;
  uint32_t warps = 0;
  int multiprocessors = 0;
  SZG_TRY(warps_of_block(&warps));
  SZG_TRY(szg_multiprocessor_count(&multiprocessors));
  uint64_t const tile_count = job.level.tile_count();
  uint64_t blocks = szg_lesser_u64((uint64_t)multiprocessors, tile_count);
  if (slot_count < tile_count) blocks = szg_lesser_u64(blocks, slot_count / warps);
  size_t const bytes = sizeof(szg_tokens_tables_cuda) + warps * sizeof(WarpMemory);
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned)blocks, warps * 32, bytes, stream>>>(job);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

template <uint32_t kCodeBytes, class Target>
szgpu_status launch_form(const DecodeJob &job, bool is_plain, uint64_t slot_count,
                         cudaStream_t stream) {
  return is_plain ? launch<kCodeBytes, true, Target>(job, slot_count, stream)
                  : launch<kCodeBytes, false, Target>(job, slot_count, stream);
}

template <class A>
szgpu_status launch_values(const DecodeJob &job, bool is_plain, uint64_t slot_count,
                           cudaStream_t stream) {
  size_t const pair_bytes = 2 * sizeof(typename A::Value);
  uint64_t const strides = job.level.box_stride | job.level.z_stride | job.level.y_stride;
  bool const is_paired =
      (uintptr_t)job.points % pair_bytes == 0 && (strides | job.first_value) % 2 == 0;
  return is_paired ? launch_form<1, ValueTarget<A, true>>(job, is_plain, slot_count, stream)
                   : launch_form<1, ValueTarget<A, false>>(job, is_plain, slot_count, stream);
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
  if (job->first_tile >= job->end_tile) return SZGPU_OK;
  szg_levels_tiles_cuda const tiles = {job->first_tile, job->end_tile};
  szg::LevelsJob const stage(*job->levels, job->stage, *job->lattice, &tiles);
  bool const is_last = job->stage == job->levels->level_count;
  bool const is_plain = szg::WarpLevel::is_plain(*job->levels);
  szg::DecodeJob const own = {szg::WarpLevel(stage, job->first_tile, job->end_tile),
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
    return szg::launch_form<2, szg::GridTarget>(own, is_plain, slots, stream);
  if (!is_last) return szg::launch_form<4, szg::GridTarget>(own, is_plain, slots, stream);
  return job->lattice->dtype == SZGPU_F32
             ? szg::launch_values<szg::LevelsF32>(own, is_plain, slots, stream)
             : szg::launch_values<szg::LevelsF64>(own, is_plain, slots, stream);
}
