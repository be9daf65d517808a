/* cuda_support.c - what the tests of the CUDA backend share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda_support.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMPLAINTS_SHOWN = 20 };

szgpu_ctx *cuda_cpu;
szgpu_ctx *cuda_gpus[CUDA_MOST_DECODERS];
int cuda_gpu_count;

static int complaint_count;
static szgpu_decoder decoder_of[CUDA_MOST_DECODERS]; /* by the ctx's index */

int cuda_exit_code(void) {
  int device_count = 0;
  cudaError_t const error = cudaGetDeviceCount(&device_count);
  if (error == cudaSuccess && device_count > 0) return 0;
  printf("no usable GPU (%s)\n", cudaGetErrorString(error));
  return getenv("SZGPU_REQUIRE_GPU") ? 1 : 77;
}

bool cuda_is_quick(void) { return getenv("SZGPU_TEST_QUICK") != NULL; }

void cuda_skip_damage(void) {
  if (getenv("SZGPU_TEST_SOUND")) skip();
}

/* ---- ctxs ---- */

static szgpu_status try_create(szgpu_backend backend, szgpu_decoder decoder,
                               struct CUstream_st *stream, szgpu_ctx **ctx) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = backend;
  options.decoder = decoder;
  options.stream = stream;
  options.threads = backend == SZGPU_BACKEND_AUTO ? 1 : 2; /* one: CUDA soon pays */
  return szgpu_create(ctx, &options);
}

szgpu_ctx *cuda_make_ctx(szgpu_backend backend, szgpu_decoder decoder, struct CUstream_st *stream) {
  szgpu_ctx *ctx;
  assert_int_equal(try_create(backend, decoder, stream, &ctx), SZGPU_OK);
  return ctx;
}

/* A ctx for each decoder that the backend takes, the default one first. */
static int make_gpus(szgpu_ctx **gpus) {
  gpus[0] = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, NULL);
  int count = 1;
  for (int decoder = 1; decoder < CUDA_MOST_DECODERS; decoder++) {
    decoder_of[count] = (szgpu_decoder)decoder;
    count += try_create(SZGPU_BACKEND_CUDA, (szgpu_decoder)decoder, NULL, &gpus[count]) == SZGPU_OK;
  }
  return count;
}

bool cuda_reads(int gpu, szgpu_layout layout) {
  szgpu_info const info = {.layout = layout, .has_gaps = layout == SZGPU_LAYOUT_LINEAR};
  return szgpu_decoder_reads(decoder_of[gpu], &info);
}

bool cuda_reads_archive(int gpu, const test_archive *archive) {
  szgpu_info const info = test_inspect(archive);
  return szgpu_decoder_reads(decoder_of[gpu], &info);
}

int cuda_make_ctxs(void **state) {
  (void)state;
  cuda_cpu = cuda_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, NULL);
  cuda_gpu_count = make_gpus(cuda_gpus);
  print_message("           decoders of the backend: %d\n", cuda_gpu_count);
  return 0;
}

int cuda_destroy_ctxs(void **state) {
  (void)state;
  szgpu_destroy(cuda_cpu);
  for (int i = 0; i < cuda_gpu_count; i++) szgpu_destroy(cuda_gpus[i]);
  return 0;
}

/* ---- device memory ---- */

static void must(cudaError_t error) {
  if (error != cudaSuccess) fail_msg("CUDA: %s", cudaGetErrorString(error));
}

void *cuda_allocate(size_t bytes) {
  void *device = NULL;
  must(cudaMalloc(&device, bytes ? bytes : 1));
  must(cudaMemset(device, 0xA5, bytes ? bytes : 1));
  must(cudaDeviceSynchronize());
  return device;
}

void *cuda_copy_of(const void *host, size_t bytes) {
  void *const device = cuda_allocate(bytes);
  if (bytes) must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  must(cudaDeviceSynchronize()); /* the copy may return early, and streams do not wait for it */
  return device;
}

