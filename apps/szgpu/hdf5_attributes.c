/* hdf5_attributes.c - what the attributes of a dataset say about its values, as CF and netCDF do.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * _FillValue and missing_value name values that are missing, valid_min, valid_max and valid_range
 * those that are not. Each may be of any type of numbers, or a number as text. All are in the unit
 * of the stored values, except valid values that are floats, of packed integers.
 */
#include "hdf5_attributes.h"

#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "values.h"

struct numbers {
  int count; /* 0: there is no such attribute, or it has no numbers */
  double values[MOST_NAMED_FILLS];
  bool are_floats;
};

static const char unreadable[] =
    "has attributes about missing values that cannot be read; check them with h5dump -A, or "
    "compress it losslessly";

enum { MOST_CHARS = 63 }; /* of a text that says something about values */

/* A text of either kind, if it is a single one; "": it is not. */
static void read_text(hid_t attribute, hid_t type, char text[MOST_CHARS + 1]) {
  char *variable = NULL;
  hid_t const space = H5Aget_space(attribute);
  bool const is_single = H5Sget_simple_extent_npoints(space) == 1;
  H5Sclose(space);
  memset(text, 0, MOST_CHARS + 1);
  if (!is_single) return;
  if (H5Tis_variable_str(type) > 0) {
    if (H5Aread(attribute, type, &variable) < 0 || !variable) return;
    strncpy(text, variable, MOST_CHARS);
    H5free_memory(variable);
  } else if (H5Tget_size(type) <= MOST_CHARS) {
    H5Aread(attribute, type, text);
  }
  text[strcspn(text, " ")] = '\0'; /* some pad with blanks */
}

static void read_array(struct dataset *dataset, hid_t attribute, struct numbers *numbers) {
  hid_t const space = H5Aget_space(attribute);
  hssize_t const count = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  if (count == 0) return;
  if (count > MOST_NAMED_FILLS)
    dataset->fault = "has an attribute with more than 64 missing values; compress it losslessly";
  else if (count < 0 || H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers->values) < 0)
    dataset->fault = unreadable;
  else
    numbers->count = (int)count;
}

/* As what is stored: of unsigned values, negative numbers of the signed type are others. */
static void make_unsigned(const struct dataset *dataset, struct numbers *numbers) {
  double const range = ldexp(1, 8 * (int)dtype_bytes(dataset->stored_dtype));
  for (int i = 0; i < numbers->count; i++)
    if (numbers->values[i] < 0) numbers->values[i] += range;
}

static struct numbers read_numbers(struct dataset *dataset, const char *name) {
  struct numbers numbers = {.count = 0};
  char text[MOST_CHARS + 1];
  if (H5Aexists(dataset->id, name) <= 0) return numbers;
  hid_t const attribute = H5Aopen(dataset->id, name, H5P_DEFAULT);
  hid_t const type = H5Aget_type(attribute);
  H5T_class_t const class = H5Tget_class(type);
  if (attribute < 0) dataset->fault = unreadable;
  if (class == H5T_FLOAT || class == H5T_INTEGER) read_array(dataset, attribute, &numbers);
  if (class == H5T_STRING) {
    read_text(attribute, type, text);
    numbers.count = read_real(text, &numbers.values[0]) ? 1 : 0;
  }
  numbers.are_floats = class != H5T_INTEGER;
  if (!numbers.are_floats && dataset->stored_dtype != dataset->shape.dtype)
    make_unsigned(dataset, &numbers);
  H5Tclose(type);
  H5Aclose(attribute);
  return numbers;
}

/* netCDF's name for unsigned values in a file that has signed ones. */
static void read_sign(struct dataset *dataset) {
  char text[MOST_CHARS + 1] = "";
  if (H5Aexists(dataset->id, "_Unsigned") <= 0) return;
  hid_t const attribute = H5Aopen(dataset->id, "_Unsigned", H5P_DEFAULT);
  hid_t const type = H5Aget_type(attribute);
  if (H5Tget_class(type) == H5T_STRING) read_text(attribute, type, text);
  H5Tclose(type);
  H5Aclose(attribute);
  if (strcasecmp(text, "true") != 0) return;
  if (dataset->stored_dtype == SZGPU_I8) dataset->shape.dtype = SZGPU_U8;
  if (dataset->stored_dtype == SZGPU_I16) dataset->shape.dtype = SZGPU_U16;
}

