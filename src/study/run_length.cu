/* run_length.cu - run-length coding of symbols on a GPU, in one kernel.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block takes one tile, and each of its warps a part of the tile. Lanes compare 16 bytes of
 * symbols at a time with the symbols before them; the resulting bits pass through shared memory, so
 * that each lane gets one word of the mask, for 32 consecutive symbols. Sums over lanes, warps and
 * tiles say where runs go; across tiles they use decoupled look-back (run_tallies.cuh). Each warp
 * lists the positions where its runs begin in shared memory and writes its counts and symbols from
 * that list with coalesced stores.
 *
 * A count is written where the next run begins, which may be tiles away.
 *
 * Moves: each symbol read once, 4 bytes and the symbol written for each run, 20 bytes written and
 * read for each tile of 16 KiB.
 */
#include <cub/warp/warp_scan.cuh>

#include "core/bytes.h"
#include "core/cuda_check.cuh"
#include "study/run_length.h"
#include "study/run_tallies.cuh"

namespace {

using szg::join_shares;
using szg::kAllLanes;
using szg::kShareLastBits;
using szg::kShareLastMask;
using szg::kWarp;
using szg::TileTallies;

struct RunPolicy {
  static constexpr uint32_t kWarps = 8;
  static constexpr uint32_t kThreads = 32 * kWarps;
  static constexpr uint32_t kBlocksPerProcessor = 6; /* 33 KiB each */
  static constexpr uint32_t kVectors = 4;            /* of 16 bytes, which a lane reads at once */
  /* If a lane's word has more runs than this, the warp lists runs word by word, one lane per bit;
   * otherwise each lane lists the runs of its own word. */
  static constexpr uint32_t kFewBegins = 12;
};

constexpr uint32_t kRound = kWarp * 32; /* symbols of a round: one word of the mask per lane */

/* How a tile of symbols is divided among a block's threads. */
template <class Symbol>
struct TileShape {
  static constexpr uint32_t kSymbolBits = 8 * sizeof(Symbol);
  static constexpr uint32_t kVectorSymbols = 16 / sizeof(Symbol);
  static constexpr uint32_t kRounds = RunPolicy::kVectors * kWarp * kVectorSymbols / kRound;
  static constexpr uint32_t kWarpSymbols = kRounds * kRound;
  static constexpr uint32_t kSymbols = RunPolicy::kWarps * kWarpSymbols;
  static_assert(kRounds == 1 || kRounds == 2, "two sums fit a word, and rounds are whole");
  static_assert(kSymbols < 1u << 15, "a share fits its word");
  static_assert(SZG_RUN_SPAN % kSymbols == 0, "only a tile's first symbol begins a span");
};
template <class Symbol>
struct MaskPiece; /* the mask of 16 bytes of symbols */
template <>
struct MaskPiece<uint8_t> {
  typedef uint16_t Bits;
};
template <>
struct MaskPiece<uint16_t> {
  typedef uint8_t Bits;
};

template <class Symbol>
struct alignas(16) WarpMemory {
  Symbol symbols[TileShape<Symbol>::kWarpSymbols];
  uint32_t masks[TileShape<Symbol>::kRounds * kWarp];
  uint16_t places[kRound]; /* where a round's runs begin, from its first symbol */
};

/* Kernel parameters. */
struct EncodeJob {
  const void *symbols;
  uint64_t symbol_count;
  szg_run_output_cuda runs;
  TileTallies tallies;
};

/* ---- the mask ---- */

/* Bit i: symbol i of `word` differs from the one before it; before symbol 0 comes the last symbol
 * of `word_before`. The sum carries into a symbol's highest bit if any other bit is set; the
 * product gathers these bits at the top. */
__device__ uint32_t changes_in(uint8_t, uint32_t word, uint32_t word_before) {
  uint32_t const differences = word ^ __funnelshift_l(word_before, word, 8);
  uint32_t const sums = (differences & 0x7F7F7F7Fu) + 0x7F7F7F7Fu;
  return ((sums | differences) & 0x80808080u) * 0x00204081u >> 28;
}
__device__ uint32_t changes_in(uint16_t, uint32_t word, uint32_t word_before) {
  uint32_t const differences = word ^ __funnelshift_l(word_before, word, 16);
  uint32_t const sums = (differences & 0x7FFF7FFFu) + 0x7FFF7FFFu;
  return ((sums | differences) & 0x80008000u) * 0x00008001u >> 30;
}

/* 16 bytes of symbols, with zeros past the last one. */
template <class Symbol>
__device__ uint4 load_symbols(const Symbol *symbols, uint64_t first, uint64_t symbol_count) {
  typedef TileShape<Symbol> Shape;
  if (first + Shape::kVectorSymbols <= symbol_count)
    return *reinterpret_cast<const uint4 *>(symbols + first);
  uint32_t words[4] = {};
#pragma unroll
  for (uint32_t i = 0; i < Shape::kVectorSymbols; i++)
    if (first + i < symbol_count)
      words[i * sizeof(Symbol) / 4] |= (uint32_t)symbols[first + i] << i * Shape::kSymbolBits % 32;
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/* Copies the symbols from `first` on, and the mask of where they change, to the warp's memory. The
 * whole warp calls. */
template <class Symbol>
__device__ void stage_symbols(const EncodeJob &job, uint64_t first, WarpMemory<Symbol> &memory) {
  typedef TileShape<Symbol> Shape;
  const Symbol *const symbols = (const Symbol *)job.symbols;
  uint32_t const lane = threadIdx.x % kWarp;
  uint4 vectors[RunPolicy::kVectors];
#pragma unroll
  for (uint32_t i = 0; i < RunPolicy::kVectors; i++)
    vectors[i] =
        load_symbols(symbols, first + (i * kWarp + lane) * Shape::kVectorSymbols, job.symbol_count);
  uint32_t before = 0; /* the word before the warp's next vector */
  if (first > 0 && first <= job.symbol_count)
    before = (uint32_t)symbols[first - 1] << (32 - Shape::kSymbolBits);
  auto *const pieces = reinterpret_cast<typename MaskPiece<Symbol>::Bits *>(memory.masks);
#pragma unroll
  for (uint32_t i = 0; i < RunPolicy::kVectors; i++) {
    uint4 const own = vectors[i];
    uint32_t const neighbour = __shfl_up_sync(kAllLanes, own.w, 1);
    uint32_t const words[5] = {lane > 0 ? neighbour : before, own.x, own.y, own.z, own.w};
    before = __shfl_sync(kAllLanes, own.w, kWarp - 1);
    uint32_t changes = 0;
#pragma unroll
    for (uint32_t w = 0; w < 4; w++)
      changes |= changes_in(Symbol(), words[w + 1], words[w]) << w * (Shape::kVectorSymbols / 4);
    pieces[i * kWarp + lane] = (typename MaskPiece<Symbol>::Bits)changes;
    reinterpret_cast<uint4 *>(memory.symbols)[i * kWarp + lane] = own;
  }
  __syncwarp(); /* symbols and pieces of the mask are there */
}

/* Completes a word of the mask that begins at symbol `first`: a run begins at every multiple of the
 * span, and none past the last symbol. */
__device__ uint32_t amend_mask(uint32_t mask, uint64_t first, uint64_t symbol_count) {
  if (first % SZG_RUN_SPAN == 0) mask |= 1;
  if (first + 32 <= symbol_count) return mask;
  return first < symbol_count ? mask & ((1u << (symbol_count - first)) - 1) : 0;
}

/* ---- a warp's runs ---- */

/* A lane's words of the mask, one for each round, and counts over the warp's. */
template <class Symbol>
struct WarpRuns {
  uint32_t masks[TileShape<Symbol>::kRounds];
  uint32_t before[TileShape<Symbol>::kRounds]; /* runs of the round in lanes before this one */
  uint32_t counts[TileShape<Symbol>::kRounds]; /* runs of the round */
  uint32_t lasts[TileShape<Symbol>::kRounds];  /* 1 + where the round's last run begins; 0: none */

  /* The whole warp calls. */
  __device__ WarpRuns(const EncodeJob &job, uint64_t first, WarpMemory<Symbol> &memory) {
    typedef cub::WarpScan<uint32_t> WarpScan;
    constexpr uint32_t kRounds = TileShape<Symbol>::kRounds;
    uint32_t const lane = threadIdx.x % kWarp;
    uint32_t sums = 0, sums_before, sums_of_all; /* 16 bits for each round */
#pragma unroll
    for (uint32_t round = 0; round < kRounds; round++) {
      uint32_t &mask = memory.masks[round * kWarp + lane];
      masks[round] = amend_mask(mask, first + round * kRound + lane * 32, job.symbol_count);
      mask = masks[round];
      sums |= (uint32_t)__popc(masks[round]) << 16 * round;
      unsigned const with_runs = __ballot_sync(kAllLanes, masks[round] != 0);
      uint32_t const last_lane = with_runs ? 31 - (uint32_t)__clz((int)with_runs) : 0;
      uint32_t const last_mask = __shfl_sync(kAllLanes, masks[round], (int)last_lane);
      lasts[round] = with_runs ? 32 * last_lane + 32 - (uint32_t)__clz((int)last_mask) : 0;
    }
    typename WarpScan::TempStorage scan_memory; /* empty: the scan uses shuffles */
    WarpScan(scan_memory).ExclusiveSum(sums, sums_before, sums_of_all);
#pragma unroll
    for (uint32_t round = 0; round < kRounds; round++) {
      before[round] = sums_before >> 16 * round & 0xFFFF;
      counts[round] = sums_of_all >> 16 * round & 0xFFFF;
    }
    __syncwarp(); /* all masks are complete */
  }

  /* first: the warp's first symbol, from the tile's first. */
  __device__ uint32_t share(uint32_t first) const {
    uint32_t all = 0;
#pragma unroll
    for (uint32_t round = 0; round < TileShape<Symbol>::kRounds; round++)
      all = join_shares(all, counts[round] << kShareLastBits |
                                 (lasts[round] ? first + round * kRound + lasts[round] : 0));
    return all;
  }
};

/* Lists where a round's runs begin, in order. The whole warp calls. */
template <class Symbol>
__device__ void list_places(const WarpRuns<Symbol> &runs, uint32_t round,
                            WarpMemory<Symbol> &memory) {
  uint32_t const lane = threadIdx.x % kWarp, bits_below = (1u << lane) - 1;
  uint32_t const own = runs.masks[round], own_before = runs.before[round];
  if (__any_sync(kAllLanes, __popc(own) > (int)RunPolicy::kFewBegins)) {
    const uint32_t *const masks = memory.masks + round * kWarp;
#pragma unroll 8
    for (uint32_t word = 0; word < kWarp; word++) {
      uint32_t const mask = masks[word];
      uint32_t const before = __shfl_sync(kAllLanes, own_before, (int)word);
      if (mask >> lane & 1)
        memory.places[before + __popc(mask & bits_below)] = (uint16_t)(32 * word + lane);
    }
  } else {
    uint16_t *next = memory.places + own_before;
    for (uint32_t mask = own; mask; mask &= mask - 1)
      *next++ = (uint16_t)(32 * lane + __ffs((int)mask) - 1);
  }
  __syncwarp(); /* the places are listed */
}

/* Writes a round's runs from its list of places; first: the round's first symbol; tally: of all
 * symbols before it. With each run goes the count of the run before it; the lanes' stores are
 * aligned to the array of counts. */
template <class Symbol>
__device__ void write_runs(const EncodeJob &job, const WarpMemory<Symbol> &memory, uint32_t round,
                           uint32_t run_count, uint64_t first, const szg_run_tally &tally) {
  const Symbol *const symbols = memory.symbols + round * kRound;
  Symbol *const run_symbols = (Symbol *)job.runs.symbols + tally.count;
  uint32_t *const ended_counts = job.runs.counts + tally.count; /* run i writes entry i - 1 */
  uint64_t const room = job.runs.capacity;
  uint32_t const symbol_end =
      tally.count < room ? (uint32_t)min(room - tally.count, (uint64_t)run_count) : 0;
  uint32_t const count_end =
      tally.count <= room ? (uint32_t)min(room - tally.count + 1, (uint64_t)run_count) : 0;
  uint32_t const count_begin = tally.count > 0 ? 0 : 1; /* no run comes before run 0 */
  uint32_t const skew = (uint32_t)(tally.count + kWarp - 1) % kWarp;
  for (uint32_t i = threadIdx.x % kWarp; i < run_count + skew; i += kWarp) {
    if (i < skew) continue;
    uint32_t const run = i - skew, place = memory.places[run];
    uint32_t const count =
        run > 0 ? place - memory.places[run - 1] : (uint32_t)(first - tally.last) + place;
    if (run < symbol_end) run_symbols[run] = symbols[place];
    if (run >= count_begin && run < count_end) *(ended_counts + run - 1) = count;
  }
}

/* ---- the kernel ---- */

/* Publishes the tally of all tiles up to and including this one. The last tile's is the total, and
 * its last run ends where the symbols end. One thread calls. */
__device__ void finish_tally(const EncodeJob &job, uint32_t tile, const szg_run_tally &tally) {
  szg::publish_tally(job.tallies, tile, tally);
  if (tile != gridDim.x - 1) return;
  *job.runs.count = tally.count;
  if (tally.count <= job.runs.capacity)
    job.runs.counts[tally.count - 1] = (uint32_t)(job.symbol_count - tally.last);
}

template <class Symbol>
__global__ void __launch_bounds__(RunPolicy::kThreads, RunPolicy::kBlocksPerProcessor)
    tiles_encode_kernel(EncodeJob const job) {
  typedef TileShape<Symbol> Shape;
  __shared__ WarpMemory<Symbol> memories[RunPolicy::kWarps];
  __shared__ uint32_t taken_tile, shares[RunPolicy::kWarps];
  __shared__ szg_run_tally tally_of_others;
  uint32_t const warp = threadIdx.x / kWarp;
  WarpMemory<Symbol> &memory = memories[warp];
  if (threadIdx.x == 0) taken_tile = atomicAdd(job.tallies.ticket, 1u);
  __syncthreads(); /* the tile is known */
  uint32_t const tile = taken_tile, first_in_tile = warp * Shape::kWarpSymbols;
  uint64_t const tile_first = (uint64_t)tile * Shape::kSymbols;
  uint64_t first = tile_first + first_in_tile;
  stage_symbols(job, first, memory);
  WarpRuns<Symbol> const runs(job, first, memory);
  if (threadIdx.x % kWarp == 0) shares[warp] = runs.share(first_in_tile);
  __syncthreads(); /* all warps have counted */
  uint32_t share_before = 0, share = 0;
#pragma unroll
  for (uint32_t w = 0; w < RunPolicy::kWarps; w++) {
    if (w == warp) share_before = share;
    share = join_shares(share, shares[w]);
  }
  if (threadIdx.x == 0) szg::publish_share(job.tallies, tile, share);
  list_places(runs, 0, memory); /* while other blocks count */
  if (warp == 0) {
    szg_run_tally const others = szg::tally_before(job.tallies, tile, Shape::kSymbols);
    if (threadIdx.x == 0) {
      uint32_t const last = share & kShareLastMask;
      tally_of_others = others;
      finish_tally(
          job, tile,
          {others.count + (share >> kShareLastBits), last ? tile_first + last - 1 : others.last});
    }
  }
  __syncthreads(); /* the tally of the tiles before is known */
  uint32_t const last_before = share_before & kShareLastMask;
  szg_run_tally tally = tally_of_others;
  tally.count += share_before >> kShareLastBits;
  if (last_before) tally.last = tile_first + last_before - 1;
#pragma unroll
  for (uint32_t round = 0; round < Shape::kRounds; round++) {
    if (round > 0) list_places(runs, round, memory);
    write_runs(job, memory, round, runs.counts[round], first, tally);
    tally.count += runs.counts[round];
    if (runs.lasts[round]) tally.last = first + runs.lasts[round] - 1;
    first += kRound;
    __syncwarp(); /* the next round may overwrite the places */
  }
}

/* ---- launches ---- */

uint64_t tile_count_of(uint32_t symbol_bytes, uint64_t symbol_count) {
  return szg_div_up(symbol_count, symbol_bytes == 1 ? TileShape<uint8_t>::kSymbols
                                                    : TileShape<uint16_t>::kSymbols);
}

template <class Symbol>
szgpu_status launch_encoder(const EncodeJob &job, uint64_t tile_count, cudaStream_t stream) {
  auto const kernel = tiles_encode_kernel<Symbol>;
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  kernel<<<(unsigned)tile_count, RunPolicy::kThreads, 0, stream>>>(job);
  return szg_launched();
}

} // namespace

szgpu_status szg_run_encoder_carve_cuda(szg_arena *arena, uint32_t symbol_bytes,
                                        uint64_t symbol_count, szg_run_encoder_cuda *encoder) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  uint64_t const tile_count = tile_count_of(symbol_bytes, symbol_count);
  SZG_REQUIRE(tile_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  encoder->state_bytes = szg::tile_tallies_bytes(tile_count);
  encoder->states = szg_arena_take(arena, encoder->state_bytes, 1);
  return SZGPU_OK;
}

szgpu_status szg_runs_encode_cuda(const szg_run_encoder_cuda *encoder, uint32_t symbol_bytes,
                                  const void *symbols, uint64_t symbol_count,
                                  const szg_run_output_cuda *runs, struct CUstream_st *stream) {
  assert(symbol_bytes == 1 || symbol_bytes == 2);
  uint64_t const tile_count = tile_count_of(symbol_bytes, symbol_count);
  SZG_REQUIRE(tile_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  if (tile_count == 0) {
    SZG_TRY_CUDA(cudaMemsetAsync(runs->count, 0, sizeof *runs->count, stream));
    return SZGPU_OK;
  }
  assert(szg::tile_tallies_bytes(tile_count) <= encoder->state_bytes);
  SZG_TRY_CUDA(cudaMemsetAsync(encoder->states, 0, szg::tile_tallies_bytes(tile_count), stream));
  EncodeJob const job = {symbols, symbol_count, *runs,
                         szg::tile_tallies_in(encoder->states, tile_count)};
  return symbol_bytes == 1 ? launch_encoder<uint8_t>(job, tile_count, stream)
                           : launch_encoder<uint16_t>(job, tile_count, stream);
}
