/* run_length_decode.cu - runs back to symbols on a GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A first kernel sums the counts of each group of runs, and a scan over the groups says where each
 * group begins; nothing else is stored. Then every block writes an equal share of the symbols,
 * whatever the runs: even a single long run is divided among all blocks. A block searches for the
 * run that its share begins in, first among the groups, and continues from there: each thread takes
 * a few runs, a scan over the block says where they begin, and each run marks its first symbol in a
 * tile in shared memory. A symbol without a mark equals the one before it: within a thread's 16
 * bytes shifts that double spread the marked symbols, between threads votes do.
 *
 * Moves: counts read twice, a run's symbol once, 24 bytes for each group of 256 runs; each symbol
 * written once, 16 bytes per store.
 */
#include <cub/cub.cuh>

#include "core/bytes.h"
#include "core/cuda_check.cuh"
#include "core/warp.cuh"
#include "study/run_length.h"

namespace {

struct ExpandPolicy {
  static constexpr uint32_t kWarps = 8;
  static constexpr uint32_t kThreads = 32 * kWarps;
  static constexpr uint32_t kBlocksPerProcessor = 6;
  static constexpr uint32_t kThreadRuns = 4; /* runs a thread takes at once: 16 bytes of counts */
  static constexpr uint32_t kMostTiles = 16; /* tiles of a block: one search serves them all */
};
using szg::kAllLanes;
using szg::last_of;

constexpr uint32_t kWarp = 32;
constexpr uint32_t kBatchRuns = ExpandPolicy::kThreads * ExpandPolicy::kThreadRuns;
constexpr uint32_t kGroupRuns = ExpandPolicy::kThreads; /* one run per thread in the search */
constexpr uint32_t kNowhere = UINT32_MAX;               /* the place of a run that begins nowhere */
/* Longer than any share, so counts can be cut to it, and their sums fit 32 bits. */
constexpr uint32_t kMostCount = 1u << 20;
static_assert(ExpandPolicy::kMostTiles * ExpandPolicy::kThreads * 16 < kMostCount &&
                  (uint64_t)kMostCount * (kBatchRuns + 1) <= INT32_MAX,
              "a share is shorter than that, and a batch of runs ends before kNowhere");

constexpr uint64_t kTooMany = (uint64_t)1 << 62; /* where sums saturate, so that none wraps */
struct SaturatedSum {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const {
    return a + b < kTooMany ? a + b : kTooMany;
  }
};

/* Kernel parameters. */
struct ExpandJob {
  szg_run_input runs;
  const uint64_t *group_starts; /* [group_count + 1] */
  uint64_t group_count;
  void *symbols;
  uint64_t symbol_count;
  uint32_t share_symbols; /* symbols of a block */
  szg_verdict *verdict;
};

/* ---- counts ---- */

/* Four counts, with zeros past the last one. */
__device__ uint4 load_counts(const uint32_t *counts, uint64_t first, uint64_t run_count) {
  if (first + 4 <= run_count) return *reinterpret_cast<const uint4 *>(counts + first);
  uint4 few = make_uint4(0, 0, 0, 0);
  if (first < run_count) few.x = counts[first];
  if (first + 1 < run_count) few.y = counts[first + 1];
  if (first + 2 < run_count) few.z = counts[first + 2];
  return few;
}

/* One warp per group. */
__global__ void __launch_bounds__(ExpandPolicy::kThreads)
    groups_sum_kernel(const uint32_t *counts, uint64_t run_count, uint64_t group_count,
                      uint64_t *sums, szg_verdict *verdict) {
  typedef cub::WarpReduce<uint64_t> WarpReduce;
  __shared__ typename WarpReduce::TempStorage reductions[ExpandPolicy::kWarps];
  uint32_t const lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint64_t const warp_count = (uint64_t)gridDim.x * ExpandPolicy::kWarps;
  bool is_sound = true;
  for (uint64_t group = (uint64_t)blockIdx.x * ExpandPolicy::kWarps + warp; group < group_count;
       group += warp_count) {
    uint64_t sum = 0;
#pragma unroll
    for (uint32_t place = 0; place < kGroupRuns; place += 4 * kWarp) {
      uint64_t const first = group * kGroupRuns + place + 4 * lane;
      uint4 const own = load_counts(counts, first, run_count);
      uint64_t const there = first < run_count ? min(run_count - first, (uint64_t)4) : 0;
      is_sound &= there == 0u + (own.x > 0) + (own.y > 0) + (own.z > 0) + (own.w > 0);
      sum += (uint64_t)own.x + own.y + own.z + own.w;
    }
    sum = WarpReduce(reductions[warp]).Sum(sum);
    if (lane == 0) sums[group] = sum;
    __syncwarp(); /* the reduction's storage may be reused */
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) sums[group_count] = 0; /* becomes the total */
  if (!is_sound) verdict->bad_data = 1;
}

/* ---- where a share begins ---- */

typedef cub::BlockScan<uint64_t, ExpandPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> SearchScan;
typedef cub::BlockScan<uint32_t, ExpandPolicy::kThreads, cub::BLOCK_SCAN_WARP_SCANS> StartScan;

struct RunPlace {
  uint64_t run;
  uint32_t left; /* symbols of the run from the place on */
};

template <class Symbol>
struct ExpandMemory {
  uint4 values[ExpandPolicy::kThreads]; /* the marked symbols of a tile */
  uint4 marks[ExpandPolicy::kThreads];  /* all bits set at marked symbols, none elsewhere */
  union {
    typename SearchScan::TempStorage search;
    typename StartScan::TempStorage starts;
  } scan;
  RunPlace place;
  uint32_t warp_marks[ExpandPolicy::kWarps]; /* lanes that have a mark */
  uint32_t warp_lasts[ExpandPolicy::kWarps]; /* the warp's last marked symbol */
};

/* The last group that begins at or before symbol `place`; group 0 begins at symbol 0. The whole
 * warp calls. */
__device__ uint64_t group_at(const ExpandJob &job, uint64_t place) {
  uint64_t low = 0, high = job.group_count;
  while (high - low > 1) {
    uint64_t const step = (high - low + kWarp - 1) / kWarp;
    uint64_t const probe = low + (threadIdx.x % kWarp + 1) * step;
    bool const is_before = probe < high && job.group_starts[probe] <= place;
    low += (uint32_t)__popc(__ballot_sync(kAllLanes, is_before)) * step;
    high = min(low + step, high);
  }
  return low;
}

/* The run that symbol `place` is in; the counts have been checked. The whole block calls. */
template <class Symbol>
__device__ RunPlace find_run(const ExpandJob &job, uint64_t place, ExpandMemory<Symbol> &memory) {
  uint64_t const group = group_at(job, place);
  uint64_t const run = group * kGroupRuns + threadIdx.x;
  uint64_t const count = run < job.runs.count ? job.runs.counts[run] : 0;
  uint64_t const passed = place - job.group_starts[group];
  uint64_t before;
  SearchScan(memory.scan.search).ExclusiveSum(count, before);
  if (before <= passed && passed - before < count)
    memory.place = {run, (uint32_t)(count - (passed - before))};
  __syncthreads(); /* the place is known, and the scan's storage may be reused */
  return memory.place;
}

/* ---- runs to marks ---- */

template <class Symbol>
struct SymbolQuad; /* a word for the symbols of four runs */
template <>
struct SymbolQuad<uint8_t> {
  typedef uint32_t Word;
};
template <>
struct SymbolQuad<uint16_t> {
  typedef unsigned long long Word;
};

template <class Symbol>
__device__ typename SymbolQuad<Symbol>::Word load_quad(const Symbol *symbols, uint64_t first,
                                                       uint64_t run_count) {
  typedef typename SymbolQuad<Symbol>::Word Word;
  if (first + 4 <= run_count) return *reinterpret_cast<const Word *>(symbols + first);
  Word quad = 0;
  for (uint32_t i = 0; i < 3; i++)
    if (first + i < run_count) quad |= (Word)symbols[first + i] << i * 8 * sizeof(Symbol);
  return quad;
}

/* A thread's share of the runs that the block works on; places count from the share's first
 * symbol. */
template <class Symbol>
struct ThreadRuns {
  uint32_t starts[ExpandPolicy::kThreadRuns] = {kNowhere, kNowhere, kNowhere, kNowhere};
  typename SymbolQuad<Symbol>::Word symbols = 0;

