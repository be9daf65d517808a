/* hdf5_pack.h - one dataset in archives: its chunks, its bound, its filter, its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_PACK_H
#define HDF5_PACK_H

#include "hdf5_copy.h"
#include "hdf5_plan.h"
#include "hdf5_squeeze.h"

/* Makes the dataset in copy->out with link_properties, and sets variable->written_bytes. If no
 * archive can hold what is missing in it, *is_made is false and variable->why says so. Returns an
 * exit code, and prints a sentence if it is not CODE_OK. */
int pack_dataset(struct copy *copy, struct squeeze *squeeze, struct plan_variable *variable,
                 hid_t link_properties, bool *is_made);
/* Makes the dataset without filters, of values that szgpu's filter has compressed. */
int pack_restore(struct copy *copy, struct squeeze *squeeze, struct plan_variable *variable,
                 hid_t link_properties);
/* Sets variable->written_bytes to what some of its chunks let expect; makes nothing. */
int pack_estimate(hid_t in, struct squeeze *squeeze, struct plan_variable *variable);

#endif
