/* ranges.c - ranges of an archive's bytes: those that are there, and those that a call would read.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/ranges.h"

#include <stdlib.h>
#include <string.h>

static szgpu_range *ranges_of(const szg_buffer *list) { return (szgpu_range *)(void *)list->bytes; }

static size_t count_of(const szg_buffer *list) { return list->used_bytes / sizeof(szgpu_range); }

static uint64_t end_of(const szgpu_range *range) { return range->offset + range->byte_count; }

static bool is_in_archive(const szg_asking *asking, uint64_t offset, uint64_t byte_count) {
  return offset <= asking->archive_bytes && byte_count <= asking->archive_bytes - offset;
}

static szgpu_status append(szg_buffer *list, uint64_t offset, uint64_t byte_count) {
  szgpu_range const range = {offset, byte_count};
  SZG_TRY(szg_buffer_reserve(list, sizeof range));
  memcpy(list->bytes + list->used_bytes, &range, sizeof range);
  list->used_bytes += sizeof range;
  return SZGPU_OK;
}

static int compare_offsets(const void *a, const void *b) {
  const szgpu_range *const left = a, *const right = b;
  return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Makes one of neighbours in a sorted list that overlap or are so close to each other. */
static void merge(szg_buffer *list, uint64_t gap_bytes) {
  szgpu_range *const ranges = ranges_of(list);
  size_t kept = 0;
  for (size_t i = 0; i < count_of(list); i++) {
    szgpu_range *const last = &ranges[kept - (kept > 0)];
    uint64_t const end = end_of(&ranges[i]);
    if (kept > 0 &&
        (ranges[i].offset <= end_of(last) || ranges[i].offset - end_of(last) <= gap_bytes)) {
      if (end > end_of(last)) last->byte_count = end - last->offset;
    } else {
      ranges[kept++] = ranges[i];
    }
  }
  list->used_bytes = kept * sizeof *ranges;
}

static void sort_and_merge(szg_buffer *list, uint64_t gap_bytes) {
  if (list->used_bytes == 0) return; /* it may have no memory */
  qsort(list->bytes, count_of(list), sizeof(szgpu_range), compare_offsets);
  merge(list, gap_bytes);
}

szgpu_status szg_asking_begin(szg_asking *asking, const szgpu_range *given, size_t count) {
  asking->present->used_bytes = asking->wanted->used_bytes = 0;
  for (size_t i = 0; i < count; i++) {
    SZG_REQUIRE(is_in_archive(asking, given[i].offset, given[i].byte_count), SZGPU_BAD_ARGUMENT);
    if (given[i].byte_count > 0)
      SZG_TRY(append(asking->present, given[i].offset, given[i].byte_count));
  }
  sort_and_merge(asking->present, 0);
  return SZGPU_OK;
}

uint64_t szg_present_from_start(const szg_asking *asking) {
  const szgpu_range *const first = ranges_of(asking->present);
  return count_of(asking->present) > 0 && first->offset == 0 ? first->byte_count : 0;
}

bool szg_are_present(const szg_asking *asking, uint64_t offset, uint64_t byte_count) {
  const szgpu_range *const ranges = ranges_of(asking->present);
  size_t first = 0, end = count_of(asking->present); /* the last that begins at or before offset */
  while (first < end) {
    size_t const middle = first + (end - first) / 2;
    if (ranges[middle].offset <= offset)
      first = middle + 1;
    else
      end = middle;
  }
  return byte_count == 0 || (first > 0 && end_of(&ranges[first - 1]) > offset &&
                             byte_count <= end_of(&ranges[first - 1]) - offset);
}

szgpu_status szg_ask(szg_asking *asking, uint64_t offset, uint64_t byte_count) {
  SZG_REQUIRE(is_in_archive(asking, offset, byte_count), SZGPU_TRUNCATED);
  if (szg_are_present(asking, offset, byte_count)) return SZGPU_OK;
  szg_buffer *const wanted = asking->wanted;
  if (wanted->used_bytes > 0) { /* most ranges follow on the one before */
    szgpu_range *const last = &ranges_of(wanted)[count_of(wanted) - 1];
    bool const is_near = offset <= end_of(last) || offset - end_of(last) <= asking->gap_bytes;
    if (offset >= last->offset && is_near) {
      if (offset + byte_count > end_of(last)) last->byte_count = offset + byte_count - last->offset;
      return SZGPU_OK;
    }
  }
  return append(wanted, offset, byte_count);
}

size_t szg_asking_end(szg_asking *asking, szgpu_range *ranges, size_t most) {
  szg_buffer *const wanted = asking->wanted;
  sort_and_merge(wanted, asking->gap_bytes);
  for (uint64_t gap = asking->gap_bytes; count_of(wanted) > most; merge(wanted, gap))
    gap = gap < asking->archive_bytes / 2 ? 2 * gap + 1 : asking->archive_bytes;
  if (wanted->used_bytes > 0) memcpy(ranges, wanted->bytes, wanted->used_bytes);
  return count_of(wanted);
}
