/* hdf5_plan.h - what happens to each dataset of a file that is packed anew, and why.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_PLAN_H
#define HDF5_PLAN_H

#include "bounds.h"
#include "hdf5_dataset.h"
#include "hdf5_tree.h"
#include "options.h"

enum { PLAN_WHY_CHARS = 160 };

struct plan_variable {
  size_t object;
  const char *path;
  bool is_compressed;
  char why[PLAN_WHY_CHARS]; /* it is, or is not; "bound of --var tos:abs=0.01" */
  struct bound bound;       /* as it was asked for; only if it is compressed */
  double absolute_bound;    /* what holds in the unit of the variable; 0: of each value, or none */
  struct dataset about;     /* its ids are closed */
  bool lacks_fill;          /* netcdf_give_fill gives it one */
  szgpu_dtype dtype;        /* of the stored values; only if is_number */
  bool is_number;
  int rank;
  hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK]; /* chunk: of the file that is read; 0: none */
  bool may_grow[H5S_MAX_RANK];                     /* that dim */
  uint64_t raw_bytes, stored_bytes;                /* of the values; in the file that is read */
  uint64_t written_bytes; /* of its chunks in the new file; with --dry-run an estimate */
};

struct plan {
  struct plan_variable *variables; /* in the order of the tree; one for each dataset */
  size_t count;
};

/* What to follow: rules, the bound for what has none, and a file whose bounds to take. */
struct plan_rules {
  struct bounds *bounds;
  bool has_rest;
  struct bound rest; /* of -m and -e */
  hid_t like;        /* a file; < 0: none */
  bool is_classic;   /* the file was made by nccopy, of one of classic netCDF */
};

/* Returns an exit code, and prints a sentence about the file `name` if it is not CODE_OK. */
int plan_make(const struct report *report, const char *name, hid_t file, const struct tree *tree,
              struct plan_rules *rules, struct plan *plan);
/* The same for datasets that szgpu has compressed, which are to be restored. */
int plan_restore(const struct report *report, const char *name, hid_t file, const struct tree *tree,
                 struct plan *plan);
void plan_free(struct plan *plan);

/* Sets what HDF5 says of the dataset: its type, dims and sizes, and what its attributes say. */
void plan_read_dataset(hid_t dataset, struct plan_variable *variable);

/* The same, and whether szgpu has compressed it, with which bound. False: a later version has, so
 * the bound is not known. */
bool plan_read_archives(hid_t dataset, struct plan_variable *variable);

/* "/tos" as "in.nc:/tos", for messages. */
struct plan_name {
  char text[512];
};
struct plan_name plan_name_of(const char *file, const char *path);

#endif
