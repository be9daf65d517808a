/* bench_weights.cuh - weights of several types, and their lossless frames from the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_WEIGHTS_CUH
#define SZG_BENCH_WEIGHTS_CUH

#include <cuda_fp8.h>

#include "bench_support.cuh"
#include "codecs/planes/planes_cuda.h"

namespace {

/* ---- weights ---- */

/* The splitmix64 hash of a number. */
__device__ uint64_t scramble(uint64_t z) {
  z = (z + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* Weight i from N(0, 0.02), by the Box-Muller transform. */
__device__ double weight_at(uint64_t i) {
  constexpr double kDeviation = 0.02, kUnit = 0x1p-53;
  double const u = (double)((scramble(2 * i) >> 11) + 1) * kUnit;
  double const v = (double)(scramble(2 * i + 1) >> 11) * kUnit;
  return kDeviation * sqrt(-2.0 * log(u)) * cospi(2.0 * v);
}

struct Bf16 {
  typedef uint16_t Bits;
  static __device__ Bits bits_of(double weight) { /* nearest, ties to even */
    uint32_t const bits = __float_as_uint((float)weight);
    return (Bits)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
};
struct Fp8 {
  typedef uint8_t Bits;
  static __device__ Bits bits_of(double weight) {
    constexpr float kScale = 448.0f / 0.12f; /* e4m3's greatest / about the greatest weight */
    return (Bits)__nv_cvt_float_to_fp8((float)weight * kScale, __NV_SATFINITE, __NV_E4M3);
  }
};
struct F32 {
  typedef uint32_t Bits;
  static __device__ Bits bits_of(double weight) { return __float_as_uint((float)weight); }
};
struct F64 {
  typedef unsigned long long Bits;
  static __device__ Bits bits_of(double weight) { return (Bits)__double_as_longlong(weight); }
};

template <class Type>
__global__ void __launch_bounds__(kThreads)
    weights_make_kernel(typename Type::Bits *weights, uint64_t count) {
  uint64_t const stride = (uint64_t)gridDim.x * kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * kThreads + threadIdx.x; i < count; i += stride)
    weights[i] = Type::bits_of(weight_at(i));
}

template <class Type>
void make_weights(const Memory &memory, uint64_t count, cudaStream_t stream) {
  weights_make_kernel<Type>
      <<<kBlocks, kThreads, 0, stream>>>((typename Type::Bits *)memory.bytes(), count);
  must_cuda(cudaGetLastError());
  must_cuda(cudaStreamSynchronize(stream));
}

/* Makes a type's weights in memory; returns its value_bytes. */
uint32_t make_type(const std::string &type, const Memory &memory, cudaStream_t stream) {
  if (type == "bf16") return make_weights<Bf16>(memory, memory.byte_count() / 2, stream), 2;
  if (type == "fp8") return make_weights<Fp8>(memory, memory.byte_count(), stream), 1;
  if (type == "f32") return make_weights<F32>(memory, memory.byte_count() / 4, stream), 4;
  if (type == "f64") return make_weights<F64>(memory, memory.byte_count() / 8, stream), 8;
  die("what is the type " + type + "?");
  return 0;
}

/* ---- the CPU's frame ---- */

struct Reference {
  szg_planes_choice choice;
  szg_planes_encoder encoder;
  std::vector<uint8_t> books, stored;
  std::vector<uint16_t> sizes;
  std::vector<uint32_t> words;
};

uint32_t tile_values(uint64_t value_count, uint64_t tile) {
  return (uint32_t)std::min<uint64_t>(SZG_TILE_VALUES, value_count - tile * SZG_TILE_VALUES);
}

bool is_sample(uint64_t value_count) {
  return !szg_planes_count_all(szg_planes_tile_count(value_count));
}

void choose(const szg_planes_counts &counts, uint64_t value_count, uint32_t value_bytes,
            szg_planes_choice *choice, szg_planes_encoder *encoder) {
  static szg_codebook book;
  static szg_codebook_work work;
  szg_planes_choose(&counts, szg_planes_counted_values(&counts), is_sample(value_count),
                    value_bytes, &book, &work, choice);
  szg_planes_encoder_build(choice, encoder);
}

void encode_on_cpu(const std::vector<uint8_t> &values, uint32_t value_bytes, Reference *reference) {
  uint64_t const value_count = values.size() / value_bytes;
  uint64_t const tile_count = szg_planes_tile_count(value_count);
  szg_planes_counts counts = {};
  uint32_t const counted_tiles = szg_planes_counted_tiles(tile_count);
  if (is_sample(value_count))
    for (uint32_t i = 0; i < counted_tiles; i++) {
      uint64_t const tile = szg_sample_tile(tile_count, counted_tiles, i);
      szg_planes_count(values.data() + tile * SZG_TILE_VALUES * value_bytes,
                       tile_values(value_count, tile), value_bytes, &counts);
    }
  else
    szg_planes_count(values.data(), value_count, value_bytes, &counts);
  choose(counts, value_count, value_bytes, &reference->choice, &reference->encoder);
  const szg_planes_layout *const layout = &reference->choice.layout;
  uint64_t const stride = szg_stored_plane_bytes(value_count);
  reference->books.resize(szg_planes_book_bytes(layout));
  reference->stored.resize(szg_planes_stored_bytes(layout, value_count));
  reference->sizes.resize(tile_count);
  if (reference->books.empty()) die("nothing to code");
  szg_planes_books_write(&reference->choice, reference->books.data());
  for (uint64_t t = 0; t < tile_count; t++) {
    static uint32_t words[SZG_PLANES_TILE_MOST_WORDS + 2];
    const uint8_t *const tile = values.data() + t * SZG_TILE_VALUES * value_bytes;
    uint32_t word_count;
    if (!szg_planes_encode_tile(&reference->encoder, tile, tile_values(value_count, t),
                                (uint8_t *)words, &word_count))
      die("the sample misleads");
    reference->sizes[t] = (uint16_t)word_count;
    reference->words.insert(reference->words.end(), words, words + word_count);
    if (!reference->stored.empty())
      szg_planes_store_tile(layout, tile, tile_values(value_count, t),
                            reference->stored.data() + t * SZG_TILE_VALUES, stride);
  }
}

uint64_t frame_bytes(const Reference &reference) {
  return reference.books.size() + 2 * reference.sizes.size() + 4 * reference.words.size() +
         reference.stored.size();
}

} // namespace

#endif
