/* damage.c - a library for LD_PRELOAD that damages what a program writes by HDF5.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * SZGPU_TEST_DAMAGE says how: "flip" changes a bit of the second chunk, "exchange" writes the first
 * chunk in its place, "leave" leaves it out, "values" changes a bit of values that have no chunks,
 * "attribute" one of an attribute. HDF5 and its caller hear of a success.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <hdf5.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_asked(const char *how) {
  const char *const asked = getenv("SZGPU_TEST_DAMAGE");
  return asked && strcmp(asked, how) == 0;
}

static void *next(const char *name) {
  void *const function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

static unsigned char *copy_of(const void *bytes, size_t byte_count) {
  unsigned char *const copy = malloc(byte_count + 1);
  if (!copy) abort();
  memcpy(copy, bytes, byte_count);
  return copy;
}

/* Chunks are counted by dataset. */
herr_t H5Dwrite_chunk(hid_t dataset, hid_t transfer, uint32_t filters, const hsize_t *offset,
                      size_t byte_count, const void *bytes) {
  static hid_t last;
  static unsigned char *first;
  static size_t first_bytes;
  static int number;
  herr_t (*write)(hid_t, hid_t, uint32_t, const hsize_t *, size_t, const void *);
  *(void **)&write = next("H5Dwrite_chunk");
  if (dataset != last) number = 0;
  last = dataset;
  if (++number == 1) {
    free(first);
    first = copy_of(bytes, byte_count);
    first_bytes = byte_count;
  }
  if (number == 2 && is_asked("leave")) return 0;
  if (number == 2 && is_asked("exchange"))
    return write(dataset, transfer, filters, offset, first_bytes, first);
  unsigned char *const changed = copy_of(bytes, byte_count);
  if (number == 2 && is_asked("flip")) changed[byte_count / 2] ^= 16;
  herr_t const made = write(dataset, transfer, filters, offset, byte_count, changed);
  free(changed);
  return made;
}

herr_t H5Dwrite(hid_t dataset, hid_t type, hid_t memory, hid_t file, hid_t transfer,
                const void *values) {
  herr_t (*write)(hid_t, hid_t, hid_t, hid_t, hid_t, const void *);
  *(void **)&write = next("H5Dwrite");
  hssize_t const count = H5Sget_select_npoints(memory);
  size_t const byte_count = count > 0 ? (size_t)count * H5Tget_size(type) : 0;
  unsigned char *const changed = copy_of(values, byte_count);
  if (byte_count > 0 && is_asked("values")) changed[byte_count / 2] ^= 16;
  herr_t const made = write(dataset, type, memory, file, transfer, changed);
  free(changed);
  return made;
}

herr_t H5Awrite(hid_t attribute, hid_t type, const void *value) {
  herr_t (*write)(hid_t, hid_t, const void *);
  *(void **)&write = next("H5Awrite");
  size_t const byte_count = H5Tget_size(type);
  unsigned char *const changed = copy_of(value, byte_count);
  if (is_asked("attribute") && H5Tget_class(type) == H5T_FLOAT) changed[0] ^= 1;
  herr_t const made = write(attribute, type, changed);
  free(changed);
  return made;
}
