/* tokens_encode_tile.cuh - a tile of a level to lanes of bits and to words, by one warp.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes follow one another without gaps, and so do their groups: a running sum over groups says
 * where each begins, however many make a lane. So the warp measures group after group, with a few
 * codes for each thread, and then each thread writes whole groups. Threads share a word only where
 * groups meet; there they add their bits to zeros, in any order.
 */
#ifndef SZG_TOKENS_ENCODE_TILE_CUH
#define SZG_TOKENS_ENCODE_TILE_CUH

#include "core/bit_writer.cuh"
#include "core/lane_head.cuh"
#include "huffman/tokens_books_core.h"
#include "huffman/tokens_tile.cuh"

namespace szg {

/* A tile's groups. */
struct TileGroups {
  uint64_t nonzero[SZG_TOKENS_MOST_GROUPS];
  uint16_t bits[SZG_TOKENS_MOST_GROUPS];
};
static_assert(SZG_TOKENS_GROUP_MOST_BITS <= UINT16_MAX, "a group's bits");

/* The whole block calls, and synchronizes before it reads. */
__device__ inline void load_encoder(const szg_tokens_encoder *from, szg_tokens_encoder *to) {
  static_assert(sizeof *from % 4 == 0, "whole words");
  for (uint32_t i = threadIdx.x; i < sizeof *from / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(to)[i] = reinterpret_cast<const uint32_t *>(from)[i];
}

__device__ __forceinline__ uint32_t entry_length(uint32_t entry) {
  return entry & SZG_TOKENS_ENCODER_LENGTH;
}

/* ---- values ---- */

/* 0: not a direct value, or one without a code. */
__device__ __forceinline__ uint32_t direct_entry(const szg_tokens_encoder &encoder, int64_t code) {
  return encoder.direct[szg_is_direct_value(code) ? code + SZG_LEVELS_DIRECT : 0];
}

/* How a code is written that has no direct entry. */
__device__ __forceinline__ szg_value_token rare_token(const szg_tokens_encoder &encoder,
                                                      int64_t code, bool is_wide) {
  szg_value_token const token = szg_value_token_of(code, is_wide);
  return encoder.values[token.symbol] ? token : szg_value_escape(code, is_wide);
}

__device__ __forceinline__ uint32_t value_bits(const szg_tokens_encoder &encoder, int64_t code,
                                               bool is_wide) {
  uint32_t const entry = direct_entry(encoder, code);
  if (entry) return entry_length(entry);
  szg_value_token const token = rare_token(encoder, code, is_wide);
  return entry_length(encoder.values[token.symbol]) + token.raw_bits;
}

/* ---- measuring ---- */

/* What a lane's share of a group takes. */
template <class Code>
__device__ uint32_t share_bits(const szg_tokens_encoder &encoder, const GroupCodes<Code> &group,
                               uint64_t existing) {
  constexpr bool kIsWide = sizeof(Code) == 8;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t bits = 0;
  if (encoder.mode == SZG_LEVELS_MODE_PLAIN) {
    if (existing >> lane & 1) bits += value_bits(encoder, group.low, kIsWide);
    if (existing >> lane >> 32 & 1) bits += value_bits(encoder, group.high, kIsWide);
  } else if (encoder.mode == SZG_LEVELS_MODE_PAIRS) {
    if (!(existing >> group.pair_place & 3)) return 0;
    uint32_t const entry = encoder.small_pairs[szg_pair_symbol(group.pair[0], group.pair[1])];
    if (entry) return entry_length(entry);
    bits = entry_length(encoder.pairs[SZG_LEVELS_PAIR_ESCAPE]) +
           value_bits(encoder, group.pair[0], kIsWide) +
           value_bits(encoder, group.pair[1], kIsWide);
  } else {
    uint32_t const octets = szg_octets_of_places(group.nonzero);
    if (group.low != 0) bits += value_bits(encoder, group.low, kIsWide);
    if (group.high != 0) bits += value_bits(encoder, group.high, kIsWide);
    if (lane == 0) bits += entry_length(encoder.octets[octets]);
    if (lane < 8 && octets >> lane & 1)
      bits += entry_length(encoder.masks[group.nonzero >> 8 * lane & 255]);
  }
  return bits;
}

/* Lengths of lanes in the form that the head has. */
struct TileHead {
  szg_head_form form;
  szg_head_begin begin;
  uint32_t live;                /* bit l: lane l has bits */
  uint32_t excess;              /* of this lane */
  uint32_t head_bits, all_bits; /* all_bits: of the tile */
};

/* Finds the head from the bits of the groups: those of a lane that is not live are all 0. The whole
 * warp calls. */
__device__ inline TileHead measure_head(const szg_tokens_shape &shape, const uint16_t *group_bits) {
  uint32_t const lane = threadIdx.x % 32, g = shape.lane_groups_log2;
  uint32_t const first = min(lane << g, shape.group_count);
  uint32_t const end = min((lane + 1) << g, shape.group_count);
  uint32_t own_bits = 0;
  for (uint32_t group = first; group < end; group++) own_bits += group_bits[group];
  LaneLengths const lengths = measure_lanes(own_bits, own_bits ? own_bits : UINT32_MAX, lane);
  TileHead head;
  head.form = szg_tokens_head_form(&shape);
  head.live = __ballot_sync(kAllLanes, own_bits > 0);
  head.begin = {lengths.least, lengths.width, head.live != szg_head_all_lanes(head.form)};
  head.excess = own_bits - lengths.least;
  head.head_bits = szg_head_excess_at(head.form, head.begin.has_mask, lengths.width,
                                      (uint32_t)__popc((int)head.live));
  head.all_bits = head.head_bits + __shfl_sync(kAllLanes, lengths.end, 31);
  return head;
}

/* Groups of a lane that has only codes 0 take no bits. The whole warp calls. */
__device__ inline void drop_dead_lanes(const szg_tokens_shape &shape, TileGroups *groups) {
  uint32_t const lane = threadIdx.x % 32, g = shape.lane_groups_log2;
  uint32_t const first = min(lane << g, shape.group_count);
  uint32_t const end = min((lane + 1) << g, shape.group_count);
  uint64_t any = 0;
  for (uint32_t group = first; group < end; group++) any |= groups->nonzero[group];
  for (uint32_t group = first; group < end && any == 0; group++) groups->bits[group] = 0;
}

/* Measures the groups; returns the tile's words. codes: the tile's. The whole warp calls. */
template <class Code>
__device__ uint32_t measure_tile(const szg_tokens_tiles &tiles, const szg_tokens_shape &shape,
                                 const TokensTile &tile, const szg_tokens_encoder &encoder,
                                 const Code *codes, TileGroups *groups) {
  uint32_t const lane = threadIdx.x % 32;
  for (uint32_t i = 0; i < shape.group_count; i++) {
    GroupCodes<Code> const group(codes + i * kGroupPlaces);
    uint32_t const bits = warp_sum(share_bits(encoder, group, existing_places(tiles, tile, i)));
    if (lane == 0) {
      groups->nonzero[i] = group.nonzero;
      groups->bits[i] = (uint16_t)bits;
    }
  }
  __syncwarp(); /* groups are measured */
  drop_dead_lanes(shape, groups);
  __syncwarp(); /* and final */
  TileHead const head = measure_head(shape, groups->bits);
  return head.live ? (head.all_bits + 31) / 32 : 0;
}
/* ---- writing ---- */

/* Appends a group's bits. Its first and its last word may hold bits of other groups. */
struct GroupWriter {
  uint32_t *words; /* zeros where groups meet */
  uint32_t at;     /* bits from words[0] on */
  uint32_t word;   /* the one at hand */
  bool is_shared;  /* others may add to that */

  __device__ __forceinline__ GroupWriter(uint32_t *tile_words, uint32_t first_bit)
      : words(tile_words), at(first_bit), word(0), is_shared(first_bit % 32 != 0) {}

  __device__ __forceinline__ void put_full_word() {
    if (is_shared)
      atomicOr(&words[at / 32], word);
    else
      words[at / 32] = word;
    is_shared = false;
  }
  /* The first `count` bits of `bits`, the others being 0. */
  __device__ __forceinline__ void put(uint32_t bits, uint32_t count) {
    append_joined(*this, bits, at + count);
  }
  __device__ __forceinline__ void put_entry(uint32_t entry) {
    put(entry & ~(uint32_t)SZG_TOKENS_ENCODER_LENGTH, entry_length(entry));
  }
  /* The low `count` bits of a number that has no others. */
  __device__ __forceinline__ void put_number(uint64_t number, uint32_t count) {
    if (count > 32) {
      put((uint32_t)(number >> 32 << (64 - count)), count - 32);
      count = 32;
    }
    if (count > 0) put((uint32_t)number << (32 - count), count);
  }
  __device__ __forceinline__ void finish() {
    if (at % 32) atomicOr(&words[at / 32], word);
  }
};

template <bool kIsWide>
__device__ __forceinline__ void put_value(const szg_tokens_encoder &encoder, int64_t code,
                                          GroupWriter *writer) {
  uint32_t const entry = direct_entry(encoder, code);
  if (entry) {
    writer->put_entry(entry);
    return;
  }
  szg_value_token const token = rare_token(encoder, code, kIsWide);
  writer->put_entry(encoder.values[token.symbol]);
  writer->put_number(token.raw, token.raw_bits);
}

/* Writes a group. codes: the group's. */
template <class Code>
__device__ void put_group(const szg_tokens_encoder &encoder, const Code *codes, uint64_t existing,
                          uint64_t nonzero, GroupWriter *writer) {
  constexpr bool kIsWide = sizeof(Code) == 8;
  if (encoder.mode == SZG_LEVELS_MODE_PAIRS) {
    for (uint64_t left = szg_pairs_of_places(existing); left; left &= left - 1) {
      uint32_t const i = (uint32_t)__ffsll((long long)left) - 1;
      Code const a = codes[i], b = codes[i + 1];
      uint32_t const entry = encoder.small_pairs[szg_pair_symbol(a, b)];
      writer->put_entry(entry ? entry : encoder.pairs[SZG_LEVELS_PAIR_ESCAPE]);
      if (entry) continue;
      put_value<kIsWide>(encoder, a, writer);
      put_value<kIsWide>(encoder, b, writer);
    }
    return;
  }
  bool const is_plain = encoder.mode == SZG_LEVELS_MODE_PLAIN;
  if (!is_plain) {
    uint32_t const octets = szg_octets_of_places(nonzero);
    writer->put_entry(encoder.octets[octets]);
    for (uint32_t left = octets; left; left &= left - 1)
      writer->put_entry(encoder.masks[nonzero >> 8 * (__ffs((int)left) - 1) & 255]);
  }
  for (uint64_t left = is_plain ? existing : nonzero; left; left &= left - 1)
    put_value<kIsWide>(encoder, codes[__ffsll((long long)left) - 1], writer);
}

/* Adds the head to zeros. The whole warp calls. */
__device__ inline void put_head(const TileHead &head, uint32_t *words) {
  put_head(head.form, head.begin, head.live, head.live >> threadIdx.x % 32 & 1, head.excess,
           [&](uint32_t i, uint32_t bits) { atomicOr(words + i, bits); });
}

/* Writes a tile that was measured and has words. The whole warp calls. */
template <class Code>
__device__ void write_tile(const szg_tokens_tiles &tiles, const szg_tokens_shape &shape,
                           const TokensTile &tile, const szg_tokens_encoder &encoder,
                           const Code *codes, const TileGroups &groups, uint32_t word_count,
                           uint32_t *words) {
  uint32_t const lane = threadIdx.x % 32, group_count = shape.group_count;
  bool const needs_existing = encoder.mode != SZG_LEVELS_MODE_MASKS;
  for (uint32_t i = lane; i < word_count; i += 32) words[i] = 0;
  __syncwarp(); /* words are zeros */
  TileHead const head = measure_head(shape, groups.bits);
  put_head(head, words);
  uint32_t before = head.head_bits;
  for (uint32_t first = 0; first < group_count; first += 32) {
    uint32_t const own = first + lane;
    uint32_t const bits = own < group_count ? groups.bits[own] : 0;
    uint32_t const end = before + sum_to_lane(bits, lane);
    uint64_t existing = UINT64_MAX;
    for (uint32_t i = first; i < group_count && i < first + 32 && needs_existing && !tile.is_full;
         i++) {
      uint64_t const places = existing_places(tiles, tile, i);
      if (i == own) existing = places;
    }
    if (bits) {
      GroupWriter writer(words, end - bits);
      put_group(encoder, codes + own * kGroupPlaces, existing, groups.nonzero[own], &writer);
      writer.finish();
    }
    before = __shfl_sync(kAllLanes, end, 31);
  }
}

} // namespace szg

#endif
