/* decode_hierarchical.cu - byte symbols by chained tables of 256 entries, 8 bytes a thread.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread holds its 8 bytes of the stream and the 4 after them in registers and goes through them
 * twice: first it counts the codes that begin there, then, after a scan over the block, it decodes
 * them to their places in a buffer in shared memory, whence the block stores them, 16 bytes of
 * values a thread at a time, merged with the rest of each value if there is one.
 *
 * A lookup is by one byte, so the tables are small enough to be there several times: lanes read
 * different copies, and so different banks. Codes of more than 8 bits, which are rare, are looked
 * up in memory. Blocks stay for many stretches of the stream, the tables with them.
 *
 * Moves: the stream, gaps (1/16 of it) and the rest of the values read once; the values written.
 */
#include <stddef.h>
#include <cub/cub.cuh>

#include "core/cuda_check.cuh"
#include "huffman/hierarchical_lookup.cuh"
#include "huffman/hierarchical_values.cuh"

namespace {

using szg::Bf16Output;
using szg::ByteOutput;
using szg::kAllLanes;
using szg::kNoCode;
using szg::kSpanBits;
using szg::kSpanCountBit;
using szg::kThreadBits;
using szg::place_of;
using szg::shared_at;

struct HierarchicalPolicy {
  static constexpr unsigned kThreads = SZG_HIERARCHICAL_BLOCK_THREADS;
  static constexpr unsigned kBlocks = 4; /* of a multiprocessor, if its memory has room */
  static constexpr uint32_t kCopies = 8; /* of the tables: 4 lanes read from one */
};
constexpr unsigned kWarps = HierarchicalPolicy::kThreads / 32;
static_assert(kWarps == 16, "a half-warp has the counts of all warps");

/* Of packs, as hierarchical.h has them. */
constexpr uint32_t kLookupBits = 8, kLookups = 3; /* of 32 bits, so that a longest code follows */
constexpr uint32_t kPackMost = 3 * kLookups;      /* symbols of a step */
constexpr uint32_t kPackBits = 31, kPackFirstBit = 5, kPackCountBit = 29;
static_assert(kLookups * kLookupBits <= kPackBits, "the bits of a step in one sum");
static_assert(kThreadBits + kLookups * kLookupBits <= kSpanBits, "bits and counts in one sum");

/* What a block has in shared memory. */
struct BlockMemory {
  uint32_t packs[256 * HierarchicalPolicy::kCopies];
  uint32_t spans[256 * HierarchicalPolicy::kCopies];
  uint4 symbols[HierarchicalPolicy::kThreads * kThreadBits / 16 + 1]; /* a byte each */
  uint32_t warp_counts[kWarps];
};

extern __shared__ uint4 hierarchical_memory[];
__device__ __forceinline__ BlockMemory *block_memory() {
  return reinterpret_cast<BlockMemory *>(hierarchical_memory);
}

/* ---- a thread's bits ---- */

__device__ uint32_t word_at(const szg_hierarchical_stream &stream, uint64_t index) {
  return index < stream.word_count ? __ldg(static_cast<const uint32_t *>(stream.words) + index) : 0;
}

struct ThreadWords : szg::StretchWords {
  /* The whole warp calls. */
  __device__ ThreadWords(const szg_hierarchical_stream &stream, uint64_t thread) {
    uint64_t const index = 2 * thread;
    if (index + 2 <= stream.word_count) {
      uint2 const both = __ldg(static_cast<const uint2 *>(stream.words) + thread);
      first = both.x;
      second = both.y;
    } else {
      first = word_at(stream, index);
      second = 0; /* beyond the end */
    }
    next = __shfl_down_sync(kAllLanes, first, 1);
    if (threadIdx.x % 32 == 31) next = word_at(stream, index + 2);
  }
};

/* Where in a thread's bits its codes begin and end, as the gaps say. */
struct Stretch {
  uint32_t gap, limit; /* codes begin from gap on and before limit */
  uint32_t end;        /* of the last one */

