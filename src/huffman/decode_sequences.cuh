/* decode_sequences.cuh - decodes sequences by one lane per subsequence, given where its codes
 * begin.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A team of four warps takes one sequence at a time, each lane one subsequence. The lane's words go
 * to a column of shared memory, so that lanes read without conflicts at any position. A scan of the
 * lanes' numbers of codes tells where each one's codes go, and the lanes join codes in units of 16
 * bytes. A few units of each lane wait in shared memory until the warp stores them, eight lanes for
 * 128 bytes of one lane's codes. So the room needed does not depend on the number of codes.
 *
 * Sequences are classed by their number of codes, and each class has a launch with queues that suit
 * it: if codes are short, each lookup gives many and the queues are longer.
 *
 * Decoders differ in their Side, which is what they know in addition to the bits:
 *
 *   input, sequence_codes              the stream; codes of each sequence, to be relied upon once
 *                                      sizes_agree
 *   bool sizes_agree(first_codes, bit_count) keeps all accesses in bounds bool
 *   ends_are_sound(bit_count) asked once Stretch enter(sequence, bit_count, warp_memory) puts the
 *   lane's words in its column
 */
#ifndef SZG_DECODE_SEQUENCES_CUH
#define SZG_DECODE_SEQUENCES_CUH

#include <stddef.h>

#include <cub/cub.cuh>

#include "core/cuda_check.cuh"
#include "huffman/decode_words.cuh"

namespace szg {

struct SequencePolicy {
  static constexpr unsigned kTeamWarps = 4;
  static constexpr unsigned kTeamThreads = 32 * kTeamWarps;
};
static_assert(SequencePolicy::kTeamThreads == SZG_SEQUENCE_SUBSEQUENCES, "a lane a subsequence");
static_assert(2 * SZG_MAX_CODE_BITS <= 32, "two lookups need no more bits than are read at once");

/* A class of sequences with similar numbers of codes, and how it is decoded. */
template <class ShapeOf, unsigned kTeams, unsigned kBlocks>
struct SequenceClass {
  typedef ShapeOf Shape;
  static constexpr unsigned kMostTeams = kTeams; /* per block; fewer if memory is short */
  static constexpr unsigned kBlocksPerProcessor = kBlocks;
};
/* Up to 8,192 codes in 32,768 bits, up to 16,384, and more: measured (docs/notebook.md). */
constexpr uint32_t kSparseCodes = 8192, kMediumCodes = 16384;
typedef SequenceClass<QueueShape<8, 1>, 7, 1> SparseClass;
typedef SequenceClass<QueueShape<8, 2>, 7, 1> MediumClass;
typedef SequenceClass<QueueShape<8, 2>, 3, 2> DenseClass;
constexpr unsigned kClassCount = 3;

template <class Shape>
struct WarpMemory {
  uint32_t words[(kWordRows + 1) * 32];
  uint64_t queue[Shape::kBytes / sizeof(uint64_t)];
};
template <class Shape>
struct TeamMemory {
  uint32_t code_counts[2][SequencePolicy::kTeamWarps]; /* for a sequence and for the next one */
  WarpMemory<Shape> warps[SequencePolicy::kTeamWarps];
  static_assert(sizeof(WarpMemory<Shape>) % 16 == 0, "tables and teams are aligned");
};

/* Where in its subsequence a lane's codes begin, how many, and whether they agree with the side. */
struct Stretch {
  uint32_t start, code_count;
  bool is_sound;
};

/* ---- decoding ---- */

/* The entry of the long code at the start of `bits`. */
template <class Entry>
__device__ uint64_t long_entry(const uint16_t *symbols, uint32_t bits) {
  uint32_t const slot = long_slot(shared_tables(), bits);
  if (Entry::kIsNarrow && slot < kLongSlots) {
    uint32_t const code = shared_tables()->long_codes[slot];
    return Entry::of(code % kNarrowSymbols, 1, code / kNarrowSymbols + kWindowBits + 1);
  }
  uint32_t const length = long_code_bits(shared_tables(), slot);
  return Entry::of(__ldg(symbols + long_code_rank(shared_tables(), slot, length)), 1, length);
}

/* Decodes from `bit` on until the lane has all its units. The whole warp calls. */
template <class Entry, class Output, class Shape>
__device__ void decode_codes(const uint16_t *symbols, uint32_t warp_memory, uint32_t bit,
                             typename Output::Unit *units, CodeQueue<Entry, Shape> queue) {
  UnitWriter<Shape, Output> const writer(warp_memory + offsetof(WarpMemory<Shape>, queue), units);
  uint32_t const column = warp_memory + 4 * (threadIdx.x % 32);
  bool are_done = __all_sync(kAllLanes, queue.is_done());
  while (!are_done) {
#pragma unroll
    for (uint32_t i = 0; i < Shape::kPairCount; i++) {
      uint32_t const bits = bits_at(column, bit);
      uint64_t first = shared_tables()->entries[window_of(bits)];
      uint32_t rest = bits_after(bits, Entry::bits(first));
      uint64_t second = shared_tables()->entries[window_of(rest)];
      /* No bits: a long code. If the first code is long, both lookups were the same. */
      if (Entry::bits(second) == 0) {
        if (Entry::bits(first) == 0) {
          first = long_entry<Entry>(symbols, bits);
          rest = bits << Entry::bits(first);
          second = shared_tables()->entries[window_of(rest)];
        }
        if (Entry::bits(second) == 0) second = long_entry<Entry>(symbols, rest);
      }
      queue.append(first);
      queue.append(second);
      bit += Entry::bits(first) + Entry::bits(second);
    }
    are_done = __all_sync(kAllLanes, queue.is_done());
    if (are_done || __any_sync(kAllLanes, queue.is_full())) queue.flush(writer);
  }
}

/* ---- a sequence ---- */

/* Waits for all threads of a team. */
__device__ __forceinline__ void team_sync(uint32_t team) {
  asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(SequencePolicy::kTeamThreads) : "memory");
}

