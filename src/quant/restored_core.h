/* restored_core.h - how one value lies to the lattices, and what values in a row tell together.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Both backends compile these lines. Nothing here branches, so that loops vectorize: flags are
 * integers, 0 or 1.
 */
#ifndef SZG_RESTORED_CORE_H
#define SZG_RESTORED_CORE_H

#include <math.h>
#include <stdint.h>

#include "quant/quant_core.h"
#include "quant/restored.h"

/* A note of a value: its evidence in the low bits, and its kind. Evidence is log2 of the numbers of
 * its type that a fine step holds there, rounded down: by chance one of 2^evidence numbers, or
 * fewer, is a fine point. 0: the value says nothing. */
enum {
  SZG_RESTORED_EVIDENCE = 31,
  SZG_RESTORED_KIND = 3 << 5,
  SZG_RESTORED_FINE = 1 << 5,   /* a fine point that is not coarse */
  SZG_RESTORED_COARSE = 2 << 5, /* a coarse point */
  SZG_RESTORED_CONTROL = 3 << 5 /* in the middle of two fine points: about as often as on one */
};

/* Coarse points are rarer than fine ones: log2 of SZG_RESTORED_PARTS, rounded down. */
enum { SZG_RESTORED_COARSE_EVIDENCE = 7 };
static_assert(1 << SZG_RESTORED_COARSE_EVIDENCE <= SZG_RESTORED_PARTS &&
                  SZG_RESTORED_PARTS < 2 << SZG_RESTORED_COARSE_EVIDENCE,
              "rounded down");

SZG_HD int32_t szg_exponent_f32(uint32_t bits) { return (int32_t)(bits >> 23 & 0xFF); }
SZG_HD int32_t szg_exponent_f64(uint64_t bits) { return (int32_t)(bits >> 52 & 0x7FF); }

/* exponent: biased; zeros, denormals, infinities and NaNs say nothing. is_on: a point restores the
 * value; is_odd: a middle between two does; is_coarse: a coarse point does. */
SZG_HD int32_t szg_restored_note(const szg_restored_look *look, int32_t exponent, int32_t is_fill,
                                 int32_t is_on, int32_t is_odd, int32_t is_coarse) {
  int32_t const bits = look->exponent - exponent, most = SZG_RESTORED_EVIDENCE;
  int32_t const evidence = bits < most ? bits : most;
  int32_t const says = (exponent != 0) & (bits >= look->least_evidence) & (is_fill ^ 1);
  int32_t const kind = SZG_RESTORED_FINE + is_coarse * (SZG_RESTORED_COARSE - SZG_RESTORED_FINE);
  return -says & (evidence | (-is_on & (kind | (-is_odd & SZG_RESTORED_CONTROL))));
}

/* Values that say something have at most 2^24 half steps, so `near` is 2 away at most. What follows
 * it is exact, but for the product that restores. */
SZG_HD int32_t szg_restored_note_f32(const szg_restored_look *look, float x) {
  uint32_t const bits = szg_bits_f32(x);
  float const half = look->half_f32, inverse = look->inverse_f32;
  float const near = rintf(x * inverse);
  float const rest = __builtin_fmaf(-near, half, x);
  float const halves = near + rintf(rest * inverse);
  float const coarse = 2.0f * SZG_RESTORED_PARTS;
  return szg_restored_note(look, szg_exponent_f32(bits),
                           look->has_fill & (bits == (uint32_t)look->fill_bits), halves * half == x,
                           rintf(halves * 0.5f) * 2.0f != halves,
                           rintf(halves * (1.0f / coarse)) * coarse == halves);
}

/* Here they have 2^50 at most, so that the first product is near enough. */
SZG_HD int32_t szg_restored_note_f64(const szg_restored_look *look, double x) {
  uint64_t const bits = szg_bits_f64(x);
  double const halves = rint(x * look->inverse);
  double const coarse = 2.0 * SZG_RESTORED_PARTS;
  return szg_restored_note(look, szg_exponent_f64(bits), look->has_fill & (bits == look->fill_bits),
                           halves * look->half == x, rint(halves * 0.5) * 2.0 != halves,
                           rint(halves * (1.0 / coarse)) * coarse == halves);
}

/* A value's mark is one bit: the lowest for half of all values, the next for a quarter, and so on.
 * So n values that differ have about log2(n) marks, however often each of them is there. bits: the
 * value's; of an f64, both halves by XOR. */
SZG_HD uint32_t szg_restored_mark(uint32_t bits) {
  uint32_t mixed = bits * 0x9E3779B1u; /* 2^32 over the golden ratio */
  mixed = (mixed ^ mixed >> 15) * 0x85EBCA77u;
  mixed ^= mixed >> 13;
  return mixed & (0u - mixed);
}

/* The evidence of a run of values for either lattice. */
typedef struct szg_restored_run {
  int32_t fine, coarse;
} szg_restored_run;

/* The run with one more value. is_same: it equals the one before it in the run's direction. A run
 * passes over such values, as over those that say nothing. A run of fine points also passes over
 * coarse points, which say nothing of the fine lattice; all other values end it. */
SZG_HD szg_restored_run szg_restored_extend(szg_restored_run run, int32_t note, int32_t is_same) {
  int32_t const evidence = note & SZG_RESTORED_EVIDENCE, kind = note & SZG_RESTORED_KIND;
  int32_t const is_fine = kind == SZG_RESTORED_FINE, is_coarse = kind == SZG_RESTORED_COARSE;
  int32_t const passes = -((evidence == 0) | is_same);
  int32_t const fine = (-is_fine & (run.fine + evidence)) | (-is_coarse & run.fine);
  int32_t const coarse = -is_coarse & (run.coarse + evidence + SZG_RESTORED_COARSE_EVIDENCE);
  szg_restored_run const extended = {(passes & run.fine) | (~passes & fine),
                                     (passes & run.coarse) | (~passes & coarse)};
  return extended;
}

#endif
