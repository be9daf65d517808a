/* bit_writer.h - writes bits to bytes on the CPU, first bit highest, and then to words.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For the lanes of a tile. The tile's head is known only after them, so they are first written as
 * bytes, and moved to words once their place is known. Every put stores eight bytes, so that many
 * must be free after the last bit.
 */
#ifndef SZG_BIT_WRITER_H
#define SZG_BIT_WRITER_H

#include "core/bytes.h"
#include "core/dispatch.h"

enum { SZG_PUT_MAX_BITS = 56 };

typedef struct szg_bit_writer {
  uint8_t *next;
  uint64_t pending;       /* from the highest bit on; the rest is 0 */
  uint32_t pending_count; /* below 8 */
} szg_bit_writer;

SZG_INLINE void szg_store_high_first(uint8_t *bytes, uint64_t bits) {
  szg_store_u64(bytes, __builtin_bswap64(bits));
}

/* Stores pending bits after `count` more have joined them, at most SZG_PUT_MAX_BITS. */
SZG_INLINE void szg_put_pending(szg_bit_writer *writer, uint32_t count) {
  szg_store_high_first(writer->next, writer->pending);
  uint32_t const in_all = writer->pending_count + count;
  writer->pending <<= in_all & ~7u;
  writer->next += in_all / 8;
  writer->pending_count = in_all & 7;
}

/* bits: left-aligned, the rest 0. count: at most SZG_PUT_MAX_BITS. */
SZG_INLINE void szg_put_left_aligned(szg_bit_writer *writer, uint64_t bits, uint32_t count) {
  writer->pending |= bits >> writer->pending_count;
  szg_put_pending(writer, count);
}

/* bits: right-aligned. count: 1 to SZG_PUT_MAX_BITS. */
SZG_INLINE void szg_put_right_aligned(szg_bit_writer *writer, uint64_t bits, uint32_t count) {
  writer->pending |= bits << (64 - writer->pending_count - count);
  szg_put_pending(writer, count);
}

/* The low `count` bits of a number, 0 to 64 of them. */
static inline void szg_put_number(szg_bit_writer *writer, uint64_t number, uint32_t count) {
  if (count > 32) {
    szg_put_left_aligned(writer, number >> 32 << (96 - count), count - 32);
    count = 32;
  }
  if (count > 0) szg_put_left_aligned(writer, number << (64 - count), count);
}

/* Bits put since `start`, where writer->next began. */
SZG_INLINE uint64_t szg_bits_put(const uint8_t *start, const szg_bit_writer *writer) {
  return (uint64_t)(writer->next - start) * 8 + writer->pending_count;
}

/* Stores the pending bits, and zeros to the end of the last word. */
SZG_INLINE void szg_put_end(const szg_bit_writer *writer) {
  szg_store_high_first(writer->next, writer->pending);
}

/* Moves bits to words and skips the first `shift` bits, at most 7. Reads four bytes behind the
 * last word's. */
void szg_move_to_words(const uint8_t *bytes, uint32_t shift, size_t word_count, uint8_t *words);

#endif
