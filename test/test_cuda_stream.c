/* test_cuda_stream.c - streams through a GPU make the CPU's archives and fields.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ctxs share the GPU, so that frames of both are on their way at the same time.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_support.h"
#include "memory_streams.h"
#include "sampled_fields.h"

enum { CTXS = 3 };
static szgpu_ctx *ctxs[CTXS]; /* two of the GPU, one of the CPU */

static int make_ctxs(void **state) {
  for (int i = 0; i < CTXS; i++)
    ctxs[i] =
        cuda_make_ctx(i < 2 ? SZGPU_BACKEND_CUDA : SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, NULL);
  return cuda_make_ctxs(state);
}

static int destroy_ctxs(void **state) {
  for (int i = 0; i < CTXS; i++) szgpu_destroy(ctxs[i]);
  return cuda_destroy_ctxs(state);
}

static szgpu_status compress_to(int ctx_count, const cuda_case *c, memory_sink *archive,
                                uint64_t *archive_bytes) {
  memory_source values = source_of(c->field, test_field_bytes(&c->shape));
  szgpu_source const source = {.read = read_memory, .user = &values};
  szgpu_sink const sink = {.write = write_memory, .user = archive};
  return szgpu_compress_stream(ctxs, ctx_count, &c->params, &c->shape, &source, &sink,
                               archive_bytes);
}

static szgpu_status restore_to(int ctx_count, const test_archive *archive, uint64_t available_bytes,
                               memory_sink *field) {
  memory_source packed = source_of(archive->bytes, available_bytes);
  szgpu_source const source = {.read = read_memory, .user = &packed};
  szgpu_sink const sink = {.write = write_memory, .user = field};
  uint64_t archive_bytes;
  return szgpu_decompress_stream(ctxs, ctx_count, &source, &sink, &archive_bytes);
}

static void compare_archives(const cuda_case *c, int ctx_count, const test_archive *whole) {
  memory_sink packed = sink_of(2 * whole->byte_count + 4096);
  test_archive found = {packed.bytes, 0};
  szgpu_status const status = compress_to(ctx_count, c, &packed, &found.byte_count);
  const char *const difference = status == SZGPU_OK ? cuda_difference(whole, &found) : NULL;
  if (status != SZGPU_OK)
    cuda_complain(c, "%d ctxs: %s, %s", ctx_count, szgpu_status_text(status),
                  szgpu_last_error(ctxs[0]));
  if (difference) cuda_complain(c, "%d ctxs: %s", ctx_count, difference);
  free(packed.bytes);
}

static void compare_fields(const cuda_case *c, int ctx_count, const test_archive *whole) {
  size_t const field_bytes = test_field_bytes(&c->shape);
  void *const expected = test_decompress(cuda_cpu, whole, field_bytes);
  memory_sink unpacked = sink_of(field_bytes);
  szgpu_status const status = restore_to(ctx_count, whole, whole->byte_count, &unpacked);
  if (status != SZGPU_OK)
    cuda_complain(c, "%d ctxs: restoring: %s, %s", ctx_count, szgpu_status_text(status),
                  szgpu_last_error(ctxs[0]));
  else if (unpacked.end != field_bytes || memcmp(unpacked.bytes, expected, field_bytes) != 0)
    cuda_complain(c, "%d ctxs: the restored fields differ", ctx_count);
  free(unpacked.bytes);
  free(expected);
}

