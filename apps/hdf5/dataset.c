/* dataset.c - examines type, chunks, fill value and filters of a dataset before it is created.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A function of HDF5 that fails may print, so this calls each only with arguments that it accepts.
 */
#include "dataset.h"

#include <stdbool.h>
#include <stddef.h>

#include "chunk_values.h"

#define DECLINE_IF(condition, text) \
  do {                              \
    if (condition) {                \
      *sentence = text;             \
      return DATASET_DECLINED;      \
    }                               \
  } while (0)
#define WRONG_IF(condition, text) \
  do {                            \
    if (condition) {              \
      *sentence = text;           \
      return DATASET_WRONG;       \
    }                             \
  } while (0)

/* The positions of the bits of an IEEE type. */
typedef struct float_layout {
  size_t bytes, precision, sign_bit, exponent_bit, exponent_bits, mantissa_bit, mantissa_bits, bias;
} float_layout;
static const struct {
  szgpu_dtype dtype;
  float_layout layout;
} floats[] = {
    {SZGPU_F32, {4, 32, 31, 23, 8, 0, 23, 127}},
    {SZGPU_F64, {8, 64, 63, 52, 11, 0, 52, 1023}},
    {SZGPU_F16, {2, 16, 15, 10, 5, 0, 10, 15}},
    {SZGPU_BF16, {2, 16, 15, 7, 8, 0, 7, 127}},
};
static const struct {
  szgpu_dtype dtype;
  size_t bytes;
  H5T_sign_t sign;
} integers[] = {
    {SZGPU_U8, 1, H5T_SGN_NONE}, {SZGPU_I8, 1, H5T_SGN_2},  {SZGPU_U16, 2, H5T_SGN_NONE},
    {SZGPU_I16, 2, H5T_SGN_2},   {SZGPU_I32, 4, H5T_SGN_2},
};

static bool has_layout(const caller_hdf5 *caller, hid_t type, const float_layout *layout) {
  size_t sign_bit, exponent_bit, exponent_bits, mantissa_bit, mantissa_bits;
  return caller->H5Tget_size(type) == layout->bytes &&
         caller->H5Tget_precision(type) == layout->precision && caller->H5Tget_offset(type) == 0 &&
         caller->H5Tget_ebias(type) == layout->bias &&
         caller->H5Tget_norm(type) == H5T_NORM_IMPLIED &&
         caller->H5Tget_fields(type, &sign_bit, &exponent_bit, &exponent_bits, &mantissa_bit,
                               &mantissa_bits) >= 0 &&
         sign_bit == layout->sign_bit && exponent_bit == layout->exponent_bit &&
         exponent_bits == layout->exponent_bits && mantissa_bit == layout->mantissa_bit &&
         mantissa_bits == layout->mantissa_bits;
}

static bool dtype_of_float(const caller_hdf5 *caller, hid_t type, szgpu_dtype *dtype) {
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    if (!has_layout(caller, type, &floats[i].layout)) continue;
    *dtype = floats[i].dtype;
    return true;
  }
  return false;
}

static bool dtype_of_integer(const caller_hdf5 *caller, hid_t type, szgpu_dtype *dtype) {
  size_t const bytes = caller->H5Tget_size(type);
  if (caller->H5Tget_precision(type) != 8 * bytes || caller->H5Tget_offset(type) != 0) return false;
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
    if (integers[i].bytes != bytes || integers[i].sign != caller->H5Tget_sign(type)) continue;
    *dtype = integers[i].dtype;
    return true;
  }
  return false;
}

/* Bytes, as values of the widest type into which theirs can be divided. */
static value_kind kind_of_bytes(size_t byte_count) {
  static const struct {
    szgpu_dtype dtype;
    size_t bytes;
  } widths[] = {{SZGPU_F64, 8}, {SZGPU_F32, 4}, {SZGPU_U16, 2}, {SZGPU_U8, 1}};
  size_t i = 0;
  while (byte_count % widths[i].bytes != 0) i++;
  return (value_kind){.dtype = widths[i].dtype, .parts = byte_count / widths[i].bytes};
}

