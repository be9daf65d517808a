/* test_cuda_errors.c - CUDA's runtime fails: a status, a sentence, a ctx that still works.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Without a GPU the runtime is a fake (cuda_faults.h), and tests that need a real one are skipped.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_faults.h"
#include "cuda_support.h"

/* ---- the work ---- */

/* A field, its archive made by the CPU, and what the CPU restores from that. */
typedef struct work {
  cuda_case c;
  szgpu_decoder decoder; /* for the ctx on the GPU */
  test_archive archive;
  void *restored;
  size_t field_bytes;
} work;

static work small, linear;      /* tile layout, linear layout */
static work top_plane, chained; /* lossless, linear layout; chained: by the decoder hierarchical */
static work levels, planes;     /* tile layout, by interpolation; lossless */
static work roomy;              /* small, with too many values for the compact form */
static work large;              /* enough for SZGPU_BACKEND_AUTO to take CUDA, with one thread */
static const work *const works[] = {&small, &linear, &top_plane, &chained, &levels, &planes};

static work make_work(szgpu_layout layout, szgpu_mode mode, szgpu_predictor predictor,
                      szgpu_shape shape, void *field) {
  work w = {.c = {test_params(mode, 0.5), shape, field}, .field_bytes = test_field_bytes(&shape)};
  w.c.params.layout = layout;
  w.c.params.predictor = predictor;
  szgpu_ctx *const cpu = cuda_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, NULL);
  w.archive = test_compress(cpu, &w.c.params, &shape, w.c.field);
  w.restored = test_decompress(cpu, &w.archive, w.field_bytes);
  szgpu_destroy(cpu);
  return w;
}

static void has_kind(const work *w, const char *kind) {
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(w->archive.bytes, w->archive.byte_count, 0, 1, &frame),
                   SZGPU_OK);
  assert_string_equal(frame.kind, kind);
}

static int make_works(void **state) {
  (void)state;
  szgpu_shape const some = test_shape(SZGPU_F32, 3, 40, 30, 33, 0);
  szgpu_shape const many = test_shape(SZGPU_F32, 3, 340, 512, 512, 0);
  szgpu_mode const lossless = SZGPU_MODE_LOSSLESS;
  szgpu_predictor const lorenzo = SZGPU_PREDICTOR_LORENZO, any = SZGPU_PREDICTOR_AUTO;
  small = make_work(SZGPU_LAYOUT_TILE, SZGPU_MODE_ABS, lorenzo, some, test_make_waves(&some));
  linear = make_work(SZGPU_LAYOUT_LINEAR, SZGPU_MODE_ABS, lorenzo, some, test_make_waves(&some));
  szgpu_shape const more = test_shape(SZGPU_F32, 3, 280, 30, 33, 0);
  roomy = make_work(SZGPU_LAYOUT_TILE, SZGPU_MODE_ABS, lorenzo, more, test_make_waves(&more));
  top_plane = make_work(SZGPU_LAYOUT_LINEAR, lossless, any, some, test_make_waves(&some));
  chained = make_work(SZGPU_LAYOUT_LINEAR, lossless, any, some, test_make_waves(&some));
  chained.decoder = SZGPU_DECODER_HIERARCHICAL;
  levels = make_work(SZGPU_LAYOUT_TILE, SZGPU_MODE_ABS, SZGPU_PREDICTOR_INTERPOLATION, some,
                     test_make_waves(&some));
  planes = make_work(SZGPU_LAYOUT_TILE, lossless, any, some, test_make_waves(&some));
  has_kind(&small, "tile");
  has_kind(&linear, "linear");
  has_kind(&top_plane, "top plane");
  has_kind(&levels, "levels");
  has_kind(&planes, "planes");
  float *const zeros = calloc(test_value_count(&many), sizeof *zeros);
  assert_non_null(zeros);
  zeros[0] = 1000; /* else all is one constant */
  large = make_work(SZGPU_LAYOUT_TILE, SZGPU_MODE_ABS, SZGPU_PREDICTOR_INTERPOLATION, many, zeros);
  has_kind(&large, "levels");
  return 0;
}

static int free_works(void **state) {
  (void)state;
  const work *const all[] = {&small,  &linear, &top_plane, &chained,
                             &levels, &planes, &roomy,     &large};
  for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
    const work *const w = all[i];
    free((void *)w->c.field);
    free(w->archive.bytes);
    free(w->restored);
  }
  return 0;
}

