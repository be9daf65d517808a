/* archive_ways.c - see archive_ways.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_ways.h"

#include <stdlib.h>

#include "archive_edit.h"
#include "memory_streams.h"
#include "regions.h"

szgpu_info assert_comes_back(szgpu_ctx *ctx, szgpu_ctx *other, const szgpu_params *params,
                             const szgpu_shape *shape, const void *field) {
  size_t const field_bytes = test_field_bytes(shape);
  test_archive const archive = test_compress(ctx, params, shape, field);
  test_archive const again = test_compress(other, params, shape, field);
  assert_int_equal(again.byte_count, archive.byte_count);
  assert_memory_equal(again.bytes, archive.bytes, archive.byte_count);
  szgpu_info info = test_inspect(&archive);
  enum { FLAGS = 12, LIMITS_OR_FILLS = 0x1C };
  test_archive const plain = archive_plain(archive_copy(&archive, archive.byte_count));
  bool const is_new = (plain.bytes[FLAGS] & LIMITS_OR_FILLS) != 0;
  assert_true(info.format_version == 9 || plain.byte_count == archive.byte_count);
  info.format_version = archive_plain_version(&plain);
  free(plain.bytes);
  uint32_t const newest = test_has_blended(&archive)       ? 12
                          : info.joined_axes != 0          ? 11
                          : test_has_halved_base(&archive) ? 10
                          : is_new                         ? 8
                                                           : 0;
  assert_in_range(info.format_version, newest ? newest : 1, newest ? newest : 7);
  if (!newest) assert_int_equal(info.format_version == 7, test_has_coded_planes(&archive));
  uint8_t *const restored = test_decompress(other, &archive, field_bytes);
  test_assert_bound(shape, field, restored, &info);
  uint64_t const extent = shape->dims[0], first = extent / 3, rows = extent - first - extent / 4;
  size_t const row_bytes = field_bytes / extent;
  uint8_t *const slab = test_allocate(rows * row_bytes);
  assert_int_equal(szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, first, rows, slab,
                                         rows * row_bytes),
                   SZGPU_OK);
  assert_memory_equal(slab, restored + first * row_bytes, rows * row_bytes);
  free(slab);
  free(restored);
  free(archive.bytes);
  free(again.bytes);
  return info;
}

static void assert_streams_alike(szgpu_ctx *const *ctxs, int ctx_count, const szgpu_params *params,
                                 const szgpu_shape *shape, const szgpu_source *field,
                                 const szgpu_sink *archive, const szgpu_source *packed,
                                 const szgpu_sink *unpacked, uint64_t expected_bytes) {
  uint64_t archive_bytes = 0;
  assert_int_equal(
      szgpu_compress_stream(ctxs, ctx_count, params, shape, field, archive, &archive_bytes),
      SZGPU_OK);
  assert_int_equal(archive_bytes, expected_bytes);
  assert_int_equal(szgpu_decompress_stream(ctxs, ctx_count, packed, unpacked, &archive_bytes),
                   SZGPU_OK);
  assert_int_equal(archive_bytes, expected_bytes);
}

void assert_streams_make_the_same(szgpu_ctx *ctx, szgpu_ctx *const *ctxs, int ctx_count,
                                  const szgpu_params *params, const szgpu_shape *shape,
                                  const void *field) {
  size_t const field_bytes = test_field_bytes(shape);
  test_archive const whole = test_compress(ctx, params, shape, field);
  void *const restored = test_decompress(ctx, &whole, field_bytes);
  for (int is_lent = 0; is_lent <= 1; is_lent++) {
    memory_sink archive = sink_of(whole.byte_count), unpacked = sink_of(field_bytes);
    memory_source values = source_of(field, field_bytes);
    memory_source packed = source_of(archive.bytes, whole.byte_count);
    szgpu_source const from_field = is_lent ? lent_source(field, field_bytes)
                                            : (szgpu_source){.read = read_memory, .user = &values};
    szgpu_sink const to_archive = is_lent ? lent_sink(archive.bytes, whole.byte_count)
                                          : (szgpu_sink){.write = write_memory, .user = &archive};
    szgpu_source const from_archive = is_lent
                                          ? lent_source(archive.bytes, whole.byte_count)
                                          : (szgpu_source){.read = read_memory, .user = &packed};
    szgpu_sink const to_field = is_lent ? lent_sink(unpacked.bytes, field_bytes)
                                        : (szgpu_sink){.write = write_memory, .user = &unpacked};
    assert_streams_alike(ctxs, ctx_count, params, shape, &from_field, &to_archive, &from_archive,
                         &to_field, whole.byte_count);
    assert_memory_equal(archive.bytes, whole.bytes, whole.byte_count);
    assert_memory_equal(unpacked.bytes, restored, field_bytes);
    free(archive.bytes);
    free(unpacked.bytes);
  }
  free(restored);
  free(whole.bytes);
}

static void assert_preview_is_of_the_whole(szgpu_ctx *ctx, const test_archive *archive,
                                           const szgpu_shape *shape, const void *whole) {
  szgpu_info const info = test_inspect(archive);
  szgpu_shape coarse;
  assert_int_equal(szgpu_level_shape(&info, 1, &coarse), SZGPU_OK);
  void *const preview = test_allocate(test_field_bytes(&coarse));
  assert_int_equal(szgpu_decompress_level(ctx, archive->bytes, archive->byte_count, 1, preview,
                                          test_field_bytes(&coarse)),
                   SZGPU_OK);
  for (uint64_t i = 0; i < test_value_count(&coarse); i++) {
    uint64_t const x = 2 * (i % coarse.dims[2]), row = i / coarse.dims[2];
    uint64_t const y = 2 * (row % coarse.dims[1]), z = 2 * (row / coarse.dims[1]);
    assert_int_equal(
        test_bits_at(shape->dtype, preview, i),
        test_bits_at(shape->dtype, whole, (z * shape->dims[1] + y) * shape->dims[2] + x));
  }
  free(preview);
}

void assert_parts_are_of_the_whole(szgpu_ctx *ctx, const test_archive *archive,
                                   const szgpu_shape *shape, const szgpu_region *box,
                                   bool has_preview) {
  void *const whole = test_decompress(ctx, archive, test_field_bytes(shape));
  uint8_t *const expected = region_slice(shape, box, whole);
  uint8_t *const found = test_allocate(region_bytes(shape, box));
  assert_int_equal(szgpu_decompress_region(ctx, archive->bytes, archive->byte_count, 0, box, found,
                                           region_bytes(shape, box)),
                   SZGPU_OK);
  assert_memory_equal(found, expected, region_bytes(shape, box));
  if (has_preview) assert_preview_is_of_the_whole(ctx, archive, shape, whole);
  free(found);
  free(expected);
  free(whole);
}

void assert_stated_workspace_suffices(const szgpu_params *params, const szgpu_shape *shape,
                                      const void *field) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  szgpu_ctx *limited;
  size_t workspace_bytes, archive_bytes;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = 1;
  assert_int_equal(szgpu_create(&limited, &options), SZGPU_OK);
  assert_int_equal(szgpu_sizes(limited, params, shape, &workspace_bytes, &archive_bytes), SZGPU_OK);
  assert_int_equal(szgpu_set_memory_limit(limited, workspace_bytes), SZGPU_OK);
  test_archive const archive = test_compress(limited, params, shape, field);
  assert_true(archive.byte_count <= archive_bytes);
  szgpu_destroy(limited);
  free(archive.bytes);
}
