/* test_cuda_region.c - szgpu_decompress_region on the GPU: boxes equal the slices of the whole, for
 * every kind of frame and from and to either memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "cuda_support.h"
#include "regions.h"

enum { GUARD = 64 };

/* An archive in both memories, and what it restores to. */
typedef struct both_archives {
  test_archive host;
  uint8_t *device;
  szgpu_shape shape;
  uint8_t *whole;
  int kind;
} both_archives;

static both_archives make_both(int kind, const szgpu_shape *shape, uint64_t frame_rows,
                               int zstd_level) {
  both_archives both = {region_archive(cuda_cpu, kind, shape, frame_rows, zstd_level), NULL, *shape,
                        NULL, kind};
  both.device = cuda_copy_of(both.host.bytes, both.host.byte_count);
  both.whole = test_decompress(cuda_cpu, &both.host, test_field_bytes(shape));
  return both;
}

static void free_both(both_archives *both) {
  free(both->host.bytes);
  free(both->whole);
  cuda_release(both->device);
}

static void complain_of_box(const both_archives *both, const szgpu_region *region,
                            const char *what) {
  const szgpu_region *const r = region;
  char box[200];
  size_t used = 0;
  for (int axis = 0; axis < both->shape.ndim; axis++)
    used += (size_t)snprintf(box + used, sizeof box - used, " %llu + %llu of %llu",
                             (unsigned long long)r->first[axis], (unsigned long long)r->count[axis],
                             (unsigned long long)both->shape.dims[axis]);
  cuda_complain(NULL, "%s, box%s: %s", region_kind_name(both->kind), box, what);
}

/* Restores a box and compares it; the bytes around it must not change. */
static void compare_box(szgpu_ctx *ctx, const both_archives *both, const szgpu_region *region,
                        bool from_device, bool to_device) {
  size_t const bytes = region_bytes(&both->shape, region);
  uint8_t *const expected = region_slice(&both->shape, region, both->whole);
  uint8_t *found = test_allocate(bytes + 2 * GUARD), guard[GUARD];
  memset(found, 0xA5, bytes + 2 * GUARD);
  memset(guard, 0xA5, GUARD);
  uint8_t *const device = to_device ? cuda_copy_of(found, bytes + 2 * GUARD) : NULL;
  szgpu_status const status = szgpu_decompress_region(
      ctx, from_device ? both->device : both->host.bytes, both->host.byte_count, 0, region,
      (to_device ? device : found) + GUARD, bytes);
  if (to_device) {
    free(found);
    found = cuda_host_copy_of(device, bytes + 2 * GUARD);
    cuda_release(device);
  }
  if (status != SZGPU_OK)
    complain_of_box(both, region,
                    szgpu_last_error(ctx)[0] ? szgpu_last_error(ctx) : szgpu_status_text(status));
  else if (memcmp(found + GUARD, expected, bytes) != 0)
    complain_of_box(both, region, "other values");
  if (memcmp(found, guard, GUARD) != 0 || memcmp(found + GUARD + bytes, guard, GUARD) != 0)
    complain_of_box(both, region, "bytes around it were written");
  free(found);
  free(expected);
}

/* ---- all kinds of frame ---- */

static int compare_boxes(const both_archives *both, test_random *random) {
  int const count = cuda_is_quick() ? 2 : 10;
  for (int i = 0; i < count; i++) {
    szgpu_region const region = region_random(random, &both->shape);
    szgpu_ctx *const ctx = cuda_is_quick()
                               ? cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, NULL)
                               : cuda_gpus[0];
    compare_box(ctx, both, &region, i % 4 != 3, i % 2 == 0);
    if (cuda_is_quick()) szgpu_destroy(ctx);
  }
  return count;
}

static void boxes_equal_slices(void **state) {
  (void)state;
  test_random random = test_random_begin();
  int seen[REGION_KINDS] = {0}, count = 0;
  for (size_t s = 0; s < REGION_SHAPES; s++)
    for (int kind = 0; kind < REGION_KINDS; kind++)
      for (int is_cut = 0; is_cut <= 1; is_cut++) {
        szgpu_shape const shape = region_shape(kind, s, is_cut);
        int const zstd_level = (s + (size_t)kind + (size_t)is_cut) % 5 == 0 ? 3 : 0;
        both_archives both = make_both(kind, &shape, is_cut ? 17 : 0, zstd_level);
        seen[kind] += region_has_kind(&both.host, kind);
        count += compare_boxes(&both, &random);
        free_both(&both);
      }
  print_message("           %d boxes\n", count);
  assert_true(count >= (cuda_is_quick() ? 400 : 2000));
  for (int kind = 0; kind < REGION_KINDS; kind++)
    if (seen[kind] < 8) fail_msg("%s: seen %d times", region_kind_name(kind), seen[kind]);
  cuda_assert_no_complaints();
}

/* Many tiles along every axis, so that a box has inner tiles of all stages. */
static void boxes_of_a_larger_field(void **state) {
  (void)state;
  static const int kinds[] = {REGION_TILE, REGION_LEVELS, REGION_LEVELS_SPOILT, REGION_PLANES};
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 150, 140, 270, 0);
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
    both_archives both = make_both(kinds[k], &shape, k % 2 ? 64 : 0, 0);
    for (int i = 0; i < (cuda_is_quick() ? 4 : 100); i++) {
      szgpu_region region = {{0}, {16, 16, 16}};
      for (int axis = 0; axis < 3; axis++)
        region.first[axis] = test_random_below(&random, shape.dims[axis] - 15);
      if (i % 4 == 3) region = region_random(&random, &shape);
      compare_box(cuda_gpus[0], &both, &region, true, true);
    }
    free_both(&both);
  }
  cuda_assert_no_complaints();
}

