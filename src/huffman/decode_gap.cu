/* decode_gap.cu - the linear layout decoded by a thread for each subsequence, begun by the gaps.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A team of four warps takes a sequence at a time, a lane a subsequence. The lane's words go to a
 * column of shared memory, whence it reads without conflicts wherever it stands. It goes through
 * them twice: first it only counts codes, by wide lookups; a scan of the counts then says where
 * each lane's codes go, and the second time the codes are put together in units of 16 bytes. A few
 * units of each lane wait in shared memory until a warp stores them, eight lanes for 128 bytes of
 * one lane's codes. So the room needed does not depend on how many codes there are.
 *
 * Sequences are classed by the codes that they give, and each class is a launch with queues that
 * suit it: where codes are short, many come of each lookup and the queues are longer.
 *
 * Moves: the stream and its side data read once, 2 bytes written for each code, 12 bytes written
 * and read for each sequence of 32,768 bits.
 */
#include <stddef.h>

#include <cub/cub.cuh>

#include "core/cuda_check.cuh"
#include "huffman/decode_words.cuh"

namespace {

using szg::bits_at;
using szg::block_memory;
using szg::CodeQueue;
using szg::count_codes;
using szg::DecodeTables;
using szg::gap_of;
using szg::kAllLanes;
using szg::kUnitCodes;
using szg::kWordRows;
using szg::shared_at;
using szg::shared_tables;
using szg::stage_words;
using szg::window_of;

struct GapPolicy {
  static constexpr unsigned kTeamWarps = 4;
  static constexpr unsigned kTeamThreads = 32 * kTeamWarps;
  static constexpr unsigned kClassThreads = 256; /* of the kernel that classes sequences */
};
static_assert(GapPolicy::kTeamThreads == SZG_SEQUENCE_SUBSEQUENCES, "a lane a subsequence");
static_assert(2 * SZG_MAX_CODE_BITS <= 32, "two lookups need no more bits than are read at once");

/* A class of sequences by their number of codes, and how it is decoded. */
template <class ShapeOf, unsigned kTeams, unsigned kBlocks>
struct SequenceClass {
  typedef ShapeOf Shape;
  static constexpr unsigned kMostTeams = kTeams; /* of a block; fewer where memory is short */
  static constexpr unsigned kBlocksPerProcessor = kBlocks;
};
/* Up to 8,192 codes in 32,768 bits, up to 16,384, and more: measured (docs/huffman.md). */
constexpr uint32_t kSparseCodes = 8192, kMediumCodes = 16384;
typedef SequenceClass<szg::QueueShape<8, 1>, 7, 1> SparseClass;
typedef SequenceClass<szg::QueueShape<8, 2>, 7, 1> MediumClass;
typedef SequenceClass<szg::QueueShape<8, 2>, 3, 2> DenseClass;
constexpr unsigned kClassCount = 3;

template <class Shape>
struct WarpMemory {
  uint32_t words[(kWordRows + 1) * 32];
  uint64_t queue[Shape::kBytes / sizeof(uint64_t)];
};
template <class Shape>
struct TeamMemory {
  uint32_t code_counts[2][GapPolicy::kTeamWarps]; /* of one sequence and of the next */
  WarpMemory<Shape> warps[GapPolicy::kTeamWarps];
  static_assert(sizeof(WarpMemory<Shape>) % 16 == 0, "tables and teams are aligned");
};

typedef cub::WarpScan<uint32_t> WarpScan;

/* ---- decoding ---- */

/* The long code that `bits` begin with. */
template <class Entry>
__device__ uint64_t long_entry(const uint16_t *symbols, uint32_t bits) {
  uint32_t const slot = szg::long_slot(shared_tables(), bits);
  if (Entry::kIsNarrow && slot < szg::kLongSlots) {
    uint32_t const code = shared_tables()->long_codes[slot];
    return Entry::of(code % szg::kNarrowSymbols, 1,
                     code / szg::kNarrowSymbols + szg::kWindowBits + 1);
  }
  uint32_t const length = szg::long_code_bits(shared_tables(), slot);
  return Entry::of(__ldg(symbols + szg::long_code_rank(shared_tables(), slot, length)), 1, length);
}

/* Decodes from `bit` on until the lane has all its units. The whole warp calls. */
template <class Entry, class Shape>
__device__ void decode_codes(const uint16_t *symbols, uint32_t warp_memory, uint32_t bit,
                             uint4 *units, CodeQueue<Entry, Shape> queue) {
  szg::UnitWriter<Shape> const writer(warp_memory + offsetof(WarpMemory<Shape>, queue), units);
  uint32_t const column = warp_memory + 4 * (threadIdx.x % 32);
  bool are_done = __all_sync(kAllLanes, queue.is_done());
  while (!are_done) {
#pragma unroll
    for (uint32_t i = 0; i < Shape::kPairCount; i++) {
      uint32_t const bits = bits_at(column, bit);
      uint64_t first = shared_tables()->entries[window_of(bits)];
      uint32_t rest = __funnelshift_l(0, bits, Entry::bits(first));
      uint64_t second = shared_tables()->entries[window_of(rest)];
      /* No bits: a long code. Where the first is one, the second is the same. */
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
  asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(GapPolicy::kTeamThreads) : "memory");
}

/* What a team's threads have in common. */
struct TeamWork {
  const szg_linear_input_cuda &input;
  const uint64_t *first_codes;
  uint64_t bit_count;
  const uint16_t *symbols;
  uint4 *units; /* of the codes to write */
  uint32_t team;
  uint32_t memory; /* place of its TeamMemory */
};

/* Where in its subsequence a thread's codes begin and end, as the gaps say. */
struct Stretch {
  uint32_t gap, limit; /* codes begin from gap on and before limit */
  uint32_t end;        /* of the last one */

  __device__ Stretch(const TeamWork &work, uint64_t subsequence) : gap(0), limit(0), end(0) {
    uint64_t const first_bit = subsequence * SZG_SUBSEQUENCE_BITS;
    if (first_bit >= work.bit_count) return;
    uint64_t const bits_left = work.bit_count - first_bit;
    bool const is_last = bits_left <= SZG_SUBSEQUENCE_BITS;
    gap = gap_of(work.input, subsequence);
    limit = is_last ? (uint32_t)bits_left : (uint32_t)SZG_SUBSEQUENCE_BITS;
    end = is_last ? limit : SZG_SUBSEQUENCE_BITS + gap_of(work.input, subsequence + 1);
  }
};

/* False: it is not what its side data says. half: of the two that code_counts has; they take turns,
 * so that a warp may begin with the next sequence while another still reads. */
template <class Entry, class Shape>
__device__ bool decode_sequence(const TeamWork &work, uint64_t sequence, uint32_t half) {
  uint32_t const thread = threadIdx.x % GapPolicy::kTeamThreads, warp = thread / 32;
  uint32_t const warp_memory =
      work.memory + offsetof(TeamMemory<Shape>, warps) + warp * sizeof(WarpMemory<Shape>);
  uint64_t const subsequence = sequence * SZG_SEQUENCE_SUBSEQUENCES + thread;
  Stretch const stretch(work, subsequence);
  uint64_t const first_code = work.first_codes[sequence];
  uint32_t const stated_count = work.input.sequence_codes[sequence];
  bool const is_zero = stage_words(work.input, subsequence, warp_memory);
  __syncwarp(); /* words complete */

  uint32_t const span = count_codes(warp_memory + 4 * (thread % 32), stretch.gap, stretch.limit);
  uint32_t const code_count = span >> szg::kSpanPlaceBits;
  bool is_sound =
      (span & szg::kSpanPlaceMask) == stretch.end && (is_zero || !shared_tables()->is_lone);
  uint32_t before, warp_count;
  WarpScan::TempStorage scan_memory; /* empty: it shuffles */
  WarpScan(scan_memory).ExclusiveSum(code_count, before, warp_count);
  uint32_t *const counts = shared_at<TeamMemory<Shape>>(work.memory)->code_counts[half];
  if (thread % 32 == 0) counts[warp] = warp_count;
  team_sync(work.team); /* all warps have counted */
  uint32_t sequence_count = 0;
#pragma unroll
  for (uint32_t w = 0; w < GapPolicy::kTeamWarps; w++) {
    before += w < warp ? counts[w] : 0;
    sequence_count += counts[w];
  }
  is_sound &= sequence_count == stated_count;

  uint32_t const first = (uint32_t)(first_code % kUnitCodes) + before;
  uint32_t const unit_limit =
      ((uint32_t)(first_code % kUnitCodes) + stated_count + kUnitCodes - 1) / kUnitCodes;
  uint32_t const queue_memory = warp_memory + offsetof(WarpMemory<Shape>, queue);
  decode_codes<Entry, Shape>(
      work.symbols, warp_memory, stretch.gap, work.units + first_code / kUnitCodes,
      CodeQueue<Entry, Shape>(queue_memory, first, first + code_count, unit_limit));
  return is_sound;
}

/* ---- the whole stream ---- */

/* Whether sizes and sums are as bit_count and code_count have them: what keeps all accesses within
 * the sections and the codes. */
__device__ bool sizes_agree(const szg_linear_input_cuda &input, const uint64_t *first_codes,
                            uint64_t bit_count) {
  uint64_t const subsequence_count = szg_subsequence_count(bit_count);
  uint64_t const last = input.sequence_count - 1;
  return bit_count > 0 && bit_count <= UINT64_MAX / 2 &&
         input.sequence_count == szg_sequence_count(bit_count) &&
         input.word_count == (bit_count + 31) / 32 &&
         input.gap_bytes == (subsequence_count + 1) / 2 &&
         first_codes[last] + input.sequence_codes[last] == input.code_count;
}

/* The first gap is 0, and so are the bits and the half of a byte that are left over at the ends. */
__device__ bool ends_are_sound(const szg_linear_input_cuda &input, uint64_t bit_count) {
  uint32_t const unused_bits = (uint32_t)(input.word_count * 32 - bit_count);
  uint32_t const unused_mask = (1u << unused_bits) - 1;
  bool const has_unused_gap = szg_subsequence_count(bit_count) % 2;
  return (input.gaps[0] & 15) == 0 && (input.words[input.word_count - 1] & unused_mask) == 0 &&
         !(has_unused_gap && input.gaps[input.gap_bytes - 1] >> 4);
}

/* Sequences to lists by class. Their order in a list follows no rule, and decides nothing. */
__global__ void __launch_bounds__(GapPolicy::kClassThreads)
    sequences_class_kernel(const uint16_t *code_counts, uint64_t sequence_count, uint32_t *lists,
                           uint32_t *list_counts) {
  uint64_t const i = (uint64_t)blockIdx.x * GapPolicy::kClassThreads + threadIdx.x;
  bool const is_there = i < sequence_count;
  uint32_t const codes = is_there ? code_counts[i] : 0;
  unsigned const own = codes <= kSparseCodes ? 0 : codes <= kMediumCodes ? 1 : 2;
  uint32_t const lane = threadIdx.x % 32;
  for (unsigned c = 0; c < kClassCount; c++) {
    unsigned const alike = __ballot_sync(kAllLanes, is_there && own == c);
    uint32_t first = 0;
    if (lane == 0 && alike) first = atomicAdd(&list_counts[c], (uint32_t)__popc(alike));
    first = __shfl_sync(kAllLanes, first, 0);
    uint32_t const place = first + __popc(alike & ((1u << lane) - 1));
    if (is_there && own == c) lists[c * sequence_count + place] = (uint32_t)i;
  }
}

/* The sequences of one class. */
struct SequenceList {
  const uint32_t *sequences;
  const uint32_t *count;
};

template <class Entry, class Class>
__global__ void __launch_bounds__(Class::kMostTeams *GapPolicy::kTeamThreads,
                                  Class::kBlocksPerProcessor)
    sequences_decode_kernel(szg_linear_input_cuda input, const uint64_t *first_codes,
                            SequenceList list, const szg_decode_book_cuda *book, uint4 *units,
                            szg_verdict *verdict) {
  typedef typename Class::Shape Shape;
  uint32_t const listed_count = *list.count;
  if (blockIdx.x >= listed_count) return; /* teams of a block begin at its number, or later */
  if (__syncthreads_or(verdict->bad_data != 0)) return;
  uint64_t const bit_count = *input.bit_count;
  if (!sizes_agree(input, first_codes, bit_count)) {
    verdict->bad_data = 1;
    return;
  }
  const uint4 *const tables = reinterpret_cast<const uint4 *>(&book->tables);
  for (uint32_t i = threadIdx.x; i < sizeof(DecodeTables) / sizeof(uint4); i += blockDim.x)
    block_memory[i] = tables[i];
  __syncthreads(); /* tables complete */

  uint32_t const team = threadIdx.x / GapPolicy::kTeamThreads;
  uint32_t const team_count = blockDim.x / GapPolicy::kTeamThreads;
  uint32_t const team_memory =
      szg::place_of(block_memory) + sizeof(DecodeTables) + team * sizeof(TeamMemory<Shape>);
  TeamWork const work = {input, first_codes, bit_count, book->symbols, units, team, team_memory};
  bool is_sound = blockIdx.x > 0 || threadIdx.x > 0 || ends_are_sound(input, bit_count);
  /* Teams of different blocks take neighbouring sequences, so that what is left over in the end is
   * spread over all multiprocessors. */
  uint32_t half = 0;
  for (uint64_t i = (uint64_t)team * gridDim.x + blockIdx.x; i < listed_count;
       i += (uint64_t)team_count * gridDim.x, half ^= 1)
    is_sound &= decode_sequence<Entry, Shape>(work, list.sequences[i], half);
  if (!is_sound) verdict->bad_data = 1;
}

struct CodeSum {
  __host__ __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a + b; }
};

} // namespace