  /* Takes the block's next runs, from first_run (a multiple of 4) on, which begin at `start`. Runs
   * before the share's first one are skipped, and that one counts only from the share's begin.
   * Returns where the run after them begins. The whole block calls. */
  __device__ uint32_t take(const ExpandJob &job, const RunPlace &place, uint64_t first_run,
                           uint32_t start, ExpandMemory<Symbol> &memory) {
    uint64_t const first = first_run + threadIdx.x * ExpandPolicy::kThreadRuns;
    uint4 const loaded = load_counts(job.runs.counts, first, job.runs.count);
    symbols = load_quad((const Symbol *)job.runs.symbols, first, job.runs.count);
    uint32_t counts[ExpandPolicy::kThreadRuns] = {loaded.x, loaded.y, loaded.z, loaded.w};
    uint64_t const passed_runs = place.run - first; /* below 4 in one thread of the first call */
    uint32_t own_sum = 0, sum_before, sum;
#pragma unroll
    for (uint32_t i = 0; i < ExpandPolicy::kThreadRuns; i++) {
      if (passed_runs < ExpandPolicy::kThreadRuns && i <= passed_runs)
        counts[i] = i == passed_runs ? place.left : 0;
      counts[i] = min(counts[i], kMostCount);
      own_sum += counts[i];
    }
    StartScan(memory.scan.starts).ExclusiveSum(own_sum, sum_before, sum);
    uint32_t next = start + sum_before;
#pragma unroll
    for (uint32_t i = 0; i < ExpandPolicy::kThreadRuns; i++) {
      starts[i] = counts[i] > 0 ? next : kNowhere;
      next += counts[i];
    }
    __syncthreads(); /* the scan's storage may be reused */
    return start + sum;
  }

