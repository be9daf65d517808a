/* encode_linear.cu - encodes codes as one bitstream with gap array and code counts of sequences.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile, twice. First it adds up code lengths, and a scan over the tiles gives where
 * each begins. Then it takes the tile's codes 512 at a time, 16 per lane, joins their bits in
 * registers and in a few shared words, and stores whole words. Words that tiles share are zeroed
 * before, and warps OR to them. If a lane's codes reach the border of a subsequence, the lane notes
 * the gap.
 *
 * Moves: reads 2 bytes per code, twice; writes the stream; for each 32 bytes of it, writes, reads
 * and packs one byte of gaps; for each tile, writes, scans and reads 8 bytes twice, and writes 2.
 */
#include "huffman/huffman.h"

#include <cub/device/device_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include "core/bit_writer.cuh"
#include "core/cuda_check.cuh"

namespace {

template <int threads, unsigned blocks_per_processor>
struct Policy {
  static constexpr int kThreads = threads;
  static constexpr unsigned kBlocksPerProcessor = blocks_per_processor;
};
typedef Policy<512, 4> MeasurePolicy;
typedef Policy<256, 4> LinearEncodePolicy;
typedef Policy<256, 8> SideDataPolicy; /* for the short kernels before and after */

constexpr uint32_t kLoadsAhead = 4; /* 16-byte loads in flight, of a lane that measures */
typedef cub::WarpScan<uint32_t> WarpScan;
typedef cub::WarpReduce<uint32_t> WarpReduce;

constexpr uint32_t kWarp = 32;
constexpr uint32_t kWindow = 4096; /* symbols looked up in shared memory, the rest in the table */
constexpr uint32_t kOctet = 8;     /* codes of a 16-byte load */
constexpr uint32_t kLaneCodes = 2 * kOctet;
constexpr uint32_t kStepCodes = kWarp * kLaneCodes;
/* A step's bits, after up to 31 of the word before; the last code may reach into one more. */
constexpr uint32_t kStepWords = kStepCodes * SZG_MAX_CODE_BITS / 32 + 1;

static_assert(kLaneCodes * SZG_MAX_CODE_BITS <= SZG_SUBSEQUENCE_BITS,
              "a lane's codes cross one border of subsequences at most");
static_assert(kLaneCodes % 4 == 0 && 4 * SZG_MAX_CODE_BITS <= 64, "codes are joined by four");

/* ---- tables of symbols ---- */

struct CodeLength {
  typedef uint8_t Entry;
  static __device__ Entry of(uint32_t table_entry) { return (Entry)(table_entry >> 16); }
};

/* The code in the high half, left-aligned, and its length in the low half. 0: no code, no bits. */
struct AlignedCode {
  typedef uint32_t Entry;
  static __device__ Entry of(uint32_t table_entry) {
    uint32_t const length = table_entry >> 16;
    return (uint32_t)((uint64_t)(table_entry & 0xFFFF) << (32 - length)) | length;
  }
};
constexpr uint32_t kCodeHalf = 0xFFFF0000u;
constexpr uint32_t kLengthLimit = 1 << 16; /* sums of entries are sums of lengths modulo this */

/* is_whole: all symbols are in the window. */
template <class Form, bool is_whole>
struct SymbolTable {
  const uint32_t *table; /* made by szg_encoder_table */
  typename Form::Entry *window;
  uint32_t window_first;

  /* The whole block calls; a barrier must follow. */
  __device__ SymbolTable(const uint32_t *entries, uint32_t symbol_count,
                         typename Form::Entry *shared_window)
      : table(entries),
        window(shared_window),
        window_first(is_whole ? 0 : (symbol_count - kWindow) / 2) {
    uint32_t const window_count = is_whole ? symbol_count : kWindow;
    for (uint32_t i = threadIdx.x; i < window_count; i += blockDim.x)
      window[i] = Form::of(table[window_first + i]);
  }

