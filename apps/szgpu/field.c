/* field.c - a field from a raw file, a .npy file or a dataset, in native byte order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "field.h"

#include "dataset.h"
#include "file_names.h"
#include "npy.h"
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool host_is_big_endian(void) {
  static uint16_t const one = 1;
  unsigned char first_byte;
  memcpy(&first_byte, &one, 1);
  return first_byte == 0;
}

void swap_bytes(void *to, const void *from, uint64_t value_count, szgpu_dtype dtype) {
  unsigned char *target = to;
  const unsigned char *source = from;
  size_t const value_bytes = dtype_bytes(dtype);
  for (uint64_t i = 0; i < value_count; i++, target += value_bytes, source += value_bytes) {
    unsigned char value[sizeof(double)];
    for (size_t k = 0; k < value_bytes; k++) value[k] = source[value_bytes - 1 - k];
    memcpy(target, value, value_bytes);
  }
}

static void reverse_dims(szgpu_shape *shape) {
  for (int axis = 0; axis < shape->ndim / 2; axis++) {
    uint64_t const dim = shape->dims[axis];
    shape->dims[axis] = shape->dims[shape->ndim - 1 - axis];
    shape->dims[shape->ndim - 1 - axis] = dim;
  }
}

/* How many bytes of values there are; of an input that was cut, only that they are too many. */
static struct words words_for_count(const struct input *input, uint64_t byte_count,
                                    uint64_t wanted_bytes) {
  struct words words;
  snprintf(words.text, sizeof words.text, "%s%" PRIu64, input->is_cut ? "more than " : "",
           input->is_cut ? wanted_bytes : byte_count);
  return words;
}

static int refuse_size(const struct report *report, const struct field *field,
                       const struct input *input) {
  const char *name = shown_input(input->name);
  uint64_t wanted_bytes;
  const char *remedy = "correct -d or -t";
  if (field->source & SZGPU_SOURCE_NPY) remedy = "write the file again, or correct -d";
  if (field->dataset.id != 0) remedy = "correct -d"; /* HDF5 knows its dims */
  struct words const dims = words_for_dims(&field->shape);
  if (!shape_bytes(&field->shape, &wanted_bytes))
    return report_failure(
        report, CODE_USAGE, name,
        "cannot hold %s %s values: their size does not fit in 64 bits; give smaller dims",
        dims.text, words_for_dtype(field->shape.dtype));
  return report_failure(report, CODE_USAGE, name,
                        "has %s bytes of values, but %s %s values are %" PRIu64 " bytes; %s",
                        words_for_count(input, field->byte_count, wanted_bytes).text, dims.text,
                        words_for_dtype(field->shape.dtype), wanted_bytes, remedy);
}

static int read_npy(const struct report *report, const struct options *options,
                    const struct input *input, struct field *field) {
  const char *name = shown_input(input->name);
  struct npy npy;
  const char *fault = npy_read_header(input->bytes, input->byte_count, &npy);
  if (fault) return report_failure(report, CODE_USAGE, name, "%s", fault);
  if (options && options->has_dtype && options->shape.dtype != npy.shape.dtype)
    return report_failure(report, CODE_USAGE, name,
                          "holds %s values according to its header, but -t says %s; leave -t out",
                          words_for_dtype(npy.shape.dtype), words_for_dtype(options->shape.dtype));
  field->shape = npy.shape;
  field->shape_origin = field->stated_by = "header";
  field->stated_shape = npy.shape;
  if (options && options->has_dims) {
    field->shape = options->shape;
    field->shape.dtype = npy.shape.dtype;
    field->shape_origin = "-d";
  }
  if (npy.is_fortran) reverse_dims(&field->shape);
  field->source = SZGPU_SOURCE_NPY | (npy.is_fortran ? SZGPU_SOURCE_FORTRAN : 0u) |
                  (npy.is_big_endian ? SZGPU_SOURCE_BIG_ENDIAN : 0u);
  field->values = input->bytes + npy.header_bytes;
  field->offset = npy.header_bytes;
  field->byte_count = input->total_bytes - npy.header_bytes;
  return CODE_OK;
}

/* Refuses a dataset's name if the file is not HDF5, and a file's name alone if the file is HDF5 or
 * is named like it. */
