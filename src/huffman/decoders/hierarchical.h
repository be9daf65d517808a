/* hierarchical.h - byte symbols decoded by chained tables of 256 entries, one thread for 8 bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * After the decoder of DFloat11: T. Zhang et al., "70% Size, 100% Accuracy: Lossless LLM
 * Compression for Efficient GPU Inference via Dynamic-Length Float", 2025. The next byte of the
 * stream indexes a table; if the code is longer, the entry names the table that the byte after it
 * indexes. Each thread has 8 bytes of the stream, and a gap says where in them its first code
 * begins. Each block of threads has the position of its first symbol; it counts its codes and so
 * knows where each thread's codes go.
 *
 * This decoder differs from DFloat11's in four points. Symbols are any bytes, not only exponents of
 * bf16 weights. Entries have 16 bits, so that all 256 symbols work beside links, and hold their
 * code's length, which saves the lookup in a last table of lengths. Codes have at most 16 bits
 * instead of 32, so gaps fit 4 bits instead of 5. Two more tables list all whole codes that a byte
 * begins with, so that one lookup gives up to three symbols.
 */
#ifndef SZG_HIERARCHICAL_H
#define SZG_HIERARCHICAL_H

#include "core/threads.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

enum {
  SZG_HIERARCHICAL_SYMBOLS = 256,
  SZG_HIERARCHICAL_MOST_TABLES =
      1 + 256, /* the first, and one for each byte that longer codes begin with */
  SZG_HIERARCHICAL_THREAD_BITS = 64,
  SZG_HIERARCHICAL_BLOCK_THREADS = 512,
  SZG_HIERARCHICAL_BLOCK_BITS = SZG_HIERARCHICAL_THREAD_BITS * SZG_HIERARCHICAL_BLOCK_THREADS,
  SZG_HIERARCHICAL_LINK = 0x8000 /* in an entry: a table's number, not a symbol */
};
static_assert(SZG_MAX_CODE_BITS <= 16, "a chain has two tables, and 4 bits hold a gap");

/* ---- tables ---- */

typedef struct szg_hierarchical_tables {
  uint32_t table_count;
  uint32_t unused[3];
  /* Up to three whole codes that a byte begins with: their bits in the low 5, symbols from bits 5,
   * 13 and 21 on, their number from bit 29 on. 0: a longer code, or none. */
  uint32_t packs[256];
  /* All whole codes that a byte begins with: their bits in the low 8, their number in the next 8;
   * from bit 16 on one bit for each place where a code begins or the last one ends. 0: a longer
   * code, or none. */
  uint32_t spans[256];
  /* length << 8 | symbol; or a link; or 0: no code begins like this. The first table_count are
   * set. */
  uint16_t entries[SZG_HIERARCHICAL_MOST_TABLES][256];
} szg_hierarchical_tables;

/* Builds the tables of a book of at most 256 symbols. */
void szg_hierarchical_build(const szg_codebook *book, szg_hierarchical_tables *tables);

/* The bytes from the beginning on that decoders read and that a device needs a copy of. */
size_t szg_hierarchical_tables_bytes(const szg_hierarchical_tables *tables);

/* ---- the stream and its side data ---- */

/* A stream as szg_linear_encode makes it. In szg_decode_hierarchical_cuda pointers are to device
 * memory. Decoders trust none of its contents. */
typedef struct szg_hierarchical_stream {
  const void *words; /* little-endian u32, first bit highest; on a device 8-byte aligned */
  uint64_t word_count, bit_count, code_count;
  uint32_t gap_bits;       /* 4; decoders also read 5, DFloat11's */
  uint32_t position_bytes; /* 8; decoders also read 4, for fewer than 2^32 symbols */
  const uint8_t *gaps;   /* [szg_hierarchical_gap_bytes], gap_bits for each thread, first highest */
  const void *positions; /* [blocks + 1] u32 or u64: first symbol of each block, and the end */
} szg_hierarchical_stream;

SZG_HD uint64_t szg_hierarchical_thread_count(uint64_t bit_count) {
  return bit_count / SZG_HIERARCHICAL_THREAD_BITS + (bit_count % SZG_HIERARCHICAL_THREAD_BITS != 0);
}
SZG_HD uint64_t szg_hierarchical_block_count(uint64_t bit_count) {
  return bit_count / SZG_HIERARCHICAL_BLOCK_BITS + (bit_count % SZG_HIERARCHICAL_BLOCK_BITS != 0);
}
/* One byte more than the gaps fill, so that any gap can be read as part of two bytes. */
SZG_HD uint64_t szg_hierarchical_gap_bytes(uint64_t bit_count, uint32_t gap_bits) {
  return (szg_hierarchical_thread_count(bit_count) * gap_bits + 7) / 8 + 1;
}

