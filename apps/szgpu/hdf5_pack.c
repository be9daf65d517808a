/* hdf5_pack.c - one dataset in archives: its chunks, its bound, its filter, its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_pack.h"

#include "hdf5_attributes.h"
#include "hdf5_netcdf.h"
#include "hdf5_words.h"
#include "values.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  LEAST_CHUNK_BYTES = 1 << 18, /* smaller ones compress less, and each call has a cost */
  CHOSEN_CHUNK_BYTES = 1 << 23,
  LEAST_JOINED = 8, /* along an axis, unless that is all: two or four planes may take half as much
                     * again as single ones */
  SAMPLE_CHUNKS = 8 /* of an estimate */
};

/* ---- chunks ---- */

/* Chunks that are large enough stay. Small ones are joined, so that each is read once, along the
 * fastest axes first; a dataset without chunks is cut as if it had chunks of one value. */
static void choose_chunk(const struct plan_variable *variable, bool is_kept,
                         hsize_t chunk[H5S_MAX_RANK]) {
  bool const has_chunks = variable->chunk[0] > 0;
  uint64_t bytes = dtype_bytes(variable->dtype);
  for (int axis = 0; axis < variable->rank; axis++) {
    chunk[axis] = has_chunks ? variable->chunk[axis] : 1;
    bytes *= chunk[axis];
  }
  if (has_chunks && (is_kept || bytes >= LEAST_CHUNK_BYTES)) return;
  for (int axis = variable->rank - 1; axis >= 0; axis--) {
    assert(chunk[axis] > 0 && bytes > 0);
    uint64_t const there = (variable->dims[axis] - 1) / chunk[axis] + 1;
    uint64_t const wanted = CHOSEN_CHUNK_BYTES / bytes;
    uint64_t const joined = wanted < there ? wanted : there;
    if (joined < 2 || (joined < there && joined < LEAST_JOINED)) continue;
    chunk[axis] *= joined;
    bytes *= joined;
    if (chunk[axis] > variable->dims[axis] && !variable->may_grow[axis])
      chunk[axis] = variable->dims[axis]; /* HDF5 refuses more */
  }
}

/* ---- what is missing, and the bound ---- */

/* A little below a number that was rounded. */
static double below(double number) { return nextafter(nextafter(nextafter(number, 0), 0), 0); }

static void take_missing(const struct squeeze_work *work, szgpu_params *params) {
  const struct fills *const fills = &work->fills;
  int const count = fills->count < MOST_FILLS ? fills->count : MOST_FILLS;
  params->has_fill = count > 0;
  params->fill = count > 0 ? fills->values[0] : 0;
  params->more_fill_count = count > 1 ? (uint32_t)count - 1 : 0;
  for (int i = 1; i < count; i++) params->more_fills[i - 1] = fills->values[i];
  params->has_valid = fills->has_valid;
  params->valid_least = fills->has_valid ? fills->valid_least : 0;
  params->valid_greatest = fills->has_valid ? fills->valid_greatest : 0;
}

/* Looks at all values: which fill values there are, and the range of the others. */
static int look(struct squeeze *squeeze, struct squeeze_work *work) {
  szgpu_params const defaults = SZGPU_PARAMS_DEFAULTS;
  work->params = defaults;
  work->params.keep = SZGPU_KEEP_MISSING | SZGPU_KEEP_RANGE;
  take_missing(work, &work->params);
  work->shape = (szgpu_shape){work->variable->dtype, 1, {1}};
  for (int axis = 0; axis < work->variable->rank; axis++) work->shape.dims[0] *= work->chunk[axis];
  work->kind = SQUEEZE_LOOK;
  int const code = squeeze_run(squeeze, work);
  work->kind = SQUEEZE_TO_ARCHIVES;
  return code;
}

/* The bound of a fraction of the range, or of a PSNR, as an absolute one. 0: all values are equal,
 * or missing. */
static double bound_of_range(const struct bound *bound, const struct squeeze_range *range) {
  double const width = range->has_values ? range->greatest - range->least : 0;
  double const share =
      bound->mode == SZGPU_MODE_REL ? bound->value : sqrt(3) * pow(10, -bound->value / 20);
  return isfinite(width) ? below(width * share) : 0;
}

