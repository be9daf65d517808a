/* archive_verdict.h - what the decoders say of an archive that was changed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ARCHIVE_VERDICT_H
#define SZG_TEST_ARCHIVE_VERDICT_H

#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "ctxs.h"

/* A change to a header. */
typedef struct header_edit {
  const char *what;
  size_t offset;
  unsigned width;
  uint64_t value;
} header_edit;

/* The verdict of both decoders on the archive with right checksums, in a block of exactly its size.
 * Frees the archive. field: NULL if not wanted. */
static inline szgpu_status verdict(const char *what, test_archive archive, float *field) {
  archive_rehash(&archive);
  test_archive const exact = archive_copy(&archive, archive.byte_count);
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status status = szgpu_inspect(exact.bytes, exact.byte_count, &info);
  if (status == SZGPU_OK) {
    void *const by_table = test_allocate(info.field_bytes);
    void *const serially = test_allocate(info.field_bytes);
    status = szgpu_decompress(ctx, exact.bytes, exact.byte_count, by_table, info.field_bytes);
    szgpu_status const serial_status =
        szgpu_decompress(serial_ctx, exact.bytes, exact.byte_count, serially, info.field_bytes);
    if (serial_status != status)
      fail_msg("%s: %s; serially: %s", what, szgpu_status_text(status),
               szgpu_status_text(serial_status));
    if (status == SZGPU_OK) assert_memory_equal(by_table, serially, info.field_bytes);
    if (status == SZGPU_OK && field) memcpy(field, by_table, info.field_bytes);
    free(by_table);
    free(serially);
  }
  free(exact.bytes);
  free(archive.bytes);
  return status;
}

static inline void expect(const char *what, test_archive archive, szgpu_status expected) {
  szgpu_status const status = verdict(what, archive, NULL);
  if (status != expected) fail_msg("%s: %s", what, szgpu_status_text(status));
}

#endif
