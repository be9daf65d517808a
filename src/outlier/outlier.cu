/* outlier.cu - exact values and fill masks on a GPU, for the tiles that have any.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each block takes one tile at a time, and each thread has one word of the tile's masks. A warp
 * goes through the values of its 32 words, one word at a time and one lane per value, so that it
 * reads whole rows.
 *
 * Moves, for each value of a listed tile: measuring and writing read 4 or 8 bytes; writing also
 * reads and writes the exact values and writes the coded masks. Applying reads masks and exact
 * values and writes 4 or 8 bytes for each marked value.
 */
#include "outlier/outlier.h"

#include "core/cuda_check.cuh"
#include "core/warp.cuh"
#include "quant/arithmetic.cuh"
#include "rle/rle.cuh"

namespace {

struct OutlierPolicy {
  static constexpr int kThreads = (int)szg::kMaskThreads;
  static constexpr unsigned kBlocksPerProcessor = 16; /* 2048 threads */
  static constexpr uint32_t kWordsAhead = 4;          /* loads that a warp has in flight */
};
static_assert(32 % OutlierPolicy::kWordsAhead == 0, "a warp's words are read in whole steps");

/* ---- places in a tile ---- */

/* Computes i / divisor for places and extents, which are at most SZG_TILE_VALUES. */
struct Divisor {
  uint32_t divisor, inverse; /* ceil(2^32 / divisor): too large by less than divisor in 2^32 */

  __device__ uint32_t quotient(uint32_t i) const { return divisor == 1 ? i : __umulhi(i, inverse); }
};
static_assert((uint64_t)SZG_TILE_VALUES * SZG_TILE_VALUES < (uint64_t)1 << 32,
              "place * divisor < 2^32: the inverse's error never reaches the next quotient");

__device__ Divisor divisor_of(uint32_t extent) { return {extent, 0xFFFFFFFFu / extent + 1}; }

struct TileView {
  szg_tile tile;
  Divisor row_of_place, plane_of_row;

  /* Offset in the grid of the value at a place of the code order. */
  __device__ uint64_t offset(uint32_t place) const {
    uint32_t const row = row_of_place.quotient(place), z = plane_of_row.quotient(row);
    uint32_t const x = place - row * tile.x_extent, y = row - z * tile.y_extent;
    return tile.first_value + z * tile.z_stride + y * tile.y_stride + x;
  }
};

/* Sets the block's view, in shared memory; the whole block calls. */
__device__ void open_tile(const szg_grid &grid, uint64_t tile_index, TileView *view) {
  __syncthreads(); /* all threads are done with the previous tile */
  if (threadIdx.x == 0) {
    view->tile = szg_tile_at(&grid, tile_index);
    view->row_of_place = divisor_of(view->tile.x_extent);
    view->plane_of_row = divisor_of(view->tile.y_extent);
  }
  __syncthreads(); /* the view is set */
}

/* Calls act(place, k) for each value marked in the threads' words. k is its rank; rank_before is
 * the rank of the first value of the thread's word. Whole warps call; the same lane always acts for
 * a place. */
template <class Action>
__device__ void for_marked(uint32_t word, uint32_t rank_before, const Action &act) {
  uint32_t const lane = threadIdx.x % 32, first_word = threadIdx.x - lane;
  for (uint32_t owners = __ballot_sync(szg::kAllLanes, word != 0); owners; owners &= owners - 1) {
    int const owner = __ffs((int)owners) - 1;
    uint32_t const marked = __shfl_sync(szg::kAllLanes, word, owner);
    uint32_t const rank = __shfl_sync(szg::kAllLanes, rank_before, owner);
    if (marked >> lane & 1)
      act(32 * (first_word + owner) + lane, rank + szg::rank_among(marked, lane));
  }
}

/* ---- marks of values ---- */

/* Which values a frame codes, by its arithmetic: those within the bound of a lattice point. */
template <class A>
struct ArithmeticRule {
  typedef typename A::Value Value;
  szg_quantizer quantizer;
  bool is_constant;
  double constant;

  /* f32 converts to f64 exactly, so one comparison serves both types; false for NaN. */
  __device__ bool is_coded(Value x) const {
    if (is_constant) return (double)x == constant;
    typename A::Point q;
    bool const on_lattice = A::lattice(quantizer, x, &q);
    return on_lattice && A::within(quantizer, x, A::restore(quantizer, q));
  }
  __device__ bool is_fill(Value x) const { return A::is_fill(quantizer, x); }
};

__device__ uint32_t bits_of(float x) { return szg_bits_f32(x); }
__device__ uint64_t bits_of(double x) { return szg_bits_f64(x); }

/* The product rounded once, to an integer in the low bits of a sum: the rule is that of
 * codecs/interpolation/levels_lattice.h, which has the reasons. */
__device__ uint32_t rounded_product(float x, float inverse) {
  constexpr float kRound = 0x1.8p23f;
  return bits_of(__fmaf_rn(x, inverse, kRound)) - bits_of(kRound);
}
__device__ uint64_t rounded_product(double x, double inverse) {
  constexpr double kRound = 0x1.8p52;
  return bits_of(__fma_rn(x, inverse, kRound)) - bits_of(kRound);
}

/* Which values a levels frame codes: those near enough to 0. Float: what products are made of. */
template <class V, class Float>
struct NearRule {
  typedef V Value;
  Float inverse;
  uint64_t limit;
  bool has_fill;
  uint64_t fill_bits;

