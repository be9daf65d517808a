/* choose_planes.cu - chooses widths, planes and books of many lossless frames, as planes.c does.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   width     for frames of bytes, a warp for each plane of each width: what it costs
 *   choose    a block for each plane of a frame: its mode, its book, the entries of its encoder
 *   recount   a block for each frame: whether the sample has misled
 *
 * Only the time of a block matters: it reads at most 30 KiB of counts and writes 1 KiB of entries.
 */
#include "codecs/planes/planes_choice_core.h"
#include "codecs/planes/planes_items.cuh"
#include "huffman/canonical.cuh"
#include "huffman/small_lengths.cuh"

namespace szg {
namespace {

/* ---- widths ---- */

/* Planes of all widths: 1, 2, 4 and 8 of them. */
constexpr uint32_t kAllPlanes = (1u << SZG_SPLIT_CHOICES) - 1;
struct WidthPolicy {
  static constexpr uint32_t kThreads = 32 * kAllPlanes;
};

/* The whole warp calls. */
__device__ __forceinline__ uint64_t plane_cost(const uint64_t *counts) {
  uint64_t total = 0, used = 0, logs = 0, most = 0;
  for (uint32_t s = threadIdx.x % 32; s < SZG_PLANES_SYMBOLS; s += 32) {
    uint64_t const count = counts[s];
    total += count;
    used += count > 0;
    logs += szg_count_log(count);
    if (count > most) most = count;
  }
  return szg_split_plane_cost(warp_sum(total), warp_sum(used), warp_sum(logs), warp_most(most));
}

/* Plane w of all is plane w + 1 - 2^choice of its width. */
__global__ void __launch_bounds__(WidthPolicy::kThreads)
    items_width_kernel(szg_planes_write_item *items) {
  __shared__ uint64_t plane_costs[kAllPlanes];
  szg_planes_write_item *const item = &items[blockIdx.x];
  uint32_t const number = threadIdx.x / 32, choice = 31 - __clz((int)(number + 1));
  uint64_t const cost = plane_cost(item->tally->counts[choice].planes[number + 1 - (1u << choice)]);
  if (threadIdx.x % 32 == 0) plane_costs[number] = cost;
  __syncthreads(); /* costs are there */
  if (threadIdx.x > 0) return;
  uint64_t costs[SZG_SPLIT_CHOICES] = {};
#pragma unroll
  for (uint32_t c = 0; c < SZG_SPLIT_CHOICES; c++)
    for (uint32_t p = 0; p < 1u << c; p++) costs[c] += plane_costs[(1u << c) - 1 + p];
  uint32_t const value_bytes = szg_split_cheapest(costs, szg_split_choice_count(item->byte_count));
  item->output.layout.value_bytes = value_bytes;
  item->output.value_count = item->byte_count / value_bytes;
}

/* ---- planes ---- */

constexpr uint32_t kChooseWarps = SmallBookPolicy::kThreads / 32;
static_assert(SmallBookPolicy::kThreads >= SZG_PLANES_SYMBOLS, "a thread for each symbol");
static_assert((int)SZG_LEVELS_CODE_BITS == (int)SZG_PLANES_CODE_BITS, "the longest code");

typedef CodeStrips<SZG_PLANES_SYMBOLS / 32, SZG_PLANES_CODE_BITS> PlaneCodes;

struct ChooseMemory {
  uint64_t counts[SZG_PLANES_SYMBOLS];
  uint64_t sums[kChooseWarps];
  SmallBookMemory<uint64_t> merge;
  uint8_t lengths[SmallBookPolicy::kSymbols];
  PlaneCodes codes;
};

/* The sum over the whole block, which calls. */
__device__ uint64_t sum_of_block(uint64_t number, ChooseMemory *memory) {
  number = warp_sum(number);
  if (threadIdx.x % 32 == 0) memory->sums[threadIdx.x / 32] = number;
  __syncthreads(); /* warps' sums are there */
  uint64_t sum = 0;
  for (uint32_t warp = 0; warp < kChooseWarps; warp++) sum += memory->sums[warp];
  __syncthreads(); /* and read */
  return sum;
}

/* The plane's mode and constant go to the layout, to which other blocks add theirs. */
__device__ void set_mode(uint32_t plane, uint32_t mode, uint32_t constant,
                         szg_planes_layout *layout) {
  atomicOr(&layout->modes, mode << 2 * plane);
  if (constant > 0)
    atomicOr((unsigned long long *)&layout->constant_bits,
             (unsigned long long)constant << 8 * plane);
}

/* The encoder's entry of symbol threadIdx.x, as szg_planes_encoder_build makes it. The whole block
 * calls. */
__device__ uint32_t entry_of_symbol(uint32_t length, PlaneCodes *codes) {
  codes->find<SmallBookPolicy::kThreads>([=](uint32_t) { return length; });
  uint32_t const strip = threadIdx.x / 32;
  uint32_t const rank = strip < SZG_PLANES_SYMBOLS / 32 ? codes->rank_in_length(strip, length) : 0;
  return length ? length << 16 | (codes->layout.first_code(length) + rank) : SZG_PLANES_UNCOUNTED;
}

/* The mode of a plane with several symbols, and the entries if it is coded. count: of symbol
 * threadIdx.x. The whole block calls. */
__device__ uint32_t choose_mode(uint64_t count, uint64_t value_count, bool is_sample,
                                uint32_t *entry, ChooseMemory *memory) {
  bool const is_symbol = threadIdx.x < SZG_PLANES_SYMBOLS;
  if (is_sample && is_symbol && count == 0)
    count = szg_plane_symbol_is_likely(memory->counts, value_count, threadIdx.x);
  find_lengths(count, &memory->merge, memory->lengths);
  uint32_t const length = is_symbol ? memory->lengths[threadIdx.x] : 0;
  if (!szg_plane_pays(sum_of_block(count * length, memory), value_count)) return SZG_PLANE_STORED;
  *entry = entry_of_symbol(length, &memory->codes);
  return SZG_PLANE_CODED;
}

/* Grid: planes, and the items. */
__global__ void __launch_bounds__(SmallBookPolicy::kThreads)
    items_choose_kernel(szg_planes_write_item *items, bool is_again) {
  __shared__ ChooseMemory memory;
  szg_planes_write_item *const item = &items[blockIdx.y];
  szg_planes_output_cuda *const output = &item->output;
  uint32_t const plane = blockIdx.x, s = threadIdx.x;
  if (plane >= output->layout.value_bytes || item->is_again != is_again) return;
  uint64_t const tile_count = szg_planes_tile_count(output->value_count);
  bool const is_sample = !is_again && !szg_planes_count_all(tile_count);
  bool const is_symbol = s < SZG_PLANES_SYMBOLS;
  uint64_t const count = is_symbol ? item->counts->planes[plane][s] : 0;
  if (is_symbol) memory.counts[s] = count;
  uint32_t mode = SZG_PLANE_CONSTANT, entry = 0;
  if (__syncthreads_count(count > 0) > 1) /* and counts are there */
    mode = choose_mode(count, sum_of_block(count, &memory), is_sample, &entry, &memory);
  if (is_symbol) item->encoder->entries[plane][s] = entry;
  if (mode == SZG_PLANE_CONSTANT ? count > 0 : s == 0)
    set_mode(plane, mode, mode == SZG_PLANE_CONSTANT ? s : 0, &output->layout);
  if (plane == 0 && s == 0) output->first_words[tile_count + 1] = 0; /* nothing misleads yet */
}

/* ---- again ---- */

struct RecountPolicy {
  static constexpr uint32_t kThreads = 256;
};

__global__ void __launch_bounds__(RecountPolicy::kThreads)
    items_recount_kernel(szg_planes_write_item *items) {
  szg_planes_write_item *const item = &items[blockIdx.x];
  uint64_t const tile_count = szg_planes_tile_count(item->output.value_count);
  if (szg_planes_count_all(tile_count) || !item->output.first_words[tile_count + 1]) return;
  uint64_t *const counts = &item->counts->planes[0][0];
  for (uint32_t i = threadIdx.x; i < SZG_PLANES_MOST * SZG_PLANES_SYMBOLS;
       i += RecountPolicy::kThreads)
    counts[i] = 0;
  if (threadIdx.x > 0) return;
  item->is_again = true;
  item->output.layout.modes = 0;
  item->output.layout.constant_bits = 0;
}

} // namespace
} // namespace szg

szgpu_status szg_split_items_cuda(const szg_planes_write_list *list, struct CUstream_st *stream) {
  SZG_TRY(szg_split_count_items_cuda(list, stream));
  szg::items_width_kernel<<<list->item_count, szg::WidthPolicy::kThreads, 0, stream>>>(list->items);
  return szg_launched();
}

szgpu_status szg_planes_choose_items_cuda(const szg_planes_write_list *list, bool is_again,
                                          struct CUstream_st *stream) {
  dim3 const blocks(list->value_bytes ? list->value_bytes : (uint32_t)SZG_PLANES_MOST,
                    list->item_count);
  szg::items_choose_kernel<<<blocks, szg::SmallBookPolicy::kThreads, 0, stream>>>(list->items,
                                                                                  is_again);
  return szg_launched();
}

szgpu_status szg_planes_recount_items_cuda(const szg_planes_write_list *list,
                                           struct CUstream_st *stream) {
  szg::items_recount_kernel<<<list->item_count, szg::RecountPolicy::kThreads, 0, stream>>>(
      list->items);
  return szg_launched();
}
