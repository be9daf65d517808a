/* hdf5_netcdf.c - fill values of variables that nccopy has made.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "hdf5_netcdf.h"

#include "hdf5_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NC_FILL_BYTE ... of netcdf.h, by the bytes of an integer: 1, 2, 4, 8. */
static int64_t signed_fill(size_t bytes) {
  return bytes == 1 ? -127 : bytes == 2 ? -32767 : bytes == 4 ? -INT32_MAX : -INT64_MAX - 1 + 2;
}

static uint64_t unsigned_fill(size_t bytes) {
  return bytes == 1   ? UINT8_MAX
         : bytes == 2 ? UINT16_MAX
         : bytes == 4 ? UINT32_MAX
                      : UINT64_MAX - 1;
}

static double const real_fill = 9.9692099683868690e+36;

/* A dimension without a variable has a dataset of its own, with this text before its length. */
static bool is_dimension_alone(hid_t dataset) {
  static const char start[] = "This is a netCDF dimension but not a netCDF variable";
  char *const name = hdf5_text_of(dataset, "NAME");
  bool const is_alone = name && strncmp(name, start, sizeof start - 1) == 0;
  free(name);
  return is_alone;
}

/* Sets that of _FillValue, if it is a single value of the same type. */
static bool give_own(hid_t dataset, hid_t type, hid_t properties) {
  unsigned char value[8];
  if (H5Aexists(dataset, "_FillValue") <= 0) return false;
  hid_t const attribute = H5Aopen(dataset, "_FillValue", H5P_DEFAULT);
  hid_t const own = H5Aget_type(attribute), space = H5Aget_space(attribute);
  bool const is_single = H5Tequal(own, type) > 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                         H5Tget_size(type) <= sizeof value;
  bool const is_given = is_single && H5Aread(attribute, type, value) >= 0 &&
                        H5Pset_fill_value(properties, type, value) >= 0;
  H5Sclose(space);
  H5Tclose(own);
  H5Aclose(attribute);
  return is_given;
}

static void give_default(hid_t type, hid_t properties) {
  size_t const bytes = H5Tget_size(type);
  bool const is_signed = H5Tget_sign(type) == H5T_SGN_2;
  int64_t const low = signed_fill(bytes);
  uint64_t const high = unsigned_fill(bytes);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      if (is_signed)
        H5Pset_fill_value(properties, H5T_NATIVE_INT64, &low);
      else
        H5Pset_fill_value(properties, H5T_NATIVE_UINT64, &high);
      break;
    case H5T_FLOAT:
      H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &real_fill);
      break;
    default: /* a character */
      H5Pset_fill_value(properties, type, "");
  }
}

void netcdf_give_fill(hid_t dataset, hid_t properties) {
  hid_t const type = H5Dget_type(dataset);
  if (!give_own(dataset, type, properties)) give_default(type, properties);
  H5Pset_fill_time(properties, H5D_FILL_TIME_IFSET);
  H5Tclose(type);
}

bool netcdf_lacks_fill(hid_t dataset, double *fill) {
  H5D_fill_value_t kind = H5D_FILL_VALUE_ERROR;
  hid_t const properties = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
  H5T_class_t const class = H5Tget_class(type);
  bool const is_known =
      class == H5T_INTEGER || class == H5T_FLOAT || (class == H5T_STRING && H5Tget_size(type) == 1);
  bool const lacks = is_known && H5Pfill_value_defined(properties, &kind) >= 0 &&
                     kind != H5D_FILL_VALUE_USER_DEFINED && !is_dimension_alone(dataset);
  *fill = 0;
  if (lacks) netcdf_give_fill(dataset, properties);
  if (lacks && class != H5T_STRING) H5Pget_fill_value(properties, H5T_NATIVE_DOUBLE, fill);
  H5Tclose(type);
  H5Pclose(properties);
  return lacks;
}
