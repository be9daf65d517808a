/* decode_serial.c - the oracle: reads codes one bit at a time and checks all side data.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "core/bit_reader.h"
#include "huffman/decoders/steps.h"
#include "huffman/huffman.h"

void szg_canonical_index_build(const szg_codebook *book, szg_canonical_index *index) {
  memset(index->code_counts, 0, sizeof index->code_counts);
  index->mask = 0;
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s))
    if (book->lengths[s]) index->code_counts[book->lengths[s]]++;
  uint32_t place = 0;
  szg_canonical_firsts(index->code_counts, SZG_MAX_CODE_BITS, index->first_codes);
  for (int length = 1; length <= SZG_MAX_CODE_BITS; length++) {
    index->first_symbols[length] = place;
    place += index->code_counts[length];
  }
  uint32_t next_places[SZG_MAX_CODE_BITS + 1];
  memcpy(next_places, index->first_symbols, sizeof next_places);
  uint32_t const zero = book->symbol_count / 2;
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s)) {
    uint32_t const length = book->lengths[s];
    if (!length) continue;
    if (s == zero) {
      uint32_t const rank = next_places[length] - index->first_symbols[length];
      index->mask = (index->first_codes[length] + rank) << (SZG_MAX_CODE_BITS - length);
    }
    index->symbols[next_places[length]++] = (uint16_t)s;
  }
}

/* Reads the code at *position and moves past it. False if there is no code. */
static bool read_code(const szg_canonical_index *index, const szg_linear_input *input,
                      uint64_t *position, uint16_t *symbol) {
  uint32_t code = 0;
  for (int length = 1; length <= SZG_MAX_CODE_BITS && *position < input->bit_count; length++) {
    uint32_t const mask_bit = index->mask >> (SZG_MAX_CODE_BITS - length) & 1;
    code = code << 1 | (szg_bit_at(input->words, (*position)++) ^ mask_bit);
    uint32_t const rank = code - index->first_codes[length];
    if (code >= index->first_codes[length] && rank < index->code_counts[length]) {
      *symbol = index->symbols[index->first_symbols[length] + rank];
      return true;
    }
  }
  return false;
}

szgpu_status szg_decode_serial(const szg_canonical_index *index, const szg_linear_input *input,
                               const szg_code_run *runs, size_t run_count) {
  for (size_t i = 0; i < run_count; i++) {
    uint64_t position = runs[i].first_bit;
    for (uint32_t c = 0; c < runs[i].code_count; c++)
      SZG_REQUIRE(read_code(index, input, &position, &runs[i].codes[c]), SZGPU_BAD_DATA);
    SZG_REQUIRE(position == runs[i].first_bit + runs[i].bit_count, SZGPU_BAD_DATA);
  }
  return SZGPU_OK;
}

/* Checks the gaps of subsequences before `end` if their first code begins at `position`. */
static bool gaps_agree(const szg_linear_input *input, uint64_t *subsequence, uint64_t end,
                       uint64_t position) {
  for (; *subsequence < end && *subsequence * SZG_SUBSEQUENCE_BITS <= position; (*subsequence)++) {
    uint64_t const gap = position - *subsequence * SZG_SUBSEQUENCE_BITS;
    unsigned const stored = input->gaps[*subsequence / 2] >> *subsequence % 2 * 4 & 15;
    if (gap != stored) return false;
  }
  return true;
}

szgpu_status szg_linear_verify(const szg_canonical_index *index, const szg_linear_input *input) {
  uint64_t const subsequence_count = szg_subsequence_count(input->bit_count);
  uint64_t const sequence_count = szg_sequence_count(input->bit_count);
  uint64_t position = 0, subsequence = 0, code_in_all = 0;
  for (uint64_t sequence = 0; sequence < sequence_count; sequence++) {
    uint64_t const end = (sequence + 1) * SZG_SEQUENCE_BITS;
    uint32_t codes = 0;
    for (; position < end && code_in_all < input->code_count; codes++, code_in_all++) {
      uint16_t symbol;
      SZG_REQUIRE(gaps_agree(input, &subsequence, subsequence_count, position), SZGPU_BAD_DATA);
      SZG_REQUIRE(read_code(index, input, &position, &symbol), SZGPU_BAD_DATA);
    }
    SZG_REQUIRE(codes == szg_load_u16(input->sequence_codes + 2 * sequence), SZGPU_BAD_DATA);
  }
  SZG_REQUIRE(code_in_all == input->code_count && position == input->bit_count, SZGPU_BAD_DATA);
  SZG_REQUIRE(gaps_agree(input, &subsequence, subsequence_count, position), SZGPU_BAD_DATA);
  if (subsequence_count % 2)
    SZG_REQUIRE(input->gaps[subsequence_count / 2] >> 4 == 0, SZGPU_BAD_DATA);
  for (; position < input->word_bytes * 8; position++)
    SZG_REQUIRE(!szg_bit_at(input->words, position), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* ---- the steps that frames call ---- */

static szgpu_status carve(szg_arena *arena, const szg_code_stream *stream,
                          szg_decoder_memory *memory) {
  (void)stream;
  szg_canonical_index *const index = szg_arena_take(arena, 1, sizeof *index);
  szg_decoder_keep(memory, &index, sizeof index);
  return SZGPU_OK;
}

static szgpu_status open_index(const szg_code_stream *stream, const szg_decoder_memory *memory) {
  szg_canonical_index *index;
  szg_decoder_recall(memory, &index, sizeof index);
  szg_canonical_index_build(stream->book, index);
  return stream->input->gaps ? szg_linear_verify(index, stream->input) : SZGPU_OK;
}

static szgpu_status decode_runs(const szg_code_stream *stream, const szg_decoder_memory *memory,
                                const szg_code_run *runs, size_t run_count) {
  szg_canonical_index *index;
  szg_decoder_recall(memory, &index, sizeof index);
  return szg_decode_serial(index, stream->input, runs, run_count);
}

const szg_decoder_cpu szg_serial_cpu = {
    .carve = carve, .open = open_index, .decode_runs = decode_runs, .is_reference = true};