  __device__ typename Form::Entry operator[](uint32_t symbol) const {
    uint32_t const place = symbol - window_first; /* huge below the window */
    return is_whole || place < kWindow ? window[place] : Form::of(table[symbol]);
  }
};

__device__ uint32_t symbol_of(const uint4 &octet, uint32_t i) {
  uint32_t const pairs[kOctet / 2] = {octet.x, octet.y, octet.z, octet.w};
  return pairs[i / 2] >> 16 * (i % 2) & 0xFFFF;
}

/* ---- a tile's codes ---- */

/* Codes are loaded by aligned octets; slots are counted from the octet with the tile's first. */
struct TileSlots {
  const uint16_t *codes; /* at slot 0 */
  uint64_t first_code;   /* index of slot 0's code */
  uint32_t begin, end;   /* the tile's slots */
};

__device__ TileSlots slots_of(const szg_grid &grid, uint64_t tile_index, const uint16_t *codes) {
  szg_tile const tile = szg_tile_at(&grid, tile_index);
  uint32_t const begin = (uint32_t)(tile.first_code % kOctet);
  uint64_t const first_code = tile.first_code - begin;
  return {codes + first_code, first_code, begin, begin + tile.value_count};
}

/* The octet at slot; codes beyond the tile are 0 and not read, because there may be none. */
__device__ uint4 load_octet(const TileSlots &slots, uint32_t slot) {
  if (slot + kOctet <= slots.end) return *reinterpret_cast<const uint4 *>(slots.codes + slot);
  uint32_t pairs[kOctet / 2] = {};
  if (slot < slots.end) {
#pragma unroll
    for (uint32_t i = 0; i < kOctet; i++)
      if (slot + i < slots.end) pairs[i / 2] |= (uint32_t)slots.codes[slot + i] << 16 * (i % 2);
  }
  return make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

/* ---- joining bits ---- */

/* The bits of four codes, left-aligned. */
struct Quad {
  uint64_t bits;
  uint32_t bit_count;
};

__device__ Quad join(const uint32_t *entries) {
  uint32_t const early = (entries[0] & kCodeHalf) | (entries[1] & kCodeHalf) >> entries[0] % 32;
  uint32_t const late = (entries[2] & kCodeHalf) | (entries[3] & kCodeHalf) >> entries[2] % 32;
  uint32_t const early_bits = (entries[0] + entries[1]) % kLengthLimit;
  uint32_t const late_bits = (entries[2] + entries[3]) % kLengthLimit;
  return {(uint64_t)early << 32 | ((uint64_t)late << 32) >> early_bits, early_bits + late_bits};
}

/* ORs a quad to the words from bit `at` on. */
__device__ void put_quad(const Quad &quad, uint32_t at, uint32_t *words) {
  uint32_t const high = (uint32_t)(quad.bits >> 32), low = (uint32_t)quad.bits;
  uint32_t const end = at % 32 + quad.bit_count;
  uint32_t *const word = words + at / 32;
  atomicOr(word, high >> at % 32);
  if (end > 32) atomicOr(word + 1, __funnelshift_r(low, high, at));
  if (end > 64) atomicOr(word + 2, szg::bits_in_next_word(low, at));
}

/* ---- encoding a tile ---- */

/* Kernel parameters. */
struct LinearEncodeJob {
  szg_linear_encoder_cuda encoder;
  szg_linear_output_cuda output;
  const uint16_t *codes;
  uint32_t symbol_count;
  uint64_t subsequence_count;
};

/* Looks up the entries of a lane's codes; codes of other tiles get 0. */
template <class Table>
__device__ void look_up(const Table &table, const TileSlots &slots, uint32_t slot,
                        const uint4 (&octets)[2], uint32_t (&entries)[kLaneCodes]) {
#pragma unroll
  for (uint32_t i = 0; i < kLaneCodes; i++)
    entries[i] = table[symbol_of(octets[i / kOctet], i % kOctet)];
  if (slots.begin <= slot && slot + kLaneCodes <= slots.end) return;
#pragma unroll
  for (uint32_t i = 0; i < kLaneCodes; i++)
    if (slot + i < slots.begin || slot + i >= slots.end) entries[i] = 0;
}

/* Notes the border between subsequences that a lane's codes reach, if there is one. The codes begin
 * with number first_code at bit `start`. The last code before the border reaches it. */
__device__ void note_border(const LinearEncodeJob &job, const uint32_t (&entries)[kLaneCodes],
                            uint64_t first_code, uint64_t start, uint32_t bit_count) {
  uint32_t const distance = SZG_SUBSEQUENCE_BITS - (uint32_t)(start % SZG_SUBSEQUENCE_BITS);
  uint64_t const subsequence = start / SZG_SUBSEQUENCE_BITS + 1;
  if (bit_count < distance || subsequence >= job.subsequence_count) return;
  uint32_t end = 0, code_count = 0;
  uint32_t quad[4] = {entries[0], entries[1], entries[2], entries[3]};
#pragma unroll
  for (uint32_t i = 4; i < kLaneCodes; i += 4) {
    uint32_t const quad_end = end + (quad[0] + quad[1] + quad[2] + quad[3]) % kLengthLimit;
    if (quad_end >= distance) continue; /* true for all further i too */
    end = quad_end, code_count = i;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) quad[k] = entries[i + k];
  }
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    if (end >= distance) continue;
    end += quad[k] % kLengthLimit, code_count++;
  }
  job.encoder.gaps[subsequence] = (uint8_t)(end - distance);
  if (subsequence % SZG_SEQUENCE_SUBSEQUENCES == 0)
    job.encoder.sequence_codes[subsequence / SZG_SEQUENCE_SUBSEQUENCES] = first_code + code_count;
}

