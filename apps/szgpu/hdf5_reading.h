/* hdf5_reading.h - what every way of reading a dataset has to check, and to say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_READING_H
#define SZGPU_APP_HDF5_READING_H

#include "hdf5_api.h"
#include "hdf5_failure.h"
#include "input.h"

/* HDF5 would otherwise print every failure of this thread's calls, also a failed look-up. */
void hdf5_silence(void);

/* Refuses a dataset that must not be read (hdf5_chunks.h says why). */
int hdf5_check_chunks(const struct report *report, const struct input *input, hid_t dataset);
/* Prints why HDF5 could not read the dataset. */
int hdf5_refuse_values(const struct report *report, const struct input *input, hid_t dataset,
                       const struct hdf5_sentence *reason);

#endif
