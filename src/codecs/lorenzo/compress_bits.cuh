/* compress_bits.cuh - a lane's bits during compression: one current word, others staged.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each lane appends to a stream of its own. Words that are full go to the warp's stage in shared
 * memory, word i of lane l at [32 * i + l], so lanes use different banks. Most tiles fit the stage.
 * If some lane might lack room for its next group, all lanes flush. On the first walk of a tile a
 * flush only counts words; the warp then walks such a tile again, and flushes go to the archive.
 */
#ifndef SZG_COMPRESS_BITS_CUH
#define SZG_COMPRESS_BITS_CUH

#include "codecs/lorenzo/tile_core.h"
#include "core/bit_writer.cuh"
#include "core/device.h"
#include "core/shared_memory.cuh"
#include "core/warp.cuh"

namespace szg {

/* A block. kStageWordsGiven: of a lane. kRingRows: the ring has 32 times as many words. */
template <uint32_t kWarpsGiven, uint32_t kBlocksGiven, uint32_t kStageWordsGiven,
          uint32_t kRingRows>
struct CompressPolicy {
  static constexpr uint32_t kWarps = kWarpsGiven, kThreads = 32 * kWarps;
  static constexpr int kBlocks = kBlocksGiven; /* that must fit a multiprocessor */
  static constexpr uint32_t kStageWords = kStageWordsGiven;
  static constexpr uint32_t kStagedWords = kStageWords * SZG_LANES; /* per warp */
  static constexpr uint32_t kRingWords = kRingRows * SZG_LANES;     /* the same */
};

/* Bits per code of a full tile that the stage holds: 10 on the 16-bit lattice, where many warps
 * hide each other's waits, and 13 if values spread over most of it; on the others 16 for f32 and 30
 * for f64, so that few tiles are walked twice. */
typedef CompressPolicy<5, 4, 40, 39> NarrowPolicy;
typedef CompressPolicy<4, 4, 52, 46> WidePolicy16;
typedef CompressPolicy<3, 4, 64, 64> WidePolicyF32;
typedef CompressPolicy<1, 6, 122, 118> WidePolicyF64;

/* For kernels over several items: a block also has its item's job in shared memory. */
constexpr uint32_t kMostJobBytes = 320;
typedef CompressPolicy<5, 4, 40, 37> NarrowItemsPolicy;

constexpr uint32_t kStepBytes = SZG_LANES * sizeof(uint32_t); /* from a lane's word to its next */

constexpr uint32_t kClasses16 = 32; /* classes of magnitudes of 16 bits */

/* Where negative classes begin among entries by class: a float's sign is nine bits above the bit
 * after its highest (compress_wide.cuh). */
constexpr uint32_t kNegativeClasses = 512, kClasses32 = 64;

/* A block's tables, at the start of its shared memory. */
struct CompressTables {
  uint32_t table[2 * SZG_TILE_DIRECT];                 /* entries by delta + 512 */
  uint32_t class_codes[kNegativeClasses + kClasses32]; /* for magnitudes of up to 32 bits */
  uint32_t classes[2 * kClasses16]; /* of the 16-bit lattice; negative ones come last */
  uint32_t escape, padding[3];
};

/* Shared memory of a block. */
template <class Policy>
struct CompressBlock {
  CompressTables tables;
  uint32_t stages[Policy::kWarps][Policy::kStagedWords];
  uint32_t rings[Policy::kWarps][Policy::kRingWords]; /* words of merged tiles */
};
/* A Hopper multiprocessor's shared memory, of which each block takes some more. */
constexpr uint32_t kHopperBytes = 228 << 10, kReservedBytes = 1 << 10;
template <class Policy>
constexpr bool kFits = sizeof(CompressBlock<Policy>) <= SZG_LEAST_SHARED_BYTES &&Policy::kBlocks *(
                                                            sizeof(CompressBlock<Policy>) +
                                                            kReservedBytes) <= kHopperBytes;
template <class Policy>
constexpr bool kFitsWithJob = Policy::kBlocks *(sizeof(CompressBlock<Policy>) + kMostJobBytes +
                                                kReservedBytes) <= kHopperBytes;
static_assert(kFitsWithJob<NarrowItemsPolicy> && kFitsWithJob<WidePolicy16> &&
                  kFitsWithJob<WidePolicyF32> && kFitsWithJob<WidePolicyF64>,
              "so many blocks fit, with their jobs");
static_assert(kFits<NarrowPolicy> && kFits<WidePolicy16> && kFits<WidePolicyF32> &&
                  kFits<WidePolicyF64>,
              "a block fits any device, and kBlocks fit a multiprocessor of an H100");

/* Declared once for the whole file, so that functions that are not inlined also find it and know
 * that it is shared memory. */
extern __shared__ __align__(16) unsigned char compress_memory[];
template <class Policy>
__device__ __forceinline__ CompressBlock<Policy> &shared_block() {
  return *reinterpret_cast<CompressBlock<Policy> *>(compress_memory);
}
__device__ __forceinline__ CompressTables &shared_tables() {
  return *reinterpret_cast<CompressTables *>(compress_memory);
}

/* A value that the compiler must keep and not compute again at its use. */
__device__ __forceinline__ uint32_t kept_in_register(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

/* The state that every code needs. */
struct LaneBits {
  uint32_t word; /* current: bits from the highest on, the rest 0 */
  uint32_t at;   /* how many, modulo 32; bits above the lowest five mean nothing */
  uint32_t next; /* shared address of its place in the stage */

  /* Stages a full word; there is room. */
  __device__ __forceinline__ void put_full_word() {
    store_shared(next, word);
    next += kStepBytes;
  }
};

/* The state for a full stage and for the tile's end. */
struct LaneStage {
  uint32_t flushed_words;
  uint32_t *out; /* the word of the archive in which the lane's bits begin; NULL: only count */
};

/* Shared addresses of the lane's first word in the stage, and of the place after its last. */
template <class Policy>
__device__ __forceinline__ uint32_t stage_start() {
  return shared_address(&shared_block<Policy>().stages[threadIdx.x / 32][threadIdx.x % 32]);
}
template <class Policy>
__device__ __forceinline__ uint32_t stage_end() {
  return stage_start<Policy>() + Policy::kStageWords * kStepBytes;
}

/* Moves staged words to the archive. The lane before may end in this lane's first word. */
template <class Policy>
__device__ __noinline__ void flush_stage(uint32_t next, LaneStage *stage) {
  uint32_t const start = stage_start<Policy>(), word_count = (next - start) / kStepBytes;
  if (stage->out) {
    uint32_t *const out = stage->out + stage->flushed_words;
    uint32_t i = 0;
    if (stage->flushed_words == 0 && word_count > 0) {
      atomicOr(out, load_shared(start));
      i = 1;
    }
#pragma unroll 4
    for (; i < word_count; i++) out[i] = load_shared(start + i * kStepBytes);
  }
  stage->flushed_words += word_count;
}

/* Makes room for `words` words; lanes may differ in the number. The whole warp calls. */
template <class Policy>
__device__ __forceinline__ void keep_room(LaneBits &bits, uint32_t words, LaneStage *stage) {
  if (!__any_sync(kAllLanes, bits.next + words * kStepBytes > stage_end<Policy>())) return;
  flush_stage<Policy>(bits.next, stage);
  bits.next = stage_start<Policy>();
}

/* Appends the first `count` bits of `code`, 1 to 32; those after them are 0. */
__device__ __forceinline__ void append_bits(LaneBits &bits, uint32_t code, uint32_t count) {
  uint32_t const at = bits.at % 32;
  bits.word |= code >> at;
  if (at + count >= 32) {
    bits.put_full_word();
    bits.word = bits_in_next_word(code, at);
  }
  bits.at = at + count;
}

/* Appends the low `count` bits of a number, up to 64. */
__device__ __forceinline__ void append_number(LaneBits &bits, uint64_t number, uint32_t count) {
  if (count > 32) {
    append_bits(bits, (uint32_t)(number >> 32) << (64 - count), count - 32);
    count = 32;
  }
  if (count > 0) append_bits(bits, (uint32_t)number << (32 - count), count);
}

/* ---- at the tile's end ---- */

/* Stages the lane's last word or, on the second walk, writes it to the archive. Returns the lane's
 * number of bits. The whole warp calls. */
template <class Policy>
__device__ __forceinline__ uint32_t finish_lane(LaneBits &bits, LaneStage *stage) {
  keep_room<Policy>(bits, 1, stage);
  uint32_t const rest = bits.at % 32;
  uint32_t const staged_words = (bits.next - stage_start<Policy>()) / kStepBytes;
  uint32_t const full_words = stage->flushed_words + staged_words;
  if (stage->out) {
    flush_stage<Policy>(bits.next, stage);
    if (rest > 0) atomicOr(stage->out + full_words, bits.word); /* the next lane begins there */
  } else if (rest > 0) {
    bits.put_full_word();
  }
  return 32 * full_words + rest;
}

} // namespace szg

#endif
