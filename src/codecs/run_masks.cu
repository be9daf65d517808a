/* run_masks.cu - which values are negative or hold a further fill value; the twin of the .c.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block takes a run of values at a time. Marks come as bits, an eighth of a byte for each value:
 * signs from where logarithms are taken, fill values from a pass over the field. Restoring reads
 * the logarithm and writes the value, or writes the fill values alone.
 */
#include "codecs/run_masks.h"

#include "core/cuda_check.cuh"
#include "rle/rle.cuh"
#include "values/map_values.cuh"

namespace szg {
namespace {

constexpr int kThreads = kMaskThreads; /* 32 values each */
constexpr unsigned kBlocksPerMultiprocessor = 16;
constexpr int kRaiseBlocks = 8; /* of them at once, for loads in registers */
constexpr uint32_t kMostShare = SZG_SIGN_RUN / 8;

struct RunMask { /* of a frame, for reading */
  uint64_t value_count;
  const uint16_t *sizes; /* NULL: no value is marked */
  const szg_tile_place *places;
  const uint8_t *shares;
  uint64_t shares_bytes;
};

/* Codes the masks of runs, which are bits in the runs' slots, and leaves them there if their run
 * lengths are not shorter. */
__global__ void __launch_bounds__(kThreads)
    mask_code_kernel(uint64_t value_count, uint16_t *sizes, uint8_t *slots) {
  __shared__ MaskStorage storage;
  for (uint64_t run = blockIdx.x; run * SZG_SIGN_RUN < value_count; run += gridDim.x) {
    uint64_t const left = value_count - run * SZG_SIGN_RUN;
    uint32_t const count = left < SZG_SIGN_RUN ? (uint32_t)left : SZG_SIGN_RUN;
    uint8_t *const slot = slots + kMostShare * run;
    uint32_t const word = 32 * threadIdx.x < count ? ((const uint32_t *)slot)[threadIdx.x] : 0;
    uint32_t bytes = 0;
    if (__syncthreads_or(word != 0)) { /* and all words are read */
      MaskCode const code = mask_code(word, count, 0, storage);
      uint32_t const bits_bytes = (count + 7) / 8;
      bool const has_runs = code.byte_count < bits_bytes;
      bytes = has_runs ? code.byte_count : bits_bytes;
      if (has_runs) mask_write(code, slot);
    }
    if (threadIdx.x == 0) sizes[run] = (uint16_t)bytes;
  }
}

__global__ void __launch_bounds__(kThreads)
    mask_gather_kernel(const uint16_t *sizes, const szg_tile_place *places, const uint8_t *slots,
                       uint64_t run_count, uint8_t *shares) {
  for (uint64_t run = blockIdx.x; run < run_count; run += gridDim.x)
    for (uint32_t i = threadIdx.x; i < sizes[run]; i += kThreads)
      shares[places[run].fill_mask + i] = slots[kMostShare * run + i];
}

/* As szg_run_mask_open does. */
__global__ void __launch_bounds__(kThreads)
    mask_check_kernel(RunMask mask, uint64_t run_count, szg_verdict *verdict) {
  uint64_t const stride = (uint64_t)gridDim.x * kThreads;
  uint64_t const first = (uint64_t)blockIdx.x * kThreads + threadIdx.x;
  bool agrees = first > 0 || mask.places[run_count].fill_mask == mask.shares_bytes;
  for (uint64_t run = first; run < run_count; run += stride) {
    uint64_t const left = mask.value_count - run * SZG_SIGN_RUN;
    uint32_t const count = left < SZG_SIGN_RUN ? (uint32_t)left : SZG_SIGN_RUN;
    agrees &= mask.sizes[run] <= (count + 7) / 8;
  }
  if (!agrees) verdict->bad_data = 1;
}

/* The thread's word of a run's mask; false for all threads if the share is wrong. */
__device__ bool mask_word(const RunMask &mask, uint64_t run, uint32_t count, MaskStorage &storage,
                          uint32_t *word) {
  uint32_t const bytes = mask.sizes ? mask.sizes[run] : 0, bits_bytes = (count + 7) / 8;
  *word = 0;
  if (bytes == 0) return true;
  uint64_t const start = mask.places[run].fill_mask;
  if (bytes > bits_bytes || start > mask.shares_bytes || bytes > mask.shares_bytes - start)
    return false;
  const uint8_t *const share = mask.shares + start;
  if (bytes < bits_bytes) return mask_decode(share, bytes, count, 0, word, storage);
  for (uint32_t b = 0; b < 4; b++)
    if (4 * threadIdx.x + b < bytes) *word |= (uint32_t)share[4 * threadIdx.x + b] << 8 * b;
  *word &= mask_used_bits(count);
  return true;
}

/* Values of a frame on their way from logarithms. */
template <class Pair>
struct RaiseJob {
  const typename Pair::Inner *inner; /* of value `first_value` and those after it */
  typename Pair::Outer *outer;
  uint64_t first_value, value_count;
  bool goes_together; /* runs begin where both arrays can be read four at a time */
  szg_log_fill fill;
};

/* Four neighbours, of which most are all plain. negative: which of them are, as bits. */
template <class Pair>
__device__ __forceinline__ Together<typename Pair::Outer> raise_four(
    const Together<typename Pair::Inner> &inner, uint32_t negative, szg_log_fill fill) {
  Together<typename Pair::Outer> outer;
  bool are_plain = true;
#pragma unroll
  for (int i = 0; i < MapPolicy::kAtOnce; i++) are_plain &= Pair::is_plain_log(inner.of[i], fill);
#pragma unroll
  for (int i = 0; i < MapPolicy::kAtOnce; i++)
    outer.of[i] = are_plain ? Pair::exp_of_plain(inner.of[i], negative >> i & 1)
                            : Pair::to_outer(inner.of[i], negative >> i & 1, fill);
  return outer;
}

/* A block's loads of a whole run, a few of each thread at once. */
template <class Inner>
struct RunLoads {
  static constexpr int kInFlight = 128 / sizeof(Together<Inner>);
  static constexpr int kVectors = SZG_SIGN_RUN / MapPolicy::kAtOnce / kThreads;
  static_assert(kVectors % kInFlight == 0, "all batches are alike");
  Together<Inner> of[kInFlight];
  __device__ __forceinline__ void load(const Inner *run, int vector) {
#pragma unroll
    for (int i = 0; i < kInFlight; i++)
      of[i] = ((const Together<Inner> *)run)[(vector + i) * kThreads + threadIdx.x];
  }
};

template <class Pair>
__device__ __forceinline__ void raise_whole_run(const RaiseJob<Pair> &job, uint64_t start,
                                                const uint32_t *words,
                                                RunLoads<typename Pair::Inner> *loads) {
  typedef RunLoads<typename Pair::Inner> Loads;
  auto *const to = (Together<typename Pair::Outer> *)(job.outer + start);
#pragma unroll 1
  for (int vector = 0; vector < Loads::kVectors; vector += Loads::kInFlight) {
    if (vector > 0) loads->load(job.inner + start, vector);
#pragma unroll
    for (int i = 0; i < Loads::kInFlight; i++) {
      int const place = (vector + i) * kThreads + (int)threadIdx.x;
      uint32_t const negative = words[place / 8] >> place % 8 * MapPolicy::kAtOnce;
      to[place] = raise_four<Pair>(loads->of[i], negative, job.fill);
    }
  }
}

/* Values first_value to first_value + value_count - 1 of the frame. */
template <class Pair>
__global__ void __launch_bounds__(kThreads, kRaiseBlocks)
    raise_kernel(RaiseJob<Pair> job, RunMask mask, szg_verdict *verdict) {
  __shared__ MaskStorage storage;
  __shared__ uint32_t words[kThreads];
  uint64_t const first_value = job.first_value, end_value = first_value + job.value_count;
  for (uint64_t run = first_value / SZG_SIGN_RUN + blockIdx.x; run * SZG_SIGN_RUN < end_value;
       run += gridDim.x) {
    uint64_t const run_start = run * SZG_SIGN_RUN, left = mask.value_count - run_start;
    uint32_t const count = left < SZG_SIGN_RUN ? (uint32_t)left : SZG_SIGN_RUN;
    bool const is_whole =
        job.goes_together && run_start >= first_value && run_start + SZG_SIGN_RUN <= end_value;
    RunLoads<typename Pair::Inner> loads;
    if (is_whole) loads.load(job.inner + (run_start - first_value), 0);
    uint32_t word;
    bool const is_sound = mask_word(mask, run, count, storage, &word);
    if (!is_sound && threadIdx.x == 0) verdict->bad_data = 1;
    words[threadIdx.x] = is_sound ? word : 0;
    __syncthreads(); /* all words are there */
    if (is_whole) {
      raise_whole_run(job, run_start - first_value, words, &loads);
    } else {
      uint64_t const begin = run_start > first_value ? run_start : first_value;
      uint64_t const end = run_start + count < end_value ? run_start + count : end_value;
      for (uint64_t i = begin + threadIdx.x; i < end; i += kThreads) {
        uint32_t const place = (uint32_t)(i - run_start);
        bool const is_negative = words[place / 32] >> place % 32 & 1;
        job.outer[i - first_value] =
            Pair::to_outer(job.inner[i - first_value], is_negative, job.fill);
      }
    }
    __syncthreads(); /* the words may be overwritten now */
  }
}

uint64_t run_count_of(uint64_t value_count) {
  return (value_count + SZG_SIGN_RUN - 1) / SZG_SIGN_RUN;
}

/* Where each run's share begins, as the fill masks of a line's tiles. */
szgpu_status scan_sizes(const szg_places_cuda *places, const uint16_t *sizes, uint64_t value_count,
                        cudaStream_t stream) {
  szg_grid const line = szg_grid_of_line(value_count);
  szg_tile_counts counts = {};
  counts.fill_mask_bytes = sizes;
  return szg_places_scan_cuda(places, &line, &counts, stream);
}

template <class Bits>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(Bits *values, uint64_t first_value, uint64_t value_count, Bits fill, RunMask mask,
                szg_verdict *verdict) {
  __shared__ MaskStorage storage;
  uint64_t const end_value = first_value + value_count;
  for (uint64_t run = first_value / SZG_SIGN_RUN + blockIdx.x; run * SZG_SIGN_RUN < end_value;
       run += gridDim.x) {
    uint64_t const run_start = run * SZG_SIGN_RUN, left = mask.value_count - run_start;
    uint32_t const count = left < SZG_SIGN_RUN ? (uint32_t)left : SZG_SIGN_RUN;
    uint32_t word;
    bool const is_sound = mask_word(mask, run, count, storage, &word);
    if (!is_sound && threadIdx.x == 0) verdict->bad_data = 1;
    for (uint32_t left_bits = is_sound ? word : 0; left_bits; left_bits &= left_bits - 1) {
      uint64_t const i = run_start + 32 * threadIdx.x + (uint32_t)(__ffs((int)left_bits) - 1);
      if (i >= first_value && i < end_value) values[i - first_value] = fill;
    }
    __syncthreads(); /* the storage may be overwritten now */
  }
}

struct RaiseLaunch {
  const szg_read_job_cuda *job;
  RunMask mask;
  const szg_frame_rows_cuda *rows;
  void *outer;
  template <class Pair>
  szgpu_status run() const {
    unsigned blocks;
    uint64_t const first_run = rows->first_value / SZG_SIGN_RUN;
    uint64_t const runs = run_count_of(rows->first_value + rows->value_count) - first_run;
    typedef typename Pair::Inner Inner;
    typedef typename Pair::Outer Outer;
    bool const goes_together = rows->first_value % MapPolicy::kAtOnce == 0 &&
                               (uintptr_t)rows->values % sizeof(Together<Inner>) == 0 &&
                               (uintptr_t)outer % sizeof(Together<Outer>) == 0;
    RaiseJob<Pair> const raised = {(const Inner *)rows->values, (Outer *)outer, rows->first_value,
                                   rows->value_count,           goes_together,  job->mapping.fill};
    SZG_TRY(szg_spread_blocks(runs, 1, kBlocksPerMultiprocessor, &blocks));
    raise_kernel<Pair>
        <<<blocks, kThreads, 0, job->device->stream>>>(raised, mask, job->frame->verdict);
    return szg_launched();
  }
};

RunMask mask_of(const szg_read_job_cuda *job, uint32_t which) {
  const szg_read_frame_cuda *const frame = job->frame;
  RunMask mask = {};
  mask.value_count = frame->grid.value_count;
  mask.sizes = szg_counts_of_cuda(frame, szg_run_sizes_section(which));
  mask.places = job->plan->mask_places[which].places;
  mask.shares = frame->sections[szg_run_masks_section(which)].bytes;
  mask.shares_bytes = frame->sections[szg_run_masks_section(which)].byte_count;
  return mask;
}

template <class Bits>
szgpu_status apply_fill(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows,
                        const RunMask &mask, uint64_t fill, void *outer) {
  uint64_t const first_run = rows->first_value / SZG_SIGN_RUN;
  uint64_t const runs = run_count_of(rows->first_value + rows->value_count) - first_run;
  unsigned blocks;
  SZG_TRY(szg_spread_blocks(runs, 1, kBlocksPerMultiprocessor, &blocks));
  fill_kernel<<<blocks, kThreads, 0, job->device->stream>>>(
      (Bits *)outer, rows->first_value, rows->value_count, (Bits)fill, mask, job->frame->verdict);
  return szg_launched();
}

/* Codes a mask, whose bits are in its slots, and finds its bytes. A frame has at least as many
 * tiles as runs, so the outliers' places are enough. */
szgpu_status code_mask(const szg_write_job_cuda *job, const szg_run_mask_write_plan_cuda *plan,
                       uint64_t *mask_bytes) {
  szg_device *const device = &job->ctx->device;
  const szg_outlier_write_plan_cuda *const outliers = &job->plan->outliers;
  uint64_t const value_count = job->grid.value_count, runs = run_count_of(value_count);
  unsigned blocks;
  SZG_TRY(szg_spread_blocks(runs, 1, kBlocksPerMultiprocessor, &blocks));
  mask_code_kernel<<<blocks, kThreads, 0, device->stream>>>(value_count, plan->sizes, plan->slots);
  SZG_TRY_LAUNCH();
  SZG_TRY(scan_sizes(&outliers->places, plan->sizes, value_count, device->stream));
  SZG_TRY(szg_device_copy(device, outliers->totals_back, outliers->places.places + runs,
                          sizeof *outliers->totals_back));
  SZG_TRY(szg_device_wait(device, true));
  uint64_t const bytes = outliers->totals_back->fill_mask;
  *mask_bytes = bytes ? 2 * runs + bytes : 0;
  return SZGPU_OK;
}

szgpu_status write_mask(const szg_write_job_cuda *job, uint32_t which,
                        const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_run_mask_write_plan_cuda *const plan = &job->plan->masks.of[which];
  const szg_places_cuda *const places = &job->plan->outliers.places;
  uint64_t const runs = run_count_of(job->grid.value_count);
  unsigned blocks;
  SZG_TRY(szg_device_copy(device, layout->at[szg_run_sizes_section(which)], plan->sizes, 2 * runs));
  SZG_TRY(scan_sizes(places, plan->sizes, job->grid.value_count, device->stream));
  SZG_TRY(szg_spread_blocks(runs, 1, kBlocksPerMultiprocessor, &blocks));
  mask_gather_kernel<<<blocks, kThreads, 0, device->stream>>>(
      plan->sizes, places->places, plan->slots, runs, layout->at[szg_run_masks_section(which)]);
  return szg_launched();
}

} // namespace
} // namespace szg

