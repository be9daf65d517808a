/* plane_rows.cuh - a lane's four values to words of four symbols per plane, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A run is a lane's part of a row: four values, which in memory are value_bytes words. Its
 * planes are value_bytes words, too: byte k of word p is plane p of value k.
 */
#ifndef SZG_PLANE_ROWS_CUH
#define SZG_PLANE_ROWS_CUH

#include "codecs/planes/planes_core.h"
#include "core/warp.cuh"

namespace szg {

constexpr uint32_t kTileRows = SZG_TILE_VALUES / SZG_PLANES_ROW;
static_assert(SZG_PLANES_RUN == 4, "a run of symbols is a word");

/* Modes known when compiled, or not. kHasSumsGiven: a kernel that also sums up stored planes
 * (stored_sums.cuh). If modes are not known, that takes more time than it saves. */
constexpr uint32_t kAnyModes = 0xFFFFFFFFu;
template <uint32_t kValueBytesGiven, uint32_t kModesGiven, bool kHasSumsGiven = false>
struct PlanesForm {
  static constexpr uint32_t kValueBytes = kValueBytesGiven, kModes = kModesGiven;
  static constexpr bool kHasSums = kHasSumsGiven;
  /* The same with sums, if it has stored planes for sure. */
  typedef PlanesForm<kValueBytes, kModes, kModes != kAnyModes && (kValueBytes > 1)> Summed;
  static __device__ __forceinline__ uint32_t mode(uint32_t modes, uint32_t plane) {
    return szg_plane_mode(kModes == kAnyModes ? modes : kModes, plane);
  }
};

/* ---- values turned by a bit ---- */

/* Turns words of whole values, like szg_planes_turned. */
template <uint32_t kValueBytes, uint32_t kWords>
__device__ __forceinline__ void turn(uint32_t (&words)[kWords]) {
#pragma unroll
  for (uint32_t i = 0; i < kWords; i++) {
    if (kValueBytes == 2) words[i] = (words[i] << 1 & 0xFFFEFFFEu) | (words[i] >> 15 & 0x00010001u);
    if (kValueBytes == 4) words[i] = __funnelshift_l(words[i], words[i], 1);
    if (kValueBytes == 8 && i % 2 == 0) {
      uint32_t const low = words[i], high = words[i + 1];
      words[i] = __funnelshift_l(high, low, 1);
      words[i + 1] = __funnelshift_l(low, high, 1);
    }
  }
}

/* Like szg_planes_turned_back. */
template <uint32_t kValueBytes, uint32_t kWords>
__device__ __forceinline__ void turn_back(uint32_t (&words)[kWords]) {
#pragma unroll
  for (uint32_t i = 0; i < kWords; i++) {
    if (kValueBytes == 2) words[i] = (words[i] >> 1 & 0x7FFF7FFFu) | (words[i] & 0x00010001u) << 15;
    if (kValueBytes == 4) words[i] = __funnelshift_r(words[i], words[i], 1);
    if (kValueBytes == 8 && i % 2 == 0) {
      uint32_t const low = words[i], high = words[i + 1];
      words[i] = __funnelshift_r(low, high, 1);
      words[i + 1] = __funnelshift_r(high, low, 1);
    }
  }
}

/* ---- bytes across ---- */

/* Byte j of word i goes to byte i of word j: its own inverse. */
__device__ __forceinline__ void transpose(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d) {
  uint32_t const ab_low = __byte_perm(a, b, 0x5140), ab_high = __byte_perm(a, b, 0x7362);
  uint32_t const cd_low = __byte_perm(c, d, 0x5140), cd_high = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab_low, cd_low, 0x5410);
  b = __byte_perm(ab_low, cd_low, 0x7632);
  c = __byte_perm(ab_high, cd_high, 0x5410);
  d = __byte_perm(ab_high, cd_high, 0x7632);
}

