/* huffman.h - codes to bits and back: histogram, codebook, the linear layout, its decoders.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes are u16 symbols below symbol_count = 2 * radius. They come in tiles (see core/tiles.h):
 * here a tile is only a run of codes of known length in codes and bits.
 */
#ifndef SZG_HUFFMAN_H
#define SZG_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/format.h"
#include "core/device.h"
#include "core/status.h"
#include "core/tiles.h"
#include "huffman/canonical_core.h"

SZG_C_BEGIN

/* ---- histogram ---- */

enum { SZG_HISTOGRAM_COPIES = 4 }; /* equal neighbours count in different words */

/* Adds to counts, SZG_HISTOGRAM_COPIES tables of symbol_count. */
void szg_histogram_add(const uint16_t *codes, size_t code_count, uint32_t symbol_count,
                       uint32_t *counts);

/* ---- codebook ---- */

/* Code of each symbol, right-aligned. Length 0: the symbol does not occur, and its code is
 * undefined. Only the escape and first_symbol .. end_symbol - 1 may occur. */
typedef struct szg_codebook {
  uint32_t symbol_count;
  uint32_t first_symbol, end_symbol; /* 1 <= first <= end <= symbol_count */
  uint8_t lengths[SZG_MAX_SYMBOLS];
  uint16_t codes[SZG_MAX_SYMBOLS];
} szg_codebook;

/* The next after s of the symbols that may occur; the first is the escape, and end_symbol the end.
 * Loops over these take time by what the book has, not by what it could have. */
static inline uint32_t szg_symbol_after(const szg_codebook *book, uint32_t s) {
  return s == SZG_ESCAPE_SYMBOL ? book->first_symbol : s + 1;
}

/* Memory that building needs in addition to the book. */
typedef struct szg_codebook_work {
  uint32_t leaves[2][SZG_MAX_SYMBOLS]; /* symbols by (count, symbol), and the sort's buffer */
  uint64_t weights[2][2 * SZG_MAX_SYMBOLS];
  uint64_t is_package[SZG_MAX_CODE_BITS][2 * SZG_MAX_SYMBOLS / 64]; /* one bit per item */
} szg_codebook_work;

/* Builds optimal code lengths of at most longest_code <= SZG_MAX_CODE_BITS for
 * counts[symbol_count], then the codes. At most 2^longest_code symbols may occur. */
void szg_codebook_build(const uint64_t *counts, uint32_t symbol_count, int longest_code,
                        szg_codebook *book, szg_codebook_work *work);

/* The lengths alone: codes are not set. */
void szg_codebook_lengths(const uint64_t *counts, uint32_t symbol_count, int longest_code,
                          szg_codebook *book, szg_codebook_work *work);

/* A book's section: u8 length of the escape, u8 0, u16 first symbol, u16 symbols, then their
 * lengths in runs of a byte each, with the symbols less 1 above the length. */
enum {
  SZG_BOOK_HEAD_BYTES = 6,
  SZG_BOOK_LENGTH_BITS = 5,
  SZG_BOOK_LONGEST_RUN = 8,
  SZG_CODEBOOK_MAX_BYTES = SZG_BOOK_HEAD_BYTES + SZG_MAX_SYMBOLS
};
/* Writes the book's section; returns the bytes written (at most SZG_CODEBOOK_MAX_BYTES). */
size_t szg_codebook_write(const szg_codebook *book, uint8_t *bytes);
/* SZGPU_BAD_DATA: runs do not fit, or lengths are not a complete prefix code. Runs need not be the
 * longest possible. */
szgpu_status szg_codebook_read(const uint8_t *bytes, size_t byte_count, uint32_t symbol_count,
                               szg_codebook *book) SZG_CHECKED;

/* ---- the linear layout ---- */

/* The bits that these codes take. */
uint64_t szg_linear_bits(const szg_codebook *book, const uint16_t *codes, size_t code_count);

/* For the encoder: length << 16 | code of each symbol. */
void szg_encoder_table(const szg_codebook *book, uint32_t *table);

/* A run of codes, encoded at a bit position. Neighbouring runs may share the words at its two ends:
 * the encoder returns their bits in head and tail, and szg_linear_merge merges them. */
typedef struct szg_linear_run {
  uint64_t first_bit;
  uint64_t first_code;
  uint32_t head_bits, tail_bits; /* contents of the first and of the last, partial word */
  uint64_t head_word, tail_word; /* their places; if they are one word, tail_bits has both */
  bool has_head, has_tail;
} szg_linear_run;

