/* test_cuda_buffers.c - field and archive in host or device memory, streams, capacities, many ctxs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"

enum { GUARD = 256 };

static szgpu_ctx *first_gpu(void) { return cuda_gpus[0]; }

/* ---- examples: fields that need every stage ---- */

enum { TILE_EXAMPLES = 9, EXAMPLES = 2 * TILE_EXAMPLES }; /* the rest: linear layout */
static cuda_case examples[EXAMPLES];
static test_archive expected[EXAMPLES]; /* made by the CPU */
static void *restored_by_cpu[EXAMPLES];
static size_t capacities[EXAMPLES]; /* zstd may need more than the archive's size */

static cuda_case make_example(szgpu_shape shape, szgpu_mode mode, double bound) {
  return (cuda_case){test_params(mode, bound), shape, test_make_waves(&shape)};
}

/* Each field in both layouts. */
static void make_fields(void) {
  szgpu_shape const cube = test_shape(SZGPU_F32, 3, 70, 50, 90, 0);
  szgpu_shape const plane = test_shape(SZGPU_F64, 2, 300, 400, 0, 0);
  szgpu_shape const line = test_shape(SZGPU_F64, 1, 100001, 0, 0, 0);
  szgpu_shape const small = test_shape(SZGPU_F32, 1, 31, 0, 0, 0);
  examples[0] = make_example(cube, SZGPU_MODE_REL, 1e-3);
  examples[1] = make_example(cube, SZGPU_MODE_PSNR, 90.0);
  examples[1].params.frame_rows = 16;
  examples[2] = make_example(plane, SZGPU_MODE_REL, 1e-11);
  examples[3] = make_example(small, SZGPU_MODE_ABS, 0.1);
  examples[4] = make_example(plane, SZGPU_MODE_ABS, 0.5);
  examples[4].params.zstd_level = 3;
  examples[4].params.frame_rows = 64;
  examples[5] = make_example(cube, SZGPU_MODE_REL, 1e-4);  /* with special values */
  examples[6] = make_example(line, SZGPU_MODE_ABS, 1e-30); /* raw */
  examples[7] = make_example(cube, SZGPU_MODE_REL, 1e-2);  /* levels frames */
  examples[8] = make_example(cube, SZGPU_MODE_REL, 1e-3);  /* and with special values */
  examples[8].params.frame_rows = 32;
  for (int e = 5; e <= 8; e += 3) {
    float *const specials = (float *)examples[e].field;
    for (uint64_t i = 0; i < 70 * 50 * 90; i++) {
      if (test_hash(i) % 11 == 0) specials[i] = 1e20f;
      if (test_hash(i) % 501 == 0) specials[i] = test_hash(i) % 2 ? NAN : INFINITY;
    }
  }
  for (int i = 0; i < TILE_EXAMPLES; i++) {
    cuda_case *const linear = &examples[TILE_EXAMPLES + i];
    *linear = examples[i];
    examples[i].params.layout = SZGPU_LAYOUT_TILE;
    linear->params.layout = SZGPU_LAYOUT_LINEAR;
    if (i >= 7) examples[i].params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  }
}

static int make_examples(void **state) {
  cuda_make_ctxs(state);
  make_fields();
  for (int i = 0; i < EXAMPLES; i++) {
    const cuda_case *const c = &examples[i];
    expected[i] = test_compress(cuda_cpu, &c->params, &c->shape, c->field);
    restored_by_cpu[i] = test_decompress(cuda_cpu, &expected[i], test_field_bytes(&c->shape));
    capacities[i] = expected[i].byte_count;
    if (c->params.zstd_level)
      assert_int_equal(szgpu_sizes(cuda_cpu, &c->params, &c->shape, NULL, &capacities[i]), 0);
  }
  return 0;
}

static int free_examples(void **state) {
  for (int i = 0; i < EXAMPLES; i++) {
    if (i < TILE_EXAMPLES) free((void *)examples[i].field);
    free(expected[i].bytes);
    free(restored_by_cpu[i]);
  }
  return cuda_destroy_ctxs(state);
}

