/* all_offsets.cuh - decoding from every bit on the device: what its kernels share.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * all_offsets.h explains the tables. The kernels take windows in batches. Each window's W gives an
 * exit for each of the 16 offsets at which its first code may begin: an offset in the next window
 * and a number of codes. Exits are functions of offsets, so the exits of neighbouring windows can
 * be joined, in any grouping, into one that passes both. So on the device the carry is a scan, not
 * a walk over all windows.
 */
#ifndef SZG_ALL_OFFSETS_CUH
#define SZG_ALL_OFFSETS_CUH

#include "huffman/decode.cuh"
#include "huffman/decoders/all_offsets.h"

namespace szg {

/* ---- exits ---- */

/* The low 4 bits are an offset, the next bit is set if a code is missing, the rest counts codes. */
constexpr uint32_t kExits = SZG_ALL_OFFSETS_EXITS;
constexpr uint64_t kExitOffset = kExits - 1, kNoExit = kExits;
constexpr unsigned kExitCountShift = 5;
static_assert(kExits == 16 && 2 * kNoExit == 1 << kExitCountShift, "bits of an exit");

/* Joins `first` to the exit `second` of the next windows, which `first`'s offset leads to. */
SZG_HD uint64_t exits_joined(uint64_t first, uint64_t second) {
  uint64_t const count = (first >> kExitCountShift) + (second >> kExitCountShift);
  return count << kExitCountShift | ((first | second) & kNoExit) | (second & kExitOffset);
}

/* ---- a batch ---- */

/* What the kernels of a batch share. */
struct OffsetsBatch {
  const szg_decode_book_cuda *book;
  const uint32_t *words;
  uint64_t word_count;
  const uint64_t *bit_count;
  uint64_t code_count;
  uint16_t *codes;
  uint64_t first_window; /* the window in slot 0, counted from the stream's first */
  uint32_t window_count; /* at most 2^31 - 1 */
  szg_all_offsets_tables_cuda tables;

  __device__ uint64_t first_bit(uint32_t slot) const {
    return (first_window + slot) * tables.options.window_bits;
  }
  /* Offsets in the window: its bits before the stream's end, however that is stated. */
  __device__ uint32_t offset_count(uint32_t slot) const {
    uint64_t const first = first_bit(slot), end = min(*bit_count, 32 * word_count);
    uint64_t const left = end > first ? end - first : 0;
    return (uint32_t)min(left, (uint64_t)tables.options.window_bits);
  }
  __device__ uint32_t word_at(uint64_t index) const {
    return word_or_zero(words, word_count, index);
  }
};

/* ---- the code at a bit ---- */

/* Bits of the code that `bits` begin with; 0: no code, or one that the tables have no room for. */
inline __device__ uint32_t checked_length(const OffsetsBatch &batch, uint32_t bits,
                                          uint32_t length) {
  bool const is_code = !(batch.book->tables.is_lone && bits >> 31);
  return is_code && length >= batch.tables.shortest && length <= batch.tables.longest ? length : 0;
}

inline __device__ uint32_t long_length(const OffsetsBatch &batch, uint32_t bits) {
  const DecodeTables *const tables = &batch.book->tables;
  return checked_length(batch, bits, long_code_bits(tables, long_slot(tables, bits)));
}

/* Its symbol, if it is a code. */
inline __device__ uint16_t symbol_of(const szg_decode_book_cuda *book, uint32_t bits) {
  uint32_t const code = __ldg(book->single + (bits >> (32 - kWindowBits)));
  if (code) return (uint16_t)code;
  uint32_t const slot = long_slot(&book->tables, bits);
  return book->symbols[long_code_rank(&book->tables, slot, long_code_bits(&book->tables, slot))];
}

/* ---- rows ---- */

/* A finished row of a window; it has no entry from `end` on. */
struct RowView {
  const void *entries;
  uint32_t entry_bytes, bias, end;

  /* Bits of the row's 2^j codes from `offset` on; 0: the window has fewer codes. */
  __device__ uint32_t width_at(uint32_t offset) const {
    if (offset >= end) return 0;
    uint32_t const entry = szg_all_offsets_load(entries, entry_bytes, offset);
    return entry ? entry + bias : 0;
  }
};

/* How many leading entries of the next row may be other than none. The second 2^j codes of an entry
 * begin before `end`, and each of the first 2^j takes at least the bits of the shortest code. */
inline __device__ uint32_t next_row_count(const OffsetsBatch &batch, int row, uint32_t end,
                                          uint32_t offset_count) {
  if (end == 0 || !batch.tables.options.skips_none) return end ? offset_count : 0;
  uint32_t const reach = batch.tables.shortest << row;
  return end > reach ? end - reach : 0;
}

/* Entry `offset` of the row after `from`. */
inline __device__ uint32_t doubled_entry(const RowView &from, uint32_t to_bias, uint32_t offset) {
  uint32_t const first = from.width_at(offset);
  uint32_t const second = first ? from.width_at(offset + first) : 0;
  return second ? first + second - to_bias : 0;
}

/* Where a window leads from an offset, found down its rows. row(j): a RowView. */
template <class RowAt>
__device__ uint64_t exit_from(uint32_t offset, uint32_t offset_count, int row_count, RowAt row) {
  uint32_t position = offset, code_count = 0;
  for (int j = row_count - 1; j >= 0 && position < offset_count; j--) {
    uint32_t const width = row(j).width_at(position);
    position += width;
    code_count += width ? 1u << j : 0;
  }
  if (position < offset_count) return kNoExit | offset;
  return (uint64_t)code_count << kExitCountShift | ((position - offset_count) & kExitOffset);
}

/* Raises the row's end to the end of the warp's entries; `entry` is the lane's. The whole warp
 * calls, with consecutive offsets. */
inline __device__ void raise_row_end(uint32_t *end, uint32_t first_offset, uint32_t entry) {
  uint32_t const there = __ballot_sync(kAllLanes, entry != 0);
  if (there && threadIdx.x % 32 == 0)
    atomicMax(end, first_offset + 32 - (uint32_t)__clz((int)there));
}

/* ---- on the host (all_offsets_chain.cu) ---- */

/* Finds the entries of the batch's windows from their exits. is_last: no batch follows, so the
 * stream must be at its end, with all codes. */
szgpu_status offsets_chain(const OffsetsBatch &batch, bool is_last, szg_verdict *verdict,
                           cudaStream_t stream) SZG_CHECKED;

/* Lays out the part of the tables that every form of the decoder needs. SZGPU_UNSUPPORTED: 2^31
 * slots or more. */
szgpu_status offsets_carve_exits(szg_arena *arena, const szg_all_offsets_options *options,
                                 uint32_t shortest, uint32_t longest,
                                 szg_all_offsets_tables_cuda *tables) SZG_CHECKED;

} // namespace szg

#endif
