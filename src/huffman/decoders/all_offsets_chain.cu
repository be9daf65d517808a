/* all_offsets_chain.cu - finds where each window's first code begins from the windows' exits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Half a warp has one lane for each of 16 offsets. It goes over the windows of a group, each lane
 * from one offset, and so joins their exits into the group's. One block joins the groups' exits
 * into its parts' in the same way, and one of its threads goes over the parts, from the carry of
 * the batch before. Then entries go down to parts, groups and windows. The longest chain of steps
 * is that of a part and two groups, not of all windows.
 *
 * Moves: 128 bytes read twice and 8 written for each window.
 */
#include "core/bytes.h"
#include "core/cuda_check.cuh"
#include "huffman/decoders/all_offsets_batches.cuh"

namespace {

using szg::exits_joined;
using szg::kAllLanes;
using szg::kExits;

struct ChainPolicy {
  static constexpr unsigned kThreads = 128;      /* in the kernels over groups */
  static constexpr unsigned kPartThreads = 1024; /* in the block over parts */
  static constexpr unsigned kParts = kPartThreads / kExits;
  static constexpr unsigned kAhead = 8; /* loads in flight; none waits for another */
};
constexpr uint32_t kGroupWindows = SZG_ALL_OFFSETS_GROUP_WINDOWS;
static_assert(2 * kExits == 32, "two groups a warp, so that offsets are handed on by shuffles");

/* The lane's number in its half-warp; and, of the exits that these lanes hold, the one that a state
 * leads to. The whole warp calls. */
__device__ uint32_t own_offset() { return threadIdx.x % kExits; }
__device__ uint64_t exit_at(uint64_t exits, uint64_t state) {
  int const lane = (int)((threadIdx.x & kExits) | (uint32_t)(state & szg::kExitOffset));
  return __shfl_sync(kAllLanes, exits, lane);
}

/* Joins the exits of items first .. first + step_count - 1 to `state`; items from `count` on do not
 * exist and change nothing. Calls enter(i, state) with the state before each item. The whole warp
 * calls, with one step_count. */
template <class Enter>
__device__ uint64_t go_through(const uint64_t *exits, uint64_t first, uint32_t step_count,
                               uint64_t count, uint64_t state, Enter enter) {
#pragma unroll ChainPolicy::kAhead
  for (uint32_t i = 0; i < step_count; i++) {
    uint64_t const item = first + i;
    bool const is_there = item < count;
    uint64_t const own = is_there ? exits[item * kExits + own_offset()] : own_offset();
    if (is_there) enter(item, state);
    state = exits_joined(state, exit_at(own, state));
  }
  return state;
}

__global__ void __launch_bounds__(ChainPolicy::kThreads)
    groups_join_kernel(const uint64_t *exits, uint32_t window_count, uint32_t group_count,
                       uint64_t *group_exits) {
  uint64_t const group = ((uint64_t)blockIdx.x * ChainPolicy::kThreads + threadIdx.x) / kExits;
  uint64_t const state = go_through(exits, group * kGroupWindows, kGroupWindows, window_count,
                                    own_offset(), [](uint64_t, uint64_t) {});
  if (group < group_count) group_exits[group * kExits + own_offset()] = state;
}

/* Returns the state after all parts and sets the state before each. One thread calls. */
__device__ uint64_t enter_parts(const uint64_t *part_exits, uint64_t state,
                                uint64_t *part_entries) {
  for (unsigned part = 0; part < ChainPolicy::kParts; part++) {
    part_entries[part] = state;
    state = exits_joined(state, part_exits[part * kExits + (state & szg::kExitOffset)]);
  }
  return state;
}

__global__ void __launch_bounds__(ChainPolicy::kPartThreads)
    groups_enter_kernel(const uint64_t *group_exits, uint32_t group_count, bool is_last,
                        const uint64_t *bit_count, uint64_t word_count, uint64_t code_count,
                        uint64_t *group_entries, uint64_t *carry, szg_verdict *verdict) {
  __shared__ uint64_t part_exits[ChainPolicy::kParts * kExits], part_entries[ChainPolicy::kParts];
  uint32_t const part = threadIdx.x / kExits;
  uint32_t const share = (group_count + ChainPolicy::kParts - 1) / ChainPolicy::kParts;
  uint64_t const first = (uint64_t)part * share;
  part_exits[threadIdx.x] =
      go_through(group_exits, first, share, group_count, own_offset(), [](uint64_t, uint64_t) {});
  __syncthreads(); /* parts joined */
  if (threadIdx.x == 0) {
    uint64_t const state = enter_parts(part_exits, *carry, part_entries);
    uint64_t const found = state >> szg::kExitCountShift;
    bool const is_end = found == code_count && (state & szg::kExitOffset) == 0;
    bool const is_sound = (state & szg::kNoExit) == 0 && found <= code_count &&
                          word_count == *bit_count / 32 + (*bit_count % 32 != 0);
    if (!is_sound || (is_last && !is_end)) verdict->bad_data = 1;
    *carry = state;
  }
  __syncthreads(); /* parts entered */
  go_through(group_exits, first, share, group_count, part_entries[part],
             [=](uint64_t group, uint64_t state) {
               if (own_offset() == 0) group_entries[group] = state;
             });
}

__global__ void __launch_bounds__(ChainPolicy::kThreads)
    windows_enter_kernel(const uint64_t *exits, const uint64_t *group_entries,
                         uint32_t window_count, uint32_t group_count, uint64_t *entries) {
  uint64_t const group = ((uint64_t)blockIdx.x * ChainPolicy::kThreads + threadIdx.x) / kExits;
  uint64_t const state = group < group_count ? group_entries[group] : 0;
  go_through(exits, group * kGroupWindows, kGroupWindows, window_count, state,
             [=](uint64_t window, uint64_t before) {
               if (own_offset() == window % kExits) entries[window] = before;
             });
}

} // namespace

