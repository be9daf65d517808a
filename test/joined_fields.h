/* joined_fields.h - fields whose values ask for joined axes, or for none.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_JOINED_FIELDS_H
#define SZG_TEST_JOINED_FIELDS_H

#include "support.h"

typedef struct joined_field {
  const char *name;
  szgpu_shape shape; /* without the type */
  uint32_t joined;   /* what szgpu_info.joined_axes should say of an archive, in any mode */
  void (*make)(const szgpu_shape *shape, test_random *random, double *values);
} joined_field;

enum { JOINED_FIELDS = 7 };
extern const joined_field joined_fields[JOINED_FIELDS];

/* Values of the type, for which the caller frees the memory; in integers they are multiplied by
 * 1000. */
void *joined_make(const joined_field *field, szgpu_dtype dtype);

#endif