/* Where the encoder writes the bits of a frame. */
typedef struct szg_linear_stream {
  uint8_t *words; /* the bitstream: little-endian u32 words, first bit highest */
  uint64_t bit_count;
  uint8_t *gaps;            /* one byte per subsequence, packed later */
  uint64_t *sequence_codes; /* index of the first code that begins in each sequence */
} szg_linear_stream;

/* Encodes code_count codes from run->first_bit and run->first_code on. */
void szg_linear_encode(const uint32_t *table, const uint16_t *codes, size_t code_count,
                       szg_linear_run *run, szg_linear_stream *stream);

/* Writes the words that runs share; the runs must be in order. */
void szg_linear_merge(const szg_linear_run *runs, size_t run_count, szg_linear_stream *stream);

/* Packs two gaps per byte, the first in the low half. */
void szg_gaps_pack(const uint8_t *gaps, uint64_t gap_count, uint8_t *packed);

SZG_HD uint64_t szg_subsequence_count(uint64_t bit_count) {
  return (bit_count + SZG_SUBSEQUENCE_BITS - 1) / SZG_SUBSEQUENCE_BITS;
}
SZG_HD uint64_t szg_sequence_count(uint64_t bit_count) {
  return (bit_count + SZG_SEQUENCE_BITS - 1) / SZG_SEQUENCE_BITS;
}

/* ---- decoders: all give the same codes ---- */

/* The linear layout of one frame, as read; section sizes have been checked against bit_count. */
typedef struct szg_linear_input {
  const uint8_t *words;
  uint64_t word_bytes;
  uint64_t bit_count;
  uint64_t code_count;
  const uint8_t *gaps;
  const uint8_t *sequence_codes;
} szg_linear_input;

/* One tile to decode. */
typedef struct szg_code_run {
  uint64_t first_bit, bit_count;
  uint32_t code_count;
  uint16_t *codes;
} szg_code_run;

/* The canonical book by length, for the serial decoder. */
typedef struct szg_canonical_index {
  uint32_t first_codes[SZG_MAX_CODE_BITS + 1]; /* per length, before the mask */
  uint32_t code_counts[SZG_MAX_CODE_BITS + 1];
  uint32_t first_symbols[SZG_MAX_CODE_BITS + 1]; /* index in symbols */
  uint32_t mask;                                 /* SZG_MAX_CODE_BITS bits, left-aligned */
  uint16_t symbols[SZG_MAX_SYMBOLS];             /* by (length, symbol) */
} szg_canonical_index;

void szg_canonical_index_build(const szg_codebook *book, szg_canonical_index *index);

/* The oracle: decodes one bit at a time by the canonical book. SZGPU_BAD_DATA: bits that are not a
 * code, or a run that does not end where its bit_count says. */
szgpu_status szg_decode_serial(const szg_canonical_index *index, const szg_linear_input *input,
                               const szg_code_run *runs, size_t run_count) SZG_CHECKED;

/* Walks the whole stream and checks the gap array, the sequences' code counts and the unused bits.
 * SZGPU_BAD_DATA: one of them is wrong. */
szgpu_status szg_linear_verify(const szg_canonical_index *index,
                               const szg_linear_input *input) SZG_CHECKED;

/* The lookup table of the table decoder. */
enum {
  SZG_TABLE_BITS = 11, /* 16 KiB: half of the usual first-level cache */
  SZG_TABLE_ENTRIES = 1 << SZG_TABLE_BITS,
  SZG_TABLE_SYMBOLS = 3, /* at most, per lookup */
  SZG_TABLE_LONG_BITS = SZG_MAX_CODE_BITS - SZG_TABLE_BITS
};
typedef struct szg_decode_table {
  const szg_codebook *book;
  /* Three u16 symbols from the low end, then their number, then their bits in all. Number 0: the
   * code is longer; the low 16 bits are the index of its group in long_codes. */
  uint64_t entries[SZG_TABLE_ENTRIES];
  uint32_t long_codes[SZG_MAX_SYMBOLS]; /* length << 16 | symbol; length 0: not a code */
} szg_decode_table;

void szg_decode_table_build(const szg_codebook *book, szg_decode_table *table);

/* Decodes several runs at once, by wide lookups, with the statuses of szg_decode_serial. */
szgpu_status szg_decode_runs(const szg_decode_table *table, const szg_linear_input *input,
                             const szg_code_run *runs, size_t run_count) SZG_CHECKED;

/* ---- CUDA: pointers are to device memory; carve functions lay out a stage's memory ---- */

