/* tokens_tile.cuh - tiles of levels frames on CUDA: which places exist, and how codes are read.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TOKENS_TILE_CUH
#define SZG_TOKENS_TILE_CUH

#include "core/tiles.h"
#include "core/warp.cuh"
#include "huffman/tokens_core.h"
#include "huffman/tokens_cuda.h"

namespace szg {

constexpr uint32_t kGroupPlaces = SZG_LEVELS_GROUP;
static_assert(kGroupPlaces == 64, "a lane has places i and 32 + i of a group");

/* ---- which places exist ---- */

struct TokensTile {
  uint32_t z_extent, y_extent, x_extent;
  bool is_full;
};

__device__ inline TokensTile tokens_tile_at(const szg_tokens_tiles &tiles, uint64_t t) {
  szg_tile_number const at = szg_tile_number_of(t, tiles.z_tiles, tiles.y_tiles, tiles.x_tiles);
  uint64_t const x = at.x * tiles.tile_x, y = at.y * tiles.tile_y, z = at.z * tiles.tile_z;
  TokensTile tile;
  tile.x_extent = (uint32_t)szg_lesser_u64(tiles.tile_x, tiles.x_extent - x);
  tile.y_extent = (uint32_t)szg_lesser_u64(tiles.tile_y, tiles.y_extent - y);
  tile.z_extent = (uint32_t)szg_lesser_u64(tiles.tile_z, tiles.z_extent - z);
  tile.is_full = tile.x_extent == tiles.tile_x && tile.y_extent == tiles.tile_y &&
                 tile.z_extent == tiles.tile_z;
  return tile;
}

/* The same, if where the tile lies is known already. */
template <class Tile>
__device__ inline TokensTile tokens_tile_of(const Tile &at, const szg_tokens_tiles &tiles) {
  bool const is_full =
      at.x_extent == tiles.tile_x && at.y_extent == tiles.tile_y && at.z_extent == tiles.tile_z;
  return {at.z_extent, at.y_extent, at.x_extent, is_full};
}

struct TilePoint {
  uint32_t z, y, x;
};

__device__ inline TilePoint base_point(uint32_t axis_count, uint32_t place) {
  if (axis_count == 3) return {place / (8 * SZG_TILE_3D_X), place % 8, place / 8 % SZG_TILE_3D_X};
  if (axis_count == 2)
    return {0, place / (8 * SZG_TILE_2D_X) * 8 + place % 8, place / 8 % SZG_TILE_2D_X};
  return {0, 0, place};
}

/* Places of a level go by class; then come pairs of planes, or of eight rows. */
__device__ inline TilePoint level_point(const szg_tokens_tiles &tiles, uint32_t place) {
  if (tiles.axis_count == 1) return {0, 0, 2 * place + 1};
  uint32_t const slices = tiles.axis_count == 3 ? tiles.tile_z / 2 : tiles.tile_y / 8;
  uint32_t const row = place % 4, x = place / 4 % 32, slice = place / 128 % slices;
  uint32_t const point_class = place / 128 / slices + 1;
  uint32_t const odd_x = point_class & 1, odd_y = point_class >> 1 & 1, odd_z = point_class >> 2;
  if (tiles.axis_count == 3) return {2 * slice + odd_z, 2 * row + odd_y, 2 * x + odd_x};
  return {0, 2 * (4 * slice + row) + odd_y, 2 * x + odd_x};
}

__device__ inline bool place_exists(const szg_tokens_tiles &tiles, const TokensTile &tile,
                                    uint32_t place) {
  TilePoint const point =
      tiles.is_base ? base_point(tiles.axis_count, place) : level_point(tiles, place);
  return point.z < tile.z_extent && point.y < tile.y_extent && point.x < tile.x_extent;
}

/* A bit for each place of a group that has the property. The whole warp calls. */
__device__ __forceinline__ uint64_t places_with(bool low_has, bool high_has) {
  uint32_t const low = __ballot_sync(kAllLanes, low_has);
  return (uint64_t)__ballot_sync(kAllLanes, high_has) << 32 | low;
}

/* A bit for each place of a group that exists. The whole warp calls. */
__device__ inline uint64_t existing_places(const szg_tokens_tiles &tiles, const TokensTile &tile,
                                           uint32_t group) {
  if (tile.is_full) return UINT64_MAX;
  uint32_t const place = group * kGroupPlaces + threadIdx.x % 32;
  return places_with(place_exists(tiles, tile, place), place_exists(tiles, tile, place + 32));
}

/* ---- codes ---- */

/* What a lane of a warp has of a group. */
template <class Code>
struct GroupCodes {
  Code low, high;      /* of places `lane` and 32 + lane */
  Code pair[2];        /* of places pair_place and the one after it */
  uint32_t pair_place; /* even lanes have a pair of the lower half, odd lanes of the upper */
  uint64_t nonzero;

  /* The whole warp calls. codes: the group's. */
  __device__ __forceinline__ explicit GroupCodes(const Code *codes) {
    uint32_t const lane = threadIdx.x % 32;
    low = codes[lane];
    high = codes[32 + lane];
    nonzero = places_with(low != 0, high != 0);
    Code const low_beside = __shfl_xor_sync(kAllLanes, low, 1);
    Code const high_beside = __shfl_xor_sync(kAllLanes, high, 1);
    bool const is_odd = lane % 2;
    pair[0] = is_odd ? high_beside : low;
    pair[1] = is_odd ? high : low_beside;
    pair_place = is_odd ? 31 + lane : lane;
  }
};

} // namespace szg

#endif
