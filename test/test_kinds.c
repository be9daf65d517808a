/* test_kinds.c - the table of the kinds of frame: which kind a frame has, which kinds are tried.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "frames/kinds.h"

/* ---- which kind a frame has ---- */

static szg_header archive_of(szgpu_mode mode, szgpu_layout layout, bool has_planes,
                             bool has_levels) {
  return (szg_header){
      .mode = mode, .layout = layout, .has_planes = has_planes, .has_levels = has_levels};
}

/* The kind of a frame with header_kind in its header; "" if there is none. */
static const char *kind_name(const szg_header *archive, uint32_t header_kind) {
  szg_frame_header const frame = {.kind = header_kind};
  uint32_t const kind = szg_kind_of(archive, &frame);
  return kind < SZG_KIND_COUNT ? szg_frame_kinds[kind].name : "";
}

static void headers_name_a_kind_that_the_archive_may_have(void **state) {
  (void)state;
  static const struct {
    szgpu_mode mode;
    szgpu_layout layout;
    bool has_planes, has_levels;
    const char *kinds[SZG_FRAME_KIND_COUNT]; /* by SZG_FRAME_* */
  } archives[] = {
      {SZGPU_MODE_ABS,
       SZGPU_LAYOUT_LINEAR,
       false,
       false,
       {"linear", "constant", "raw", "", "", ""}},
      {SZGPU_MODE_REL, SZGPU_LAYOUT_TILE, false, false, {"", "constant", "raw", "tile", "", ""}},
      {SZGPU_MODE_PSNR,
       SZGPU_LAYOUT_TILE,
       true,
       false,
       {"", "constant", "raw", "tile", "planes", ""}},
      {SZGPU_MODE_REL,
       SZGPU_LAYOUT_TILE,
       true,
       true,
       {"", "constant", "raw", "tile", "planes", "levels"}},
      {SZGPU_MODE_LOSSLESS,
       SZGPU_LAYOUT_LINEAR,
       false,
       false,
       {"top plane", "", "raw", "", "", ""}},
      {SZGPU_MODE_LOSSLESS, SZGPU_LAYOUT_TILE, false, false, {"", "", "raw", "", "planes", ""}},
  };
  for (size_t i = 0; i < ARRAY_COUNT(archives); i++) {
    szg_header const archive = archive_of(archives[i].mode, archives[i].layout,
                                          archives[i].has_planes, archives[i].has_levels);
    for (uint32_t kind = 0; kind < SZG_FRAME_KIND_COUNT; kind++)
      assert_string_equal(kind_name(&archive, kind), archives[i].kinds[kind]);
    assert_string_equal(kind_name(&archive, SZG_FRAME_KIND_COUNT), "");
  }
}

/* If two did, the order of the rows would decide. */
static void no_two_kinds_say_the_same_in_one_archive(void **state) {
  (void)state;
  for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_LOSSLESS; mode++)
    for (int layout = SZGPU_LAYOUT_LINEAR; layout <= SZGPU_LAYOUT_TILE; layout++)
      for (int has_planes = 0; has_planes <= 1; has_planes++) {
        szg_header const archive =
            archive_of((szgpu_mode)mode, (szgpu_layout)layout, has_planes, has_planes);
        int counts[SZG_FRAME_KIND_COUNT] = {0};
        for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++)
          if (szg_frame_kinds[kind].may_occur(&archive))
            assert_int_equal(counts[szg_frame_kinds[kind].header_kind]++, 0);
      }
}

static void names_are_unique(void **state) {
  (void)state;
  for (uint32_t a = 0; a < SZG_KIND_COUNT; a++)
    for (uint32_t b = 0; b < a; b++)
      assert_string_not_equal(szg_frame_kinds[a].name, szg_frame_kinds[b].name);
}

/* ---- which kinds are tried ---- */