/* From memory to memory, with nothing copied on the host but archives. */
static void compare_in_memory(const cuda_case *c, int ctx_count, const test_archive *whole) {
  size_t const field_bytes = test_field_bytes(&c->shape);
  void *const expected = test_decompress(cuda_cpu, whole, field_bytes);
  memory_sink packed = sink_of(whole->byte_count), unpacked = sink_of(field_bytes);
  szgpu_source const values = lent_source(c->field, field_bytes);
  szgpu_source const archive = lent_source(whole->bytes, whole->byte_count);
  szgpu_sink const room = lent_sink(packed.bytes, packed.capacity);
  szgpu_sink const back = lent_sink(unpacked.bytes, unpacked.capacity);
  test_archive found = {packed.bytes, 0};
  uint64_t bytes;
  szgpu_status const there = szgpu_compress_stream(ctxs, ctx_count, &c->params, &c->shape, &values,
                                                   &room, &found.byte_count);
  const char *const difference = there == SZGPU_OK ? cuda_difference(whole, &found) : NULL;
  szgpu_status const restored = szgpu_decompress_stream(ctxs, ctx_count, &archive, &back, &bytes);
  if (there != SZGPU_OK || restored != SZGPU_OK)
    cuda_complain(c, "%d ctxs, in memory: %s, %s", ctx_count, szgpu_status_text(there),
                  szgpu_status_text(restored));
  if (difference) cuda_complain(c, "%d ctxs, in memory: %s", ctx_count, difference);
  if (memcmp(unpacked.bytes, expected, field_bytes) != 0)
    cuda_complain(c, "%d ctxs, in memory: the restored fields differ", ctx_count);
  free(packed.bytes);
  free(unpacked.bytes);
  free(expected);
}

static void compare(const cuda_case *c, int ctx_count) {
  test_archive whole;
  assert_int_equal(cuda_compress(cuda_cpu, c, &whole), SZGPU_OK);
  compare_archives(c, ctx_count, &whole);
  compare_fields(c, ctx_count, &whole);
  compare_in_memory(c, ctx_count, &whole);
  free(whole.bytes);
}

static void shapes_and_frames_make_the_cpus_bytes(void **state) {
  (void)state;
  static const uint64_t frame_rows[] = {1, 16, 40, 4096, 9000, 0};
  for (size_t s = 0; s < test_awkward_shape_count; s++) {
    const szgpu_shape *const shape = &test_awkward_shapes[s];
    void *const field = test_make_waves(shape);
    for (size_t f = cuda_is_quick() ? 4 : 0; f < ARRAY_COUNT(frame_rows); f++) {
      cuda_case c = {test_params(f % 2 ? SZGPU_MODE_REL : SZGPU_MODE_ABS, 1e-3), *shape, field};
      c.params.frame_rows = frame_rows[f];
      compare(&c, 1 + (int)((s + f) % CTXS));
    }
    free(field);
  }
  cuda_assert_no_complaints();
}

/* Every kind of frame, with fill, and under zstd, which the CPU packs. */
static void modes_make_the_cpus_bytes(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 70, 33, 40, 0);
  float *const field = test_make_waves(&shape);
  for (int i = 0; i < 3000; i++) field[i * 7] = -9999.0f;
  for (int mode = SZGPU_MODE_REL; mode <= SZGPU_MODE_LOSSLESS; mode++)
    for (int layout = SZGPU_LAYOUT_LINEAR; layout <= SZGPU_LAYOUT_TILE; layout++)
      for (int variant = 0; variant < 6; variant++) {
        bool const is_lossless = mode == SZGPU_MODE_LOSSLESS;
        cuda_case c = {test_params((szgpu_mode)mode, mode == SZGPU_MODE_PSNR ? 70 : 1e-3), shape,
                       field};
        c.params.layout = (szgpu_layout)layout;
        c.params.frame_rows = 16;
        if (variant == 1) c.params.zstd_level = 3;
        if (variant == 2 && !is_lossless) c.params.has_fill = 1, c.params.fill = -9999.0;
        if (variant == 3 && !is_lossless && layout == SZGPU_LAYOUT_TILE)
          c.params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
        if (variant == 4) c.params.predictor = SZGPU_PREDICTOR_LORENZO;
        if (variant == 5 && !is_lossless) c.params.bound *= 1e-9; /* planes or raw frames */
        compare(&c, 1 + variant % CTXS);
      }
  free(field);
  cuda_assert_no_complaints();
}

