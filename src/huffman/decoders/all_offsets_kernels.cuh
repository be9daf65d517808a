/* all_offsets_kernels.cuh - decoding from every bit: kernels over windows in shared memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each team takes one window. A first kernel makes W in shared memory, finds where the window leads
 * from each of 16 offsets, and drops W. Once the windows' entries are known (all_offsets_chain.cu),
 * a second kernel makes W again and goes down its rows to find where codes begin. So W never goes
 * to device memory and back.
 *
 * As in all_offsets.c, the paper's places are inverted if entries of none are skipped: the kernel
 * lists the offsets of codes by their places, and each row adds one offset between every two. The
 * kernel looks up symbols only where codes begin, not at every bit.
 *
 * Moves: the stream read twice; for each window 128 bytes of exits written, and read twice, 16
 * bytes of its entry; 2 bytes written for each code.
 */
#ifndef SZG_ALL_OFFSETS_KERNELS_CUH
#define SZG_ALL_OFFSETS_KERNELS_CUH

#include "core/cuda_check.cuh"
#include "huffman/decoders/all_offsets_window.cuh"

namespace szg {

/* ---- stages 3 and 4: places, codes ---- */

/* Where a window's codes go; its exit says how many there are. */
struct WindowCodes {
  uint32_t entry, count;
  uint64_t first;
};

inline __device__ void put_code(const TeamWindow &window, uint64_t place, uint32_t offset) {
  const OffsetsBatch &batch = window.batch;
  if (place < batch.code_count) batch.codes[place] = symbol_of(batch.book, window.bits_at(offset));
}

/* The inverted P. */
template <class Team>
__device__ void place_by_code(const TeamWindow &window, int row_count, const WindowCodes &codes) {
  uint16_t *const offsets = window.places;
  if (Team::thread() == 0) offsets[0] = (uint16_t)codes.entry;
  for (int row = row_count - 1; row >= 0; row--) {
    Team::sync(); /* places of the row above known */
    RowView const view = window.view(row);
    uint32_t const step = 1u << row;
    for (uint32_t place = 2 * step * Team::thread(); place + step < codes.count;
         place += 2 * step * Team::threads()) {
      uint32_t const offset = offsets[place];
      offsets[place + step] = (uint16_t)(offset + view.width_at(offset));
    }
  }
  Team::sync(); /* all places known */
  for (uint32_t place = Team::thread(); place < codes.count; place += Team::threads())
    put_code(window, codes.first + place, offsets[place]);
}

/* The paper's form: P over all offsets. No thread writes what others read in the same step. */
template <class Team>
__device__ void place_by_offset(const TeamWindow &window, int row_count, const WindowCodes &codes) {
  uint16_t *const places = window.places;
  for (uint32_t i = Team::thread(); i < window.offset_count; i += Team::threads())
    places[i] = i == codes.entry && codes.count > 0 ? 0 : kNoPlace;
  for (int row = row_count - 1; row >= 0; row--) {
    RowView const view = window.view(row);
    for (uint32_t base = 0; base < window.offset_count; base += Team::threads()) {
      Team::sync(); /* earlier places are written */
      uint32_t const i = base + Team::thread();
      uint32_t const place = i < window.offset_count ? places[i] : kNoPlace;
      uint32_t const width = place != kNoPlace ? view.width_at(i) : 0;
      Team::sync(); /* all have read */
      if (width && i + width < window.offset_count)
        places[i + width] = (uint16_t)(place + (1u << row));
    }
  }
  Team::sync(); /* all places known */
  for (uint32_t i = Team::thread(); i < window.offset_count; i += Team::threads())
    if (places[i] != kNoPlace) put_code(window, codes.first + places[i], i);
}

/* ---- kernels ---- */

/* Lengths by the next kWindowBits bits, then the teams' memory. */
extern __shared__ uint4 offsets_memory[];

template <class Team>
__device__ TeamWindow team_window(const OffsetsBatch &batch) {
  TeamLayout const layout(batch.tables.options.window_bits, batch.tables.widths_bytes);
  uint8_t *const lengths = reinterpret_cast<uint8_t *>(offsets_memory);
  uint8_t *const team = lengths + kWindows + Team::number() * layout.bytes;
  return {batch,
          lengths,
          reinterpret_cast<uint32_t *>(team),
          reinterpret_cast<uint32_t *>(team + layout.words),
          reinterpret_cast<uint16_t *>(team + layout.places),
          team + layout.widths,
          0};
}

template <class Team>
__global__ void __launch_bounds__(Team::kMostThreads)
    windows_measure_kernel(const __grid_constant__ OffsetsBatch batch) {
  TeamWindow window = team_window<Team>(batch);
  fill_lengths(batch, reinterpret_cast<uint8_t *>(offsets_memory));
  __syncthreads(); /* lengths complete */
  for (uint32_t slot = blockIdx.x * Team::count() + Team::number(); slot < batch.window_count;
       slot += gridDim.x * Team::count()) {
    begin_window<Team>(window, slot);
    int const row_count = make_widths<Team>(window, slot);
    if (Team::thread() < kExits)
      batch.tables.exits[(uint64_t)slot * kExits + Team::thread()] =
          exit_from(Team::thread(), window.offset_count, row_count,
                    [&](int row) { return window.view(row); });
  }
}

template <class Team>
__global__ void __launch_bounds__(Team::kMostThreads)
    windows_place_kernel(const __grid_constant__ OffsetsBatch batch) {
  TeamWindow window = team_window<Team>(batch);
  fill_lengths(batch, reinterpret_cast<uint8_t *>(offsets_memory));
  __syncthreads(); /* lengths complete */
  for (uint32_t slot = blockIdx.x * Team::count() + Team::number(); slot < batch.window_count;
       slot += gridDim.x * Team::count()) {
    begin_window<Team>(window, slot);
    int const row_count = make_widths<Team>(window, slot);
    uint64_t const state = batch.tables.entries[slot];
    uint32_t const entry = (uint32_t)(state & kExitOffset);
    uint64_t const exit = batch.tables.exits[(uint64_t)slot * kExits + entry];
    bool const is_sound = ((state | exit) & kNoExit) == 0;
    uint32_t const found = (uint32_t)(exit >> kExitCountShift);
    WindowCodes const codes = {entry, is_sound ? min(found, window.offset_count) : 0,
                               state >> kExitCountShift};
    if (batch.tables.options.skips_none)
      place_by_code<Team>(window, row_count, codes);
    else
      place_by_offset<Team>(window, row_count, codes);
  }
}

/* ---- on the host: memory and launches ---- */

inline uint32_t offsets_block_bytes(const szg_all_offsets_tables_cuda &tables,
                                    uint32_t team_count) {
  TeamLayout const layout(tables.options.window_bits, tables.widths_bytes);
  return kWindows + team_count * layout.bytes;
}

/* The work of szg_all_offsets_carve_cuda for teams of team_threads. */
template <class Team>
szgpu_status carve_windows(szg_arena *arena, const szg_all_offsets_options *options,
                           uint32_t team_threads, uint32_t shortest, uint32_t longest,
                           szg_all_offsets_tables_cuda *tables) {
  SZG_TRY(offsets_carve_exits(arena, options, shortest, longest, tables));
  SZG_REQUIRE(options->window_bits <= SZG_ALL_OFFSETS_MOST_SHARED_BITS, SZGPU_UNSUPPORTED);
  int limit = 0;
  SZG_TRY(szg_most_shared_bytes(&limit));
  tables->team_threads = team_threads;
  tables->block_teams = Team::kMostTeams;
  while (tables->block_teams > 0 &&
         offsets_block_bytes(*tables, tables->block_teams) > (uint32_t)limit)
    tables->block_teams--;
  SZG_REQUIRE(tables->block_teams > 0, SZGPU_UNSUPPORTED);
  return SZGPU_OK;
}

/* kernel: one of the two above. */
template <class Kernel>
szgpu_status launch_windows(Kernel kernel, const OffsetsBatch &batch, cudaStream_t stream) {
  uint32_t const teams = batch.tables.block_teams;
  unsigned const threads = teams * batch.tables.team_threads;
  uint32_t const bytes = offsets_block_bytes(batch.tables, teams);
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, (int)threads, (int)bytes, &most_blocks));
  unsigned const blocks = szg_grid_blocks(batch.window_count, teams, most_blocks);
  kernel<<<blocks, threads, bytes, stream>>>(batch);
  return szg_launched();
}

/* For decode_batches: windows in shared memory, each one's tables made by a team. */
template <class Team>
struct TeamWindows {
  szgpu_status measure(const OffsetsBatch &batch, cudaStream_t stream) const {
    return launch_windows(windows_measure_kernel<Team>, batch, stream);
  }
  szgpu_status place(const OffsetsBatch &batch, cudaStream_t stream) const {
    return launch_windows(windows_place_kernel<Team>, batch, stream);
  }
};

} // namespace szg

#endif
