/* file_names.h - what the name of a file says of its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_FILE_NAMES_H
#define SZGPU_APP_FILE_NAMES_H

#include "szgpu.h"

#include <stdbool.h>

bool has_extension(const char *name, const char *extension); /* ".npy", in either case */
/* Both return false, and change nothing, if the name does not say. */
bool dtype_of_name(const char *name, szgpu_dtype *dtype); /* by the extension */
/* The last token of the name, split at '_' and '.', that is dims of shape->dtype whose values take
 * exactly byte_count bytes. */
bool dims_of_name(const char *name, uint64_t byte_count, szgpu_shape *shape);

#endif
