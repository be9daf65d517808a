/* tokens.h - the codes of a level to lanes of bits, plain, in pairs or by masks, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A tile has codes[64 * group_count] by place: int32_t, or int64_t if the frame is wide. `existing`
 * has a word for each group, with bit i set if place i of the group exists; NULL: all do. Codes of
 * places that do not exist are 0. docs/format.md, section 16, has the symbols and a tile's words.
 *
 * To compress: count tiles, choose a plan, build the encoder, encode tiles in any order. To
 * decompress: read the books, build the decoder, decode tiles in any order.
 */
#ifndef SZG_TOKENS_H
#define SZG_TOKENS_H

#include "core/bytes.h"
#include "core/device.h"
#include "core/lane_head_core.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

typedef struct szg_tokens_shape {
  uint32_t group_count;      /* of a full tile, 1 to SZG_TOKENS_MOST_GROUPS */
  uint32_t lane_groups_log2; /* g: a lane has 2^g groups; see szg_tokens_least_lane_groups_log2 */
  bool is_wide;
} szg_tokens_shape;

enum {
  SZG_TOKENS_MOST_GROUPS = 112, /* the finest level of three axes */
  SZG_TOKENS_LANE_SIZES = SZG_LEVELS_LANE_GROUPS_LOG2 + 1,
  /* A value symbol and 64 bits, and half a pair escape, which is more than masks take. */
  SZG_TOKENS_VALUE_MOST_BITS = SZG_LEVELS_CODE_BITS + 64,
  SZG_TOKENS_GROUP_MOST_BITS =
      SZG_LEVELS_GROUP * (SZG_TOKENS_VALUE_MOST_BITS + SZG_LEVELS_CODE_BITS / 2),
  SZG_TOKENS_HEAD_MOST_BITS = SZG_LEVELS_HEAD_BITS + SZG_LANES + SZG_LANES * SZG_LEVELS_LEAST_BITS,
  SZG_TOKENS_MOST_WORDS =
      (SZG_TOKENS_HEAD_MOST_BITS + SZG_TOKENS_MOST_GROUPS * SZG_TOKENS_GROUP_MOST_BITS + 31) / 32
};
static_assert(SZG_TOKENS_GROUP_MOST_BITS << SZG_LEVELS_LANE_GROUPS_LOG2 <
                  1 << SZG_LEVELS_LEAST_BITS,
              "the longest lane must fit");
static_assert(SZG_TOKENS_MOST_WORDS <= UINT16_MAX, "tile sizes are u16");

/* The least g with which a tile has no more than SZG_LANES lanes. Archives with a lower one, or one
 * above SZG_LEVELS_LANE_GROUPS_LOG2, are invalid. */
SZG_HD uint32_t szg_tokens_least_lane_groups_log2(uint32_t group_count) {
  uint32_t g = 0;
  while (group_count > (uint32_t)SZG_LANES << g) g++;
  return g;
}
SZG_HD uint32_t szg_tokens_lane_count(const szg_tokens_shape *shape) {
  return (shape->group_count + (1u << shape->lane_groups_log2) - 1) >> shape->lane_groups_log2;
}
SZG_HD_INLINE szg_head_form szg_tokens_head_form(const szg_tokens_shape *shape) {
  szg_head_form const form = {SZG_LEVELS_LEAST_BITS, SZG_LEVELS_WIDTH_BITS,
                              szg_tokens_lane_count(shape)};
  return form;
}
/* Words that a tile never exceeds. */
SZG_HD uint32_t szg_tokens_most_words(const szg_tokens_shape *shape) {
  return (SZG_TOKENS_HEAD_MOST_BITS + shape->group_count * SZG_TOKENS_GROUP_MOST_BITS + 31) / 32;
}

/* ---- counting and choice ---- */

/* What was counted in tiles; the members are sums over tiles. Symbols of zeros (octets 0, the pair
 * of two zeros, value 0) are not counted: they are what is left of the live groups, pairs and
 * places. A lane is live if it has a nonzero code. */