  __device__ bool is_coded(Value x) const {
    auto const low = rounded_product((Float)x, inverse);
    auto const own_limit = (decltype(low + 0))limit;
    return low + own_limit < 2 * own_limit;
  }
  __device__ bool is_fill(Value x) const {
    return has_fill && bits_of(x) == (decltype(bits_of(x)))fill_bits;
  }
};

template <class Rule>
struct MarkedFrame {
  Rule rule;
  szg_grid grid;
  const typename Rule::Value *values, *exact_values;
  const uint32_t *tiles, *tile_count;
};

struct MarkWords { /* the thread's words of the tile's two masks */
  uint32_t exact, fill;
};

template <class Rule>
__device__ MarkWords mark_tile(const MarkedFrame<Rule> &frame, const TileView &view) {
  constexpr uint32_t kAhead = OutlierPolicy::kWordsAhead;
  uint32_t const lane = threadIdx.x % 32, first_place = 32 * (threadIdx.x - lane);
  uint32_t const value_count = view.tile.value_count;
  MarkWords words = {0, 0};
  for (uint32_t k = 0; k < 32 && first_place + 32 * k < value_count; k += kAhead) {
    typename Rule::Value values[kAhead];
#pragma unroll
    for (uint32_t j = 0; j < kAhead; j++) {
      uint32_t const place = first_place + 32 * (k + j) + lane;
      values[j] = place < value_count ? frame.values[view.offset(place)] : 0;
    }
#pragma unroll
    for (uint32_t j = 0; j < kAhead; j++) {
      bool const is_there = first_place + 32 * (k + j) + lane < value_count;
      bool const is_fill = frame.rule.is_fill(values[j]);
      bool const is_exact = !is_fill && !frame.rule.is_coded(values[j]);
      uint32_t const exact = __ballot_sync(szg::kAllLanes, is_there && is_exact);
      uint32_t const fill = __ballot_sync(szg::kAllLanes, is_there && is_fill);
      if (lane == k + j) words = {exact, fill};
    }
  }
  return words;
}

/* ---- exact and fill values written over the restored ones ---- */

template <class Bits>
struct FrameWindow { /* the wanted values of the frame */
  Bits *values;
  uint64_t first_value, value_count;