  /* Marks the runs that begin in a tile. */
  __device__ void mark(uint32_t tile_first, uint32_t tile_count,
                       ExpandMemory<Symbol> &memory) const {
#pragma unroll
    for (uint32_t i = 0; i < ExpandPolicy::kThreadRuns; i++) {
      uint32_t const place = starts[i] - tile_first;
      if (place >= tile_count) continue;
      reinterpret_cast<Symbol *>(memory.values)[place] =
          (Symbol)(symbols >> i * 8 * sizeof(Symbol));
      reinterpret_cast<Symbol *>(memory.marks)[place] = (Symbol)~0u;
    }
  }
};

/* ---- marks to symbols ---- */

/* A word whose symbols all equal the last symbol of `word`. */
__device__ uint32_t repeat_last(uint8_t, uint32_t word) { return __byte_perm(word, 0, 0x3333); }
__device__ uint32_t repeat_last(uint16_t, uint32_t word) { return __byte_perm(word, 0, 0x3232); }

/* A thread's 16 bytes of symbols. */
template <class Symbol>
struct SymbolVector {
  uint32_t words[4] = {}; /* zero before the first mark */
  uint32_t known[4] = {}; /* all bits set from the first mark on */
  uint32_t last = 0;      /* the last known symbol, repeated */

  __device__ void fill(const uint4 &values, const uint4 &marks) {
    uint32_t const given[4] = {values.x, values.y, values.z, values.w};
    uint32_t const marked[4] = {marks.x, marks.y, marks.z, marks.w};
    uint32_t all_known = 0;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      uint32_t mask = marked[i], word = given[i] & mask;
#pragma unroll
      for (uint32_t shift = 8 * sizeof(Symbol); shift < 32; shift *= 2) {
        word |= word << shift & ~mask;
        mask |= mask << shift;
      }
      words[i] = word | (last & ~mask);
      last = repeat_last(Symbol(), words[i]);
      known[i] = mask | all_known;
      all_known = (uint32_t)((int32_t)known[i] >> 31);
    }
  }

