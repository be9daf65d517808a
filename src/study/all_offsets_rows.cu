/* all_offsets_rows.cu - decoding from every bit at once with tables in device memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The form that Johnston and McCreath (2017) describe: one launch for each row of W and of P, one
 * thread for each offset, with launches as barriers. The paper has one window; here each launch
 * handles all windows of a batch, of any size and number.
 *
 * Moves, for each bit: writes 2 bytes of a symbol and one entry of each row; reads two entries for
 * the next row and one for P; reads 4 bytes of P and writes up to 4 for each row. Less if entries
 * of none are skipped.
 */
#include "huffman/decoders/all_offsets_batches.cuh"
#include "study/all_offsets_forms.h"

namespace {

using szg::kExits;
using szg::OffsetsBatch;
using szg::RowView;

struct RowPolicy {
  static constexpr unsigned kThreads = 256;
};

constexpr uint32_t kNoPlace = UINT32_MAX; /* the paper's P = -1 */

/* A batch with the tables of its windows, from szg_all_offsets_rows_cuda. */
struct RowsBatch : OffsetsBatch {
  uint8_t *widths;
  uint32_t *row_ends, *places;
  uint16_t *symbols;
};

/* A thread's offset. The threads of a warp are in one window. */
struct SlotOffset {
  uint32_t slot, offset;
  bool is_there;