/* Stores a warp's complete words and keeps the last, begun one as the first. first_word: where the
 * words go in the stream; shared_word: the word that the tile shares with earlier tiles. */
__device__ void flush_words(const LinearEncodeJob &job, uint32_t *buffer, uint32_t word_count,
                            uint64_t first_word, uint64_t shared_word) {
  uint32_t const lane = threadIdx.x % kWarp;
  for (uint32_t i = lane; i < word_count; i += kWarp) {
    uint32_t const bits = buffer[i];
    buffer[i] = 0;
    if (first_word + i == shared_word)
      atomicOr(&job.output.words[first_word + i], bits);
    else
      job.output.words[first_word + i] = bits;
  }
  if (lane == 0 && word_count > 0) buffer[0] = buffer[word_count], buffer[word_count] = 0;
}

/* buffer: the warp's kStepWords words, which are 0 before and after. The whole warp calls. */
template <class Table>
__device__ void encode_tile(const LinearEncodeJob &job, const Table &table, const TileSlots &slots,
                            uint64_t first_bit, uint32_t *buffer, WarpScan::TempStorage &scan) {
  constexpr uint64_t kNoWord = UINT64_MAX;
  uint64_t const shared_word = first_bit % 32 ? first_bit / 32 : kNoWord;
  uint32_t const lane = threadIdx.x % kWarp;
  uint32_t slot = lane * kLaneCodes;
  uint64_t bit = first_bit; /* where the step begins */
  uint4 octets[2] = {load_octet(slots, slot), load_octet(slots, slot + kOctet)};
  for (uint32_t step = 0; step < slots.end; step += kStepCodes, slot += kStepCodes) {
    uint4 const next[2] = {load_octet(slots, slot + kStepCodes),
                           load_octet(slots, slot + kStepCodes + kOctet)};
    uint32_t entries[kLaneCodes];
    look_up(table, slots, slot, octets, entries);
    uint32_t lane_bits = 0, bits_before, step_bits;
#pragma unroll
    for (uint32_t i = 0; i < kLaneCodes; i++) lane_bits += entries[i];
    lane_bits %= kLengthLimit;
    WarpScan(scan).ExclusiveSum(lane_bits, bits_before, step_bits);
    note_border(job, entries, slots.first_code + slot, bit + bits_before, lane_bits);
    uint32_t const begun_bits = (uint32_t)(bit % 32);
    uint32_t at = begun_bits + bits_before;
#pragma unroll
    for (uint32_t i = 0; i < kLaneCodes; i += 4) {
      Quad const quad = join(entries + i);
      put_quad(quad, at, buffer);
      at += quad.bit_count;
    }
    __syncwarp(); /* all bits are in the buffer */
    flush_words(job, buffer, (begun_bits + step_bits) / 32, bit / 32, shared_word);
    __syncwarp(); /* the buffer has only the next step's begun bits */
    bit += step_bits;
    octets[0] = next[0], octets[1] = next[1];
  }
  if (lane == 0 && bit % 32 != 0) {
    atomicOr(&job.output.words[bit / 32], buffer[0]);
    buffer[0] = 0;
  }
  __syncwarp(); /* the buffer is empty for the next tile */
}

