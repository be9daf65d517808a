/* dataset.c - examines type, chunks, fill value and filters of a dataset before it is created.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A function of HDF5 that fails may print, so this calls each only with arguments that it accepts.
 */
#include "dataset.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Whether values are floats or integers of this machine. H5Tequal could tell, but it needs the ids
 * of the native types, which are variables: see caller_hdf5.h. */
static bool dtype_of(const caller_hdf5 *caller, hid_t type, szgpu_dtype *dtype) {
  H5T_order_t const native =
      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? H5T_ORDER_LE : H5T_ORDER_BE;
  H5T_class_t const kind = caller->H5Tget_class(type);
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) return false;
  if (caller->H5Tget_size(type) > 1 && caller->H5Tget_order(type) != native) return false;
  return kind == H5T_FLOAT ? dtype_of_float(caller, type, dtype)
                           : dtype_of_integer(caller, type, dtype);
}

/* Takes the user's words. A list that was stored before, which h5repack passes on, has more words
 * after them, perhaps of another dataset. */
static dataset_verdict take_words(const caller_hdf5 *caller, hid_t properties,
                                  dataset_filter *dataset, const char **sentence) {
  szgpu_params params;
  dataset->word_count = SZGPU_H5_MOST_WORDS;
  WRONG_IF(caller->H5Pget_filter_by_id2(properties, SZGPU_H5_FILTER_ID, &dataset->flags,
                                        &dataset->word_count, dataset->words, 0, NULL, NULL) < 0,
           "HDF5 does not give cd_values");
  *sentence = szgpu_h5_params(dataset->words, dataset->word_count, &params);
  if (*sentence) return DATASET_WRONG;
  if (dataset->word_count <= SZGPU_H5_WORD_OPTIONS) dataset->words[SZGPU_H5_WORD_OPTIONS] = 0;
  dataset->word_count = SZGPU_H5_USER_WORDS;
  return DATASET_FITS;
}

/* Bytes that another filter has changed are not values: a bound on them would mean nothing. */
static dataset_verdict check_place(const caller_hdf5 *caller, hid_t properties,
                                   const char **sentence) {
  int const filter_count = caller->H5Pget_nfilters(properties);
  for (int i = 0; i < filter_count; i++) {
    unsigned flags;
    H5Z_filter_t const id =
        caller->H5Pget_filter2(properties, (unsigned)i, &flags, NULL, NULL, 0, NULL, NULL);
    DECLINE_IF(
        i == 0 && id != SZGPU_H5_FILTER_ID,
        "it must be the first filter: after another one, such as shuffle, there are no values");
    DECLINE_IF(i > 0 && id == SZGPU_H5_FILTER_ID,
               "it is listed twice: the second one finds no values");
  }
  return DATASET_FITS;
}

/* A half as the bits of the f32 that it is. */
static uint32_t f32_of_half(szgpu_dtype dtype, uint32_t half) {
  uint32_t const sign = (half & 0x8000) << 16, magnitude = half & 0x7FFF;
  float value;
  if (dtype == SZGPU_BF16) return half << 16;
  if (magnitude >= 0x7C00) return sign | 0x7F800000 | (magnitude - 0x7C00) << 13;
  uint32_t bits = magnitude << 13; /* with an exponent that is too small by 112 */
  memcpy(&value, &bits, sizeof value);
  value *= 0x1p112f;
  memcpy(&bits, &value, sizeof bits);
  return sign | bits;
}

/* The number of a value, by its bits; false if it is a signalling NaN, which would become another
 * one as a double. Without a name such a fill value is kept like any NaN. */
static bool number_of(szgpu_dtype dtype, uint64_t bits, double *number) {
  uint32_t single = (uint32_t)bits;
  float value;
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
    case SZGPU_U8:
    case SZGPU_U16:
    case SZGPU_FP8:
      *number = (double)bits;
      return true;
    case SZGPU_F16:
    case SZGPU_BF16:
      single = f32_of_half(dtype, single);
      break;
    case SZGPU_F32:
      break;
  }
  memcpy(&value, &single, sizeof value);
  *number = (double)value;
  return !((single & 0x7FFFFFFF) > 0x7F800000 && !(single & 0x00400000));
}

/* Sets *own_fill to fill, with the fill value in it, if the user set one; else to NULL. */
static dataset_verdict take_fill(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                 szgpu_dtype dtype, double *fill, const double **own_fill,
                                 const char **sentence) {
  H5D_fill_value_t defined;
  uint64_t bits = 0; /* of the value, which HDF5 gives in its type */
  WRONG_IF(caller->H5Pfill_value_defined(properties, &defined) < 0,
           "HDF5 does not say whether there is a fill value");
  *own_fill = NULL;
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return DATASET_FITS;
  WRONG_IF(caller->H5Pget_fill_value(properties, type, &bits) < 0,
           "HDF5 does not give the fill value");
  if (number_of(dtype, bits, fill)) *own_fill = fill;
  return DATASET_FITS;
}

dataset_verdict dataset_examine(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                bool wants_words, dataset_filter *dataset, const char **sentence) {
  hsize_t sizes[H5S_MAX_RANK];
  uint64_t dims[H5S_MAX_RANK] = {0};
  szgpu_dtype dtype;
  double fill = 0;
  const double *own_fill = NULL;
  WRONG_IF(!caller->has_all,
           "the program does not export all functions of its HDF5: link the shared libhdf5, or all "
           "of the static one with -rdynamic");
  DECLINE_IF(properties < 0, "it compresses chunks of datasets, not the links of a group");
  dataset_verdict verdict = take_words(caller, properties, dataset, sentence);
  if (verdict == DATASET_FITS) verdict = check_place(caller, properties, sentence);
  if (verdict != DATASET_FITS) return verdict;
  DECLINE_IF(!dtype_of(caller, type, &dtype),
             "the values are not floats of 2, 4 or 8 bytes or integers of 1, 2 or, signed, 4 bytes "
             "in this machine's byte order");
  if (wants_words) verdict = take_fill(caller, properties, type, dtype, &fill, &own_fill, sentence);
  if (verdict != DATASET_FITS) return verdict;
  int const rank = caller->H5Pget_chunk(properties, H5S_MAX_RANK, sizes);
  for (int axis = 0; axis < rank && axis < H5S_MAX_RANK; axis++) dims[axis] = sizes[axis];
  size_t const word_count = szgpu_h5_set_chunk(dtype, rank, dims, own_fill, dataset->words);
  DECLINE_IF(word_count == 0, "more than 4 dims of a chunk are not 1");
  dataset->word_count = word_count;
  return DATASET_FITS;
}