/* With scratch NULL only *scratch_bytes is set. */
static cudaError_t scan_counts(void *scratch, size_t *scratch_bytes, const uint16_t *counts,
                               uint64_t *first_codes, uint64_t sequence_count,
                               cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveScan(scratch, *scratch_bytes, counts, first_codes, CodeSum(),
                                        uint64_t{0}, (int)sequence_count, stream);
}

szgpu_status szg_gap_decoder_carve_cuda(szg_arena *arena, uint64_t sequence_count,
                                        szg_gap_decoder_cuda *decoder) {
  SZG_REQUIRE(sequence_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  size_t scan_bytes = 0;
  SZG_TRY_CUDA(scan_counts(nullptr, &scan_bytes, nullptr, nullptr, sequence_count, nullptr));
  decoder->sequence_first_codes =
      (uint64_t *)szg_arena_take(arena, sequence_count, sizeof *decoder->sequence_first_codes);
  decoder->class_sequences = (uint32_t *)szg_arena_take(arena, kClassCount * sequence_count,
                                                        sizeof *decoder->class_sequences);
  decoder->class_counts =
      (uint32_t *)szg_arena_take(arena, kClassCount, sizeof *decoder->class_counts);
  decoder->scan_temp = szg_arena_take(arena, scan_bytes, 1);
  decoder->scan_temp_bytes = scan_bytes;
  return SZGPU_OK;
}

/* What the launches of a call have in common. */
struct DecodeCall {
  const szg_gap_decoder_cuda *decoder;
  const szg_decode_book_cuda *book;
  const szg_linear_input_cuda *input;
  uint16_t *codes;
  szg_verdict *verdict;
  cudaStream_t stream;
  int memory_limit, processor_count;
};

/* A class's sequences, if there are any: that is seen on the device. */
template <class Entry, class Class>
static szgpu_status launch_class(const DecodeCall &call, unsigned number) {
  size_t const team_bytes = sizeof(TeamMemory<typename Class::Shape>);
  unsigned teams = Class::kMostTeams;
  while (teams > 1 && sizeof(DecodeTables) + teams * team_bytes > (size_t)call.memory_limit)
    teams--;
  size_t const memory_bytes = sizeof(DecodeTables) + teams * team_bytes;
  auto const kernel = sequences_decode_kernel<Entry, Class>;
  SZG_TRY_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)memory_bytes));
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  uint64_t const sequence_count = call.input->sequence_count;
  SequenceList const list = {call.decoder->class_sequences + number * sequence_count,
                             call.decoder->class_counts + number};
  unsigned const blocks = szg_grid_blocks(
      sequence_count, 1, (unsigned)call.processor_count * Class::kBlocksPerProcessor);
  kernel<<<blocks, teams * GapPolicy::kTeamThreads, memory_bytes, call.stream>>>(
      *call.input, call.decoder->sequence_first_codes, list, call.book,
      reinterpret_cast<uint4 *>(call.codes), call.verdict);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