/* Sets the bound of the stored values, in `stored`. An archive of values that are all equal loses
 * nothing. */
static int find_bound(struct squeeze *squeeze, struct squeeze_work *work,
                      struct plan_variable *variable, struct bound *stored) {
  const struct dataset *const about = &variable->about;
  *stored = variable->bound;
  if (stored->mode == SZGPU_MODE_REL || stored->mode == SZGPU_MODE_PSNR) {
    int const code = look(squeeze, work);
    if (code != CODE_OK) return code;
    stored->mode = SZGPU_MODE_ABS;
    stored->value = bound_of_range(&variable->bound, &work->range);
  } else if (stored->mode == SZGPU_MODE_ABS && about->is_packed) {
    stored->value = below(stored->value / fabs(about->scale));
  }
  if (stored->mode != SZGPU_MODE_ABS) return CODE_OK;
  if (!(stored->value > 0) || !isfinite(stored->value)) stored->mode = SZGPU_MODE_LOSSLESS;
  if (stored->mode == SZGPU_MODE_ABS)
    variable->absolute_bound = stored->value * (about->is_packed ? fabs(about->scale) : 1);
  if (variable->bound.mode == SZGPU_MODE_ABS) variable->absolute_bound = variable->bound.value;
  return CODE_OK;
}

/* *is_possible: an archive can hold what is missing. */
static int find_missing(struct squeeze *squeeze, struct squeeze_work *work,
                        struct plan_variable *variable, bool *is_possible) {
  fills_fit(&variable->about.fills, variable->dtype);
  work->fills = variable->about.fills;
  *is_possible = true;
  if (variable->bound.mode == SZGPU_MODE_LOSSLESS || work->fills.count <= MOST_FILLS)
    return CODE_OK;
  int const code = look(squeeze, work);
  if (code != CODE_OK) return code;
  fills_keep_found(&work->fills);
  variable->about.fills = work->fills;
  *is_possible = work->fills.count <= MOST_FILLS;
  if (!*is_possible)
    snprintf(variable->why, PLAN_WHY_CHARS, "%d kinds of missing values, and 4 can be kept",
             work->fills.count);
  return CODE_OK;
}

/* ---- the filter ---- */

/* The words of cd_values: the bound, options, what is missing, then the type and the chunk. The
 * dataset's own fill value goes with the latter. */
static size_t make_words(const struct squeeze_work *work, const struct bound *stored,
                         const szgpu_params *asked, hid_t properties,
                         unsigned words[SZGPU_H5_MOST_WORDS]) {
  const struct plan_variable *const variable = work->variable;
  bool const is_lossless = stored->mode == SZGPU_MODE_LOSSLESS;
  uint64_t dims[H5S_MAX_RANK];
  H5D_fill_value_t defined;
  double own = 0;
  szgpu_h5_cd_values(stored->mode, stored->value, words);
  unsigned *const options = &words[SZGPU_H5_WORD_OPTIONS];
  *options |= (unsigned)asked->zstd_level;
  if (asked->layout == SZGPU_LAYOUT_LINEAR) *options |= SZGPU_H5_LINEAR;
  if (!is_lossless) *options |= szgpu_h5_predictor_bits(asked->predictor) | SZGPU_H5_NAMED;
  for (int i = 0; i < work->fills.count && !is_lossless; i++)
    if (strcmp(work->fills.origins[i], HDF5_OWN_FILL) != 0)
      szgpu_h5_add_fill(words, work->fills.values[i]);
  bool const has_own = H5Pfill_value_defined(properties, &defined) >= 0 &&
                       defined == H5D_FILL_VALUE_USER_DEFINED &&
                       H5Pget_fill_value(properties, H5T_NATIVE_DOUBLE, &own) >= 0;
  for (int axis = 0; axis < variable->rank; axis++) dims[axis] = work->chunk[axis];
  size_t const user_count = szgpu_h5_user_words(words);
  size_t const count =
      szgpu_h5_set_chunk(variable->dtype, variable->rank, dims, has_own ? &own : NULL, words);
  if (count > 0 && work->source.is_swapped)
    words[user_count + SZGPU_H5_CHUNK_TYPE] |= SZGPU_H5_BIG_ENDIAN;
  return count;
}