/* Returns the call's status. Fails the test if a successful call's result is not the CPU's. */
typedef szgpu_status (*work_function)(szgpu_ctx *ctx, const work *w);

static szgpu_status compress(szgpu_ctx *ctx, const work *w) {
  test_archive found = {test_allocate(w->archive.byte_count), 0};
  szgpu_status const status = szgpu_compress(ctx, &w->c.params, &w->c.shape, w->c.field,
                                             found.bytes, w->archive.byte_count, &found.byte_count);
  if (status == SZGPU_OK) assert_null(cuda_difference(&w->archive, &found));
  free(found.bytes);
  return status;
}

static szgpu_status decompress(szgpu_ctx *ctx, const work *w) {
  void *const field = test_allocate(w->field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, w->archive.bytes, w->archive.byte_count, field, w->field_bytes);
  if (status == SZGPU_OK) assert_memory_equal(field, w->restored, w->field_bytes);
  free(field);
  return status;
}

/* The rows cut tiles. */
static szgpu_status decompress_slab(szgpu_ctx *ctx, const work *w) {
  size_t const row_bytes = w->field_bytes / w->c.shape.dims[0], slab_bytes = 20 * row_bytes;
  uint8_t *const slab = test_allocate(slab_bytes);
  szgpu_status const status =
      szgpu_decompress_slab(ctx, w->archive.bytes, w->archive.byte_count, 3, 20, slab, slab_bytes);
  if (status == SZGPU_OK)
    assert_memory_equal(slab, (uint8_t *)w->restored + 3 * row_bytes, slab_bytes);
  free(slab);
  return status;
}

static szgpu_status reserve(szgpu_ctx *ctx, const work *w) {
  return szgpu_reserve(ctx, &w->c.params, &w->c.shape);
}

static const work_function functions[] = {compress, decompress, decompress_slab, reserve};

static szgpu_ctx *make_gpu(const work *w) {
  return cuda_make_ctx(SZGPU_BACKEND_CUDA, w->decoder, NULL);
}

/* With a real GPU, a ctx that met a fault works like a new one: on the same work again, and on
 * other work if its decoder reads that. */
static void goes_on(szgpu_ctx *ctx, const work *w) {
  cuda_fault_set(NULL, cudaSuccess, 0);
  if (cuda_fault_is_faked()) return;
  const work *const other = w == &small ? &linear : &small;
  for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
    assert_int_equal(functions[i](ctx, w), SZGPU_OK);
    if (w->decoder == other->decoder) assert_int_equal(functions[i](ctx, other), SZGPU_OK);
  }
}

/* ---- the faults ---- */

typedef struct fault {
  const char *function;
  cudaError_t error;
  szgpu_status status;
} fault;

static const fault faults[] = {
    {"cudaGetDeviceCount", cudaErrorNoDevice, SZGPU_NO_DEVICE},
    {"cudaGetDeviceCount", cudaErrorInsufficientDriver, SZGPU_NO_DEVICE},
    {"cudaPeekAtLastError", cudaErrorNoKernelImageForDevice, SZGPU_NO_DEVICE},
    {"cudaStreamSynchronize", cudaErrorLaunchFailure, SZGPU_DEVICE_ERROR},
    {"cudaStreamSynchronize", cudaErrorIllegalAddress, SZGPU_DEVICE_ERROR},
};

static void holds_number(const char *sentence, size_t number) {
  char text[32];
  snprintf(text, sizeof text, "%zu", number);
  if (!strstr(sentence, text)) fail_msg("'%s' does not say %s", sentence, text);
}

static void meet(const fault *met, work_function run, const work *w) {
  szgpu_ctx *const ctx = make_gpu(w);
  cuda_fault_set(met->function, met->error, 0);
  szgpu_status const status = run(ctx, w);
  const char *const text = cudaGetErrorString(met->error);
  assert_true(cuda_fault_was_met());
  if (status != met->status)
    fail_msg("%s fails with '%s': %s", met->function, text, szgpu_status_text(status));
  if (!strstr(szgpu_last_error(ctx), text))
    fail_msg("'%s' does not say '%s'", szgpu_last_error(ctx), text);
  assert_int_equal(run(ctx, w), status); /* the fault is still set */
  goes_on(ctx, w);
  szgpu_destroy(ctx);
}

