/* plain_archive.cuh - archives outside of their compact form.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_PLAIN_ARCHIVE_CUH
#define SZG_TEST_PLAIN_ARCHIVE_CUH

#include <vector>

#include "container/compact.h"
#include "cuda/cuda_test.cuh"

namespace cuda_test {

/* What a compact form stands for; any other archive as it is. */
inline std::vector<uint8_t> plain_of(const std::vector<uint8_t> &archive) {
  szg_buffer memory = {};
  const uint8_t *plain = nullptr;
  uint64_t plain_bytes = 0;
  if (!szg_is_compact(archive.data(), archive.size())) return archive;
  MUST(szg_compact_read(archive.data(), archive.size(), &memory, &plain, &plain_bytes));
  std::vector<uint8_t> const bytes(plain, plain + plain_bytes);
  szg_buffer_release(&memory);
  return bytes;
}

} // namespace cuda_test

#endif
