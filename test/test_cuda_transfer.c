/* test_cuda_transfer.c - fields and archives in host memory go to the GPU and back in pieces.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In pinned memory a slice is 32 MiB of values. From ordinary memory several threads copy pieces of
 * 2 MiB. Both must give the same result as one transfer.
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "container/format.h"
#include "cuda_support.h"

/* ---- fields of several slices ---- */

typedef enum field_kind { WAVES, SPECIALS, BITS, CONSTANT } field_kind;

/* Infinities and fill values; those in the last slice differ from those in the first. */
static void set_specials(const szgpu_shape *shape, void *field) {
  uint64_t const count = test_value_count(shape);
  for (uint64_t i = 0; i < count; i += 1 + test_hash(i) % 900)
    test_set_value(shape->dtype, field, i, i < count / 2 ? 1e20 : INFINITY);
  test_set_value(shape->dtype, field, count - 1, -3000.0); /* the least value */
}

static void *make_field(const szgpu_shape *shape, field_kind kind) {
  void *const field = kind == BITS ? test_make_bits(shape) : test_make_waves(shape);
  for (uint64_t i = 0; kind == CONSTANT && i < test_value_count(shape); i++)
    test_set_value(shape->dtype, field, i, 2.5);
  if (kind == SPECIALS || kind == CONSTANT) set_specials(shape, field);
  return field;
}

static uint8_t *pin(size_t bytes) {
  void *pinned = NULL;
  assert_int_equal(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault), cudaSuccess);
  memset(pinned, 0xA5, bytes);
  return pinned;
}

/* Archive and restored field must be the CPU's, with every decoder. */
static void compare_pinned(const cuda_case *c) {
  size_t const bytes = test_field_bytes(&c->shape);
  test_archive expected = test_compress(cuda_cpu, &c->params, &c->shape, c->field);
  void *const restored = test_decompress(cuda_cpu, &expected, bytes);
  uint8_t *const field = pin(bytes);
  test_archive found = {pin(expected.byte_count), 0};
  memcpy(field, c->field, bytes);
  szgpu_status status = szgpu_compress(cuda_gpus[0], &c->params, &c->shape, field, found.bytes,
                                       expected.byte_count, &found.byte_count);
  const char *const difference = status ? NULL : cuda_difference(&expected, &found);
  if (status || difference)
    cuda_complain(c, "compressed: %s; %s", szgpu_status_text(status), difference ? difference : "");
  memcpy(found.bytes, expected.bytes, expected.byte_count);
  for (int i = 0; i < cuda_gpu_count; i++) {
    if (!cuda_reads_archive(i, &expected)) continue;
    memset(field, 0xA5, bytes);
    status = szgpu_decompress(cuda_gpus[i], found.bytes, expected.byte_count, field, bytes);
    if (status || memcmp(field, restored, bytes) != 0)
      cuda_complain(c, "GPU ctx %d restores otherwise: %s", i, szgpu_status_text(status));
  }
  cudaFreeHost(found.bytes);
  cudaFreeHost(field);
  free(restored);
  free(expected.bytes);
}

static void compare(szgpu_shape shape, field_kind kind, uint64_t frame_rows) {
  void *const field = make_field(&shape, kind);
  cuda_case c = {test_params(SZGPU_MODE_ABS, 0.05), shape, field};
  c.params.frame_rows = frame_rows;
  if (kind == WAVES) c.params.mode = SZGPU_MODE_REL, c.params.bound = 1e-3;
  c.params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  compare_pinned(&c);
  c.params.predictor = SZGPU_PREDICTOR_LORENZO;
  for (int layout = 0; layout < (cuda_is_quick() ? 1 : 2); layout++) {
    c.params.layout = layout ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
    compare_pinned(&c);
  }
  free(field);
}