static void a_failing_runtime_gives_a_status_and_a_sentence(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(faults); i++)
    for (size_t f = 0; f < ARRAY_COUNT(functions); f++)
      for (size_t w = 0; w < ARRAY_COUNT(works); w++) meet(&faults[i], functions[f], works[w]);
}

/* How often the host waits while it restores a field. Each of the waits fails once. */
static long waits_that_may_fail(const work *w) {
  void *const field = test_allocate(w->field_bytes);
  szgpu_status status = SZGPU_DEVICE_ERROR;
  long n = 0;
  for (; status == SZGPU_DEVICE_ERROR; n++) {
    szgpu_ctx *const ctx = make_gpu(w);
    cuda_fault_set("cudaStreamSynchronize", cudaErrorUnknown, n);
    status = szgpu_decompress(ctx, w->archive.bytes, w->archive.byte_count, field, w->field_bytes);
    goes_on(ctx, w);
    szgpu_destroy(ctx);
  }
  if (!cuda_fault_is_faked()) assert_int_equal(status, SZGPU_OK);
  free(field);
  return n - 1;
}

/* The host makes its tables. */
static void the_host_waits_once_more_for_the_decoder_hierarchical(void **state) {
  (void)state;
  long const waits = waits_that_may_fail(&top_plane);
  assert_in_range(waits, 1, 10);
  assert_int_equal(waits_that_may_fail(&linear), waits);
  assert_int_equal(waits_that_may_fail(&chained), waits + 1);
}

static void out_of_device_memory_says_how_much_is_needed_and_free(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(functions) * ARRAY_COUNT(works); i++) {
    const work *const w = works[i % ARRAY_COUNT(works)];
    szgpu_ctx *const ctx = make_gpu(w);
    cuda_fault_set("cudaMalloc", cudaErrorMemoryAllocation, 0);
    assert_int_equal(functions[i / ARRAY_COUNT(works)](ctx, w), SZGPU_OUT_OF_MEMORY);
    assert_true(cuda_fault_was_met());
    holds_number(szgpu_last_error(ctx), cuda_fault_asked_bytes);
    holds_number(szgpu_last_error(ctx), cuda_fault_free_bytes);
    goes_on(ctx, w);
    szgpu_destroy(ctx);
  }
}

static void out_of_pinned_memory_says_so(void **state) {
  (void)state;
  for (size_t w = 0; w < ARRAY_COUNT(works); w++)
    for (size_t f = 0; f < 2; f++) { /* compress, decompress */
      szgpu_ctx *const ctx = make_gpu(works[w]);
      cuda_fault_set("cudaHostAlloc", cudaErrorMemoryAllocation, 0);
      assert_int_equal(functions[f](ctx, works[w]), SZGPU_OUT_OF_MEMORY);
      assert_true(cuda_fault_was_met());
      assert_string_not_equal(szgpu_last_error(ctx), "");
      goes_on(ctx, works[w]);
      szgpu_destroy(ctx);
    }
}

static void a_device_that_is_not_there_is_named(void **state) {
  (void)state;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.device = 1000;
  szgpu_ctx *ctx;
  cuda_fault_set(NULL, cudaSuccess, 0);
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  for (size_t f = 0; f < ARRAY_COUNT(functions); f++) {
    assert_int_equal(functions[f](ctx, &small), SZGPU_NO_DEVICE);
    holds_number(szgpu_last_error(ctx), 1000);
  }
  szgpu_destroy(ctx);
}

static void a_device_of_too_little_shared_memory_is_refused(void **state) {
  (void)state;
  if (!cuda_fault_is_faked()) return; /* a real GPU has enough */
  szgpu_ctx *const ctx = make_gpu(&small);
  cuda_fault_set(NULL, cudaSuccess, 0);
  cuda_fault_shared_bytes = 49152;
  szgpu_status const status = reserve(ctx, &small);
  cuda_fault_shared_bytes = 65536;
  assert_int_equal(status, SZGPU_NO_DEVICE);
  holds_number(szgpu_last_error(ctx), 65536);
  assert_int_equal(reserve(ctx, &small), SZGPU_OK);
  szgpu_destroy(ctx);
}

