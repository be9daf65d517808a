/* hdf5_api.h - HDF5's functions, of whatever version the library at hand is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_API_H
#define SZGPU_APP_HDF5_API_H

#include <hdf5.h>

/* HDF5 would end the process if its headers were those of another version. A library under another
 * name is of another version; one that is loaded by name was looked at. */
#undef H5CHECK
#define H5CHECK

/* H5Lvisit by names, whatever that is called in the library. Of what it tells about a link, only
 * the type is where all versions have it. */
void hdf5_visit_links(hid_t group, H5L_iterate_t visit, void *user);

#endif
