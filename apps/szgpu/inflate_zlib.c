/* inflate_zlib.c - by the zlib that HDF5 uses, too.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "inflate.h"

#include <zlib.h>

bool inflate_is_there(void) { return true; }

bool inflate_bytes(const void *packed, size_t packed_bytes, void *bytes, size_t byte_count) {
  uLongf made = (uLongf)byte_count;
  return uncompress(bytes, &made, packed, (uLong)packed_bytes) == Z_OK && made == byte_count;
}