static void slices_give_the_cpus_bytes(void **state) {
  (void)state;
  compare(test_shape(SZGPU_F32, 3, 203, 210, 310, 0), SPECIALS, 0);
  if (!cuda_is_quick()) {
    compare(test_shape(SZGPU_F32, 3, 307, 210, 310, 0), WAVES, 144); /* two slices per frame */
    compare(test_shape(SZGPU_F64, 2, 3001, 2500, 0, 0), WAVES, 0);
    compare(test_shape(SZGPU_F32, 1, 25000003, 0, 0, 0), SPECIALS, 0);
    compare(test_shape(SZGPU_F32, 4, 9, 100, 130, 150), WAVES, 6);
    compare(test_shape(SZGPU_F32, 2, 5, 4000001, 0, 0), WAVES, 0); /* a row of tiles is a slice */
    compare(test_shape(SZGPU_F64, 3, 60, 300, 400, 0), BITS, 0);
    compare(test_shape(SZGPU_F32, 3, 150, 300, 300, 0), CONSTANT, 0);
  }
  cuda_assert_no_complaints();
}

/* In the linear layout slices begin and end within tiles. */
static void compare_without_loss(szgpu_shape shape, uint64_t frame_rows) {
  void *const field = make_field(&shape, WAVES);
  cuda_case c = {test_params(SZGPU_MODE_LOSSLESS, 0), shape, field};
  c.params.layout = SZGPU_LAYOUT_LINEAR;
  c.params.frame_rows = frame_rows;
  compare_pinned(&c);
  free(field);
}

static void slices_without_loss(void **state) {
  (void)state;
  compare_without_loss(test_shape(SZGPU_F32, 3, 203, 210, 310, 0), 0);
  if (!cuda_is_quick()) {
    compare_without_loss(test_shape(SZGPU_F32, 3, 307, 210, 310, 0), 144);
    compare_without_loss(test_shape(SZGPU_F64, 2, 3001, 2500, 0, 0), 0);
  }
  cuda_assert_no_complaints();
}

/* ---- ordinary memory, by several threads ---- */

static szgpu_ctx *make_ctx_of(int threads, uint64_t memory_limit) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.threads = threads;
  options.memory_limit = memory_limit;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  return ctx;
}

/* Field and archive are of at least 16 MiB and end within a piece. The call may change what was
 * copied as soon as it has returned, so the next round has another field. */
static void ordinary_memory_gives_the_cpus_bytes(void **state) {
  (void)state;
  static const int thread_counts[] = {1, 2, 5, 40};
  static const szgpu_mode modes[] = {SZGPU_MODE_LOSSLESS, SZGPU_MODE_REL, SZGPU_MODE_ABS};
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 7000003, 0, 0, 0);
  size_t const bytes = test_field_bytes(&shape);
  float *const field = test_make_waves(&shape), *const restored_field = test_allocate(bytes);
  for (size_t t = 0; t < ARRAY_COUNT(thread_counts); t++) {
    szgpu_ctx *const ctx = make_ctx_of(thread_counts[t], t == 2 ? (uint64_t)1 << 40 : 0);
    for (size_t m = 0; m < (cuda_is_quick() ? 1 : ARRAY_COUNT(modes)); m++) {
      for (size_t i = 0; i < 7000003; i += 3) field[i] += (float)(t + m);
      cuda_case const c = {test_params(modes[m], 1e-5), shape, field};
      test_archive const expected = test_compress(cuda_cpu, &c.params, &shape, field);
      void *const expected_field = test_decompress(cuda_cpu, &expected, bytes);
      test_archive found;
      assert_int_equal(cuda_compress(ctx, &c, &found), SZGPU_OK);
      const char *const difference = cuda_difference(&expected, &found);
      if (difference) cuda_complain(&c, "%d threads: %s", thread_counts[t], difference);
      memset(restored_field, 0xA5, bytes);
      assert_int_equal(
          szgpu_decompress(ctx, expected.bytes, expected.byte_count, restored_field, bytes),
          SZGPU_OK);
      if (memcmp(restored_field, expected_field, bytes) != 0)
        cuda_complain(&c, "%d threads: the restored fields differ", thread_counts[t]);
      free(found.bytes);
      free(expected_field);
      free(expected.bytes);
    }
    szgpu_destroy(ctx);
  }
  free(restored_field);
  free(field);
  cuda_assert_no_complaints();
}

/* ---- one archive of several slices ---- */

