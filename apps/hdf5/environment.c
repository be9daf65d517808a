/* environment.c - reads SZGPU_H5_*, and the local rank that MPI's launchers set.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 1024 }; /* of one machine: enough, and small enough to catch a typing error */

/* Reads a whole number from least to most, digits only. */
static int read_number(const char *text, long least, long most, int *number) {
  if (strspn(text, "0123456789") != strlen(text)) return 0;
  errno = 0;
  long const value = strtol(text, NULL, 10);
  if (errno || value < least || value > most) return 0;
  *number = (int)value;
  return 1;
}

static const char *text_of(const char *name) {
  const char *const text = getenv(name);
  return text && *text ? text : NULL;
}

/* The variables of Open MPI, MVAPICH, Intel MPI, MPICH and Slurm; MPI's own launchers come before
 * Slurm. A wrong value is not the user's fault, so this skips it and tries the next one. */
static int read_local_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                      "MV2_COMM_WORLD_LOCAL_RANK",
                                      "MPI_LOCALRANKID",
                                      "PMI_LOCAL_RANK",
                                      "PALS_LOCAL_RANKID",
                                      "SLURM_LOCALID"};
  int rank = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *const text = text_of(names[i]);
    if (text && read_number(text, 0, 1 << 20, &rank)) return rank;
  }
  return 0;
}

static int read_backend(const char *text, szgpu_backend *backend) {
  if (!strcmp(text, "cpu"))
    *backend = SZGPU_BACKEND_CPU;
  else if (!strcmp(text, "auto"))
    *backend = SZGPU_BACKEND_AUTO;
  else if (!strcmp(text, "cuda"))
    *backend = SZGPU_BACKEND_CUDA;
  else
    return 0;
  return 1;
}

/* Reads a number of bytes, or of KiB, MiB, GiB or TiB. */
static int read_size(const char *text, uint64_t *bytes) {
  static const char units[] = "KMGT";
  size_t const digit_count = strspn(text, "0123456789");
  const char *const suffix = text + digit_count;
  const char *const unit = *suffix ? strchr(units, *suffix) : NULL;
  errno = 0;
  uint64_t const number = strtoull(text, NULL, 10);
  if (errno || number == 0 || digit_count == 0 || (*suffix && (!unit || suffix[1]))) return 0;
  unsigned const shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
  *bytes = number << shift;
  return *bytes >> shift == number;
}

const char *environment_read_to_restore(environment *settings) {
  const char *const threads = text_of("SZGPU_H5_THREADS");
  settings->threads = 1;
  if (threads && !read_number(threads, 1, SZGPU_MAX_THREADS, &settings->threads))
    return "SZGPU_H5_THREADS is not a number from 1 to 1024";
  const char *const limit = text_of("SZGPU_H5_MEMORY_LIMIT");
  settings->memory_limit = 0;
  if (limit && !read_size(limit, &settings->memory_limit))
    return "SZGPU_H5_MEMORY_LIMIT is not a size, such as 500M or 4G";
  return NULL;
}

const char *environment_read(environment *settings) {
  *settings = (environment){SZGPU_BACKEND_CPU, 1, -1, 0, read_local_rank()};
  const char *const backend = text_of("SZGPU_H5_BACKEND");
  if (backend && !read_backend(backend, &settings->backend))
    return "SZGPU_H5_BACKEND is not cpu, auto or cuda";
  if (settings->backend == SZGPU_BACKEND_CUDA && !szgpu_has_cuda())
    return "SZGPU_H5_BACKEND is cuda, which this build does not have";
  const char *const device = text_of("SZGPU_H5_DEVICE");
  if (device && !read_number(device, 0, MOST_DEVICES - 1, &settings->device))
    return "SZGPU_H5_DEVICE is not the number of a GPU, 0 to 1023";
  return environment_read_to_restore(settings);
}
