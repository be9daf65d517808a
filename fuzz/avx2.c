/* avx2.c - turns AVX2 off and on, as the library sees it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A file of its own, because clang 14 fails on one that has both __cpu_model and the builtins that
 * read it.
 */
#include "fuzz.h"

#if defined(__x86_64__)
/* What __builtin_cpu_supports looks at; part of gcc's and clang's runtime, which fills it in before
 * main. */
extern struct { unsigned vendor, type, subtype, features[1]; } __cpu_model;

void fuzz_set_avx2(bool is_on) {
  enum { FEATURE_AVX2 = 1 << 10 };
  static unsigned features;
  features |= __cpu_model.features[0];
  __cpu_model.features[0] = is_on ? features : features & ~(unsigned)FEATURE_AVX2;
}
#else
void fuzz_set_avx2(bool is_on) { (void)is_on; }
#endif