/* Compresses and restores in host memory. Asserts nothing, because several threads may run it. */
static bool gives_the_same_bytes(szgpu_ctx *ctx, int i) {
  const cuda_case *const c = &examples[i];
  size_t const field_bytes = test_field_bytes(&c->shape), bytes = expected[i].byte_count;
  uint8_t *const archive = malloc(capacities[i]), *const restored = malloc(field_bytes);
  size_t byte_count = 0;
  bool same = archive && restored;
  same = same && szgpu_compress(ctx, &c->params, &c->shape, c->field, archive, capacities[i],
                                &byte_count) == SZGPU_OK;
  same = same && byte_count == bytes && memcmp(archive, expected[i].bytes, bytes) == 0;
  same = same && szgpu_decompress(ctx, archive, bytes, restored, field_bytes) == SZGPU_OK;
  same = same && memcmp(restored, restored_by_cpu[i], field_bytes) == 0;
  free(archive);
  free(restored);
  return same;
}

/* ---- places of field and archive ---- */

/* A block of `bytes`, `skip` bytes into an allocation with guards, in host or device memory. */
typedef struct block {
  uint8_t *allocation, *start;
  size_t bytes;
  bool is_device;
} block;

static block make_block(bool is_device, size_t skip, const void *contents, size_t bytes) {
  size_t const all = bytes + skip + GUARD;
  uint8_t *const host = test_allocate(all);
  memset(host, 0xA5, all);
  if (contents) memcpy(host + skip, contents, bytes);
  uint8_t *const allocation = is_device ? cuda_copy_of(host, all) : host;
  if (is_device) free(host);
  return (block){allocation, allocation + skip, bytes, is_device};
}

/* Frees the block and returns its contents; complains if something around them was written. */
static uint8_t *take_block(block b, const cuda_case *c, const char *name) {
  size_t const skip = (size_t)(b.start - b.allocation), all = skip + b.bytes + GUARD;
  uint8_t *const host = b.is_device ? cuda_host_copy_of(b.allocation, all) : b.allocation;
  if (b.is_device) cuda_release(b.allocation);
  for (size_t i = 0; i < all; i++)
    if ((i < skip || i >= skip + b.bytes) && host[i] != 0xA5) {
      cuda_complain(c, "byte %lld of the %s of %zu was written", (long long)i - (long long)skip,
                    name, b.bytes);
      break;
    }
  memmove(host, host + skip, b.bytes);
  return host;
}

static void compress_between(szgpu_ctx *ctx, cudaStream_t stream, int i, block field,
                             block archive) {
  const cuda_case *const c = &examples[i];
  size_t byte_count = 0;
  szgpu_status const status = szgpu_compress(ctx, &c->params, &c->shape, field.start, archive.start,
                                             archive.bytes, &byte_count);
  assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
  test_archive const found = {take_block(archive, c, "archive"), byte_count};
  const char *const difference = status ? NULL : cuda_difference(&expected[i], &found);
  if (status != SZGPU_OK)
    cuda_complain(c, "compress: %s; %s", szgpu_status_text(status), szgpu_last_error(ctx));
  if (difference)
    cuda_complain(c, "field on the %s, archive on the %s: %s", field.is_device ? "GPU" : "host",
                  archive.is_device ? "GPU" : "host", difference);
  free(found.bytes);
}

static void decompress_between(szgpu_ctx *ctx, cudaStream_t stream, int i, block archive,
                               block field) {
  const cuda_case *const c = &examples[i];
  szgpu_status const status =
      szgpu_decompress(ctx, archive.start, archive.bytes, field.start, field.bytes);
  assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
  uint8_t *const restored = take_block(field, c, "field");
  if (status != SZGPU_OK)
    cuda_complain(c, "restore: %s; %s", szgpu_status_text(status), szgpu_last_error(ctx));
  else if (memcmp(restored, restored_by_cpu[i], field.bytes) != 0)
    cuda_complain(c, "archive on the %s, field on the %s: other values",
                  archive.is_device ? "GPU" : "host", field.is_device ? "GPU" : "host");
  free(restored);
}

