/* all_offsets.h - decoding from every bit at once: tables of where codes end and where they go in
 * the output.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * After B. Johnston and E. C. McCreath, "Parallel Huffman Decoding: Presenting a Fast and Scalable
 * Algorithm for Increasingly Multicore Devices", 2017. The decoder decodes one code from every bit
 * i of the stream, as if one began there. Row j of the table W holds the bits that the 2^j codes
 * from i on take; it follows from row j - 1 by one addition, so log2 n rows reach the end of n
 * bits. Then the decoder goes through the rows backwards: a code's place in the output gives the
 * place of the code 2^j codes later (the table P).
 *
 * The paper has one table for the whole stream: n log n entries. Here the stream is cut into
 * windows, and each has its own W. Windows are independent except that the first code of a window
 * begins where the last code of the window before it ends, 0 to 15 bits in. That offset is the
 * carry. Going down the rows from it gives the next carry, in one step per row, not per code.
 * Memory is that of a few windows, with as many rows as a window's codes need.
 */
#ifndef SZG_ALL_OFFSETS_H
#define SZG_ALL_OFFSETS_H

#include "core/arena.h"
#include "core/threads.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

enum {
  /* Windows are whole words. The first word holds any entry, up to 31 for a run that begins
   * anywhere. */
  SZG_ALL_OFFSETS_LEAST_WINDOW_BITS = 32,
  SZG_ALL_OFFSETS_MOST_WINDOW_BITS = 1 << 28, /* so that a sum of two fits 32 bits */
  SZG_ALL_OFFSETS_MOST_ROWS = 29,             /* of such a window, at one bit per code */
  SZG_ALL_OFFSETS_ENTRY_OFFSETS = 32          /* where a window's first code may begin */
};

/* Choices; the codes are the same for every choice. */
typedef struct szg_all_offsets_options {
  uint32_t window_bits; /* a multiple of 32 between the limits; the paper's is the whole stream */
  uint32_t slot_count;  /* windows whose tables are in memory together; at least 1 */
  /* The paper's "not store or load entries when they are known to be -1": rows end at the last
   * offset that can have an entry, and P is inverted: it lists the codes' beginnings by their
   * places, so offsets where no code begins are not visited. */
  bool skips_none;
  /* The paper's "values offset from h_min * 2^j in a reduced number of bits": 1, 2 or 4 bytes per
   * entry, as the values of row j need. */
  bool is_narrow;
} szg_all_offsets_options;

/* Measured on a CPU; docs/notebook.md has the table. */
#define SZG_ALL_OFFSETS_DEFAULTS \
  { .window_bits = 256, .slot_count = 256, .skips_none = true, .is_narrow = true }

/* ---- rules that both backends follow ---- */

/* Rows that may have an entry: 2^j codes from one offset on, all of which begin in the window. */
SZG_HD int szg_all_offsets_row_count(uint32_t window_bits, uint32_t shortest) {
  int count = 1;
  while ((((uint64_t)1 << count) - 1) * shortest < window_bits) count++;
  return count;
}

/* The least and the greatest entry of row j; the last code may end beyond the window. */
SZG_HD uint32_t szg_all_offsets_least(uint32_t shortest, int row) { return shortest << row; }
SZG_HD uint32_t szg_all_offsets_greatest(uint32_t window_bits, uint32_t longest, int row) {
  uint64_t const by_codes = (uint64_t)longest << row;
  uint64_t const by_window = (uint64_t)window_bits + longest - 1;
  return (uint32_t)(by_codes < by_window ? by_codes : by_window);
}

/* Bits that hold any entry of row j as its distance from the least one, or none. */
SZG_HD int szg_all_offsets_row_bits(uint32_t window_bits, uint32_t shortest, uint32_t longest,
                                    int row) {
  uint32_t const least = szg_all_offsets_least(shortest, row);
  uint32_t const greatest = szg_all_offsets_greatest(window_bits, longest, row);
  return 64 - szg_leading_zeros_u64((uint64_t)greatest - least + 1);
}

/* How a row stores its entries: 0 for none (the paper's -1), else bits - bias, at least 1. */
typedef struct szg_all_offsets_row {
  uint64_t first_byte; /* of the row in its window's table */
  uint32_t bias;       /* 0, or one less than the row's least entry */
  uint32_t entry_bytes;
} szg_all_offsets_row;

SZG_HD uint32_t szg_all_offsets_load(const void *row, uint32_t entry_bytes, uint32_t offset) {
  return entry_bytes == 4   ? ((const uint32_t *)row)[offset]
         : entry_bytes == 2 ? ((const uint16_t *)row)[offset]
                            : ((const uint8_t *)row)[offset];
}
SZG_HD void szg_all_offsets_store(void *row, uint32_t entry_bytes, uint32_t offset,
                                  uint32_t entry) {
  if (entry_bytes == 4)
    ((uint32_t *)row)[offset] = entry;
  else if (entry_bytes == 2)
    ((uint16_t *)row)[offset] = (uint16_t)entry;
  else
    ((uint8_t *)row)[offset] = (uint8_t)entry;
}

/* ---- the codes ---- */

/* The code at a bit, looked up by as many bits as the longest code has. */
typedef struct szg_all_offsets_book {
  uint32_t shortest, longest;             /* 1 and 1 if there is no code */
  uint32_t codes[1 << SZG_MAX_CODE_BITS]; /* length << 16 | symbol; length 0: no code */
} szg_all_offsets_book;