static int check_container(const struct report *report, const struct input *input) {
  const char *name = shown_input(input->name);
  enum container const container = container_of_bytes(input->bytes, input->byte_count);
  bool const is_expected = input->dataset || has_dataset_extension(input->name);
  if (container == CONTAINER_HDF5)
    return input->dataset ? CODE_OK : hdf5_refuse_file(report, input);
  if (!is_expected) return CODE_OK;
  if (container == CONTAINER_NETCDF)
    return report_failure(report, CODE_USAGE, name,
                          "is a netCDF file in the classic format; convert it with nccopy -k nc4, "
                          "or save the field as .npy");
  return report_failure(report, CODE_USAGE, name,
                        input->dataset ? "does not exist, and the file before the colon is not an "
                                         "HDF5 file; correct the name"
                                       : "is not an HDF5 file, although it is named like one; if "
                                         "its values are raw, rename it and use -t");
}

/* load_dataset then reads its values. */
static int open_dataset(const struct report *report, const struct options *options,
                        struct input *input, struct field *field) {
  int code = check_container(report, input);
  if (code == CODE_OK) code = hdf5_open(report, input, &field->dataset);
  if (code != CODE_OK) return code;
  input_unload(input); /* HDF5 reads the file itself */
  field->shape = field->dataset.shape;
  field->shape_origin = field->stated_by = "dataset";
  field->stated_shape = field->shape;
  field->source = SZGPU_SOURCE_NPY; /* -x restores it to a .npy file */
  shape_bytes(&field->shape, &field->byte_count);
  if (!options) return CODE_OK;
  if (options->has_dtype && options->shape.dtype != field->shape.dtype)
    return report_failure(
        report, CODE_USAGE, input->name, "holds %s values, but -t says %s; leave -t out",
        words_for_dtype(field->shape.dtype), words_for_dtype(options->shape.dtype));
  if (options->has_dims) {
    field->shape = options->shape;
    field->shape.dtype = field->dataset.shape.dtype;
    field->shape_origin = "-d";
  }
  return CODE_OK;
}

static int load_dataset(const struct report *report, const struct input *input,
                        struct field *field) {
  field->copy = memory_take(field->byte_count);
  if (!field->copy.bytes)
    return report_out_of_memory(report, input->name, "its values", field->byte_count);
  int const code = hdf5_read(report, input, &field->dataset, field->copy.bytes);
  field->values = field->copy.bytes;
  hdf5_close(&field->dataset);
  return code;
}

/* False if neither the options nor the name say the type. Losslessly, any file is bytes. */
static bool dtype_of_raw(const struct options *options, const struct input *input,
                         szgpu_dtype *dtype) {
  *dtype = SZGPU_U8;
  bool const is_known = dtype_of_name(input->name, dtype);
  if (options->has_dtype) *dtype = options->shape.dtype;
  return is_known || options->has_dtype || options->params.mode == SZGPU_MODE_LOSSLESS;
}

/* Its archive is lossless, whatever is asked for. */
static int read_empty(const struct report *report, const struct options *options,
                      const struct input *input, struct field *field) {
  static const unsigned char value_in_its_place = 0;
  const char *const reason = options->has_dims ? "so it has none of the values of -d; leave -d out"
                             : options->target_ratio > 0 ? "so no bound gives a ratio; use -e"
                             : options->sweep_count > 0
                                 ? "so there are no bounds to compare; leave it out"
                                 : NULL;
  if (reason)
    return report_failure(report, CODE_USAGE, shown_input(input->name), "is empty, %s", reason);
  field->is_empty = true;
  field->values = &value_in_its_place;
  field->byte_count = 1;
  field->shape = (szgpu_shape){.dtype = SZGPU_U8, .ndim = 1, .dims = {1}};
  field->shape_origin = "file";
  field->source = SZGPU_SOURCE_EMPTY;
  return CODE_OK;
}

