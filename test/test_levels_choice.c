/* test_levels_choice.c - whether a small frame is tried as a levels frame, and measured as tiles;
 * whether frames are blended.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/interpolation/frame.h"
#include "codecs/interpolation/levels_probe.h"
#include "ctxs.h"
#include "quant/bound.h"
#include "support.h"

/* Decides for a frame of these extents, by what the sample says of interpolation. It says that a
 * tile frame takes `tile_bytes`, as differences do. */
static szg_levels_choice decide_by(szgpu_predictor predictor, uint64_t z, uint64_t y, uint64_t x,
                                   uint64_t tile_bytes, szg_probes probes) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, z, y, x, 0);
  float const values[2] = {-1.0f, 1.0f};
  szg_threads threads = {.count = 1};
  szg_value_source const source = szg_value_source_cpu(&threads, SZGPU_F32, values, 2);
  szg_write_request request = {.dtype = SZGPU_F32, .predictor = predictor};
  szg_bound_plan bound;
  szg_range range;
  szg_levels_choice choice;
  assert_int_equal(szg_grid_of_shape(&shape, &request.frame_grid), SZGPU_OK);
  assert_int_equal(szg_range_take(&source, NULL, &range), SZGPU_OK);
  assert_int_equal(szg_bound_derive(&source, SZGPU_MODE_REL, 1e-3, &range, &bound), SZGPU_OK);
  uint64_t const bits_shift = SZG_LOG_FRACTION_BITS + 3;
  uint64_t const cost = ((tile_bytes << bits_shift) + request.frame_grid.value_count - 1) /
                        request.frame_grid.value_count;
  for (int set = 0; set < SZG_PROBE_SETS; set++)
    probes.plain.differences[set] = (szg_probe_cost){.entropy = cost, .floor = cost};
  szg_levels_asked const asked = {&request, &bound, &request.frame_grid};
  szg_levels_decide(&asked, &probes, &choice);
  return choice;
}

/* The same, if interpolation costs nothing. */
static szg_levels_choice decide(szgpu_predictor predictor, uint64_t z, uint64_t y, uint64_t x,
                                uint64_t tile_bytes) {
  return decide_by(predictor, z, y, x, tile_bytes, (szg_probes){.fold = 0});
}

static bool tries(uint64_t z, uint64_t y, uint64_t x, uint64_t tile_bytes) {
  return decide(SZGPU_PREDICTOR_AUTO, z, y, x, tile_bytes).is_chosen;
}

static uint64_t hopes(uint64_t z, uint64_t y, uint64_t x, uint64_t tile_bytes) {
  return decide(SZGPU_PREDICTOR_AUTO, z, y, x, tile_bytes).doubtful_bytes;
}

/* With 150 bytes for heads and books, levels take as much as a tile frame, or as 3/4 of one. */
static void few_values_are_tried_if_levels_may_save_much(void **state) {
  (void)state;
  assert_false(tries(10, 10, 10, 150));
  assert_true(tries(10, 10, 10, 151));
  assert_false(tries(14, 14, 14, 150));
  assert_true(tries(14, 14, 14, 151));
  assert_false(tries(15, 20, 10, 200));
  assert_true(tries(15, 20, 10, 201));
  assert_false(tries(16, 16, 16, 200));
  assert_true(tries(16, 16, 16, 201));
  assert_true(tries(9, 10, 11, 2));  /* fewer */
  assert_true(tries(16, 16, 17, 2)); /* more */
  assert_true(tries(1, 64, 64, 2));  /* two axes */
  assert_true(decide(SZGPU_PREDICTOR_INTERPOLATION, 16, 16, 16, 2).is_chosen);
}

/* The book of a tile frame comes on top of what the sample says. */
static void few_values_are_measured_beyond_what_the_sample_says(void **state) {
  (void)state;
  assert_int_equal(hopes(16, 16, 16, 1000), 1100);
  assert_int_equal(hopes(9, 9, 9, 500), 550);
  assert_int_equal(hopes(16, 16, 17, 1000), 750);
  assert_int_equal(hopes(1, 64, 64, 1000), 750);
  assert_int_equal(hopes(64, 64, 64, 1000), 875);
  assert_true(hopes(64, 64, 65, 1000) == UINT64_MAX);
  assert_true(decide(SZGPU_PREDICTOR_INTERPOLATION, 16, 16, 16, 1000).doubtful_bytes == UINT64_MAX);
}

/* ---- blended predictions ---- */

