/* inflate_none.c - in a build without zlib's headers: HDF5 restores such chunks itself.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "inflate.h"

bool inflate_is_there(void) { return false; }

bool inflate_bytes(const void *packed, size_t packed_bytes, void *bytes, size_t byte_count) {
  (void)packed, (void)packed_bytes, (void)bytes, (void)byte_count;
  return false;
}
