/* rewrites.h - chunks that are read, written in parts and compressed again, many times.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_REWRITES_H
#define SZG_TEST_REWRITES_H

#include "support.h"

/* Which parts are written. ANY: planes, boxes, every n-th value, points, values by chance, nearly
 * all. CELLS: boxes of cells of 32 values along each axis, so that old values are never few, nor
 * all equal. */
typedef enum rewrite_parts { REWRITE_ANY, REWRITE_CELLS } rewrite_parts;

typedef struct rewrite_case {
  szgpu_params params; /* ABS, SZGPU_KEEP_RESTORED */
  szgpu_shape shape;
  int steps;   /* how often parts are written */
  void *chunk; /* as it was read last, with what has been written since */
  void *truth; /* what was written last to each value */
  char what[200];
  /* how values are made */
  rewrite_parts parts;
  test_random random;
  double offset, scale, waves[2][SZGPU_MAX_LEVEL], noise, growth;
  int kind, step;
} rewrite_case;

/* *random determines the whole case. predictor: AUTO only with CELLS, and then F32 or F64. */
rewrite_case rewrite_make(test_random *random, rewrite_parts parts, szgpu_predictor predictor);
void rewrite_free(rewrite_case *c);

/* Writes the next part to chunk and truth. */
void rewrite_part(rewrite_case *c);

/* The greatest difference of chunk and truth, in bounds; infinite if a value that is missing is not
 * so in both. */
double rewrite_error(const rewrite_case *c);

#endif
