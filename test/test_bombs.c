/* test_bombs.c - small archives that ask for much memory: what they claim is refused before it is
 * taken, and what a call takes stays below the limit that docs/pipeline.md states.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_make.h"
#include "counted_memory.h"

enum { THREADS = 2, BOX_VALUES = 8, BOXES = 1 << 15, MIB = 1 << 20 };

/* docs/pipeline.md, "The most that an archive can take". */
static size_t most_bytes(size_t archive_bytes, size_t frame_bytes) {
  return (size_t)4 * MIB + (size_t)THREADS * 2 * MIB + archive_bytes / 1024 + frame_bytes / 4 * 17;
}

/* ---- bombs ---- */

/* A batch of boxes of 2 x 2 x 2 values, each of which is a tile, in one frame. */
static made_archive boxes(uint8_t frame_kind, uint32_t version, szgpu_layout layout) {
  return (made_archive){.version = version,
                        .shape = test_shape(SZGPU_F32, 4, BOXES, 2, 2, 2),
                        .mode = SZGPU_MODE_ABS,
                        .layout = layout,
                        .frame_rows = BOXES,
                        .frame_count = 1,
                        .frame_values = (uint64_t)BOXES * BOX_VALUES,
                        .frame_kind = frame_kind};
}

static void add_zeros(made_archive *made, uint32_t kind, uint64_t raw_bytes) {
  made->sections[made->section_count++] = (made_section){kind, raw_bytes, NULL};
}

enum { VALUES = BOXES * BOX_VALUES, FIELD_BYTES = 4 * VALUES, MASK_BYTES = 4113 };

/* Before, masks could take 4,113 bytes a tile however small it was: 202,880 bytes of archive made a
 * slab of 32 bytes take 4.2 GB. */
static made_archive masks(void) {
  made_archive made = boxes(SZG_FRAME_CONSTANT, 1, SZGPU_LAYOUT_LINEAR);
  made.flags = 1;
  made.constant = 0x3FC00000;
  add_zeros(&made, SZG_SECTION_EXACT_COUNTS, 4 * BOXES);
  add_zeros(&made, SZG_SECTION_EXACT_MASK, (uint64_t)MASK_BYTES * BOXES);
  add_zeros(&made, SZG_SECTION_EXACT_VALUES, FIELD_BYTES);
  add_zeros(&made, SZG_SECTION_FILL_COUNTS, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_FILL_MASK, (uint64_t)MASK_BYTES * BOXES);
  return made;
}

static made_archive linear_escapes(void) {
  made_archive made = boxes(SZG_FRAME_LINEAR, 3, SZGPU_LAYOUT_LINEAR);
  made.flags = 2;
  made.axes = 1;
  made.byte_2 = 4;
  made.radius = 32768;
  add_zeros(&made, SZG_SECTION_CODEBOOK, 6 + 65535);
  add_zeros(&made, SZG_SECTION_TILE_SIZES, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_BITSTREAM, 2 * VALUES);
  add_zeros(&made, SZG_SECTION_ESCAPE_COUNTS, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_ESCAPES, 8 * VALUES);
  return made;
}

static made_archive tile_stream(void) {
  made_archive made = boxes(SZG_FRAME_TILE, 2, SZGPU_LAYOUT_TILE);
  made.flags = 1;
  made.axes = 1;
  add_zeros(&made, SZG_SECTION_CODEBOOK, 200);
  add_zeros(&made, SZG_SECTION_TILE_SIZES, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_BITSTREAM, FIELD_BYTES);
  add_zeros(&made, SZG_SECTION_EXACT_COUNTS, 4 * BOXES);
  add_zeros(&made, SZG_SECTION_EXACT_MASK, VALUES);
  add_zeros(&made, SZG_SECTION_EXACT_VALUES, FIELD_BYTES);
  add_zeros(&made, SZG_SECTION_FILL_COUNTS, 2 * BOXES);
  add_zeros(&made, SZG_SECTION_FILL_MASK, VALUES);
  return made;
}

static made_archive levels_of_all_values(void) {
  made_archive made = boxes(SZG_FRAME_LEVELS, 5, SZGPU_LAYOUT_TILE);
  made.axes = 1;
  made.byte_2 = 3;           /* axes that are interpolated */
  made.radius = 6 | 4u << 8; /* levels, fine bits */
  for (uint32_t i = 0; i <= 6; i++) add_zeros(&made, SZG_SECTION_BASE + i, FIELD_BYTES);
  return made;
}

typedef struct bomb {
  const char *name;
  made_archive (*make)(void);
} bomb;

static bomb const bombs[] = {
    {"masks longer than their tiles", masks},
    {"escapes of twice the field", linear_escapes},
    {"a stream and exact values of all values", tile_stream},
    {"seven levels of all values", levels_of_all_values},
};

/* ---- what calls take ---- */

/* Restores one row, and then all of them. */
static szgpu_status restore(szgpu_ctx *ctx, const test_archive *archive, size_t field_bytes,
                            bool is_slab, size_t *peak_bytes) {
  szgpu_info const info = test_inspect(archive);
  size_t const bytes = is_slab ? field_bytes / info.shape.dims[0] : field_bytes;
  void *const field = test_allocate(bytes);
  size_t const before = counted_bytes();
  counted_peak_begin();
  szgpu_status const status =
      is_slab ? szgpu_decompress_slab(ctx, archive->bytes, archive->byte_count, 0, 1, field, bytes)
              : szgpu_decompress(ctx, archive->bytes, archive->byte_count, field, bytes);
  *peak_bytes = counted_peak() - before;
  free(field);
  return status;
}

static void bombs_are_refused_before_they_take_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(bombs); i++)
    for (int is_slab = 0; is_slab <= 1; is_slab++) {
      made_archive const made = bombs[i].make();
      test_archive archive = archive_make(&made);
      szgpu_ctx *const ctx = test_make_ctx(THREADS);
      size_t peak_bytes;
      szgpu_status const status = restore(ctx, &archive, FIELD_BYTES, is_slab, &peak_bytes);
      size_t const most = most_bytes(archive.byte_count, FIELD_BYTES);
      if (status != SZGPU_BAD_DATA)
        fail_msg("%s: %s (%s)", bombs[i].name, szgpu_status_text(status), szgpu_last_error(ctx));
      if (peak_bytes > most)
        fail_msg("%s: %zu bytes, more than %zu", bombs[i].name, peak_bytes, most);
      print_message("           %-40s %7zu bytes took %9zu: %s\n", bombs[i].name,
                    archive.byte_count, peak_bytes, szgpu_last_error(ctx));
      szgpu_destroy(ctx);
      free(archive.bytes);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bombs_are_refused_before_they_take_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
