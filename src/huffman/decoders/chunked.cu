/* chunked.cu - decodes the linear layout by one thread per tile, code after code.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The coarse-grained decoder of cuSZ, for comparison: it needs no gaps, but has few threads, each
 * with much work, and their loads and stores are far apart.
 *
 * Moves: reads the stream once, each word by a different thread; writes 2 bytes for each code;
 * reads 40 for each tile.
 */
#include "huffman/decoders/chunked.h"

#include "core/cuda_check.cuh"
#include "huffman/decode.cuh"
#include "huffman/decoders/steps.h"

namespace {

struct ChunkedPolicy {
  static constexpr int kThreads = 64; /* so that few tiles still use many multiprocessors */
};

/* 32 bits of the stream from a bit on, zeros past its end. */
__device__ uint32_t bits_at(const szg_linear_input_cuda &input, uint64_t bit) {
  uint32_t const low = szg::word_or_zero(input.words, input.word_count, bit / 32 + 1);
  uint32_t const high = szg::word_or_zero(input.words, input.word_count, bit / 32);
  return szg::bits_from(low, high, (uint32_t)bit);
}

/* The code at the start of `bits`: length << 16 | symbol. */
__device__ uint32_t code_at(const szg_decode_book_cuda *book, uint32_t bits) {
  uint32_t const code = book->single[bits >> (32 - szg::kWindowBits)];
  if (code) return code;
  uint32_t const slot = szg::long_slot(&book->tables, bits);
  uint32_t const length = szg::long_code_bits(&book->tables, slot);
  return length << 16 | book->symbols[szg::long_code_rank(&book->tables, slot, length)];
}

__global__ void __launch_bounds__(ChunkedPolicy::kThreads)
    tiles_decode_kernel(const szg_decode_book_cuda *book, szg_grid grid,
                        szg_linear_input_cuda input, uint16_t *codes, szg_verdict *verdict) {
  uint64_t const t = (uint64_t)blockIdx.x * ChunkedPolicy::kThreads + threadIdx.x;
  if (t >= grid.tile_count || verdict->bad_data != 0) return;
  szg_tile const tile = szg_tile_at(&grid, t);
  uint64_t const end = input.places[t + 1].bit;
  uint64_t bit = input.places[t].bit;
  bool is_sound = end <= *input.bit_count;
  uint32_t code_count = 0;
  while (is_sound && bit < end && code_count < tile.value_count) {
    uint32_t const bits = bits_at(input, bit);
    uint32_t const code = code_at(book, bits);
    is_sound = !(book->tables.is_lone && bits >> 31);
    codes[tile.first_code + code_count++] = (uint16_t)code;
    bit += code >> 16;
  }
  is_sound &= bit == end && code_count == tile.value_count;
  if (!is_sound) verdict->bad_data = 1;
}

} // namespace

szgpu_status szg_decode_chunked_cuda(const szg_decode_book_cuda *book, uint32_t,
                                     const szg_grid *grid, const szg_linear_input_cuda *input,
                                     uint16_t *codes, szg_verdict *verdict,
                                     struct CUstream_st *stream) {
  unsigned const blocks = szg_grid_blocks(grid->tile_count, ChunkedPolicy::kThreads, INT32_MAX);
  tiles_decode_kernel<<<blocks, ChunkedPolicy::kThreads, 0, stream>>>(book, *grid, *input, codes,
                                                                      verdict);
  return szg_launched();
}

/* ---- the steps that frames call ---- */

static szgpu_status decode(const szg_code_stream_cuda *stream, const szg_decoder_memory *, uint32_t,
                           void *codes) {
  return szg_decode_chunked_cuda(stream->book, stream->symbol_count, stream->grid, &stream->input,
                                 (uint16_t *)codes, stream->verdict, stream->device->stream);
}

const szg_decoder_cuda szg_chunked_cuda = {nullptr, nullptr, decode, false};