static cuda_case example;
static test_archive archive; /* made by the CPU */
static uint8_t *restored;    /* by the CPU too */
static size_t field_bytes;

static int make_example(void **state) {
  cuda_make_ctxs(state);
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 203, 210, 310, 0);
  example = (cuda_case){test_params(SZGPU_MODE_ABS, 0.05), shape, make_field(&shape, SPECIALS)};
  example.params.layout = SZGPU_LAYOUT_TILE;
  example.params.predictor = SZGPU_PREDICTOR_LORENZO;
  field_bytes = test_field_bytes(&shape);
  archive = archive_compress(cuda_cpu, &example.params, &shape, example.field);
  restored = test_decompress(cuda_cpu, &archive, field_bytes);
  return 0;
}

static int free_example(void **state) {
  free((void *)example.field);
  free(archive.bytes);
  free(restored);
  return cuda_destroy_ctxs(state);
}

static void rows_are_those_of_the_whole(void **state) {
  (void)state;
  uint64_t const rows = example.shape.dims[0];
  size_t const row_bytes = field_bytes / rows;
  uint8_t *const pinned = pin(field_bytes), *const pageable = test_allocate(field_bytes);
  static const uint64_t starts[] = {0, 1, 16, 37, 150}, ends[] = {203, 202, 160, 190, 203};
  for (size_t i = 0; i < ARRAY_COUNT(starts); i++) {
    uint8_t *const slab = i % 2 ? pinned : pageable;
    uint64_t const count = ends[i] - starts[i];
    size_t const slab_bytes = count * row_bytes;
    memset(slab, 0xA5, slab_bytes);
    assert_int_equal(szgpu_decompress_slab(cuda_gpus[0], archive.bytes, archive.byte_count,
                                           starts[i], count, slab, slab_bytes),
                     SZGPU_OK);
    assert_memory_equal(slab, restored + starts[i] * row_bytes, slab_bytes);
  }
  free(pageable);
  cudaFreeHost(pinned);
}

/* All three streams wait for earlier work in the caller's stream. */
static void slices_keep_the_order_of_the_stream(void **state) {
  (void)state;
  cudaStream_t stream;
  assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, stream);
  uint8_t *const field = pin(field_bytes), *const bytes = pin(archive.byte_count);
  void *const on_device = cuda_copy_of(example.field, field_bytes);
  for (int round = 0; round < (cuda_is_quick() ? 1 : 5); round++) {
    size_t byte_count = 0;
    memset(bytes, 0xA5, archive.byte_count);
    memset(field, 0xA5, field_bytes);
    cudaMemcpyAsync(field, on_device, field_bytes, cudaMemcpyDeviceToHost, stream);
    assert_int_equal(szgpu_compress(ctx, &example.params, &example.shape, field, bytes,
                                    archive.byte_count, &byte_count),
                     SZGPU_OK);
    assert_int_equal(byte_count, archive.byte_count);
    assert_memory_equal(bytes, archive.bytes, byte_count);
    memset(field, 0xA5, field_bytes);
    assert_int_equal(szgpu_decompress(ctx, bytes, byte_count, field, field_bytes), SZGPU_OK);
    assert_memory_equal(field, restored, field_bytes);
  }
  cuda_release(on_device);
  cudaFreeHost(field);
  cudaFreeHost(bytes);
  szgpu_destroy(ctx);
  cudaStreamDestroy(stream);
}

/* ---- faults of an archive are found anywhere ---- */

static void refuses(const test_archive *bad, szgpu_status expected) {
  uint8_t *const field = pin(field_bytes);
  void *const on_device = cuda_copy_of(bad->bytes, bad->byte_count);
  szgpu_status const from_host =
      szgpu_decompress(cuda_gpus[0], bad->bytes, bad->byte_count, field, field_bytes);
  szgpu_status const from_device =
      szgpu_decompress(cuda_gpus[0], on_device, bad->byte_count, field, field_bytes);
  if (from_host != expected || from_device != expected)
    cuda_complain(&example, "%s from the host, %s from the device, not %s",
                  szgpu_status_text(from_host), szgpu_status_text(from_device),
                  szgpu_status_text(expected));
  cuda_release(on_device);
  cudaFreeHost(field);
}

