/* status.h - the three checks: SZG_REQUIRE for callers and archives, SZG_TRY to pass on, assert.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_STATUS_H
#define SZG_STATUS_H

#include "core/hd.h"
#include "szgpu.h"

#define SZG_CHECKED SZGPU_MUST_CHECK

/* Returns `status` unless `condition` holds. For data from outside, never for our own invariants,
 * which are for assert. */
#define SZG_REQUIRE(condition, status) \
  do {                                 \
    if (!(condition)) return (status); \
  } while (0)

#define SZG_TRY(call)                                      \
  do {                                                     \
    szgpu_status const szg_try_status = (call);            \
    if (szg_try_status != SZGPU_OK) return szg_try_status; \
  } while (0)

#endif