static void kinds_are_tried_in_the_order_of_the_table(void **state) {
  (void)state;
  static const szg_bound_plan ordinary = {0}, constant = {.is_constant = true},
                              hopeless = {.is_hopeless = true};
  static const struct {
    szgpu_layout layout;
    szgpu_predictor predictor;
    const szg_bound_plan *bound; /* NULL: lossless */
    const char *kinds;
  } calls[] = {
      {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_AUTO, &ordinary, "levels tile planes raw "},
      {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_LORENZO, &ordinary, "tile planes raw "},
      {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_INTERPOLATION, &ordinary, "levels tile planes raw "},
      {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_AUTO, &constant, "constant planes raw "},
      {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_AUTO, &hopeless, "planes raw "},
      {SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_AUTO, NULL, "planes raw "},
      {SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO, &ordinary, "linear raw "},
      {SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO, &constant, "constant raw "},
      {SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO, &hopeless, "raw "},
      {SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO, NULL, "top plane raw "},
  };
  for (size_t i = 0; i < ARRAY_COUNT(calls); i++) {
    szg_write_request const request = {
        .layout = calls[i].layout, .predictor = calls[i].predictor, .is_lossless = !calls[i].bound};
    char tried[80] = "";
    for (uint32_t kind = 0; kind < SZG_KIND_COUNT; kind++) {
      if (!szg_kind_is_tried(kind, &request, calls[i].bound)) continue;
      strcat(tried, szg_frame_kinds[kind].name);
      strcat(tried, " ");
    }
    assert_string_equal(tried, calls[i].kinds);
  }
}

/* ---- sections by the rules ---- */

/* A linear archive with a gap array and exact values. */
static test_archive make_linear(szgpu_ctx *ctx) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 100, 80, 0, 0);
  szgpu_params const params = test_linear_params(SZGPU_MODE_ABS, 0.01);
  float *const field = test_make_waves(&shape);
  field[77] = INFINITY;
  test_archive const archive = archive_compress(ctx, &params, &shape, field);
  free(field);
  return archive;
}

/* Listing and restoring must refuse the archive; restoring names the section. Frees the archive. */
static void check_refused(szgpu_ctx *ctx, test_archive archive, const char *sentence) {
  archive_rehash(&archive);
  szgpu_frame_info info = SZGPU_FRAME_INFO_DEFAULTS;
  float *const field = test_allocate(100 * 80 * sizeof *field);
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &info),
                   SZGPU_BAD_DATA);
  assert_int_equal(
      szgpu_decompress(ctx, archive.bytes, archive.byte_count, field, 100 * 80 * sizeof *field),
      SZGPU_BAD_DATA);
  assert_string_equal(szgpu_last_error(ctx), sentence);
  free(field);
  free(archive.bytes);
}

static void a_section_of_an_impossible_size_is_named(void **state) {
  (void)state;
  szgpu_ctx *const ctx = test_make_ctx(1);
  test_archive archive = make_linear(ctx);
  uint32_t const gaps = archive_section_of_kind(&archive, 0, SZG_SECTION_GAPS);
  archive_resize_section(&archive, 0, gaps, 3);
  check_refused(ctx, archive, "section 'gap array' of frame 0 has a size that cannot be");
  szgpu_destroy(ctx);
}

static void a_section_of_another_kind_is_named(void **state) {
  (void)state;
  szgpu_ctx *const ctx = test_make_ctx(1);
  test_archive archive = make_linear(ctx);
  uint32_t const last = archive_section_of_kind(&archive, 0, SZG_SECTION_EXACT_VALUES);
  archive_store(&archive, archive_entry_offset(&archive, 0, last), 4, SZG_SECTION_RAW);
  check_refused(ctx, archive, "section 'raw values' of frame 0 should not be there");
  szgpu_destroy(ctx);
}

static void a_section_that_is_missing_is_named(void **state) {
  (void)state;
  szgpu_ctx *const ctx = test_make_ctx(1);
  test_archive archive = make_linear(ctx);
  archive = archive_without_section(archive,
                                    archive_section_of_kind(&archive, 0, SZG_SECTION_EXACT_MASK));
  check_refused(ctx, archive, "section 'exact mask' of frame 0 is missing");
  szgpu_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_name_a_kind_that_the_archive_may_have),
      cmocka_unit_test(no_two_kinds_say_the_same_in_one_archive),
      cmocka_unit_test(names_are_unique),
      cmocka_unit_test(kinds_are_tried_in_the_order_of_the_table),
      cmocka_unit_test(a_section_of_an_impossible_size_is_named),
      cmocka_unit_test(a_section_of_another_kind_is_named),
      cmocka_unit_test(a_section_that_is_missing_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