  /* The whole warp calls. */
  __device__ Stretch(const szg_hierarchical_stream &stream, uint64_t thread) : gap(0), limit(0) {
    uint64_t const first_bit = thread * kThreadBits;
    uint64_t const bits_left = stream.bit_count > first_bit ? stream.bit_count - first_bit : 0;
    bool const is_last = bits_left <= kThreadBits; /* or beyond it */
    if (bits_left > 0) {
      gap = szg_hierarchical_gap(stream.gaps, stream.gap_bits, thread);
      limit = is_last ? (uint32_t)bits_left : kThreadBits;
    }
    uint32_t next_gap = __shfl_down_sync(kAllLanes, gap, 1);
    if (threadIdx.x % 32 == 31 && !is_last)
      next_gap = szg_hierarchical_gap(stream.gaps, stream.gap_bits, thread + 1);
    end = is_last ? limit : kThreadBits + next_gap;
  }
};

/* ---- tables ---- */

/* A lane's copy of a table: place of its first entry. */
__device__ uint32_t own_copy(const uint32_t *table) {
  return place_of(table + threadIdx.x % HierarchicalPolicy::kCopies);
}
/* The entry of the byte that `bits` begin with. */
__device__ __forceinline__ uint32_t look_up(uint32_t copy, uint32_t bits) {
  uint32_t const byte = __byte_perm(bits, 0, 0x4443); /* one instruction, then one for the place */
  return *shared_at<uint32_t>(copy + byte * (HierarchicalPolicy::kCopies * sizeof(uint32_t)));
}
/* Bits less the first n % 32. */
__device__ __forceinline__ uint32_t bits_after(uint32_t bits, uint32_t n) {
  return __funnelshift_l(0, bits, n);
}

__device__ void fill_tables(const szg_hierarchical_tables *tables) {
  BlockMemory *const memory = block_memory();
  for (uint32_t i = threadIdx.x; i < 256 * HierarchicalPolicy::kCopies;
       i += HierarchicalPolicy::kThreads) {
    memory->packs[i] = __ldg(&tables->packs[i / HierarchicalPolicy::kCopies]);
    memory->spans[i] = __ldg(&tables->spans[i / HierarchicalPolicy::kCopies]);
  }
}

/* ---- first phase: counting ---- */

/* The codes that begin in a stretch: where they end, and from kSpanCountBit on their number. */
__device__ uint32_t count_codes(const szg_hierarchical_tables *tables, const ThreadWords &words,
                                const Stretch &stretch, bool *is_sound) {
  uint32_t const copy = own_copy(block_memory()->spans);
  uint32_t span = stretch.gap; /* and above the count what borders add up to, which is dropped */
  int const last_step = (int)stretch.limit - (int)(kLookups * kLookupBits);
  while ((int)(span & kSpanBits) <= last_step) {
    uint32_t const bits = words.bits_at(span & kSpanBits);
    uint32_t const first = look_up(copy, bits);
    uint32_t const rest = bits_after(bits, first);
    uint32_t const second = look_up(copy, rest);
    uint32_t const third = look_up(copy, bits_after(rest, second));
    span += first + second + third;
    /* A long code stops a step: what follows it is the same, 0. */
    if (third == 0) span += szg::chained_span(tables, words.bits_at(span & kSpanBits), is_sound);
  }
  while ((span & kSpanBits) < stretch.limit) {
    uint32_t const bits = words.bits_at(span & kSpanBits), next = look_up(copy, bits);
    span += next == 0 ? szg::chained_span(tables, bits, is_sound)
                      : szg::cut_span(next, stretch.limit - (span & kSpanBits));
  }
  return span & 0xFFFF;
}

/* Codes of the threads before this one, and of the block. The whole block calls. */
struct BlockCounts {
  uint32_t before, all;