/* H5Tequal could tell numbers from others, but it needs the ids of the native types, which are
 * variables: see caller_hdf5.h. */
static value_kind kind_of(const caller_hdf5 *caller, hid_t type) {
  size_t const bytes = caller->H5Tget_size(type);
  H5T_class_t const class = caller->H5Tget_class(type);
  value_kind kind = {.parts = 1, .is_integer = class == H5T_INTEGER};
  if (class == H5T_FLOAT)
    kind.is_number = dtype_of_float(caller, type, &kind.dtype);
  else if (class == H5T_INTEGER)
    kind.is_number = dtype_of_integer(caller, type, &kind.dtype);
  H5T_order_t const order = kind.is_number && bytes > 1 ? caller->H5Tget_order(type) : H5T_ORDER_LE;
  kind.is_big_endian = order == H5T_ORDER_BE;
  bool const has_order = kind.is_big_endian || order == H5T_ORDER_LE;
  return kind.is_number && has_order ? kind : kind_of_bytes(bytes);
}

const char *dataset_user_words(dataset_filter *dataset, szgpu_params *params) {
  const char *const sentence = szgpu_h5_params(dataset->words, dataset->word_count, params);
  if (sentence) return sentence;
  if (dataset->word_count < SZGPU_H5_WORD_OPTIONS)
    szgpu_h5_cd_values(SZGPU_MODE_LOSSLESS, 0, dataset->words);
  else if (dataset->word_count == SZGPU_H5_WORD_OPTIONS)
    dataset->words[SZGPU_H5_WORD_OPTIONS] = 0;
  dataset->word_count = szgpu_h5_user_words(dataset->words);
  return NULL;
}

static dataset_verdict take_words(const caller_hdf5 *caller, hid_t properties,
                                  dataset_filter *dataset, szgpu_params *params,
                                  const char **sentence) {
  dataset->word_count = SZGPU_H5_MOST_WORDS;
  WRONG_IF(caller->H5Pget_filter_by_id2(properties, PLUGIN_FILTER_ID, &dataset->flags,
                                        &dataset->word_count, dataset->words, 0, NULL, NULL) < 0,
           "HDF5 does not give cd_values");
  *sentence = dataset_user_words(dataset, params);
  return *sentence ? DATASET_WRONG : DATASET_FITS;
}

/* Values that have no bound, or that the user may not mean, are compressed losslessly: a tool that
 * applies the filter to a whole file, or must apply it, then loses none of them. */
static void make_lossless(dataset_filter *dataset, const char *note) {
  unsigned *const words = dataset->words;
  unsigned const kept = SZGPU_H5_ZSTD_LEVEL | SZGPU_H5_LINEAR;
  unsigned const options = words[SZGPU_H5_WORD_OPTIONS] & kept;
  dataset->word_count = szgpu_h5_cd_values(SZGPU_MODE_LOSSLESS, 0, words);
  words[SZGPU_H5_WORD_OPTIONS] = options;
  dataset->note = note;
}

static chunk_size size_of_chunk(const caller_hdf5 *caller, hid_t properties, hid_t type) {
  hsize_t dims[H5S_MAX_RANK] = {0};
  chunk_size chunk = {.rank = caller->H5Pget_chunk(properties, H5S_MAX_RANK, dims),
                      .bytes = caller->H5Tget_size(type)};
  for (int axis = 0; axis < chunk.rank && axis < H5S_MAX_RANK; axis++) {
    chunk.dims[axis] = dims[axis];
    chunk.bytes *= dims[axis]; /* under 2^64, or HDF5 had not taken the chunk */
  }
  return chunk;
}

/* Below LINE_BYTES a line of floats may be a coordinate, and a bound would save little: h5py's own
 * chunks of longer lines begin at 8 KiB. Below CHUNK_BYTES hardly anything shrinks: an archive has
 * at least 192. */
enum { LEAST_LINE_BYTES = 4096, LEAST_CHUNK_BYTES = 512 };

