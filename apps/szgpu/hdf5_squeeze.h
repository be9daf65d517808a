/* hdf5_squeeze.h - works on a dataset's chunks: HDF5 in one thread, the library in all.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_SQUEEZE_H
#define HDF5_SQUEEZE_H

#include "hdf5_compare.h"
#include "hdf5_pieces.h"
#include "job.h"

#include <pthread.h>

struct squeezer;
struct slot;

/* One for a file; to be closed in any case. */
struct squeeze {
  const struct job *job;
  const char *name; /* of the file that is read */
  int thread_count; /* of squeezers */
  struct squeezer *squeezers;
  struct slot *slots; /* of the dataset at work */
  int slot_count;
  pthread_mutex_t lock;
  pthread_cond_t is_ready, is_done; /* some slot */
  uint64_t given, taken;            /* slots so far: by the thread of HDF5, by squeezers */
  bool is_closing;
  const struct squeeze_work *work;
  uint64_t done_bytes, total_bytes; /* of all datasets, for the progress */
};

/* What is looked for before anything is compressed. */
struct squeeze_range {
  bool has_values; /* some that are neither missing nor infinite */
  double least, greatest;
};

/* What is done with each chunk. */
enum squeeze_kind {
  SQUEEZE_TO_ARCHIVES,
  SQUEEZE_TO_VALUES, /* that are written as they are */
  SQUEEZE_LOOK,      /* only for fills and range, of values that params and fills say are there */
  SQUEEZE_COMPARE    /* with those of `other` */
};

/* A dataset at work. */
struct squeeze_work {
  enum squeeze_kind kind;
  const struct plan_variable *variable;
  struct pieces_source source, other; /* other: the new dataset, only for SQUEEZE_COMPARE */
  struct difference difference;
  hsize_t chunk[H5S_MAX_RANK]; /* of the new dataset */
  szgpu_params params;
  szgpu_shape shape; /* of a chunk */
  bool may_grow;     /* chunks that the edge cuts will be written again, with more values */
  struct fills fills;
  struct squeeze_range range;
  hid_t out;              /* where the chunks go; < 0: nowhere */
  uint64_t most_chunks;   /* that are worked on, spread over the dataset; 0: all */
  uint64_t archive_bytes; /* of all, or what those that were worked on let expect of all */
};

/* Each returns an exit code, and prints a sentence if it is not CODE_OK. */
int squeeze_open(const struct job *job, const char *name, struct squeeze *squeeze);
int squeeze_run(struct squeeze *squeeze, struct squeeze_work *work);
void squeeze_close(struct squeeze *squeeze);

#endif