static int read_raw(const struct report *report, const struct options *options,
                    const struct input *input, struct field *field) {
  const char *name = shown_input(input->name);
  bool const is_lossless = options->params.mode == SZGPU_MODE_LOSSLESS;
  int const code = is_lossless ? CODE_OK : check_container(report, input);
  if (code != CODE_OK) return code;
  if (!is_lossless && !options->has_dtype && has_extension(input->name, ".safetensors"))
    return report_failure(report, CODE_USAGE, name,
                          "holds tensors, which can only be compressed losslessly; add "
                          "-m lossless");
  if (!dtype_of_raw(options, input, &field->shape.dtype))
    return report_failure(report, CODE_USAGE, name,
                          "has an unknown type; give it with -t, as in -t f32");
  if (!is_lossless && field->shape.dtype == SZGPU_FP8)
    return report_failure(
        report, CODE_USAGE, name,
        "holds %s values, which can only be compressed losslessly; add -m lossless",
        words_for_dtype(field->shape.dtype));
  field->values = input->bytes;
  field->byte_count = input->total_bytes;
  if (field->byte_count == 0) return read_empty(report, options, input, field);
  field->has_npy_header = npy_begins(input->bytes, input->byte_count);
  field->stated_by = "name";
  field->stated_shape.dtype = field->shape.dtype;
  bool const is_stated = dims_of_name(input->name, field->byte_count, &field->stated_shape);
  if (options->has_dims) {
    szgpu_dtype const dtype = field->shape.dtype;
    field->shape = options->shape;
    field->shape.dtype = dtype;
    field->shape_origin = "-d";
  } else if (field->byte_count % dtype_bytes(field->shape.dtype) != 0) {
    return report_failure(report, CODE_USAGE, name,
                          "has %" PRIu64
                          " bytes, which is not a whole number of %s values; correct the file or "
                          "-t",
                          field->byte_count, words_for_dtype(field->shape.dtype));
  } else if (is_stated) {
    field->shape = field->stated_shape;
    field->shape_origin = "name";
  } else {
    field->shape.ndim = 1;
    field->shape.dims[0] = field->byte_count / dtype_bytes(field->shape.dtype);
    field->shape_origin = "guess";
  }
  return CODE_OK;
}

bool field_is_swapped(const struct field *field) {
  return ((field->source & SZGPU_SOURCE_BIG_ENDIAN) != 0) != host_is_big_endian();
}

/* The library needs aligned values in native byte order, and the file's bytes must not change: so
 * this makes a copy and then unloads the file. Values from a pipe could be swapped in place, but
 * are rare enough to be copied too. */
static int make_native(const struct report *report, struct input *input, struct field *field) {
  bool const is_swapped = field_is_swapped(field);
  bool const is_aligned = (uintptr_t)field->values % dtype_bytes(field->shape.dtype) == 0;
  if (!is_swapped && is_aligned) return CODE_OK;
  field->copy = memory_take(field->byte_count);
  if (!field->copy.bytes)
    return report_out_of_memory(report, shown_input(input->name), "a copy in native byte order",
                                field->byte_count);
  if (is_swapped)
    swap_bytes(field->copy.bytes, field->values, shape_values(&field->shape), field->shape.dtype);
  else
    memcpy(field->copy.bytes, field->values, (size_t)field->byte_count);
  field->values = field->copy.bytes;
  input_unload(input);
  return CODE_OK;
}

/* A lossless archive takes any file: a .npy file whose type we do not know is then plain bytes. */
static bool field_is_npy(const struct options *options, const struct input *input) {
  struct npy npy;
  bool const is_lossless = options->params.mode == SZGPU_MODE_LOSSLESS;
  if (options->has_dtype)
    return !(is_lossless && options->shape.dtype == SZGPU_U8) && has_extension(input->name, ".npy");
  if (is_lossless) return !npy_read_header(input->bytes, input->byte_count, &npy);
  return has_extension(input->name, ".npy") || npy_begins(input->bytes, input->byte_count);
}

/* Bytes of an input with values of this shape after head_bytes; 0 if they do not fit in 64 bits. */
static uint64_t bytes_of_field(const szgpu_shape *shape, size_t head_bytes) {
  uint64_t byte_count;
  bool const fits = shape_bytes(shape, &byte_count) && byte_count < UINT64_MAX - head_bytes;
  return fits ? head_bytes + byte_count : 0;
}

/* Follows field_read, which then refuses what this gives 0 for. */
uint64_t field_wanted_bytes(const struct input *input, const void *user) {
  const struct options *options = user;
  struct npy npy = {.header_bytes = 0};
  szgpu_shape shape = options->shape;
  if (input->dataset || npy_header_is_cut(input->bytes, input->byte_count)) return UINT64_MAX;
  if (field_is_npy(options, input)) {
    if (npy_read_header(input->bytes, input->byte_count, &npy)) return 0;
    if (!options->has_dims) shape = npy.shape;
    shape.dtype = npy.shape.dtype;
  } else {
    if (!dtype_of_raw(options, input, &shape.dtype)) return 0;
    if (!options->has_dims) return UINT64_MAX; /* every value is one of its only row */
  }
  return bytes_of_field(&shape, npy.header_bytes);
}