/* ---- writing ---- */

void szg_run_masks_carve_write_cuda(szg_arena *arena, const szg_write_request *request,
                                    szg_run_masks_write_plan_cuda *plan) {
  uint64_t const runs = szg::run_count_of(request->frame_grid.value_count);
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++) {
    bool const is_there =
        which == SZG_RUN_MASK_SIGNS ? request->mapping.kind == SZG_MAPPING_LOG : request->may_edit;
    if (!is_there) continue;
    szg_run_mask_write_plan_cuda *const mask = &plan->of[which];
    mask->sizes = (uint16_t *)szg_arena_take(arena, runs, sizeof *mask->sizes);
    mask->slots = (uint8_t *)szg_arena_take(arena, runs, szg::kMostShare);
  }
}

szgpu_status szg_run_masks_find_cuda(szg_write_job_cuda *job, const szg_mapping *mapping) {
  szg_device *const device = &job->ctx->device;
  const szg_run_masks_write_plan_cuda *const plan = &job->plan->masks;
  uint32_t const fill_count = job->bound ? job->bound->missing.fill_count : 0;
  memset(job->mask_bytes, 0, sizeof job->mask_bytes);
  if (mapping->kind == SZG_MAPPING_LOG) {
    SZG_TRY(
        szg::code_mask(job, &plan->of[SZG_RUN_MASK_SIGNS], &job->mask_bytes[SZG_RUN_MASK_SIGNS]));
    SZG_TRY(szg_device_mark(device, "signs"));
  }
  for (uint32_t which = 1; which < fill_count; which++) {
    SZG_TRY(szg_missing_mark_cuda(&job->bound->missing, mapping->outer, which, job->field_values,
                                  job->grid.value_count, (uint32_t *)(void *)plan->of[which].slots,
                                  device->stream));
    SZG_TRY(szg::code_mask(job, &plan->of[which], &job->mask_bytes[which]));
    SZG_TRY(szg_device_mark(device, "fill masks"));
  }
  return SZGPU_OK;
}