  __device__ explicit SlotOffset(const RowsBatch &batch) {
    uint32_t const window_bits = batch.tables.options.window_bits;
    uint64_t const i = (uint64_t)blockIdx.x * RowPolicy::kThreads + threadIdx.x;
    is_there = i / window_bits < batch.window_count;
    slot = is_there ? (uint32_t)(i / window_bits) : 0;
    offset = (uint32_t)(i % window_bits);
  }
  __device__ uint64_t index(const RowsBatch &batch) const {
    return (uint64_t)slot * batch.tables.options.window_bits + offset;
  }
};

__device__ uint8_t *row_at(const RowsBatch &batch, uint32_t slot, int row) {
  return batch.widths + slot * batch.tables.widths_bytes + batch.tables.rows[row].first_byte;
}
__device__ uint32_t *row_end_at(const RowsBatch &batch, uint32_t slot, int row) {
  return batch.row_ends + (uint64_t)slot * batch.tables.row_count + row;
}
__device__ RowView view_row(const RowsBatch &batch, uint32_t slot, int row) {
  szg_all_offsets_row const &rule = batch.tables.rows[row];
  return {row_at(batch, slot, row), rule.entry_bytes, rule.bias, *row_end_at(batch, slot, row)};
}

/* ---- stages 1 and 2 ---- */

__global__ void __launch_bounds__(RowPolicy::kThreads)
    offsets_decode_kernel(const __grid_constant__ RowsBatch batch) {
  SlotOffset const at(batch);
  uint32_t const count = at.is_there ? batch.offset_count(at.slot) : 0;
  uint32_t entry = 0;
  if (at.offset < count) {
    uint64_t const bit = batch.first_bit(at.slot) + at.offset;
    uint64_t const bits_left = min(*batch.bit_count, 32 * batch.word_count) - bit;
    uint32_t const bits =
        szg::bits_from(batch.word_at(bit / 32 + 1), batch.word_at(bit / 32), (uint32_t)bit);
    uint32_t const code = batch.book->single[bits >> (32 - szg::kWindowBits)];
    uint32_t const length =
        code ? szg::checked_length(batch, bits, code >> 16) : szg::long_length(batch, bits);
    szg_all_offsets_row const &rule = batch.tables.rows[0];
    entry = length && length <= bits_left ? length - rule.bias : 0;
    szg_all_offsets_store(row_at(batch, at.slot, 0), rule.entry_bytes, at.offset, entry);
    batch.symbols[at.index(batch)] = szg::symbol_of(batch.book, bits);
  }
  szg::raise_row_end(row_end_at(batch, at.slot, 0), at.offset - at.offset % 32, entry);
}

/* Makes the row after `row`. */
__global__ void __launch_bounds__(RowPolicy::kThreads)
    rows_double_kernel(const __grid_constant__ RowsBatch batch, int row) {
  SlotOffset const at(batch);
  uint32_t entry = 0;
  if (at.is_there) {
    RowView const from = view_row(batch, at.slot, row);
    uint32_t const count = szg::next_row_count(batch, row, from.end, batch.offset_count(at.slot));
    szg_all_offsets_row const &rule = batch.tables.rows[row + 1];
    if (at.offset < count) {
      entry = szg::doubled_entry(from, rule.bias, at.offset);
      szg_all_offsets_store(row_at(batch, at.slot, row + 1), rule.entry_bytes, at.offset, entry);
    }
  }
  szg::raise_row_end(row_end_at(batch, at.slot, row + 1), at.offset - at.offset % 32, entry);
}

/* One thread per exit. */
__global__ void __launch_bounds__(RowPolicy::kThreads)
    exits_find_kernel(const __grid_constant__ RowsBatch batch) {
  uint64_t const i = (uint64_t)blockIdx.x * RowPolicy::kThreads + threadIdx.x;
  if (i / kExits >= batch.window_count) return;
  uint32_t const slot = (uint32_t)(i / kExits);
  batch.tables.exits[i] =
      szg::exit_from((uint32_t)(i % kExits), batch.offset_count(slot), batch.tables.row_count,
                     [&](int row) { return view_row(batch, slot, row); });
}

/* ---- stages 3 and 4 ---- */

/* The number of codes of a window; 0 if a code is missing in it or before. */
__device__ uint32_t code_count_of(const RowsBatch &batch, uint32_t slot, uint64_t state) {
  uint64_t const exit = batch.tables.exits[(uint64_t)slot * kExits + (state & szg::kExitOffset)];
  uint64_t const count = exit >> szg::kExitCountShift;
  bool const is_sound = ((state | exit) & szg::kNoExit) == 0;
  return is_sound ? min((uint32_t)count, batch.offset_count(slot)) : 0;
}

/* P before any row: the window's first code has place 0; inverted, place 0 has that code's
 * offset. */
__global__ void __launch_bounds__(RowPolicy::kThreads)
    places_begin_kernel(const __grid_constant__ RowsBatch batch) {
  SlotOffset const at(batch);
  if (!at.is_there) return;
  uint64_t const state = batch.tables.entries[at.slot];
  uint32_t const entry = (uint32_t)(state & szg::kExitOffset);
  bool const has_codes = code_count_of(batch, at.slot, state) > 0;
  uint32_t *const place = &batch.places[at.index(batch)];
  if (batch.tables.options.skips_none) {
    if (at.offset == 0) *place = entry;
  } else {
    *place = at.offset == entry && has_codes ? 0 : kNoPlace;
  }
}

/* A row of the paper's P. A thread may read a place before or after another thread writes it in the
 * same launch: either way each code gets its one place, at the latest in its own row. */
__global__ void __launch_bounds__(RowPolicy::kThreads)
    places_spread_kernel(const __grid_constant__ RowsBatch batch, int row) {
  SlotOffset const at(batch);
  if (!at.is_there) return;
  volatile uint32_t *const places = batch.places + at.index(batch);
  uint32_t const place = *places;
  if (place == kNoPlace) return;
  uint32_t const width = view_row(batch, at.slot, row).width_at(at.offset);
  if (width && at.offset + width < batch.offset_count(at.slot)) places[width] = place + (1u << row);
}

/* A row of the inverted P, one thread for each place that it adds. */
__global__ void __launch_bounds__(RowPolicy::kThreads)
    offsets_spread_kernel(const __grid_constant__ RowsBatch batch, int row,
                          uint32_t steps_of_window) {
  uint64_t const i = (uint64_t)blockIdx.x * RowPolicy::kThreads + threadIdx.x;
  if (i / steps_of_window >= batch.window_count) return;
  uint32_t const slot = (uint32_t)(i / steps_of_window);
  uint32_t const step = 1u << row, place = (uint32_t)(i % steps_of_window) * 2 * step;
  uint64_t const state = batch.tables.entries[slot];
  if (place + step >= code_count_of(batch, slot, state)) return;
  uint32_t *const offsets = batch.places + (uint64_t)slot * batch.tables.options.window_bits;
  uint32_t const offset = offsets[place];
  offsets[place + step] = offset + view_row(batch, slot, row).width_at(offset);
}

__global__ void __launch_bounds__(RowPolicy::kThreads)
    codes_put_kernel(const __grid_constant__ RowsBatch batch) {
  SlotOffset const at(batch);
  if (!at.is_there) return;
  uint64_t const state = batch.tables.entries[at.slot];
  uint32_t const count = code_count_of(batch, at.slot, state);
  uint64_t const first_index = at.index(batch) - at.offset;
  uint32_t place = at.offset, offset = at.offset;
  if (batch.tables.options.skips_none) {
    if (place >= count) return;
    offset = batch.places[first_index + place];
  } else {
    if (offset >= batch.offset_count(at.slot)) return;
    place = batch.places[first_index + offset];
    if (place == kNoPlace) return;
  }
  uint64_t const code = (state >> szg::kExitCountShift) + place;
  if (code < batch.code_count) batch.codes[code] = batch.symbols[first_index + offset];
}

/* ---- launches ---- */

unsigned blocks_for(uint64_t threads) {
  return szg_grid_blocks(threads, RowPolicy::kThreads, INT32_MAX);
}

struct RowWindows {
  const szg_all_offsets_rows_cuda &rows;

