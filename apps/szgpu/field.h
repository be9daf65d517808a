/* field.h - a field from a raw file, a .npy file or a dataset, in native byte order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FIELD_H
#define SZGPU_APP_FIELD_H

#include "hdf5_dataset.h"
#include "input.h"
#include "memory.h"
#include "options.h"

struct field {
  const void *values; /* NULL: only the input's head is loaded, or the dataset is open */
  uint64_t byte_count;
  uint64_t offset;          /* of the values in a file */
  szgpu_shape shape;        /* slowest axis first, as in memory */
  uint32_t source;          /* SZGPU_SOURCE_* */
  const char *shape_origin; /* "-d", "header", "dataset", "name" or "guess" */
  szgpu_shape stated_shape; /* what header, dataset or name say, in their order; ndim 0: nothing */
  const char *stated_by;    /* "header", "dataset" or "name" */
  bool has_npy_header;      /* although it was read as raw values */
  bool is_empty;            /* the file is: the field is one value in its place */
  struct memory copy;     /* holds values that had to be swapped, aligned or read from a dataset */
  struct dataset dataset; /* closed once its values are read; what attributes say stays */
};

/* An input_wanted: the bytes of the field that the options, or its .npy header, describe. */
uint64_t field_wanted_bytes(const struct input *input, const void *options);
/* The same for the original of an archive, a szgpu_info. */
uint64_t field_wanted_by_archive(const struct input *input, const void *info);

/* input is loaded, and must outlive the field, which may unload it. Returns an exit code; prints a
 * sentence if it is not CODE_OK. */
int field_read(const struct report *report, const struct options *options, struct input *input,
               struct field *field);
/* The same for the original of an archive: its values must have the archive's type, number and
 * order. */
int field_read_original(const struct report *report, const szgpu_info *info, struct input *input,
                        struct field *field);
void field_release(struct field *field);

bool host_is_big_endian(void);
/* Whether the file's values are in the other byte order. */
bool field_is_swapped(const struct field *field);
/* In place if from == to. */
/* Whether the archive has a file's bytes as they were, whatever they mean. */
bool info_is_of_any_file(const szgpu_info *info);

void swap_bytes(void *to, const void *from, uint64_t value_count, szgpu_dtype dtype);

#endif
