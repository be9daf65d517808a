/* batch.h - archives of one frame each, many at once, on a GPU and without the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The host knows shapes, places and the quantizer; everything else stays on the device. All fields
 * of one sequence of launches are a class: under a bound they have one type and one number of axes
 * that tiles extend over, and without one, one width of values. Tile frames have no sections of
 * outliers (szgpu_params.raw_outliers). A frame that does not shrink is a raw frame.
 */
#ifndef SZG_BATCH_H
#define SZG_BATCH_H

#include "codecs/lorenzo/frame.h"
#include "codecs/planes/frame.h"
#include "codecs/planes/planes_items.h"
#include "container/checksum.h"
#include "container/header_core.h"

SZG_C_BEGIN

/* Words of the headers of an archive of one frame. */
enum {
  SZG_BATCH_HEADER_WORDS = (SZG_HEADER_BYTES + 8 + SZG_CHECKSUM_BYTES) / 8,
  SZG_BATCH_TILE_WORDS =
      (SZG_FRAME_HEADER_BYTES + SZG_TILE_SECTION_COUNT * SZG_SECTION_ENTRY_BYTES + 8) / 8,
  SZG_BATCH_RAW_WORDS = (SZG_FRAME_HEADER_BYTES + SZG_SECTION_ENTRY_BYTES + 8) / 8
};
static_assert(SZG_BATCH_HEADER_WORDS * 8 % SZG_ALIGNMENT == 0, "no padding");

/* The headers of a class: without dims, sizes and checksums. */
typedef struct szg_batch_heads {
  uint64_t archive[SZG_BATCH_HEADER_WORDS], tile[SZG_BATCH_TILE_WORDS], raw[SZG_BATCH_RAW_WORDS];
} szg_batch_heads;

/* Work memory of a field that is compressed, and of one that is restored: in tile frames; */
typedef struct szg_batch_write_work {
  void *choice, *book, *tiles;
  szg_tile_found *found;
} szg_batch_write_work;

typedef struct szg_batch_read_work {
  szg_tile_decoder *decoder;
  uint64_t *first_words;
  uint32_t *counters;
} szg_batch_read_work;

/* in planes frames. */
typedef struct szg_batch_planes_write_work {
  szg_planes_counts *counts;
  szg_split_tally *tally; /* of bytes */
  szg_planes_encoder *encoder;
  uint16_t *sizes, *lane_bits;
  uint64_t *first_words;
} szg_batch_planes_write_work;

typedef struct szg_batch_planes_read_work {
  uint16_t *entries;
  uint64_t *first_words;
  uint32_t *counter;
} szg_batch_planes_read_work;

/* A field and its archive. */
typedef struct szg_batch_item {
  uint64_t dims[SZG_MAX_DIMS];
  uint8_t ndim, dtype;
  bool was_compact;                 /* reading: *archive_bytes_at is a szg_compact_item's result */
  uint32_t version;                 /* of the format, as the archive's header states it */
  uint32_t status;                  /* reading: what its headers say */
  void *values;                     /* compression only reads them */
  uint8_t *archive;                 /* aligned to SZG_ALIGNMENT */
  uint64_t archive_bytes;           /* the archive's room, or its size */
  const uint64_t *archive_bytes_at; /* reading: NULL, or its size, at most archive_bytes */
  szgpu_outcome *outcome;
  uint64_t *leaves; /* of checksums */
  union {
    uint32_t *ticket;     /* writing; 0 at first */
    szg_verdict *verdict; /* reading */
  };
  union {
    szg_batch_write_work write;
    szg_batch_read_work read;
    szg_batch_planes_write_work planes_write;
    szg_batch_planes_read_work planes_read;
  };
  const uint8_t *raw; /* reading: the planes of a raw frame, or NULL */
} szg_batch_item;

/* What the items of one sequence of launches have in common. */
typedef struct szg_batch_class {
  szgpu_dtype dtype; /* of a lossless class: one with its width */
  uint32_t item_count;
  szg_grid widest; /* the grid of the item with the largest x_extent */
  uint64_t most_tiles, most_values;
  bool is_aligned; /* reading: rows of all fields begin at multiples of 16 bytes */
  szg_quantizer quantizer;
  uint32_t lattice_bits;
  double greatest_point;
  szg_batch_heads heads;
} szg_batch_class;

