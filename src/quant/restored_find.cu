/* restored_find.cu - looks for restored values on the device.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread takes a column of a patch, and then a line, whose notes the block has left in shared
 * memory. Moves, for each value: 4 or 8 bytes are read; those on the left and above come from
 * caches and registers.
 */
#include "quant/range.cuh"
#include "quant/restored.h"
#include "quant/restored_core.h"

namespace szg {
namespace {

struct FindPolicy {
  static constexpr int kPatches = 4; /* side by side: 256 threads */
  static constexpr int kThreads = kPatches * SZG_RESTORED_PATCH;
  static constexpr int kBlocksPerMultiprocessor = 5;
};

constexpr uint32_t kPatch = SZG_RESTORED_PATCH;
/* In shared memory, beside the note: the value equals the one on its left. */
constexpr uint32_t kSame = 1 << 7;
static_assert((SZG_RESTORED_EVIDENCE | SZG_RESTORED_KIND) == kSame - 1, "a byte for both");

/* A bit of FindWork's runs: the last values of the field are not all equal. */
constexpr uint32_t kHasNoRest = 1u << 31;

/* What threads, and then blocks, add up; 0: nothing. */
struct Found {
  Atomic counted, fine, coarse, control, all, all_fine, all_coarse;
  uint32_t fine_marks, coarse_marks, runs;