/* What a team's threads share. */
template <class Side, class Output>
struct TeamWork {
  const Side &side;
  const uint64_t *first_codes;
  uint64_t bit_count;
  const uint16_t *symbols;
  typename Output::Unit *units; /* where codes are written */
  uint32_t team;
  uint32_t memory; /* place of the TeamMemory */
};

/* False if the sequence does not agree with the side. half: which half of code_counts to use; they
 * alternate, so that a warp may begin the next sequence while another still reads. */
template <class Entry, class Shape, class Side, class Output>
__device__ bool decode_sequence(const TeamWork<Side, Output> &work, uint64_t sequence,
                                uint32_t half) {
  uint32_t const thread = threadIdx.x % SequencePolicy::kTeamThreads, warp = thread / 32;
  uint32_t const warp_memory =
      work.memory + offsetof(TeamMemory<Shape>, warps) + warp * sizeof(WarpMemory<Shape>);
  uint64_t const first_code = work.first_codes[sequence];
  /* No more than there is room for: the archive may have changed since these were summed up. */
  uint32_t const stated_count = (uint32_t)min((uint64_t)work.side.sequence_codes[sequence],
                                              work.side.input.code_count - first_code);
  Stretch const stretch = work.side.enter(sequence, work.bit_count, warp_memory);
  uint32_t before, warp_count;
  typedef cub::WarpScan<uint32_t> WarpScan;
  typename WarpScan::TempStorage scan_memory; /* empty: the scan uses shuffles */
  WarpScan(scan_memory).ExclusiveSum(stretch.code_count, before, warp_count);
  uint32_t *const counts = shared_at<TeamMemory<Shape>>(work.memory)->code_counts[half];
  if (thread % 32 == 0) counts[warp] = warp_count;
  team_sync(work.team); /* all warps have counted */
  uint32_t sequence_count = 0;
#pragma unroll
  for (uint32_t w = 0; w < SequencePolicy::kTeamWarps; w++) {
    before += w < warp ? counts[w] : 0;
    sequence_count += counts[w];
  }

  uint32_t const first = (uint32_t)(first_code % kUnitCodes) + before;
  uint32_t const unit_limit =
      ((uint32_t)(first_code % kUnitCodes) + stated_count + kUnitCodes - 1) / kUnitCodes;
  uint32_t const queue_memory = warp_memory + offsetof(WarpMemory<Shape>, queue);
  decode_codes<Entry, Output, Shape>(
      work.symbols, warp_memory, stretch.start, work.units + first_code / kUnitCodes,
      CodeQueue<Entry, Shape>(queue_memory, first, first + stretch.code_count, unit_limit));
  return stretch.is_sound && sequence_count == stated_count;
}

/* ---- the whole stream ---- */

/* The sequences of one class. */
struct SequenceList {
  const uint32_t *sequences;
  const uint32_t *count;
};