static void read_fills(struct dataset *dataset) {
  static const char *const names[] = {"_FillValue", "missing_value"};
  for (int k = 0; k < 2; k++) {
    struct numbers const numbers = read_numbers(dataset, names[k]);
    for (int i = 0; i < numbers.count; i++) fills_add(&dataset->fills, numbers.values[i], names[k]);
  }
  /* What was never written. netCDF has one for every variable. */
  H5D_fill_value_t kind;
  double fill;
  hid_t const properties = H5Dget_create_plist(dataset->id);
  if (H5Pfill_value_defined(properties, &kind) >= 0 && kind == H5D_FILL_VALUE_USER_DEFINED &&
      H5Pget_fill_value(properties, H5T_NATIVE_DOUBLE, &fill) >= 0) {
    struct numbers numbers = {.count = 1, .values = {fill}};
    if (dataset->stored_dtype != dataset->shape.dtype) make_unsigned(dataset, &numbers);
    fills_add(&dataset->fills, numbers.values[0], HDF5_OWN_FILL);
  }
  H5Pclose(properties);
}

/* A number that must stand alone. */
static bool read_number(struct dataset *dataset, const char *name, struct numbers *numbers) {
  *numbers = read_numbers(dataset, name);
  return numbers->count == 1;
}

static void read_packing(struct dataset *dataset) {
  struct numbers numbers;
  dataset->scale = 1;
  if (read_number(dataset, "scale_factor", &numbers)) dataset->scale = numbers.values[0];
  if (read_number(dataset, "add_offset", &numbers)) dataset->offset = numbers.values[0];
  bool const is_sound =
      isfinite(dataset->scale) && dataset->scale != 0 && isfinite(dataset->offset);
  dataset->is_packed = is_sound && (dataset->scale != 1 || dataset->offset != 0);
}

/* Valid values that are floats, of packed integers, are unpacked ones: as packed ones they are what
 * is between the nearest integers. */
static void limit(struct dataset *dataset, double least, double greatest, bool are_floats) {
  static const double slack = 1e-6; /* of an integer: the division is not exact */
  bool const are_integers = dtype_is_integer(dataset->shape.dtype);
  if (dataset->is_packed && are_floats && are_integers) {
    double const first = (least - dataset->offset) / dataset->scale;
    double const last = (greatest - dataset->offset) / dataset->scale;
    least = ceil(fmin(first, last) - slack);
    greatest = floor(fmax(first, last) + slack);
  }
  fills_limit(&dataset->fills, least, greatest);
}

static void read_valid(struct dataset *dataset) {
  struct numbers numbers;
  if (read_number(dataset, "valid_min", &numbers) && !isnan(numbers.values[0]))
    limit(dataset, numbers.values[0], INFINITY, numbers.are_floats);
  if (read_number(dataset, "valid_max", &numbers) && !isnan(numbers.values[0]))
    limit(dataset, -INFINITY, numbers.values[0], numbers.are_floats);
  numbers = read_numbers(dataset, "valid_range");
  if (numbers.count == 2 && !isnan(numbers.values[0]) && !isnan(numbers.values[1]))
    limit(dataset, numbers.values[0], numbers.values[1], numbers.are_floats);
  const struct fills *const fills = &dataset->fills;
  if (fills->has_valid && !(fills->valid_least <= fills->valid_greatest))
    dataset->fault =
        "has no valid values, according to its valid_range, valid_min and valid_max; correct "
        "these, or compress it losslessly";
}

void hdf5_read_attributes(struct dataset *dataset) {
  dataset->stored_dtype = dataset->shape.dtype;
  read_sign(dataset);
  read_fills(dataset);
  read_packing(dataset);
  read_valid(dataset);
  if (dataset->fills.is_cut)
    dataset->fault = "has more than 64 missing values; compress it losslessly";
}
