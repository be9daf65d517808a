/* self_sync.h - decoding without side data, by codes that fall into step with one another.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * After A. Weissenberger and B. Schmidt, "Massively Parallel Huffman Decoding on GPUs", 2018;
 * J. Lim and S. Kaushik, "Parallel Huffman Decoding", 2022; and C. Rivera et al., "Optimizing
 * Huffman Decoding for Error-Bounded Lossy Compression on GPUs", 2022. A decoder that begins in the
 * midst of a code reads wrong ones for a while; then, mostly within some dozens of bits, one of
 * them ends where a right one does, and from there on all are right. So a stream cut into
 * subsequences can be decoded from many of their first bits at once, as guesses, and the guesses
 * are mended:
 *
 *   1 In each sequence of subsequences, decoding goes on from where a guess has ended over into the
 *     next subsequence, and the next, until one ends where it was found to end before: beyond it,
 *     nothing can change. Now a sequence is right, if a code begins at its first bit.
 *   2 The same across sequences.
 *   3 A scan over the subsequences' numbers of codes says where each one's go.
 *   4 Each is decoded from where its first code begins, and the codes are written.
 *
 * It ends for every stream and book. What is known of a subsequence is where its first code is
 * taken to begin, and what follows from that. Call the border between two subsequences agreed if
 * the one after it begins where the one before it ends. Mending at a border agrees it, and goes on
 * as long as that unsettles the next border; so it ends at the stream's end at the latest, with all
 * borders agreed that were before, and one more. When all are, every subsequence follows from the
 * stream's first bit: there is one such state, whatever the order, the sizes or the threads.
 * Mendings of one round do not overlap, and there are three rounds (in a sequence, in a part,
 * between parts), so no subsequence is gone through more than four times before phase 4, not even
 * where codes never fall into step, as those of one length do not.
 */
#ifndef SZG_SELF_SYNC_H
#define SZG_SELF_SYNC_H

#include "core/threads.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

enum {
  SZG_SELF_SYNC_LEAST_BITS = 256, /* of a subsequence */
  SZG_SELF_SYNC_MOST_BITS = 8192,
  SZG_SELF_SYNC_MOST_SUBSEQUENCES = 1024 /* of a sequence: threads of a block */
};

/* What may be chosen; codes are the same for every choice. */
typedef struct szg_self_sync_options {
  uint32_t subsequence_bits;      /* a multiple of 32 between the limits */
  uint32_t sequence_subsequences; /* 1 .. SZG_SELF_SYNC_MOST_SUBSEQUENCES */
  /* Subsequences decoded from one guess, at most sequence_subsequences. 1: one guess and one thread
   * for each, as in the papers. If threads are few, a larger number saves work. */
  uint32_t stretch_subsequences;
} szg_self_sync_options;

/* Measured on a CPU; docs/huffman.md has the table. */
#define SZG_SELF_SYNC_DEFAULTS \
  { .subsequence_bits = 2048, .sequence_subsequences = 128, .stretch_subsequences = 32 }

/* ---- rules that both backends follow ---- */

/* A subsequence: where the first code that begins in it is taken to begin, in bits from its own
 * first bit, and what follows from that. Bits that are no code are passed over one by one. */
typedef struct szg_self_sync_record {
  uint16_t code_count; /* that begin in it */
  uint8_t start;       /* below SZG_MAX_CODE_BITS */
  uint8_t end;         /* start of the next one; of the last, bits beyond the stream's end */
} szg_self_sync_record;

SZG_HD uint64_t szg_self_sync_subsequence_count(uint64_t bit_count, uint32_t subsequence_bits) {
  return bit_count / subsequence_bits + (bit_count % subsequence_bits != 0);
}

/* First bit after subsequence i. */
SZG_HD uint64_t szg_self_sync_border(uint64_t i, uint32_t subsequence_bits, uint64_t bit_count) {
  return bit_count / subsequence_bits > i ? (i + 1) * subsequence_bits : bit_count;
}

/* ---- where codes end ---- */

