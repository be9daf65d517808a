/* all_offsets.cu - decoding from every bit at once: windows in shared memory, and batches.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp takes a window, or a block where windows are large. Its W is made in shared memory, a row
 * after the other, and says where the window leads from each of 16 offsets; W itself is forgotten.
 * With entries known (all_offsets_chain.cu) W is made once more, and down its rows the codes'
 * beginnings are found. So W never goes to memory and back.
 *
 * The paper's places are turned over here as in all_offsets.c, where none are skipped: the
 * offsets of codes by their places, each row putting one between two. Symbols are looked up where
 * codes begin, not at every bit.
 *
 * Moves: the stream read twice; for each window 128 bytes of exits written, and read twice, 16
 * bytes of its entry; 2 bytes written for each code.
 */
#include "core/cuda_check.cuh"
#include "huffman/decoders/all_offsets_window.cuh"

namespace {

using szg::BlockTeam;
using szg::kExits;
using szg::kNoPlace;
using szg::kWindows;
using szg::OffsetsBatch;
using szg::OffsetsPolicy;
using szg::RowView;
using szg::TeamLayout;
using szg::TeamWindow;
using szg::WarpTeam;

/* ---- stages 3 and 4: places, codes ---- */

/* Where its codes go, which are as many as its exit says. */
struct WindowCodes {
  uint32_t entry, count;
  uint64_t first;
};

__device__ void put_code(const TeamWindow &window, uint64_t place, uint32_t offset) {
  const OffsetsBatch &batch = window.batch;
  if (place < batch.code_count)
    batch.codes[place] = szg::symbol_of(batch.book, window.bits_at(offset));
}

/* P turned over. */
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

/* As the paper has it: P over all offsets. What a step reads, no thread writes meanwhile. */
template <class Team>
__device__ void place_by_offset(const TeamWindow &window, int row_count, const WindowCodes &codes) {
  uint16_t *const places = window.places;
  for (uint32_t i = Team::thread(); i < window.offset_count; i += Team::threads())
    places[i] = i == codes.entry && codes.count > 0 ? 0 : kNoPlace;
  for (int row = row_count - 1; row >= 0; row--) {
    RowView const view = window.view(row);
    for (uint32_t base = 0; base < window.offset_count; base += Team::threads()) {
      Team::sync(); /* what was known before is written */
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

/* Lengths by window, then what teams have. */
extern __shared__ uint4 offsets_memory[];

template <class Team>
__device__ TeamWindow team_window(const OffsetsBatch &batch) {
  TeamLayout const layout(batch.tables.options.tables.window_bits, batch.tables.widths_bytes);
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
  szg::fill_lengths(batch, reinterpret_cast<uint8_t *>(offsets_memory));
  __syncthreads(); /* lengths complete */
  for (uint32_t slot = blockIdx.x * Team::count() + Team::number(); slot < batch.window_count;
       slot += gridDim.x * Team::count()) {
    szg::begin_window<Team>(window, slot);
    int const row_count = szg::make_widths<Team>(window, slot);
    if (Team::thread() < kExits)
      batch.tables.exits[(uint64_t)slot * kExits + Team::thread()] =
          szg::exit_from(Team::thread(), window.offset_count, row_count,
                         [&](int row) { return window.view(row); });
  }
}

template <class Team>
__global__ void __launch_bounds__(Team::kMostThreads)
    windows_place_kernel(const __grid_constant__ OffsetsBatch batch) {
  TeamWindow window = team_window<Team>(batch);
  szg::fill_lengths(batch, reinterpret_cast<uint8_t *>(offsets_memory));
  __syncthreads(); /* lengths complete */
  for (uint32_t slot = blockIdx.x * Team::count() + Team::number(); slot < batch.window_count;
       slot += gridDim.x * Team::count()) {
    szg::begin_window<Team>(window, slot);
    int const row_count = szg::make_widths<Team>(window, slot);
    uint64_t const state = batch.tables.entries[slot];
    uint32_t const entry = (uint32_t)(state & szg::kExitOffset);
    uint64_t const exit = batch.tables.exits[(uint64_t)slot * kExits + entry];
    bool const is_sound = ((state | exit) & szg::kNoExit) == 0;
    uint32_t const found = (uint32_t)(exit >> szg::kExitCountShift);
    WindowCodes const codes = {entry, is_sound ? min(found, window.offset_count) : 0,
                               state >> szg::kExitCountShift};
    if (batch.tables.options.tables.skips_none)
      place_by_code<Team>(window, row_count, codes);
    else
      place_by_offset<Team>(window, row_count, codes);
  }
}

} // namespace

/* ---- launchers ---- */

static uint32_t block_bytes(const szg_all_offsets_tables_cuda &tables, uint32_t team_count) {
  TeamLayout const layout(tables.options.tables.window_bits, tables.widths_bytes);
  return kWindows + team_count * layout.bytes;
}

/* Teams that the shared memory of a block has room for; 0: none. */
static szgpu_status teams_of_block(const szg_all_offsets_tables_cuda &tables, uint32_t *teams) {
  int device = 0, limit = 0;
  SZG_TRY_CUDA(cudaGetDevice(&device));
  SZG_TRY_CUDA(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  *teams = tables.options.window_threads == 32 ? OffsetsPolicy::kWarpTeams : 1;
  while (*teams > 0 && block_bytes(tables, *teams) > (uint32_t)limit) --*teams;
  return SZGPU_OK;
}

template <class Team, class Kernel>
static szgpu_status launch_windows(Kernel kernel, const OffsetsBatch &batch, cudaStream_t stream) {
  uint32_t teams = 0;
  int processors = 0, blocks_of_one = 0;
  SZG_TRY(teams_of_block(batch.tables, &teams));
  SZG_REQUIRE(teams > 0, SZGPU_UNSUPPORTED);
  SZG_TRY(szg_multiprocessor_count(&processors));
  unsigned const threads = teams * batch.tables.options.window_threads;
  uint32_t const bytes = block_bytes(batch.tables, teams);
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  SZG_TRY_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_of_one, kernel, (int)threads, bytes));
  unsigned const most_blocks = (unsigned)processors * (unsigned)(blocks_of_one ? blocks_of_one : 1);
  unsigned const blocks = szg_grid_blocks(batch.window_count, teams, most_blocks);
  kernel<<<blocks, threads, bytes, stream>>>(batch);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

/* One batch: W and exits, entries, W again and codes. */
static szgpu_status decode_batch(const OffsetsBatch &batch, bool is_last, szg_verdict *verdict,
                                 cudaStream_t stream) {
  if (!batch.window_count) return szg::offsets_chain(batch, is_last, verdict, stream);
  if (!batch.tables.options.is_shared) {
    SZG_TRY(szg::offsets_measure_rows(batch, stream));
    SZG_TRY(szg::offsets_chain(batch, is_last, verdict, stream));
    return szg::offsets_place_rows(batch, stream);
  }
  if (batch.tables.options.window_threads == 32) {
    SZG_TRY(launch_windows<WarpTeam>(windows_measure_kernel<WarpTeam>, batch, stream));
    SZG_TRY(szg::offsets_chain(batch, is_last, verdict, stream));
    return launch_windows<WarpTeam>(windows_place_kernel<WarpTeam>, batch, stream);
  }
  SZG_TRY(launch_windows<BlockTeam>(windows_measure_kernel<BlockTeam>, batch, stream));
  SZG_TRY(szg::offsets_chain(batch, is_last, verdict, stream));
  return launch_windows<BlockTeam>(windows_place_kernel<BlockTeam>, batch, stream);
}

szgpu_status szg_all_offsets_carve_cuda(szg_arena *arena,
                                        const szg_all_offsets_options_cuda *options,
                                        uint32_t shortest, uint32_t longest,
                                        szg_all_offsets_tables_cuda *tables) {
  uint32_t const window_bits = options->tables.window_bits;
  uint64_t const slots = options->tables.slot_count;
  memset(tables, 0, sizeof *tables);
  tables->options = *options;
  tables->shortest = shortest;
  tables->longest = longest;
  tables->widths_bytes = szg_all_offsets_lay_rows(&options->tables, shortest, longest, tables->rows,
                                                  &tables->row_count);
  /* Blocks of 256 offsets of all slots, a grid's in one launch. */
  SZG_REQUIRE(slots <= INT32_MAX && slots * window_bits <= (uint64_t)INT32_MAX * 256,
              SZGPU_UNSUPPORTED);
  uint64_t const groups = szg_div_up(slots, SZG_ALL_OFFSETS_GROUP_WINDOWS);
  size_t const exit_bytes = sizeof(szg_all_offsets_exit);
  tables->exits =
      (szg_all_offsets_exit *)szg_arena_take(arena, slots, SZG_ALL_OFFSETS_EXITS * exit_bytes);
  tables->entries = (szg_all_offsets_exit *)szg_arena_take(arena, slots, exit_bytes);
  tables->group_exits =
      (szg_all_offsets_exit *)szg_arena_take(arena, groups, SZG_ALL_OFFSETS_EXITS * exit_bytes);
  tables->group_entries = (szg_all_offsets_exit *)szg_arena_take(arena, groups, exit_bytes);
  tables->carry = (szg_all_offsets_exit *)szg_arena_take(arena, 1, exit_bytes);
  if (options->is_shared) {
    SZG_REQUIRE(options->window_threads >= 32 && options->window_threads % 32 == 0 &&
                    options->window_threads <= (uint32_t)OffsetsPolicy::kMostThreads,
                SZGPU_BAD_ARGUMENT);
    uint32_t teams = 0;
    SZG_REQUIRE(window_bits <= SZG_ALL_OFFSETS_MOST_SHARED_BITS, SZGPU_UNSUPPORTED);
    SZG_TRY(teams_of_block(*tables, &teams));
    SZG_REQUIRE(teams > 0, SZGPU_UNSUPPORTED);
    return SZGPU_OK;
  }
  tables->widths = (uint8_t *)szg_arena_take(arena, slots, tables->widths_bytes);
  tables->row_ends = (uint32_t *)szg_arena_take(arena, slots * (uint64_t)tables->row_count,
                                                sizeof *tables->row_ends);
  tables->places = (uint32_t *)szg_arena_take(arena, slots * window_bits, sizeof *tables->places);
  tables->symbols = (uint16_t *)szg_arena_take(arena, slots * window_bits, sizeof *tables->symbols);
  return SZGPU_OK;
}

szgpu_status szg_decode_all_offsets_cuda(const szg_all_offsets_tables_cuda *tables,
                                         const szg_decode_book_cuda *book,
                                         const szg_linear_input_cuda *input, uint16_t *codes,
                                         szg_verdict *verdict, struct CUstream_st *stream) {
  uint64_t const slots = tables->options.tables.slot_count;
  SZG_REQUIRE(input->word_count <= UINT64_MAX / 64, SZGPU_UNSUPPORTED);
  uint64_t const window_count =
      szg_div_up(32 * input->word_count, tables->options.tables.window_bits);
  SZG_TRY_CUDA(cudaMemsetAsync(tables->carry, 0, sizeof *tables->carry, stream));
  OffsetsBatch batch = {
      book, input->words, input->word_count, input->bit_count, input->code_count, codes, 0,
      0,    *tables};
  do {
    uint64_t const left = window_count - batch.first_window;
    batch.window_count = (uint32_t)szg_min_u64(left, slots);
    SZG_TRY(decode_batch(batch, left <= slots, verdict, stream));
    batch.first_window += batch.window_count;
  } while (batch.first_window < window_count);
  return SZGPU_OK;
}
