/* test_region.c - szgpu_decompress_region: boxes equal the slices of the whole, for every kind of
 * frame.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE /* mmap, sigaction */

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "regions.h"

static szgpu_ctx *ctxs[4]; /* of one thread, of several, and of other decoders */

static int make_ctxs(void **state) {
  (void)state;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.decoder = SZGPU_DECODER_SELF_SYNC;
  options.threads = 1;
  ctxs[0] = test_make_ctx(1);
  ctxs[1] = test_make_ctx(3);
  ctxs[2] = test_make_serial_ctx();
  assert_int_equal(szgpu_create(&ctxs[3], &options), SZGPU_OK);
  return 0;
}

static int destroy_ctxs(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(ctxs); i++) szgpu_destroy(ctxs[i]);
  return 0;
}

/* ---- boxes ---- */

/* Restores a box of the level and compares it; the bytes around it must not change. */
static void assert_region(szgpu_ctx *ctx, const test_archive *archive, int level,
                          const szgpu_shape *shape, const uint8_t *whole,
                          const szgpu_region *region) {
  enum { GUARD = 16 };
  size_t const bytes = region_bytes(shape, region);
  uint8_t *const expected = region_slice(shape, region, whole);
  uint8_t *const box = test_allocate(bytes + 2 * GUARD);
  uint8_t guard[GUARD];
  memset(guard, 0xA5, GUARD);
  memset(box, 0xA5, bytes + 2 * GUARD);
  szgpu_status const status = szgpu_decompress_region(ctx, archive->bytes, archive->byte_count,
                                                      level, region, box + GUARD, bytes);
  if (status != SZGPU_OK) fail_msg("%s (%s)", szgpu_status_text(status), szgpu_last_error(ctx));
  assert_memory_equal(box + GUARD, expected, bytes);
  assert_memory_equal(box, guard, GUARD);
  assert_memory_equal(box + GUARD + bytes, guard, GUARD);
  free(box);
  free(expected);
}

enum { BOXES = 12 }; /* of each level of an archive */

/* Boxes of all levels that the archive has; returns how many boxes. */
static int assert_regions(const test_archive *archive, test_random *random) {
  szgpu_info const info = test_inspect(archive);
  int count = 0;
  for (int level = 0; level <= SZGPU_MAX_LEVEL; level++) {
    szgpu_shape shape;
    assert_int_equal(szgpu_level_shape(&info, level, &shape), SZGPU_OK);
    size_t const bytes = test_field_bytes(&shape);
    uint8_t *const whole = test_allocate(bytes);
    szgpu_status const status =
        szgpu_decompress_level(ctxs[0], archive->bytes, archive->byte_count, level, whole, bytes);
    for (int i = 0; i < BOXES && status == SZGPU_OK; i++, count++) {
      szgpu_region const region = region_random(random, &shape);
      szgpu_ctx *ctx = ctxs[test_random_below(random, ARRAY_COUNT(ctxs))];
      if (szgpu_decoder_refusal(SZGPU_DECODER_SELF_SYNC, &info)) ctx = ctxs[i % 2];
      assert_region(ctx, archive, level, &shape, whole, &region);
    }
    if (status != SZGPU_OK) assert_int_equal(status, SZGPU_BAD_ARGUMENT);
    free(whole);
  }
  return count;
}

/* ---- all kinds of frame ---- */

static void boxes_equal_slices(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int seen[REGION_KINDS] = {0}, count = 0;
  for (size_t s = 0; s < REGION_SHAPES; s++)
    for (int kind = 0; kind < REGION_KINDS; kind++)
      for (int is_cut = 0; is_cut <= 1; is_cut++) {
        szgpu_shape const shape = region_shape(kind, s, is_cut);
        int const zstd_level = (s + (size_t)kind + (size_t)is_cut) % 3 == 0 ? 3 : 0;
        test_archive archive = region_archive(ctxs[0], kind, &shape, is_cut ? 17 : 0, zstd_level);
        seen[kind] += region_has_kind(&archive, kind);
        count += assert_regions(&archive, &random);
        free(archive.bytes);
      }
  print_message("           %d boxes\n", count);
  assert_true(count >= 3000);
  /* Of some shapes another kind is smaller. */
  for (int kind = 0; kind < REGION_KINDS; kind++)
    if (seen[kind] < 8) fail_msg("%s: seen %d times", region_kind_name(kind), seen[kind]);
}