enum {
  SZG_SYNC_WINDOW_BITS = 11, /* three lookups within the 33 bits that one load gives at least */
  SZG_SYNC_WINDOWS = 1 << SZG_SYNC_WINDOW_BITS,
  SZG_SYNC_COUNT_SHIFT = 8
};

/* Of each window's bits: all whole codes among them. */
typedef struct szg_sync_table {
  uint16_t spans[SZG_SYNC_WINDOWS];   /* number of codes << SZG_SYNC_COUNT_SHIFT | their bits;
                                         0: the first one is longer, or none */
  uint16_t borders[SZG_SYNC_WINDOWS]; /* bit i: a code begins, or the last whole one ends, there */
  uint32_t mask;                      /* from SZG_MAX_CODE_BITS of the stream to canonical order */
  uint32_t limits[SZG_MAX_CODE_BITS + 1]; /* codes of up to L bits are below, in that order */
} szg_sync_table;

void szg_sync_table_build(const szg_codebook *book, szg_sync_table *table);

/* Length of a code that has no span; bits: the next SZG_MAX_CODE_BITS.
 * SZG_MAX_CODE_BITS + 1: no code. */
SZG_HD uint32_t szg_sync_long_bits(const szg_sync_table *table, uint32_t bits) {
  uint32_t const code = bits ^ table->mask;
  uint32_t length = SZG_SYNC_WINDOW_BITS + 1;
  for (int i = SZG_SYNC_WINDOW_BITS + 1; i <= SZG_MAX_CODE_BITS; i++)
    length += code >= table->limits[i];
  return length;
}

/* ---- memory and report ---- */

/* A run of sequences that a worker takes at once. */
typedef struct szg_self_sync_part {
  uint64_t code_count; /* then, after the scan, the codes of the parts before it */
  uint64_t decodings;  /* subsequences gone through, in the phase at work */
} szg_self_sync_part;

typedef struct szg_self_sync_work {
  szg_self_sync_options options;
  uint64_t part_subsequences;
  uint64_t subsequence_count, part_count; /* that there is room for */
  szg_self_sync_record *records;
  szg_self_sync_part *parts;
} szg_self_sync_work;

/* For streams of up to bit_count bits. SZGPU_BAD_ARGUMENT: options beyond their limits. */
szgpu_status szg_self_sync_carve(szg_arena *arena, const szg_self_sync_options *options,
                                 uint64_t bit_count, szg_self_sync_work *work) SZG_CHECKED;

typedef struct szg_self_sync_report {
  uint64_t subsequences;
  uint64_t decodings[2]; /* subsequences gone through in phases 1 and 2; does not depend on
                            threads */
} szg_self_sync_report;

/* All codes of the stream, input->code_count of them; neither gaps nor sequence codes are looked
 * at. Same codes and statuses as szg_decode_serial has for the whole stream as a run.
 * report: NULL, or what was done. */
szgpu_status szg_decode_self_sync(const szg_sync_table *sync_table,
                                  const szg_decode_table *decode_table,
                                  const szg_self_sync_work *work, const szg_linear_input *input,
                                  uint16_t *codes, szg_threads *threads,
                                  szg_self_sync_report *report) SZG_CHECKED;

/* ---- CUDA ---- */

enum {
  SZG_SELF_SYNC_LEAST_THREADS = 32,
  SZG_SELF_SYNC_MOST_THREADS = SZG_SELF_SYNC_MOST_SUBSEQUENCES,
  SZG_SELF_SYNC_MOST_RUN_UP_BITS = SZG_SELF_SYNC_LEAST_BITS
};

/* What may be chosen on the device; codes are the same for every choice. */
typedef struct szg_self_sync_options_cuda {
  uint32_t subsequence_bits; /* a multiple of 32 between the limits */
  uint32_t block_threads;    /* a multiple of 32 between the limits; a sequence has as many
                                subsequences, each a thread's */
  /* A guess goes through so many bits before the subsequence first, so that mostly codes are in
   * step where it begins. 0: it begins at the subsequence's first bit, as in the papers. A
   * multiple of 32. */
  uint32_t run_up_bits;
} szg_self_sync_options_cuda;