/* Turns a run as it lies in memory into words of planes. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void split_run(uint32_t (&run)[kValueBytes]) {
  turn<kValueBytes>(run);
  if constexpr (kValueBytes == 2) {
    uint32_t const first = run[0], second = run[1];
    run[0] = __byte_perm(first, second, 0x6420);
    run[1] = __byte_perm(first, second, 0x7531);
  } else if constexpr (kValueBytes == 4) {
    transpose(run[0], run[1], run[2], run[3]);
  } else if constexpr (kValueBytes == 8) {
    uint32_t low[4], high[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) low[i] = run[2 * i], high[i] = run[2 * i + 1];
    transpose(low[0], low[1], low[2], low[3]);
    transpose(high[0], high[1], high[2], high[3]);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) run[i] = low[i], run[4 + i] = high[i];
  }
}

/* The inverse. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void join_run(uint32_t (&run)[kValueBytes]) {
  if constexpr (kValueBytes == 2) {
    uint32_t const first = run[0], second = run[1];
    run[0] = __byte_perm(first, second, 0x5140);
    run[1] = __byte_perm(first, second, 0x7362);
  } else if constexpr (kValueBytes == 4) {
    transpose(run[0], run[1], run[2], run[3]);
  } else if constexpr (kValueBytes == 8) {
    transpose(run[0], run[1], run[2], run[3]);
    transpose(run[4], run[5], run[6], run[7]);
    uint32_t low[4], high[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) low[i] = run[i], high[i] = run[4 + i];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) run[2 * i] = low[i], run[2 * i + 1] = high[i];
  }
  turn_back<kValueBytes>(run);
}

/* ---- memory ---- */

/* Whether whole runs can be moved at once. */
template <uint32_t kValueBytes>
__host__ __device__ __forceinline__ bool is_run_aligned(const void *values) {
  return (uintptr_t)values % (kValueBytes < 4 ? 4 * kValueBytes : 16) == 0;
}

/* Loads an aligned run that nobody reads again soon. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void load_run(const uint8_t *from, uint32_t (&run)[kValueBytes]) {
  if constexpr (kValueBytes == 1) {
    run[0] = __ldcs((const uint32_t *)(const void *)from);
  } else if constexpr (kValueBytes == 2) {
    uint2 const two = __ldcs((const uint2 *)(const void *)from);
    run[0] = two.x, run[1] = two.y;
  } else {
#pragma unroll
    for (uint32_t i = 0; i < kValueBytes; i += 4) {
      uint4 const four = __ldcs((const uint4 *)(const void *)(from + 4 * i));
      run[i] = four.x, run[i + 1] = four.y, run[i + 2] = four.z, run[i + 3] = four.w;
    }
  }
}

/* Stores an aligned run. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void store_run(uint8_t *to, const uint32_t (&run)[kValueBytes]) {
  if constexpr (kValueBytes == 1) {
    __stcs((uint32_t *)(void *)to, run[0]);
  } else if constexpr (kValueBytes == 2) {
    __stcs((uint2 *)(void *)to, make_uint2(run[0], run[1]));
  } else {
#pragma unroll
    for (uint32_t i = 0; i < kValueBytes; i += 4)
      __stcs((uint4 *)(void *)(to + 4 * i), make_uint4(run[i], run[i + 1], run[i + 2], run[i + 3]));
  }
}

/* Loads the first byte_count bytes of a run from any address, with zeros behind them. */
template <uint32_t kValueBytes>
__device__ __forceinline__ void load_run_bytes(const uint8_t *from, uint32_t byte_count,
                                               uint32_t (&run)[kValueBytes]) {
#pragma unroll
  for (uint32_t i = 0; i < kValueBytes; i++) {
    run[i] = 0;
#pragma unroll
    for (uint32_t b = 0; b < 4; b++)
      if (4 * i + b < byte_count) run[i] |= (uint32_t)from[4 * i + b] << 8 * b;
  }
}

} // namespace szg

#endif