void szg_run_masks_add_sections_cuda(const szg_write_job_cuda *job, szg_frame_layout_cuda *layout) {
  uint64_t const sizes_bytes = 2 * szg::run_count_of(job->grid.value_count);
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++) {
    if (!job->mask_bytes[which]) continue;
    szg_layout_add_cuda(layout, szg_run_sizes_section(which), sizes_bytes);
    szg_layout_add_cuda(layout, szg_run_masks_section(which), job->mask_bytes[which] - sizes_bytes);
  }
}

szgpu_status szg_run_masks_write_cuda(const szg_write_job_cuda *job,
                                      const szg_frame_layout_cuda *layout) {
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++)
    if (job->mask_bytes[which]) SZG_TRY(szg::write_mask(job, which, layout));
  return szg_device_mark(&job->ctx->device, "masks");
}

/* ---- reading ---- */

void szg_run_masks_size_read_cuda(const szg_read_frame_cuda *frame, szg_read_sizes_cuda *sizes) {
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++)
    if (szg_has_section(&frame->header, szg_run_sizes_section(which)))
      szg_at_least(&sizes->mask_runs[which], szg::run_count_of(frame->header.value_count));
}

void szg_run_masks_size_reserve_cuda(const szg_write_request *request, szg_read_sizes_cuda *sizes) {
  uint64_t const runs = szg::run_count_of(request->frame_grid.value_count);
  if (request->mapping.kind == SZG_MAPPING_LOG)
    szg_at_least(&sizes->mask_runs[SZG_RUN_MASK_SIGNS], runs);
  for (uint32_t which = 1; which < SZG_RUN_MASKS && request->may_edit; which++)
    szg_at_least(&sizes->mask_runs[which], runs);
}

