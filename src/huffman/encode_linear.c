/* encode_linear.c - encodes codes as one bitstream with gap array and code counts of sequences.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Subsequences have 256 bits of the stream and sequences 128 subsequences, whatever code is at
 * their borders. The gap of a subsequence is the distance from its first bit to the first code that
 * begins in it (Yamamoto et al., ICPP 2020; Rivera et al., IPDPS 2022): so a thread can start in
 * each.
 */
#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "core/dispatch.h"
#include "huffman/huffman.h"

void szg_encoder_table(const szg_codebook *book, uint32_t *table) {
  for (uint32_t s = 0; s < book->symbol_count; s++)
    table[s] = (uint32_t)book->lengths[s] << 16 | book->codes[s];
}

SZG_HOT uint64_t szg_linear_bits(const szg_codebook *book, const uint16_t *codes,
                                 size_t code_count) {
  const uint8_t *const lengths = book->lengths;
  uint64_t bits0 = 0, bits1 = 0, bits2 = 0, bits3 = 0;
  size_t i = 0;
  for (; i + 4 <= code_count; i += 4) {
    bits0 += lengths[codes[i]];
    bits1 += lengths[codes[i + 1]];
    bits2 += lengths[codes[i + 2]];
    bits3 += lengths[codes[i + 3]];
  }
  for (; i < code_count; i++) bits0 += lengths[codes[i]];
  return bits0 + bits1 + bits2 + bits3;
}

/* The encoder's state: the low pending_count bits of pending are not yet written. */
typedef struct word_writer {
  uint64_t pending;
  unsigned pending_count; /* below 32 between codes */
  uint64_t word;          /* the next word to write */
} word_writer;

/* Writes a complete word, unless a neighbour shares it. */
SZG_INLINE void put_word(word_writer *writer, szg_linear_run *run, uint8_t *words) {
  writer->pending_count -= 32;
  uint32_t const bits = (uint32_t)(writer->pending >> writer->pending_count);
  if (run->has_head && writer->word == run->head_word)
    run->head_bits = bits;
  else
    szg_store_u32(words + writer->word * 4, bits);
  writer->word++;
}

/* A subsequence begins at boundary_word: code number next_code is the first that begins in it,
 * after `gap` bits. */
static void note_boundary(szg_linear_stream *stream, uint64_t boundary_word, unsigned gap,
                          uint64_t next_code) {
  uint64_t const subsequence = boundary_word / SZG_SUBSEQUENCE_WORDS;
  if (subsequence >= szg_subsequence_count(stream->bit_count)) return; /* the end of the stream */
  assert(gap < SZG_MAX_CODE_BITS);
  stream->gaps[subsequence] = (uint8_t)gap;
  if (subsequence % SZG_SEQUENCE_SUBSEQUENCES == 0)
    stream->sequence_codes[subsequence / SZG_SEQUENCE_SUBSEQUENCES] = next_code;
}

SZG_INLINE void put_code(word_writer *writer, uint32_t entry) {
  writer->pending = writer->pending << (entry >> 16) | (entry & 0xFFFF);
  writer->pending_count += entry >> 16;
}

/* Encodes one code with all checks; for the ends of a run. */
SZG_INLINE void encode_one(word_writer *writer, uint32_t entry, uint64_t next_code,
                           szg_linear_run *run, szg_linear_stream *stream) {
  put_code(writer, entry);
  if (writer->pending_count < 32) return;
  put_word(writer, run, stream->words);
  if (writer->word % SZG_SUBSEQUENCE_WORDS == 0)
    note_boundary(stream, writer->word, writer->pending_count, next_code);
}

/* Two codes, at most 32 bits, complete at most one word. Storing the word whether it is complete or
 * not saves an unpredictable branch; an incomplete one is stored again later. */
SZG_INLINE void encode_two(word_writer *writer, uint32_t first, uint32_t second, uint64_t next_code,
                           szg_linear_stream *stream) {
  unsigned const second_bits = second >> 16;
  writer->pending = writer->pending << ((first >> 16) + second_bits) |
                    (uint64_t)(first & 0xFFFF) << second_bits | (second & 0xFFFF);
  writer->pending_count += (first >> 16) + second_bits;
  szg_store_u32(stream->words + writer->word * 4,
                (uint32_t)(writer->pending << (64 - writer->pending_count) >> 32));
  unsigned const is_complete = writer->pending_count >> 5;
  writer->word += is_complete;
  writer->pending_count &= 31;
  unsigned const is_boundary = is_complete & (writer->word % SZG_SUBSEQUENCE_WORDS == 0);
  if (__builtin_expect(is_boundary, 0)) {
    bool const is_after_first = writer->pending_count >= second_bits;
    note_boundary(stream, writer->word, writer->pending_count - (is_after_first ? second_bits : 0),
                  next_code + (is_after_first ? 1 : 2));
  }
}

SZG_HOT void szg_linear_encode(const uint32_t *table, const uint16_t *codes, size_t code_count,
                               szg_linear_run *run, szg_linear_stream *stream) {
  enum { TAIL_CODES = 64 }; /* 64 bits or more: keep the fast loop off the last word */
  word_writer writer = {0, (unsigned)(run->first_bit % 32), run->first_bit / 32};
  szg_linear_stream local = *stream; /* stores cannot change it */
  run->has_head = writer.pending_count != 0;
  run->head_word = writer.word;
  run->head_bits = 0;
  uint64_t const first_code = run->first_code;
  if (run->first_bit == 0 && code_count) note_boundary(&local, 0, 0, first_code);
  size_t i = 0;
  for (; i < code_count && run->has_head && writer.word == run->head_word; i++)
    encode_one(&writer, table[codes[i]], first_code + i + 1, run, &local);
  for (; i + TAIL_CODES < code_count; i += 2)
    encode_two(&writer, table[codes[i]], table[codes[i + 1]], first_code + i, &local);
  for (; i < code_count; i++) encode_one(&writer, table[codes[i]], first_code + i + 1, run, &local);
  run->has_tail = writer.pending_count != 0;
  run->tail_word = writer.word;
  run->tail_bits = run->has_tail ? (uint32_t)(writer.pending << (32 - writer.pending_count)) : 0;
  if (run->has_head && run->has_tail && run->head_word == run->tail_word) run->has_head = false;
}

void szg_linear_merge(const szg_linear_run *runs, size_t run_count, szg_linear_stream *stream) {
  for (int is_second_pass = 0; is_second_pass < 2; is_second_pass++) {
    for (size_t i = 0; i < run_count; i++) {
      uint8_t *const head = stream->words + runs[i].head_word * 4;
      uint8_t *const tail = stream->words + runs[i].tail_word * 4;
      if (runs[i].has_head)
        szg_store_u32(head, is_second_pass ? szg_load_u32(head) | runs[i].head_bits : 0);
      if (runs[i].has_tail)
        szg_store_u32(tail, is_second_pass ? szg_load_u32(tail) | runs[i].tail_bits : 0);
    }
  }
}

void szg_gaps_pack(const uint8_t *gaps, uint64_t gap_count, uint8_t *packed) {
  for (uint64_t i = 0; i + 1 < gap_count; i += 2)
    packed[i / 2] = (uint8_t)(gaps[i] | gaps[i + 1] << 4);
  if (gap_count % 2) packed[gap_count / 2] = gaps[gap_count - 1];
}