/* Sets quantizer and heads. header: of any archive of the class, except what only items have.
 * bound: NULL if the class is lossless. */
void szg_batch_class_open(const szg_header *header, const szg_bound_plan *bound,
                          szg_batch_class *batch);

/* Lists in device memory, [items] each. */
typedef struct szg_batch_lists {
  szg_batch_item *items;
  szg_checksum_item *checksums; /* reading */
  szg_choice_item *choices;     /* writing tile frames */
  union {
    void *frames;
    szg_tile_item *tiles;
    szg_tile_read_item *read_tiles;
    szg_planes_write_item *planes;
    szg_planes_read_item *read_planes;
  };
} szg_batch_lists;

/* Items that travel to the device as a kernel's argument. */
enum { SZG_BATCH_SENT = 24 };
typedef struct szg_batch_sent {
  szg_batch_item items[SZG_BATCH_SENT];
} szg_batch_sent;
static_assert(sizeof(szg_batch_sent) <= 4000, "arguments have 4 KiB");

/* How fields become frames of a kind, and back. */
typedef struct szg_batch_kind {
  uint32_t class_count;
  uint32_t (*class_of)(szgpu_dtype dtype, const szg_grid *grid);
  uint32_t most_sections;         /* of a frame */
  size_t write_bytes, read_bytes; /* of an entry of lists.frames */
  size_t choice_bytes;            /* of one of lists.choices; 0: it has none */
  /* Takes what only this kind needs of an item's work memory. zeroed: memory that must be 0 before
   * the launches. SZGPU_UNSUPPORTED: too many tiles. */
  szgpu_status (*carve_write)(szg_arena *zeroed, szg_arena *other, const szg_grid *grid,
                              szgpu_dtype dtype, szg_batch_item *item);
  szgpu_status (*carve_read)(szg_arena *arena, const szg_grid *grid, szgpu_dtype dtype,
                             szg_batch_item *item);
  /* Puts `count` items that are to be compressed in the lists, from `first` on. */
  szgpu_status (*send)(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                       const szg_batch_lists *lists, struct CUstream_st *stream);
  /* Compresses a class; lists: from its first item on. */
  szgpu_status (*write)(const szg_batch_class *batch, const szg_batch_lists *lists,
                        struct CUstream_st *stream);
  /* Restores a class. Checksums are verified in the stream beside. An archive that is not one of
   * the class has the status SZGPU_OTHER_PARAMS, if it is sound as far as its headers say. */
  szgpu_status (*read)(const szg_batch_class *batch, const szg_batch_lists *lists,
                       const szg_side_stream *side, struct CUstream_st *stream);
} szg_batch_kind;

extern const szg_batch_kind szg_tile_batch;
/* Lossless. A class has values of one width, or it has bytes, which each frame may treat as wider
 * values. */
extern const szg_batch_kind szg_planes_batch;

/* ---- steps of the kinds ---- */

szgpu_status szg_tile_batch_send_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                      const szg_batch_lists *lists,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_batch_send_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                        const szg_batch_lists *lists,
                                        struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_tile_batch_write_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                       struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_batch_write_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                         struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_tile_batch_read_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                      const szg_side_stream *side,
                                      struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_batch_read_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                        const szg_side_stream *side,
                                        struct CUstream_st *stream) SZG_CHECKED;

/* ---- steps of all kinds (batch.cu) ---- */

/* Puts `count` items that are to be restored in the list, from `first` on. */
szgpu_status szg_batch_send_reads_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                       szg_batch_item *items,
                                       struct CUstream_st *stream) SZG_CHECKED;
/* Verifies checksums in the stream beside, from now on. */
szgpu_status szg_batch_verify_cuda(const szg_batch_class *batch, uint32_t most_sections,
                                   const szg_checksum_item *checksums, const szg_side_stream *side,
                                   struct CUstream_st *stream) SZG_CHECKED;
/* The last steps of reading: the values of raw frames, and outcomes once checksums are verified. */
szgpu_status szg_batch_judge_cuda(const szg_batch_class *batch, const szg_batch_item *items,
                                  const szg_side_stream *side,
                                  struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