  __device__ bool meets(const szg_tile &tile) const {
    uint64_t const last_value = tile.first_value + (tile.z_extent - 1) * tile.z_stride +
                                (tile.y_extent - 1) * tile.y_stride + (tile.x_extent - 1);
    return last_value >= first_value && tile.first_value < first_value + value_count;
  }
  __device__ void set(uint64_t offset, Bits bits) const {
    uint64_t const i = offset - first_value; /* huge for values before the window */
    if (i < value_count) values[i] = bits;
  }
};

/* A tile's share of the sections, from the running sums. The counts that these were made of are in
 * the archive, and may have changed since then. */
__device__ szg_tile_place share_of(const szg_outlier_input_cuda &input, uint64_t tile_index) {
  szg_tile_place const here = input.places[tile_index], next = input.ends[tile_index];
  szg_tile_place share = {};
  share.exact_mask = next.exact_mask - here.exact_mask;
  share.exact_value = next.exact_value - here.exact_value;
  share.fill_mask = next.fill_mask - here.fill_mask;
  return share;
}

/* Returns false, for the whole block, if the mask is bad or marks another number of values. */
template <class Bits>
__device__ bool apply_exact(const szg_outlier_input_cuda &input, const TileView &view,
                            uint64_t tile_index, const FrameWindow<Bits> &window,
                            szg::MaskStorage &storage) {
  szg_tile_place const share = share_of(input, tile_index);
  uint32_t const mask_bytes = (uint32_t)share.exact_mask;
  uint32_t const exact_count = (uint32_t)share.exact_value;
  if (mask_bytes == 0) return exact_count == 0;
  szg_tile_place const &place = input.places[tile_index];
  uint32_t word, marked_count;
  bool const is_mask = szg::mask_decode(input.exact_mask + place.exact_mask, mask_bytes,
                                        view.tile.value_count, 0, &word, storage);
  uint32_t const rank = szg::mask_sum_before(__popc(word), &marked_count, storage);
  if (!is_mask || marked_count != exact_count) return false;
  const Bits *const exact_values = (const Bits *)input.exact_values + place.exact_value;
  for_marked(word, rank,
             [&](uint32_t i, uint32_t k) { window.set(view.offset(i), exact_values[k]); });
  return true;
}

/* Returns false, for the whole block, if the mask is bad. */
template <class Bits>
__device__ bool apply_fill(const szg_outlier_input_cuda &input, const TileView &view,
                           uint64_t tile_index, const FrameWindow<Bits> &window,
                           szg::MaskStorage &storage) {
  uint32_t const mask_bytes = (uint32_t)share_of(input, tile_index).fill_mask;
  if (mask_bytes == 0) return true;
  uint32_t word;
  const uint8_t *const mask = input.fill_mask + input.places[tile_index].fill_mask;
  if (!szg::mask_decode(mask, mask_bytes, view.tile.value_count, view.tile.plane_values, &word,
                        storage))
    return false;
  Bits const fill = (Bits)input.fill_bits;
  for_marked(word, 0, [&](uint32_t i, uint32_t) { window.set(view.offset(i), fill); });
  return true;
}

/* ---- kernels: grid and quantizer come by value: inputs hold host pointers ---- */

template <class Rule>
__global__ void __launch_bounds__(OutlierPolicy::kThreads)
    marks_measure_kernel(MarkedFrame<Rule> frame, uint16_t *exact, uint16_t *fill_mask_bytes) {
  __shared__ szg::MaskStorage storage;
  __shared__ TileView view;
  uint32_t const tile_count = *frame.tile_count;
  for (uint64_t i = blockIdx.x; i < tile_count; i += gridDim.x) {
    uint64_t const t = frame.tiles[i];
    open_tile(frame.grid, t, &view);
    MarkWords const words = mark_tile(frame, view);
    uint32_t const value_count = view.tile.value_count;
    uint32_t exact_count, exact_bytes = 0, fill_bytes = 0;
    szg::mask_sum_before(__popc(words.exact), &exact_count, storage);
    if (exact_count) /* the same for the whole block, as are the counts below */
      exact_bytes = szg::mask_code(words.exact, value_count, 0, storage).byte_count;
    if (__syncthreads_or(words.fill != 0))
      fill_bytes =
          szg::mask_code(words.fill, value_count, view.tile.plane_values, storage).byte_count;
    if (threadIdx.x == 0) {
      exact[2 * t] = (uint16_t)exact_bytes;
      exact[2 * t + 1] = (uint16_t)exact_count;
      fill_mask_bytes[t] = (uint16_t)fill_bytes;
    }
  }
}

template <class Rule>
__global__ void __launch_bounds__(OutlierPolicy::kThreads)
    marks_write_kernel(MarkedFrame<Rule> frame, const szg_tile_place *places, uint8_t *exact_mask,
                       typename Rule::Value *exact_values, uint8_t *fill_mask) {
  __shared__ szg::MaskStorage storage;
  __shared__ TileView view;
  uint32_t const tile_count = *frame.tile_count;
  for (uint64_t i = blockIdx.x; i < tile_count; i += gridDim.x) {
    uint64_t const t = frame.tiles[i];
    open_tile(frame.grid, t, &view);
    MarkWords const words = mark_tile(frame, view);
    uint32_t const value_count = view.tile.value_count;
    szg_tile_place const place = places[t];
    uint32_t exact_count;
    uint32_t const rank = szg::mask_sum_before(__popc(words.exact), &exact_count, storage);
    if (exact_count) { /* the same for the whole block */
      szg::mask_write(szg::mask_code(words.exact, value_count, 0, storage),
                      exact_mask + place.exact_mask);
      /* only plain loads and stores keep a NaN's bits */
      typename Rule::Value *const own_values = exact_values + place.exact_value;
      for_marked(words.exact, rank, [&](uint32_t j, uint32_t k) {
        own_values[k] = frame.exact_values[view.offset(j)];
      });
    }
    if (__syncthreads_or(words.fill != 0))
      szg::mask_write(szg::mask_code(words.fill, value_count, view.tile.plane_values, storage),
                      fill_mask + place.fill_mask);
  }
}

template <class Bits>
__global__ void __launch_bounds__(OutlierPolicy::kThreads)
    outliers_apply_kernel(szg_outlier_input_cuda input, szg_grid grid, FrameWindow<Bits> window,
                          szg_verdict *verdict) {
  __shared__ szg::MaskStorage storage;
  __shared__ TileView view;
  /* Other blocks may set it meanwhile, so the block must agree on one value. */
  if (__syncthreads_or(*(const volatile uint32_t *)&verdict->bad_data != 0)) return;
  uint32_t const tile_count = *input.tile_count;
  for (uint64_t i = blockIdx.x; i < tile_count; i += gridDim.x) {
    uint64_t const t = input.tiles[i];
    open_tile(grid, t, &view);
    if (!window.meets(view.tile)) continue;
    bool is_good = !input.counts.exact || apply_exact(input, view, t, window, storage);
    if (is_good && input.counts.fill_mask_bytes)
      is_good = apply_fill(input, view, t, window, storage);
    if (!is_good && threadIdx.x == 0) verdict->bad_data = 1;
  }
}

} // namespace

