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
static const float_layout layouts[] = {
    [SZGPU_F32] = {4, 32, 31, 23, 8, 0, 23, 127},
    [SZGPU_F64] = {8, 64, 63, 52, 11, 0, 52, 1023},
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

/* Whether values are floats or doubles of this machine. H5Tequal could tell, but it needs the
 * ids of the native types, which are variables: see caller_hdf5.h. */
static bool dtype_of(const caller_hdf5 *caller, hid_t type, szgpu_dtype *dtype) {
  H5T_order_t const native =
      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? H5T_ORDER_LE : H5T_ORDER_BE;
  if (caller->H5Tget_class(type) != H5T_FLOAT || caller->H5Tget_order(type) != native) return false;
  *dtype = has_layout(caller, type, &layouts[SZGPU_F32]) ? SZGPU_F32 : SZGPU_F64;
  return has_layout(caller, type, &layouts[*dtype]);
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

static bool is_signalling(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7FFFFFFF) > 0x7F800000 && !(bits & 0x00400000);
}

/* Sets *own_fill to fill, with the fill value in it, if the user set one; else to NULL. */
static dataset_verdict take_fill(const caller_hdf5 *caller, hid_t properties, hid_t type,
                                 szgpu_dtype dtype, double *fill, const double **own_fill,
                                 const char **sentence) {
  H5D_fill_value_t defined;
  float single = 0;
  WRONG_IF(caller->H5Pfill_value_defined(properties, &defined) < 0,
           "HDF5 does not say whether there is a fill value");
  *own_fill = NULL;
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return DATASET_FITS;
  void *const place = dtype == SZGPU_F32 ? (void *)&single : (void *)fill;
  WRONG_IF(caller->H5Pget_fill_value(properties, type, place) < 0,
           "HDF5 does not give the fill value");
  /* A signalling NaN would become another one as a double. Without a name it is kept like any
   * NaN. */
  if (dtype == SZGPU_F32 && is_signalling(single)) return DATASET_FITS;
  if (dtype == SZGPU_F32) *fill = (double)single;
  *own_fill = fill;
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
             "the values are not floats or doubles in this machine's byte order");
  if (wants_words) verdict = take_fill(caller, properties, type, dtype, &fill, &own_fill, sentence);
  if (verdict != DATASET_FITS) return verdict;
  int const rank = caller->H5Pget_chunk(properties, H5S_MAX_RANK, sizes);
  for (int axis = 0; axis < rank && axis < H5S_MAX_RANK; axis++) dims[axis] = sizes[axis];
  size_t const word_count = szgpu_h5_set_chunk(dtype, rank, dims, own_fill, dataset->words);
  DECLINE_IF(word_count == 0, "more than 4 dims of a chunk are not 1");
  dataset->word_count = word_count;
  return DATASET_FITS;
}
