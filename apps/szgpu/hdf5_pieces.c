/* hdf5_pieces.c - reads the values of a box of a dataset: HDF5 in one thread, what it takes in any.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_pieces.h"

#include "field.h"
#include "hdf5_api.h"
#include "hdf5_archive.h"
#include "hdf5_chunks.h"
#include "hdf5_names.h"
#include "inflate.h"
#include "szgpu_hdf5.h"
#include "values.h"

#include <string.h>

/* ---- the dataset ---- */

static bool take_archives(hid_t properties, struct pieces_source *source) {
  unsigned flags, words[SZGPU_H5_MOST_WORDS] = {0};
  size_t count = SZGPU_H5_MOST_WORDS;
  szgpu_params params;
  H5Z_filter_t const filter = H5Pget_filter2(properties, 0, &flags, &count, words, 0, NULL, NULL);
  source->are_archives =
      szgpu_h5_is_filter(filter) && !szgpu_h5_chunk(words, count, &params, &source->shape) &&
      shape_values(&source->shape) * dtype_bytes(source->shape.dtype) == source->piece_bytes &&
      source->shape.dtype == source->variable->dtype;
  source->filters[0] = filter;
  source->filter_count = 1;
  return source->are_archives;
}

/* Whether threads can undo its filters. */
static bool take_filters(hid_t properties, struct pieces_source *source) {
  int const filter_count = H5Pget_nfilters(properties);
  unsigned options = 0;
  bool const has_options = H5Pget_chunk_opts(properties, &options) >= 0 && options != 0;
  if (filter_count < 0 || filter_count > PIECES_MOST_FILTERS || has_options) return false;
  if (filter_count == 1 && take_archives(properties, source)) return true;
  for (int i = 0; i < filter_count; i++) {
    unsigned flags;
    source->filters[i] = H5Pget_filter2(properties, (unsigned)i, &flags, NULL, NULL, 0, NULL, NULL);
    bool const is_known = source->filters[i] == H5Z_FILTER_SHUFFLE ||
                          (source->filters[i] == H5Z_FILTER_DEFLATE && inflate_is_there());
    if (!is_known) return false;
  }
  source->filter_count = filter_count;
  return true;
}

bool pieces_open(const struct plan_variable *variable, hid_t dataset, struct pieces_source *source,
                 struct hdf5_sentence *why) {
  *source = (struct pieces_source){.variable = variable, .dataset = dataset};
  hid_t const stored = H5Dget_type(dataset), properties = H5Dget_create_plist(dataset);
  H5D_fill_value_t fill;
  source->type = hdf5_type_of_dtype(variable->dtype);
  source->value_bytes = dtype_bytes(variable->dtype);
  source->is_swapped = source->value_bytes > 1 && H5Tget_order(stored) == H5T_ORDER_BE;
  source->piece_bytes = variable->chunk[0] ? source->value_bytes : 0;
  for (int axis = 0; axis < variable->rank; axis++) source->piece_bytes *= variable->chunk[axis];
  source->most_raw_bytes = source->piece_bytes + source->piece_bytes / 8 + 1024;
  source->are_raw = source->piece_bytes > 0 && take_filters(properties, source);
  if (H5Pfill_value_defined(properties, &fill) >= 0 && fill == H5D_FILL_VALUE_USER_DEFINED)
    H5Pget_fill_value(properties, source->type, source->padding);
  H5Pclose(properties);
  H5Tclose(stored);
  if (source->are_raw || hdf5_chunks_are_sound(dataset, why)) return true;
  pieces_close(source);
  return false;
}

void pieces_close(struct pieces_source *source) {
  if (source->type > 0) H5Tclose(source->type);
  source->type = 0;
}

uint64_t pieces_in(const struct pieces_source *source, const hsize_t *dims) {
  const struct plan_variable *const variable = source->variable;
  uint64_t count = source->are_raw ? 1 : 0;
  for (int axis = 0; axis < variable->rank && count > 0; axis++)
    count *= (dims[axis] - 1) / variable->chunk[axis] + 1;
  return count;
}

/* ---- in the thread of HDF5 ---- */

/* Goes on to the next place of a grid of these steps in the box, the last axis first. False: there
 * is none. */
static bool next_place(const struct box *box, int rank, const hsize_t *steps, hsize_t *place) {
  for (int axis = rank - 1; axis >= 0; axis--) {
    place[axis] += steps[axis];
    if (place[axis] < box->start[axis] + box->count[axis]) return true;
    place[axis] = box->start[axis];
  }
  return false;
}