/* Sets the params and the shape of a chunk's archive, by the words that are stored. */
static const char *take_words(struct squeeze_work *work, const unsigned *words, size_t count) {
  const char *const fault = szgpu_h5_chunk(words, count, &work->params, &work->shape);
  if (fault || work->params.mode != SZGPU_MODE_ABS) return fault;
  work->params.has_valid = work->fills.has_valid;
  work->params.valid_least = work->fills.has_valid ? work->fills.valid_least : 0;
  work->params.valid_greatest = work->fills.has_valid ? work->fills.valid_greatest : 0;
  return NULL;
}

/* ---- a dataset ---- */

static int begin(struct squeeze *squeeze, hid_t dataset, struct plan_variable *variable,
                 struct squeeze_work *work) {
  struct hdf5_sentence why;
  *work = (struct squeeze_work){.variable = variable, .out = H5I_INVALID_HID};
  for (int axis = 0; axis < variable->rank; axis++) work->may_grow |= variable->may_grow[axis];
  choose_chunk(variable, squeeze->job->options->are_chunks_kept, work->chunk);
  if (pieces_open(variable, dataset, &work->source, &why)) return CODE_OK;
  return report_failure(&squeeze->job->report, CODE_IO,
                        plan_name_of(squeeze->name, variable->path).text, "%s", why.text);
}

static hid_t properties_with_fill(const struct squeeze_work *work) {
  hid_t const dataset = work->source.dataset, properties = hdf5_properties_of(dataset);
  if (work->variable->lacks_fill) netcdf_give_fill(dataset, properties);
  return properties;
}

/* The properties of the new dataset: those of the old one, but for chunks and filters. */
static hid_t make_properties(const struct squeeze_work *work, const struct bound *stored,
                             const szgpu_params *asked) {
  unsigned words[SZGPU_H5_MOST_WORDS];
  hid_t const properties = properties_with_fill(work);
  size_t const count = make_words(work, stored, asked, properties, words);
  H5Premove_filter(properties, H5Z_FILTER_ALL);
  bool const is_made =
      count > 0 && H5Pset_chunk(properties, work->variable->rank, work->chunk) >= 0 &&
      H5Pset_chunk_opts(properties, 0) >= 0 &&
      H5Pset_alloc_time(properties, H5D_ALLOC_TIME_INCR) >= 0 &&
      H5Pset_filter(properties, SZGPU_H5_FILTER_ID, H5Z_FLAG_MANDATORY, count, words) >= 0;
  if (is_made) return properties;
  H5Pclose(properties);
  return H5I_INVALID_HID;
}

static hid_t create(const struct copy *copy, const struct squeeze_work *work, hid_t properties,
                    hid_t link_properties) {
  hid_t const stored = H5Dget_type(work->source.dataset), type = copy_map_type(copy, stored);
  hid_t const space = H5Dget_space(work->source.dataset);
  hid_t const dataset = H5Dcreate2(copy->out, work->variable->path, type, space, link_properties,
                                   properties, H5P_DEFAULT);
  H5Sclose(space);
  H5Tclose(type);
  H5Tclose(stored);
  return dataset;
}

static int write_dataset(struct copy *copy, struct squeeze *squeeze, struct squeeze_work *work,
                         const struct bound *stored, hid_t link_properties) {
  const char *const path = work->variable->path;
  unsigned words[SZGPU_H5_MOST_WORDS];
  hid_t const properties = make_properties(work, stored, &squeeze->job->options->params);
  if (properties < 0) return copy_fail_to_write(copy, path);
  work->out = create(copy, work, properties, link_properties);
  H5Pclose(properties);
  if (work->out < 0) return copy_fail_to_write(copy, path);
  size_t const count = szgpu_h5_dataset_words(work->out, words);
  const char *const fault = take_words(work, words, count);
  int code = fault ? report_failure(copy->report, CODE_USAGE, plan_name_of(copy->name, path).text,
                                    "cannot be compressed: %s", fault)
                   : squeeze_run(squeeze, work);
  if (H5Dclose(work->out) < 0 && code == CODE_OK) code = copy_fail_to_write(copy, path);
  return code;
}