  __device__ explicit BlockCounts(uint32_t count) {
    typedef cub::WarpScan<uint32_t> WarpScan;
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t *const warp_counts = block_memory()->warp_counts;
    WarpScan::TempStorage scan_memory; /* empty: it shuffles */
    uint32_t warp_count;
    WarpScan(scan_memory).ExclusiveSum(count, before, warp_count);
    if (lane == 0) warp_counts[warp] = warp_count;
    __syncthreads(); /* all warps have counted, and stored what the buffer had */
    uint32_t const other = warp_counts[lane % kWarps];
    uint32_t both = other << 16 | (lane % kWarps < warp ? other : 0);
#pragma unroll
    for (int step = kWarps / 2; step > 0; step /= 2) both += __shfl_xor_sync(kAllLanes, both, step);
    before += both & 0xFFFF;
    all = both >> 16;
  }
};
static_assert(HierarchicalPolicy::kThreads * kThreadBits <= 0xFFFF, "two counts in one word");

/* ---- second phase: symbols to the buffer ---- */

/* The pack's symbols at places from `place` on, and in places that it has none for something that
 * will be written over. kIsChecked: nothing from `end` on. */
template <bool kIsChecked>
__device__ __forceinline__ void put_pack(uint32_t pack, uint32_t place, uint32_t end) {
#pragma unroll
  for (uint32_t i = 0; i < 3; i++)
    if (!kIsChecked || place + i < end)
      *shared_at<uint8_t>(place + i) = (uint8_t)(pack >> (kPackFirstBit + 8 * i));
}

struct SymbolWriter {
  const szg_hierarchical_tables *tables;
  const ThreadWords &words;
  uint32_t copy;
  uint32_t at;    /* bit of the next code */
  uint32_t place; /* of the next symbol, in shared memory */

  /* As many packs as 32 bits have for certain, and a longer code where one stops them. */
  template <bool kIsChecked>
  __device__ __forceinline__ void step(uint32_t end) {
    uint32_t bits = words.bits_at(at), bit_sum = 0, packs[kLookups];
#pragma unroll
    for (uint32_t i = 0; i < kLookups; i++) {
      packs[i] = look_up(copy, bits);
      bits = bits_after(bits, packs[i]);
      bit_sum += packs[i];
    }
#pragma unroll
    for (uint32_t i = 0; i < kLookups; i++) {
      put_pack<kIsChecked>(packs[i], place, end);
      place += packs[i] >> kPackCountBit;
    }
    at += bit_sum & kPackBits;
    if (packs[kLookups - 1] == 0) {
      uint32_t const entry = szg::chained_entry(tables, words.bits_at(at));
      uint32_t const code = entry ? entry : kNoCode;
      if (!kIsChecked || place < end) *shared_at<uint8_t>(place) = (uint8_t)code;
      place++;
      at += code >> 8;
    }
  }

  __device__ void write_until(uint32_t end) {
    while (place + kPackMost <= end) step<false>(end);
    while (place < end) step<true>(end);
  }
};

/* ---- values ---- */

/* Values first .. first + count - 1, whose symbols are in the buffer from place first % kUnitValues
 * on. The whole block calls. */
template <class Output>
__device__ void store_values(const Output &output, uint64_t first, uint32_t count) {
  uint32_t const symbols = place_of(block_memory()->symbols);
  uint32_t const begin = (uint32_t)(first % Output::kUnitValues), end = begin + count;
  uint64_t const origin = first - begin;
  for (uint32_t i = threadIdx.x * Output::kUnitValues; i < end;
       i += HierarchicalPolicy::kThreads * Output::kUnitValues) {
    if (i >= begin && i + Output::kUnitValues <= end) {
      output.store_unit(origin + i, symbols + i);
      continue;
    }
    uint32_t const last = min(i + Output::kUnitValues, end);
#pragma unroll 1
    for (uint32_t k = max(i, begin); k < last; k++) output.store(origin + k, symbols + k);
  }
}

/* ---- a block's stretch of the stream ---- */

/* Where its values go, as positions say; none, where they contradict each other. */
struct BlockValues {
  uint64_t first, count;
  bool is_sound;