/* Whether a chunk of the dataset, as it is in the file, is all that the box has. */
static bool is_whole(const struct pieces_source *source, const struct box *box) {
  size_t const dims_bytes = (size_t)source->variable->rank * sizeof *box->dims;
  return !box->is_cut && !source->is_swapped &&
         memcmp(box->dims, source->variable->chunk, dims_bytes) == 0;
}

/* A chunk that is not there is no error. A damaged index may pass for one: whoever reads a whole
 * dataset compares seen_chunks. */
static bool read_piece(struct pieces_source *source, struct box *box, const hsize_t *place,
                       struct hdf5_sentence *why) {
  int const rank = source->variable->rank;
  hsize_t raw_bytes = 0;
  uint32_t mask = 0;
  unsigned char *to;
  if (H5Dget_chunk_storage_size(source->dataset, place, &raw_bytes) < 0 || raw_bytes == 0)
    return true;
  *why = (struct hdf5_sentence){
      "has a chunk that is stored with more bytes than it can have; "
      "replace the file with an intact copy"};
  if (raw_bytes > source->most_raw_bytes) return false;
  struct piece *const piece = &box->pieces[box->piece_count];
  *piece = (struct piece){.raw_bytes = (size_t)raw_bytes};
  if (box->piece_count > 0) piece->raw_offset = piece[-1].raw_offset + piece[-1].raw_bytes;
  memcpy(piece->place, place, (size_t)rank * sizeof *place);
  piece->is_in_place =
      source->filter_count == 0 && raw_bytes == source->piece_bytes && is_whole(source, box);
  to = piece->is_in_place ? box->values : box->raw + piece->raw_offset;
  if (hdf5_read_chunk(source->dataset, place, &mask, to) < 0) {
    struct hdf5_sentence const reason = hdf5_last_failure();
    snprintf(why->text, sizeof why->text,
             "cannot be read (HDF5 says: %.160s); check it with h5dump", reason.text);
    return false;
  }
  piece->mask = mask;
  box->piece_count++;
  source->seen_chunks++;
  return true;
}

static bool read_pieces(struct pieces_source *source, struct box *box, struct hdf5_sentence *why) {
  int const rank = source->variable->rank;
  hsize_t place[H5S_MAX_RANK];
  bool is_read = true;
  box->piece_count = 0;
  memcpy(place, box->start, sizeof place);
  do is_read = read_piece(source, box, place, why);
  while (is_read && next_place(box, rank, source->variable->chunk, place));
  return is_read;
}

static void fill_box(const struct pieces_source *source, struct box *box) {
  for (uint64_t i = 0; i < box->value_count; i++)
    memcpy(box->values + i * source->value_bytes, source->padding, source->value_bytes);
}

static bool read_box(struct pieces_source *source, struct box *box, struct hdf5_sentence *why) {
  static hsize_t const origin[H5S_MAX_RANK];
  int const rank = source->variable->rank;
  if (box->is_cut) fill_box(source, box);
  hid_t const there = H5Dget_space(source->dataset);
  hid_t const here = H5Screate_simple(rank, box->dims, NULL);
  H5Sselect_hyperslab(there, H5S_SELECT_SET, box->start, NULL, box->count, NULL);
  H5Sselect_hyperslab(here, H5S_SELECT_SET, origin, NULL, box->count, NULL);
  bool const is_read =
      H5Dread(source->dataset, source->type, here, there, H5P_DEFAULT, box->values) >= 0;
  if (!is_read) {
    struct hdf5_sentence const reason = hdf5_last_failure();
    snprintf(why->text, sizeof why->text,
             "cannot be read (HDF5 says: %.160s); check it with h5dump", reason.text);
  }
  H5Sclose(here);
  H5Sclose(there);
  return is_read;
}

bool pieces_read(struct pieces_source *source, struct box *box, bool *is_there,
                 struct hdf5_sentence *why) {
  bool const is_read = source->are_raw ? read_pieces(source, box, why) : read_box(source, box, why);
  *is_there = !source->are_raw || box->piece_count > 0;
  return is_read;
}

/* ---- in any thread ---- */

/* Byte planes to values, as HDF5's filter shuffle orders them. */
static void unshuffle(const unsigned char *planes, size_t width, size_t byte_count,
                      unsigned char *values) {
  size_t const count = byte_count / width;
  for (size_t i = 0; i < count && width == sizeof(uint32_t); i++) { /* what compilers do best */
    uint32_t const value = planes[i] | (uint32_t)planes[count + i] << 8 |
                           (uint32_t)planes[2 * count + i] << 16 |
                           (uint32_t)planes[3 * count + i] << 24;
    memcpy(values + i * sizeof value, &value, sizeof value);
  }
  for (size_t plane = 0; plane < width && width != sizeof(uint32_t); plane++)
    for (size_t i = 0; i < count; i++) values[i * width + plane] = planes[plane * count + i];
}