/* What classes cost at every scale, in bits. */
typedef struct class_costs {
  uint32_t way_number;
  uint64_t one_axis, several_axes, noisy, blended; /* noisy: of classes of several axes */
  int64_t more_if_quintic;                         /* for classes of one axis */
  int64_t more_if_disturbed;                       /* of several, by the way's stencils */
} class_costs;

static szg_levels_choice decide_to_blend(szgpu_predictor predictor, uint64_t z, uint64_t y,
                                         uint64_t tile_bytes, class_costs costs) {
  szg_probes probes = {.plain.way_number = costs.way_number};
  for (uint32_t set = 1; set <= SZG_PROBE_SETS; set++) {
    bool const has_one = szg_probe_axes_in(set) == 1;
    uint64_t const plain = has_one ? costs.one_axis : costs.several_axes;
    uint64_t const noisy = has_one ? costs.one_axis : costs.noisy;
    uint64_t const quintic = costs.one_axis + (uint64_t)costs.more_if_quintic;
    for (uint32_t scale = 0; scale < SZG_PROBE_SCALES; scale++) {
      uint64_t const more = has_one ? 0 : (uint64_t)costs.more_if_disturbed;
      probes.plain.scales[scale][set - 1] = plain << SZG_LOG_FRACTION_BITS;
      probes.plain.disturbed[scale][set - 1] = (plain + more) << SZG_LOG_FRACTION_BITS;
      probes.plain.blended[scale][set - 1] = (has_one ? quintic : costs.blended)
                                             << SZG_LOG_FRACTION_BITS;
    }
    for (uint32_t table = 0; table < SZG_PROBE_TABLES; table++)
      probes.plain.noisy[table][set - 1] = noisy << SZG_LOG_FRACTION_BITS;
  }
  return decide_by(predictor, z, y, 64, tile_bytes, probes);
}

static bool blends(uint64_t z, uint64_t y, class_costs costs) {
  szg_levels_choice const choice =
      decide_to_blend(SZGPU_PREDICTOR_INTERPOLATION, z, y, 5000, costs);
  assert_true(choice.is_chosen);
  return choice.levels.is_blended;
}

static void frames_are_blended_if_that_costs_less(void **state) {
  (void)state;
  for (uint64_t z = 1; z <= 64; z += 63) {
    assert_false(blends(z, 64, (class_costs){.several_axes = 9, .noisy = 9, .blended = 9}));
    assert_true(blends(z, 64, (class_costs){.several_axes = 9, .noisy = 9, .blended = 8}));
    assert_false(blends(z, 64, (class_costs){.several_axes = 9, .noisy = 9, .blended = 10}));
    /* Disturbed points decide. */
    assert_true(blends(
        z, 64,
        (class_costs){.several_axes = 9, .noisy = 9, .blended = 10, .more_if_disturbed = 2}));
    assert_false(blends(
        z, 64,
        (class_costs){.several_axes = 9, .noisy = 9, .blended = 8, .more_if_disturbed = -2}));
    assert_true(blends(z, 64, (class_costs){.several_axes = 9, .noisy = 5, .blended = 8}));
    assert_false(blends(z, 64, (class_costs){.several_axes = 9, .noisy = 15, .blended = 10}));
  }
  assert_false(blends(1, 1, (class_costs){.one_axis = 9, .several_axes = 9, .noisy = 9}));
}

/* The frame's stencils, as listings have them, for a way of each kind of stencil. In frames of two
 * axes two classes have one axis, and one has two; in those of three they are three and four. */
static const char *stencils(uint64_t z, class_costs costs) {
  szg_levels_choice const choice =
      decide_to_blend(SZGPU_PREDICTOR_INTERPOLATION, z, 64, 5000, costs);
  assert_true(choice.is_chosen);
  for (uint32_t axis = 0; axis < 3 && choice.levels.is_blended; axis++)
    assert_int_equal(choice.levels.ranks[axis], 0);
  if (choice.levels.is_quintic) {
    assert_true(choice.levels.is_blended && !choice.levels.is_linear);
    return "blended quintic";
  }
  if (choice.levels.is_linear) return choice.levels.is_blended ? "blended linear" : "linear";
  return choice.levels.is_blended ? "blended cubic" : "cubic";
}