/* Adds how often each symbol below 2 * *radius occurs to counts. */
szgpu_status szg_histogram_cuda(const uint16_t *codes, uint64_t code_count, const uint32_t *radius,
                                uint64_t *counts, struct CUstream_st *stream) SZG_CHECKED;

/* Workspace for the linear encoding of a frame. */
typedef struct szg_linear_encoder_cuda {
  uint32_t *table;           /* [SZG_MAX_SYMBOLS], made by szg_encoder_table */
  uint64_t *tile_first_bits; /* [tiles + 1] */
  uint8_t *gaps;             /* [subsequences of the largest stream], one byte each */
  uint64_t *sequence_codes;  /* [sequences of the largest stream]: first code of each */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_linear_encoder_cuda;

/* SZGPU_UNSUPPORTED: 2^31 tiles or more. */
szgpu_status szg_linear_encoder_carve_cuda(szg_arena *arena, const szg_grid *frame_grid,
                                           szg_linear_encoder_cuda *encoder) SZG_CHECKED;

/* The places of the sections of a frame's stream in the archive. bit_count: of the whole stream, by
 * histogram and book. */
typedef struct szg_linear_output_cuda {
  uint64_t bit_count;
  uint16_t *tile_bits;      /* [tiles], minus each tile's number of codes */
  uint32_t *words;          /* [ceil(bits / 32)], 16-byte aligned */
  uint8_t *gaps;            /* [ceil(subsequences / 2)]; NULL: without these two */
  uint16_t *sequence_codes; /* [sequences] */
} szg_linear_output_cuda;

/* codes: the frame's, in code order, below symbol_count. Writes all four sections, not padding. */
szgpu_status szg_linear_encode_cuda(const szg_linear_encoder_cuda *encoder, const szg_grid *grid,
                                    uint32_t symbol_count, const uint16_t *codes,
                                    const szg_linear_output_cuda *output,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* A codebook section turned into tables for decoders. */
typedef struct szg_decode_book_cuda szg_decode_book_cuda;
uint64_t szg_decode_book_bytes_cuda(void);
/* Reads and checks the section as szg_codebook_read does. verdict->bad_data: the section is bad or
 * no symbol occurs; decoders may still use the book without harm. */
szgpu_status szg_decode_book_build_cuda(const uint8_t *section, uint64_t section_bytes,
                                        uint32_t symbol_count, szg_decode_book_cuda *book,
                                        szg_verdict *verdict,
                                        struct CUstream_st *stream) SZG_CHECKED;
/* The book's code length of each symbol, [symbol_count]; 0: it does not occur. */
const uint8_t *szg_decode_book_lengths_cuda(const szg_decode_book_cuda *book);

/* The sections of a frame's stream. Their contents are not trusted. */
typedef struct szg_linear_input_cuda {
  const uint32_t *words; /* 16-byte aligned */
  uint64_t word_count;
  const uint8_t *gaps;
  uint64_t gap_bytes;
  const uint16_t *sequence_codes;
  uint64_t sequence_count;
  uint64_t code_count;
  const szg_tile_place *places; /* [tiles + 1]: places[t].bit is where tile t begins */
  const uint64_t *bit_count;    /* of the stream; agrees with word_count, gap_bytes and
                                 * sequence_count unless *verdict is bad */
} szg_linear_input_cuda;

/* The gap-array decoder's workspace. */
typedef struct szg_gap_decoder_cuda {
  uint64_t *sequence_first_codes; /* [sequences] */
  uint32_t *class_sequences;      /* [classes][sequences]: indices of a class's sequences */
  uint32_t *class_counts;         /* [classes] */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_gap_decoder_cuda;
/* SZGPU_UNSUPPORTED: 2^31 sequences or more, which no device's memory holds. */
szgpu_status szg_gap_decoder_carve_cuda(szg_arena *arena, uint64_t sequence_count,
                                        szg_gap_decoder_cuda *decoder) SZG_CHECKED;

/* Decodes all codes of the frame, in code order; codes is 16-byte aligned with room for code_count
 * rounded up to 8. verdict->bad_data: the stream does not agree with its side data, or has another
 * number of codes. (The caller checks by code lengths whether tiles end where they say.) */
szgpu_status szg_decode_gap_cuda(const szg_gap_decoder_cuda *decoder,
                                 const szg_decode_book_cuda *book, uint32_t symbol_count,
                                 const szg_linear_input_cuda *input, uint16_t *codes,
                                 szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