  RowsBatch batch_of(const OffsetsBatch &batch) const {
    return {batch, rows.widths, rows.row_ends, rows.places, rows.symbols};
  }
  szgpu_status measure(const OffsetsBatch &batch, cudaStream_t stream) const;
  szgpu_status place(const OffsetsBatch &batch, cudaStream_t stream) const;
};

szgpu_status RowWindows::measure(const OffsetsBatch &own, cudaStream_t stream) const {
  RowsBatch const batch = batch_of(own);
  int const row_count = batch.tables.row_count;
  uint64_t const offsets = (uint64_t)batch.window_count * batch.tables.options.window_bits;
  SZG_TRY_CUDA(cudaMemsetAsync(batch.row_ends, 0,
                               (uint64_t)batch.window_count * row_count * sizeof *batch.row_ends,
                               stream));
  offsets_decode_kernel<<<blocks_for(offsets), RowPolicy::kThreads, 0, stream>>>(batch);
  SZG_TRY_LAUNCH();
  for (int row = 0; row + 1 < row_count; row++) {
    rows_double_kernel<<<blocks_for(offsets), RowPolicy::kThreads, 0, stream>>>(batch, row);
    SZG_TRY_LAUNCH();
  }
  uint64_t const exits = (uint64_t)batch.window_count * kExits;
  exits_find_kernel<<<blocks_for(exits), RowPolicy::kThreads, 0, stream>>>(batch);
  return szg_launched();
}

szgpu_status RowWindows::place(const OffsetsBatch &own, cudaStream_t stream) const {
  RowsBatch const batch = batch_of(own);
  szg_all_offsets_options const &options = batch.tables.options;
  uint64_t const offsets = (uint64_t)batch.window_count * options.window_bits;
  places_begin_kernel<<<blocks_for(offsets), RowPolicy::kThreads, 0, stream>>>(batch);
  SZG_TRY_LAUNCH();
  for (int row = batch.tables.row_count - 1; row >= 0; row--) {
    uint32_t const most_codes = options.window_bits / batch.tables.shortest + 1;
    uint32_t const steps = (most_codes >> row) / 2 + 1;
    if (options.skips_none)
      offsets_spread_kernel<<<blocks_for((uint64_t)batch.window_count * steps), RowPolicy::kThreads,
                              0, stream>>>(batch, row, steps);
    else
      places_spread_kernel<<<blocks_for(offsets), RowPolicy::kThreads, 0, stream>>>(batch, row);
    SZG_TRY_LAUNCH();
  }
  codes_put_kernel<<<blocks_for(offsets), RowPolicy::kThreads, 0, stream>>>(batch);
  return szg_launched();
}

} // namespace

szgpu_status szg_all_offsets_rows_carve_cuda(szg_arena *arena,
                                             const szg_all_offsets_options *options,
                                             uint32_t shortest, uint32_t longest,
                                             szg_all_offsets_rows_cuda *rows) {
  uint64_t const slots = options->slot_count, offsets = slots * options->window_bits;
  SZG_REQUIRE(offsets <= (uint64_t)INT32_MAX * RowPolicy::kThreads, SZGPU_UNSUPPORTED);
  SZG_TRY(szg::offsets_carve_exits(arena, options, shortest, longest, &rows->tables));
  rows->widths = (uint8_t *)szg_arena_take(arena, slots, rows->tables.widths_bytes);
  rows->row_ends = (uint32_t *)szg_arena_take(arena, slots * (uint64_t)rows->tables.row_count,
                                              sizeof *rows->row_ends);
  rows->places = (uint32_t *)szg_arena_take(arena, offsets, sizeof *rows->places);
  rows->symbols = (uint16_t *)szg_arena_take(arena, offsets, sizeof *rows->symbols);
  return SZGPU_OK;
}

szgpu_status szg_decode_all_offsets_rows_cuda(const szg_all_offsets_rows_cuda *rows,
                                              const szg_decode_book_cuda *book,
                                              const szg_linear_input_cuda *input, uint16_t *codes,
                                              szg_verdict *verdict, struct CUstream_st *stream) {
  RowWindows const windows = {*rows};
  return szg::decode_batches(rows->tables, windows, book, input, codes, verdict, stream);
}