/* ---- launchers ---- */

/* Blocks that together fill the device, but no more than the grid has tiles. */
static szgpu_status count_blocks(const szg_grid *grid, unsigned *block_count) {
  return szg_spread_blocks(grid->tile_count, 1, OutlierPolicy::kBlocksPerProcessor, block_count);
}

template <class Rule>
static MarkedFrame<Rule> marked_frame(const szg_marked_frame_cuda *frame, const Rule &rule) {
  typedef typename Rule::Value Value;
  return {rule,
          *frame->grid,
          (const Value *)frame->values,
          (const Value *)frame->exact_values,
          frame->tiles,
          frame->tile_count};
}

/* Calls function(MarkedFrame<...>) for the frame's rule. */
template <class Function>
static szgpu_status with_rule(const szg_marked_frame_cuda *frame, Function function) {
  const szg_quantizer &quantizer = *frame->quantizer;
  if (frame->near_limit) {
    bool const has_fill = quantizer.has_fill;
    uint64_t const fill_bits = quantizer.fill_bits;
    double const inverse = frame->near_inverse;
    uint64_t const limit = frame->near_limit;
    if (frame->dtype == SZGPU_F64)
      return function(
          marked_frame(frame, NearRule<double, double>{inverse, limit, has_fill, fill_bits}));
    if (frame->near_is_f32)
      return function(
          marked_frame(frame, NearRule<float, float>{(float)inverse, limit, has_fill, fill_bits}));
    return function(
        marked_frame(frame, NearRule<float, double>{inverse, limit, has_fill, fill_bits}));
  }
  return szg::with_arithmetic(quantizer.arithmetic, [&](auto arithmetic) -> szgpu_status {
    typedef ArithmeticRule<decltype(arithmetic)> Rule;
    double const constant = szg_value_of_bits(frame->dtype, frame->constant_bits);
    return function(marked_frame(frame, Rule{quantizer, frame->is_constant, constant}));
  });
}

szgpu_status szg_marks_measure_cuda(const szg_marked_frame_cuda *frame, uint16_t *exact,
                                    uint16_t *fill_mask_bytes, struct CUstream_st *stream) {
  unsigned block_count = 0;
  SZG_TRY(count_blocks(frame->grid, &block_count));
  return with_rule(frame, [&](auto marked) -> szgpu_status {
    marks_measure_kernel<<<block_count, OutlierPolicy::kThreads, 0, stream>>>(marked, exact,
                                                                              fill_mask_bytes);
    return szg_launched();
  });
}

szgpu_status szg_marks_write_cuda(const szg_marked_frame_cuda *frame, const szg_tile_place *places,
                                  uint8_t *exact_mask, uint8_t *exact_values, uint8_t *fill_mask,
                                  struct CUstream_st *stream) {
  unsigned block_count = 0;
  SZG_TRY(count_blocks(frame->grid, &block_count));
  return with_rule(frame, [&](auto marked) -> szgpu_status {
    typedef decltype(marked.rule) Rule;
    marks_write_kernel<<<block_count, OutlierPolicy::kThreads, 0, stream>>>(
        marked, places, exact_mask, (typename Rule::Value *)exact_values, fill_mask);
    return szg_launched();
  });
}

template <class Bits>
static szgpu_status apply(const szg_outlier_input_cuda *input, void *values, uint64_t first_value,
                          uint64_t value_count, szg_verdict *verdict, cudaStream_t stream) {
  unsigned block_count = 0;
  SZG_TRY(count_blocks(input->grid, &block_count));
  FrameWindow<Bits> const window = {(Bits *)values, first_value, value_count};
  outliers_apply_kernel<Bits>
      <<<block_count, OutlierPolicy::kThreads, 0, stream>>>(*input, *input->grid, window, verdict);
  return szg_launched();
}

szgpu_status szg_outlier_apply_cuda(const szg_outlier_input_cuda *input, void *values,
                                    uint64_t first_value, uint64_t value_count,
                                    szg_verdict *verdict, struct CUstream_st *stream) {
  if (value_count == 0) return SZGPU_OK;
  return input->dtype == SZGPU_F32
             ? apply<uint32_t>(input, values, first_value, value_count, verdict, stream)
             : apply<uint64_t>(input, values, first_value, value_count, verdict, stream);
}
