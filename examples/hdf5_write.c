/* hdf5_write.c - writes a field to HDF5, each value within 0.001, and reads it back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cc hdf5_write.c $(pkg-config --cflags szgpu) $(pkg-config --cflags --libs hdf5-serial) -lm
 * HDF5_PLUGIN_PATH=/usr/local/lib/hdf5/plugin ./a.out field.h5
 *
 * HDF5 loads the filter itself, here and in every program that reads the file.
 */
#include <hdf5.h> /* before szgpu_hdf5.h, for its properties */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "szgpu_hdf5.h"

enum { LEVELS = 40, ROWS = 200, COLUMNS = 300, VALUES = LEVELS * ROWS * COLUMNS };
static double const bound = 0.001;
static float const missing = 1e20f; /* the fill value, which is kept exactly */

static int write_field(const char *path, const float *field) {
  hsize_t const dims[] = {LEVELS, ROWS, COLUMNS};
  hsize_t const chunk[] = {16, ROWS, COLUMNS}; /* 3.7 MiB; from 1 MiB on chunks compress well */
  hid_t const file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t const space = H5Screate_simple(3, dims, NULL);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 3, chunk);
  H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &missing);
  int failed = H5Pset_szgpu_abs(properties, bound) < 0;
  hid_t const dataset = H5Dcreate2(file, "temperature", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                   properties, H5P_DEFAULT);
  failed |= H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field) < 0;
  failed |= H5Dclose(dataset) < 0; /* HDF5 may compress and write chunks only now */
  H5Pclose(properties);
  H5Sclose(space);
  failed |= H5Fclose(file) < 0;
  return failed;
}

static int read_field(const char *path, float *field, hsize_t *stored_bytes) {
  hid_t const file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t const dataset = H5Dopen2(file, "temperature", H5P_DEFAULT);
  int const failed = H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field) < 0;
  *stored_bytes = H5Dget_storage_size(dataset);
  H5Dclose(dataset);
  H5Fclose(file);
  return failed;
}

/* The number of wrong values; sets *farthest to the greatest distance of any. */
static int compare(const float *field, const float *restored, double *farthest) {
  int wrong_count = 0;
  for (int i = 0; i < VALUES; i++) {
    if (field[i] == missing) {
      wrong_count += memcmp(&field[i], &restored[i], sizeof missing) != 0;
      continue;
    }
    double const distance = fabs((double)field[i] - (double)restored[i]);
    if (distance > *farthest) *farthest = distance;
    wrong_count += !(distance <= bound); /* not "> bound": NaN is wrong too */
  }
  return wrong_count;
}

int main(int argument_count, char **arguments) {
  const char *const path = argument_count > 1 ? arguments[1] : "field.h5";
  float *const field = malloc(VALUES * sizeof *field);
  float *const restored = malloc(VALUES * sizeof *field);
  hsize_t stored_bytes = 0;
  double farthest = 0;
  if (!field || !restored) return 1;
  for (int i = 0; i < VALUES; i++)
    field[i] = (float)(280 + 15 * sin(i % COLUMNS * 0.02) * cos(i / COLUMNS % ROWS * 0.03));
  for (int i = 0; i < COLUMNS; i++) field[i] = missing;
  int const failed =
      write_field(path, field) || read_field(path, restored, &stored_bytes); /* HDF5 says why */
  int const wrong_count = failed ? 0 : compare(field, restored, &farthest);
  if (!failed && !wrong_count)
    printf("%zu bytes became %llu; no value is off by more than %.6f\n", VALUES * sizeof *field,
           (unsigned long long)stored_bytes, farthest);
  if (wrong_count) fprintf(stderr, "%d values are over the bound\n", wrong_count);
  free(restored);
  free(field);
  return failed || wrong_count > 0;
}