/* Bits from the thread's first one to the first code that begins in the thread. If none begins in
 * the last thread: bits to the end of the stream. */
SZG_HD uint32_t szg_hierarchical_gap(const uint8_t *gaps, uint32_t gap_bits, uint64_t thread) {
  uint64_t const bit = thread * gap_bits;
  const uint8_t *const bytes = gaps + bit / 8;
  uint32_t const two = (uint32_t)bytes[0] << 8 | bytes[1];
  return two >> (16 - gap_bits - bit % 8) & ((1u << gap_bits) - 1);
}

SZG_HD uint64_t szg_hierarchical_position(const void *positions, uint32_t position_bytes,
                                          uint64_t block) {
  return position_bytes == 4 ? ((const uint32_t *)positions)[block]
                             : ((const uint64_t *)positions)[block];
}

/* Whether a thread of the CUDA form keeps the packs that it has looked up, by the average bits per
 * code. With fewer bits there are too many packs; with more there are too many long codes, each of
 * which takes the room of several. Measured: docs/benchmarks.md. */
SZG_HD bool szg_hierarchical_keeps_packs(const szg_hierarchical_stream *stream) {
  uint64_t const bits = stream->bit_count, codes = stream->code_count;
  return codes <= bits / 18 * 7 && codes >= bits / 4; /* 2.57 to 4 bits per code */
}

/* ---- side data from that of archives ---- */

/* Archives have one gap per 256 bits, and their sequence is a block here. */
static_assert(SZG_SUBSEQUENCE_BITS % (2 * SZG_HIERARCHICAL_THREAD_BITS) == 0,
              "a subsequence's gaps of 4 bits are whole bytes");
static_assert((int)SZG_SEQUENCE_BITS == (int)SZG_HIERARCHICAL_BLOCK_BITS,
              "sequence codes are block counts");
enum {
  SZG_HIERARCHICAL_SPLIT_GAP_BITS = 4, /* of the gaps made here */
  SZG_HIERARCHICAL_SPLIT_POSITION_BYTES = 8
};

/* Makes the gaps and positions of a stream from an archive's gap array and sequence codes, by
 * walking each subsequence from its gap. The stream is untrusted: decoders still find whatever does
 * not agree. gaps: [szg_hierarchical_gap_bytes] of 4 bits; positions: [blocks + 1]. SZGPU_BAD_DATA:
 * a subsequence has bits that are no code. */
szgpu_status szg_hierarchical_split_gaps(const szg_hierarchical_tables *tables,
                                         const szg_linear_input *input, uint8_t *gaps,
                                         uint64_t *positions, szg_threads *threads) SZG_CHECKED;

/* What the CUDA form writes, and its scratch; in device memory. */
typedef struct szg_hierarchical_gaps_cuda {
  uint8_t *gaps;       /* [szg_hierarchical_gap_bytes] of 4 bits */
  uint64_t *positions; /* [blocks + 1] */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_hierarchical_gaps_cuda;
/* Takes memory for streams of up to most_bits. SZGPU_UNSUPPORTED: 2^31 blocks or more. */
szgpu_status szg_hierarchical_gaps_carve_cuda(szg_arena *arena, uint64_t most_bits,
                                              szg_hierarchical_gaps_cuda *made) SZG_CHECKED;
/* bit_count: the stream's; the input's word_count, gap_bytes and sequence_count agree with it.
 * tables: in device memory. Sets verdict->bad_data if the C form returns SZGPU_BAD_DATA. */
szgpu_status szg_hierarchical_split_gaps_cuda(const szg_hierarchical_tables *tables,
                                              const szg_linear_input_cuda *input,
                                              uint64_t bit_count,
                                              const szg_hierarchical_gaps_cuda *made,
                                              szg_verdict *verdict,
                                              struct CUstream_st *stream) SZG_CHECKED;

/* ---- decoders: both give the same symbols, and refuse the same streams ---- */

/* Decodes code_count symbols, with blocks divided among the threads. Bits of the last word beyond
 * bit_count do not matter. SZGPU_BAD_DATA: the stream does not agree with its side data. */
szgpu_status szg_decode_hierarchical(const szg_hierarchical_tables *tables,
                                     const szg_hierarchical_stream *stream, uint8_t *symbols,
                                     szg_threads *threads) SZG_CHECKED;

/* tables and symbols: in device memory, symbols 16-byte aligned. Sets verdict->bad_data if the C
 * form returns SZGPU_BAD_DATA. Returns SZGPU_BAD_DATA if word_count, which the host knows, is not
 * what bit_count needs.
 */
szgpu_status szg_decode_hierarchical_cuda(const szg_hierarchical_tables *tables,
                                          const szg_hierarchical_stream *stream, uint8_t *symbols,
                                          szg_verdict *verdict,
                                          struct CUstream_st *cuda_stream) SZG_CHECKED;

SZG_C_END

#endif
