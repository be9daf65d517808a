/* planes_items.h - many lossless frames at once, on a GPU and without the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists are in device memory; a launch does one step for all their frames, and the second dimension
 * of its grid is the frame. Sections are byte for byte those of planes.h. Kernels of a width and a
 * set of planes leave frames alone that have others.
 */
#ifndef SZG_PLANES_ITEMS_H
#define SZG_PLANES_ITEMS_H

#include "codecs/planes/planes_cuda.h"

SZG_C_BEGIN

/* ---- writing ---- */

/* A frame. Before the first step, its layout has no modes and no constants. */
typedef struct szg_planes_write_item {
  szg_planes_output_cuda output; /* words and stored: before they are written */
  uint64_t byte_count;           /* of its values */
  szg_planes_counts *counts;     /* 0 at first */
  szg_split_tally *tally;        /* of bytes whose width is not known: 0 at first */
  szg_planes_encoder *encoder;   /* output.encoder */
  bool is_again;                 /* the sample has misled: the steps are repeated. false at first */
  bool has_sections;             /* words and stored are to be written */
} szg_planes_write_item;

typedef struct szg_planes_write_list {
  szg_planes_write_item *items;
  uint32_t item_count;
  uint32_t value_bytes; /* of all frames; 0: they are bytes, and widths are chosen */
  uint64_t most_bytes;  /* of the largest frame */
} szg_planes_write_list;

/* Whether a sample may mislead: then counts, choices and measures are made again for the frames
 * that szg_planes_recount_items_cuda marks. */
SZG_HD bool szg_planes_list_is_sampled(const szg_planes_write_list *list) {
  uint64_t const value_bytes = list->value_bytes ? list->value_bytes : 1;
  return !szg_planes_count_all(szg_planes_tile_count(list->most_bytes / value_bytes));
}

/* Chooses value_bytes of frames of bytes, and sets their value_count. Only if list->value_bytes is
 * 0. The second does both steps, the first is its first. */
szgpu_status szg_split_count_items_cuda(const szg_planes_write_list *list,
                                        struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_split_items_cuda(const szg_planes_write_list *list,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* Steps as of szg_planes_count_cuda, szg_planes_choose with szg_planes_encoder_build, and
 * szg_planes_measure_cuda. is_again: for frames that are marked, with all values counted. */
szgpu_status szg_planes_count_items_cuda(const szg_planes_write_list *list, bool is_again,
                                         struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_choose_items_cuda(const szg_planes_write_list *list, bool is_again,
                                          struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_measure_items_cuda(const szg_planes_write_list *list, bool is_again,
                                           struct CUstream_st *stream) SZG_CHECKED;

/* Marks frames whose sample has misled, and makes them as before the first count. */
szgpu_status szg_planes_recount_items_cuda(const szg_planes_write_list *list,
                                           struct CUstream_st *stream) SZG_CHECKED;

/* Writes words and stored planes of frames that have sections and are measured. */
szgpu_status szg_planes_write_items_cuda(const szg_planes_write_list *list,
                                         struct CUstream_st *stream) SZG_CHECKED;

/* ---- reading ---- */

/* A frame to decode: all of it. */
typedef struct szg_planes_read_item {
  szg_planes_input_cuda input; /* no listed tiles */
  uint8_t *bytes;              /* where its values go */
  uint64_t byte_count;
  szg_verdict *verdict;
  bool is_there; /* else there is nothing to do */
} szg_planes_read_item;

typedef struct szg_planes_read_list {
  const szg_planes_read_item *items;
  uint32_t item_count;
  uint32_t value_bytes; /* as of szg_planes_write_list; 0: any */
  uint64_t most_bytes;
} szg_planes_read_list;

/* As szg_planes_open_cuda and szg_planes_decode_cuda. */
szgpu_status szg_planes_open_items_cuda(const szg_planes_read_list *list,
                                        struct CUstream_st *stream) SZG_CHECKED;
szgpu_status szg_planes_decode_items_cuda(const szg_planes_read_list *list,
                                          struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
