/* signed_fields.h - fields for bounds relative to each value: of many magnitudes and both signs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_SIGNED_FIELDS_H
#define SZG_TEST_SIGNED_FIELDS_H

#include "support.h"

/* WAVES: smooth, with changes of sign. RANGE: smooth logarithms over 40 binary orders, positive.
 * SPARSE: most values are 0, some of them -0. SPECIAL: waves, among them every kind of value that
 * is not normal. FILL: waves, zeros and 1e20 for missing values. BITS: random patterns. NEGATIVE:
 * one negative number. ZERO: all zero. */
enum {
  SIGNED_WAVES,
  SIGNED_RANGE,
  SIGNED_SPARSE,
  SIGNED_SPECIAL,
  SIGNED_FILL,
  SIGNED_BITS,
  SIGNED_NEGATIVE,
  SIGNED_ZERO,
  SIGNED_FIELDS
};

/* A new field of F32 or F64. */
void *signed_make(int kind, const szgpu_shape *shape);

#endif
