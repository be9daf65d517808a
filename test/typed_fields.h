/* typed_fields.h - fields of the types that are coded in a wider one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_TYPED_FIELDS_H
#define SZG_TEST_TYPED_FIELDS_H

#include <stdbool.h>

#include "support.h"

enum { TYPED_DTYPES = 7 };
extern const szgpu_dtype typed_dtypes[TYPED_DTYPES];

bool typed_is_half(szgpu_dtype dtype);

/* SMOOTH: waves with noise. BITS: every pattern. FLAT: one value. CORNERS: least and greatest
 * values by turns. */
enum { TYPED_SMOOTH, TYPED_BITS, TYPED_FLAT, TYPED_CORNERS, TYPED_FIELDS };

/* A new field. */
void *typed_make(int kind, const szgpu_shape *shape);

#endif