/* All four combinations, on the caller's stream. A field needs only the alignment of its values, an
 * archive in host memory none. */
static void field_and_archive_lie_anywhere(void **state) {
  (void)state;
  cudaStream_t stream;
  assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, stream);
  for (int i = 0; i < EXAMPLES; i++)
    for (int places = 0; places < 8; places++) {
      if (cuda_is_quick() && (i + places) % 3) continue;
      const cuda_case *const c = &examples[i];
      bool const field_there = places & 1, archive_there = places & 2, is_odd = places & 4;
      size_t const value_bytes = c->shape.dtype == SZGPU_F32 ? 4 : 8;
      size_t const field_skip = is_odd ? value_bytes : 64;
      size_t const archive_skip = !is_odd ? 64 : archive_there ? 16 : 3;
      size_t const field_bytes = test_field_bytes(&c->shape), bytes = expected[i].byte_count;
      block const field = make_block(field_there, field_skip, c->field, field_bytes);
      compress_between(ctx, stream, i, field,
                       make_block(archive_there, archive_skip, NULL, capacities[i]));
      uint8_t *const still = take_block(field, c, "field");
      if (memcmp(still, c->field, field_bytes) != 0) cuda_complain(c, "the field was changed");
      free(still);
      block const archive = make_block(archive_there, archive_skip, expected[i].bytes, bytes);
      decompress_between(ctx, stream, i, archive,
                         make_block(field_there, field_skip, NULL, field_bytes));
      free(take_block(archive, c, "archive"));
    }
  szgpu_destroy(ctx);
  assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
  cuda_assert_no_complaints();
}

static void an_archive_on_the_gpu_must_be_aligned(void **state) {
  (void)state;
  const cuda_case *const c = &examples[0];
  size_t const bytes = expected[0].byte_count, field_bytes = test_field_bytes(&c->shape);
  uint8_t *const archive = cuda_allocate(bytes + 16), *const field = test_allocate(field_bytes);
  size_t byte_count;
  assert_int_equal(
      szgpu_compress(first_gpu(), &c->params, &c->shape, c->field, archive + 8, bytes, &byte_count),
      SZGPU_BAD_ARGUMENT);
  assert_string_not_equal(szgpu_last_error(first_gpu()), "");
  assert_int_equal(szgpu_decompress(first_gpu(), archive + 8, bytes, field, field_bytes),
                   SZGPU_BAD_ARGUMENT);
  free(field);
  cuda_release(archive);
}

/* Work in the stream before a call is done before it, without a wait by the caller; later work in
 * the stream sees what the call wrote on the GPU. */
static void calls_keep_the_order_of_the_stream(void **state) {
  (void)state;
  const cuda_case *const c = &examples[0];
  size_t const field_bytes = test_field_bytes(&c->shape), bytes = expected[0].byte_count;
  cudaStream_t stream;
  assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, stream);
  void *pinned = NULL;
  assert_int_equal(cudaHostAlloc(&pinned, field_bytes, cudaHostAllocDefault), cudaSuccess);
  uint8_t *const field = cuda_allocate(field_bytes), *const archive = cuda_allocate(bytes);
  for (int round = 0; round < (cuda_is_quick() ? 2 : 20); round++) {
    size_t byte_count = 0;
    memcpy(pinned, c->field, field_bytes);
    cudaMemsetAsync(field, 0x11 * (round % 15), field_bytes, stream);
    cudaMemcpyAsync(field, pinned, field_bytes, cudaMemcpyHostToDevice, stream);
    assert_int_equal(szgpu_compress(ctx, &c->params, &c->shape, field, archive, bytes, &byte_count),
                     SZGPU_OK);
    assert_int_equal(byte_count, bytes);
    cudaMemsetAsync(field, 0x5A, field_bytes, stream);
    assert_int_equal(szgpu_decompress(ctx, archive, bytes, field, field_bytes), SZGPU_OK);
    cudaMemcpyAsync(pinned, field, field_bytes, cudaMemcpyDeviceToHost, stream);
    cudaMemsetAsync(field, 0, field_bytes, stream);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_memory_equal(pinned, restored_by_cpu[0], field_bytes);
  }
  cuda_release(archive);
  cuda_release(field);
  cudaFreeHost(pinned);
  szgpu_destroy(ctx);
  cudaStreamDestroy(stream);
}