  __device__ void store(uint32_t before, Symbol *symbols, uint32_t count) const {
    constexpr uint32_t kVectorSymbols = 16 / sizeof(Symbol), kWordSymbols = 4 / sizeof(Symbol);
    uint32_t whole[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) whole[i] = words[i] | (before & ~known[i]);
    if (count >= kVectorSymbols) {
      *reinterpret_cast<uint4 *>(symbols) = make_uint4(whole[0], whole[1], whole[2], whole[3]);
      return;
    }
#pragma unroll
    for (uint32_t i = 0; i < kVectorSymbols; i++)
      if (i < count)
        symbols[i] = (Symbol)(whole[i / kWordSymbols] >> i % kWordSymbols * 8 * sizeof(Symbol));
  }
};

/* Writes a tile from its marks, which it clears; before: the symbol before the tile, repeated.
 * Returns the tile's last symbol, repeated. The whole block calls. */
template <class Symbol>
__device__ uint32_t write_tile(uint32_t before, Symbol *symbols, uint32_t count,
                               ExpandMemory<Symbol> &memory) {
  constexpr uint32_t kWarps = ExpandPolicy::kWarps, kVectorSymbols = 16 / sizeof(Symbol);
  uint32_t const lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint4 const marks = memory.marks[threadIdx.x];
  uint32_t const lanes = __ballot_sync(kAllLanes, (marks.x | marks.y | marks.z | marks.w) != 0);
  SymbolVector<Symbol> vector;
  if (lanes) {
    vector.fill(memory.values[threadIdx.x], marks);
    memory.marks[threadIdx.x] = make_uint4(0, 0, 0, 0);
  }
  uint32_t const warp_last = __shfl_sync(kAllLanes, vector.last, last_of(lanes));
  if (lane == 0) memory.warp_marks[warp] = lanes, memory.warp_lasts[warp] = warp_last;
  __syncthreads(); /* all warps have stored theirs; marks are clear for the next tile */
  uint32_t const other_last = memory.warp_lasts[lane % kWarps];
  uint32_t const warps =
      __ballot_sync(kAllLanes, lane < kWarps && memory.warp_marks[lane % kWarps] != 0);
  uint32_t const warps_below = warps & szg::lanes_below(warp);
  uint32_t const lanes_below = lanes & szg::lanes_below(lane);
  uint32_t const of_warps = __shfl_sync(kAllLanes, other_last, last_of(warps_below));
  uint32_t const of_lanes = __shfl_sync(kAllLanes, vector.last, last_of(lanes_below));
  uint32_t const of_all = __shfl_sync(kAllLanes, other_last, last_of(warps));
  uint32_t const first = threadIdx.x * kVectorSymbols;
  if (first < count)
    vector.store(lanes_below ? of_lanes : (warps_below ? of_warps : before), symbols + first,
                 count - first);
  return warps ? of_all : before;
}

/* ---- the kernel ---- */

template <class Symbol>
__global__ void __launch_bounds__(ExpandPolicy::kThreads, ExpandPolicy::kBlocksPerProcessor)
    shares_expand_kernel(ExpandJob const job) {
  constexpr uint32_t kTileSymbols = ExpandPolicy::kThreads * 16 / sizeof(Symbol);
  __shared__ ExpandMemory<Symbol> memory;
  bool const is_sum = job.group_starts[job.group_count] == job.symbol_count;
  if (!is_sum && threadIdx.x == 0) job.verdict->bad_data = 1;
  if (__syncthreads_or(!is_sum || job.verdict->bad_data != 0)) return;
  uint64_t const share_first = (uint64_t)blockIdx.x * job.share_symbols;
  if (share_first >= job.symbol_count) return;
  memory.values[threadIdx.x] = memory.marks[threadIdx.x] = make_uint4(0, 0, 0, 0);
  RunPlace const place = find_run(job, share_first, memory); /* its barrier: marks are clear */
  uint32_t const share_count =
      (uint32_t)min(job.symbol_count - share_first, (uint64_t)job.share_symbols);
  Symbol *const symbols = (Symbol *)job.symbols + share_first;
  ThreadRuns<Symbol> runs;
  uint64_t next_run = place.run / ExpandPolicy::kThreadRuns * ExpandPolicy::kThreadRuns;
  uint32_t next_start = 0, last = 0;
  for (uint32_t first = 0; first < share_count; first += kTileSymbols) {
    uint32_t const count = min(share_count - first, kTileSymbols);
    runs.mark(first, count, memory);
    while (next_start < first + count && next_run < job.runs.count) {
      next_start = runs.take(job, place, next_run, next_start, memory);
      next_run += kBatchRuns;
      runs.mark(first, count, memory);
    }
    __syncthreads(); /* all marks are set */
    last = write_tile(last, symbols + first, count, memory);
  }
}

