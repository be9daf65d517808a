/* mpi_write.c - ranks write one field to HDF5, each value within 0.001, and read it back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mpicc mpi_write.c $(pkg-config --cflags szgpu) $(pkg-config --cflags --libs hdf5-openmpi) -lm
 * HDF5_PLUGIN_PATH=/usr/local/lib/hdf5/plugin mpirun -n 4 ./a.out field.h5
 *
 * Each rank has some levels of the field, and compresses its own chunks.
 */
#include <hdf5.h> /* before szgpu_hdf5.h, for its properties */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "szgpu_hdf5.h"

enum { LEVELS = 16, ROWS = 100, COLUMNS = 200, VALUES = LEVELS * ROWS * COLUMNS }; /* of a rank */
static double const bound = 0.001;

/* Selects this rank's levels in the dataset. */
static hid_t own_part(hid_t dataset, int rank) {
  hsize_t const first[] = {(hsize_t)rank * LEVELS, 0, 0}, count[] = {LEVELS, ROWS, COLUMNS};
  hid_t const space = H5Dget_space(dataset);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL);
  return space;
}

/* All ranks call it together, with a field of their own each. */
static int write_and_read(const char *path, int rank, int ranks, const float *field,
                          float *restored, hsize_t *stored_bytes) {
  hsize_t const dims[] = {(hsize_t)ranks * LEVELS, ROWS, COLUMNS};
  hsize_t const part[] = {LEVELS, ROWS, COLUMNS};
  hid_t const access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 3, part);
  int failed = H5Pset_szgpu_abs(properties, bound) < 0;
  hid_t const transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE); /* filtered chunks need it */

  hid_t const file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t const all = H5Screate_simple(3, dims, NULL), memory = H5Screate_simple(3, part, NULL);
  hid_t const dataset =
      H5Dcreate2(file, "temperature", H5T_NATIVE_FLOAT, all, H5P_DEFAULT, properties, H5P_DEFAULT);
  hid_t const own = own_part(dataset, rank);
  failed |= H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, own, transfer, field) < 0;
  failed |= H5Dread(dataset, H5T_NATIVE_FLOAT, memory, own, transfer, restored) < 0;
  *stored_bytes = H5Dget_storage_size(dataset);

  H5Sclose(own);
  failed |= H5Dclose(dataset) < 0;
  H5Sclose(memory);
  H5Sclose(all);
  failed |= H5Fclose(file) < 0;
  H5Pclose(transfer);
  H5Pclose(properties);
  H5Pclose(access);
  return failed;
}

int main(int argument_count, char **arguments) {
  int rank = 0, ranks = 0;
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *const path = argument_count > 1 ? arguments[1] : "field.h5";
  float *const field = malloc(VALUES * sizeof *field);
  float *const restored = malloc(VALUES * sizeof *field);
  if (!field || !restored) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < VALUES; i++)
    field[i] = (float)(280 + rank + 15 * sin(i % COLUMNS * 0.02) * cos(i / COLUMNS % ROWS * 0.03));

  hsize_t stored_bytes = 0;
  int failed =
      write_and_read(path, rank, ranks, field, restored, &stored_bytes); /* HDF5 says why */
  for (int i = 0; i < VALUES && !failed; i++) /* not "> bound": NaN is wrong too */
    failed = !(fabs((double)field[i] - (double)restored[i]) <= bound);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && !failed)
    printf("%d ranks: %zu bytes became %llu; no value is off by more than %g\n", ranks,
           (size_t)ranks * VALUES * sizeof *field, (unsigned long long)stored_bytes, bound);
  if (rank == 0 && failed)
    fprintf(stderr, "the field was not written, or a value is over the bound\n");
  free(restored);
  free(field);
  MPI_Finalize();
  return failed;
}
