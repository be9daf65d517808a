/* hdf5_pieces.h - reads the values of a box of a dataset: HDF5 in one thread, what it takes in any.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * If a dataset's chunks went through no filters, through shuffle and deflate alone, or through
 * szgpu's, HDF5 gives the stored bytes, and threads make values of them. Otherwise HDF5 gives
 * values.
 */
#ifndef HDF5_PIECES_H
#define HDF5_PIECES_H

#include "hdf5_failure.h"
#include "hdf5_plan.h"

enum { PIECES_MOST_FILTERS = 4 };

/* How a dataset is read. */
struct pieces_source {
  const struct plan_variable *variable;
  hid_t dataset;
  hid_t type; /* of the values in memory */
  size_t value_bytes;
  bool are_raw;     /* HDF5 gives stored bytes */
  bool is_swapped;  /* values are big-endian in the file */
  int filter_count; /* of raw pieces */
  H5Z_filter_t filters[PIECES_MOST_FILTERS];
  bool are_archives; /* raw pieces are szgpu's, of this shape */
  szgpu_shape shape;
  uint64_t piece_bytes;     /* of a chunk of the dataset; 0: it has none */
  uint64_t most_raw_bytes;  /* that such a chunk may have in the file */
  uint64_t seen_chunks;     /* that are there, of those that were asked for */
  unsigned char padding[8]; /* the value of what was never written, in native order */
};

/* A chunk of the dataset that is read. */
struct piece {
  hsize_t place[H5S_MAX_RANK]; /* of its first value, in the dataset */
  unsigned mask;               /* filters that it did not go through */
  size_t raw_offset, raw_bytes;
  bool is_in_place; /* it is what the values are, and there already */
};

/* A box, which begins and ends at chunks of the dataset, or at its edge. */
struct box {
  hsize_t start[H5S_MAX_RANK];
  hsize_t dims[H5S_MAX_RANK];  /* of the values in memory: those of a new chunk */
  hsize_t count[H5S_MAX_RANK]; /* that lie in the dataset */
  bool is_cut;                 /* some do not */
  uint64_t value_count;        /* dims multiplied */
  unsigned char *values;
  unsigned char *raw; /* room for piece_most times most_raw_bytes */
  struct piece *pieces;
  size_t piece_count;
};

/* False, and why: the dataset must not be read. variable outlives the source. */
bool pieces_open(const struct plan_variable *variable, hid_t dataset, struct pieces_source *source,
                 struct hdf5_sentence *why);
void pieces_close(struct pieces_source *source);
/* The chunks of the dataset that a box of these dims may have; 0: it is read as values. */
uint64_t pieces_in(const struct pieces_source *source, const hsize_t *dims);

/* In the thread of HDF5. *is_there: some value has been written; if not, the box is not filled.
 * False: HDF5 failed, or says what cannot be, and why. */
bool pieces_read(struct pieces_source *source, struct box *box, bool *is_there,
                 struct hdf5_sentence *why);
/* In any thread: fills box->values. ctx: for archives. scratch: 2 * piece_bytes. NULL, or what is
 * wrong. *status: of resources, of which the data are not at fault. */
const char *pieces_make_values(const struct pieces_source *source, szgpu_ctx *ctx, struct box *box,
                               unsigned char *scratch, szgpu_status *status);

#endif