szgpu_status szg::offsets_carve_exits(szg_arena *arena, const szg_all_offsets_options *options,
                                      uint32_t shortest, uint32_t longest,
                                      szg_all_offsets_tables_cuda *tables) {
  uint64_t const slots = options->slot_count;
  memset(tables, 0, sizeof *tables);
  tables->options = *options;
  tables->shortest = shortest;
  tables->longest = longest;
  tables->widths_bytes =
      szg_all_offsets_lay_rows(options, shortest, longest, tables->rows, &tables->row_count);
  SZG_REQUIRE(slots <= INT32_MAX, SZGPU_UNSUPPORTED);
  uint64_t const groups = szg_div_up(slots, SZG_ALL_OFFSETS_GROUP_WINDOWS);
  size_t const exit_bytes = sizeof(szg_all_offsets_exit);
  tables->exits =
      (szg_all_offsets_exit *)szg_arena_take(arena, slots, SZG_ALL_OFFSETS_EXITS * exit_bytes);
  tables->entries = (szg_all_offsets_exit *)szg_arena_take(arena, slots, exit_bytes);
  tables->group_exits =
      (szg_all_offsets_exit *)szg_arena_take(arena, groups, SZG_ALL_OFFSETS_EXITS * exit_bytes);
  tables->group_entries = (szg_all_offsets_exit *)szg_arena_take(arena, groups, exit_bytes);
  tables->carry = (szg_all_offsets_exit *)szg_arena_take(arena, 1, exit_bytes);
  return SZGPU_OK;
}

szgpu_status szg::offsets_chain(const OffsetsBatch &batch, bool is_last, szg_verdict *verdict,
                                cudaStream_t stream) {
  szg_all_offsets_tables_cuda const &tables = batch.tables;
  uint32_t const group_count = (batch.window_count + kGroupWindows - 1) / kGroupWindows;
  unsigned const blocks = szg_grid_blocks((uint64_t)group_count * kExits, ChainPolicy::kThreads,
                                          INT32_MAX); /* there are never that many */
  if (group_count > 0) {
    groups_join_kernel<<<blocks, ChainPolicy::kThreads, 0, stream>>>(
        tables.exits, batch.window_count, group_count, tables.group_exits);
    SZG_TRY_LAUNCH();
  }
  groups_enter_kernel<<<1, ChainPolicy::kPartThreads, 0, stream>>>(
      tables.group_exits, group_count, is_last, batch.bit_count, batch.word_count, batch.code_count,
      tables.group_entries, tables.carry, verdict);
  SZG_TRY_LAUNCH();
  if (group_count > 0) {
    windows_enter_kernel<<<blocks, ChainPolicy::kThreads, 0, stream>>>(
        tables.exits, tables.group_entries, batch.window_count, group_count, tables.entries);
    SZG_TRY_LAUNCH();
  }
  return SZGPU_OK;
}
