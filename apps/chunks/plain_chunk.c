/* plain_chunk.c - writes and reads chunks that are stored as they are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plain_chunk.h"

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

enum { MAGIC_BYTES = 8 };
static const unsigned char magic[MAGIC_BYTES] = {0x89, 'S', 'Z', 'P', '\r', '\n', 0x1A, '\n'};

static void put_checksum(const void *chunk, size_t chunk_bytes, unsigned char *bytes) {
  uint64_t const sum = XXH3_64bits(chunk, chunk_bytes);
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(sum >> 8 * i);
}

bool plain_chunk_is_one(const void *stored, size_t stored_bytes) {
  return stored_bytes >= MAGIC_BYTES && memcmp(stored, magic, MAGIC_BYTES) == 0;
}

void plain_chunk_make(const void *chunk, size_t chunk_bytes, void *stored) {
  unsigned char *const bytes = stored;
  memcpy(bytes, magic, MAGIC_BYTES);
  put_checksum(chunk, chunk_bytes, bytes + MAGIC_BYTES);
  memcpy(bytes + PLAIN_CHUNK_HEAD_BYTES, chunk, chunk_bytes);
}

const char *plain_chunk_fault(const void *stored, size_t stored_bytes, size_t chunk_bytes) {
  const unsigned char *const bytes = stored;
  unsigned char checksum[8];
  if (stored_bytes != chunk_bytes + PLAIN_CHUNK_HEAD_BYTES)
    return "its size is not the one that cd_values state";
  put_checksum(bytes + PLAIN_CHUNK_HEAD_BYTES, chunk_bytes, checksum);
  return memcmp(checksum, bytes + MAGIC_BYTES, sizeof checksum) == 0
             ? NULL
             : "a checksum does not match: the chunk is damaged";
}
