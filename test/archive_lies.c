/* archive_lies.c - sound archives, damaged or made to lie in all ways.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_lies.h"

#include <stdlib.h>
#include <string.h>

/* A too large allocation must return NULL, not end the test. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=2048";
}

szgpu_status damaged_decompress(szgpu_ctx *ctx, const test_archive *archive, size_t field_bytes) {
  void *const field = test_allocate(field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, archive->bytes, archive->byte_count, field, field_bytes);
  free(field);
  return status;
}

bool damage_has_right_name(size_t byte, szgpu_status status) {
  if (byte < 8) return status == SZGPU_NOT_AN_ARCHIVE;
  if (byte < 12 && (status == SZGPU_NEWER_VERSION || status == SZGPU_BAD_DATA)) return true;
  if (byte >= 104 && byte < 112 && (status == SZGPU_TRUNCATED || status == SZGPU_BAD_DATA))
    return true; /* the frame count decides where the checksum is */
  return status == SZGPU_BAD_CHECKSUM;
}

void lie_in_any_byte(const test_archive *sample, test_random *random, lies_survive survives) {
  test_archive archive = archive_copy(sample, sample->byte_count);
  for (size_t byte = 8; byte < archive.byte_count; byte++) {
    uint8_t const honest = sample->bytes[byte];
    uint8_t const lies[] = {0,
                            1,
                            127,
                            128,
                            255,
                            (uint8_t)(honest ^ 1),
                            (uint8_t)(honest + 1),
                            (uint8_t)(honest - 1),
                            (uint8_t)test_random_bits(random)};
    for (size_t lie = 0; lie < ARRAY_COUNT(lies); lie++) {
      if (lies[lie] == honest) continue;
      memcpy(archive.bytes, sample->bytes, archive.byte_count);
      archive.bytes[byte] = lies[lie];
      survives(&archive);
    }
  }
  free(archive.bytes);
}

void lie_in_headers(const test_archive *sample, lies_survive survives) {
  static uint64_t const lies[] = {0,
                                  1,
                                  2,
                                  3,
                                  15,
                                  16,
                                  17,
                                  255,
                                  256,
                                  4095,
                                  4096,
                                  4097,
                                  65535,
                                  65536,
                                  INT32_MAX,
                                  (uint64_t)INT32_MAX + 1,
                                  UINT32_MAX,
                                  (uint64_t)UINT32_MAX + 1,
                                  (uint64_t)1 << 40,
                                  (uint64_t)1 << 60,
                                  INT64_MAX,
                                  (uint64_t)INT64_MAX + 1,
                                  UINT64_MAX - 15,
                                  UINT64_MAX};
  test_archive archive = archive_copy(sample, sample->byte_count);
  size_t const headers_end = archive_entry_offset(sample, 0, archive_section_count(sample, 0));
  for (size_t offset = 8; offset + 8 <= headers_end; offset += 4)
    for (size_t lie = 0; lie < ARRAY_COUNT(lies); lie++)
      for (unsigned width = 4; width <= 8; width += 4) {
        memcpy(archive.bytes, sample->bytes, archive.byte_count);
        archive_store(&archive, offset, width, lies[lie]);
        survives(&archive);
      }
  free(archive.bytes);
}

void lie_in_sections(const test_archive *sample, test_random *random, int rounds,
                     lies_survive survives) {
  test_archive archive = archive_copy(sample, sample->byte_count);
  size_t const first = archive_section_offset(sample, 0, 0);
  for (int round = 0; round < rounds && first < archive.byte_count; round++) {
    memcpy(archive.bytes, sample->bytes, archive.byte_count);
    for (uint64_t lies = 1 + test_random_below(random, 8); lies > 0; lies--)
      archive.bytes[first + test_random_below(random, archive.byte_count - first)] =
          (uint8_t)test_random_bits(random);
    survives(&archive);
  }
  free(archive.bytes);
}
