/* self_sync.cu - self-synchronization: decodes the linear layout from its bits only.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * self_sync.h has the idea, and what each phase does. Phases 1 and 2 only find where codes end, by
 * lookups that skip all codes in 11 bits; their results are 2 bytes for each 256 bits. Phases 3 and
 * 4 are in self_sync_write.cu. There are no atomics, and nothing depends on which block is first:
 * no other block reads what a thread changes before the next kernel.
 *
 * Moves: reads the stream once; writes 2 bytes for each 256 bits.
 */
#include "huffman/decoders/self_sync.cuh"

#include <cub/cub.cuh>

#include "core/cuda_check.cuh"

namespace {

using szg::kAllLanes;
using szg::kPieceStarts;
using szg::map_at;
using szg::StreamWords;
using szg::Subsequence;
using szg::SyncGrid;
using szg::SyncMemory;
using szg::SyncWork;
using szg::ThenMap;

struct SyncPolicy {
  /* Rounds before a warp gives up: a stretch out of step for half a warp's length. */
  static constexpr int kRounds = 16;
  /* Bits that one thread walks at most to agree two sequences; beyond that, maps are faster. */
  static constexpr uint32_t kMendedBits = 1 << 15;
  static constexpr unsigned kMendThreads = 64;  /* few, so that blocks in agreement end at once */
  static constexpr unsigned kScanThreads = 512; /* one block */
};
static_assert(SyncPolicy::kMendedBits >= SZG_SELF_SYNC_MOST_BITS, "one subsequence at least");

/* ---- phase 1 ---- */

/* A thread's guess: where codes begin in its subsequence, and where beyond it. */
struct Guess {
  uint32_t start, end;
};

template <class Words>
__device__ void walk_again(const Subsequence<Words> &own, uint32_t start, Guess *guess) {
  guess->start = start;
  guess->end = szg::walk<true>(own, start, guess->end);
}

/* run_up: the words before the subsequence. */
template <class Words>
__device__ Guess guess_start(const Subsequence<Words> &own, const Words &run_up,
                             uint32_t run_up_bits) {
  if (own.bits == 0) return {0, 0};
  uint32_t const span = szg::count_codes(run_up, 0, run_up_bits);
  uint32_t const start = (span & szg::kSpanPlaceMask) - run_up_bits;
  return {start, szg::walk<false>(own, start, 0)};
}

/* Each lane of a warp walks again from where the lane before has ended, until that changes nothing,
 * but not for more than kRounds. */
template <class Words>
__device__ void agree_in_warp(const Subsequence<Words> &own, Guess *guess) {
  for (int round = 0; round < SyncPolicy::kRounds; round++) {
    uint32_t const before = __shfl_up_sync(kAllLanes, guess->end, 1);
    bool const is_off = threadIdx.x % 32 > 0 && own.bits > 0 && before != guess->start;
    if (!__any_sync(kAllLanes, is_off)) return;
    if (is_off) walk_again(own, before, guess);
  }
}

/* The same for a block. False if it does not agree. */
template <class Words>
__device__ bool agree_in_block(const Subsequence<Words> &own, Guess *guess) {
  uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t *const warp_ends = szg::sync_memory()->warp_ends;
  agree_in_warp(own, guess);
  for (int round = 0;; round++) {
    if (lane == 31) warp_ends[warp] = guess->end;
    __syncthreads(); /* all warps' ends are known */
    uint32_t before = __shfl_up_sync(kAllLanes, guess->end, 1);
    if (lane == 0) before = warp > 0 ? warp_ends[warp - 1] : guess->start;
    bool const is_off = own.bits > 0 && before != guess->start;
    if (!__syncthreads_or(is_off)) return true;
    if (round == SyncPolicy::kRounds) return false;
    if (is_off) walk_again(own, before, guess);
  }
}

/* Keeps all accesses within the words. */
__device__ bool sizes_agree(const szg_linear_input_cuda &input, uint64_t bit_count) {
  return bit_count > 0 && bit_count <= UINT64_MAX / 2 && input.word_count == (bit_count + 31) / 32;
}

/* kIsStaged: words are in shared memory, which has no room for large sequences. */
template <bool kIsStaged>
__global__ void __launch_bounds__(SZG_SELF_SYNC_MOST_THREADS)
    sequences_guess_kernel(SyncWork work, const szg_decode_book_cuda *book, szg_verdict *verdict) {
  if (__syncthreads_or(verdict->bad_data != 0)) return;
  uint64_t const bit_count = *work.input.bit_count;
  if (!sizes_agree(work.input, bit_count)) {
    verdict->bad_data = 1;
    return;
  }
  szg::load_tables(book);
  const SyncGrid &grid = work.grid;
  bool is_settled = true;
  for (uint64_t s = blockIdx.x; s < grid.sequence_count; s += gridDim.x) {
    uint64_t const i = s * grid.sequence_subsequences + threadIdx.x;
    uint32_t const run_up_words = i > 0 ? grid.run_up_words : 0;
    Guess guess;
    if (kIsStaged) {
      szg::ColumnWords const words = szg::stage_column(work, i);
      auto const own = work.subsequence_of(words, i, bit_count);
      szg::ColumnWords const run_up = {words.column - run_up_words * szg::kWordRowBytes};
      guess = guess_start(own, run_up, 32 * run_up_words);
      is_settled &= agree_in_block(own, &guess);
    } else {
      StreamWords const words = work.stream_words(i);
      auto const own = work.subsequence_of(words, i, bit_count);
      StreamWords const run_up = {work.input, words.first_word - run_up_words};
      guess = guess_start(own, run_up, 32 * run_up_words);
      is_settled &= agree_in_block(own, &guess);
    }
    if (threadIdx.x == 0) work.memory.entries[s] = (uint8_t)guess.start;
    if (i + 1 == grid.sequence_end(s)) work.memory.exits[s] = (uint8_t)guess.end;
  }
  if (!is_settled) *work.memory.is_unsettled = 1;
}

/* ---- phase 2 ---- */

/* Walks a sequence from `start` until it meets a known start. False if that takes too long. */
__device__ bool mend_sequence(const SyncWork &work, uint64_t sequence, uint32_t start,
                              uint64_t bit_count) {
  const SyncGrid &grid = work.grid;
  uint64_t const end = grid.sequence_end(sequence);
  uint64_t i = sequence * grid.sequence_subsequences;
  uint64_t const last = i + SyncPolicy::kMendedBits / grid.subsequence_bits();
  for (; i < end && i < last; i++) {
    auto const own = work.subsequence_of(work.stream_words(i), i, bit_count);
    uint32_t const known_end =
        i + 1 < end ? own.pieces[grid.piece_count] % kPieceStarts : work.memory.exits[sequence];
    start = szg::walk<true>(own, start, known_end);
    if (start == known_end) return true;
  }
  return false;
}

/* One thread per border between sequences. */
__global__ void __launch_bounds__(SyncPolicy::kMendThreads)
    borders_mend_kernel(SyncWork work, const szg_decode_book_cuda *book,
                        const szg_verdict *verdict) {
  if (verdict->bad_data != 0) return; /* the same for all blocks: no running kernel writes it */
  uint64_t const s = (uint64_t)blockIdx.x * SyncPolicy::kMendThreads + threadIdx.x + 1;
  uint32_t start = 0;
  bool is_off = false;
  if (s < work.grid.sequence_count) {
    start = work.memory.exits[s - 1];
    is_off = start != work.memory.entries[s];
  }
  if (!__syncthreads_or(is_off)) return;
  szg::load_tables(book);
  if (is_off && !mend_sequence(work, s, start, *work.input.bit_count))
    *work.memory.is_unsettled = 1;
}

/* Maps of sequences, and from each sequence's start to its subsequences. */
__global__ void __launch_bounds__(SZG_SELF_SYNC_MOST_THREADS)
    sequences_map_kernel(SyncWork work, const szg_decode_book_cuda *book,
                         const szg_verdict *verdict) {
  if (verdict->bad_data != 0 || *work.memory.is_unsettled == 0) return;
  szg::load_tables(book);
  uint64_t const bit_count = *work.input.bit_count;
  const SyncGrid &grid = work.grid;
  uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  szg_self_sync_map *const warp_maps = szg::sync_memory()->warp_maps;
  typedef cub::WarpScan<szg_self_sync_map> WarpScan;
  typename WarpScan::TempStorage scan_memory; /* empty: the scan uses shuffles */
  for (uint64_t s = blockIdx.x; s < grid.sequence_count; s += gridDim.x) {
    uint64_t const i = s * grid.sequence_subsequences + threadIdx.x;
    szg_self_sync_map const own = szg::map_of(work.stream_words(i), grid.bits_of(i, bit_count));
    szg_self_sync_map to_own, to_next, to_warp = szg::kIdentityMap;
    WarpScan(scan_memory).Scan(own, to_next, to_own, szg::kIdentityMap, ThenMap());
    if (lane == 31) warp_maps[warp] = to_next;
    __syncthreads(); /* all warps' maps are known */
    for (uint32_t w = 0; w < warp; w++) to_warp = ThenMap()(to_warp, warp_maps[w]);
    if (i < grid.subsequence_count) work.memory.maps[i] = ThenMap()(to_warp, to_own);
    if (threadIdx.x == blockDim.x - 1) work.memory.sequence_maps[s] = ThenMap()(to_warp, to_next);
    __syncthreads(); /* maps are read before they are written again */
  }
}

/* Finds where codes begin in all sequences. One block. */
__global__ void __launch_bounds__(SyncPolicy::kScanThreads)
    entries_scan_kernel(SyncWork work, const szg_verdict *verdict) {
  typedef cub::BlockScan<szg_self_sync_map, SyncPolicy::kScanThreads> BlockScan;
  __shared__ typename BlockScan::TempStorage scan_memory;
  if (verdict->bad_data != 0 || *work.memory.is_unsettled == 0) return;
  uint64_t const count = work.grid.sequence_count;
  uint64_t const share = (count + SyncPolicy::kScanThreads - 1) / SyncPolicy::kScanThreads;
  uint64_t const begin = min(threadIdx.x * share, count), end = min(begin + share, count);
  szg_self_sync_map own = szg::kIdentityMap, before;
  for (uint64_t s = begin; s < end; s++) own = ThenMap()(own, work.memory.sequence_maps[s]);
  BlockScan(scan_memory).ExclusiveScan(own, before, szg::kIdentityMap, ThenMap());
  uint32_t start = map_at(before, 0);
  for (uint64_t s = begin; s < end; s++) {
    work.memory.entries[s] = (uint8_t)start;
    start = map_at(work.memory.sequence_maps[s], start);
  }
}

/* Walks all subsequences from where their codes really begin. */
__global__ void __launch_bounds__(SZG_SELF_SYNC_MOST_THREADS)
    subsequences_walk_kernel(SyncWork work, const szg_decode_book_cuda *book,
                             const szg_verdict *verdict) {
  if (verdict->bad_data != 0 || *work.memory.is_unsettled == 0) return;
  szg::load_tables(book);
  uint64_t const bit_count = *work.input.bit_count;
  const SyncGrid &grid = work.grid;
  for (uint64_t s = blockIdx.x; s < grid.sequence_count; s += gridDim.x) {
    uint64_t const i = s * grid.sequence_subsequences + threadIdx.x;
    if (i >= grid.subsequence_count) continue;
    uint32_t const start = map_at(work.memory.maps[i], work.memory.entries[s]);
    uint32_t const end =
        szg::walk<false>(work.subsequence_of(work.stream_words(i), i, bit_count), start, 0);
    if (i + 1 == grid.sequence_end(s)) work.memory.exits[s] = (uint8_t)end;
  }
}

} // namespace