static void choose_mode(const value_kind *kind, const chunk_size *chunk, const szgpu_params *params,
                        dataset_filter *dataset) {
  bool const is_named = dataset->words[SZGPU_H5_WORD_OPTIONS] & SZGPU_H5_NAMED;
  if (chunk->bytes < LEAST_CHUNK_BYTES)
    dataset->note =
        "chunks of less than 512 bytes hardly shrink: make them larger, ideally 1 to 16 MiB";
  if (params->mode == SZGPU_MODE_LOSSLESS) return;
  if (!kind->is_number)
    make_lossless(dataset,
                  "values of this type are compressed losslessly: a bound is for floats of 2, 4 or "
                  "8 bytes and integers of 1, 2 or, signed, 4 bytes");
  else if (params->mode == SZGPU_MODE_PWREL && kind->dtype > SZGPU_F64)
    make_lossless(dataset,
                  "values of this type are compressed losslessly: a bound relative to each "
                  "value is for floats of 4 or 8 bytes");
  else if (kind->is_integer && !is_named)
    make_lossless(dataset,
                  "integers are compressed losslessly, because they may be ids or masks: "
                  "for a bound add 2048 to the options, as szgpu --h5-args --named does");
  else if (chunk->rank == 1 && chunk->bytes < LEAST_LINE_BYTES && !is_named)
    make_lossless(
        dataset,
        "chunks of one dim and less than 4 KiB are compressed losslessly, because they may "
        "be coordinates: for a bound add 2048 to the options, as szgpu --h5-args --named "
        "does");
}

/* Bytes that another filter has changed are not values: a bound on them would mean nothing. */
static dataset_verdict check_place(const caller_hdf5 *caller, hid_t properties,
                                   const char **sentence) {
  int const filter_count = caller->H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count; i++) {
    unsigned flags;
    H5Z_filter_t const id =
        caller->H5Pget_filter2(properties, (unsigned)i, &flags, NULL, NULL, 0, NULL, NULL);
    DECLINE_IF(i == 0 && id != PLUGIN_FILTER_ID,
               "it must be the first filter: after another one, such as shuffle, there are no "
               "values; leave that one out");
    DECLINE_IF(i > 0 && id == PLUGIN_FILTER_ID,
               "it is listed twice: the second one finds no values; leave one out");
  }
  return DATASET_FITS;
}

/* The bits of the double that a shorter float is. */
static uint64_t widen(const float_layout *layout, uint64_t bits) {
  enum { BIAS = 1023, MANTISSA_BITS = 52 };
  uint64_t const sign = bits >> layout->sign_bit & 1, hidden = (uint64_t)1 << layout->mantissa_bits;
  uint64_t const most_exponent = ((uint64_t)1 << layout->exponent_bits) - 1;
  uint64_t exponent = bits >> layout->exponent_bit & most_exponent, mantissa = bits & (hidden - 1);
  size_t const shift = MANTISSA_BITS - layout->mantissa_bits;
  if (exponent == most_exponent) {
    exponent = 2 * BIAS + 1; /* not finite */
  } else if (exponent > 0) {
    exponent += BIAS - layout->bias;
  } else if (mantissa > 0) { /* a denormal, which a double has as a normal number */
    exponent = BIAS - layout->bias + 1;
    for (; mantissa < hidden; mantissa *= 2) exponent--;
  }
  return sign << 63 | exponent << MANTISSA_BITS | (mantissa & (hidden - 1)) << shift;
}

/* Computes with integers alone, because a program that calls HDF5 may flush denormals to zero, or
 * trap exceptions. */
bool dataset_number(szgpu_dtype dtype, uint64_t bits, double *number) {
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    if (floats[i].dtype != dtype || dtype == SZGPU_F64) continue;
    const float_layout *const layout = &floats[i].layout;
    uint64_t const quiet = (uint64_t)1 << (layout->mantissa_bits - 1);
    uint64_t const infinity = (((uint64_t)1 << layout->exponent_bits) - 1) << layout->exponent_bit;
    uint64_t const magnitude = bits & (((uint64_t)1 << layout->sign_bit) - 1);
    uint64_t const wide = widen(layout, bits);
    memcpy(number, &wide, sizeof wide);
    return magnitude <= infinity || magnitude & quiet;
  }
  switch (dtype) {
    case SZGPU_F64:
      memcpy(number, &bits, sizeof bits);
      return true;
    case SZGPU_I8:
      *number = (int8_t)bits;
      return true;
    case SZGPU_I16:
      *number = (int16_t)bits;
      return true;
    case SZGPU_I32:
      *number = (int32_t)bits;
      return true;
    default:
      *number = (uint16_t)bits;
      return true;
  }
}

