/* tokens_cuda.h - the coder of levels frames on CUDA: counts, books, tiles to words and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The twin of tokens.h, with the same modes, lanes, books and words. Pointers in these structs are
 * to device memory. Every function only puts work in the stream: the host learns nothing and waits
 * for nothing, and the work may be captured in a graph.
 *
 * Codes are int32_t, or int64_t if the frame is wide: group_count * 64 of a tile, by place, tile
 * after tile, aligned to 16. Those of places that do not exist are 0.
 *
 * To compress a stage: count, make the book, encode. To decompress: open the sections, all in one
 * call, then decode tiles of each.
 */
#ifndef SZG_TOKENS_CUDA_H
#define SZG_TOKENS_CUDA_H

#include "core/arena.h"
#include "core/device.h"
#include "huffman/tokens.h"

SZG_C_BEGIN

/* The tiles of a stage, from which kernels know what places exist. szg_tokens_tiles_of in
 * codecs/interpolation/levels_tiles.h makes it. */
typedef struct szg_tokens_tiles {
  uint32_t axis_count; /* d */
  bool is_base, is_wide;
  uint64_t z_extent, y_extent, x_extent; /* of the stage's grid */
  uint32_t tile_z, tile_y, tile_x;       /* of a full tile */
  uint64_t z_tiles, y_tiles, x_tiles, tile_count;
  uint32_t group_count; /* of a tile */
} szg_tokens_tiles;

/* ---- to compress ---- */

/* How a section begins: szg_levels_head and books. */
enum {
  SZG_TOKENS_HEAD_BYTES = 16,
  SZG_TOKENS_UNIT_WORD = 1, /* of the head: with mode 0, the only one that is not 0 */
  SZG_TOKENS_FRONT_MOST_BYTES = SZG_TOKENS_HEAD_BYTES + SZG_TOKENS_BOOKS_MOST_BYTES
};

/* All that encoding needs to know of the codes. */
typedef struct szg_tokens_book_cuda {
  szg_tokens_plan plan;
  szg_tokens_encoder encoder;
  uint32_t front_bytes;                            /* a multiple of 4 */
  uint32_t front[SZG_TOKENS_FRONT_MOST_BYTES / 4]; /* little-endian, 0 from front_bytes on */
} szg_tokens_book_cuda;
static_assert(SZG_TOKENS_FRONT_MOST_BYTES % 4 == 0, "whole words");

enum { SZG_TOKENS_MOST_STAGES = 7 }; /* a base and six levels */

/* What books need to know of a stage besides its counts. */
typedef struct szg_tokens_book_facts {
  uint32_t group_count; /* of a tile */
  uint32_t lane_bits;   /* as szg_tokens_choose takes it */
  bool is_whole;        /* the tally has all tiles, and their codes as they will be */
  uint32_t unit;        /* for the section's head */
} szg_tokens_book_facts;

/* What szg_tokens_choose, szg_tokens_encoder_build and szg_tokens_books_write do, for several
 * stages at once. facts: host memory. tallies: [stage_count]. */
szgpu_status szg_tokens_books_make_cuda(const szg_tokens_book_facts *facts, uint32_t stage_count,
                                        const szg_tokens_tally *tallies,
                                        szg_tokens_book_cuda *books,
                                        struct CUstream_st *stream) SZG_CHECKED;

/* Memory to encode a stage; the next stage may use it again. */
typedef struct szg_tokens_work_cuda {
  uint16_t *sizes;       /* [tiles]: words of each */
  uint64_t *first_words; /* [tiles + 1] */
  uint64_t *nonzero;     /* [tiles][groups]: a bit for each place with a code that is not 0 */
  uint16_t *group_bits;  /* [tiles][groups]: what they take */
} szg_tokens_work_cuda;

/* most_tiles: of the stage with most tiles. most_groups: tile_count * group_count, likewise. */
void szg_tokens_work_carve_cuda(szg_arena *arena, uint64_t most_tiles, uint64_t most_groups,
                                szg_tokens_work_cuda *work);