static void memory_of_another_device_is_refused(void **state) {
  (void)state;
  if (!cuda_fault_is_faked()) return; /* needs two GPUs */
  szgpu_ctx *const ctx = make_gpu(&small);
  cuda_fault_set(NULL, cudaSuccess, 0);
  cuda_fault_pointer_device = 1;
  szgpu_status const compressed = compress(ctx, &small), restored = decompress(ctx, &small);
  cuda_fault_pointer_device = -1;
  assert_int_equal(compressed, SZGPU_BAD_ARGUMENT);
  assert_int_equal(restored, SZGPU_BAD_ARGUMENT);
  assert_non_null(strstr(szgpu_last_error(ctx), "GPU 0"));
  szgpu_destroy(ctx);
}

/* Such an error was once taken for a failure of the next launch. */
static void an_error_that_the_program_left_standing_is_not_ours(void **state) {
  (void)state;
  szgpu_ctx *const ctx = make_gpu(&small);
  cuda_fault_set(NULL, cudaSuccess, 0);
  cuda_fault_leave_error(cudaErrorMemoryAllocation);
  assert_int_equal(reserve(ctx, &small), SZGPU_OK);
  szgpu_destroy(ctx);
}

/* A fake GPU computes nothing, and of that the host makes no compact form. */
static const work *computed(void) { return cuda_fault_is_faked() ? &roomy : &small; }

/* Before, work in the stream could still read the field after the call. */
static void a_call_that_fails_waits_for_its_work(void **state) {
  (void)state;
  const work *const w = computed();
  szgpu_ctx *const ctx = make_gpu(w);
  cuda_fault_set(NULL, cudaSuccess, 0);
  uint8_t too_small[16];
  size_t archive_bytes;
  assert_int_equal(szgpu_compress(ctx, &w->c.params, &w->c.shape, w->c.field, too_small,
                                  sizeof too_small, &archive_bytes),
                   SZGPU_CAPACITY);
  assert_true(cuda_fault_is_idle());
  goes_on(ctx, w);
  szgpu_destroy(ctx);
}

static int stop(void *user, uint64_t done_values, uint64_t total_values) {
  (void)user, (void)done_values, (void)total_values;
  return 1;
}

/* Before, so could work in the other streams. */
static void a_call_that_is_stopped_waits_for_its_work(void **state) {
  (void)state;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CUDA;
  options.progress = stop;
  cuda_fault_set(NULL, cudaSuccess, 0);
  for (size_t w = 0; w < ARRAY_COUNT(works); w++) {
    szgpu_ctx *ctx;
    options.decoder = works[w]->decoder;
    assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
    assert_int_equal(decompress(ctx, works[w]), SZGPU_CANCELLED);
    assert_true(cuda_fault_is_idle());
    szgpu_destroy(ctx);
  }
}

/* A program may create ctxs before it looks for a GPU, and fork. */
static void creating_a_ctx_touches_no_device(void **state) {
  (void)state;
  cuda_fault_set("cudaGetDeviceCount", cudaErrorNoDevice, 0);
  szgpu_ctx *const ctx = make_gpu(&small);
  szgpu_destroy(ctx);
  szgpu_destroy(cuda_make_ctx(SZGPU_BACKEND_AUTO, SZGPU_DECODER_AUTO, NULL));
  assert_int_equal(cuda_fault_calls(), 0);
}

static void counts_no_devices_where_the_runtime_fails(void **state) {
  (void)state;
  cuda_fault_set(NULL, cudaSuccess, 0);
  int const there = szgpu_device_count();
  assert_true(there >= 1);
  cuda_fault_set("cudaGetDeviceCount", cudaErrorNoDevice, 0);
  assert_int_equal(szgpu_device_count(), 0);
  cuda_fault_set(NULL, cudaSuccess, 0);
  assert_int_equal(szgpu_device_count(), there);
}

static void the_cpu_backend_touches_no_device(void **state) {
  (void)state;
  cuda_fault_set("cudaGetDeviceCount", cudaErrorNoDevice, 0);
  szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, NULL);
  for (size_t f = 0; f < ARRAY_COUNT(functions); f++)
    assert_int_equal(functions[f](ctx, &small), SZGPU_OK);
  szgpu_destroy(ctx);
  assert_int_equal(cuda_fault_calls(), 0);
}

