/* test_stream_status.c - an archive that is cut short is refused alike in memory and from a stream.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "memory_streams.h"

/* The first byte_count bytes of an archive. */
static void assert_alike(szgpu_ctx *ctx, const uint8_t *archive, size_t byte_count, void *field,
                         size_t field_bytes) {
  memory_source from = source_of(archive, byte_count);
  memory_sink to = sink_of(field_bytes);
  szgpu_source const source = {.read = read_memory, .user = &from};
  szgpu_sink const sink = {.write = write_memory, .user = &to};
  uint64_t archive_bytes;
  szgpu_status const in_memory = szgpu_decompress(ctx, archive, byte_count, field, field_bytes);
  assert_int_equal(szgpu_decompress_stream(&ctx, 1, &source, &sink, &archive_bytes), in_memory);
  free(to.bytes);
}

/* A stream knows how long its archive is only at its end: it said UNSUPPORTED of one that was cut
 * short and that its decoder does not read, where szgpu_decompress said TRUNCATED. */
static void decoders_refuse_cut_archives_alike(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 48, 20, 30, 0);
  size_t const field_bytes = test_field_bytes(&shape);
  void *const field = test_make_waves(&shape), *const restored = test_allocate(field_bytes);
  szgpu_ctx *const plain = test_make_ctx(1);
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.frame_rows = 16;
  for (int kind = 0; kind < 4; kind++) {
    params.layout = kind % 2 ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR;
    params.mode = kind < 2 ? SZGPU_MODE_REL : SZGPU_MODE_LOSSLESS;
    test_archive const whole = test_compress(plain, &params, &shape, field);
    for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++) {
      if (!szgpu_decoder_runs_on((szgpu_decoder)d, SZGPU_BACKEND_CPU)) continue;
      szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
      options.backend = SZGPU_BACKEND_CPU;
      options.decoder = (szgpu_decoder)d;
      options.threads = 1;
      szgpu_ctx *ctx;
      assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
      for (size_t cut = 0; cut < whole.byte_count; cut += cut < 300 ? 7 : 4999)
        assert_alike(ctx, whole.bytes, cut, restored, field_bytes);
      assert_alike(ctx, whole.bytes, whole.byte_count, restored, field_bytes);
      szgpu_destroy(ctx);
    }
    free(whole.bytes);
  }
  szgpu_destroy(plain);
  free(field);
  free(restored);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(decoders_refuse_cut_archives_alike)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