/* ---- launchers ---- */

static SyncWork work_of(const szg_self_sync_decoder_cuda *decoder,
                        const szg_linear_input_cuda *input) {
  SyncWork const work = {*input, szg::sync_grid_of(&decoder->options, input->word_count), *decoder};
  assert(work.grid.subsequence_count <= decoder->subsequence_count);
  return work;
}

szgpu_status szg_self_sync_carve_cuda(szg_arena *arena, const szg_self_sync_options_cuda *options,
                                      uint64_t word_count, szg_self_sync_decoder_cuda *decoder) {
  uint32_t const bits = options->subsequence_bits, threads = options->block_threads;
  SZG_REQUIRE(bits >= SZG_SELF_SYNC_LEAST_BITS && bits <= SZG_SELF_SYNC_MOST_BITS,
              SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(threads >= SZG_SELF_SYNC_LEAST_THREADS && threads <= SZG_SELF_SYNC_MOST_THREADS,
              SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(options->run_up_bits <= SZG_SELF_SYNC_MOST_RUN_UP_BITS, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(bits % 32 == 0 && threads % 32 == 0 && options->run_up_bits % 32 == 0,
              SZGPU_BAD_ARGUMENT);
  SyncGrid const grid = szg::sync_grid_of(options, word_count);
  uint64_t const group_count = szg::piece_group_count(grid);
  SZG_REQUIRE(group_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  decoder->options = *options;
  decoder->subsequence_count = grid.subsequence_count;
  decoder->pieces = (uint16_t *)szg_arena_take(arena, grid.subsequence_count * grid.piece_count,
                                               sizeof *decoder->pieces);
  decoder->entries =
      (uint8_t *)szg_arena_take(arena, grid.sequence_count, sizeof *decoder->entries);
  decoder->exits = (uint8_t *)szg_arena_take(arena, grid.sequence_count, sizeof *decoder->exits);
  decoder->maps =
      (szg_self_sync_map *)szg_arena_take(arena, grid.subsequence_count, sizeof *decoder->maps);
  decoder->sequence_maps = (szg_self_sync_map *)szg_arena_take(arena, grid.sequence_count,
                                                               sizeof *decoder->sequence_maps);
  decoder->is_unsettled = (uint32_t *)szg_arena_take(arena, 1, sizeof *decoder->is_unsettled);
  decoder->piece_codes =
      (uint16_t *)szg_arena_take(arena, group_count, sizeof *decoder->piece_codes);
  return szg_gap_decoder_carve_cuda(arena, group_count, &decoder->piece_decoder);
}

/* As many blocks as fit, for a kernel with blocks that take sequences in turn. */
template <class Kernel>
static szgpu_status count_blocks(Kernel kernel, const SyncWork &work, size_t memory_bytes,
                                 unsigned *blocks) {
  unsigned most_blocks = 0;
  SZG_TRY(szg_resident_blocks(kernel, (int)work.grid.sequence_subsequences, (int)memory_bytes,
                              &most_blocks));
  *blocks = szg_grid_blocks(work.grid.sequence_count, 1, most_blocks);
  return SZGPU_OK;
}

template <bool kIsStaged>
static szgpu_status launch_guess(const SyncWork &work, size_t memory_bytes,
                                 const szg_decode_book_cuda *book, szg_verdict *verdict,
                                 cudaStream_t stream) {
  auto const kernel = sequences_guess_kernel<kIsStaged>;
  unsigned blocks = 0;
  SZG_TRY_CUDA(cudaFuncSetAttribute(
      kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
      kIsStaged ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutDefault));
  SZG_TRY(count_blocks(kernel, work, memory_bytes, &blocks));
  kernel<<<blocks, work.grid.sequence_subsequences, memory_bytes, stream>>>(work, book, verdict);
  return szg_launched();
}

szgpu_status szg_self_sync_guess_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_decode_book_cuda *book,
                                      const szg_linear_input_cuda *input, szg_verdict *verdict,
                                      struct CUstream_st *stream) {
  if (input->word_count == 0) {
    if (input->code_count > 0)
      SZG_TRY_CUDA(cudaMemsetAsync(&verdict->bad_data, 1, sizeof verdict->bad_data, stream));
    return SZGPU_OK;
  }
  int memory_limit = 0;
  SZG_TRY(szg_most_shared_bytes(&memory_limit));
  SZG_TRY_CUDA(cudaMemsetAsync(decoder->is_unsettled, 0, sizeof *decoder->is_unsettled, stream));
  SyncWork const work = work_of(decoder, input);
  size_t const columns_bytes = (size_t)szg::column_rows(work.grid) * szg::kWordRowBytes *
                               (work.grid.sequence_subsequences / 32);
  size_t const staged_bytes = sizeof(SyncMemory) + columns_bytes;
  return staged_bytes <= (size_t)memory_limit
             ? launch_guess<true>(work, staged_bytes, book, verdict, stream)
             : launch_guess<false>(work, sizeof(SyncMemory), book, verdict, stream);
}

szgpu_status szg_self_sync_agree_cuda(const szg_self_sync_decoder_cuda *decoder,
                                      const szg_decode_book_cuda *book,
                                      const szg_linear_input_cuda *input, szg_verdict *verdict,
                                      struct CUstream_st *stream) {
  if (input->word_count == 0) return SZGPU_OK;
  SyncWork const work = work_of(decoder, input);
  uint64_t const border_blocks =
      (work.grid.sequence_count + SyncPolicy::kMendThreads - 1) / SyncPolicy::kMendThreads;
  borders_mend_kernel<<<(unsigned)border_blocks, SyncPolicy::kMendThreads, sizeof(SyncMemory),
                        stream>>>(work, book, verdict);
  SZG_TRY_LAUNCH();
  unsigned blocks = 0;
  SZG_TRY(count_blocks(sequences_map_kernel, work, sizeof(SyncMemory), &blocks));
  sequences_map_kernel<<<blocks, work.grid.sequence_subsequences, sizeof(SyncMemory), stream>>>(
      work, book, verdict);
  SZG_TRY_LAUNCH();
  entries_scan_kernel<<<1, SyncPolicy::kScanThreads, 0, stream>>>(work, verdict);
  SZG_TRY_LAUNCH();
  SZG_TRY(count_blocks(subsequences_walk_kernel, work, sizeof(SyncMemory), &blocks));
  subsequences_walk_kernel<<<blocks, work.grid.sequence_subsequences, sizeof(SyncMemory), stream>>>(
      work, book, verdict);
  return szg_launched();
}

szgpu_status szg_decode_self_sync_cuda(const szg_self_sync_decoder_cuda *decoder,
                                       const szg_decode_book_cuda *book, uint32_t symbol_count,
                                       const szg_linear_input_cuda *input, uint32_t code_bytes,
                                       void *codes, szg_verdict *verdict,
                                       struct CUstream_st *stream) {
  SZG_TRY(szg_self_sync_guess_cuda(decoder, book, input, verdict, stream));
  SZG_TRY(szg_self_sync_agree_cuda(decoder, book, input, verdict, stream));
  SZG_TRY(szg_self_sync_place_cuda(decoder, input, verdict, stream));
  return szg_self_sync_write_cuda(decoder, book, symbol_count, input, code_bytes, codes, verdict,
                                  stream);
}