template <class Entry>
static szgpu_status launch_classes(const DecodeCall &call) {
  static_assert(kClassCount == 3, "one launch each");
  SZG_TRY((launch_class<Entry, SparseClass>(call, 0)));
  SZG_TRY((launch_class<Entry, MediumClass>(call, 1)));
  return launch_class<Entry, DenseClass>(call, 2);
}

szgpu_status szg_decode_gap_cuda(const szg_gap_decoder_cuda *decoder,
                                 const szg_decode_book_cuda *book, uint32_t symbol_count,
                                 const szg_linear_input_cuda *input, uint16_t *codes,
                                 szg_verdict *verdict, struct CUstream_st *stream) {
  uint64_t const sequence_count = input->sequence_count;
  SZG_REQUIRE(sequence_count <= INT32_MAX, SZGPU_UNSUPPORTED);
  if (sequence_count == 0) return SZGPU_OK;
  DecodeCall call = {decoder, book, input, codes, verdict, stream, 0, 0};
  int device = 0;
  SZG_TRY_CUDA(cudaGetDevice(&device));
  SZG_TRY_CUDA(
      cudaDeviceGetAttribute(&call.memory_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  SZG_TRY(szg_multiprocessor_count(&call.processor_count));
  size_t scan_bytes = decoder->scan_temp_bytes;
  SZG_TRY_CUDA(scan_counts(decoder->scan_temp, &scan_bytes, input->sequence_codes,
                           decoder->sequence_first_codes, sequence_count, stream));
  SZG_TRY_CUDA(cudaMemsetAsync(decoder->class_counts, 0,
                               kClassCount * sizeof *decoder->class_counts, stream));
  unsigned const blocks =
      (unsigned)((sequence_count + GapPolicy::kClassThreads - 1) / GapPolicy::kClassThreads);
  sequences_class_kernel<<<blocks, GapPolicy::kClassThreads, 0, stream>>>(
      input->sequence_codes, sequence_count, decoder->class_sequences, decoder->class_counts);
  SZG_TRY_LAUNCH();
  return symbol_count <= szg::kNarrowSymbols ? launch_classes<szg::NarrowEntry>(call)
                                             : launch_classes<szg::WideEntry>(call);
}