static void the_cheapest_stencils_are_taken(void **state) {
  (void)state;
  static const struct {
    uint64_t z, one_axis, several_axes, blended;
    int64_t more_if_quintic;
    const char *stencils;
  } cases[] = {
      {1, 4, 9, 9, 0, "cubic"}, /* all are equal */
      {64, 4, 9, 9, 0, "cubic"},
      {1, 4, 9, 8, 0, "blended cubic"}, /* Q is B */
      {64, 4, 9, 8, 0, "blended cubic"},
      {1, 4, 9, 8, 1, "blended cubic"},
      {64, 4, 9, 8, 1, "blended cubic"},
      {1, 4, 9, 9, 1, "cubic"},
      {64, 4, 9, 9, 1, "cubic"},
      {1, 4, 9, 9, -1, "blended quintic"}, /* B is A */
      {64, 4, 9, 9, -1, "blended quintic"},
      {1, 4, 9, 8, -1, "blended quintic"}, /* Q < B < A */
      {64, 4, 9, 8, -1, "blended quintic"},
      {1, 4, 9, 10, -1, "blended quintic"}, /* Q < A < B */
      {64, 4, 9, 10, -2, "blended quintic"},
      {1, 4, 9, 11, -1, "cubic"}, /* Q is A, and less than B */
      {64, 5, 9, 12, -4, "cubic"},
      {1, 4, 9, 12, -1, "cubic"}, /* A < Q < B */
      {64, 5, 9, 13, -4, "cubic"},
      {1, 4, 9, 8, -4, "blended quintic"}, /* classes of one axis cost nothing then */
  };
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    class_costs const costs = {.one_axis = cases[i].one_axis,
                               .several_axes = cases[i].several_axes,
                               .noisy = cases[i].several_axes,
                               .blended = cases[i].blended,
                               .more_if_quintic = cases[i].more_if_quintic};
    assert_string_equal(stencils(cases[i].z, costs), cases[i].stencils);
  }
}

/* The ways of two axes: three cubic ones, then three linear ones; of three, 13 and 13, and then
 * those of two of the axes. */
static void linear_ways_are_never_quintic(void **state) {
  (void)state;
  static const struct {
    uint64_t z;
    uint32_t cubic, end_of_cubic, end;
  } views[] = {{1, 0, 3, 6}, {64, 0, 13, 26}, {64, 26, 29, 32}};
  for (size_t i = 0; i < ARRAY_COUNT(views); i++)
    for (uint32_t way = views[i].cubic; way < views[i].end; way++) {
      class_costs costs = {.way_number = way,
                           .one_axis = 8,
                           .several_axes = 9,
                           .noisy = 9,
                           .blended = 50,
                           .more_if_quintic = -8};
      bool const is_linear = way >= views[i].end_of_cubic;
      const char *const plain = is_linear ? "linear" : "cubic";
      assert_string_equal(stencils(views[i].z, costs), plain); /* 50 is too much */
      costs.blended = 8;
      assert_string_equal(stencils(views[i].z, costs),
                          is_linear ? "blended linear" : "blended quintic");
    }
}

/* Way 1 of two axes gives x a rank, and keeps it only if the frame is not blended. A blended class
 * uses y too, so it pays for the ends of tiles along y, where points of one axis cost 64 bits. */
static void blended_frames_have_no_ranks(void **state) {
  (void)state;
  for (uint64_t blended = 6; blended <= 9; blended++) {
    class_costs const costs = {
        .way_number = 1, .one_axis = 64, .several_axes = 10, .noisy = 10, .blended = blended};
    szg_levels_choice const choice =
        decide_to_blend(SZGPU_PREDICTOR_INTERPOLATION, 1, 64, 5000, costs);
    assert_int_equal(choice.levels.is_blended, blended <= 7);
    assert_int_equal(choice.levels.ranks[0], blended > 7);
  }
  assert_true(
      blends(1, 64, (class_costs){.one_axis = 64, .several_axes = 10, .noisy = 10, .blended = 9}));
}

/* One class of several axes, with a third of the values: 12 bits are 4 a value. A tile frame takes
 * 3 bits a value. */
static void what_blending_saves_counts(void **state) {
  (void)state;
  enum { TILE_BYTES = 64 * 64 * 3 / 8 };
  static const struct {
    class_costs costs;
    bool is_chosen;
  } cases[] = {
      {{.several_axes = 12, .noisy = 12, .blended = 12}, false},
      {{.several_axes = 12, .noisy = 12, .blended = 6}, true},
      {{.several_axes = 22, .noisy = 16, .blended = 10}, true},
      {{.several_axes = 12, .noisy = 16, .blended = 10}, false},
      {{.several_axes = 12, .noisy = 2, .blended = 1}, true}, /* not less than nothing */
      {{.several_axes = 12, .noisy = 12, .blended = 12, .more_if_disturbed = 6}, true},
      {{.several_axes = 12, .noisy = 12, .blended = 6, .more_if_disturbed = -6}, false},
      {{.one_axis = 6, .more_if_quintic = 0}, false}, /* two classes: 4 bits a value too */
      {{.one_axis = 6, .more_if_quintic = -1}, false},
      {{.one_axis = 6, .more_if_quintic = -2}, true},
      {{.one_axis = 6, .more_if_quintic = -6}, true},
      {{.one_axis = 6, .several_axes = 4, .noisy = 4, .blended = 3, .more_if_quintic = -1}, false},
      {{.one_axis = 6, .several_axes = 4, .noisy = 4, .blended = 1, .more_if_quintic = -3}, true},
  };
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    assert_int_equal(
        decide_to_blend(SZGPU_PREDICTOR_AUTO, 1, 64, TILE_BYTES, cases[i].costs).is_chosen,
        cases[i].is_chosen);
}

