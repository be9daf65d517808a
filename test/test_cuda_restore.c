/* test_cuda_restore.c - the GPU restores archives from elsewhere: golden ones, slabs of any frame.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"

/* ---- golden archives ---- */

/* Programs built on another machine find the files by SZGPU_SOURCE_DIR in the environment. */
static test_archive read_golden(const char *name, const char *suffix) {
  const char *const moved = getenv("SZGPU_SOURCE_DIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/test/golden/%s%s", moved ? moved : SZGPU_SOURCE_DIR, name,
           suffix);
  FILE *const file = fopen(path, "rb");
  if (!file) fail_msg("%s cannot be read", path);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long const bytes = ftell(file);
  assert_true(bytes >= 0 && fseek(file, 0, SEEK_SET) == 0);
  test_archive const contents = {test_allocate((size_t)bytes), (size_t)bytes};
  assert_int_equal(fread(contents.bytes, 1, contents.byte_count, file), contents.byte_count);
  fclose(file);
  return contents;
}

static void restores(int number, const char *name) {
  test_archive archive = read_golden(name, ".szg"), raw = read_golden(name, ".raw");
  szgpu_ctx *const gpu = cuda_gpus[number];
  szgpu_status const expected = cuda_reads_archive(number, &archive) ? SZGPU_OK : SZGPU_UNSUPPORTED;
  szgpu_info const info = test_inspect(&archive);
  size_t const field_bytes = test_field_bytes(&info.shape); /* 1 for an empty file */
  assert_in_range(raw.byte_count, 0, field_bytes);
  uint8_t *const restored = test_allocate(field_bytes);
  memset(restored, 0xA5, field_bytes);
  szgpu_status const status =
      szgpu_decompress(gpu, archive.bytes, archive.byte_count, restored, field_bytes);
  if (status != expected)
    cuda_complain(NULL, "%s: %s; %s", name, szgpu_status_text(status), szgpu_last_error(gpu));
  else if (status == SZGPU_OK && memcmp(restored, raw.bytes, raw.byte_count) != 0)
    cuda_complain(NULL, "%s is restored to other values", name);
  free(restored);
  free(raw.bytes);
  free(archive.bytes);
}