typedef struct szg_tokens_tally {
  uint64_t octets[SZG_LEVELS_OCTETS];
  uint64_t masks[SZG_LEVELS_MASKS];
  uint64_t pairs[SZG_LEVELS_PAIRS];
  uint64_t values[SZG_LEVELS_VALUES];      /* of nonzero codes */
  uint64_t pair_values[SZG_LEVELS_VALUES]; /* of codes after a pair escape, zeros too */
  uint64_t raw_bits, pair_raw_bits;        /* that follow the symbols of values, pair_values */
  /* By g: live lanes, their groups, the pairs that have a place that exists, and such places. */
  uint64_t live_lanes[SZG_TOKENS_LANE_SIZES];
  uint64_t live_groups[SZG_TOKENS_LANE_SIZES];
  uint64_t live_pairs[SZG_TOKENS_LANE_SIZES];
  uint64_t live_places[SZG_TOKENS_LANE_SIZES];
} szg_tokens_tally;

/* Adds a tile. shape->lane_groups_log2 is not used. */
void szg_tokens_count(const szg_tokens_shape *shape, const void *codes, const uint64_t *existing,
                      szg_tokens_tally *tally);

/* Adds `from`, which another thread has counted. */
void szg_tokens_tally_add(const szg_tokens_tally *from, szg_tokens_tally *tally);

/* Estimates the bits of the counted tiles in units of 2^-16, without heads and books. mode:
 * SZG_LEVELS_MODE_PLAIN, _PAIRS or _MASKS. */
uint64_t szg_tokens_cost(const szg_tokens_tally *tally, uint32_t lane_groups_log2, uint32_t mode);

/* Code lengths by symbol, 0: no code. A book that the mode does not have is all 0. */
typedef struct szg_tokens_books {
  uint8_t octets[SZG_LEVELS_OCTETS];
  uint8_t masks[SZG_LEVELS_MASKS];
  uint8_t pairs[SZG_LEVELS_PAIRS];
  uint8_t values[SZG_LEVELS_VALUES];
} szg_tokens_books;

typedef struct szg_tokens_plan {
  uint32_t mode;             /* SZG_LEVELS_MODE_* */
  uint32_t lane_groups_log2; /* g */
  szg_tokens_books books;
} szg_tokens_plan;

/* Lanes that have fewer bits on average are made longer, because it takes bits to say how long a
 * lane is. Large stages take half as many, at up to 2 % more bytes: a GPU's warp works on a tile
 * with one thread for each lane. */
enum {
  SZG_TOKENS_LANE_BITS = 320,
  SZG_TOKENS_LARGE_LANE_BITS = 160,
  SZG_TOKENS_LARGE_TILES = 1024 /* from so many tiles on, a stage is large */
};
SZG_HD uint32_t szg_tokens_lane_bits(uint64_t tile_count) {
  return tile_count < SZG_TOKENS_LARGE_TILES ? SZG_TOKENS_LANE_BITS : SZG_TOKENS_LARGE_LANE_BITS;
}

/* lane_bits: of the stage; 0: the shortest lanes. is_whole: the tally has all tiles that will be
 * encoded. Otherwise escapes get codes too. The mode is never SZG_LEVELS_MODE_ZERO: whether all
 * codes are 0 is known when all tiles are encoded. book: overwritten, like work. */
void szg_tokens_choose(const szg_tokens_tally *tally, uint32_t group_count, uint32_t lane_bits,
                       bool is_whole, szg_codebook *book, szg_codebook_work *work,
                       szg_tokens_plan *plan);

/* ---- books ---- */

/* At most one and a half units of 4 bits for a symbol; masks mode has the most symbols. */
enum {
  SZG_TOKENS_BOOKS_MOST_BYTES =
      ((SZG_LEVELS_OCTETS + SZG_LEVELS_MASKS + SZG_LEVELS_VALUES) * 3 / 2 + 7) / 8 * 4
};

/* Writes the books of a mode; returns the bytes, a multiple of 4; 0 in SZG_LEVELS_MODE_ZERO. */
size_t szg_tokens_books_write(const szg_tokens_books *books, uint32_t mode, uint8_t *bytes);

/* mode: below SZG_LEVELS_MODES. SZGPU_BAD_DATA: units that are not allowed, lengths that are no
 * prefix code as the format demands, or another number of bytes. */
szgpu_status szg_tokens_books_read(const uint8_t *bytes, uint64_t byte_count, uint32_t mode,
                                   szg_tokens_books *books) SZG_CHECKED;

/* ---- encoding ---- */