/* ---- the backend that chooses ---- */

static void auto_takes_the_cpu_where_the_gpu_fails_and_says_why(void **state) {
  (void)state;
  static const fault out_of_memory = {"cudaMalloc", cudaErrorMemoryAllocation, SZGPU_OUT_OF_MEMORY};
  fault const met[] = {faults[0], faults[2], faults[3], out_of_memory};
  for (size_t i = 0; i < ARRAY_COUNT(met); i++)
    for (int f = 0; f < 2; f++) {
      szgpu_ctx *const ctx = cuda_make_ctx(SZGPU_BACKEND_AUTO, SZGPU_DECODER_AUTO, NULL);
      assert_string_equal(szgpu_last_note(ctx), "");
      cuda_fault_set(met[i].function, met[i].error, 0);
      szgpu_status const status = functions[f](ctx, &large);
      assert_true(cuda_fault_was_met());
      if (status != SZGPU_OK)
        fail_msg("'%s': %s", cudaGetErrorString(met[i].error), szgpu_status_text(status));
      if (!strstr(szgpu_last_note(ctx), szgpu_status_text(met[i].status)))
        fail_msg("the note is '%s'", szgpu_last_note(ctx));
      assert_string_equal(szgpu_last_error(ctx), "");
      assert_int_equal(functions[f](ctx, &small), SZGPU_OK);
      assert_string_equal(szgpu_last_note(ctx), "");
      szgpu_destroy(ctx);
    }
}

/* ---- memory reserved ---- */

/* Memory that kernels can access, filled with the contents. */
static void *reachable_copy_of(const void *contents, size_t bytes) {
  if (!cuda_fault_is_faked()) return cuda_copy_of(contents, bytes);
  return memcpy(test_allocate(bytes), contents, bytes);
}

static void release_reachable(void *memory) {
  if (cuda_fault_is_faked())
    free(memory);
  else
    cuda_release(memory);
}

/* Compresses and restores between buffers on the GPU after szgpu_reserve, while `allocator` fails.
 * A fake GPU computes nothing, so its results are not checked. */
static void works_without(const char *allocator, const szgpu_params *params) {
  const work *const w = computed();
  size_t capacity, archive_bytes = 0;
  szgpu_ctx *const ctx = make_gpu(w);
  cuda_fault_set(NULL, cudaSuccess, 0);
  assert_int_equal(szgpu_sizes(ctx, params, &w->c.shape, NULL, &capacity), SZGPU_OK);
  void *const field = reachable_copy_of(w->c.field, w->field_bytes);
  void *const zeros = calloc(1, capacity);
  assert_non_null(zeros);
  void *const archive = reachable_copy_of(zeros, capacity);
  assert_int_equal(szgpu_reserve(ctx, params, &w->c.shape), SZGPU_OK);
  if (cuda_fault_is_faked()) cuda_fault_pointer_device = 0; /* host memory passes for it */
  cuda_fault_set(allocator, cudaErrorMemoryAllocation, 0);
  szgpu_status const compressed =
      szgpu_compress(ctx, params, &w->c.shape, field, archive, capacity, &archive_bytes);
  szgpu_status const restored =
      szgpu_decompress(ctx, archive, archive_bytes, field, w->field_bytes);
  cuda_fault_pointer_device = -1;
  assert_false(cuda_fault_was_met());
  if (!cuda_fault_is_faked()) {
    assert_int_equal(compressed, SZGPU_OK);
    assert_int_equal(restored, SZGPU_OK);
  }
  cuda_fault_set(NULL, cudaSuccess, 0);
  release_reachable(archive);
  release_reachable(field);
  free(zeros);
  szgpu_destroy(ctx);
}

static void what_is_reserved_is_enough(void **state) {
  (void)state;
  static const char *const allocators[] = {"cudaMalloc", "cudaHostAlloc"};
  float *const field = (float *)computed()->c.field;
  float const first = field[0], second = field[1];
  for (size_t i = 0; i < ARRAY_COUNT(allocators); i++)
    for (uint64_t frame_rows = 0; frame_rows <= 16; frame_rows += 16)
      for (int kind = 0; kind < 3; kind++) { /* plain, with outliers, raw */
        szgpu_params params = computed()->c.params;
        params.frame_rows = frame_rows;
        if (kind == 1) field[0] = INFINITY, field[1] = 1e20f;
        if (kind == 2) params.bound = 1e-30;
        works_without(allocators[i], &params);
        field[0] = first, field[1] = second;
      }
}