/* ---- capacities ---- */

static void compare_capacity(const cuda_case *c, const test_archive *archive, size_t capacity) {
  size_t const size = archive->byte_count;
  for (int is_device = 0; is_device < 2; is_device++) {
    block const b = make_block(is_device, 64, NULL, capacity);
    size_t used = 0;
    szgpu_status const status =
        szgpu_compress(first_gpu(), &c->params, &c->shape, c->field, b.start, capacity, &used);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    uint8_t *const bytes = take_block(b, c, "archive");
    bool const may_refuse = capacity < size || c->params.zstd_level, may_accept = capacity >= size;
    if (status == SZGPU_OK ? !may_accept : status != SZGPU_CAPACITY || !may_refuse)
      cuda_complain(c, "capacity %zu of %zu: %s", capacity, size, szgpu_status_text(status));
    if (status == SZGPU_OK && (used != size || memcmp(bytes, archive->bytes, size) != 0))
      cuda_complain(c, "capacity %zu: other bytes", capacity);
    free(bytes);
  }
}

/* A capacity below the archive's size is refused, as on the CPU, without a write past it. */
static void compare_capacities(const cuda_case *c) {
  test_archive archive = test_compress(cuda_cpu, &c->params, &c->shape, c->field);
  size_t const size = archive.byte_count;
  for (size_t capacity = 0; capacity + 1 < size; capacity += cuda_is_quick() ? 331 : 29)
    compare_capacity(c, &archive, capacity);
  for (size_t capacity = size - 1; capacity <= size + 1; capacity++)
    compare_capacity(c, &archive, capacity);
  free(archive.bytes);
}

static void compare_capacities_of(szgpu_layout layout, szgpu_predictor predictor) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 130, 7, 0, 0); /* frames of 64, 64 and 2 */
  float *const field = test_make_waves(&shape);
  uint32_t *const noise = test_make_bits(&shape);
  cuda_case c = {test_params(SZGPU_MODE_REL, 1e-3), shape, field};
  c.params.layout = layout;
  c.params.predictor = predictor;
  c.params.frame_rows = 64;
  compare_capacities(&c);
  field[5] = INFINITY, field[6] = -INFINITY; /* not fill values */
  compare_capacities(&c);
  field[5] = NAN, field[6] = 1e20f, field[7] = 1e20f, field[800] = 3e37f; /* need every section */
  compare_capacities(&c);
  c.field = noise; /* raw frames */
  compare_capacities(&c);
  for (int i = 0; i < 910; i++) field[i] = i == 77 ? INFINITY : 2.0f; /* constant frames */
  c.field = field;
  compare_capacities(&c);
  c.params = test_params(SZGPU_MODE_ABS, 20.0);
  c.params.layout = layout;
  c.params.predictor = predictor;
  c.params.zstd_level = 3;
  c.shape = test_shape(SZGPU_F32, 2, 120, 70, 0, 0);
  void *const large = test_make_waves(&c.shape);
  c.field = large;
  compare_capacities(&c);
  free(large);
  free(field);
  free(noise);
}

