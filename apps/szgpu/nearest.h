/* nearest.h - the name that somebody meant who wrote another.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_NEAREST_H
#define SZGPU_APP_NEAREST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nearest {
  const char *wrong; /* what was written; the caller sets it */
  const char *name;  /* NULL: no offer is near */
  size_t distance;
};

/* Offers a name, which is kept if it is nearer than those before. Near are a name that other
 * programs have for it, the beginning of either one, and one with few letters missing, added,
 * exchanged or swapped; whether letters are capital does not count. */
void nearest_offer(struct nearest *nearest, const char *name);

#ifdef __cplusplus
}
#endif

#endif