static void golden_archives_are_restored_by_every_decoder(void **state) {
  (void)state;
  test_archive list = read_golden("sizes", ".csv");
  char *const lines = test_allocate(list.byte_count + 1);
  memcpy(lines, list.bytes, list.byte_count);
  lines[list.byte_count] = '\0';
  int restored = 0;
  for (char *line = strchr(lines, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
    char name[100] = "";
    assert_int_equal(sscanf(line + 1, "%99[^,]", name), 1);
    for (int i = 0; i < cuda_gpu_count; i++) restores(i, name);
    restored++;
  }
  assert_in_range(restored, 20, 1000);
  free(lines);
  free(list.bytes);
  cuda_assert_no_complaints();
}

/* ---- slabs ---- */

/* Rows first .. first + count - 1 must equal the whole field's; the guards must not change. */
static void compare_slab(const cuda_case *c, const test_archive *archive, const uint8_t *whole,
                         uint64_t first, uint64_t count) {
  enum { GUARD = 64 };
  size_t const row_bytes = test_field_bytes(&c->shape) / c->shape.dims[0];
  size_t const bytes = count * row_bytes;
  uint8_t *const expected = test_allocate(bytes + 2 * GUARD);
  memset(expected, 0xA5, bytes + 2 * GUARD);
  for (int gpu = 0; gpu < cuda_gpu_count && cuda_reads(gpu, c->params.layout); gpu++)
    for (int is_device = 0; is_device < 2; is_device++) {
      uint8_t *slab = test_allocate(bytes + 2 * GUARD);
      memcpy(slab, expected, bytes + 2 * GUARD);
      uint8_t *const device = is_device ? cuda_copy_of(slab, bytes + 2 * GUARD) : NULL;
      szgpu_status const status =
          szgpu_decompress_slab(cuda_gpus[gpu], archive->bytes, archive->byte_count, first, count,
                                (is_device ? device : slab) + GUARD, bytes);
      if (is_device) {
        free(slab);
        slab = cuda_host_copy_of(device, bytes + 2 * GUARD);
        cuda_release(device);
      }
      char const *const where = is_device ? "device" : "host";
      if (status != SZGPU_OK)
        cuda_complain(c, "rows %llu + %llu into %s memory: %s; %s", (unsigned long long)first,
                      (unsigned long long)count, where, szgpu_status_text(status),
                      szgpu_last_error(cuda_gpus[gpu]));
      else if (memcmp(slab + GUARD, whole + first * row_bytes, bytes) != 0)
        cuda_complain(c, "rows %llu + %llu into %s memory differ", (unsigned long long)first,
                      (unsigned long long)count, where);
      if (memcmp(slab, expected, GUARD) != 0 ||
          memcmp(slab + GUARD + bytes, expected + GUARD + bytes, GUARD) != 0)
        cuda_complain(c, "rows %llu + %llu: values around them were written",
                      (unsigned long long)first, (unsigned long long)count);
      free(slab);
    }
  free(expected);
}

/* Slabs at every seam of tiles and frames, and some random ones. */
static void compare_slabs(const cuda_case *c, test_random *random) {
  uint64_t const rows = c->shape.dims[0];
  test_archive archive = test_compress(cuda_cpu, &c->params, &c->shape, c->field);
  uint8_t *const whole = test_decompress(cuda_cpu, &archive, test_field_bytes(&c->shape));
  uint64_t const quantum = test_inspect(&archive).frame_rows;
  uint64_t const most_seams = cuda_is_quick() ? 1 : 8;
  compare_slab(c, &archive, whole, 0, rows);
  compare_slab(c, &archive, whole, rows - 1, 1);
  for (uint64_t seam = quantum; seam < rows && seam <= most_seams * quantum; seam += quantum) {
    compare_slab(c, &archive, whole, seam - 1, 2);
    compare_slab(c, &archive, whole, seam, 1);
    compare_slab(c, &archive, whole, 0, seam);
  }
  for (int i = 0; i < (cuda_is_quick() ? 2 : 12); i++) {
    uint64_t const first = test_random_below(random, rows);
    compare_slab(c, &archive, whole, first, 1 + test_random_below(random, rows - first));
  }
  free(whole);
  free(archive.bytes);
}

static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {20001}},        {SZGPU_F64, 1, {4097}},
                                     {SZGPU_F32, 2, {200, 33}},      {SZGPU_F64, 2, {129, 65}},
                                     {SZGPU_F32, 3, {50, 9, 33}},    {SZGPU_F64, 3, {33, 1, 70}},
                                     {SZGPU_F32, 3, {33, 70, 1}},    {SZGPU_F32, 4, {5, 17, 9, 9}},
                                     {SZGPU_F64, 4, {3, 1, 40, 50}}, {SZGPU_F32, 4, {40, 3, 1, 50}},
                                     {SZGPU_F32, 4, {1, 4, 5, 6}},   {SZGPU_F32, 3, {1, 100, 90}},
                                     {SZGPU_F32, 2, {1, 5000}},      {SZGPU_F32, 1, {1}}};

/* Frames of one quantum, of several, and of all rows. */
static const uint64_t frame_rows[] = {1, 33, 130, 5000, 0};

typedef void (*field_change)(const szgpu_shape *shape, void *field, szgpu_params *params);

static void for_all_shapes_and_frames(field_change change) {
  test_random random = test_random_begin();
  size_t const step = cuda_is_quick() ? 9 : 1;
  size_t const ways = 3, combinations = ARRAY_COUNT(shapes) * ARRAY_COUNT(frame_rows);
  for (size_t n = 0; n < ways * combinations; n += step) { /* tile, linear, levels frames */
    size_t const i = n % combinations, f = i % ARRAY_COUNT(frame_rows), way = n / combinations;
    szgpu_shape const shape = shapes[i / ARRAY_COUNT(frame_rows)];
    szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
    params.layout = way == 1 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
    params.predictor = way == 2 ? SZGPU_PREDICTOR_INTERPOLATION : SZGPU_PREDICTOR_LORENZO;
    params.frame_rows = frame_rows[f];
    params.zstd_level = f == 1 ? 1 : 0;
    void *const field = test_make_waves(&shape);
    change(&shape, field, &params);
    cuda_case const c = {params, shape, field};
    compare_slabs(&c, &random);
    free(field);
  }
  cuda_assert_no_complaints();
}

