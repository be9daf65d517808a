/* slices.c - the parts of a field that options name: --slab and --region.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "slices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads an index from text up to end, which may be negative; none if there is no text. */
static bool read_index(const char *text, const char *end, bool *is_given, int64_t *index) {
  uint64_t magnitude;
  *is_given = text < end;
  *index = 0;
  if (!*is_given) return true;
  bool const is_negative = *text == '-';
  if (is_negative) text++;
  if (text == end || read_digits(text, end, &magnitude) != end) return false;
  if (magnitude >= INT64_MAX) return false; /* one more must fit, too */
  *index = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
  return true;
}

/* ---- --slab ---- */

const char *read_slab(const char *text, uint64_t *first_row, uint64_t *end_row) {
  static const char fault[] = "is not a range of rows; give first:end, as in --slab 10:20";
  const char *colon = strchr(text, ':');
  if (!colon) return fault;
  const char *end = colon + strlen(colon);
  bool const has_first = colon > text, has_end = colon + 1 < end;
  if (!has_first && !has_end) return fault;
  if (read_digits(text, colon, first_row) != colon) return fault;
  if (read_digits(colon + 1, end, end_row) != end) return fault;
  if (has_end && *end_row == UINT64_MAX) return fault;
  if (!has_end) *end_row = UINT64_MAX;
  return *first_row < *end_row ? NULL
                               : "is empty; the end is the row after the last one to restore";
}

/* ---- --region ---- */

static const char no_region[] =
    "is not a region; give a slice for each axis, as in --region 0:16,32:64,:";

static const char *read_slice(const char *text, const char *end, struct slice *slice) {
  const char *colon = memchr(text, ':', (size_t)(end - text));
  *slice = (struct slice){.is_index = !colon};
  if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
    return "has steps, which --region does not take; restore the box and take values from it";
  if (!read_index(text, colon ? colon : end, &slice->has_first, &slice->first)) return no_region;
  if (colon && !read_index(colon + 1, end, &slice->has_end, &slice->end)) return no_region;
  return colon || slice->has_first ? NULL : no_region;
}

const char *read_slices(const char *text, struct slices *slices) {
  for (slices->count = 0;; slices->count++) {
    const char *comma = strchr(text, ',');
    const char *end = comma ? comma : text + strlen(text);
    if (slices->count == MAX_DIMS) return "has more than 4 slices; a field has at most 4 dims";
    const char *fault = read_slice(text, end, &slices->of[slices->count]);
    if (fault) return fault;
    if (!comma) break;
    text = comma + 1;
  }
  slices->count++;
  return NULL;
}

/* As text, without numbers that were not given. */
static void write_slice(const struct slice *slice, char text[48]) {
  char first[24] = "", end[24] = "";
  if (slice->has_first) snprintf(first, sizeof first, "%" PRId64, slice->first);
  if (slice->has_end) snprintf(end, sizeof end, "%" PRId64, slice->end);
  snprintf(text, 48, "%s%s%s", first, slice->is_index ? "" : ":", end);
}

/* Counted from the start; INT64_MIN if it is before that. */
static int64_t from_start(int64_t index, uint64_t extent) {
  if (index >= 0) return index;
  int64_t const placed = index + (int64_t)extent; /* no field has 2^63 values */
  return placed >= 0 ? placed : INT64_MIN;
}

/* False if the slice leaves 0 .. extent - 1. The range may be empty: *end is then not above
 * *first. */
static bool place_range(const struct slice *slice, uint64_t extent, int64_t *first, int64_t *end) {
  int64_t const all = (int64_t)extent;
  *first = from_start(slice->first, extent);
  *end = slice->is_index ? *first + 1 : slice->has_end ? from_start(slice->end, extent) : all;
  return *first >= 0 && *first <= all && *end >= 0 && *end <= all;
}

static bool place_slice(const struct slice *slice, int axis, uint64_t extent, szgpu_region *region,
                        struct slices_fault *fault) {
  char text[48];
  int64_t first, end;
  bool const is_within = place_range(slice, extent, &first, &end);
  write_slice(slice, text);
  if (is_within && first < end) {
    region->first[axis] = (uint64_t)first;
    region->count[axis] = (uint64_t)(end - first);
    return true;
  }
  if (!is_within)
    snprintf(fault->sentence, sizeof fault->sentence,
             "has %" PRIu64
             " values along axis %d, but --region asks for %s there; give a range "
             "within 0:%" PRIu64,
             extent, axis, text, extent);
  else
    snprintf(fault->sentence, sizeof fault->sentence,
             "has no values in %s of --region, for axis %d; the end is the index after the last "
             "one to restore",
             text, axis);
  return false;
}

bool place_slices(const struct slices *slices, const szgpu_shape *shape, szgpu_region *region,
                  struct slices_fault *fault) {
  *region = (szgpu_region){{0}, {0}};
  if (slices->count != shape->ndim) {
    snprintf(fault->sentence, sizeof fault->sentence,
             "has %d %s, but --region has %d %s; give one for each dim, : for all of it",
             shape->ndim, shape->ndim == 1 ? "dim" : "dims", slices->count,
             slices->count == 1 ? "slice" : "slices");
    return false;
  }
  for (int axis = 0; axis < shape->ndim; axis++)
    if (!place_slice(&slices->of[axis], axis, shape->dims[axis], region, fault)) return false;
  return true;
}

/* ---- --step ---- */

const char *read_step(const char *text, struct slice *slice) {
  return read_slice(text, text + strlen(text), slice)
             ? "is not a step or a range of steps; give them as in --step 7, --step 3:8 or --step "
               "-1"
             : NULL;
}

const char *place_step(const struct slice *slice, uint64_t count, uint64_t *first, uint64_t *end) {
  static char sentence[160];
  char text[48];
  int64_t first_step, end_step;
  if (place_range(slice, count, &first_step, &end_step) && first_step < end_step) {
    *first = (uint64_t)first_step;
    *end = (uint64_t)end_step;
    return NULL;
  }
  write_slice(slice, text);
  snprintf(sentence, sizeof sentence,
           "has %" PRIu64 " step%s, but --step asks for %s; choose from 0:%" PRIu64, count,
           count == 1 ? "" : "s", text, count);
  return sentence;
}

void write_region(const szgpu_region *region, int ndim, char text[REGION_CHARS]) {
  size_t used = 0;
  for (int axis = 0; axis < ndim; axis++)
    used += (size_t)snprintf(text + used, REGION_CHARS - used, "%s%" PRIu64 ":%" PRIu64,
                             axis ? "," : "", region->first[axis],
                             region->first[axis] + region->count[axis]);
}