/* Tiles of all stages that have others on every side, along two and three axes. */
static void boxes_of_quintic_frames_equal_slices(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_F32, 3, {70, 66, 130}},
                                       {SZGPU_F64, 3, {35, 130, 67}},
                                       {SZGPU_F32, 3, {150, 20, 40}},
                                       {SZGPU_F32, 2, {300, 257}},
                                       {SZGPU_F64, 2, {195, 260}}};
  test_random random = test_random_begin();
  for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
    test_archive const archive =
        region_archive(ctxs[0], REGION_LEVELS_QUINTIC, &shapes[i], i % 2 ? 64 : 0, 0);
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_true(region_has_kind(&archive, REGION_LEVELS_QUINTIC));
    assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame),
                     SZGPU_OK);
    assert_int_equal(frame.interpolated_axes, shapes[i].ndim);
    for (int round = 0; round < 4; round++)
      assert_in_range(assert_regions(&archive, &random), 4 * BOXES, 7 * BOXES);
    free(archive.bytes);
  }
}

/* The encoder makes a line whose values repeat rows; its boxes are stretches of it. */
static void lines_that_are_folded(void **state) {
  (void)state;
  enum { ROW = 400, ROWS = 300 };
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, ROWS * ROW, 0, 0, 0);
  float *const field = test_make_folded(ROWS, ROW);
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.01);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  test_archive archive = test_compress(ctxs[0], &params, &shape, field);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  assert_true(frame.fold > 1);
  assert_int_equal(assert_regions(&archive, &random), BOXES);
  free(archive.bytes);
  free(field);
}

/* ---- how much of the archive is read ---- */

enum { MOST_PAGES = 1 << 14 };
static uint8_t *guarded; /* pages that nobody may read yet */
static size_t guarded_bytes, page_bytes;
static volatile sig_atomic_t pages_read;

static void open_page(int number, siginfo_t *info, void *context) {
  (void)context;
  uint8_t *const at = info->si_addr;
  if (at < guarded || at >= guarded + guarded_bytes) {
    signal(number, SIG_DFL);
    return;
  }
  pages_read++;
  mprotect(guarded + (size_t)(at - guarded) / page_bytes * page_bytes, page_bytes, PROT_READ);
}

/* Reads a box of 16^3 values and returns the share of the archive's pages that it read. */
static double share_read(const test_archive *archive, int level) {
  szgpu_region const region = {{30, 61, 100}, {16, 16, 16}};
  static float box[16 * 16 * 16];
  struct sigaction action = {.sa_flags = SA_SIGINFO}, before;
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  guarded_bytes = (archive->byte_count + page_bytes - 1) / page_bytes * page_bytes;
  guarded = mmap(NULL, guarded_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(guarded, MAP_FAILED);
  memcpy(guarded, archive->bytes, archive->byte_count);
  action.sa_sigaction = open_page;
  pages_read = 0;
  assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
  assert_int_equal(mprotect(guarded, guarded_bytes, PROT_NONE), 0);
  szgpu_status const status = szgpu_decompress_region(ctxs[0], guarded, archive->byte_count, level,
                                                      &region, box, sizeof box);
  assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
  assert_int_equal(munmap(guarded, guarded_bytes), 0);
  assert_int_equal(status, SZGPU_OK);
  return (double)pages_read * (double)page_bytes / (double)guarded_bytes;
}

static void a_small_box_reads_little(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 128, 160, 192, 0);
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    if (kind == REGION_CONSTANT) continue; /* a header and a few exact values */
    szgpu_shape typed = shape;
    test_archive archive = region_archive(ctxs[0], kind, &typed, 0, 0);
    double const share = share_read(&archive, 0);
    print_message("           %-22s %8zu bytes, %.2f %%\n", region_kind_name(kind),
                  archive.byte_count, 100 * share);
    assert_true(share < 0.15); /* of levels it is more, and does not grow with the field */
    free(archive.bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes_equal_slices),
      cmocka_unit_test(boxes_of_quintic_frames_equal_slices),
      cmocka_unit_test(lines_that_are_folded),
      cmocka_unit_test(a_small_box_reads_little),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