/* Where a section goes. */
typedef struct szg_tokens_output_cuda {
  uint8_t *archive;           /* aligned to 16 */
  uint64_t capacity;          /* bytes of it that may be written */
  const uint64_t *first_byte; /* *first_byte: where in it the section begins, a multiple of 16 */
  uint64_t *section_bytes;    /* gets what the section takes, whether that fits or not */
  uint64_t *next_byte;        /* gets where the next section begins, a multiple of 16 */
} szg_tokens_output_cuda;

/* Encodes all tiles and writes the whole section, and zeros up to *next_byte. If it would not end
 * within the capacity, nothing is written but the two numbers. next_byte and first_byte may be
 * neighbours, not the same. */
szgpu_status szg_tokens_encode_cuda(const szg_tokens_tiles *tiles, const szg_tokens_book_cuda *book,
                                    const void *codes, const szg_tokens_work_cuda *work,
                                    const szg_tokens_output_cuda *output,
                                    struct CUstream_st *stream) SZG_CHECKED;

/* ---- to decompress ---- */

/* By the next 12 bits. Entries of values and pairs are the length of the code in 4 bits, RARE, and
 * from bit 16 on a direct value in 16 bits or two codes in 8 bits each; with RARE, the symbol, or
 * NO_SYMBOL if no code has these bits. Entries of octets and masks are the symbol << 4 and the
 * length, 0 if no code has these bits. */
enum { SZG_TOKENS_LENGTH = 15, SZG_TOKENS_RARE = 16, SZG_TOKENS_NO_SYMBOL = 0 };
typedef struct szg_tokens_tables_cuda {
  uint32_t values[SZG_TOKENS_ENTRIES];
  uint32_t others[SZG_TOKENS_ENTRIES]; /* of pairs, or of octets in the low and masks in the high
                                          half; not set in plain mode */
} szg_tokens_tables_cuda;

/* A section, as its front says. All kernels may use it, also if the section is bad. */
typedef struct szg_tokens_opened_cuda {
  uint32_t is_coded; /* 0: all codes are 0, or the section is bad */
  uint32_t lane_groups_log2;
  uint32_t unit; /* 1 if the section is bad */
  uint32_t mode;
  uint64_t words_at; /* bytes from the section's start */
  uint64_t word_count;
  szg_tokens_tables_cuda tables; /* aligned to 16 */
  uint32_t ticket;               /* 0 at first: for kernels that hand out tiles */
} szg_tokens_opened_cuda;

/* A stage to read. The contents of the section are not trusted. */
typedef struct szg_tokens_input_cuda {
  szg_tokens_tiles tiles;
  const uint8_t *section; /* aligned to 4 */
  uint64_t section_bytes;
  uint32_t least_unit, most_unit; /* what its head may say: 1 and 2^F; at level 0, 2^F twice */
  /* from szg_tokens_input_carve_cuda */
  szg_tokens_opened_cuda *opened;
  uint16_t *sizes;       /* [tiles] */
  uint64_t *first_words; /* [tiles + 1] */
} szg_tokens_input_cuda;

void szg_tokens_input_carve_cuda(szg_arena *arena, uint64_t tile_count,
                                 szg_tokens_input_cuda *input);

/* Opens sections: heads, books, places of tiles. verdict->bad_data: one of them breaks a rule that
 * is not about a single tile. */
szgpu_status szg_tokens_open_cuda(const szg_tokens_input_cuda *inputs, uint32_t input_count,
                                  szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

/* Decodes tiles first_tile to end_tile - 1 of an opened section to `codes`, which begins with the
 * codes of first_tile. verdict->bad_data: a tile is invalid; its codes may be anything. */
szgpu_status szg_tokens_decode_cuda(const szg_tokens_input_cuda *input, uint64_t first_tile,
                                    uint64_t end_tile, void *codes, szg_verdict *verdict,
                                    struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
