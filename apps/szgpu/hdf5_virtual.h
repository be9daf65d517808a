/* hdf5_virtual.h - reads a virtual dataset source by source, each of them checked first.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_VIRTUAL_H
#define HDF5_VIRTUAL_H

#include <hdf5.h>
#include <stdbool.h>

#include "input.h"

bool hdf5_is_virtual(hid_t dataset);

/* Reads all value_count values as `type`, a native type of value_bytes bytes. */
int hdf5_read_virtual(const struct report *report, const struct input *input, hid_t dataset,
                      hid_t type, size_t value_bytes, uint64_t value_count, void *values);

#endif
