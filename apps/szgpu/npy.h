/* npy.h - reads and writes the header of numpy's .npy files, versions 1 to 3; trusts none.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_NPY_H
#define SZGPU_APP_NPY_H

#include "szgpu.h"

#include <stdbool.h>
#include <stddef.h>

struct npy {
  szgpu_shape shape; /* in the header's order; an array without dims gets one of 1 */
  bool is_fortran, is_big_endian;
  size_t header_bytes; /* the values follow */
};

enum { NPY_HEADER_CAPACITY = 256 };

/* Whether numpy has the type. */
bool npy_has_dtype(szgpu_dtype dtype);

bool npy_begins(const unsigned char *bytes, size_t byte_count);
/* True if all the bytes are the beginning of a .npy header, the rest of which is not there. */
bool npy_header_is_cut(const unsigned char *bytes, size_t byte_count);
/* Returns NULL, or why the header cannot be used and what to do about it. */
const char *npy_read_header(const unsigned char *bytes, size_t byte_count, struct npy *npy);
/* Writes a header of version 1.0 and returns its size. Ignores npy->header_bytes. */
size_t npy_write_header(const struct npy *npy, unsigned char header[NPY_HEADER_CAPACITY]);

#endif