int pack_dataset(struct copy *copy, struct squeeze *squeeze, struct plan_variable *variable,
                 hid_t link_properties, bool *is_made) {
  struct squeeze_work work;
  struct bound stored;
  hid_t const dataset = H5Dopen2(copy->in, variable->path, H5P_DEFAULT);
  if (dataset < 0) return copy_fail_to_read(copy, variable->path);
  int code = begin(squeeze, dataset, variable, &work);
  if (code == CODE_OK) code = find_missing(squeeze, &work, variable, &variable->is_compressed);
  *is_made = variable->is_compressed;
  if (code == CODE_OK && *is_made) code = find_bound(squeeze, &work, variable, &stored);
  if (code == CODE_OK && *is_made)
    code = write_dataset(copy, squeeze, &work, &stored, link_properties);
  variable->written_bytes = work.archive_bytes;
  pieces_close(&work.source);
  H5Dclose(dataset);
  return code;
}

int pack_estimate(hid_t in, struct squeeze *squeeze, struct plan_variable *variable) {
  struct squeeze_work work;
  struct bound stored;
  unsigned words[SZGPU_H5_MOST_WORDS];
  hid_t const dataset = H5Dopen2(in, variable->path, H5P_DEFAULT);
  int code = begin(squeeze, dataset, variable, &work);
  work.most_chunks = SAMPLE_CHUNKS;
  if (code == CODE_OK) code = find_missing(squeeze, &work, variable, &variable->is_compressed);
  bool const is_possible = variable->is_compressed;
  if (code == CODE_OK && is_possible) code = find_bound(squeeze, &work, variable, &stored);
  if (code == CODE_OK && is_possible) {
    hid_t const properties = properties_with_fill(&work);
    size_t const count =
        make_words(&work, &stored, &squeeze->job->options->params, properties, words);
    const char *const fault = take_words(&work, words, count);
    H5Pclose(properties);
    code = fault ? report_failure(&squeeze->job->report, CODE_USAGE,
                                  plan_name_of(squeeze->name, variable->path).text,
                                  "cannot be compressed: %s", fault)
                 : squeeze_run(squeeze, &work);
  }
  variable->written_bytes = work.archive_bytes;
  pieces_close(&work.source);
  H5Dclose(dataset);
  return code;
}

/* The chunks stay. Filters behind szgpu's are undone with it. */
static hid_t properties_without_filters(hid_t dataset) {
  hid_t const properties = hdf5_properties_of(dataset);
  H5Premove_filter(properties, H5Z_FILTER_ALL);
  H5Pset_chunk_opts(properties, 0);
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_INCR);
  return properties;
}

int pack_restore(struct copy *copy, struct squeeze *squeeze, struct plan_variable *variable,
                 hid_t link_properties) {
  struct hdf5_sentence why;
  struct squeeze_work work = {.kind = SQUEEZE_TO_VALUES, .variable = variable};
  szgpu_params const defaults = SZGPU_PARAMS_DEFAULTS;
  hid_t const dataset = H5Dopen2(copy->in, variable->path, H5P_DEFAULT);
  if (dataset < 0) return copy_fail_to_read(copy, variable->path);
  memcpy(work.chunk, variable->chunk, sizeof work.chunk);
  int code = CODE_OK;
  if (!pieces_open(variable, dataset, &work.source, &why))
    code = report_failure(copy->report, CODE_IO, plan_name_of(copy->name, variable->path).text,
                          "%s", why.text);
  hid_t const properties = properties_without_filters(dataset);
  work.out = code == CODE_OK ? create(copy, &work, properties, link_properties) : H5I_INVALID_HID;
  H5Pclose(properties);
  if (code == CODE_OK && work.out < 0) code = copy_fail_to_write(copy, variable->path);
  work.params = defaults;
  work.shape = (szgpu_shape){variable->dtype, 1, {1}};
  for (int axis = 0; axis < variable->rank; axis++) work.shape.dims[0] *= work.chunk[axis];
  if (code == CODE_OK && variable->raw_bytes > 0) code = squeeze_run(squeeze, &work);
  if (work.out >= 0 && H5Dclose(work.out) < 0 && code == CODE_OK)
    code = copy_fail_to_write(copy, variable->path);
  variable->written_bytes = work.archive_bytes;
  pieces_close(&work.source);
  H5Dclose(dataset);
  return code;
}
