/* environment.h - the floating-point environment of the library: to nearest, with denormals.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A caller may round another way, flush denormals to zero or trap exceptions. Whatever computes
 * does so between these calls, and the caller has its own environment again afterwards, flags
 * included.
 */
#ifndef SZG_ENVIRONMENT_H
#define SZG_ENVIRONMENT_H

#include <fenv.h>

/* Of a thread of the library's own. */
static inline void szg_environment_set(void) { fesetenv(FE_DFL_ENV); }

/* Of a thread of the caller's. */
static inline void szg_environment_enter(fenv_t *callers) {
  fegetenv(callers);
  szg_environment_set();
}
static inline void szg_environment_leave(const fenv_t *callers) { fesetenv(callers); }

#endif