static void no_capacity_is_passed(void **state) {
  (void)state;
  compare_capacities_of(SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_LORENZO);
  compare_capacities_of(SZGPU_LAYOUT_TILE, SZGPU_PREDICTOR_INTERPOLATION);
  compare_capacities_of(SZGPU_LAYOUT_LINEAR, SZGPU_PREDICTOR_AUTO);
  cuda_assert_no_complaints();
}

static void szgpu_sizes_is_enough(void **state) {
  (void)state;
  for (size_t s = 0; s < test_awkward_shape_count; s++)
    for (int kind = 0; kind < 6; kind++) {
      if (cuda_is_quick() && (s + (size_t)kind) % 9) continue;
      cuda_case c = {test_params(SZGPU_MODE_ABS, kind % 3 == 1 ? 1e-30 : 1e30),
                     test_awkward_shapes[s], test_make_bits(&test_awkward_shapes[s])};
      c.params.frame_rows = 1;
      c.params.zstd_level = kind < 3 ? 0 : 3;
      if (kind % 3 == 2) c.params.mode = SZGPU_MODE_REL, c.params.bound = 1e-15;
      cuda_compare_layouts(&c); /* with the capacity that szgpu_sizes gives */
      free((void *)c.field);
    }
  cuda_assert_no_complaints();
}

/* ---- memory ---- */

/* In addition to field and archive, tile frames need less than one byte per value. */
static void tile_frames_take_a_byte_a_value(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {
      {SZGPU_F32, 2, {1800, 3600}},    {SZGPU_F32, 3, {512, 512, 512}},
      {SZGPU_F64, 3, {256, 384, 384}}, {SZGPU_F64, 2, {9000, 9000}},
      {SZGPU_F32, 1, {280953867}},     {SZGPU_F64, 4, {20, 100, 500, 500}}};
  for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
    for (uint64_t frame_rows = 0; frame_rows <= 4096; frame_rows += 4096) {
      szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
      params.frame_rows = frame_rows;
      params.predictor = SZGPU_PREDICTOR_LORENZO;
      size_t bytes, linear_bytes;
      assert_int_equal(params.layout, SZGPU_LAYOUT_TILE);
      assert_int_equal(szgpu_sizes(first_gpu(), &params, &shapes[i], &bytes, NULL), SZGPU_OK);
      params.layout = SZGPU_LAYOUT_LINEAR;
      assert_int_equal(szgpu_sizes(first_gpu(), &params, &shapes[i], &linear_bytes, NULL),
                       SZGPU_OK);
      assert_in_range(bytes, 1, test_value_count(&shapes[i]));
      assert_in_range(bytes, 1, linear_bytes);
    }
}

/* ---- one ctx after another call, and several at once ---- */

static void calls_on_one_ctx_do_not_meet(void **state) {
  (void)state;
  for (int i = 0; i < EXAMPLES; i++) /* every pair, one after the other */
    for (int j = cuda_is_quick() && i ? i - 1 : 0; j < i; j++) {
      assert_true(gives_the_same_bytes(first_gpu(), i));
      assert_true(gives_the_same_bytes(first_gpu(), j));
    }
}

static void reserved_memory_does_not_show(void **state) {
  (void)state;
  szgpu_shape const large = test_shape(SZGPU_F64, 3, 100, 100, 100, 0);
  szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, NULL);
  assert_int_equal(szgpu_reserve(ctx, &examples[0].params, &large), SZGPU_OK);
  for (int i = 0; i < EXAMPLES; i++) assert_true(gives_the_same_bytes(ctx, i));
  szgpu_destroy(ctx);
}

static void *work_on_examples(void *first) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  uintptr_t failures = 0;
  cudaStream_t stream = NULL;
  failures += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
  options.stream = (intptr_t)first % 2 ? stream : NULL;
  szgpu_ctx *ctx;
  if (szgpu_create(&ctx, &options) != SZGPU_OK) return (void *)(uintptr_t)1;
  for (int i = 0; i < (cuda_is_quick() ? 1 : 4) * EXAMPLES; i++)
    failures += !gives_the_same_bytes(ctx, (i + (int)(intptr_t)first) % EXAMPLES);
  szgpu_destroy(ctx);
  cudaStreamDestroy(stream);
  return (void *)failures;
}

