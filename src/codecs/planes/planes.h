/* planes.h - lossless frames: values to byte planes, coded, stored or constant, and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are of value_bytes = 1, 2, 4 or 8 bytes, in field order; planes_core.h has the rules for
 * them. Words are little-endian u32, first bit highest; a plane of a tile begins at a word.
 * Pointers need no alignment.
 *
 * To compress: count a sample of tiles, choose, build the encoder, then encode and store tiles in
 * any order. To decompress: check the layout, read the decoder, then decode tiles in any order.
 */
#ifndef SZG_PLANES_H
#define SZG_PLANES_H

#include "codecs/planes/planes_core.h"
#include "core/bytes.h"
#include "core/status.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

/* ---- layout ---- */

/* What a frame header says about its planes. */
typedef struct szg_planes_layout {
  uint32_t value_bytes;
  uint32_t modes;         /* SZG_PLANE_* of plane p at bit 2 p */
  uint64_t constant_bits; /* byte p: the symbol of plane p if it is constant, else 0 */
} szg_planes_layout;

/* SZGPU_BAD_DATA: an invalid value_bytes or mode, modes of planes that do not exist, or a symbol
 * for a plane that is not constant. */
SZG_HD szgpu_status szg_planes_layout_check(const szg_planes_layout *layout) {
  uint32_t const bytes = layout->value_bytes;
  SZG_REQUIRE(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8, SZGPU_BAD_DATA);
  SZG_REQUIRE(layout->modes >> 2 * bytes == 0, SZGPU_BAD_DATA);
  for (uint32_t plane = 0; plane < SZG_PLANES_MOST; plane++) {
    uint32_t const mode = szg_plane_mode(layout->modes, plane);
    SZG_REQUIRE(mode < SZG_PLANE_MODES, SZGPU_BAD_DATA);
    SZG_REQUIRE(mode == SZG_PLANE_CONSTANT || (layout->constant_bits >> 8 * plane & 255) == 0,
                SZGPU_BAD_DATA);
  }
  return SZGPU_OK;
}

/* Bytes of the codebook section. */
SZG_HD uint64_t szg_planes_book_bytes(const szg_planes_layout *layout) {
  return (uint64_t)SZG_PLANES_BOOK_BYTES *
         szg_planes_of_mode(layout->modes, layout->value_bytes, SZG_PLANE_CODED);
}
/* Bytes of the section raw values in a frame of value_count values. */
SZG_HD uint64_t szg_planes_stored_bytes(const szg_planes_layout *layout, uint64_t value_count) {
  return szg_planes_of_mode(layout->modes, layout->value_bytes, SZG_PLANE_STORED) *
         szg_stored_plane_bytes(value_count);
}

/* ---- choice ---- */

/* How often each symbol occurs in each plane. */
typedef struct szg_planes_counts {
  uint64_t planes[SZG_PLANES_MOST][SZG_PLANES_SYMBOLS];
} szg_planes_counts;

/* Adds these values to the counts. */
void szg_planes_count(const void *values, uint64_t value_count, uint32_t value_bytes,
                      szg_planes_counts *counts);

typedef struct szg_planes_choice {
  szg_planes_layout layout;
  uint8_t lengths[SZG_PLANES_MOST][SZG_PLANES_SYMBOLS]; /* of codes; 0 if a plane is not coded */
  uint32_t typical_bits[SZG_PLANES_MOST];               /* of a lane of a full tile: the average of
                                                           what was counted, rounded up */
} szg_planes_choice;

/* How many values were counted. */
uint64_t szg_planes_counted_values(const szg_planes_counts *counts);

/* counts: of value_count > 0 values. is_sample: they are not all values of the frame, so other
 * symbols may occur, and likely ones get codes; the caller finds out whether others do. A layout
 * with only stored planes means that the frame is raw. */
void szg_planes_choose(const szg_planes_counts *counts, uint64_t value_count, bool is_sample,
                       uint32_t value_bytes, szg_codebook *book, szg_codebook_work *work,
                       szg_planes_choice *choice);

/* ---- how many bytes a value has in a field of bytes ---- */

enum {
  SZG_SPLIT_STRETCH_BYTES = 32768, /* of the sample */
  SZG_SPLIT_STRETCHES = 64,        /* at most */
  SZG_SPLIT_CHOICES = 4,           /* 1, 2, 4 and 8 bytes */
  SZG_SPLIT_GAIN_SHIFT = 6         /* wider values must save 1/64: narrow ones decode faster */
};

/* Stretches of byte_count bytes to be counted, and where the i-th begins and ends. */
typedef struct szg_split_stretch {
  uint64_t first_byte, byte_count;
} szg_split_stretch;
SZG_HD uint32_t szg_split_stretch_count(uint64_t byte_count) {
  uint64_t const all = szg_div_up(byte_count, SZG_SPLIT_STRETCH_BYTES);
  return (uint32_t)szg_min_u64(all, SZG_SPLIT_STRETCHES);
}
SZG_HD szg_split_stretch szg_split_stretch_at(uint64_t byte_count, uint32_t i) {
  uint64_t const all = szg_div_up(byte_count, SZG_SPLIT_STRETCH_BYTES);
  uint64_t const number = szg_sample_tile(all, szg_split_stretch_count(byte_count), i);
  szg_split_stretch stretch;
  stretch.first_byte = number * SZG_SPLIT_STRETCH_BYTES;
  stretch.byte_count = szg_min_u64(SZG_SPLIT_STRETCH_BYTES, byte_count - stretch.first_byte);
  return stretch;
}

