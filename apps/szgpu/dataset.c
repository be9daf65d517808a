/* dataset.c - names of datasets, written FILE:PATH, and how to recognize HDF5 and netCDF files.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "dataset.h"

#include "file_names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const extensions[] = {".h5", ".hdf5", ".he5", ".nc", ".nc4"};
enum { EXTENSION_COUNT = sizeof extensions / sizeof *extensions };

static const unsigned char hdf5_signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
enum { FIRST_USER_BLOCK_BYTES = 512 };

/* Takes the last colon that has a file's name on its left, because names of files have colons too:
 * WRF writes the time into them. */
size_t dataset_file_chars(const char *name) {
  struct stat status;
  char file[PATH_MAX]; /* the system knows no longer names */
  if (!strchr(name, ':') || lstat(name, &status) == 0) return 0;
  for (size_t chars = strlen(name); chars-- > 0;) {
    if (name[chars] != ':' || chars >= sizeof file) continue;
    memcpy(file, name, chars);
    file[chars] = '\0';
    if (stat(file, &status) == 0 && S_ISREG(status.st_mode)) return chars;
  }
  return 0;
}

char *dataset_npy_name(const char *name, size_t file_chars) {
  static const char suffix[] = ".npy";
  char *const npy_name = malloc(strlen(name) + sizeof suffix);
  if (!npy_name) return NULL;
  memcpy(npy_name, name, file_chars);
  npy_name[file_chars] = '\0';
  for (int i = 0; i < EXTENSION_COUNT; i++)
    if (has_extension(npy_name, extensions[i])) {
      npy_name[file_chars - strlen(extensions[i])] = '\0';
      break;
    }
  char *to = npy_name + strlen(npy_name);
  const char *path = name + file_chars + 1;
  *to++ = '_';
  for (path += strspn(path, "/"); *path; path++) *to++ = *path == '/' ? '_' : *path;
  memcpy(to, suffix, sizeof suffix);
  return npy_name;
}

/* At the start, or after a user block, whose size is a power of two of at least 512 bytes. */
static bool has_hdf5_signature(const unsigned char *bytes, size_t byte_count) {
  size_t const signature_bytes = sizeof hdf5_signature;
  for (size_t at = 0; at < byte_count && byte_count - at >= signature_bytes;
       at = at ? at * 2 : FIRST_USER_BLOCK_BYTES) {
    if (memcmp(bytes + at, hdf5_signature, signature_bytes) == 0) return true;
    if (at > SIZE_MAX / 2) break;
  }
  return false;
}

bool has_dataset_extension(const char *name) {
  for (int i = 0; i < EXTENSION_COUNT; i++)
    if (has_extension(name, extensions[i])) return true;
  return false;
}

enum container container_of_bytes(const unsigned char *bytes, size_t byte_count) {
  if (has_hdf5_signature(bytes, byte_count)) return CONTAINER_HDF5;
  bool const is_classic = byte_count >= 4 && memcmp(bytes, "CDF", 3) == 0 &&
                          (bytes[3] == 1 || bytes[3] == 2 || bytes[3] == 5);
  return is_classic ? CONTAINER_NETCDF : CONTAINER_NONE;
}
