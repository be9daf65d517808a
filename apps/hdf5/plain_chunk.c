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

size_t plain_chunk_make(const caller_hdf5 *caller, const void *chunk, size_t chunk_bytes,
                        void **made, const char **sentence) {
  size_t const stored_bytes = chunk_bytes + PLAIN_CHUNK_HEAD_BYTES;
  unsigned char *const stored = caller->H5allocate_memory(stored_bytes, 0);
  *sentence = "out of memory";
  if (!stored) return 0;
  memcpy(stored, magic, MAGIC_BYTES);
  put_checksum(chunk, chunk_bytes, stored + MAGIC_BYTES);
  memcpy(stored + PLAIN_CHUNK_HEAD_BYTES, chunk, chunk_bytes);
  *made = stored;
  return stored_bytes;
}

size_t plain_chunk_restore(const caller_hdf5 *caller, const void *stored, size_t stored_bytes,
                           size_t chunk_bytes, void **made, const char **sentence) {
  const unsigned char *const bytes = stored;
  unsigned char checksum[8];
  *sentence = "its size is not the one that cd_values state";
  if (stored_bytes != chunk_bytes + PLAIN_CHUNK_HEAD_BYTES) return 0;
  put_checksum(bytes + PLAIN_CHUNK_HEAD_BYTES, chunk_bytes, checksum);
  *sentence = "a checksum does not match: the chunk is damaged";
  if (memcmp(checksum, bytes + MAGIC_BYTES, sizeof checksum) != 0) return 0;
  void *const chunk = caller->H5allocate_memory(chunk_bytes, 0);
  *sentence = "out of memory";
  if (!chunk) return 0;
  memcpy(chunk, bytes + PLAIN_CHUNK_HEAD_BYTES, chunk_bytes);
  *made = chunk;
  return chunk_bytes;
}
