/* checksum.c - XXH3-64 from libxxhash.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/checksum.h"

#include <xxhash.h>

#include "container/format.h"
#include "core/bytes.h"

enum { LEAVES_IN_PART = 256 }; /* 4 MiB of bytes */

uint64_t szg_checksum_plain(const uint8_t *bytes, size_t byte_count) {
  return XXH3_64bits(bytes, byte_count);
}

uint64_t szg_checksum_leaf_count(uint64_t byte_count) {
  return szg_div_up(byte_count, SZG_CHECKSUM_BLOCK_BYTES);
}

typedef struct tree_job {
  const uint8_t *bytes;
  uint64_t byte_count;
  uint64_t *leaves;
} tree_job;

static szgpu_status leaves_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  tree_job *const job = job_pointer;
  uint64_t const leaf_count = szg_checksum_leaf_count(job->byte_count);
  uint64_t const end = szg_min_u64((part + 1) * LEAVES_IN_PART, leaf_count);
  for (uint64_t leaf = part * LEAVES_IN_PART; leaf < end; leaf++) {
    uint64_t const start = leaf * SZG_CHECKSUM_BLOCK_BYTES;
    size_t const block_bytes =
        (size_t)szg_min_u64(SZG_CHECKSUM_BLOCK_BYTES, job->byte_count - start);
    job->leaves[leaf] = XXH3_64bits(job->bytes + start, block_bytes);
  }
  return SZGPU_OK;
}

szgpu_status szg_checksum_tree(szg_threads *threads, const uint8_t *bytes, uint64_t byte_count,
                               uint64_t *leaves, uint64_t *checksum) {
  tree_job job = {bytes, byte_count, leaves};
  uint64_t const leaf_count = szg_checksum_leaf_count(byte_count);
  SZG_TRY(szg_for_parts(threads, szg_div_up(leaf_count, LEAVES_IN_PART), 0, leaves_part, &job));
  *checksum = XXH3_64bits(leaves, (size_t)leaf_count * sizeof *leaves);
  return SZGPU_OK;
}
