/* bound_check.h - the guarantee, exactly, without the library's code.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FUZZ_BOUND_CHECK_H
#define SZG_FUZZ_BOUND_CHECK_H

#include "field_case.h"

/* Fails unless every restored value is within the archive's bound or bit-identical, fill values and
 * values that are not finite are bit-identical, and the archive's bound is not above the one that
 * was asked for. */
void check_bound(const field_case *c, const szgpu_info *info, const uint8_t *restored);

#endif