static void types_make_the_cpus_bytes(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_FP8; dtype++) {
    szgpu_shape const shape = test_shape((szgpu_dtype)dtype, 1, 30011, 0, 0, 0);
    void *const field = dtype <= SZGPU_F64 ? test_make_waves(&shape) : test_make_bits(&shape);
    cuda_case c = {test_params(SZGPU_MODE_LOSSLESS, 0), shape, field};
    c.params.frame_rows = 8192;
    compare(&c, 2);
    free(field);
  }
  cuda_assert_no_complaints();
}

/* The bound follows from a sample of pieces of the field; some archives are begun anew. */
static void sampled_bounds_make_the_cpus_bytes(void **state) {
  (void)state;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_F64; dtype++)
    for (int which = 0; which < SAMPLED_FIELDS; which++) {
      if (cuda_is_quick() && which % 4) continue;
      sampled_field const field = sampled_field_make((szgpu_dtype)dtype, which);
      cuda_case c = {field.params, field.shape, field.values};
      for (int frames = 0; frames < 2; frames++) {
        c.params.frame_rows = frames ? field.shape.dims[0] / 3 : 0;
        compare(&c, 1 + which % CTXS);
      }
      free(field.values);
    }
  cuda_assert_no_complaints();
}

/* Frames of 8 MiB, more than there are slots: transfers of one ctx meet the kernels of the other,
 * and slots are used again. */
static void large_frames_overlap(void **state) {
  (void)state;
  uint64_t const rows = cuda_is_quick() ? 128 : 1024;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, rows, 256, 256, 0);
  void *const field = test_make_waves(&shape);
  for (int predictor = SZGPU_PREDICTOR_LORENZO; predictor <= SZGPU_PREDICTOR_INTERPOLATION;
       predictor++) {
    cuda_case c = {test_params(SZGPU_MODE_REL, 1e-3), shape, field};
    c.params.predictor = (szgpu_predictor)predictor;
    c.params.frame_rows = 32;
    for (int ctx_count = 1; ctx_count <= CTXS; ctx_count++) compare(&c, ctx_count);
  }
  free(field);
  cuda_assert_no_complaints();
}

/* Cut-off and damaged archives end as they do on the CPU, and the ctxs stay usable. */
static void bad_archives_are_named(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 96, 20, 30, 0);
  cuda_case c = {test_params(SZGPU_MODE_REL, 1e-3), shape, test_make_waves(&shape)};
  c.params.frame_rows = 16;
  test_archive whole;
  memory_sink unpacked = sink_of(test_field_bytes(&shape));
  assert_int_equal(cuda_compress(cuda_cpu, &c, &whole), SZGPU_OK);
  uint64_t const step = cuda_is_quick() ? 9973 : 499;
  for (uint64_t cut = 0; cut < whole.byte_count; cut += cut < 300 ? 37 : step)
    assert_int_equal(restore_to(2, &whole, cut, &unpacked), SZGPU_TRUNCATED);
  szgpu_frame_info frames[6];
  for (int i = 0; i < 6; i++) frames[i] = (szgpu_frame_info)SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(whole.bytes, whole.byte_count, 0, 6, frames), SZGPU_OK);
  for (int i = 0; i < 6; i++) {
    uint8_t *const damaged = &whole.bytes[frames[i].sections[0].offset];
    *damaged ^= 1;
    unpacked.end = 0;
    assert_int_equal(restore_to(1 + i % 2, &whole, whole.byte_count, &unpacked),
                     SZGPU_BAD_CHECKSUM);
    assert_non_null(strstr(szgpu_last_error(ctxs[0]), "frame"));
    assert_int_equal(unpacked.end, (uint64_t)i * (test_field_bytes(&shape) / 6));
    *damaged ^= 1;
  }
  compare(&c, 2);
  free(unpacked.bytes);
  free(whole.bytes);
  free((void *)c.field);
  cuda_assert_no_complaints();
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_and_frames_make_the_cpus_bytes),
      cmocka_unit_test(modes_make_the_cpus_bytes),
      cmocka_unit_test(types_make_the_cpus_bytes),
      cmocka_unit_test(sampled_bounds_make_the_cpus_bytes),
      cmocka_unit_test(large_frames_overlap),
      cmocka_unit_test(bad_archives_are_named),
  };
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