szgpu_status szg_run_masks_prepare_cuda(const szg_read_job_cuda *job) {
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++) {
    szg::RunMask const mask = szg::mask_of(job, which);
    if (!mask.sizes) continue;
    uint64_t const runs = szg::run_count_of(mask.value_count);
    unsigned blocks;
    SZG_TRY(szg::scan_sizes(&job->plan->mask_places[which], mask.sizes, mask.value_count,
                            job->device->stream));
    SZG_TRY(szg_spread_blocks(runs, szg::kThreads, szg::kBlocksPerMultiprocessor, &blocks));
    szg::mask_check_kernel<<<blocks, szg::kThreads, 0, job->device->stream>>>(mask, runs,
                                                                              job->frame->verdict);
    SZG_TRY_LAUNCH();
    SZG_TRY(szg_device_mark(job->device, "masks"));
  }
  return SZGPU_OK;
}

szgpu_status szg_signs_raise_cuda(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows,
                                  void *outer) {
  szg::RaiseLaunch const launch = {job, szg::mask_of(job, SZG_RUN_MASK_SIGNS), rows, outer};
  return szg::with_log_pair(job->mapping.outer, job->mapping.inner, launch);
}

szgpu_status szg_fills_apply_cuda(const szg_read_job_cuda *job, const szg_frame_rows_cuda *rows,
                                  void *outer) {
  for (uint32_t which = 1; which <= job->header->more_fill_count; which++) {
    szg::RunMask const mask = szg::mask_of(job, which);
    uint64_t const fill = job->header->more_fill_bits[which - 1];
    if (!mask.sizes) continue;
    SZG_TRY(szg_with_width(job->field_width, [&](auto bits) {
      return szg::apply_fill<decltype(bits)>(job, rows, mask, fill, outer);
    }));
    SZG_TRY(szg_device_mark(job->device, "fill values"));
  }
  return SZGPU_OK;
}
