/* hdf5_chunks.c - whether HDF5 may read a dataset's chunks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "hdf5_chunks.h"

#include "hdf5_names.h"
#include "szgpu_hdf5.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- what szgpu's filter makes of a chunk ---- */

/* Whether cd_values state the chunk's own type and dims. Those that it refuses do no harm. */
static bool is_same_chunk(const unsigned *stated, size_t stated_count, const unsigned *own,
                          size_t own_count) {
  szgpu_params params;
  szgpu_shape shape, own_shape;
  if (szgpu_h5_chunk(stated, stated_count, &params, &shape)) return true;
  return !szgpu_h5_chunk(own, own_count, &params, &own_shape) && shape.dtype == own_shape.dtype &&
         shape.ndim == own_shape.ndim && memcmp(shape.dims, own_shape.dims, sizeof shape.dims) == 0;
}

static bool are_as_stated(hid_t dataset) {
  hsize_t sizes[H5S_MAX_RANK];
  uint64_t dims[H5S_MAX_RANK];
  unsigned own[SZGPU_H5_MOST_WORDS];
  bool are_same = true;
  hid_t const properties = H5Dget_create_plist(dataset);
  int const rank = H5Pget_chunk(properties, H5S_MAX_RANK, sizes);
  for (int axis = 0; axis < rank; axis++) dims[axis] = sizes[axis];
  szgpu_dtype dtype;
  szgpu_h5_cd_values(SZGPU_MODE_LOSSLESS, 0, own);
  bool const is_known = hdf5_dtype(dataset, &dtype);
  size_t const own_count = is_known ? szgpu_h5_set_chunk(dtype, rank, dims, NULL, own) : 0;
  int const filter_count = H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count && are_same; i++) {
    unsigned flags, stated[SZGPU_H5_MOST_WORDS];
    size_t stated_count = SZGPU_H5_MOST_WORDS;
    if (szgpu_h5_is_filter(
            H5Pget_filter2(properties, (unsigned)i, &flags, &stated_count, stated, 0, NULL, NULL)))
      are_same = is_same_chunk(stated, stated_count, own, own_count);
  }
  H5Pclose(properties);
  return are_same;
}

/* ---- what is stored without it ---- */

enum { CHECKSUM_BYTES = 4 }; /* that fletcher32 puts behind a chunk */

/* What is to be known of a chunk to tell how many bytes are stored for it. */
struct chunk_rule {
  uint64_t chunk_bytes;
  int rank;
  hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
  bool has_plain_edges; /* chunks that the dataset's edge cuts go through no filter */
  int filter_count;
  H5Z_filter_t filters[H5Z_MAX_NFILTERS];
  struct hdf5_sentence *why;
  bool is_broken;
};

static bool is_cut(const struct chunk_rule *rule, const hsize_t *offset) {
  for (int axis = 0; axis < rule->rank; axis++)
    if (rule->dims[axis] < rule->chunk[axis] || offset[axis] > rule->dims[axis] - rule->chunk[axis])
      return true;
  return false;
}

/* False: a filter decides how many bytes are stored. */
static bool find_stored_bytes(const struct chunk_rule *rule, const hsize_t *offset, unsigned mask,
                              uint64_t *stored_bytes) {
  bool const is_plain = rule->has_plain_edges && is_cut(rule, offset);
  *stored_bytes = rule->chunk_bytes;
  for (int i = 0; i < rule->filter_count && !is_plain; i++) {
    if (mask >> i & 1) continue; /* the chunk did not go through it */
    if (rule->filters[i] == H5Z_FILTER_FLETCHER32)
      *stored_bytes += CHECKSUM_BYTES;
    else if (rule->filters[i] != H5Z_FILTER_SHUFFLE)
      return false;
  }
  return true;
}

/* HDF5's callback for each chunk; nonzero: it has seen enough. */
static int look_at_chunk(const hsize_t *offset, unsigned mask, haddr_t address, hsize_t byte_count,
                         void *user) {
  struct chunk_rule *const rule = user;
  uint64_t stored_bytes;
  (void)address;
  if (!find_stored_bytes(rule, offset, mask, &stored_bytes) || byte_count == stored_bytes) return 0;
  snprintf(rule->why->text, sizeof rule->why->text,
           "has an uncompressed chunk of %llu bytes, which should have %llu, so it was not read; "
           "replace the file with an intact copy",
           (unsigned long long)byte_count, (unsigned long long)stored_bytes);
  rule->is_broken = true;
  return 1;
}

/* By index HDF5 goes through all chunks before it, so that all of them take a time that grows with
 * the square of their number. H5Dchunk_iter, which is right since 1.14.1, does not. */
static void look_at_chunks(hid_t dataset, hid_t space, struct chunk_rule *rule) {
  typedef int visitor(const hsize_t *, unsigned, haddr_t, hsize_t, void *);
  herr_t (*visit)(hid_t, hid_t, visitor *, void *) = NULL;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  if (major > 1 || minor > 14 || (minor == 14 && release >= 1)) {
    void *const function = dlsym(RTLD_DEFAULT, "H5Dchunk_iter");
    memcpy(&visit, &function, sizeof function);
  }
  if (visit) {
    visit(dataset, H5P_DEFAULT, look_at_chunk, rule);
    return;
  }
  hsize_t chunk_count = 0, offset[H5S_MAX_RANK], byte_count;
  unsigned mask;
  haddr_t address;
  if (H5Dget_num_chunks(dataset, space, &chunk_count) < 0) return;
  for (hsize_t i = 0; i < chunk_count && !rule->is_broken; i++)
    if (H5Dget_chunk_info(dataset, space, i, offset, &mask, &address, &byte_count) >= 0)
      look_at_chunk(offset, mask, address, byte_count, rule);
}

/* What HDF5 cannot tell of a chunk it cannot read either, and says so then. */
static bool has_bytes_of_chunks(hid_t dataset, struct hdf5_sentence *why) {
  struct chunk_rule rule = {.why = why};
  unsigned options = 0;
  hid_t const properties = H5Dget_create_plist(dataset);
  hid_t const type = H5Dget_type(dataset);
  hid_t const space = H5Dget_space(dataset);
  rule.rank = H5Pget_layout(properties) == H5D_CHUNKED
                  ? H5Pget_chunk(properties, H5S_MAX_RANK, rule.chunk)
                  : 0;
  rule.chunk_bytes = H5Tget_size(type);
  for (int axis = 0; axis < rule.rank; axis++) rule.chunk_bytes *= rule.chunk[axis];
  H5Sget_simple_extent_dims(space, rule.dims, NULL);
  H5Pget_chunk_opts(properties, &options);
  rule.has_plain_edges = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
  rule.filter_count = H5Pget_nfilters(properties);
  for (int i = 0; i < rule.filter_count; i++) {
    unsigned flags;
    rule.filters[i] = H5Pget_filter2(properties, (unsigned)i, &flags, NULL, NULL, 0, NULL, NULL);
  }
  if (rule.rank > 0) look_at_chunks(dataset, space, &rule);
  H5Sclose(space);
  H5Tclose(type);
  H5Pclose(properties);
  return !rule.is_broken;
}

bool hdf5_chunks_are_sound(hid_t dataset, struct hdf5_sentence *why) {
  if (are_as_stated(dataset)) return has_bytes_of_chunks(dataset, why);
  snprintf(why->text, sizeof why->text,
           "has cd_values of szgpu that do not match its chunks, so it was not read; inspect them "
           "with h5dump -pH");
  return false;
}