typedef struct szg_split_tally {
  szg_planes_counts counts[SZG_SPLIT_CHOICES]; /* of values of 1 << choice bytes */
} szg_split_tally;

/* Adds a stretch, without bytes at its end that make no whole value. */
void szg_split_count(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally);
/* Chooses value_bytes for byte_count bytes by the tally of their stretches. */
uint32_t szg_split_choose(const szg_split_tally *tally, uint64_t byte_count);

/* Counts all stretches and chooses value_bytes. tally: work memory. */
uint32_t szg_planes_split(const uint8_t *bytes, uint64_t byte_count, szg_split_tally *tally);

/* ---- encoding ---- */

typedef struct szg_planes_encoder {
  szg_planes_layout layout;
  uint32_t entries[SZG_PLANES_MOST][SZG_PLANES_SYMBOLS]; /* of coded planes: length << 16 | code,
                                                            right-aligned; others: 0 */
} szg_planes_encoder;

/* The entry of a symbol without a code. It may occur if the choice was made from a sample, or if
 * values have changed: encoding finds the flag in sums of entries. The length of 1 is for writers,
 * which need one. */
enum {
  SZG_PLANES_UNCOUNTED_FLAG = 1 << 24,
  SZG_PLANES_UNCOUNTED = SZG_PLANES_UNCOUNTED_FLAG | 1 << 16
};

void szg_planes_encoder_build(const szg_planes_choice *choice, szg_planes_encoder *encoder);

/* Writes the codebook section of szg_planes_book_bytes bytes. */
void szg_planes_books_write(const szg_planes_choice *choice, uint8_t *bytes);

/* The most words of a coded plane of a tile, and of a tile. */
enum {
  SZG_PLANE_LANE_MOST_BITS = SZG_TILE_VALUES / SZG_LANES * SZG_PLANES_CODE_BITS,
  SZG_PLANE_MOST_WIDTH = 11, /* of the excess of a lane */
  SZG_PLANE_MOST_WORDS = 1 + SZG_PLANE_MOST_WIDTH + SZG_LANES * SZG_PLANE_LANE_MOST_BITS / 32,
  SZG_PLANES_TILE_MOST_WORDS = SZG_PLANES_MOST * SZG_PLANE_MOST_WORDS
};
static_assert(SZG_PLANE_LANE_MOST_BITS < 1 << SZG_PLANE_MOST_WIDTH, "the greatest excess");
static_assert(SZG_PLANES_TILE_MOST_WORDS <= UINT16_MAX, "tile sizes are u16");

/* The most words of a tile of this layout. */
SZG_HD uint32_t szg_planes_most_words(const szg_planes_layout *layout) {
  return SZG_PLANE_MOST_WORDS *
         szg_planes_of_mode(layout->modes, layout->value_bytes, SZG_PLANE_CODED);
}

/* Writes the words of a tile's coded planes and gives their number; there is room for
 * szg_planes_most_words. values: the tile's, value_count of them, 1 to SZG_TILE_VALUES. False: some
 * symbol has no code, or a constant plane is not constant. The words are then useless. */
bool szg_planes_encode_tile(const szg_planes_encoder *encoder, const void *values,
                            uint32_t value_count, uint8_t *words, uint32_t *word_count) SZG_CHECKED;

/* Writes a tile's share of the stored planes: of the first one to `stored`, of the next ones every
 * stored_stride bytes. A tile with fewer than SZG_TILE_VALUES values is its frame's last; the
 * function then also writes the planes' padding. */
void szg_planes_store_tile(const szg_planes_layout *layout, const void *values,
                           uint32_t value_count, uint8_t *stored, uint64_t stored_stride);

/* ---- decoding ---- */

enum { SZG_PLANES_ENTRIES = 1 << SZG_PLANES_CODE_BITS };

typedef struct szg_planes_decoder {
  szg_planes_layout layout;
  /* Of coded planes, the code at the start of a window of 12 bits: symbol << 8 | length. */
  uint16_t entries[SZG_PLANES_MOST][SZG_PLANES_ENTRIES];
} szg_planes_decoder;

/* Reads code lengths from a codebook section; those of planes that are not coded are 0. layout:
 * checked. SZGPU_BAD_DATA: a wrong number of bytes, a length over SZG_PLANES_CODE_BITS, or lengths
 * that are no complete prefix code of two symbols or more. */
szgpu_status szg_planes_books_read(const szg_planes_layout *layout, const uint8_t *bytes,
                                   uint64_t byte_count,
                                   uint8_t lengths[][SZG_PLANES_SYMBOLS]) SZG_CHECKED;

/* Builds the tables for lengths from szg_planes_books_read. */
void szg_planes_decoder_build(const szg_planes_layout *layout,
                              uint8_t lengths[][SZG_PLANES_SYMBOLS], szg_planes_decoder *decoder);

/* The inverse of the two: value_count values, 1 to SZG_TILE_VALUES, from word_count
 * words and the stored planes, without their padding. Reads nothing outside words ..
 * words + 4 * word_count. SZGPU_BAD_DATA: the bits are invalid, and values may be anything. */
szgpu_status szg_planes_decode_tile(const szg_planes_decoder *decoder, const uint8_t *words,
                                    uint32_t word_count, const uint8_t *stored,
                                    uint64_t stored_stride, uint32_t value_count,
                                    void *values) SZG_CHECKED;

SZG_C_END

#endif
