/* log2_coefficients.h - of the polynomials of log2_core.h, by scripts/make_log2_coefficients.py.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * X(coefficient) for each, from the highest order down. LOG2: of log2(1.5 + t), EXP2: of
 * 2^(0.5 + t), both for |t| <= 0.5.
 */
#ifndef SZG_LOG2_COEFFICIENTS_H
#define SZG_LOG2_COEFFICIENTS_H

/* clang-format off */
#define SZG_LOG2_F32(X) \
  X(-0x1.1bf5280000000p-7f) \
  X(0x1.e400880000000p-7f) \
  X(-0x1.549fb80000000p-6f) \
  X(0x1.32ecec0000000p-5f) \
  X(-0x1.23e8a80000000p-4f) \
  X(0x1.23e4a20000000p-3f) \
  X(-0x1.484af80000000p-2f) \
  X(0x1.ec70860000000p-1f) \
  X(0x1.2b80340000000p-1f)

#define SZG_EXP2_F32(X) \
  X(0x1.ca8f0a0000000p-13f) \
  X(0x1.f0ca760000000p-10f) \
  X(0x1.bdb5ba0000000p-7f) \
  X(0x1.4182620000000p-4f) \
  X(0x1.5be2980000000p-2f) \
  X(0x1.f5e4660000000p-1f) \
  X(0x1.6a09e60000000p+0f)

#define SZG_LOG2_F64(X) \
  X(0x1.2002fa8e4d10ep-13) \
  X(-0x1.c9a318ac93f6dp-13) \
  X(0x1.95bfd165541e5p-13) \
  X(-0x1.46c9940e970d7p-12) \
  X(0x1.2e93cdf47e8bap-11) \
  X(-0x1.eb866beb52723p-11) \
  X(0x1.8d35a19ca4c98p-10) \
  X(-0x1.47b519ffd023cp-9) \
  X(0x1.114670dae10c1p-8) \
  X(-0x1.cd26b40b1935ap-8) \
  X(0x1.8b43a1490418dp-7) \
  X(-0x1.59db2df256590p-6) \
  X(0x1.374549dd9487fp-5) \
  X(-0x1.23d0f53d7f451p-4) \
  X(0x1.23d0f5318544ep-3) \
  X(-0x1.484b13d7b8faap-2) \
  X(0x1.ec709dc3a040cp-1) \
  X(0x1.2b803473f7abap-1)

#define SZG_EXP2_F64(X) \
  X(0x1.5a6d6b99eb4a1p-31) \
  X(0x1.57bfd282ad6ebp-27) \
  X(0x1.351b8e996a62fp-23) \
  X(0x1.f5b0e17599b55p-20) \
  X(0x1.69e51ee002859p-16) \
  X(0x1.c8d7530547b4bp-13) \
  X(0x1.ee4fd234a73e9p-10) \
  X(0x1.bdb696e8987b7p-7) \
  X(0x1.41839eb881567p-4) \
  X(0x1.5be298adf0369p-2) \
  X(0x1.f5e46537ab907p-1) \
  X(0x1.6a09e667f3bcdp+0)

/* clang-format on */

#endif