void *cuda_host_copy_of(const void *device, size_t bytes) {
  void *const host = test_allocate(bytes);
  must(cudaDeviceSynchronize());
  if (bytes) must(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
  return host;
}

void cuda_release(void *device) { must(cudaFree(device)); }

/* ---- complaints ---- */

static void print_case(const cuda_case *c) {
  static const char *const modes[] = {"rel", "abs", "psnr", "lossless"};
  static const char *const dtypes[] = {"f32", "f64", "u8", "bf16", "f16", "fp8"};
  static const char *const predictors[] = {"", " lorenzo", " interpolation"};
  print_message("  %s%s%s, %s ", c->params.layout == SZGPU_LAYOUT_TILE ? "tile" : "linear",
                c->params.without_gaps ? " without gaps" : "", predictors[c->params.predictor],
                dtypes[c->shape.dtype]);
  for (int i = 0; i < c->shape.ndim; i++)
    print_message("%s%llu", i ? "x" : "", (unsigned long long)c->shape.dims[i]);
  print_message(", %s %g, radius %u, frame rows %llu, zstd %d", modes[c->params.mode],
                c->params.bound, c->params.radius, (unsigned long long)c->params.frame_rows,
                c->params.zstd_level);
  if (c->params.has_fill) print_message(", fill %g", c->params.fill);
  print_message(":\n");
}

void cuda_complain(const cuda_case *c, const char *format, ...) {
  if (complaint_count++ >= MOST_COMPLAINTS_SHOWN) return;
  char sentence[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (c) print_case(c);
  print_message("    %s\n", sentence);
}

void cuda_assert_no_complaints(void) {
  int const count = complaint_count;
  complaint_count = 0;
  if (count) fail_msg("%d complaints", count);
}

/* ---- the comparison ---- */

/* Names the section of a sound archive that holds a byte. */
static void name_place(const test_archive *archive, size_t offset, char *name, size_t name_bytes) {
  szgpu_info const info = test_inspect(archive);
  snprintf(name, name_bytes, "a header");
  for (uint64_t i = 0; i < info.frame_count; i++) {
    szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
    assert_int_equal(szgpu_inspect_frames(archive->bytes, archive->byte_count, i, 1, &frame),
                     SZGPU_OK);
    for (uint32_t s = 0; s < frame.section_count; s++) {
      szgpu_section_info const *const section = &frame.sections[s];
      if (offset < section->offset || offset >= section->offset + section->stored_bytes) continue;
      snprintf(name, name_bytes, "byte %llu of %llu of the %s of %s frame %llu",
               (unsigned long long)(offset - section->offset),
               (unsigned long long)section->stored_bytes, section->name, frame.kind,
               (unsigned long long)i);
    }
  }
}

const char *cuda_difference(const test_archive *expected, const test_archive *found) {
  static char sentence[320];
  size_t const common =
      expected->byte_count < found->byte_count ? expected->byte_count : found->byte_count;
  size_t at = 0;
  while (at < common && expected->bytes[at] == found->bytes[at]) at++;
  if (at == expected->byte_count && at == found->byte_count) return NULL;
  char place[160] = "the end";
  if (at < expected->byte_count) name_place(expected, at, place, sizeof place);
  snprintf(sentence, sizeof sentence, "archives of %zu and %zu bytes differ from byte %zu on: %s",
           expected->byte_count, found->byte_count, at, place);
  return sentence;
}

szgpu_status cuda_compress(szgpu_ctx *ctx, const cuda_case *c, test_archive *archive) {
  size_t capacity;
  *archive = (test_archive){NULL, 0};
  szgpu_status const status = szgpu_sizes(ctx, &c->params, &c->shape, NULL, &capacity);
  if (status != SZGPU_OK) return status;
  archive->bytes = test_allocate(capacity);
  return szgpu_compress(ctx, &c->params, &c->shape, c->field, archive->bytes, capacity,
                        &archive->byte_count);
}

/* The index of the first value that differs; the value count if none does. */
static uint64_t first_other_value(const szgpu_shape *shape, const void *a, const void *b) {
  uint64_t const count = test_value_count(shape);
  if (memcmp(a, b, test_field_bytes(shape)) == 0) return count;
  uint64_t i = 0;
  while (test_bits_at(shape->dtype, a, i) == test_bits_at(shape->dtype, b, i)) i++;
  return i;
}

static void compare_restored(const cuda_case *c, szgpu_ctx *gpu, int number,
                             const test_archive *archive, const void *expected) {
  size_t const bytes = test_field_bytes(&c->shape);
  void *const restored = test_allocate(bytes);
  memset(restored, 0xA5, bytes);
  szgpu_status const status =
      szgpu_decompress(gpu, archive->bytes, archive->byte_count, restored, bytes);
  uint64_t const other = first_other_value(&c->shape, expected, restored);
  if (status != SZGPU_OK)
    cuda_complain(c, "GPU ctx %d does not restore: %s; %s", number, szgpu_status_text(status),
                  szgpu_last_error(gpu));
  else if (other < test_value_count(&c->shape))
    cuda_complain(c, "GPU ctx %d restores value %llu as %.9g, the CPU as %.9g", number,
                  (unsigned long long)other, test_value_at(c->shape.dtype, restored, other),
                  test_value_at(c->shape.dtype, expected, other));
  free(restored);
}

static void compare_on(const cuda_case *c, szgpu_ctx *const *gpus, int gpu_count) {
  test_archive expected = test_compress(cuda_cpu, &c->params, &c->shape, c->field), found;
  szgpu_status const status = cuda_compress(gpus[0], c, &found);
  const char *const difference = status ? NULL : cuda_difference(&expected, &found);
  if (status != SZGPU_OK)
    cuda_complain(c, "the GPU does not compress: %s; %s", szgpu_status_text(status),
                  szgpu_last_error(gpus[0]));
  if (difference) cuda_complain(c, "%s", difference);
  void *const restored = test_decompress(cuda_cpu, &expected, test_field_bytes(&c->shape));
  for (int i = 0; i < gpu_count; i++)
    if (cuda_reads_archive(i, &expected)) compare_restored(c, gpus[i], i, &expected, restored);
  free(restored);
  free(found.bytes);
  free(expected.bytes);
}

void cuda_compare(const cuda_case *c) {
  if (!cuda_is_quick()) {
    compare_on(c, cuda_gpus, cuda_gpu_count);
    return;
  }
  szgpu_ctx *new_gpus[CUDA_MOST_DECODERS];
  int const count = make_gpus(new_gpus);
  compare_on(c, new_gpus, count);
  for (int i = 0; i < count; i++) szgpu_destroy(new_gpus[i]);
}

void cuda_compare_layouts(const cuda_case *c) {
  cuda_case of_layout = *c;
  of_layout.params.layout = SZGPU_LAYOUT_LINEAR;
  cuda_compare(&of_layout);
  of_layout.params.layout = SZGPU_LAYOUT_TILE;
  if (c->params.radius == 0) cuda_compare(&of_layout);
}

void cuda_assert_workspace_suffices(const szgpu_params *params, const szgpu_shape *shape,
                                    const void *field) {
  szgpu_ctx *const gpu = cuda_make_ctx(SZGPU_BACKEND_CUDA, SZGPU_DECODER_AUTO, NULL);
  size_t const field_bytes = test_field_bytes(shape);
  size_t workspace_bytes, most_bytes, archive_bytes;
  void *const on_device = cuda_copy_of(field, field_bytes);
  assert_int_equal(szgpu_sizes(gpu, params, shape, &workspace_bytes, &most_bytes), SZGPU_OK);
  void *const archive = cuda_allocate(most_bytes);
  assert_int_equal(szgpu_reserve(gpu, params, shape), SZGPU_OK);
  assert_int_equal(
      szgpu_compress(gpu, params, shape, on_device, archive, most_bytes, &archive_bytes), SZGPU_OK);
  assert_int_equal(szgpu_decompress(gpu, archive, archive_bytes, on_device, field_bytes), SZGPU_OK);
  void *const restored = cuda_host_copy_of(on_device, field_bytes);
  test_archive const copy = {cuda_host_copy_of(archive, archive_bytes), archive_bytes};
  szgpu_info const info = test_inspect(&copy);
  test_assert_bound(shape, field, restored, &info);
  free(copy.bytes);
  free(restored);
  cuda_release(archive);
  cuda_release(on_device);
  szgpu_destroy(gpu);
}