/* Entries are a code, left-aligned in 32 bits, and its length in the low 5 bits; 0: no code. */
typedef struct szg_tokens_encoder {
  uint32_t mode;
  uint32_t octets[SZG_LEVELS_OCTET_ESCAPE]; /* of all octets: those without a code have the escape
                                               and themselves here */
  uint32_t masks[SZG_LEVELS_MASKS];         /* likewise, except 0 */
  uint32_t pairs[SZG_LEVELS_PAIRS];
  uint32_t values[SZG_LEVELS_VALUES];
  uint32_t small_pairs[SZG_LEVELS_PAIRS]; /* as pairs, but 0 for the escape */
  uint32_t direct[2 * SZG_LEVELS_DIRECT]; /* of value k, |k| < SZG_LEVELS_DIRECT, at k +
                                             SZG_LEVELS_DIRECT; [0]: 0 */
} szg_tokens_encoder;

/* The CPU's encoder has entries of near values too, with their raw bits behind the code.
 * tokens_near.h explains them. */
enum { SZG_TOKENS_NEAR = 1024 };
typedef struct szg_tokens_cpu_encoder {
  szg_tokens_encoder shared;
  uint32_t near[2 * SZG_TOKENS_NEAR + 1]; /* of value k, -1024 to 1023, at k + 1024; of others */
  uint32_t near_pairs[SZG_LEVELS_PAIRS];
} szg_tokens_cpu_encoder;

void szg_tokens_encoder_build(const szg_tokens_plan *plan, szg_tokens_cpu_encoder *encoder);

/* Memory to encode or decode a tile: a thread needs one. Contents do not matter. */
enum {
  SZG_TOKENS_HEAD_ROOM = (SZG_TOKENS_HEAD_MOST_BITS + 7) / 8,
  SZG_TOKENS_OVERRUN = SZG_TOKENS_GROUP_MOST_BITS / 8 + 16 /* decoders look at ends after groups */
};
typedef struct szg_tokens_work {
  uint64_t nonzero[SZG_TOKENS_MOST_GROUPS]; /* a bit for each place */
  uint8_t bytes[SZG_TOKENS_OVERRUN + 4 * SZG_TOKENS_MOST_WORDS + 16];
} szg_tokens_work;

/* Writes a tile's words and returns their number; 0: all codes are 0. words: has room for
 * szg_tokens_most_words. shape: with the plan's lane_groups_log2. If the plan is from a whole
 * tally that had other codes of the tile, it may be SZG_TOKENS_UNCOUNTED: some symbol has no
 * code. */
enum { SZG_TOKENS_UNCOUNTED = SZG_TOKENS_MOST_WORDS + 1 };
uint32_t szg_tokens_encode_tile(const szg_tokens_cpu_encoder *encoder,
                                const szg_tokens_shape *shape, const void *codes,
                                const uint64_t *existing, szg_tokens_work *work, uint8_t *words);

/* ---- decoding ---- */

enum { SZG_TOKENS_ENTRIES = 1 << SZG_LEVELS_CODE_BITS };

/* By the next 12 bits; books that the mode does not have are not set. tokens_entries.h explains
 * entries. */
typedef struct szg_tokens_decoder {
  uint32_t mode;
  bool has_rare_pair_escape; /* pairs mode: or none */
  uint32_t values[SZG_TOKENS_ENTRIES];
  uint32_t pairs[SZG_TOKENS_ENTRIES];
  uint16_t octets[SZG_TOKENS_ENTRIES], masks[SZG_TOKENS_ENTRIES];
} szg_tokens_decoder;

/* books: from szg_tokens_books_read for this mode. */
void szg_tokens_decoder_build(const szg_tokens_books *books, uint32_t mode,
                              szg_tokens_decoder *decoder);

/* The inverse of szg_tokens_encode_tile; writes all codes, zeros too. Reads nothing outside words
 * .. words + 4 * word_count. shape: with a lane_groups_log2 that is valid for group_count.
 * SZGPU_BAD_DATA: the bits are invalid, and codes may be anything. */
szgpu_status szg_tokens_decode_tile(const szg_tokens_decoder *decoder,
                                    const szg_tokens_shape *shape, const uint64_t *existing,
                                    const uint8_t *words, uint32_t word_count,
                                    szg_tokens_work *work, void *codes) SZG_CHECKED;

SZG_C_END

#endif