/* The filters were used in their order, so they are undone from the last on. The bytes move between
 * two buffers, and to `end` at last, unless that is NULL. NULL: damaged. */
static const unsigned char *restore(const struct pieces_source *source, szgpu_ctx *ctx,
                                    const struct piece *piece, const unsigned char *raw,
                                    unsigned char *scratch, unsigned char *end,
                                    szgpu_status *status) {
  size_t const whole_bytes = (size_t)source->piece_bytes;
  if (source->are_archives && !(piece->mask & 1)) {
    const unsigned char *chunk;
    *status = archive_restore(ctx, &source->shape, source->is_swapped, raw, piece->raw_bytes,
                              end ? end : scratch, whole_bytes, &chunk);
    return *status == SZGPU_OK ? chunk : NULL;
  }
  unsigned char *const buffers[2] = {scratch, scratch + whole_bytes};
  const unsigned char *from = raw;
  size_t from_bytes = piece->raw_bytes;
  int turn = 0;
  for (int i = source->filter_count - 1; i >= 0; i--) {
    if (piece->mask >> i & 1) continue;
    bool const is_last = (piece->mask | ~0u << i) == ~0u; /* of those that it went through */
    unsigned char *const to = is_last && end ? end : buffers[turn];
    turn = !turn;
    if (source->filters[i] == H5Z_FILTER_DEFLATE) {
      if (!inflate_bytes(from, from_bytes, to, whole_bytes)) return NULL;
    } else {
      if (from_bytes != whole_bytes) return NULL;
      unshuffle(from, source->value_bytes, whole_bytes, to);
    }
    from = to;
    from_bytes = whole_bytes;
  }
  return from_bytes == whole_bytes ? from : NULL;
}

/* Copies what lies in the dataset, line by line along the last axis. */
static void place_piece(const struct pieces_source *source, const struct box *box,
                        const struct piece *piece, const unsigned char *chunk) {
  const struct plan_variable *const variable = source->variable;
  int const rank = variable->rank, last = rank - 1;
  hsize_t count[H5S_MAX_RANK], at[H5S_MAX_RANK] = {0};
  for (int axis = 0; axis < rank; axis++) {
    hsize_t const left = box->start[axis] + box->count[axis] - piece->place[axis];
    count[axis] = variable->chunk[axis] < left ? variable->chunk[axis] : left;
  }
  for (;;) {
    uint64_t from = 0, to = 0;
    for (int axis = 0; axis < rank; axis++) {
      from = from * variable->chunk[axis] + at[axis];
      to = to * box->dims[axis] + piece->place[axis] - box->start[axis] + at[axis];
    }
    unsigned char *const line = box->values + to * source->value_bytes;
    const unsigned char *const stored = chunk + from * source->value_bytes;
    if (source->is_swapped)
      swap_bytes(line, stored, count[last], variable->dtype);
    else
      memcpy(line, stored, (size_t)count[last] * source->value_bytes);
    int axis = last - 1;
    for (; axis >= 0 && ++at[axis] == count[axis]; axis--) at[axis] = 0;
    if (axis < 0) return;
  }
}

const char *pieces_make_values(const struct pieces_source *source, szgpu_ctx *ctx, struct box *box,
                               unsigned char *scratch, szgpu_status *status) {
  *status = SZGPU_OK;
  if (!source->are_raw) return NULL;
  unsigned char *const end = is_whole(source, box) ? box->values : NULL;
  if (box->is_cut || box->piece_count < pieces_in(source, box->count)) fill_box(source, box);
  for (size_t i = 0; i < box->piece_count; i++) {
    const struct piece *const piece = &box->pieces[i];
    if (piece->is_in_place) continue;
    const unsigned char *const chunk =
        restore(source, ctx, piece, box->raw + piece->raw_offset, scratch, end, status);
    if (!chunk && status_is_of_resources(*status)) return NULL;
    *status = SZGPU_OK; /* what is damaged is told by a sentence */
    if (!chunk)
      return "has a damaged chunk, so it was not read; replace the file with an intact copy";
    if (chunk != box->values) place_piece(source, box, piece, chunk);
  }
  return NULL;
}
