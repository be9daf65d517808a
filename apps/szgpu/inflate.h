/* inflate.h - restores what HDF5's filter deflate has made, outside HDF5.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A build has one of inflate_zlib.c and inflate_none.c.
 */
#ifndef SZGPU_APP_INFLATE_H
#define SZGPU_APP_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

bool inflate_is_there(void);
/* False: the bytes are damaged, or do not give exactly byte_count bytes. */
bool inflate_bytes(const void *packed, size_t packed_bytes, void *bytes, size_t byte_count);

#endif