/* ---- kernels ---- */

template <bool is_whole>
__global__ void __launch_bounds__(MeasurePolicy::kThreads)
    tiles_measure_kernel(szg_grid const grid, LinearEncodeJob const job) {
  constexpr uint32_t kWarps = MeasurePolicy::kThreads / kWarp;
  __shared__ uint8_t window[kWindow];
  __shared__ WarpReduce::TempStorage sums[kWarps];
  SymbolTable<CodeLength, is_whole> const lengths(job.encoder.table, job.symbol_count, window);
  __syncthreads(); /* the window is complete */
  uint32_t const lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint64_t const warp_count = (uint64_t)gridDim.x * kWarps;
  if (blockIdx.x == 0 && threadIdx.x == 0) job.encoder.tile_first_bits[0] = 0;

  for (uint64_t t = (uint64_t)blockIdx.x * kWarps + warp; t < grid.tile_count; t += warp_count) {
    TileSlots const slots = slots_of(grid, t, job.codes);
    /* Octets with codes of this tile only, and the codes before and after them. */
    uint32_t const head_end = min(slots.begin ? kOctet : 0u, slots.end);
    uint32_t const tail = max(slots.end / kOctet * kOctet, head_end);
    uint32_t bits = 0;
    if (slots.begin + lane < head_end) bits += lengths[slots.codes[slots.begin + lane]];
    if (tail + lane < slots.end) bits += lengths[slots.codes[tail + lane]];
    for (uint32_t slot = head_end + lane * kOctet; slot < tail;
         slot += kLoadsAhead * kWarp * kOctet) {
      uint4 loaded[kLoadsAhead] = {};
#pragma unroll
      for (uint32_t i = 0; i < kLoadsAhead; i++)
        if (slot + i * kWarp * kOctet < tail)
          loaded[i] = *reinterpret_cast<const uint4 *>(slots.codes + slot + i * kWarp * kOctet);
#pragma unroll
      for (uint32_t i = 0; i < kLoadsAhead; i++)
        if (slot + i * kWarp * kOctet < tail)
#pragma unroll
          for (uint32_t k = 0; k < kOctet; k++) bits += lengths[symbol_of(loaded[i], k)];
    }
    bits = WarpReduce(sums[warp]).Sum(bits);
    if (lane == 0) {
      job.encoder.tile_first_bits[t + 1] = bits; /* the scan is in place */
      job.output.tile_bits[t] = (uint16_t)(bits - (slots.end - slots.begin));
    }
    __syncwarp(); /* the sum's storage is free again */
  }
}

