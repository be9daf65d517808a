/* file_names.h - what the name of a file says about its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FILE_NAMES_H
#define SZGPU_APP_FILE_NAMES_H

#include "szgpu.h"

#include <stdbool.h>

bool has_extension(const char *name, const char *extension); /* ".npy", in either case */
/* Both return false, and change nothing, if the name does not say. */
bool dtype_of_name(const char *name, szgpu_dtype *dtype); /* by the extension */
/* Splits the name at '_' and '.' and takes the last token that gives dims for exactly byte_count
 * bytes of shape->dtype. */
bool dims_of_name(const char *name, uint64_t byte_count, szgpu_shape *shape);

#endif
