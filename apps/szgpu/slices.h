/* slices.h - the parts of a field that options name: --slab and --region.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_SLICES_H
#define SZGPU_APP_SLICES_H

#include "values.h"

/* "A:B", "A:" or ":B": without A the first row is 0, without B the end is UINT64_MAX. Returns NULL,
 * or what is wrong, to follow the text. */
const char *read_slab(const char *text, uint64_t *first_row, uint64_t *end_row);

/* What --region says of one axis, and --step of the steps, as numpy slices: a:b, a:, :b, : or a
 * single index, which is a range of one. Negative numbers count from the end. */
struct slice {
  bool has_first, has_end, is_index;
  int64_t first, end;
};
struct slices {
  int count;
  struct slice of[MAX_DIMS];
};
/* Slices with commas between them, slowest axis first. Returns as read_slab does. */
const char *read_slices(const char *text, struct slices *slices);

/* The region of a field of these dims. False: *fault gets a sentence to follow the archive's
 * name. */
struct slices_fault {
  char sentence[200];
};
bool place_slices(const struct slices *slices, const szgpu_shape *shape, szgpu_region *region,
                  struct slices_fault *fault);

/* One such slice: "7", "3:8", "-1". Returns as read_slab does. */
const char *read_step(const char *text, struct slice *slice);
/* Places it among `count` steps. NULL, or a sentence to follow the name of the series, which is
 * valid until the next call. */
const char *place_step(const struct slice *slice, uint64_t count, uint64_t *first, uint64_t *end);

/* Bytes of text that "0:16,32:64,0:60" may take, with its end. */
enum { REGION_CHARS = MAX_DIMS * 42 + 1 };
void write_region(const szgpu_region *region, int ndim, char text[REGION_CHARS]);

#endif