  struct Combine {
    __device__ Found operator()(const Found &a, const Found &b) const {
      return {a.counted + b.counted,
              a.fine + b.fine,
              a.coarse + b.coarse,
              a.control + b.control,
              a.all + b.all,
              a.all_fine + b.all_fine,
              a.all_coarse + b.all_coarse,
              a.fine_marks | b.fine_marks,
              a.coarse_marks | b.coarse_marks,
              a.runs | b.runs};
    }
  };
};

/* 0 between passes. */
struct FindWork {
  Found found;
  uint32_t ticket;
};
/* In the host's memory. */
struct FindResult {
  Found found;
  uint32_t told;
};
static_assert(sizeof(FindWork) <= SZG_RANGE_WORK_BYTES, "more than the caller gives");
static_assert(sizeof(FindResult) <= SZG_RANGE_WORK_BYTES, "more than the caller gives");

__device__ int32_t note_of(const szg_restored_look &look, float x) {
  return szg_restored_note_f32(&look, x);
}
__device__ int32_t note_of(const szg_restored_look &look, double x) {
  return szg_restored_note_f64(&look, x);
}
__device__ uint32_t fold(uint32_t bits) { return bits; }
__device__ uint32_t fold(uint64_t bits) { return (uint32_t)(bits ^ bits >> 32); }

__device__ uint32_t runs_of(const szg_restored_run &most, uint32_t needed) {
  return ((uint32_t)most.fine >= needed ? SZG_RESTORED_HAS_FINE_RUN : 0) |
         ((uint32_t)most.coarse >= needed ? SZG_RESTORED_HAS_COARSE_RUN : 0);
}

__device__ void lengthen(const szg_restored_run &run, szg_restored_run *most) {
  most->fine = max(most->fine, run.fine);
  most->coarse = max(most->coarse, run.coarse);
}

/* The field, and its items: patches side by side, in groups of lines, in frames. */
template <class Format>
struct FindJob {
  const typename Format::Bits *values;
  uint64_t value_count;
  szg_restored_look look;
  uint64_t group_count, stretch_count, item_count;
};

template <class Bits>
__device__ void count(uint32_t note, bool is_same, Bits bits, Found *found) {
  uint32_t const own = note & SZG_RESTORED_EVIDENCE, kind = note & SZG_RESTORED_KIND;
  bool const is_fine = kind == SZG_RESTORED_FINE, is_coarse = kind == SZG_RESTORED_COARSE;
  found->all += own != 0;
  found->all_fine += is_fine & (own >= SZG_RESTORED_ALONE);
  found->all_coarse += is_coarse & (own + SZG_RESTORED_COARSE_EVIDENCE >= SZG_RESTORED_ALONE);
  if (own == 0 || is_same) return;
  found->counted++;
  found->fine += is_fine;
  found->coarse += is_coarse;
  found->control += kind == SZG_RESTORED_CONTROL;
  uint32_t const mark = is_fine || is_coarse ? szg_restored_mark(fold(bits)) : 0;
  if (is_fine) found->fine_marks |= mark;
  if (is_coarse) found->coarse_marks |= mark;
}

/* A thread's column of an item. notes: the thread's place in its patch's first line. */
template <class Format>
__device__ void take_column(const FindJob<Format> &job, const typename Format::Bits *frame,
                            uint64_t frame_values, uint64_t first_line, uint64_t column,
                            uint8_t *notes, uint32_t notes_stride, Found *found) {
  typedef typename Format::Bits Bits;
  uint64_t const line_values = job.look.line_values;
  szg_restored_run run = {0, 0}, most = {0, 0};
  Bits above = 0;
  for (uint32_t i = 0; i < kPatch; i++) {
    uint64_t const index = (first_line + i) * line_values + column;
    uint32_t note = 0;
    if (column < line_values && index < frame_values) {
      Bits const bits = frame[index];
      bool const has_above = index >= line_values, has_left = index > 0;
      if (i == 0 && has_above) above = frame[index - line_values];
      bool const is_same = has_left && frame[index - 1] == bits;
      typename Format::Value value;
      memcpy(&value, &bits, sizeof value);
      note = (uint32_t)note_of(job.look, value);
      run = szg_restored_extend(run, (int32_t)note, has_above && above == bits);
      lengthen(run, &most);
      count(note, is_same, bits, found);
      note |= is_same ? kSame : 0;
      above = bits;
    }
    notes[i * notes_stride] = (uint8_t)note;
  }
  found->runs |= runs_of(most, job.look.needed);
}

__device__ uint32_t runs_of_line(const uint8_t *notes, uint32_t needed) {
  szg_restored_run run = {0, 0}, most = {0, 0};
  for (uint32_t i = 0; i < kPatch; i++) {
    uint32_t const note = notes[i];
    run = szg_restored_extend(run, (int32_t)(note & (kSame - 1)), (note & kSame) != 0);
    lengthen(run, &most);
  }
  return runs_of(most, needed);
}

/* Whether the thread has met an end of the field that is not one repeated value. */
template <class Format>
__device__ bool has_no_rest(const FindJob<Format> &job) {
  uint64_t const frame_first =
      (job.value_count - 1) / job.look.frame_values * job.look.frame_values;
  uint64_t const rest = szg_restored_rest(job.value_count - frame_first);
  uint64_t const thread = (uint64_t)blockIdx.x * FindPolicy::kThreads + threadIdx.x;
  bool differs = rest == 0;
  for (uint64_t i = thread; i < rest; i += (uint64_t)gridDim.x * FindPolicy::kThreads)
    differs |= job.values[job.value_count - 1 - i] != job.values[job.value_count - 1];
  return differs;
}

__device__ void add(const Found &found, Found *work) {
  atomicAdd(&work->counted, found.counted);
  atomicAdd(&work->fine, found.fine);
  atomicAdd(&work->coarse, found.coarse);
  atomicAdd(&work->control, found.control);
  atomicAdd(&work->all, found.all);
  atomicAdd(&work->all_fine, found.all_fine);
  atomicAdd(&work->all_coarse, found.all_coarse);
  atomicOr(&work->fine_marks, found.fine_marks);
  atomicOr(&work->coarse_marks, found.coarse_marks);
  atomicOr(&work->runs, found.runs);
}

/* Combines what the threads of all blocks have found; the last block tells the host. */
__device__ void finish(Found found, FindWork *work, FindResult *result) {
  typedef cub::BlockReduce<Found, FindPolicy::kThreads> BlockReduce;
  __shared__ typename BlockReduce::TempStorage reduce_memory;
  found = BlockReduce(reduce_memory).Reduce(found, Found::Combine());
  if (threadIdx.x > 0) return;
  add(found, &work->found);
  if (!takes_last_ticket(&work->ticket)) return;
  Found *const all = &work->found;
  result->found = {__ldcg(&all->counted),    __ldcg(&all->fine),       __ldcg(&all->coarse),
                   __ldcg(&all->control),    __ldcg(&all->all),        __ldcg(&all->all_fine),
                   __ldcg(&all->all_coarse), __ldcg(&all->fine_marks), __ldcg(&all->coarse_marks),
                   __ldcg(&all->runs)};
  tell(&result->told);
  *all = {};
}

/* Grid: persistent. */
template <class Format>
__global__ void __launch_bounds__(FindPolicy::kThreads, FindPolicy::kBlocksPerMultiprocessor)
    restored_find_kernel(FindJob<Format> job, FindWork *work, FindResult *result) {
  /* Lines are 68 bytes apart, so that threads of a warp read different banks. */
  constexpr uint32_t kStride = kPatch + 4;
  __shared__ uint8_t notes[FindPolicy::kPatches][kPatch * kStride];
  uint32_t const patch = threadIdx.x / kPatch, own = threadIdx.x % kPatch;
  Found found = {};
  if (has_no_rest(job)) found.runs = kHasNoRest;
  for (uint64_t item = blockIdx.x; item < job.item_count; item += gridDim.x) {
    uint64_t const stretch = item % job.stretch_count;
    uint64_t const group = item / job.stretch_count % job.group_count;
    uint64_t const frame_first = item / job.stretch_count / job.group_count * job.look.frame_values;
    uint64_t const frame_values = szg_min_u64(job.look.frame_values, job.value_count - frame_first);
    take_column(job, job.values + frame_first, frame_values, group * kPatch,
                stretch * FindPolicy::kThreads + threadIdx.x, &notes[patch][own], kStride, &found);
    __syncthreads(); /* the notes are there */
    found.runs |= runs_of_line(&notes[patch][own * kStride], job.look.needed);
    __syncthreads(); /* and are no longer needed */
  }
  finish(found, work, result);
}

template <class Format>
szgpu_status find(const szg_value_source *source, const szg_restored_look *look,
                  szg_restored_found *found) {
  auto const *const cuda = (const szg_value_source_cuda *)source->where;
  auto *const result = (FindResult *)cuda->pinned_work;
  FindJob<Format> job;
  job.values = (const typename Format::Bits *)source->values;
  job.value_count = source->value_count;
  job.look = *look;
  job.group_count = szg_div_up(szg_div_up(look->frame_values, look->line_values), kPatch);
  job.stretch_count = szg_div_up(look->line_values, FindPolicy::kThreads);
  job.item_count =
      szg_div_up(source->value_count, look->frame_values) * job.group_count * job.stretch_count;
  unsigned blocks = 0;
  SZG_TRY(szg_spread_blocks(job.item_count, 1, FindPolicy::kBlocksPerMultiprocessor, &blocks));
  szg_device_expect(&result->told, 1);
  restored_find_kernel<<<blocks, FindPolicy::kThreads, 0, cuda->device->stream>>>(
      job, (FindWork *)cuda->work, result);
  SZG_TRY_LAUNCH();
  SZG_TRY(szg_device_await(cuda->device, &result->told, 1));
  Found const &all = result->found;
  uint32_t const rest = all.runs & kHasNoRest ? 0 : SZG_RESTORED_HAS_REST;
  *found = {};
  found->counted = all.counted;
  found->fine = all.fine;
  found->coarse = all.coarse;
  found->control = all.control;
  found->fine_marks = all.fine_marks;
  found->coarse_marks = all.coarse_marks;
  found->all = all.all;
  found->all_fine = all.all_fine;
  found->all_coarse = all.all_coarse;
  found->runs = (all.runs & ~kHasNoRest) | rest;
  return SZGPU_OK;
}

} // namespace
} // namespace szg

szgpu_status szg_restored_find_cuda(const szg_value_source *source, const szg_restored_look *look,
                                    szg_restored_found *found) {
  return source->dtype == SZGPU_F32 ? szg::find<szg::FormatF32>(source, look, found)
                                    : szg::find<szg::FormatF64>(source, look, found);
}
