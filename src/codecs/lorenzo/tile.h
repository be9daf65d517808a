/* tile.h - the tile layout: a tile's deltas to 32 lanes of bits and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * lattice_bits: 16, 32 or 64, how wide deltas are: int16_t, int32_t or int64_t in code order, as in
 * szg_tile_points. zero_groups: SZG_ZERO_GROUPS_*. Words are little-endian u32, first
 * bit highest; a tile begins at a word.
 */
#ifndef SZG_TILE_H
#define SZG_TILE_H

#include <stddef.h>

#include "codecs/lorenzo/tile_core.h"
#include "core/device.h"
#include "core/status.h"
#include "core/tiles.h"
#include "huffman/huffman.h"
#include "predict/lorenzo.h"

SZG_C_BEGIN

/* ---- codebook (tile_book.c, tile_book.cu) ---- */

/* Adds the codes of a tile to the tally. */
void szg_tile_count(uint32_t lattice_bits, const szg_tile *tile, const void *deltas,
                    szg_tile_tally *tally);

/* Adds `from`, which another thread has counted. */
void szg_tile_tally_add(const szg_tile_tally *from, szg_tile_tally *tally);

/* The SZG_ZERO_GROUPS_* that costs least by the tally. */
uint32_t szg_choose_zero_groups(const szg_tile_tally *tally);

/* Builds the book of a frame: moves rare symbols to their classes and the escape, then finds
 * lengths of at most SZG_TILE_CODE_BITS. Escape and delta 0 always have a code. */
void szg_tile_book_build(const szg_tile_tally *tally, uint32_t zero_groups, szg_codebook *book,
                         szg_codebook_work *work);

void szg_tile_encoder_build(const szg_codebook *book, szg_tile_encoder *encoder);

/* SZGPU_BAD_DATA: a book that no tile frame may have: with codes over SZG_TILE_CODE_BITS, or
 * without a code for the escape or for delta 0. */
szgpu_status szg_tile_decoder_build(const szg_codebook *book,
                                    szg_tile_decoder *decoder) SZG_CHECKED;

/* ---- a tile's bits (encode_tile.c, decode_tile.c) ---- */

/* The most words that a coded tile may take before the encoder gives it up, generously rounded. */
enum { SZG_TILE_MAX_WORDS = 2 * SZG_TILE_VALUES };

/* Writes the tile and returns its number of words, 0 if all deltas are 0. raw_words: the words that
 * its uncoded values take. If the coded tile would take as many, the function writes nothing and
 * returns raw_words, and the caller stores the values. words: room for raw_words. deltas: room for
 * SZG_TILE_VALUES; the function may read all of them. */
uint32_t szg_tile_encode(const szg_tile_encoder *encoder, uint32_t lattice_bits,
                         uint32_t zero_groups, const szg_tile *tile, const void *deltas,
                         uint32_t raw_words, uint8_t *words);

/* The inverse, 0 < word_count < raw words. False: bits that are no tile's. Reads nothing outside
 * words .. words + 4 * word_count. */
bool szg_tile_decode(const szg_tile_decoder *decoder, uint32_t lattice_bits, uint32_t zero_groups,
                     const szg_tile *tile, const uint8_t *words, uint32_t word_count,
                     szg_tile_points *deltas) SZG_CHECKED;

/* The same, one bit at a time down the canonical book: the oracle. */
bool szg_tile_decode_serial(const szg_canonical_index *index, uint32_t lattice_bits,
                            uint32_t zero_groups, const szg_tile *tile, const uint8_t *words,
                            uint32_t word_count, szg_tile_points *deltas) SZG_CHECKED;

SZG_C_END

#endif
