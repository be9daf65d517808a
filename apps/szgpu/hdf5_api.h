/* hdf5_api.h - HDF5's functions, of whatever version the library at hand is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HDF5_API_H
#define SZGPU_APP_HDF5_API_H

#include <hdf5.h>
#include <stdbool.h>

/* HDF5 would end the process if its headers were those of another version. A library under another
 * name is of another version; one that is loaded by name was looked at. */
#undef H5CHECK
#define H5CHECK

/* H5Lvisit by names, whatever that is called in the library. Of what it tells about a link, only
 * the type is where all versions have it. */
void hdf5_visit_links(hid_t group, H5L_iterate_t visit, void *user);

struct hdf5_link {
  H5L_type_t type;
  H5T_cset_t name_set; /* of the characters in its name */
  size_t value_bytes;  /* of a soft or an external link */
};
/* H5Lget_info by whatever name. False: HDF5 does not tell. */
bool hdf5_link_info(hid_t group, const char *name, struct hdf5_link *link);

/* H5Dread_chunk as it was before HDF5 2.0. bytes has room for what H5Dget_chunk_storage_size says.
 */
herr_t hdf5_read_chunk(hid_t dataset, const hsize_t *place, uint32_t *mask, void *bytes);

/* Of H5Oget_info2, which all versions have, but the struct under two names. */
#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info1_t hdf5_object_info;
#else
typedef H5O_info_t hdf5_object_info;
#endif

#endif