static void ctxs_work_side_by_side(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  for (intptr_t t = 0; t < THREADS; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, work_on_examples, (void *)t), 0);
  for (int t = 0; t < THREADS; t++) {
    void *failures;
    assert_int_equal(pthread_join(threads[t], &failures), 0);
    assert_null(failures);
  }
}

static int stop(void *user, uint64_t done_values, uint64_t total_values) {
  (void)done_values, (void)total_values;
  return --*(int *)user <= 0;
}

static void a_ctx_goes_on_after_it_was_stopped(void **state) {
  (void)state;
  int calls_left = 1;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.progress = stop;
  options.progress_user = &calls_left;
  const cuda_case *const c = &examples[1];
  szgpu_ctx *ctx;
  test_archive archive;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  assert_int_equal(cuda_compress(ctx, c, &archive), SZGPU_CANCELLED);
  free(archive.bytes);
  calls_left = 1000000;
  assert_true(gives_the_same_bytes(ctx, 1));
  szgpu_destroy(ctx);
}

/* ---- limits ---- */

/* Ever larger limits until one is enough; all others give the status, and a ctx that works. */
static void a_memory_limit_counts_the_gpus_memory(void **state) {
  (void)state;
  for (int i = 0; i < EXAMPLES; i++) {
    const cuda_case *const c = &examples[i];
    size_t const field_bytes = test_field_bytes(&c->shape);
    uint8_t *const archive = test_allocate(capacities[i]);
    uint8_t *const restored = test_allocate(field_bytes);
    szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, NULL);
    szgpu_status compressed = SZGPU_MEMORY_LIMIT, decompressed = SZGPU_MEMORY_LIMIT;
    for (uint64_t limit = 1000; compressed != SZGPU_OK || decompressed != SZGPU_OK; limit *= 8) {
      size_t archive_bytes = 0;
      assert_int_equal(szgpu_set_memory_limit(ctx, limit), SZGPU_OK);
      compressed = szgpu_compress(ctx, &c->params, &c->shape, c->field, archive, capacities[i],
                                  &archive_bytes);
      assert_true(compressed == SZGPU_OK || compressed == SZGPU_MEMORY_LIMIT);
      decompressed =
          szgpu_decompress(ctx, expected[i].bytes, expected[i].byte_count, restored, field_bytes);
      assert_true(decompressed == SZGPU_OK || decompressed == SZGPU_MEMORY_LIMIT);
      if (limit < field_bytes) assert_int_equal(decompressed, SZGPU_MEMORY_LIMIT);
      if (compressed != SZGPU_OK) continue;
      assert_int_equal(archive_bytes, expected[i].byte_count);
      assert_memory_equal(archive, expected[i].bytes, archive_bytes);
    }
    assert_memory_equal(restored, restored_by_cpu[i], field_bytes);
    szgpu_destroy(ctx);
    free(archive);
    free(restored);
  }
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(field_and_archive_lie_anywhere),
      cmocka_unit_test(an_archive_on_the_gpu_must_be_aligned),
      cmocka_unit_test(calls_keep_the_order_of_the_stream),
      cmocka_unit_test(no_capacity_is_passed),
      cmocka_unit_test(szgpu_sizes_is_enough),
      cmocka_unit_test(tile_frames_take_a_byte_a_value),
      cmocka_unit_test(calls_on_one_ctx_do_not_meet),
      cmocka_unit_test(reserved_memory_does_not_show),
      cmocka_unit_test(ctxs_work_side_by_side),
      cmocka_unit_test(a_ctx_goes_on_after_it_was_stopped),
      cmocka_unit_test(a_memory_limit_counts_the_gpus_memory),
  };
  return cmocka_run_group_tests(tests, make_examples, free_examples);
}