  __device__ BlockValues(const szg_hierarchical_stream &stream, uint64_t block,
                         uint64_t block_count) {
    first = szg_hierarchical_position(stream.positions, stream.position_bytes, block);
    uint64_t const end =
        szg_hierarchical_position(stream.positions, stream.position_bytes, block + 1);
    is_sound = first <= end && end <= stream.code_count && (block > 0 || first == 0) &&
               (block + 1 < block_count || end == stream.code_count);
    count = is_sound ? end - first : 0;
  }
};

/* False: it is not what its side data says. */
template <class Output>
__device__ bool decode_block(const szg_hierarchical_tables *tables,
                             const szg_hierarchical_stream &stream, const Output &output,
                             uint64_t block, uint64_t block_count) {
  uint64_t const thread = block * HierarchicalPolicy::kThreads + threadIdx.x;
  ThreadWords const words(stream, thread);
  Stretch const stretch(stream, thread);
  BlockValues const values(stream, block, block_count);
  bool is_sound = values.is_sound && (thread > 0 || stretch.gap == 0);

  uint32_t const span = count_codes(tables, words, stretch, &is_sound);
  uint32_t const count = span >> kSpanCountBit;
  is_sound &= (span & kSpanBits) == stretch.end;
  BlockCounts const counts(count);
  is_sound &= counts.all == values.count;

  uint32_t const begin = place_of(block_memory()->symbols) +
                         (uint32_t)(values.first % Output::kUnitValues) + counts.before;
  SymbolWriter writer = {tables, words, own_copy(block_memory()->packs), stretch.gap, begin};
  writer.write_until(begin + count);
  __syncthreads(); /* all symbols are in the buffer */
  store_values(output, values.first, (uint32_t)min((uint64_t)counts.all, values.count));
  return is_sound;
}

template <class Output>
__global__ void __launch_bounds__(HierarchicalPolicy::kThreads, HierarchicalPolicy::kBlocks)
    blocks_decode_kernel(const szg_hierarchical_tables *tables, szg_hierarchical_stream stream,
                         szg_hierarchical_output output, uint64_t block_count,
                         szg_verdict *verdict) {
  if (__syncthreads_or(verdict->bad_data != 0)) return;
  fill_tables(tables);
  __syncthreads(); /* tables complete */
  bool is_sound = true;
  for (uint64_t block = blockIdx.x; block < block_count; block += gridDim.x)
    is_sound &= decode_block(tables, stream, Output{output}, block, block_count);
  if (!is_sound) verdict->bad_data = 1;
}

} // namespace

template <class Output>
static szgpu_status launch_blocks(const szg_hierarchical_tables *tables,
                                  const szg_hierarchical_stream *stream,
                                  const szg_hierarchical_output *output, szg_verdict *verdict,
                                  cudaStream_t cuda_stream) {
  auto const kernel = blocks_decode_kernel<Output>;
  uint64_t const block_count = szg_hierarchical_block_count(stream->bit_count);
  int processors = 0, blocks_of_one = 0;
  SZG_TRY(szg_multiprocessor_count(&processors));
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)sizeof(BlockMemory)));
  SZG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxShared));
  SZG_TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks_of_one, kernel, (int)HierarchicalPolicy::kThreads, sizeof(BlockMemory)));
  unsigned const most_blocks = (unsigned)processors * (unsigned)(blocks_of_one ? blocks_of_one : 1);
  kernel<<<szg_grid_blocks(block_count, 1, most_blocks), HierarchicalPolicy::kThreads,
           sizeof(BlockMemory), cuda_stream>>>(tables, *stream, *output, block_count, verdict);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_decode_hierarchical_cuda(const szg_hierarchical_tables *tables,
                                          const szg_hierarchical_stream *stream,
                                          const szg_hierarchical_output *output,
                                          szg_verdict *verdict, struct CUstream_st *cuda_stream) {
  SZG_REQUIRE(stream->bit_count <= UINT64_MAX / 2, SZGPU_BAD_DATA);
  SZG_REQUIRE(stream->word_count == szg_div_up(stream->bit_count, 32), SZGPU_BAD_DATA);
  if (stream->bit_count > 0)
    return output->rest ? launch_blocks<Bf16Output>(tables, stream, output, verdict, cuda_stream)
                        : launch_blocks<ByteOutput>(tables, stream, output, verdict, cuda_stream);
  if (stream->code_count > 0) /* no bits for them */
    SZG_TRY_CUDA(cudaMemsetAsync(&verdict->bad_data, 1, sizeof verdict->bad_data, cuda_stream));
  return SZGPU_OK;
}
