/* npy.h - the header of numpy's .npy files, versions 1 to 3, read without trust.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_NPY_H
#define SZGPU_APP_NPY_H

#include "szgpu.h"

#include <stdbool.h>
#include <stddef.h>

struct npy {
  szgpu_shape shape; /* as the header prints it; an array without dims has the one dim 1 */
  bool is_fortran, is_big_endian;
  size_t header_bytes; /* the values follow */
};

enum { NPY_HEADER_CAPACITY = 256 };

bool npy_begins(const unsigned char *bytes, size_t byte_count);
/* NULL, or why the header cannot be used and what to do. */
const char *npy_read_header(const unsigned char *bytes, size_t byte_count, struct npy *npy);
/* A version 1.0 header; returns its size. header_bytes is not looked at. */
size_t npy_write_header(const struct npy *npy, unsigned char header[NPY_HEADER_CAPACITY]);

#endif
