/* bit_writer.cuh - codes appended to words, the first bit highest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An encoder's table has codes left-aligned, with their lengths in the lowest bits, which no code
 * reaches. Funnel shifts look at the low five bits of a distance only: so a length serves as one as
 * it stands, and a position does, whatever it counts above them.
 */
#ifndef SZG_BIT_WRITER_CUH
#define SZG_BIT_WRITER_CUH

#include <stdint.h>

namespace szg {

/* `bits`, left-aligned, behind the first `at` bits of a word; and what is left for the next word: 0
 * if `at` is a word's first bit. */
__device__ __forceinline__ uint32_t bits_in_word(uint32_t bits, uint32_t at) {
  return __funnelshift_r(bits, 0, at);
}
__device__ __forceinline__ uint32_t bits_in_next_word(uint32_t bits, uint32_t at) {
  return __funnelshift_r(0, bits, at);
}

/* Two codes, one after the other. code_bits: the bits of an entry that are code. */
__device__ __forceinline__ uint32_t join_codes(uint32_t first, uint32_t second,
                                               uint32_t code_bits) {
  return (first | bits_in_word(second, first)) & code_bits;
}

/* Appends `joined`, left-aligned, to bits.word, which has bits.at % 32 bits and zeros after these,
 * and goes on to bit `to`, at most 32 further. A word that is full goes to
 * bits.put_full_word(out...). */
template <class Bits, class... Out>
__device__ __forceinline__ void append_joined(Bits &bits, uint32_t joined, uint32_t to,
                                              Out... out) {
  bits.word |= bits_in_word(joined, bits.at);
  if ((to ^ bits.at) & 32) {
    bits.put_full_word(out...);
    bits.word = bits_in_next_word(joined, bits.at);
  }
  bits.at = to;
}

/* ORs `count` bits, left-aligned, into words that are 0 there, from bit `at` on. or_word(i, bits)
 * ORs bits into word i: other lanes may be at work on the same words. */
template <class OrWord>
__device__ __forceinline__ void or_bits(uint32_t bits, uint32_t count, uint32_t at,
                                        OrWord or_word) {
  or_word(at / 32, bits_in_word(bits, at));
  if (at % 32 + count > 32) or_word(at / 32 + 1, bits_in_next_word(bits, at));
}
/* The same for a number of 0 to 32 bits. */
template <class OrWord>
__device__ __forceinline__ void or_number(uint32_t number, uint32_t count, uint32_t at,
                                          OrWord or_word) {
  if (count > 0) or_bits(number << (32 - count), count, at, or_word);
}

} // namespace szg

#endif
