/* dispatch.h - SZG_HOT: compiles a hot loop for several instruction sets; loading chooses one.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * No instruction set changes a result: contraction is off and every operation is correctly rounded.
 * Sanitizers are excepted, because resolvers would run before they are initialized.
 */
#ifndef SZG_DISPATCH_H
#define SZG_DISPATCH_H

#include <limits.h> /* defines __GLIBC__: other libraries have no resolvers */

#if !defined(__x86_64__) || !defined(__GLIBC__) || !defined(__GNUC__) || defined(__clang__) || \
    defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SZG_HOT
#elif __GNUC__ >= 12
/* The levels are sets of features. Other arch= names are models: "haswell" excludes AMD. */
#define SZG_HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SZG_HOT __attribute__((target_clones("avx2", "default")))
#endif

/* SZG_WITH_AVX2(a, b): the function a, declared with SZG_AVX2, if the processor has AVX2, else b.
 * CMakeLists.txt leaves out the files of such functions on other architectures. */
#if defined(__x86_64__)
#define SZG_AVX2 __attribute__((target("avx2")))
#define SZG_WITH_AVX2(a, b) (__builtin_cpu_supports("avx2") ? (a) : (b))
#else
#define SZG_WITH_AVX2(a, b) (b)
#endif

#define SZG_INLINE static inline __attribute__((always_inline))

#endif