void szg_all_offsets_book_build(const szg_codebook *book, szg_all_offsets_book *codes);

/* ---- memory ---- */

/* A window being decoded. */
typedef struct szg_all_offsets_window {
  uint32_t entry; /* offset of the first code that begins in it */
  uint32_t code_count;
  uint64_t first_code;
  int row_count;
  uint32_t row_ends[SZG_ALL_OFFSETS_MOST_ROWS]; /* entries from there on are none and not stored */
} szg_all_offsets_window;

typedef struct szg_all_offsets_tables {
  szg_all_offsets_options options;
  uint32_t shortest, longest; /* of codes that the tables have room for */
  int row_count;
  szg_all_offsets_row rows[SZG_ALL_OFFSETS_MOST_ROWS];
  uint64_t widths_bytes;           /* of one window's W */
  uint8_t *widths;                 /* [slots][widths_bytes] */
  uint32_t *places;                /* [slots][window_bits]: P, or the beginnings by place */
  uint16_t *symbols;               /* [slots][window_bits] */
  szg_all_offsets_window *windows; /* [slots] */
} szg_all_offsets_tables;

/* Lays out a window's table for books whose codes have `shortest` to `longest` bits; returns its
 * bytes. rows: room for SZG_ALL_OFFSETS_MOST_ROWS. */
uint64_t szg_all_offsets_lay_rows(const szg_all_offsets_options *options, uint32_t shortest,
                                  uint32_t longest, szg_all_offsets_row *rows, int *row_count);

/* Takes memory for books whose codes have `shortest` to `longest` bits; the closer these are to the
 * book's own, the less it takes. */
void szg_all_offsets_carve(szg_arena *arena, const szg_all_offsets_options *options,
                           uint32_t shortest, uint32_t longest, szg_all_offsets_tables *tables);

/* Decodes the run, with windows divided among the threads. Needs no side data. Gives the same codes
 * and statuses as szg_decode_serial. */
szgpu_status szg_decode_all_offsets(const szg_all_offsets_book *book,
                                    const szg_all_offsets_tables *tables,
                                    const szg_linear_input *input, const szg_code_run *run,
                                    szg_threads *threads) SZG_CHECKED;

/* ---- CUDA ---- */

enum {
  SZG_ALL_OFFSETS_MOST_SHARED_BITS = 1 << 14, /* of windows in shared memory, if it has room */
  SZG_ALL_OFFSETS_EXITS = SZG_MAX_CODE_BITS,  /* where a code may end beyond a window, or begin */
  SZG_ALL_OFFSETS_GROUP_WINDOWS = 64          /* windows whose exits are joined by one half-warp */
};

/* Slots are the windows of a batch, in stream order. A batch is 2^25 bits, its exits are 16 MiB,
 * however long the stream. */
#define SZG_ALL_OFFSETS_DEFAULTS_CUDA \
  { .window_bits = 256, .slot_count = 1 << 17, .skips_none = true, .is_narrow = true }

/* Where a window leads from an offset at which its first code may begin: the offset in the next
 * window, whether a code is missing on the way, and the codes passed, in one number. */
typedef uint64_t szg_all_offsets_exit;

typedef struct szg_all_offsets_tables_cuda {
  szg_all_offsets_options options;
  uint32_t team_threads, block_teams; /* threads per window, and such teams per block */
  uint32_t shortest, longest;         /* of codes that fit; others are refused */
  int row_count;
  szg_all_offsets_row rows[SZG_ALL_OFFSETS_MOST_ROWS];
  uint64_t widths_bytes;               /* of one window's W */
  szg_all_offsets_exit *exits;         /* [slots][SZG_ALL_OFFSETS_EXITS] */
  szg_all_offsets_exit *entries;       /* [slots]: from the stream's start to the window's */
  szg_all_offsets_exit *group_exits;   /* [groups][SZG_ALL_OFFSETS_EXITS] */
  szg_all_offsets_exit *group_entries; /* [groups] */
  szg_all_offsets_exit *carry;         /* [1]: passed from batch to batch */
} szg_all_offsets_tables_cuda;

/* Takes device memory for books whose codes have `shortest` to `longest` bits. One warp per window
 * makes W in shared memory (the paper's "how shared memory could be used"), once to find where
 * codes lead and once to place them; W never reaches device memory. SZGPU_UNSUPPORTED: a block's
 * shared memory has no room for a window, or there are 2^31 slots or more. */
szgpu_status szg_all_offsets_carve_cuda(szg_arena *arena, const szg_all_offsets_options *options,
                                        uint32_t shortest, uint32_t longest,
                                        szg_all_offsets_tables_cuda *tables) SZG_CHECKED;

/* Decodes all codes of the frame, in code order, from its bits alone: it reads the input's words,
 * word_count, code_count and bit_count. Sets verdict->bad_data if the serial decoder would refuse
 * the stream; writes nothing beyond code_count. Launches kernels for as many batches as word_count
 * needs.
 */
szgpu_status szg_decode_all_offsets_cuda(const szg_all_offsets_tables_cuda *tables,
                                         const szg_decode_book_cuda *book,
                                         const szg_linear_input_cuda *input, uint16_t *codes,
                                         szg_verdict *verdict,
                                         struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