template <class Entry, class Class, class Side, class Output>
__global__ void __launch_bounds__(Class::kMostTeams *SequencePolicy::kTeamThreads,
                                  Class::kBlocksPerProcessor)
    sequences_decode_kernel(Side side, const uint64_t *first_codes, SequenceList list,
                            const szg_decode_book_cuda *book, typename Output::Unit *units,
                            szg_verdict *verdict) {
  typedef typename Class::Shape Shape;
  uint32_t const listed_count = *list.count;
  if (blockIdx.x >= listed_count) return; /* a block's teams begin at its number or later */
  if (__syncthreads_or(verdict->bad_data != 0)) return;
  uint64_t const bit_count = *side.input.bit_count;
  if (!side.sizes_agree(first_codes, bit_count)) {
    verdict->bad_data = 1;
    return;
  }
  const uint4 *const tables = reinterpret_cast<const uint4 *>(&book->tables);
  for (uint32_t i = threadIdx.x; i < sizeof(DecodeTables) / sizeof(uint4); i += blockDim.x)
    block_memory[i] = tables[i];
  __syncthreads(); /* tables are complete */

  uint32_t const team = threadIdx.x / SequencePolicy::kTeamThreads;
  uint32_t const team_count = blockDim.x / SequencePolicy::kTeamThreads;
  uint32_t const team_memory =
      shared_address(block_memory) + sizeof(DecodeTables) + team * sizeof(TeamMemory<Shape>);
  TeamWork<Side, Output> const work = {side,  first_codes, bit_count,  book->symbols,
                                       units, team,        team_memory};
  bool is_sound = blockIdx.x > 0 || threadIdx.x > 0 || side.ends_are_sound(bit_count);
  /* Teams of different blocks take neighbouring sequences, so that the last ones are spread over
   * all multiprocessors. */
  uint32_t half = 0;
  for (uint64_t i = (uint64_t)team * gridDim.x + blockIdx.x; i < listed_count;
       i += (uint64_t)team_count * gridDim.x, half ^= 1)
    is_sound &= decode_sequence<Entry, Shape>(work, list.sequences[i], half);
  if (!is_sound) verdict->bad_data = 1;
}

/* ---- launchers ---- */

/* What the launches of a call share. */
template <class Side>
struct DecodeCall {
  Side side;
  const szg_gap_decoder_cuda *places; /* from szg_sequences_place_cuda */
  uint64_t sequence_count;
  const szg_decode_book_cuda *book;
  void *codes;
  szg_verdict *verdict;
  cudaStream_t stream;
  int memory_limit, processor_count;
};

/* Decodes a class's sequences. Only the device knows whether there are any. */
template <class Entry, class Class, class Output, class Side>
szgpu_status launch_class(const DecodeCall<Side> &call, unsigned number) {
  size_t const team_bytes = sizeof(TeamMemory<typename Class::Shape>);
  unsigned teams = Class::kMostTeams;
  while (teams > 1 && sizeof(DecodeTables) + teams * team_bytes > (size_t)call.memory_limit)
    teams--;
  size_t const memory_bytes = sizeof(DecodeTables) + teams * team_bytes;
  auto const kernel = sequences_decode_kernel<Entry, Class, Side, Output>;
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)memory_bytes));
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  SequenceList const list = {call.places->class_sequences + number * call.sequence_count,
                             call.places->class_counts + number};
  unsigned const blocks = szg_grid_blocks(
      call.sequence_count, 1, (unsigned)call.processor_count * Class::kBlocksPerProcessor);
  kernel<<<blocks, teams * SequencePolicy::kTeamThreads, memory_bytes, call.stream>>>(
      call.side, call.places->sequence_first_codes, list, call.book,
      static_cast<typename Output::Unit *>(call.codes), call.verdict);
  return szg_launched();
}

template <class Entry, class Output, class Side>
szgpu_status launch_classes(DecodeCall<Side> call) {
  SZG_TRY(szg_most_shared_bytes(&call.memory_limit));
  SZG_TRY(szg_multiprocessor_count(&call.processor_count));
  static_assert(kClassCount == 3, "one launch each");
  SZG_TRY((launch_class<Entry, SparseClass, Output>(call, 0)));
  SZG_TRY((launch_class<Entry, MediumClass, Output>(call, 1)));
  return launch_class<Entry, DenseClass, Output>(call, 2);
}

} // namespace szg

/* Finds where the codes of each sequence go, and which sequences are in each class. sequence_codes:
 * [sequence_count], on the device. */
szgpu_status szg_sequences_place_cuda(const szg_gap_decoder_cuda *places,
                                      const uint16_t *sequence_codes, uint64_t sequence_count,
                                      cudaStream_t stream) SZG_CHECKED;

#endif
