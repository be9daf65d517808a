/* xxh3.cuh - XXH3-64 with seed 0 and the default secret, by one thread or by a warp.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithm and its constants are Yann Collet's XXH3 (xxHash 0.8, BSD-2-Clause). libxxhash runs
 * on hosts only, hence this implementation. Devices hash only whole 64-bit words at multiples of 8
 * bytes, little-endian like the device itself, so 0, 8 and 16 are the only sizes up to 16 bytes.
 *
 * Beyond 240 bytes XXH3 has eight accumulators and reads stripes of eight words, one per
 * accumulator. Between two scrambles, 16 stripes apart, accumulators are plain sums, which lanes
 * can share.
 */
#ifndef SZG_XXH3_CUH
#define SZG_XXH3_CUH

#include <stdint.h>

#include "core/hd.h"
#include "core/warp.cuh"

namespace szg {
namespace xxh3 {

constexpr uint64_t kPrime32_1 = 0x9E3779B1u;
constexpr uint64_t kPrime32_2 = 0x85EBCA77u;
constexpr uint64_t kPrime32_3 = 0xC2B2AE3Du;
constexpr uint64_t kPrime64_1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime64_2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime64_3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime64_4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime64_5 = 0x27D4EB2F165667C5u;

constexpr uint64_t kHashOfNothing = 0x2D06800538D394C2u;

constexpr uint32_t kShortWords = 30; /* 240 bytes: no stripes up to here */
constexpr uint32_t kStripeWords = 8; /* one for each accumulator */
constexpr uint32_t kBlockStripes = 16;
constexpr uint32_t kBlockWords = kStripeWords * kBlockStripes; /* from scramble to scramble */

/* Offsets into the secret, in bytes. */
constexpr uint32_t kMiddleSecret = 3;
constexpr uint32_t kMiddleLastSecret = 119;
constexpr uint32_t kMergeSecret = 11;
constexpr uint32_t kFinalStripeSecret = 121;
constexpr uint32_t kScrambleSecret = 128;

/* Not in constant memory, because lanes read different words at once. Words at offsets known at
 * compile time, as in the unrolled loops for short inputs, are not read at all. */
static __device__ const uint64_t kSecretWords[] = {
    0xBE4BA423396CFEB8u, 0x1CAD21F72C81017Cu, 0xDB979083E96DD4DEu, 0x1F67B3B7A4A44072u,
    0x78E5C0CC4EE679CBu, 0x2172FFCC7DD05A82u, 0x8E2443F7744608B8u, 0x4C263A81E69035E0u,
    0xCB00C391BB52283Cu, 0xA32E531B8B65D088u, 0x4EF90DA297486471u, 0xD8ACDEA946EF1938u,
    0x3F349CE33F76FAA8u, 0x1D4F0BC7C7BBDCF9u, 0x3159B4CD4BE0518Au, 0x647378D9C97E9FC8u,
    0xC3EBD33483ACC5EAu, 0xEB6313FAFFA081C5u, 0x49DAF0B751DD0D17u, 0x9E68D429265516D3u,
    0xFCA1477D58BE162Bu, 0xCE31D07AD1B8F88Fu, 0x280416958F3ACB45u, 0x7E404BBBCAFBD7AFu,
};

static __device__ const uint64_t kFirstAccumulators[] = {
    kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3, kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};

/* ---- Functions of one thread ---- */

/* The secret's 8 bytes from `offset` (at most 184) on. */
inline __device__ uint64_t secret(uint32_t offset) {
  uint32_t const word = offset / 8, skipped_bits = offset % 8 * 8;
  if (skipped_bits == 0) return kSecretWords[word];
  return kSecretWords[word] >> skipped_bits | kSecretWords[word + 1] << (64 - skipped_bits);
}

inline __device__ uint64_t rotate_left(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

inline __device__ uint64_t swap_bytes(uint64_t x) {
  x = (x & 0x00FF00FF00FF00FFu) << 8 | (x >> 8 & 0x00FF00FF00FF00FFu);
  x = (x & 0x0000FFFF0000FFFFu) << 16 | (x >> 16 & 0x0000FFFF0000FFFFu);
  return x << 32 | x >> 32;
}

/* The halves of the 128-bit product, XORed. */
inline __device__ uint64_t multiply_fold(uint64_t a, uint64_t b) {
  unsigned __int128 const product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

inline __device__ uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 37) * 0x165667919E3779F9u;
  return hash ^ hash >> 32;
}

/* Mixes two words with the secret from `offset` on. */
inline __device__ uint64_t mix_pair(const uint64_t *words, uint32_t offset) {
  return multiply_fold(words[0] ^ secret(offset), words[1] ^ secret(offset + 8));
}

inline __device__ uint64_t hash_one_word(uint64_t word) {
  uint64_t hash = rotate_left(word, 32) ^ secret(8) ^ secret(16);
  hash ^= rotate_left(hash, 49) ^ rotate_left(hash, 24);
  hash *= 0x9FB21C651E98DF25u;
  hash ^= (hash >> 35) + sizeof word;
  hash *= 0x9FB21C651E98DF25u;
  return hash ^ hash >> 28;
}

inline __device__ uint64_t hash_two_words(const uint64_t *words) {
  uint64_t const low = words[0] ^ secret(24) ^ secret(32);
  uint64_t const high = words[1] ^ secret(40) ^ secret(48);
  return avalanche(2 * sizeof *words + swap_bytes(low) + high + multiply_fold(low, high));
}

/* 17 to 128 bytes: pairs from both ends until they meet; near the middle they may overlap. */
inline __device__ uint64_t hash_to_128_bytes(const uint64_t *words, uint32_t word_count) {
  uint64_t hash = word_count * sizeof *words * kPrime64_1;
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    if (4 * i >= word_count) break;
    hash += mix_pair(words + 2 * i, 32 * i);
    hash += mix_pair(words + word_count - 2 - 2 * i, 32 * i + 16);
  }
  return avalanche(hash);
}

inline __device__ uint64_t hash_to_240_bytes(const uint64_t *words, uint32_t word_count) {
  uint32_t const first_pairs = 8;
  uint64_t hash = word_count * sizeof *words * kPrime64_1;
#pragma unroll
  for (uint32_t i = 0; i < first_pairs; i++) hash += mix_pair(words + 2 * i, 16 * i);
  hash = avalanche(hash);
#pragma unroll
  for (uint32_t i = first_pairs; i < kShortWords / 2; i++) {
    if (i >= word_count / 2) break;
    hash += mix_pair(words + 2 * i, 16 * (i - first_pairs) + kMiddleSecret);
  }
  return avalanche(hash + mix_pair(words + word_count - 2, kMiddleLastSecret));
}

/* The hash of at most kShortWords. Called, because kernels have several uses for it, and read their
 * instructions from device memory. */
static __device__ __noinline__ uint64_t hash_short(const uint64_t *words, uint32_t word_count) {
  if (word_count == 0) return kHashOfNothing;
  if (word_count == 1) return hash_one_word(words[0]);
  if (word_count == 2) return hash_two_words(words);
  if (word_count <= 16) return hash_to_128_bytes(words, word_count);
  return hash_to_240_bytes(words, word_count);
}

/* ---- Functions of one lane of a warp, for more than kShortWords ---- */

/* Lane l has accumulator l % 8, and stripes l / 8 + 0, 4, 8, 12 of each block, so that a warp loads
 * 256 consecutive bytes. */
constexpr uint32_t kLaneGroups = 32 / kStripeWords;
constexpr uint32_t kLaneStripes = kBlockStripes / kLaneGroups;

struct Lane {
  uint32_t accumulator;
  uint32_t first_stripe;
  uint64_t stripe_keys[kLaneStripes];
};

inline __device__ Lane lane_at(uint32_t lane_index) {
  Lane lane;
  lane.accumulator = lane_index % kStripeWords;
  lane.first_stripe = lane_index / kStripeWords;
  for (uint32_t i = 0; i < kLaneStripes; i++)
    lane.stripe_keys[i] = secret(8 * (lane.first_stripe + kLaneGroups * i) + 8 * lane.accumulator);
  return lane;
}

struct LaneWords {
  uint64_t of_stripe[kLaneStripes];
};

/* A lane's words of the block that begins at first_word, which may even lie beyond the end. The
 * last eight of all words replace each incomplete stripe, and so stripe 15 of the last block. */
inline __device__ LaneWords load_block(const Lane &lane, const uint64_t *words, uint32_t first_word,
                                       uint32_t word_count) {
  LaneWords loaded;
  for (uint32_t i = 0; i < kLaneStripes; i++) {
    uint32_t const start = first_word + kStripeWords * (lane.first_stripe + kLaneGroups * i);
    loaded.of_stripe[i] = words[min(start, word_count - kStripeWords) + lane.accumulator];
  }
  return loaded;
}

/* What stripes add: each word to the neighbour's accumulator, and a product to its own. */
struct HashSums {
  uint64_t for_neighbour, for_own;
};

inline __device__ void add_word(uint64_t word, uint64_t key, HashSums *sums) {
  uint64_t const keyed = word ^ key;
  sums->for_neighbour += word;
  sums->for_own += (keyed & 0xFFFFFFFFu) * (keyed >> 32);
}

inline __device__ HashSums sum_block(const Lane &lane, const LaneWords &words) {
  HashSums sums = {0, 0};
  for (uint32_t i = 0; i < kLaneStripes; i++)
    add_word(words.of_stripe[i], lane.stripe_keys[i], &sums);
  return sums;
}

/* The sums of the last block, which has 1 to kBlockWords: the stripes that end before the last
 * word, then the last eight words, some of them again, with a key of their own. */
inline __device__ HashSums sum_last_block(const Lane &lane, const LaneWords &words,
                                          uint32_t block_words) {
  uint32_t const stripe_count = (block_words - 1) / kStripeWords;
  HashSums sums = {0, 0};
  for (uint32_t i = 0; i < kLaneStripes; i++) {
    uint32_t const stripe = lane.first_stripe + kLaneGroups * i;
    if (stripe < stripe_count) add_word(words.of_stripe[i], lane.stripe_keys[i], &sums);
    if (stripe == kBlockStripes - 1)
      add_word(words.of_stripe[i], secret(kFinalStripeSecret + 8 * lane.accumulator), &sums);
  }
  return sums;
}

inline __device__ uint64_t scramble_key(const Lane &lane) {
  return secret(kScrambleSecret + 8 * lane.accumulator);
}

inline __device__ uint64_t scramble(uint64_t sum, uint64_t key) {
  return (sum ^ sum >> 47 ^ key) * kPrime32_1;
}

/* ---- Functions of a warp: all 32 lanes call ---- */

/* The sum of all lanes for the lane's accumulator. */
inline __device__ uint64_t sum_of_warp(const HashSums &sums) {
  uint64_t sum = sums.for_own + __shfl_xor_sync(kAllLanes, sums.for_neighbour, 1);
  for (uint32_t distance = kStripeWords; distance < 32; distance *= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  return sum;
}

/* The hash from the final accumulators of the lanes. */
inline __device__ uint64_t merge_by_warp(const Lane &lane, uint64_t accumulator,
                                         uint32_t word_count) {
  uint64_t const keyed = accumulator ^ secret(kMergeSecret + 8 * lane.accumulator);
  uint64_t hash = multiply_fold(keyed, __shfl_xor_sync(kAllLanes, keyed, 1));
  for (uint32_t distance = 2; distance < kStripeWords; distance *= 2)
    hash += __shfl_xor_sync(kAllLanes, hash, distance);
  return avalanche(word_count * sizeof(uint64_t) * kPrime64_1 + hash);
}

/* Blocks before the last one, which is never scrambled, full or not. */
inline __device__ uint32_t scrambled_blocks(uint32_t word_count) {
  return (word_count - 1) / kBlockWords;
}

/* Blocks in flight while one is summed, 5 KiB: summing these takes as long as loading one. */
constexpr uint32_t kBlocksAhead = 5;

/* The hash of more than kShortWords. */
inline __device__ uint64_t hash_long_by_warp(const Lane &lane, const uint64_t *words,
                                             uint32_t word_count) {
  uint64_t const key = scramble_key(lane);
  uint64_t accumulator = kFirstAccumulators[lane.accumulator];
  uint32_t const last = scrambled_blocks(word_count) * kBlockWords;
  LaneWords const last_words = load_block(lane, words, last, word_count);
  LaneWords ahead[kBlocksAhead];
#pragma unroll
  for (uint32_t i = 0; i < kBlocksAhead; i++)
    if (i * kBlockWords < last) ahead[i] = load_block(lane, words, i * kBlockWords, word_count);
  for (uint32_t first = 0; first < last; first += kBlocksAhead * kBlockWords) {
#pragma unroll
    for (uint32_t i = 0; i < kBlocksAhead; i++) {
      uint32_t const here = first + i * kBlockWords, next = here + kBlocksAhead * kBlockWords;
      if (here >= last) break;
      uint64_t const sum = sum_of_warp(sum_block(lane, ahead[i]));
      if (next < last) ahead[i] = load_block(lane, words, next, word_count);
      accumulator = scramble(accumulator + sum, key);
    }
  }
  accumulator += sum_of_warp(sum_last_block(lane, last_words, word_count - last));
  return merge_by_warp(lane, accumulator, word_count);
}

/* Every lane gets the hash. */
inline __device__ uint64_t hash_by_warp(const Lane &lane, const uint64_t *words,
                                        uint32_t word_count) {
  if (word_count > kShortWords) return hash_long_by_warp(lane, words, word_count);
  return hash_short(words, word_count);
}

} // namespace xxh3
} // namespace szg

#endif