static void damage_has_its_status(void **state) {
  (void)state;
  cuda_skip_damage();
  static const uint32_t kinds[] = {SZG_SECTION_CODEBOOK, SZG_SECTION_TILE_SIZES,
                                   SZG_SECTION_BITSTREAM, SZG_SECTION_FILL_MASK};
  for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
    test_archive bad = archive_copy(&archive, archive.byte_count);
    uint32_t const section = archive_section_of_kind(&archive, 0, kinds[i]);
    bad.bytes[archive_section_offset(&archive, 0, section) + 5] ^= 1;
    refuses(&bad, SZGPU_BAD_CHECKSUM);
    free(bad.bytes);
  }
  cuda_assert_no_complaints();
}

/* Sizes that lead beyond the words, with correct checksums: the ends of slices follow from them. */
static void sizes_that_lie_are_refused(void **state) {
  (void)state;
  cuda_skip_damage();
  uint32_t const section = archive_section_of_kind(&archive, 0, SZG_SECTION_TILE_SIZES);
  size_t const sizes = archive_section_offset(&archive, 0, section);
  static const uint64_t values[] = {0xFFFF, 0, 4096};
  for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
    test_archive bad = archive_copy(&archive, archive.byte_count);
    archive_store(&bad, sizes + 2 * i, 2, values[i]);
    archive_rehash(&bad);
    refuses(&bad, SZGPU_BAD_DATA);
    for (size_t tile = 0; tile < 3000; tile++) archive_store(&bad, sizes + 2 * tile, 2, values[i]);
    archive_rehash(&bad);
    refuses(&bad, SZGPU_BAD_DATA);
    free(bad.bytes);
  }
  cuda_assert_no_complaints();
}

/* ---- stopped in the middle ---- */

enum { POISON = 0xA5 };

static int stop(void *user, uint64_t done_values, uint64_t total_values) {
  (void)done_values, (void)total_values;
  return --*(int *)user <= 0;
}

/* After the call the memory is the caller's: no transfer may still be running. */
static void a_call_that_is_stopped_leaves_nothing_behind(void **state) {
  (void)state;
  int calls_left = 2;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.progress = stop;
  options.progress_user = &calls_left;
  szgpu_ctx *ctx;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  cuda_case frames = example;
  frames.params.frame_rows = 144;
  test_archive several = test_compress(cuda_cpu, &frames.params, &frames.shape, frames.field);
  uint8_t *const field = pin(field_bytes), *const bytes = pin(several.byte_count);
  size_t byte_count;
  assert_int_equal(szgpu_decompress(ctx, several.bytes, several.byte_count, field, field_bytes),
                   SZGPU_CANCELLED);
  memset(field, POISON, field_bytes);
  assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
  for (size_t i = 0; i < field_bytes; i++) assert_int_equal(field[i], POISON);
  memcpy(field, example.field, field_bytes);
  calls_left = 2;
  assert_int_equal(szgpu_compress(ctx, &frames.params, &frames.shape, field, bytes,
                                  several.byte_count, &byte_count),
                   SZGPU_CANCELLED);
  assert_memory_equal(field, example.field, field_bytes);
  calls_left = 1000;
  assert_int_equal(szgpu_compress(ctx, &frames.params, &frames.shape, field, bytes,
                                  several.byte_count, &byte_count),
                   SZGPU_OK);
  assert_memory_equal(bytes, several.bytes, several.byte_count);
  cudaFreeHost(field);
  cudaFreeHost(bytes);
  free(several.bytes);
  szgpu_destroy(ctx);
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_give_the_cpus_bytes),
      cmocka_unit_test(slices_without_loss),
      cmocka_unit_test(ordinary_memory_gives_the_cpus_bytes),
      cmocka_unit_test(rows_are_those_of_the_whole),
      cmocka_unit_test(slices_keep_the_order_of_the_stream),
      cmocka_unit_test(damage_has_its_status),
      cmocka_unit_test(sizes_that_lie_are_refused),
      cmocka_unit_test(a_call_that_is_stopped_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, make_example, free_example);
}
