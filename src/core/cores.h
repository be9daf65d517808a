/* cores.h - how many cores the process may use.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_CORES_H
#define SZG_CORES_H

#include "core/status.h"

SZG_C_BEGIN

/* The cores that this thread may run on. At least 1. */
int szg_affine_cores(void);

/* The cores that the time of this process's control group fills, rounded up; INT_MAX: it has no
 * limit. Reads files. */
int szg_group_cores(void);

/* The same of any group. membership: the text of /proc/self/cgroup; root: where control groups are
 * mounted. */
int szg_cores_of_group(const char *membership, const char *root);

SZG_C_END

#endif