int field_read(const struct report *report, const struct options *options, struct input *input,
               struct field *field) {
  *field = (struct field){.shape_origin = "", .stated_by = "", .dataset = DATASET_NONE};
  int code = CODE_OK;
  if (input->dataset)
    code = open_dataset(report, options, input, field);
  else if (field_is_npy(options, input))
    code = read_npy(report, options, input, field);
  else
    code = read_raw(report, options, input, field);
  if (code != CODE_OK) return code;
  uint64_t wanted_bytes;
  if (!shape_bytes(&field->shape, &wanted_bytes) || wanted_bytes != field->byte_count)
    return refuse_size(report, field, input);
  if (input->dataset && options_frame_by_frame(options)) return CODE_OK;
  if (input->dataset) return load_dataset(report, input, field);
  if (input->byte_count == input->total_bytes) return make_native(report, input, field);
  field->values = NULL;
  return CODE_OK;
}

bool info_is_of_any_file(const szgpu_info *info) {
  return info->shape.dtype == SZGPU_U8 && info->mode == SZGPU_MODE_LOSSLESS &&
         !(info->source & SZGPU_SOURCE_NPY);
}

static bool original_is_npy(const szgpu_info *info, const struct input *input) {
  return !info_is_of_any_file(info) &&
         (has_extension(input->name, ".npy") || npy_begins(input->bytes, input->byte_count));
}

uint64_t field_wanted_by_archive(const struct input *input, const void *user) {
  const szgpu_info *info = user;
  struct npy npy = {.header_bytes = 0};
  if (input->dataset || npy_header_is_cut(input->bytes, input->byte_count)) return UINT64_MAX;
  if (original_is_npy(info, input) && npy_read_header(input->bytes, input->byte_count, &npy))
    return 0;
  return bytes_of_field(&info->shape, npy.header_bytes);
}

static int read_empty_original(const struct report *report, const struct input *input,
                               struct field *field) {
  static const unsigned char value_in_its_place = 0;
  if (input->total_bytes > 0 || input->dataset)
    return report_failure(report, CODE_USAGE, shown_input(input->name),
                          "is not empty, but what was compressed was; name the file that was "
                          "compressed");
  field->values = &value_in_its_place;
  field->byte_count = 1;
  return CODE_OK;
}

int field_read_original(const struct report *report, const szgpu_info *info, struct input *input,
                        struct field *field) {
  const char *name = shown_input(input->name);
  *field = (struct field){.values = input->bytes,
                          .byte_count = input->total_bytes,
                          .shape = info->shape,
                          .shape_origin = "",
                          .stated_by = "",
                          .dataset = DATASET_NONE};
  int code = CODE_OK;
  if (info->source & SZGPU_SOURCE_EMPTY) return read_empty_original(report, input, field);
  if (input->dataset)
    code = open_dataset(report, NULL, input, field);
  else if (original_is_npy(info, input))
    code = read_npy(report, NULL, input, field);
  else if (info->mode != SZGPU_MODE_LOSSLESS || info->shape.dtype <= SZGPU_F64)
    code = check_container(report, input);
  if (code != CODE_OK) return code;
  bool const has_other_order = (field->source & SZGPU_SOURCE_NPY) != 0 && field->shape.ndim > 1 &&
                               ((field->source ^ info->source) & SZGPU_SOURCE_FORTRAN) != 0;
  if (has_other_order)
    return report_failure(report, CODE_USAGE, name,
                          "is not in the archive's order (C or Fortran); name the file that was "
                          "compressed");
  if (field->byte_count != info->field_bytes || field->shape.dtype != info->shape.dtype)
    return report_failure(report, CODE_USAGE, name,
                          "has %s bytes of %s values, but the archive holds %" PRIu64
                          " bytes of %s values; name the file that was compressed",
                          words_for_count(input, field->byte_count, info->field_bytes).text,
                          words_for_dtype(field->shape.dtype), info->field_bytes,
                          words_for_dtype(info->shape.dtype));
  field->shape = info->shape;
  return input->dataset ? load_dataset(report, input, field) : make_native(report, input, field);
}

void field_release(struct field *field) {
  hdf5_close(&field->dataset);
  memory_give_back(&field->copy);
  field->values = NULL;
}