/* ---- launches ---- */

/* If scratch is NULL, only sets *scratch_bytes. */
cudaError_t scan_groups(void *scratch, size_t *scratch_bytes, uint64_t *sums, uint64_t group_count,
                        cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveScan(scratch, *scratch_bytes, sums, sums, SaturatedSum(),
                                        uint64_t{0}, (int)(group_count + 1), stream);
}

template <class Symbol>
szgpu_status launch_expansion(ExpandJob job, unsigned processor_count, cudaStream_t stream) {
  typedef ExpandPolicy P;
  constexpr uint32_t kTileSymbols = P::kThreads * 16 / sizeof(Symbol);
  uint64_t const tile_count = szg_div_up(job.symbol_count, kTileSymbols);
  uint64_t const tiles_of_each = tile_count / (processor_count * P::kBlocksPerProcessor);
  uint32_t const share_tiles =
      tiles_of_each < 1 ? 1 : (uint32_t)szg_min_u64(tiles_of_each, P::kMostTiles);
  uint64_t const share_count = szg_div_up(tile_count, share_tiles);
  SZG_REQUIRE(share_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  job.share_symbols = share_tiles * kTileSymbols;
  unsigned const blocks = share_count > 0 ? (unsigned)share_count : 1; /* 1: to set the verdict */
  shares_expand_kernel<Symbol><<<blocks, P::kThreads, 0, stream>>>(job);
  return szg_launched();
}

} // namespace

szgpu_status szg_run_decoder_carve_cuda(szg_arena *arena, uint64_t run_count,
                                        szg_run_decoder_cuda *decoder) {
  uint64_t const group_count = szg_div_up(run_count, kGroupRuns);
  SZG_REQUIRE(group_count < INT32_MAX, SZGPU_UNSUPPORTED);
  size_t scratch_bytes = 0;
  SZG_TRY_CUDA(scan_groups(nullptr, &scratch_bytes, nullptr, group_count, nullptr));
  decoder->group_starts =
      (uint64_t *)szg_arena_take(arena, group_count + 1, sizeof *decoder->group_starts);
  decoder->scan_temp = szg_arena_take(arena, scratch_bytes, 1);
  decoder->scan_temp_bytes = scratch_bytes;
  return SZGPU_OK;
}

szgpu_status szg_runs_decode_cuda(const szg_run_decoder_cuda *decoder, uint32_t symbol_bytes,
                                  const szg_run_input *runs, void *symbols, uint64_t symbol_count,
                                  szg_verdict *verdict, struct CUstream_st *stream) {
  typedef ExpandPolicy P;
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  uint64_t const group_count = szg_div_up(runs->count, kGroupRuns);
  SZG_REQUIRE(group_count < INT32_MAX, SZGPU_UNSUPPORTED);
  if (runs->count == 0 && symbol_count == 0) return SZGPU_OK;
  int processors = 0;
  SZG_TRY(szg_multiprocessor_count(&processors));
  unsigned const sum_blocks =
      szg_grid_blocks(group_count, P::kWarps, (unsigned)processors * P::kBlocksPerProcessor);
  groups_sum_kernel<<<sum_blocks, P::kThreads, 0, stream>>>(runs->counts, runs->count, group_count,
                                                            decoder->group_starts, verdict);
  SZG_TRY_LAUNCH();
  size_t scratch_bytes = decoder->scan_temp_bytes;
  SZG_TRY_CUDA(
      scan_groups(decoder->scan_temp, &scratch_bytes, decoder->group_starts, group_count, stream));
  ExpandJob const job = {*runs,  decoder->group_starts, group_count, symbols, symbol_count, 0,
                         verdict};
  return symbol_bytes == 1 ? launch_expansion<uint8_t>(job, (unsigned)processors, stream)
                           : launch_expansion<uint16_t>(job, (unsigned)processors, stream);
}
