/* hdf5_stored.c - copies what a file stores of a dataset, whatever its filters have made of it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * H5Ocopy would do that, too, but with HDF5 1.10 it crashes if it cannot read or write.
 */
#include "hdf5_stored.h"

#include "hdf5_same.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 1 << 24 }; /* of chunks, of which each is asked for */

/* ---- filters ---- */

/* Chunks are made elsewhere or copied, so this is never called: readers have the plugin. */
static size_t refuse_chunk(unsigned flags, size_t word_count, const unsigned words[],
                           size_t byte_count, size_t *buffer_bytes, void **buffer) {
  (void)flags, (void)word_count, (void)words, (void)byte_count, (void)buffer_bytes, (void)buffer;
  return 0;
}

bool hdf5_stand_in_for_filter(H5Z_filter_t filter) {
  H5Z_class2_t const filter_class = {.version = H5Z_CLASS_T_VERS,
                                     .id = filter,
                                     .encoder_present = 1,
                                     .decoder_present = 1,
                                     .name = "stand-in",
                                     .filter = refuse_chunk};
  return H5Zfilter_avail(filter) > 0 || H5Zregister(&filter_class) >= 0;
}

bool hdf5_stand_in_for_filters(hid_t properties) {
  int const filter_count = H5Pget_nfilters(properties);
  bool has_all = true;
  for (int i = 0; i < filter_count && has_all; i++) {
    unsigned flags;
    H5Z_filter_t const filter =
        H5Pget_filter2(properties, (unsigned)i, &flags, NULL, NULL, 0, NULL, NULL);
    has_all = filter >= 0 && hdf5_stand_in_for_filter(filter);
  }
  return has_all;
}

/* ---- chunks ---- */

struct chunks {
  const struct copy *copy;
  const char *path;
  hid_t from, to;
  hsize_t file_bytes; /* no chunk has more */
  hsize_t found;
  unsigned char *bytes, *others; /* others: of the new chunk, in a check */
  size_t capacity;
};

static bool is_same_chunk(struct chunks *chunks, const hsize_t *place, hsize_t byte_count,
                          uint32_t mask) {
  hsize_t other_bytes = 0;
  uint32_t other_mask = 0;
  return H5Dget_chunk_storage_size(chunks->to, place, &other_bytes) >= 0 &&
         other_bytes == byte_count &&
         hdf5_read_chunk(chunks->to, place, &other_mask, chunks->others) >= 0 &&
         other_mask == mask && chunks->bytes && chunks->others &&
         memcmp(chunks->bytes, chunks->others, (size_t)byte_count) == 0;
}

/* Makes room for one, in a check for two. */
static bool grow(struct chunks *chunks, size_t byte_count) {
  unsigned char *const bytes = realloc(chunks->bytes, byte_count);
  if (bytes) chunks->bytes = bytes;
  unsigned char *const others =
      chunks->copy->is_check ? realloc(chunks->others, byte_count) : chunks->others;
  if (others) chunks->others = others;
  bool const has_grown = bytes && (others || !chunks->copy->is_check);
  if (has_grown) chunks->capacity = byte_count;
  return has_grown;
}

static int copy_chunk(struct chunks *chunks, const hsize_t *place, hsize_t byte_count) {
  const struct copy *const copy = chunks->copy;
  uint32_t mask = 0;
  if (byte_count > chunks->file_bytes)
    return report_failure(
        copy->report, CODE_IO, copy->name,
        "has %s, with a chunk that is larger than the file; replace the file with "
        "an intact copy",
        chunks->path);
  if (byte_count > chunks->capacity && !grow(chunks, (size_t)byte_count))
    return report_out_of_memory(copy->report, copy->name, "a chunk", byte_count);
  if (hdf5_read_chunk(chunks->from, place, &mask, chunks->bytes) < 0)
    return copy_fail_to_read(copy, chunks->path);
  chunks->found++;
  if (copy->is_check)
    return is_same_chunk(chunks, place, byte_count, mask) ? CODE_OK
                                                          : copy_fail_as_other(copy, chunks->path);
  if (H5Dwrite_chunk(chunks->to, H5P_DEFAULT, mask, place, (size_t)byte_count, chunks->bytes) < 0)
    return copy_fail_to_write(copy, chunks->path);
  return CODE_OK;
}

/* Asks for the chunk at each place. */
static int copy_by_place(struct chunks *chunks, int rank, const hsize_t *dims,
                         const hsize_t *steps) {
  hsize_t place[H5S_MAX_RANK] = {0};
  int code = CODE_OK;
  for (int axis = rank; axis >= 0 && code == CODE_OK;) {
    hsize_t byte_count = 0;
    bool const is_there =
        H5Dget_chunk_storage_size(chunks->from, place, &byte_count) >= 0 && byte_count > 0;
    if (is_there) code = copy_chunk(chunks, place, byte_count);
    for (axis = rank - 1; axis >= 0; axis--) {
      place[axis] += steps[axis];
      if (place[axis] < dims[axis]) break;
      place[axis] = 0;
    }
  }
  return code;
}

/* Asks for the first, the second and so on, which takes a time that grows with the square. */
static int copy_by_index(struct chunks *chunks, hid_t space, hsize_t chunk_count) {
  int code = CODE_OK;
  for (hsize_t i = 0; i < chunk_count && code == CODE_OK; i++) {
    hsize_t place[H5S_MAX_RANK], byte_count = 0;
    unsigned mask;
    haddr_t address;
    code = H5Dget_chunk_info(chunks->from, space, i, place, &mask, &address, &byte_count) >= 0
               ? copy_chunk(chunks, place, byte_count)
               : copy_fail_to_read(chunks->copy, chunks->path);
  }
  return code;
}

int copy_chunks(const struct copy *copy, const char *path, hid_t from, hid_t to) {
  struct chunks chunks = {.copy = copy, .path = path, .from = from, .to = to};
  hsize_t dims[H5S_MAX_RANK], steps[H5S_MAX_RANK], chunk_count = 0, place_count = 1;
  hid_t const space = H5Dget_space(from), properties = H5Dget_create_plist(from);
  int const rank = H5Sget_simple_extent_dims(space, dims, NULL);
  bool const is_known = H5Pget_chunk(properties, H5S_MAX_RANK, steps) == rank &&
                        H5Dget_num_chunks(from, space, &chunk_count) >= 0 &&
                        H5Fget_filesize(copy->in, &chunks.file_bytes) >= 0;
  int code = is_known ? CODE_OK : copy_fail_to_read(copy, path);
  for (int axis = 0; axis < rank && code == CODE_OK && place_count <= MOST_PLACES; axis++)
    place_count *= dims[axis] / steps[axis] + (dims[axis] % steps[axis] > 0);
  if (code == CODE_OK && chunk_count > 0)
    code = place_count <= MOST_PLACES ? copy_by_place(&chunks, rank, dims, steps)
                                      : copy_by_index(&chunks, space, chunk_count);
  if (code == CODE_OK && chunks.found != chunk_count) /* others cannot be found */
    code = report_failure(copy->report, CODE_IO, copy->name,
                          "has %s, whose index of chunks is damaged; replace the file with an "
                          "intact copy",
                          path);
  free(chunks.others);
  free(chunks.bytes);
  H5Pclose(properties);
  H5Sclose(space);
  return code;
}
