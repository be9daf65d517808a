/* h5_faults.c - writes and reads a dataset by the filter, twice if the first attempt fails.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Run by cases_faults.py, which makes one of the filter's allocations fail. Exit code 0: the values
 * are there. 3: the first attempt failed, with the filter's sentence on stderr, and the second, in
 * the same process, had them. 1: neither.
 */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "szgpu_hdf5.h"

enum { ROWS = 40, COLUMNS = 300, VALUES = ROWS * COLUMNS };
enum { WITH_BOUND, BY_INTERPOLATION, LOSSLESS, NOISE, DATASETS };
static double const bound = 0.001;
static float field[VALUES], restored[VALUES];

/* Lossless noise is stored as it is. */
static void make_values(int kind) {
  uint32_t noise = 1;
  for (int i = 0; i < VALUES; i++) {
    noise = noise * 1664525u + 1013904223u;
    uint32_t const bits = 0x3F800000u | noise >> 9;
    field[i] = (float)sin(i * 0.01);
    if (kind == NOISE) memcpy(&field[i], &bits, sizeof bits);
  }
}

/* Properties of a dataset. */
static hid_t make_properties(int kind) {
  hsize_t const chunk[] = {16, COLUMNS};
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  int failed = H5Pset_chunk(properties, 2, chunk) < 0;
  if (kind >= LOSSLESS)
    failed |= H5Pset_szgpu_lossless(properties) < 0;
  else
    failed |= H5Pset_szgpu_abs(properties, bound) < 0;
  if (kind == BY_INTERPOLATION)
    failed |= H5Pset_szgpu_predictor(properties, SZGPU_PREDICTOR_INTERPOLATION) < 0;
  return failed ? -1 : properties;
}

/* Closes the dataset between writing and reading, so that HDF5 has no chunk in its cache. */
static int goes_there_and_back(hid_t file, const char *name, int kind) {
  hsize_t const dims[] = {ROWS, COLUMNS};
  make_values(kind);
  hid_t const space = H5Screate_simple(2, dims, NULL);
  hid_t const properties = make_properties(kind);
  hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  int failed = dataset < 0;
  if (!failed) {
    failed |= H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field) < 0;
    failed |= H5Dclose(dataset) < 0;
    dataset = H5Dopen2(file, name, H5P_DEFAULT);
    failed |= H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0;
    failed |= H5Dclose(dataset) < 0;
  }
  H5Pclose(properties);
  H5Sclose(space);
  for (int i = 0; i < VALUES && !failed; i++)
    failed = !(fabs((double)field[i] - (double)restored[i]) <= (kind >= LOSSLESS ? 0 : bound));
  return !failed;
}

int main(void) {
  hid_t const access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 20, 0);
  hid_t const file = H5Fcreate("faults.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  int exit_code = 0;
  for (int kind = 0; kind < DATASETS; kind++) {
    char name[16];
    snprintf(name, sizeof name, "%d", kind);
    if (goes_there_and_back(file, name, kind)) continue;
    snprintf(name, sizeof name, "%d again", kind);
    exit_code = exit_code != 1 && goes_there_and_back(file, name, kind) ? 3 : 1;
  }
  H5Fclose(file);
  H5Pclose(access);
  return exit_code;
}