#define SZG_SELF_SYNC_DEFAULTS_CUDA \
  { .subsequence_bits = 512, .block_threads = 256, .run_up_bits = 128 }

/* Where the code ends that is under way at the end of a stretch of bits, for each of 16 places
 * where the stretch's first code may begin: 4 bits each, from the low end. */
typedef uint64_t szg_self_sync_map;

/* What the decoder works on. A piece is what phase 4 takes of a subsequence: 256 bits, or what is
 * left of it. Its record: codes that begin in it << 4 | where its first one begins. */
typedef struct szg_self_sync_decoder_cuda {
  szg_self_sync_options_cuda options;
  uint64_t subsequence_count;         /* that there is room for */
  uint16_t *pieces;                   /* [subsequences][pieces of one] */
  uint8_t *entries, *exits;           /* [sequences]: where codes begin in them, and beyond them */
  szg_self_sync_map *maps;            /* [subsequences]: from their sequence's begin to theirs */
  szg_self_sync_map *sequence_maps;   /* [sequences] */
  uint32_t *is_unsettled;             /* [1]: phase 2 had to ask for maps */
  uint16_t *piece_codes;              /* [groups of 128 pieces]: codes that begin in them */
  szg_gap_decoder_cuda piece_decoder; /* of these groups, which it calls sequences */
} szg_self_sync_decoder_cuda;

/* For streams of up to word_count words. SZGPU_BAD_ARGUMENT: options beyond their limits.
 * SZGPU_UNSUPPORTED: more than 2^31 groups of pieces, which no device's memory holds. */
szgpu_status szg_self_sync_carve_cuda(szg_arena *arena, const szg_self_sync_options_cuda *options,
                                      uint64_t word_count,
                                      szg_self_sync_decoder_cuda *decoder) SZG_CHECKED;

/* All codes of the stream, from its bits alone: of the input words, word_count, code_count and
 * bit_count. code_bytes: 2 for u16 codes, or 1 for bytes, where symbol_count is 256 at most; codes
 * is 16-byte aligned with room for code_count rounded up to 8. verdict->bad_data: no stream of as
 * many codes, as the serial decoder has it; nothing is written beyond them. */
szgpu_status szg_decode_self_sync_cuda(const szg_self_sync_decoder_cuda *decoder,
                                       const szg_decode_book_cuda *book, uint32_t symbol_count,
                                       const szg_linear_input_cuda *input, uint32_t code_bytes,
                                       void *codes, szg_verdict *verdict,
                                       struct CUstream_st *stream) SZG_CHECKED;

/* Its phases, one after the other, for those who time them.
 *
 *   1 Each thread guesses, and the threads of a block agree: from left to right they go on from
 *     where the one before has ended, until nothing changes. Some rounds of that, no more.
 *   2 A thread for each sequence goes on from where the sequence before has ended, until it meets a
 *     start that is known. Where this, or phase 1, does not come to an end soon, since codes do not
 *     fall into step, guesses are given up: each subsequence is gone through from all 16 starts, of
 *     which those that meet go on as one. What that gives are maps, and a scan of maps says where
 *     all codes begin, for every stream and book. So no bit is gone through more often than about
 *     20 times, and no thread waits for another one's stretch.
 *   3 Codes are counted and scanned by groups of pieces, and these are classed.
 *   4 As the gap-array decoder writes, but that lanes know how many codes they have. */
szgpu_status szg_self_sync_guess_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_decode_book_cuda *book,
                                      const szg_linear_input_cuda *input, szg_verdict *verdict,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_self_sync_agree_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_decode_book_cuda *book,
                                      const szg_linear_input_cuda *input, szg_verdict *verdict,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_self_sync_place_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_linear_input_cuda *input, szg_verdict *verdict,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_self_sync_write_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_decode_book_cuda *book, uint32_t symbol_count,
                                      const szg_linear_input_cuda *input, uint32_t code_bytes,
                                      void *codes, szg_verdict *verdict,
                                      struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
