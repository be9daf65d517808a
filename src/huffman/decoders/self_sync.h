/* self_sync.h - decoding without side data, by codes that fall into step with one another.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * After A. Weissenberger and B. Schmidt, "Massively Parallel Huffman Decoding on GPUs", 2018;
 * J. Lim and S. Kaushik, "Parallel Huffman Decoding", 2022; and C. Rivera et al., "Optimizing
 * Huffman Decoding for Error-Bounded Lossy Compression on GPUs", 2022. A decoder that starts in the
 * middle of a code reads wrong codes for a while. Then, mostly within some dozens of bits, one of
 * them ends where a right one does, and from there on all are right. So a decoder can guess that
 * codes begin at the first bits of subsequences, decode from many of them at once, and mend the
 * guesses:
 *
 *   1 In each sequence of subsequences, decoding continues from the end of a guess into the next
 *     subsequence, and the next, until one ends where it was found to end before: nothing can
 *     change beyond it. Now a sequence is right if a code begins at its first bit.
 *   2 The same across sequences.
 *   3 A scan over the subsequences' numbers of codes tells where each one's codes go.
 *   4 Each subsequence is decoded from its first code, and the codes are written.
 *
 * This ends for every stream and book. What is known of a subsequence is the assumed start of its
 * first code, and what follows from that. Call the border between two subsequences agreed if the
 * second one begins where the first one ends. Mending a border makes it agreed, and continues as
 * long as that unsettles the next border. So it ends at the stream's end at the latest, and then
 * all borders that were agreed still are, and one more. When all are, every subsequence follows
 * from the stream's first bit: there is only one such state, for any order, sizes and threads.
 * Mendings of one round do not overlap, and there are three rounds (in a sequence, in a part,
 * between parts), so no subsequence is walked more than four times before phase 4, even if codes
 * never fall into step, as codes of one length do not.
 */
#ifndef SZG_SELF_SYNC_H
#define SZG_SELF_SYNC_H

#include "core/threads.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

enum {
  SZG_SELF_SYNC_LEAST_BITS = 256, /* per subsequence */
  SZG_SELF_SYNC_MOST_BITS = 8192,
  SZG_SELF_SYNC_MOST_SUBSEQUENCES = 1024 /* per sequence: threads of a block */
};

/* Options; the codes are the same for every choice. */
typedef struct szg_self_sync_options {
  uint32_t subsequence_bits;      /* a multiple of 32 between the limits */
  uint32_t sequence_subsequences; /* 1 .. SZG_SELF_SYNC_MOST_SUBSEQUENCES */
  /* Subsequences decoded from one guess, at most sequence_subsequences. 1: one guess and one thread
   * for each, as in the papers. If threads are few, a larger number saves work. */
  uint32_t stretch_subsequences;
} szg_self_sync_options;

/* Measured on a CPU; docs/notebook.md has the table. */
#define SZG_SELF_SYNC_DEFAULTS \
  { .subsequence_bits = 2048, .sequence_subsequences = 128, .stretch_subsequences = 32 }

/* ---- rules that both backends follow ---- */

/* A subsequence: the assumed start of the first code that begins in it, in bits from its own first
 * bit, and what follows from that. Bits that are not a code are skipped one by one. */
typedef struct szg_self_sync_record {
  uint16_t code_count; /* codes that begin in it */
  uint8_t start;       /* below SZG_MAX_CODE_BITS */
  uint8_t end;         /* start in the next one; in the last one, bits beyond the stream's end */
} szg_self_sync_record;

SZG_HD uint64_t szg_self_sync_subsequence_count(uint64_t bit_count, uint32_t subsequence_bits) {
  return bit_count / subsequence_bits + (bit_count % subsequence_bits != 0);
}

/* The first bit after subsequence i. */
SZG_HD uint64_t szg_self_sync_border(uint64_t i, uint32_t subsequence_bits, uint64_t bit_count) {
  return bit_count / subsequence_bits > i ? (i + 1) * subsequence_bits : bit_count;
}

/* ---- where codes end ---- */

enum {
  SZG_SYNC_WINDOW_BITS = 11, /* one load gives 33 bits or more: three lookups */
  SZG_SYNC_WINDOWS = 1 << SZG_SYNC_WINDOW_BITS,
  SZG_SYNC_COUNT_SHIFT = 8
};

/* For each window: all whole codes among its bits. */
typedef struct szg_sync_table {
  uint16_t spans[SZG_SYNC_WINDOWS];   /* number of codes << SZG_SYNC_COUNT_SHIFT | their bits;
                                         0: the first one is longer, or none */
  uint16_t borders[SZG_SYNC_WINDOWS]; /* bit i: a code begins, or the last whole one ends, there */
  uint32_t mask;                      /* from SZG_MAX_CODE_BITS of the stream to canonical order */
  uint32_t limits[SZG_MAX_CODE_BITS + 1]; /* codes of up to L bits are below, in that order */
} szg_sync_table;

void szg_sync_table_build(const szg_codebook *book, szg_sync_table *table);

/* The length of a code without a span; bits: the next SZG_MAX_CODE_BITS. Not a code:
 * SZG_MAX_CODE_BITS + 1. */
SZG_HD uint32_t szg_sync_long_bits(const szg_sync_table *table, uint32_t bits) {
  uint32_t const code = bits ^ table->mask;
  uint32_t length = SZG_SYNC_WINDOW_BITS + 1;
  for (int i = SZG_SYNC_WINDOW_BITS + 1; i <= SZG_MAX_CODE_BITS; i++)
    length += code >= table->limits[i];
  return length;
}