static void as_it_is(const szgpu_shape *shape, void *field, szgpu_params *params) {
  (void)shape, (void)field, (void)params;
}

static void with_outliers(const szgpu_shape *shape, void *field, szgpu_params *params) {
  params->has_fill = 1;
  params->fill = -9999.0;
  if (params->layout == SZGPU_LAYOUT_LINEAR) params->radius = 16; /* escapes */
  for (uint64_t i = 0; i < test_value_count(shape); i++) {
    if (test_hash(i) % 50 == 0) test_set_value(shape->dtype, field, i, -9999.0);
    if (test_hash(i) % 97 == 0) test_set_value(shape->dtype, field, i, (double)NAN);
    if (test_hash(i) % 201 == 0) test_set_value(shape->dtype, field, i, 300.0);
  }
}

static void of_noise(const szgpu_shape *shape, void *field, szgpu_params *params) {
  params->mode = SZGPU_MODE_ABS;
  params->bound = shape->dtype == SZGPU_F32 ? 1e-40 : 1e-300;
  void *const bits = test_make_bits(shape);
  memcpy(field, bits, test_field_bytes(shape));
  free(bits);
}

static void of_one_value_but_some(const szgpu_shape *shape, void *field, szgpu_params *params) {
  (void)params;
  for (uint64_t i = 0; i < test_value_count(shape); i++)
    test_set_value(shape->dtype, field, i, test_hash(i) % 97 ? -2.5 : i % 2 ? 1e20 : INFINITY);
}

static void slabs_of_coded_frames(void **state) {
  (void)state;
  for_all_shapes_and_frames(as_it_is);
}

static void slabs_of_frames_with_outliers(void **state) {
  (void)state;
  for_all_shapes_and_frames(with_outliers);
}

static void slabs_of_raw_frames(void **state) {
  (void)state;
  for_all_shapes_and_frames(of_noise);
}

static void slabs_of_constant_frames(void **state) {
  (void)state;
  for_all_shapes_and_frames(of_one_value_but_some);
}

/* A slab needs only its own frames: damage elsewhere does not matter. */
static void damage_in_another_frame_does_not_matter(void **state) {
  (void)state;
  for (int layout = SZGPU_LAYOUT_LINEAR; layout <= SZGPU_LAYOUT_TILE; layout++) {
    szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
    params.frame_rows = 64;
    params.layout = (szgpu_layout)layout;
    szgpu_shape const shape = test_shape(SZGPU_F32, 2, 128, 50, 0, 0);
    void *const field = test_make_waves(&shape);
    cuda_case const c = {params, shape, field};
    test_archive archive = test_compress(cuda_cpu, &params, &shape, field);
    uint8_t *const whole = test_decompress(cuda_cpu, &archive, test_field_bytes(&shape));
    archive.bytes[archive.byte_count - 20] ^= 4;
    compare_slab(&c, &archive, whole, 10, 54);
    for (int i = 0; i < cuda_gpu_count && cuda_reads(i, params.layout); i++)
      assert_int_equal(szgpu_decompress_slab(cuda_gpus[i], archive.bytes, archive.byte_count, 64, 1,
                                             whole, 50 * sizeof(float)),
                       SZGPU_BAD_CHECKSUM);
    free(whole);
    free(archive.bytes);
    free(field);
  }
  cuda_assert_no_complaints();
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_archives_are_restored_by_every_decoder),
      cmocka_unit_test(slabs_of_coded_frames),
      cmocka_unit_test(slabs_of_frames_with_outliers),
      cmocka_unit_test(slabs_of_raw_frames),
      cmocka_unit_test(slabs_of_constant_frames),
      cmocka_unit_test(damage_in_another_frame_does_not_matter),
  };
  return cmocka_run_group_tests(tests, cuda_make_ctxs, cuda_destroy_ctxs);
}
