/* field.h - the values of a raw or .npy file or a dataset: shape, type, native byte order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FIELD_H
#define SZGPU_APP_FIELD_H

#include "hdf5_dataset.h"
#include "input.h"
#include "memory.h"
#include "options.h"

struct field {
  const void *values;
  uint64_t byte_count;
  szgpu_shape shape;        /* slowest axis first, as the values lie */
  uint32_t source;          /* SZGPU_SOURCE_* */
  const char *shape_origin; /* "-d", "header", "dataset", "name" or "guess" */
  struct memory copy;       /* where the file's values are swapped, not aligned or a dataset's */
  struct dataset dataset;   /* its fill value; open until its values are read */
};

/* input is loaded and must outlive the field, which may unload it. Returns an exit code, after the
 * sentence where it is not CODE_OK. */
int field_read(const struct report *report, const struct options *options, struct input *input,
               struct field *field);
/* A file that should hold the original of an archive: its values must be of the same type, number
 * and order. */
int field_read_original(const struct report *report, const szgpu_info *info, struct input *input,
                        struct field *field);
void field_release(struct field *field);

bool host_is_big_endian(void);
/* In place where from == to. */
void swap_bytes(void *to, const void *from, uint64_t value_count, szgpu_dtype dtype);

#endif