/* A frame that the encoder folds has no boxes of the line. */
static void lines_that_are_folded(void **state) {
  (void)state;
  enum { ROW = 400, ROWS = 300 };
  test_random random = test_random_begin();
  szgpu_params params = test_params(SZGPU_MODE_ABS, 0.01);
  params.layout = SZGPU_LAYOUT_TILE;
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  both_archives both = {.shape = test_shape(SZGPU_F32, 1, ROWS * ROW, 0, 0, 0),
                        .kind = REGION_LEVELS};
  float *const field = test_make_folded(ROWS, ROW);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  both.host = test_compress(cuda_cpu, &params, &both.shape, field);
  both.device = cuda_copy_of(both.host.bytes, both.host.byte_count);
  both.whole = test_decompress(cuda_cpu, &both.host, test_field_bytes(&both.shape));
  assert_int_equal(szgpu_inspect_frames(both.host.bytes, both.host.byte_count, 0, 1, &frame),
                   SZGPU_OK);
  assert_true(frame.fold > 1);
  compare_boxes(&both, &random);
  free_both(&both);
  free(field);
  cuda_assert_no_complaints();
}

/* ---- what it takes ---- */

/* If the archive were copied, or the whole field restored, the limit would be exceeded. */
static void small_boxes_take_no_copy_of_the_archive(void **state) {
  (void)state;
  static const int kinds[] = {REGION_TILE, REGION_PLANES, REGION_RAW};
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 128, 160, 192, 0);
  szgpu_region const region = {{30, 61, 100}, {16, 16, 16}};
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
    both_archives both = make_both(kinds[k], &shape, 0, 0);
    szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, NULL);
    assert_int_equal(szgpu_set_memory_limit(ctx, both.host.byte_count), SZGPU_OK);
    compare_box(ctx, &both, &region, true, true);
    szgpu_destroy(ctx);
    free_both(&both);
  }
  cuda_assert_no_complaints();
}

/* ---- damage ---- */

/* Whatever is changed, the call ends with a status that says so or with values. */
static void damage_is_survived(void **state) {
  (void)state;
  cuda_skip_damage();
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 50, 90, 0);
  int refused = 0;
  for (int kind = 0; kind < REGION_KINDS; kind++) {
    test_archive archive = region_archive(cuda_cpu, kind, &shape, 0, 0);
    uint8_t *const box = cuda_allocate(test_field_bytes(&shape));
    for (int i = 0; i < (cuda_is_quick() ? 10 : 200); i++) {
      uint64_t const at = test_random_below(&random, archive.byte_count);
      uint8_t const before = archive.bytes[at];
      szgpu_region const region = region_random(&random, &shape);
      archive.bytes[at] ^= (uint8_t)(1 + test_random_below(&random, 255));
      uint8_t *const device = cuda_copy_of(archive.bytes, archive.byte_count);
      szgpu_status const status = szgpu_decompress_region(
          cuda_gpus[0], device, archive.byte_count, 0, &region, box, region_bytes(&shape, &region));
      if (status == SZGPU_DEVICE_ERROR || status == SZGPU_OUT_OF_MEMORY)
        cuda_complain(NULL, "%s, byte %llu changed: %s", region_kind_name(kind),
                      (unsigned long long)at, szgpu_status_text(status));
      refused += status != SZGPU_OK;
      archive.bytes[at] = before;
      cuda_release(device);
    }
    cuda_release(box);
    free(archive.bytes);
  }
  assert_true(refused > 0);
  cuda_assert_no_complaints();
}

/* Lists of tiles are checked as a whole, wherever the box is. */
static void side_data_are_checked(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 40, 50, 90, 0);
  szgpu_region const region = {{3, 5, 7}, {6, 7, 8}};
  test_archive archive = archive_plain(region_archive(cuda_cpu, REGION_TILE, &shape, 0, 0));
  static float box[6 * 7 * 8];
  enum { CODEBOOK_AT = 144 + 40 + 8 * 32 + 8 + 8 }; /* in the codebook of the only frame */
  archive.bytes[CODEBOOK_AT] ^= 1;
  uint8_t *const device = cuda_copy_of(archive.bytes, archive.byte_count);
  assert_int_equal(szgpu_decompress_region(cuda_gpus[0], device, archive.byte_count, 0, &region,
                                           box, sizeof box),
                   SZGPU_BAD_CHECKSUM);
  assert_non_null(strstr(szgpu_last_error(cuda_gpus[0]), "codebook"));
  cuda_release(device);
  free(archive.bytes);
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes_equal_slices),
      cmocka_unit_test(boxes_of_a_larger_field),
      cmocka_unit_test(lines_that_are_folded),
      cmocka_unit_test(small_boxes_take_no_copy_of_the_archive),
      cmocka_unit_test(damage_is_survived),
      cmocka_unit_test(side_data_are_checked),
  };
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
