/* stream_readers.c - every CPU decoder of the linear layout, with one thread and with three.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "stream_readers.h"

#include <stdlib.h>
#include <string.h>

#include "container/format.h"

/* A too large allocation must return NULL, not end the test. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=2048";
}

szgpu_decoder const reader_decoders[READER_DECODERS] = {
    SZGPU_DECODER_AUTO,      SZGPU_DECODER_SERIAL,      SZGPU_DECODER_TABLE,
    SZGPU_DECODER_SELF_SYNC, SZGPU_DECODER_ALL_OFFSETS, SZGPU_DECODER_HIERARCHICAL};
szgpu_ctx *readers[READER_DECODERS][READER_THREAD_COUNTS];

int make_readers(void **state) {
  (void)state;
  for (int d = 0; d < READER_DECODERS; d++)
    for (int t = 0; t < READER_THREAD_COUNTS; t++) {
      szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
      options.backend = SZGPU_BACKEND_CPU;
      options.decoder = reader_decoders[d];
      options.threads = t == 0 ? 1 : 3;
      assert_int_equal(szgpu_create(&readers[d][t], &options), SZGPU_OK);
    }
  return 0;
}

int destroy_readers(void **state) {
  (void)state;
  for (int d = 0; d < READER_DECODERS; d++)
    for (int t = 0; t < READER_THREAD_COUNTS; t++) szgpu_destroy(readers[d][t]);
  return 0;
}

bool looks_at_gaps(szgpu_decoder decoder) {
  return decoder == SZGPU_DECODER_SERIAL || decoder == SZGPU_DECODER_HIERARCHICAL;
}

szgpu_status reader_decompress(szgpu_ctx *reader, const test_archive *archive, void *field,
                               size_t field_bytes) {
  return szgpu_decompress(reader, archive->bytes, archive->byte_count, field, field_bytes);
}

void assert_reads(szgpu_ctx *reader, const test_archive *archive, const szgpu_shape *shape,
                  const uint8_t *field, test_random *random) {
  size_t const field_bytes = test_field_bytes(shape), row_bytes = field_bytes / shape->dims[0];
  void *const whole = test_decompress(reader, archive, field_bytes);
  assert_memory_equal(whole, field, field_bytes);
  free(whole);
  uint64_t const first = test_random_below(random, shape->dims[0]);
  uint64_t const count = 1 + test_random_below(random, shape->dims[0] - first);
  uint8_t *const slab = test_allocate(count * row_bytes);
  assert_int_equal(szgpu_decompress_slab(reader, archive->bytes, archive->byte_count, first, count,
                                         slab, count * row_bytes),
                   SZGPU_OK);
  assert_memory_equal(slab, field + first * row_bytes, count * row_bytes);
  free(slab);
}

void assert_all_refuse(test_archive *archive, size_t field_bytes) {
  uint8_t *const field = test_allocate(field_bytes);
  archive_rehash(archive);
  /* Some archives have a bad header. Every decoder finds that, so then none is left out. */
  szgpu_info info = {.struct_bytes = sizeof info};
  bool const is_readable = szgpu_inspect(archive->bytes, archive->byte_count, &info) == SZGPU_OK;
  for (int d = 0; d < READER_DECODERS; d++)
    for (int t = 0; t < READER_THREAD_COUNTS; t++) {
      if (is_readable && !szgpu_decoder_reads(reader_decoders[d], &info)) continue;
      szgpu_status const status = reader_decompress(readers[d][t], archive, field, field_bytes);
      if (status != SZGPU_BAD_DATA)
        fail_msg("decoder %d: %s", reader_decoders[d], szgpu_status_text(status));
    }
  free(field);
}

void assert_shifted_tile_sizes_refused(const test_archive *sound, int tile_count,
                                       size_t field_bytes) {
  size_t const sizes =
      archive_section_offset(sound, 0, archive_section_of_kind(sound, 0, SZG_SECTION_TILE_SIZES));
  for (int tile = 0; tile + 1 < tile_count; tile++)
    for (int more = -1; more <= 1; more += 2) {
      test_archive archive = archive_copy(sound, sound->byte_count);
      size_t const at = sizes + 2 * (size_t)tile;
      uint64_t const own = test_bits_at(SZGPU_BF16, archive.bytes + at, 0);
      uint64_t const next = test_bits_at(SZGPU_BF16, archive.bytes + at, 1);
      archive_store(&archive, at, 2, own + (uint64_t)(int64_t)more);
      archive_store(&archive, at + 2, 2, next - (uint64_t)(int64_t)more);
      assert_all_refuse(&archive, field_bytes);
      free(archive.bytes);
    }
}

void flip_bits_of_section(test_archive *archive, uint32_t section, uint64_t byte_count,
                          test_random *random) {
  uint8_t *const bytes = archive->bytes + archive_section_offset(archive, 0, section);
  for (uint64_t flips = 1 + test_random_below(random, 3); flips > 0; flips--)
    bytes[test_random_below(random, byte_count)] ^= (uint8_t)(1 << test_random_below(random, 8));
}

bool all_agree(test_archive *archive, size_t field_bytes) {
  archive_rehash(archive);
  szgpu_info const info = test_inspect(archive);
  uint8_t *const first = test_allocate(field_bytes), *const other = test_allocate(field_bytes);
  szgpu_status const plain = reader_decompress(readers[0][0], archive, first, field_bytes);
  szgpu_status const checked = reader_decompress(readers[1][0], archive, other, field_bytes);
  assert_true(plain <= SZGPU_BAD_DATA);
  assert_true(checked == plain || (info.has_gaps && checked == SZGPU_BAD_DATA));
  for (int d = 1; d < READER_DECODERS; d++) {
    if (!szgpu_decoder_reads(reader_decoders[d], &info)) continue;
    szgpu_status const own =
        reader_decompress(readers[d][d % READER_THREAD_COUNTS], archive, other, field_bytes);
    szgpu_status const expected = looks_at_gaps(reader_decoders[d]) ? checked : plain;
    if (own != expected)
      fail_msg("decoder %d: %s, not %s", reader_decoders[d], szgpu_status_text(own),
               szgpu_status_text(expected));
    if (own == SZGPU_OK) assert_memory_equal(other, first, field_bytes);
  }
  free(first);
  free(other);
  return plain == SZGPU_OK;
}
