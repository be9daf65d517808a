/* hdf5_rows.c - a dataset's values, some rows at a time, as a source of the library's streams.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The library asks for any bytes of the field, mostly in order. HDF5 gives rows, and restores whole
 * chunks for them, so a window has rows of whole chunks, and each chunk is restored once in a pass.
 */
#include "hdf5_rows.h"

#include "hdf5_names.h"
#include "hdf5_reading.h"
#include "hdf5_virtual.h"
#include "values.h"

#include <errno.h>
#include <hdf5.h>
#include <string.h>

enum {
  LEAST_WINDOW_BYTES = 1 << 20,
  CACHE_BYTES = 4 << 20, /* HDF5's: of chunks, of metadata, of values whose type it converts */
  CHUNK_COPIES = 3       /* a chunk, its packed bytes, and a filter's output as it grows */
};

/* Sets the row axis and the rows; chunk gets the dims of a chunk, 0 if there are none. */
static void find_rows(struct dataset_rows *rows, hsize_t chunk[H5S_MAX_RANK]) {
  hsize_t dims[H5S_MAX_RANK] = {1};
  hid_t const space = H5Dget_space(rows->dataset->id);
  hid_t const properties = H5Dget_create_plist(rows->dataset->id);
  size_t const value_bytes = dtype_bytes(rows->dataset->shape.dtype);
  int const rank = H5Sget_simple_extent_dims(space, dims, NULL);
  bool const has_chunks = H5Pget_layout(properties) == H5D_CHUNKED;
  if (has_chunks) H5Pget_chunk(properties, H5S_MAX_RANK, chunk);
  for (rows->row_axis = 0; rows->row_axis + 1 < rank && dims[rows->row_axis] == 1;)
    rows->row_axis++;
  rows->row_count = dims[rows->row_axis];
  rows->row_bytes = value_bytes;
  for (int axis = rows->row_axis + 1; axis < rank; axis++) rows->row_bytes *= dims[axis];
  rows->library_bytes = CACHE_BYTES;
  uint64_t chunk_bytes = has_chunks ? value_bytes : 0;
  for (int axis = 0; axis < rank && has_chunks; axis++) chunk_bytes *= chunk[axis];
  rows->library_bytes += CHUNK_COPIES * chunk_bytes; /* below 4 GiB, says HDF5's format */
  H5Pclose(properties);
  H5Sclose(space);
}

static uint64_t window_bytes(const struct dataset_rows *rows) {
  return rows->window_rows * rows->row_bytes;
}

static void choose_window(struct dataset_rows *rows, uint64_t chunk_rows, uint64_t most_bytes) {
  if (chunk_rows == 0) chunk_rows = 1;
  rows->window_rows = chunk_rows < rows->row_count ? chunk_rows : rows->row_count;
  while (window_bytes(rows) < LEAST_WINDOW_BYTES && rows->window_rows < rows->row_count)
    rows->window_rows *= 2;
  if (rows->window_rows > rows->row_count) rows->window_rows = rows->row_count;
  for (; window_bytes(rows) > most_bytes && rows->window_rows > 1; rows->is_window_cut = true)
    rows->window_rows = (rows->window_rows + 1) / 2;
}

int hdf5_rows_open(const struct report *report, const struct input *input,
                   const struct dataset *dataset, uint64_t most_bytes, struct dataset_rows *rows) {
  hsize_t chunk[H5S_MAX_RANK] = {0};
  *rows = (struct dataset_rows){.dataset = dataset};
  if (hdf5_is_virtual(dataset->id))
    return report_failure(report, CODE_USAGE, input->name,
                          "is a virtual dataset, which is not read frame by frame; copy it to a "
                          "dataset with values of its own, and name that");
  int const code = hdf5_check_chunks(report, input, dataset->id);
  if (code != CODE_OK) return code;
  find_rows(rows, chunk);
  choose_window(rows, chunk[rows->row_axis], most_bytes);
  rows->window = memory_take(window_bytes(rows));
  if (!rows->window.bytes || !memory_allows(rows->library_bytes))
    return report_out_of_memory(report, input->name, "reading it", hdf5_rows_bytes(rows));
  memory_count(rows->library_bytes);
  rows->is_counted = true;
  return CODE_OK;
}

uint64_t hdf5_rows_bytes(const struct dataset_rows *rows) {
  return rows->dataset ? window_bytes(rows) + rows->library_bytes : 0;
}

/* Reads rows from first_row on into the window. False: HDF5 could not. */
static bool load_window(struct dataset_rows *rows, uint64_t first_row) {
  hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK];
  hid_t const dataset = rows->dataset->id;
  uint64_t const left = rows->row_count - first_row;
  hdf5_silence(); /* this may be a thread of the library */
  rows->held_rows = 0;
  rows->first_row = first_row;
  hid_t const space = H5Dget_space(dataset);
  H5Sget_simple_extent_dims(space, count, NULL);
  hsize_t const row_count = left < rows->window_rows ? left : rows->window_rows;
  hid_t const type = hdf5_type_of_dtype(rows->dataset->stored_dtype);
  int const rank = H5Sget_simple_extent_ndims(space); /* 0: a single value */
  start[rows->row_axis] = first_row;
  count[rows->row_axis] = row_count;
  hid_t const window = rank > 0 ? H5Screate_simple(rank, count, NULL) : H5Scopy(space);
  bool is_read =
      rank == 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
  is_read = is_read && H5Dread(dataset, type, window, space, H5P_DEFAULT, rows->window.bytes) >= 0;
  if (is_read) rows->held_rows = row_count;
  if (!is_read) rows->reason = hdf5_last_failure();
  H5Sclose(window);
  H5Tclose(type);
  H5Sclose(space);
  return is_read;
}

static int read_rows(void *user, uint64_t offset, void *bytes, size_t byte_count,
                     size_t *got_bytes) {
  struct dataset_rows *const rows = user;
  uint64_t const field_bytes = rows->row_count * rows->row_bytes;
  *got_bytes = 0;
  while (*got_bytes < byte_count && offset < field_bytes) {
    uint64_t const row = offset / rows->row_bytes;
    bool const is_held = row >= rows->first_row && row - rows->first_row < rows->held_rows;
    if (!is_held && !load_window(rows, row - row % rows->window_rows)) {
      rows->has_failed = true;
      return EIO;
    }
    uint64_t const begin = offset - rows->first_row * rows->row_bytes;
    uint64_t const there = rows->held_rows * rows->row_bytes - begin;
    size_t const wanted = byte_count - *got_bytes;
    size_t const copied = there < wanted ? (size_t)there : wanted;
    memcpy((unsigned char *)bytes + *got_bytes, rows->window.bytes + begin, copied);
    *got_bytes += copied;
    offset += copied;
  }
  return 0;
}

szgpu_source hdf5_rows_source(struct dataset_rows *rows) {
  return (szgpu_source){.read = read_rows, .user = rows};
}

int hdf5_rows_failure(const struct report *report, const struct input *input,
                      const struct dataset_rows *rows) {
  return hdf5_refuse_values(report, input, rows->dataset->id, &rows->reason);
}

void hdf5_rows_close(struct dataset_rows *rows) {
  memory_give_back(&rows->window);
  if (rows->is_counted) memory_uncount(rows->library_bytes);
  *rows = (struct dataset_rows){0};
}