/* ---- with a real GPU: every call fails once ---- */

static const char *const called[] = {"cudaGetDeviceCount",
                                     "cudaGetDevice",
                                     "cudaSetDevice",
                                     "cudaDeviceGetAttribute",
                                     "cudaMalloc",
                                     "cudaHostAlloc",
                                     "cudaMemGetInfo",
                                     "cudaMemcpyAsync",
                                     "cudaMemsetAsync",
                                     "cudaStreamSynchronize",
                                     "cudaPeekAtLastError",
                                     "cudaEventRecord",
                                     "cudaFuncGetAttributes",
                                     "cudaFuncSetAttribute",
                                     "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                                     "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                                     "cudaLaunchKernel",
                                     "cudaLaunchKernelExC",
                                     "__cudaLaunchKernel",
                                     "cudaStreamCreateWithFlags",
                                     "cudaStreamCreateWithPriority",
                                     "cudaDeviceGetStreamPriorityRange",
                                     "cudaEventCreateWithFlags",
                                     "cudaStreamWaitEvent",
                                     "cudaPointerGetAttributes"};

/* Fails the n-th call of a function for n = 1, 2, ... until the work needs no more. */
static long fails_at_every_call(const char *function, work_function run, const work *w) {
  for (long n = 0; n < 2000; n += cuda_is_quick() && n > 2 ? 10 : 1) {
    szgpu_ctx *const ctx = make_gpu(w);
    cuda_fault_set(function, cudaErrorUnknown, n);
    szgpu_status const status = run(ctx, w);
    bool const was_met = cuda_fault_was_met();
    if (status != SZGPU_OK && status != SZGPU_DEVICE_ERROR && status != SZGPU_NO_DEVICE)
      fail_msg("call %ld of %s failed: %s", n, function, szgpu_status_text(status));
    if (status != SZGPU_OK) assert_string_not_equal(szgpu_last_error(ctx), "");
    goes_on(ctx, w);
    szgpu_destroy(ctx);
    if (!was_met) return n;
  }
  fail_msg("over 2000 calls of %s", function);
  return 0;
}

static void any_call_of_the_runtime_may_fail(void **state) {
  (void)state;
  if (cuda_fault_is_faked()) {
    print_message("skipped: CUDA's runtime is faked, for want of a GPU\n");
    skip();
  }
  long met = 0;
  for (size_t i = 0; i < ARRAY_COUNT(called); i++)
    for (size_t f = 0; f < ARRAY_COUNT(functions); f++)
      for (size_t w = 0; w < ARRAY_COUNT(works); w++)
        met += fails_at_every_call(called[i], functions[f], works[w]);
  assert_in_range(met, 20, 100000);
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code == 1) return 1;
  if (exit_code) cuda_fault_fake_gpu();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failing_runtime_gives_a_status_and_a_sentence),
      cmocka_unit_test(the_host_waits_once_more_for_the_decoder_hierarchical),
      cmocka_unit_test(out_of_device_memory_says_how_much_is_needed_and_free),
      cmocka_unit_test(out_of_pinned_memory_says_so),
      cmocka_unit_test(a_device_that_is_not_there_is_named),
      cmocka_unit_test(a_device_of_too_little_shared_memory_is_refused),
      cmocka_unit_test(memory_of_another_device_is_refused),
      cmocka_unit_test(an_error_that_the_program_left_standing_is_not_ours),
      cmocka_unit_test(a_call_that_fails_waits_for_its_work),
      cmocka_unit_test(a_call_that_is_stopped_waits_for_its_work),
      cmocka_unit_test(creating_a_ctx_touches_no_device),
      cmocka_unit_test(counts_no_devices_where_the_runtime_fails),
      cmocka_unit_test(the_cpu_backend_touches_no_device),
      cmocka_unit_test(auto_takes_the_cpu_where_the_gpu_fails_and_says_why),
      cmocka_unit_test(what_is_reserved_is_enough),
      cmocka_unit_test(any_call_of_the_runtime_may_fail),
  };
  return cmocka_run_group_tests(tests, make_works, free_works);
}