/* Zeroes the words that tiles share, and notes the first gap and code of the stream. */
__global__ void __launch_bounds__(SideDataPolicy::kThreads)
    stream_begin_kernel(LinearEncodeJob const job, uint64_t tile_count) {
  uint64_t const thread = (uint64_t)blockIdx.x * SideDataPolicy::kThreads + threadIdx.x;
  uint64_t const stride = (uint64_t)gridDim.x * SideDataPolicy::kThreads;
  for (uint64_t t = thread; t < tile_count; t += stride) {
    uint64_t const end = job.encoder.tile_first_bits[t + 1];
    if (end % 32 != 0) job.output.words[end / 32] = 0;
  }
  if (thread == 0) job.encoder.gaps[0] = 0, job.encoder.sequence_codes[0] = 0;
}

template <bool is_whole>
__global__ void __launch_bounds__(LinearEncodePolicy::kThreads,
                                  LinearEncodePolicy::kBlocksPerProcessor)
    tiles_encode_kernel(szg_grid const grid, LinearEncodeJob const job) {
  constexpr uint32_t kWarps = LinearEncodePolicy::kThreads / kWarp;
  __shared__ uint32_t window[kWindow];
  __shared__ uint32_t buffers[kWarps][kStepWords];
  __shared__ WarpScan::TempStorage scans[kWarps];
  SymbolTable<AlignedCode, is_whole> const table(job.encoder.table, job.symbol_count, window);
  uint32_t const lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (uint32_t i = lane; i < kStepWords; i += kWarp) buffers[warp][i] = 0;
  __syncthreads(); /* window and buffers are ready */
  uint64_t const warp_count = (uint64_t)gridDim.x * kWarps;
  for (uint64_t t = (uint64_t)blockIdx.x * kWarps + warp; t < grid.tile_count; t += warp_count)
    encode_tile(job, table, slots_of(grid, t, job.codes), job.encoder.tile_first_bits[t],
                buffers[warp], scans[warp]);
}

/* Packs gaps to four bits each; turns first codes into numbers of codes. */
__global__ void __launch_bounds__(SideDataPolicy::kThreads)
    side_data_pack_kernel(LinearEncodeJob const job, uint64_t code_count) {
  uint64_t const thread = (uint64_t)blockIdx.x * SideDataPolicy::kThreads + threadIdx.x;
  uint64_t const stride = (uint64_t)gridDim.x * SideDataPolicy::kThreads;
  const uint8_t *const gaps = job.encoder.gaps;
  for (uint64_t i = 2 * thread; i < job.subsequence_count; i += 2 * stride) {
    uint32_t const second = i + 1 < job.subsequence_count ? gaps[i + 1] : 0;
    job.output.gaps[i / 2] = (uint8_t)(gaps[i] | second << 4);
  }
  const uint64_t *const first_codes = job.encoder.sequence_codes;
  uint64_t const sequence_count =
      (job.subsequence_count + SZG_SEQUENCE_SUBSEQUENCES - 1) / SZG_SEQUENCE_SUBSEQUENCES;
  for (uint64_t i = thread; i < sequence_count; i += stride) {
    uint64_t const end = i + 1 < sequence_count ? first_codes[i + 1] : code_count;
    job.output.sequence_codes[i] = (uint16_t)(end - first_codes[i]);
  }
}

/* ---- launches ---- */

/* Turns tiles' bits into where each tile begins; without `scratch`, only sets *scratch_bytes. */
cudaError_t scan_tile_bits(void *scratch, size_t *scratch_bytes, uint64_t *bits,
                           uint64_t tile_count, cudaStream_t stream) {
  return cub::DeviceScan::InclusiveSum(scratch, *scratch_bytes, bits, bits, (int)tile_count,
                                       stream);
}

template <class P>
unsigned blocks_for(uint64_t item_count, unsigned items_per_block, unsigned processor_count) {
  return szg_grid_blocks(item_count, items_per_block, processor_count * P::kBlocksPerProcessor);
}