/* ---- fields ---- */

/* EDGES: creases along the axes; CREASES: along none of them. */
typedef enum field_kind { WAVES, EDGES, NOISE, CREASES } field_kind;

static double value_at(field_kind kind, uint64_t i, double z, double y, double x) {
  if (kind == WAVES) return sin(0.13 * x + 0.4) * sin(0.17 * y + 0.7) * cos(0.11 * z);
  if (kind == EDGES) return fabs(sin(0.13 * x) * sin(0.17 * y) * sin(0.11 * z + 1));
  if (kind == NOISE) return (double)(test_hash(i) >> 11) * 0x1p-53;
  return fabs(sin(0.21 * x + 0.5 * y + 0.3 * z));
}

/* The bytes of the archive. stencil: of its frame. */
static size_t compress(const szgpu_shape *shape, field_kind kind, double bound, char stencil[24]) {
  uint64_t const count = test_value_count(shape), x_extent = shape->dims[shape->ndim - 1];
  uint64_t const y_extent = shape->dims[shape->ndim - 2];
  float *const field = test_allocate(test_field_bytes(shape));
  for (uint64_t i = 0; i < count; i++)
    field[i] = (float)value_at(kind, i, (double)(i / x_extent / y_extent),
                               (double)(i / x_extent % y_extent), (double)(i % x_extent));
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_REL;
  params.bound = bound;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  test_archive const archive = test_compress(ctx, &params, shape, field);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_string_equal(frame.kind, "levels");
  snprintf(stencil, 24, "%s", frame.stencil);
  free(archive.bytes);
  free(field);
  return archive.byte_count;
}

static const szgpu_shape box = {SZGPU_F32, 3, {48, 48, 48}}, plane = {SZGPU_F32, 2, {300, 200}};

/* Each takes more bytes than given here if it is not blended: 16672, 16112, 43744, 39088; and so do
 * waves that are blended, but cubic: 17472, 16896. */
static void smooth_fields_are_blended(void **state) {
  (void)state;
  static const struct {
    const szgpu_shape *shape;
    field_kind kind;
    size_t most_bytes;
    const char *stencil;
  } cases[] = {{&box, WAVES, 15000, "blended quintic"},
               {&plane, WAVES, 13000, "blended quintic"},
               {&box, EDGES, 42000, "blended cubic"},
               {&plane, EDGES, 38000, "blended cubic"}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    char stencil[24];
    size_t const bytes = compress(cases[i].shape, cases[i].kind, 1e-4, stencil);
    assert_string_equal(stencil, cases[i].stencil);
    assert_in_range(bytes, 1, cases[i].most_bytes);
  }
}

static void noise_and_creases_are_not_blended(void **state) {
  (void)state;
  static const szgpu_shape *const shapes[] = {&box, &plane};
  for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
    for (double bound = 1e-4; bound < 0.02; bound *= 10) {
      char stencil[24];
      (void)compress(shapes[i], NOISE, bound, stencil);
      assert_string_equal(stencil, "linear");
      (void)compress(shapes[i], CREASES, bound, stencil);
      assert_true(strcmp(stencil, "linear") == 0 || strcmp(stencil, "cubic") == 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_values_are_tried_if_levels_may_save_much),
      cmocka_unit_test(few_values_are_measured_beyond_what_the_sample_says),
      cmocka_unit_test(frames_are_blended_if_that_costs_less),
      cmocka_unit_test(the_cheapest_stencils_are_taken),
      cmocka_unit_test(linear_ways_are_never_quintic),
      cmocka_unit_test(blended_frames_have_no_ranks),
      cmocka_unit_test(what_blending_saves_counts),
      cmocka_unit_test(smooth_fields_are_blended),
      cmocka_unit_test(noise_and_creases_are_not_blended),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