/* ---- memory and report ---- */

/* The sequences that a worker takes at once. */
typedef struct szg_self_sync_part {
  uint64_t code_count; /* after the scan, the codes of earlier parts */
  uint64_t decodings;  /* subsequences walked in the current phase */
} szg_self_sync_part;

typedef struct szg_self_sync_work {
  szg_self_sync_options options;
  uint64_t part_subsequences;
  uint64_t subsequence_count, part_count; /* that have room */
  szg_self_sync_record *records;
  szg_self_sync_part *parts;
} szg_self_sync_work;

/* Lays out the work for bit_count bits or fewer. SZGPU_BAD_ARGUMENT: options beyond limits. */
szgpu_status szg_self_sync_carve(szg_arena *arena, const szg_self_sync_options *options,
                                 uint64_t bit_count, szg_self_sync_work *work) SZG_CHECKED;

typedef struct szg_self_sync_report {
  uint64_t subsequences;
  uint64_t decodings[2]; /* subsequences walked in phases 1 and 2; does not depend on threads */
} szg_self_sync_report;

/* Decodes all codes of the stream, input->code_count of them, without gaps and sequence codes.
 * Gives the same codes and statuses as szg_decode_serial for the whole stream as one run. report:
 * NULL, or gets what was done. */
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

/* Options on the device; the codes are the same for every choice. */
typedef struct szg_self_sync_options_cuda {
  uint32_t subsequence_bits; /* a multiple of 32 between the limits */
  uint32_t block_threads;    /* a multiple of 32 between the limits; a sequence has one subsequence
                              * per thread */
  /* A guess first walks this many bits before the subsequence, so that codes are mostly in step at
   * its start. 0: it starts at the subsequence's first bit, as in the papers. A multiple of 32. */
  uint32_t run_up_bits;
} szg_self_sync_options_cuda;

#define SZG_SELF_SYNC_DEFAULTS_CUDA \
  { .subsequence_bits = 512, .block_threads = 256, .run_up_bits = 128 }

/* For each of 16 places where the first code of a stretch of bits may begin: where the code ends
 * that reaches over the stretch's end. 4 bits each, from the low end. */
typedef uint64_t szg_self_sync_map;

/* The decoder's memory. A piece is what one lane of phase 4 decodes of a subsequence: 256 bits, or
 * the rest. Its record: number of codes that begin in it << 4 | where the first one begins. */
typedef struct szg_self_sync_decoder_cuda {
  szg_self_sync_options_cuda options;
  uint64_t subsequence_count;         /* that have room */
  uint16_t *pieces;                   /* [subsequences][pieces of one] */
  uint8_t *entries, *exits;           /* [sequences]: where codes begin in and after them */
  szg_self_sync_map *maps;            /* [subsequences]: from their sequence's start to theirs */
  szg_self_sync_map *sequence_maps;   /* [sequences] */
  uint32_t *is_unsettled;             /* [1]: phase 2 needs maps */
  uint16_t *piece_codes;              /* [groups of 128 pieces]: codes that begin in them */
  szg_gap_decoder_cuda piece_decoder; /* for these groups, its sequences */
} szg_self_sync_decoder_cuda;

/* Lays out memory for streams of up to word_count words. SZGPU_BAD_ARGUMENT: options beyond their
 * limits. SZGPU_UNSUPPORTED: more than 2^31 groups of pieces, which no device's memory holds. */
szgpu_status szg_self_sync_carve_cuda(szg_arena *arena, const szg_self_sync_options_cuda *options,
                                      uint64_t word_count,
                                      szg_self_sync_decoder_cuda *decoder) SZG_CHECKED;

/* Decodes all codes of the stream from its bits only: it uses words, word_count, code_count and
 * bit_count of the input. code_bytes: 2 for u16 codes, or 1 for bytes if symbol_count is at most
 * 256. codes is 16-byte aligned with room for code_count rounded up to 8. verdict->bad_data: the
 * serial decoder would refuse the stream or find another number of codes. Writes nothing beyond. */
szgpu_status szg_decode_self_sync_cuda(const szg_self_sync_decoder_cuda *decoder,
                                       const szg_decode_book_cuda *book, uint32_t symbol_count,
                                       const szg_linear_input_cuda *input, uint32_t code_bytes,
                                       void *codes, szg_verdict *verdict,
                                       struct CUstream_st *stream) SZG_CHECKED;

/* The phases, one after the other, for callers that time them.
 *
 *   1 Each thread guesses, and the threads of a block agree: from left to right, each walks again
 *     from where the one before has ended, until nothing changes, but only for some rounds.
 *   2 One thread per sequence walks on from where the sequence before has ended, until it meets a
 *     known start. If this or phase 1 does not end soon, because codes do not fall into step, the
 *     device gives up guesses: it walks each subsequence from all 16 starts; starts that meet
 *     continue as one. That gives maps, and a scan of maps tells where all codes begin, for every
 *     stream and book. So no bit is walked more often than about 20 times, and no thread waits for
 *     another one's stretch.
 *   3 Codes are counted and scanned by groups of pieces, and the groups are classed.
 *   4 Writes like the gap-array decoder, except that lanes know how many codes they have. */
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