/* Sets *own_fill to fill, with the fill value in it, if the user set one; else to NULL. */
static dataset_verdict take_fill(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                 const value_kind *kind, double *fill, const double **own_fill,
                                 const char **sentence) {
  H5D_fill_value_t defined;
  uint64_t bits = 0; /* of the value, which HDF5 gives in its type */
  WRONG_IF(caller->H5Pfill_value_defined(properties, &defined) < 0,
           "HDF5 does not say whether there is a fill value");
  *own_fill = NULL;
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return DATASET_FITS;
  WRONG_IF(caller->H5Pget_fill_value(properties, type, &bits) < 0,
           "HDF5 does not give the fill value");
  if (kind->is_big_endian) values_swap(&bits, value_bytes(kind->dtype), 1);
  if (dataset_number(kind->dtype, bits, fill)) *own_fill = fill;
  return DATASET_FITS;
}

/* Puts the chunk's dims, and what else the filter must know of the dataset, behind the user's
 * words. fill: its own fill value, or NULL. */
static dataset_verdict add_words(const value_kind *kind, const chunk_size *chunk,
                                 const double *fill, dataset_filter *dataset,
                                 const char **sentence) {
  uint64_t dims[H5S_MAX_RANK];
  size_t const user_count = dataset->word_count;
  memcpy(dims, chunk->dims, sizeof dims);
  if (chunk->rank > 0) dims[chunk->rank - 1] *= kind->parts;
  size_t const word_count =
      szgpu_h5_set_chunk(kind->dtype, chunk->rank, dims, fill, dataset->words);
  DECLINE_IF(word_count == 0,
             "a dim of the chunk, or all but the last three together, is over 2^32");
  if (kind->is_big_endian) dataset->words[user_count + SZGPU_H5_CHUNK_TYPE] |= SZGPU_H5_BIG_ENDIAN;
  dataset->word_count = word_count;
  return DATASET_FITS;
}

dataset_verdict dataset_describe(const value_kind *kind, const chunk_size *chunk,
                                 const szgpu_params *params, const double *fill,
                                 dataset_filter *dataset, const char **sentence) {
  szgpu_params stored;
  szgpu_shape shape;
  choose_mode(kind, chunk, params, dataset);
  dataset_verdict const verdict = add_words(kind, chunk, fill, dataset, sentence);
  if (verdict != DATASET_FITS) return verdict;
  *sentence = szgpu_h5_chunk(dataset->words, dataset->word_count, &stored, &shape);
  return *sentence ? DATASET_WRONG : DATASET_FITS;
}

dataset_verdict dataset_examine(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                bool wants_words, dataset_filter *dataset, const char **sentence) {
  szgpu_params params;
  double fill = 0;
  const double *own_fill = NULL;
  dataset->note = NULL;
  WRONG_IF(!caller->has_all,
           "the program does not export all functions of its HDF5: link the shared libhdf5, or all "
           "of the static one with -rdynamic");
  DECLINE_IF(properties < 0, "it compresses chunks of datasets, not the links of a group");
  dataset_verdict verdict = take_words(caller, properties, dataset, &params, sentence);
  if (verdict == DATASET_FITS) verdict = check_place(caller, properties, sentence);
  if (verdict != DATASET_FITS) return verdict;
  value_kind const kind = kind_of(caller, type);
  chunk_size const chunk = size_of_chunk(caller, properties, type);
  if (wants_words && kind.is_number)
    verdict = take_fill(caller, properties, type, &kind, &fill, &own_fill, sentence);
  if (verdict != DATASET_FITS) return verdict;
  return dataset_describe(&kind, &chunk, &params, own_fill, dataset, sentence);
}