template <bool is_whole>
szgpu_status launch_encoder(const LinearEncodeJob &job, const szg_grid &grid, unsigned processors,
                            cudaStream_t stream) {
  typedef MeasurePolicy Measure;
  typedef LinearEncodePolicy Encode;
  typedef SideDataPolicy Side;
  unsigned const measure_blocks =
      blocks_for<Measure>(grid.tile_count, Measure::kThreads / kWarp, processors);
  unsigned const begin_blocks = blocks_for<Side>(grid.tile_count, Side::kThreads, processors);
  unsigned const encode_blocks =
      blocks_for<Encode>(grid.tile_count, Encode::kThreads / kWarp, processors);
  unsigned const pack_blocks =
      blocks_for<Side>(job.subsequence_count, 2 * Side::kThreads, processors);
  tiles_measure_kernel<is_whole><<<measure_blocks, Measure::kThreads, 0, stream>>>(grid, job);
  SZG_TRY_LAUNCH();
  size_t scratch_bytes = job.encoder.scan_temp_bytes;
  SZG_TRY_CUDA(scan_tile_bits(job.encoder.scan_temp, &scratch_bytes,
                              job.encoder.tile_first_bits + 1, grid.tile_count, stream));
  stream_begin_kernel<<<begin_blocks, Side::kThreads, 0, stream>>>(job, grid.tile_count);
  SZG_TRY_LAUNCH();
  tiles_encode_kernel<is_whole><<<encode_blocks, Encode::kThreads, 0, stream>>>(grid, job);
  SZG_TRY_LAUNCH();
  if (!job.output.gaps) return SZGPU_OK;
  side_data_pack_kernel<<<pack_blocks, Side::kThreads, 0, stream>>>(job, grid.value_count);
  return szg_launched();
}

} // namespace

szgpu_status szg_linear_encoder_carve_cuda(szg_arena *arena, const szg_grid *frame_grid,
                                           szg_linear_encoder_cuda *encoder) {
  uint64_t const tile_count = frame_grid->tile_count, value_count = frame_grid->value_count;
  SZG_REQUIRE(tile_count <= INT32_MAX, SZGPU_UNSUPPORTED); /* early CUBs count items in an int */
  size_t scratch_bytes = 0;
  SZG_TRY_CUDA(scan_tile_bits(nullptr, &scratch_bytes, nullptr, tile_count, nullptr));
  /* if all codes have the greatest length */
  uint64_t const subsequence_count =
      szg_div_up(value_count, SZG_SUBSEQUENCE_BITS / SZG_MAX_CODE_BITS);
  uint64_t const sequence_count = szg_div_up(subsequence_count, SZG_SEQUENCE_SUBSEQUENCES);
  encoder->table = (uint32_t *)szg_arena_take(arena, SZG_MAX_SYMBOLS, sizeof(uint32_t));
  encoder->tile_first_bits = (uint64_t *)szg_arena_take(arena, tile_count + 1, sizeof(uint64_t));
  encoder->gaps = (uint8_t *)szg_arena_take(arena, subsequence_count, 1);
  encoder->sequence_codes = (uint64_t *)szg_arena_take(arena, sequence_count, sizeof(uint64_t));
  encoder->scan_temp = szg_arena_take(arena, scratch_bytes, 1);
  encoder->scan_temp_bytes = scratch_bytes;
  return SZGPU_OK;
}

szgpu_status szg_linear_encode_cuda(const szg_linear_encoder_cuda *encoder, const szg_grid *grid,
                                    uint32_t symbol_count, const uint16_t *codes,
                                    const szg_linear_output_cuda *output,
                                    struct CUstream_st *stream) {
  int processor_count = 0;
  SZG_TRY(szg_multiprocessor_count(&processor_count));
  LinearEncodeJob const job = {*encoder, *output, codes, symbol_count,
                               szg_subsequence_count(output->bit_count)};
  auto const launch = symbol_count <= kWindow ? launch_encoder<true> : launch_encoder<false>;
  return launch(job, *grid, (unsigned)processor_count, stream);
}
