/* subsequence_size.cu - gap-array decoders on one GPU with subsequences of 128 and of 256 bits.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stand-alone measurement, behind one decision of the format (docs/huffman.md); not part of the
 * build. Draws 2^27 codes of several entropies, encodes them with gaps of both sizes, decodes them
 * by several kernels, compares every output with the codes and prints GB/s of u16 output.
 *
 *   nvcc -arch=sm_90 -O3 -std=c++17 -o subsequence_size subsequence_size.cu
 *   subsequence_size [log2 of the number of codes]     on a GPU; the table also goes to proto.csv
 *   subsequence_size --cpu                             the device functions on the host, small
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <functional>
#include <queue>
#include <string>
#include <vector>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#define HD __host__ __device__ __forceinline__
#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_)); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

enum { SEQ_SUBS = 128, KC = 11, SYMBOLS = 1024, EXTRA = 8, CLASSES = 6 };

// ---- bits
HD u32 funnel(u32 lo, u32 hi, u32 s) {
#ifdef __CUDA_ARCH__
  return __funnelshift_l(lo, hi, s);
#else
  return s ? hi << s | lo >> (32 - s) : hi;
#endif
}
HD int popcount(u32 x) {
#ifdef __CUDA_ARCH__
  return __popc(x);
#else
  return __builtin_popcount(x);
#endif
}
template <class U>
HD U shr_clamped(U v, u32 s) { // s >= bits of U gives 0
#ifdef __CUDA_ARCH__
  U r;
  if constexpr (sizeof(U) == 8)
    asm("shr.u64 %0, %1, %2;" : "=l"(r) : "l"(v), "r"(s));
  else
    asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(s));
  return r;
#else
  return s >= 8 * sizeof(U) ? 0 : v >> s;
#endif
}
HD u32 pad(u32 w) { return w + (w >> 5); } // lanes 4 or 8 words apart fall in different banks

struct Reader {
  const u32 *w;
  u32 next, w0, w1, pos;
  HD Reader(const u32 *words, u32 bit) : w(words) {
    u32 i = bit >> 5;
    w0 = w[pad(i)];
    w1 = w[pad(i + 1)];
    next = i + 2;
    pos = bit & 31;
  }
  HD u32 peek() const { return funnel(w1, w0, pos); }
  HD void skip(u32 n) {
    pos += n;
    if (pos >= 32) {
      pos -= 32;
      w0 = w1;
      w1 = w[pad(next)];
      next++;
    }
  }
};

// Codes that begin in [bit, end): each entry has the places where codes begin in KC bits, and the
// bits they take.
HD u32 count_codes(const u32 *w, u32 bit, u32 end, const u16 *table, const u16 *long_codes) {
  Reader r(w, bit);
  int left = (int)end - (int)bit;
  u32 count = 0;
  while (left > 0) {
    u32 const x = r.peek(), e = table[x >> (32 - KC)];
    u32 len = e >> 12;
    int const cut = KC - left;
    count += popcount((e & 0xFFF) >> (cut > 0 ? cut : 0));
    if (!len) len = (long_codes[x >> 16] >> 10) + 1;
    r.skip(len);
    left -= (int)len;
  }
  return count;
}

// Table entries: symbols in 16-bit lanes (low 10 bits); lane 0 bits 10-15: bits in all (0: long),
// lane 1 bits 10-15: number.
template <int NSYM>
struct Entry;
template <>
struct Entry<1> {
  typedef u16 T;
  typedef u32 Unit;
};
template <>
struct Entry<2> {
  typedef u32 T;
  typedef u32 Unit;
};
template <>
struct Entry<4> {
  typedef u64 T;
  typedef u64 Unit;
};

// Decodes from bit on; position of the first code is `off`. Stores whole units [first, last),
// positions in units.
template <int NSYM, int KD, class Sink>
HD void decode_codes(const u32 *w, u32 bit, u32 off, u32 first, u32 last,
                     const typename Entry<NSYM>::T *table, const u16 *long_codes, Sink &sink) {
  typedef typename Entry<NSYM>::Unit U;
  constexpr u32 UN = sizeof(U) / 2;
  Reader r(w, bit);
  u32 f = off % UN, at = off / UN;
  U acc = 0;
  while (at < last) {
    u32 const x = r.peek();
    auto const e = table[x >> (32 - KD)];
    u32 len = (u32)e >> 10 & 63, n = 1;
    U v;
    if constexpr (NSYM == 1)
      v = e & 1023;
    else {
      n = (u32)e >> 26;
      v = e & (U)0x03FF03FF03FF03FFull;
    }
    if (!len) {
      u32 const t = long_codes[x >> 16];
      v = t & 1023;
      len = (t >> 10) + 1;
      n = 1;
    }
    r.skip(len);
    acc |= v << (16 * f);
    f += n;
    if (f >= UN) {
      f -= UN;
      if (at >= first) sink.put(at, acc);
      acc = shr_clamped<U>(v, 16 * (n - f));
      at++;
    }
  }
}

template <int SUB>
HD u32 swizzle(u32 byte) { // of the write buffer: subsequences of 1-bit codes would share one bank
  return byte ^ (byte >> (SUB == 128 ? 8 : 9) & 7) << 4;
}
template <int SUB, class U>
struct BufferSink {
  u8 *buf;
  HD void put(u32 at, U v) { *(U *)(buf + swizzle<SUB>(at * (u32)sizeof(U))) = v; }
};
template <class U>
struct DirectSink;
template <>
struct DirectSink<u32> {
  uint4 *out;
  u32 a, b, c;
  HD void put(u32 at, u32 v) {
    if ((at & 3) == 3) out[at >> 2] = make_uint4(a, b, c, v);
    a = b;
    b = c;
    c = v;
  }
};
template <>
struct DirectSink<u64> {
  uint4 *out;
  u64 a;
  HD void put(u32 at, u64 v) {
    if (at & 1) out[at >> 1] = make_uint4((u32)a, (u32)(a >> 32), (u32)v, (u32)(v >> 32));
    a = v;
  }
};

// ---- the decoders
struct Params {
  const u32 *words;
  const u8 *gaps;
  const u32 *seq_out; // seq_out: nseq + 1
  u64 total_bits;
  u32 nseq;
  const void *dec;
  const u16 *cnt, *long_codes;
  u16 *out;
  u64 *stats; // stats: err, warp max, sum
};
enum { BLOCK_STAGED, BLOCK_DIRECT, WARP_DIRECT, WARP_STAGED, COUNT_ONLY, MODES };
static const char *const mode_names[] = {"block-staged", "block-direct", "warp-direct",
                                         "warp-staged", "count-only"};

template <int SUB, int NSYM, int KD, int MODE>
struct Cfg {
  static constexpr int T = MODE == WARP_DIRECT || MODE == WARP_STAGED ? 32 : 128;
  static constexpr int ROUNDS = SEQ_SUBS / T, SUBW = SUB / 32, CHUNKW = T * SUBW;
  static constexpr bool STAGED = MODE == BLOCK_STAGED || MODE == WARP_STAGED;
  static constexpr u32 WORDS = ((CHUNKW + EXTRA) + (CHUNKW + EXTRA) / 32 + 1 + 3) / 4 * 4;
  static constexpr u32 TABLES = sizeof(typename Entry<NSYM>::T) * (1u << KD) + 2u * (1 << KC);
  __host__ __device__ static u32 unit_bytes(u32 cap) {
    return (STAGED ? cap * 2 : 0) + WORDS * 4 + 32;
  }
};

template <int T>
__device__ __forceinline__ void unit_sync(int unit) {
  if (T == 32)
    __syncwarp();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(unit + 1), "n"(T) : "memory");
}

template <int SUB, int NSYM, int KD, int MODE>
__global__ void __launch_bounds__(512)
    decode(Params p, u32 cap, const u32 *list, const u32 *list_count) {
  typedef Cfg<SUB, NSYM, KD, MODE> C;
  typedef typename Entry<NSYM>::T E;
  typedef typename Entry<NSYM>::Unit U;
  constexpr int T = C::T;
  constexpr u32 UN = sizeof(U) / 2;
  extern __shared__ __align__(128) u8 smem[];
  u32 const units = blockDim.x / T, unit = threadIdx.x / T, tid = threadIdx.x % T, lane = tid & 31;
  u32 const count = list_count ? *list_count : p.nseq;
  if (blockIdx.x * units >= count) return;
  E *const dec = (E *)smem;
  u16 *const cnt = (u16 *)(dec + (1 << KD));
  for (u32 k = threadIdx.x; k < sizeof(E) * (1 << KD) / 16; k += blockDim.x)
    ((uint4 *)dec)[k] = ((const uint4 *)p.dec)[k];
  for (u32 k = threadIdx.x; k < (2u << KC) / 16; k += blockDim.x)
    ((uint4 *)cnt)[k] = ((const uint4 *)p.cnt)[k];
  // write buffers first (128-byte aligned: tables and caps are multiples of that), then words
  u8 *const bufs = smem + C::TABLES;
  u8 *const buf = bufs + unit * (cap * 2);
  u32 *const words = (u32 *)(bufs + (C::STAGED ? units * cap * 2 : 0)) + unit * (C::WORDS + 8);
  u32 *const sums = words + C::WORDS;
  __syncthreads();

  u32 pre[C::SUBW], pre_extra = 0, pre_gap = 0, pre_base = 0;
  u32 const stride = gridDim.x * units;
  u32 i = blockIdx.x * units + unit;
  if (i >= count) return; // a whole unit; named barriers are per unit
  auto prefetch = [&](u32 seq, u32 round) {
    u64 const chunk = (u64)seq * C::ROUNDS + round;
    const u32 *const src = p.words + chunk * C::CHUNKW;
#pragma unroll
    for (int j = 0; j < C::SUBW; j++) pre[j] = src[j * T + tid];
    if (tid < EXTRA) pre_extra = src[C::CHUNKW + tid];
    pre_gap = p.gaps[(chunk * T + tid) >> 1];
    if (round == 0) pre_base = p.seq_out[seq];
  };
  u32 seq = list ? list[i] : i;
  prefetch(seq, 0);
  u32 base = 0;
  u64 stat_max = 0, stat_sum = 0;
  while (true) {
    u32 const next_i = i + stride;
    u32 const next_seq = next_i < count ? (list ? list[next_i] : next_i) : 0;
#pragma unroll 1
    for (int round = 0; round < C::ROUNDS; round++) {
#pragma unroll
      for (int j = 0; j < C::SUBW; j++) words[pad(j * T + tid)] = pre[j];
      if (tid < EXTRA) words[pad(C::CHUNKW + tid)] = pre_extra;
      u32 const gap = (tid & 1) ? pre_gap >> 4 : pre_gap & 15;
      if (round == 0) base = pre_base;
      unit_sync<T>(unit);
      if (round + 1 < C::ROUNDS)
        prefetch(seq, round + 1);
      else if (next_i < count)
        prefetch(next_seq, 0);

      u64 const first_bit = ((u64)seq * C::ROUNDS + round) * ((u64)T * SUB);
      u64 const bits_left = p.total_bits > first_bit ? p.total_bits - first_bit : 0;
      u32 const bit = tid * SUB + gap, end = (u32)min((u64)(tid + 1) * SUB, bits_left);
      u32 const codes = count_codes(words, bit, end, cnt, p.long_codes);
      u32 incl = codes, total;
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        u32 const up = __shfl_up_sync(~0u, incl, d);
        if (lane >= d) incl += up;
      }
      if (T == 128) {
        if (lane == 31) sums[tid >> 5] = incl;
        unit_sync<T>(unit);
        uint4 const s = *(const uint4 *)sums;
        u32 const wi = tid >> 5;
        incl += (wi > 0 ? s.x : 0) + (wi > 1 ? s.y : 0) + (wi > 2 ? s.z : 0);
        total = s.x + s.y + s.z + s.w;
      } else {
        total = __shfl_sync(~0u, incl, 31);
      }
      u32 const excl = incl - codes;
      if (MODE == COUNT_ONLY) {
        stat_max += __reduce_max_sync(~0u, codes) * 32;
        stat_sum += codes;
        unit_sync<T>(unit);
      } else if (C::STAGED && total + 16 <= cap) {
        u32 const a = base & 7;
        u32 const off = a + excl;
        u32 next = off + codes;
        if (next == a + total) next = (next + 7) & ~7u;
        BufferSink<SUB, U> sink{buf};
        if (codes)
          decode_codes<NSYM, KD>(words, bit, off, (off + UN - 1) / UN, (next + UN - 1) / UN, dec,
                                 p.long_codes, sink);
        unit_sync<T>(unit);
        uint4 *const out = (uint4 *)p.out + (base >> 3);
        for (u32 k = (a ? 1 : 0) + tid; k < (a + total + 7) >> 3; k += T)
          out[k] = *(const uint4 *)(buf + swizzle<SUB>(k * 16));
      } else {
        u32 const off = base + excl, next = off + codes;
        DirectSink<U> sink;
        sink.out = (uint4 *)p.out;
        if (codes)
          decode_codes<NSYM, KD>(words, bit, off, (off + 7) / 8 * (8 / UN),
                                 (next + 7) / 8 * (8 / UN), dec, p.long_codes, sink);
        unit_sync<T>(unit);
      }
      base += total;
    }
    if (tid == 0 && base != p.seq_out[seq + 1]) atomicAdd((unsigned long long *)p.stats, 1ull);
    i = next_i;
    if (i >= count) break;
    seq = next_seq;
  }
  if (MODE == COUNT_ONLY) {
    for (int d = 16; d; d /= 2) stat_sum += __shfl_down_sync(~0u, stat_sum, d);
    if (lane == 0) {
      atomicAdd((unsigned long long *)p.stats + 1, (unsigned long long)stat_max);
      atomicAdd((unsigned long long *)p.stats + 2, (unsigned long long)stat_sum);
    }
  }
}

// Sequences to classes by count; order within a class does not matter to the output.
__global__ void classify(const u16 *counts, u32 nseq, u32 max_codes, u32 *lists, u32 *list_counts) {
  u32 const s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= nseq) return;
  u32 const c = counts[s];
  u32 const k = c * 8 <= max_codes       ? 0
                : c * 4 <= max_codes     ? 1
                : c * 8 <= max_codes * 3 ? 2
                : c * 2 <= max_codes     ? 3
                : c * 4 <= max_codes * 3 ? 4
                                         : 5;
  u32 const same = __match_any_sync(__activemask(), k), leader = __ffs(same) - 1,
            lane = threadIdx.x & 31;
  u32 at = 0;
  if (lane == leader) at = atomicAdd(&list_counts[k], __popc(same));
  at = __shfl_sync(same, at, leader) + __popc(same & ((1u << lane) - 1));
  lists[(size_t)k * nseq + at] = s;
}
static u32 class_bound(int k, u32 max_codes) {
  static const int eighths[CLASSES] = {1, 2, 3, 4, 6, 8};
  return max_codes / 8 * eighths[k];
}

// ---- the codes
HD u32 hash32(u64 x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  x ^= x >> 33;
  return (u32)x;
}
HD float unit_float(u64 x) { return ((hash32(x) >> 8) + 0.5f) * (1.0f / 16777216.0f); }
enum { UNIFORM, SLOW, TILES };
// Difference of two geometric variables: P(d) ~ theta^|d|; inv = 1 / log(theta).
HD u16 draw(u64 i, int kind, float lo, float hi, u64 n) {
  float inv = lo;
  if (kind != UNIFORM) { // -1/inv = |log theta| between its ends, geometrically
    float const t = kind == SLOW
                        ? 0.5f - 0.5f * cosf(6.2831853f * 3.0f * (float)((double)i / (double)n))
                        : unit_float((i >> 9) * 77 + 5);
    inv = -expf(logf(-lo) * (1 - t) + logf(-hi) * t);
  }
  int const g1 = (int)(logf(unit_float(2 * i + 1)) * inv),
            g2 = (int)(logf(unit_float(2 * i + 0x5000000000ull)) * inv);
  int d = g1 - g2;
  d = d < -511 ? -511 : d > 511 ? 511 : d;
  return (u16)(d + 512);
}
__global__ void make_codes(u16 *codes, u64 n, int kind, float lo, float hi) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    codes[i] = draw(i, kind, lo, hi, n);
}
__global__ void histogram(const u16 *codes, u64 n, u32 *counts) {
  __shared__ u32 h[SYMBOLS];
  for (u32 k = threadIdx.x; k < SYMBOLS; k += blockDim.x) h[k] = 0;
  __syncthreads();
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    atomicAdd(&h[codes[i]], 1u);
  __syncthreads();
  for (u32 k = threadIdx.x; k < SYMBOLS; k += blockDim.x)
    if (h[k]) atomicAdd(&counts[k], h[k]);
}
static double entropy_of(double theta) { // of P(d) ~ theta^|d|
  double const p0 = (1 - theta) / (1 + theta);
  double h = 0;
  for (int d = 0; d < 20000; d++) {
    double const p = p0 * pow(theta, d);
    if (p < 1e-300) break;
    h -= (d ? 2 : 1) * p * log2(p);
  }
  return h;
}
static float inv_log_theta(double bits) {
  double a = 1e-6, b = 0.99999;
  for (int k = 0; k < 100; k++) {
    double const m = (a + b) / 2;
    (entropy_of(m) < bits ? a : b) = m;
  }
  return (float)(1 / log(a));
}

// ---- codebook and tables
struct Book {
  u8 len[SYMBOLS];
  u16 code[SYMBOLS];
};
static Book make_book(std::vector<u64> counts) {
  Book b;
  memset(&b, 0, sizeof b);
  for (;;) {
    struct Node {
      u64 w;
      int l, r;
    };
    std::vector<Node> nodes;
    std::priority_queue<std::pair<u64, int>, std::vector<std::pair<u64, int>>,
                        std::greater<std::pair<u64, int>>>
        q;
    for (int s = 0; s < SYMBOLS; s++) {
      nodes.push_back({counts[s], -1, -1});
      if (counts[s]) q.push({counts[s], s});
    }
    while (q.size() > 1) {
      auto x = q.top();
      q.pop();
      auto y = q.top();
      q.pop();
      nodes.push_back({x.first + y.first, x.second, y.second});
      q.push({x.first + y.first, (int)nodes.size() - 1});
    }
    int longest = 0;
    std::vector<std::pair<int, int>> stack{{q.top().second, 0}};
    memset(b.len, 0, sizeof b.len);
    while (!stack.empty()) {
      auto [k, d] = stack.back();
      stack.pop_back();
      if (nodes[k].l < 0) {
        b.len[k] = (u8)(d ? d : 1);
        longest = std::max(longest, d);
        continue;
      }
      stack.push_back({nodes[k].l, d + 1});
      stack.push_back({nodes[k].r, d + 1});
    }
    if (longest <= 16) break;
    for (auto &c : counts)
      if (c) c = c / 2 + 1;
  }
  u32 next = 0;
  for (int l = 1; l <= 16; l++, next <<= 1)
    for (int s = 0; s < SYMBOLS; s++)
      if (b.len[s] == l) b.code[s] = (u16)next++;
  return b;
}
struct Tables {
  std::vector<u16> cnt,
      long_codes; // long_codes: every 16-bit window -> symbol | (length - 1) << 10
  std::vector<u16> d1[17];
  std::vector<u32> d2[17];
  std::vector<u64> d4[17];
};
static void window_codes(const Tables &t, u32 x, int k, int limit,
                         std::vector<std::pair<u32, u32>> &found) {
  found.clear(); // whole codes in the top k bits of the 16-bit x: (symbol, start)
  int pos = 0;
  while (pos < k && (int)found.size() < limit) {
    u32 const e = t.long_codes[x << pos & 0xFFFF];
    int const len = (int)(e >> 10) + 1;
    if (pos + len > k) break;
    found.push_back({e & 1023, (u32)pos});
    pos += len;
  }
  found.push_back({0, (u32)pos});
}
static Tables make_tables(const Book &b) {
  Tables t;
  t.long_codes.assign(65536, 0);
  for (u32 s = 0; s < SYMBOLS; s++)
    if (b.len[s])
      for (u32 k = 0; k < 1u << (16 - b.len[s]); k++)
        t.long_codes[((u32)b.code[s] << (16 - b.len[s])) + k] = (u16)(s | (b.len[s] - 1u) << 10);
  std::vector<std::pair<u32, u32>> f;
  t.cnt.resize(1 << KC);
  for (u32 x = 0; x < 1u << KC; x++) {
    window_codes(t, x << (16 - KC), KC, 99, f);
    u32 m = 0;
    for (size_t k = 0; k + 1 < f.size(); k++) m |= 1u << (KC - 1 - f[k].second);
    t.cnt[x] = f.size() == 1 ? (u16)(1u << (KC - 1)) : (u16)(m | f.back().second << 12);
  }
  for (int k : {10, 11, 12}) {
    t.d1[k].resize(1 << k);
    t.d2[k].resize(1 << k);
    t.d4[k].resize(1 << k);
    for (u32 x = 0; x < 1u << k; x++) {
      for (int n : {1, 2, 4}) {
        window_codes(t, x << (16 - k), k, n, f);
        u64 e = 0;
        for (size_t j = 0; j + 1 < f.size(); j++) e |= (u64)f[j].first << (16 * j);
        e |= (u64)f.back().second << 10;
        if (n > 1) e |= (u64)(f.size() - 1) << 26;
        if (n == 1)
          t.d1[k][x] = (u16)e;
        else if (n == 2)
          t.d2[k][x] = (u32)e;
        else
          t.d4[k][x] = e;
      }
    }
  }
  return t;
}

// ---- encoder (one thread per CHUNK codes; not timed)
enum { CHUNK = 1024 };
HD void or_word(u32 *p, u32 v) {
#ifdef __CUDA_ARCH__
  if (v) atomicOr(p, v);
#else
  *p |= v;
#endif
}
HD u32 chunk_bits(const u16 *codes, u64 first, u64 last, const u8 *len) {
  u32 b = 0;
  for (u64 i = first; i < last; i++) b += len[codes[i]];
  return b;
}
template <int SUB>
HD void note(u64 bit, u64 code, u32 *gaps, u32 *seq_first) {
  u64 const sub = bit / SUB;
  or_word(&gaps[sub / 8], (u32)(bit % SUB) << (sub % 8 * 4));
  if (sub % SEQ_SUBS == 0) seq_first[sub / SEQ_SUBS] = (u32)code;
}
template <int SUB>
HD void encode_chunk(const u16 *codes, u64 first, u64 last, u64 n, u64 bit, u64 total_bits,
                     const u8 *len, const u16 *code, u32 *words, u32 *gaps, u32 *seq_first) {
  u64 pending = 0;
  u32 have = (u32)(bit % 32);
  u64 word = bit / 32;
  for (u64 i = first; i < last; i++) {
    u32 const s = codes[i], l = len[s];
    if (i == 0 || (bit - len[codes[i - 1]]) / SUB != bit / SUB) note<SUB>(bit, i, gaps, seq_first);
    pending = pending << l | code[s];
    have += l;
    bit += l;
    if (have >= 32) {
      have -= 32;
      or_word(&words[word++], (u32)(pending >> have));
    }
  }
  if (have) or_word(&words[word], (u32)(pending << (32 - have)));
  if (last == n && (bit - len[codes[n - 1]]) / SUB != bit / SUB && bit % SUB)
    note<SUB>(bit, n, gaps, seq_first);
  (void)total_bits;
}
__global__ void chunk_bits_kernel(const u16 *codes, u64 n, const u8 *len, u64 *bits) {
  u64 const c = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (c * CHUNK < n) bits[c] = chunk_bits(codes, c * CHUNK, min((c + 1) * CHUNK, n), len);
}
template <int SUB>
__global__ void encode_kernel(const u16 *codes, u64 n, const u64 *starts, u64 total_bits,
                              const u8 *len, const u16 *code, u32 *words, u32 *gaps,
                              u32 *seq_first) {
  u64 const c = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (c * CHUNK < n)
    encode_chunk<SUB>(codes, c * CHUNK, min((c + 1) * CHUNK, n), n, starts[c], total_bits, len,
                      code, words, gaps, seq_first);
}
__global__ void make_counts(const u32 *seq_first, u32 nseq, u64 n,
                            u16 *counts) { // counts[nseq] = 0
  u32 const s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < nseq) counts[s] = (u16)((s + 1 < nseq ? seq_first[s + 1] : (u32)n) - seq_first[s]);
  if (s == nseq) counts[s] = 0;
}
__global__ void count_wrong(const uint4 *a, const uint4 *b, u64 n16, unsigned long long *wrong) {
  u64 bad = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n16;
       i += (u64)gridDim.x * blockDim.x) {
    uint4 const x = a[i], y = b[i];
    bad += x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w;
  }
  if (bad) atomicAdd(wrong, (unsigned long long)bad);
}
__global__ void copy_kernel(const uint4 *a, uint4 *b, u64 n) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    b[i] = a[i];
}
__global__ void fill_kernel(uint4 *b, u64 n) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    b[i] = make_uint4(1, 2, 3, 4);
}

// ---- measuring
static float median_us(const std::function<void()> &f) {
  static cudaEvent_t a, b;
  if (!a) {
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
  }
  std::vector<float> t;
  for (int k = 0; k < 23; k++) {
    CK(cudaEventRecord(a));
    f();
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    float ms;
    CK(cudaEventElapsedTime(&ms, a, b));
    if (k >= 3) t.push_back(ms * 1000);
  }
  CK(cudaGetLastError());
  std::sort(t.begin(), t.end());
  return t[t.size() / 2];
}
template <class T>
static T *alloc(size_t n) {
  T *p;
  CK(cudaMalloc(&p, n * sizeof(T)));
  CK(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}
template <class T>
static T *upload(const std::vector<T> &v) {
  T *p = alloc<T>(v.size());
  CK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

struct Case {
  const char *name;
  int kind;
  double lo, hi;
};
static const Case cases[] = {{"near-const", UNIFORM, 0.10, 0}, {"1.2", UNIFORM, 0.74, 0},
                             {"1.4", UNIFORM, 1.2, 0},         {"2", UNIFORM, 2, 0},
                             {"3.5", UNIFORM, 3.5, 0},         {"6", UNIFORM, 6, 0},
                             {"slow 1..6", SLOW, 0.3, 6},      {"tiles 1..6", TILES, 0.3, 6}};

struct Row {
  std::string c, mode;
  int sub, nsym, kd;
  float us, us_nonempty, gbs;
};
static std::vector<Row> rows;
static FILE *csv;
static int sms, failures;

struct Run {
  Params p;
  const Case *c;
  u64 n;
  u32 nseq, max_codes;
  const u16 *codes;
  u16 *out;
  u32 *lists, *list_counts;
  u64 *wrong;
  double bits_per_code;
};

template <int SUB, int NSYM, int KD, int MODE>
static void bench(Run &r, const void *table) {
  typedef Cfg<SUB, NSYM, KD, MODE> C;
  auto const kernel = decode<SUB, NSYM, KD, MODE>;
  Params p = r.p;
  p.dec = table;
  CK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  u32 host_counts[CLASSES];
  CK(cudaMemcpy(host_counts, r.list_counts, sizeof host_counts, cudaMemcpyDeviceToHost));
  struct Launch {
    u32 cap, smem, threads, grid;
  } l[CLASSES];
  int const launches = C::STAGED ? CLASSES : 1;
  for (int k = 0; k < launches; k++) {
    u32 cap = 0;
    if (MODE == BLOCK_STAGED) cap = (class_bound(k, r.max_codes) + 16 + 63) / 64 * 64;
    if (MODE == WARP_STAGED)
      cap = std::min<u32>(class_bound(k, r.max_codes) / 4 * 5 / 4 + 16 + 63,
                          r.max_codes / 4 + 16 + 63) /
            64 * 64;
    int best = 0;
    for (int threads = 128; threads <= 512; threads += 128) {
      u32 const smem = C::TABLES + threads / C::T * C::unit_bytes(cap);
      int blocks = 0;
      if (smem > 227 * 1024) continue;
      CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, smem));
      if (blocks * threads >= best) {
        best = blocks * threads;
        l[k] = {cap, smem, (u32)threads, (u32)(blocks * sms)};
      }
    }
  }
  auto const go = [&](bool all) {
    for (int k = 0; k < launches; k++) {
      if (!all && C::STAGED && !host_counts[k]) continue;
      kernel<<<l[k].grid, l[k].threads, l[k].smem>>>(
          p, l[k].cap, C::STAGED ? r.lists + (size_t)k * r.nseq : nullptr,
          C::STAGED ? r.list_counts + k : nullptr);
    }
  };
  CK(cudaMemset(r.out, 0xA5, (r.n + 64) * 2)); // poison
  CK(cudaMemset(r.wrong, 0, 8));
  CK(cudaMemset(p.stats, 0, 24));
  go(true);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  u64 stats[3], wrong = 0;
  CK(cudaMemcpy(stats, p.stats, 24, cudaMemcpyDeviceToHost));
  if (MODE != COUNT_ONLY) {
    count_wrong<<<1024, 256>>>((const uint4 *)r.codes, (const uint4 *)r.out, r.n / 8,
                               (unsigned long long *)r.wrong);
    CK(cudaMemcpy(&wrong, r.wrong, 8, cudaMemcpyDeviceToHost));
  }
  bool const ok = !wrong && !stats[0];
  if (!ok) {
    failures++;
    printf("WRONG: %s sub %d %s nsym %d kd %d: %llu of %llu 16-byte units, %llu sequence counts\n",
           r.c->name, SUB, mode_names[MODE], NSYM, KD, (unsigned long long)wrong,
           (unsigned long long)(r.n / 8), (unsigned long long)stats[0]);
  }
  float const us = median_us([&] { go(true); }),
              us_ne = C::STAGED ? median_us([&] { go(false); }) : us;
  double const gbs = r.n * 2.0 / us / 1e3;
  if (MODE == COUNT_ONLY)
    printf("%-10s %3d  count pass alone %7.1f us = %6.0f GB/s; warp max / mean codes %.3f\n",
           r.c->name, SUB, us, gbs, (double)stats[1] / (double)stats[2]);
  else
    rows.push_back({r.c->name, mode_names[MODE], SUB, NSYM, KD, us, us_ne, (float)gbs});
  fprintf(csv, "%s,%d,%s,%d,%d,%.4f,%.2f,%.2f,%.1f,%d\n", r.c->name, SUB, mode_names[MODE], NSYM,
          KD, r.bits_per_code, us, us_ne, gbs, ok);
}
template <int SUB, int NSYM, int KD>
static void bench_modes(Run &r, const void *table) {
  bench<SUB, NSYM, KD, BLOCK_STAGED>(r, table);
  bench<SUB, NSYM, KD, BLOCK_DIRECT>(r, table);
  bench<SUB, NSYM, KD, WARP_DIRECT>(r, table);
  bench<SUB, NSYM, KD, WARP_STAGED>(r, table);
}

template <int SUB>
static void bench_sub(const Case &c, u64 n, const u16 *codes, u16 *out, const Book &book,
                      const Tables &t) {
  u64 const chunks = (n + CHUNK - 1) / CHUNK;
  u8 *len = upload(std::vector<u8>(book.len, book.len + SYMBOLS));
  u16 *code = upload(std::vector<u16>(book.code, book.code + SYMBOLS));
  u64 *bits = alloc<u64>(chunks + 1), *starts = alloc<u64>(chunks + 1);
  chunk_bits_kernel<<<(unsigned)(chunks / 128 + 1), 128>>>(codes, n, len, bits);
  size_t tb = 0;
  CK(cub::DeviceScan::ExclusiveSum(nullptr, tb, bits, starts, (int)chunks + 1));
  u8 *tmp = alloc<u8>(tb);
  CK(cub::DeviceScan::ExclusiveSum(tmp, tb, bits, starts, (int)chunks + 1));
  u64 total = 0;
  CK(cudaMemcpy(&total, starts + chunks, 8, cudaMemcpyDeviceToHost));
  u64 const nsub = (total + SUB - 1) / SUB;
  u32 const nseq = (u32)((nsub + SEQ_SUBS - 1) / SEQ_SUBS);
  u32 *words = alloc<u32>((u64)nseq * SEQ_SUBS * SUB / 32 + 64),
      *gaps = alloc<u32>((u64)nseq * SEQ_SUBS / 8 + 16);
  u32 *seq_first = alloc<u32>(nseq + 1);
  encode_kernel<SUB><<<(unsigned)(chunks / 128 + 1), 128>>>(codes, n, starts, total, len, code,
                                                            words, gaps, seq_first);
  u16 *counts = alloc<u16>(nseq + 1);
  make_counts<<<nseq / 128 + 1, 128>>>(seq_first, nseq, n, counts);
  CK(cudaGetLastError());

  Run r;
  r.c = &c;
  r.n = n;
  r.nseq = nseq;
  r.max_codes = SUB * SEQ_SUBS;
  r.codes = codes;
  r.out = out;
  r.lists = alloc<u32>((size_t)CLASSES * nseq);
  r.list_counts = alloc<u32>(CLASSES);
  r.wrong = alloc<u64>(1);
  r.bits_per_code = (double)total / n;
  u32 *seq_out = alloc<u32>(nseq + 1);
  size_t tb2 = 0;
  auto widened = cuda::std::plus<u32>();
  CK(cub::DeviceScan::ExclusiveScan(nullptr, tb2, counts, seq_out, widened, 0u, (int)nseq + 1));
  u8 *tmp2 = alloc<u8>(tb2);
  float const scan_us = median_us([&] {
    CK(cub::DeviceScan::ExclusiveScan(tmp2, tb2, counts, seq_out, widened, 0u, (int)nseq + 1));
  });
  float const class_us = median_us([&] {
    CK(cudaMemsetAsync(r.list_counts, 0, CLASSES * 4));
    classify<<<nseq / 256 + 1, 256>>>(counts, nseq, r.max_codes, r.lists, r.list_counts);
  });
  u32 hc[CLASSES];
  CK(cudaMemcpy(hc, r.list_counts, sizeof hc, cudaMemcpyDeviceToHost));
  printf(
      "%-10s %3d  bits/code %.3f, %u sequences, gaps %.2f %% of the stream, scan %.1f us, classing "
      "%.1f us, classes",
      c.name, SUB, r.bits_per_code, nseq, 100.0 * (nsub / 2.0) / (total / 8.0), scan_us, class_us);
  for (int k = 0; k < CLASSES; k++) printf(" %u", hc[k]);
  printf("\n");
  u16 *cnt = upload(t.cnt), *lc = upload(t.long_codes);
  u64 *stats = alloc<u64>(3);
  r.p = {words, (const u8 *)gaps, seq_out, total, nseq, nullptr, cnt, lc, out, stats};
  u16 *d1 = upload(t.d1[12]);
  u32 *d2a = upload(t.d2[11]), *d2b = upload(t.d2[12]);
  u64 *d4a = upload(t.d4[10]), *d4b = upload(t.d4[11]);
  bench<SUB, 1, 12, COUNT_ONLY>(r, d1);
  bench_modes<SUB, 1, 12>(r, d1);
  bench_modes<SUB, 2, 11>(r, d2a);
  bench_modes<SUB, 2, 12>(r, d2b);
  bench_modes<SUB, 4, 10>(r, d4a);
  bench_modes<SUB, 4, 11>(r, d4b);
  for (void *q : {(void *)len,     (void *)code,    (void *)bits,          (void *)starts,
                  (void *)tmp,     (void *)words,   (void *)gaps,          (void *)seq_first,
                  (void *)counts,  (void *)r.lists, (void *)r.list_counts, (void *)r.wrong,
                  (void *)seq_out, (void *)tmp2,    (void *)cnt,           (void *)lc,
                  (void *)stats,   (void *)d1,      (void *)d2a,           (void *)d2b,
                  (void *)d4a,     (void *)d4b})
    CK(cudaFree(q));
}

// ---- the same on the host, to test without a GPU
template <int SUB, int NSYM, int KD>
static int cpu_decode(const char *name, const std::vector<u16> &codes,
                      const std::vector<u32> &words, const std::vector<u32> &gaps,
                      const std::vector<u32> &seq_first, u64 total, const Tables &t,
                      const typename Entry<NSYM>::T *dec) {
  typedef typename Entry<NSYM>::Unit U;
  constexpr u32 UN = sizeof(U) / 2;
  int bad = 0;
  for (int T : {128, 32})
    for (int staged : {0, 1}) {
      u32 const chunkw = T * SUB / 32, rounds = SEQ_SUBS / T;
      u64 const n = codes.size();
      u16 *out = (u16 *)aligned_alloc(16, (n + 64) / 8 * 16);
      memset(out, 0xA5, (n + 64) / 8 * 16);
      for (u32 seq = 0; seq + 1 < seq_first.size(); seq++) {
        u32 base = seq_first[seq];
        for (u32 round = 0; round < rounds; round++) {
          u64 const chunk = (u64)seq * rounds + round;
          std::vector<u32> w(pad(chunkw + EXTRA), 0xDEADBEEF);
          for (u32 k = 0; k < chunkw + EXTRA; k++) w[pad(k)] = words[chunk * chunkw + k];
          u64 const first_bit = chunk * T * SUB, left = total > first_bit ? total - first_bit : 0;
          std::vector<u32> c(T), bit(T);
          u32 sum = 0;
          for (int tid = 0; tid < T; tid++) {
            u64 const sub = chunk * T + tid;
            bit[tid] = tid * SUB + (gaps[sub / 8] >> (sub % 8 * 4) & 15);
            c[tid] = count_codes(w.data(), bit[tid], (u32)std::min<u64>((tid + 1) * SUB, left),
                                 t.cnt.data(), t.long_codes.data());
            sum += c[tid];
          }
          u32 excl = 0;
          std::vector<u8> raw(sum * 2 + 1024, 0xEE);
          u8 *buf = (u8 *)(((uintptr_t)raw.data() + 127) & ~(uintptr_t)127);
          for (int tid = 0; tid < T; excl += c[tid++]) {
            if (!c[tid]) continue;
            if (staged) {
              u32 const a = base & 7, off = a + excl;
              u32 next = off + c[tid];
              if (next == a + sum) next = (next + 7) & ~7u;
              BufferSink<SUB, U> s{buf};
              decode_codes<NSYM, KD>(w.data(), bit[tid], off, (off + UN - 1) / UN,
                                     (next + UN - 1) / UN, dec, t.long_codes.data(), s);
            } else {
              u32 const off = base + excl, next = off + c[tid];
              DirectSink<U> s;
              s.out = (uint4 *)out;
              decode_codes<NSYM, KD>(w.data(), bit[tid], off, (off + 7) / 8 * (8 / UN),
                                     (next + 7) / 8 * (8 / UN), dec, t.long_codes.data(), s);
            }
          }
          if (staged)
            for (u32 k = base & 7 ? 1 : 0; k < ((base & 7) + sum + 7) >> 3; k++)
              memcpy(out + ((base >> 3) + k) * 8, buf + swizzle<SUB>(k * 16), 16);
          base += sum;
        }
        if (base != seq_first[seq + 1]) bad++;
      }
      u64 wrong = 0;
      for (u64 k = 0; k < n; k++) wrong += out[k] != codes[k];
      if (wrong) bad++;
      if (wrong || bad)
        printf("CPU %s sub %d nsym %d kd %d T %d staged %d: %llu wrong, bad %d\n", name, SUB, NSYM,
               KD, T, staged, (unsigned long long)wrong, bad);
      free(out);
    }
  return bad;
}
template <int SUB>
static int cpu_sub(const Case &c, const std::vector<u16> &codes, const Book &b, const Tables &t) {
  u64 const n = codes.size();
  std::vector<u64> starts{0};
  for (u64 i = 0; i < n; i += CHUNK)
    starts.push_back(starts.back() +
                     chunk_bits(codes.data(), i, std::min<u64>(i + CHUNK, n), b.len));
  u64 const total = starts.back(), nsub = (total + SUB - 1) / SUB,
            nseq = (nsub + SEQ_SUBS - 1) / SEQ_SUBS;
  std::vector<u32> words(nseq * SEQ_SUBS * SUB / 32 + 64), gaps(nseq * SEQ_SUBS / 8 + 16),
      first(nseq + 1);
  for (u64 k = 0; k + 1 < starts.size(); k++)
    encode_chunk<SUB>(codes.data(), k * CHUNK, std::min<u64>((k + 1) * CHUNK, n), n, starts[k],
                      total, b.len, b.code, words.data(), gaps.data(), first.data());
  first[nseq] = (u32)n;
  printf("CPU %s sub %d: %.3f bits/code, %llu sequences, last subsequence bits %llu\n", c.name, SUB,
         (double)total / n, (unsigned long long)nseq, (unsigned long long)(total % SUB));
  return cpu_decode<SUB, 1, 12>(c.name, codes, words, gaps, first, total, t, t.d1[12].data()) +
         cpu_decode<SUB, 2, 11>(c.name, codes, words, gaps, first, total, t, t.d2[11].data()) +
         cpu_decode<SUB, 2, 12>(c.name, codes, words, gaps, first, total, t, t.d2[12].data()) +
         cpu_decode<SUB, 4, 10>(c.name, codes, words, gaps, first, total, t, t.d4[10].data()) +
         cpu_decode<SUB, 4, 11>(c.name, codes, words, gaps, first, total, t, t.d4[11].data());
}
static int cpu_test() {
  int bad = 0;
  for (const Case &c : cases)
    for (u64 n : {200000ull, 65536ull, 12345ull, 7ull}) {
      std::vector<u16> codes(n);
      std::vector<u64> h(SYMBOLS);
      float const lo = inv_log_theta(c.lo), hi = c.hi ? inv_log_theta(c.hi) : 0;
      for (u64 i = 0; i < n; i++) codes[i] = draw(i, c.kind, lo, hi, n);
      for (u64 i = 0; i < n; i++) h[codes[i]]++;
      Book const b = make_book(h);
      Tables const t = make_tables(b);
      bad += cpu_sub<128>(c, codes, b, t) + cpu_sub<256>(c, codes, b, t);
    }
  printf("CPU test: %s\n", bad ? "FAILED" : "all right");
  return bad != 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--cpu")) return cpu_test();
  u64 const n = 1ull << (argc > 1 ? atoi(argv[1]) : 27);
  std::string const out_dir = getenv("OUT") ? getenv("OUT") : ".";
  csv = fopen((out_dir + "/proto.csv").c_str(), "w");
  if (!csv) {
    perror("proto.csv");
    return 1;
  }
  fprintf(csv, "case,sub,mode,nsym,kd,bits_per_code,us,us_nonempty_classes_only,gbs,ok\n");
  cudaDeviceProp prop;
  CK(cudaGetDeviceProperties(&prop, 0));
  sms = prop.multiProcessorCount;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  printf("%s, %d SMs, %llu codes\n", prop.name, sms, (unsigned long long)n);
  u16 *codes = alloc<u16>(n + 64), *out = alloc<u16>(n + 64);
  float const copy_us =
      median_us([&] { CK(cudaMemcpyAsync(out, codes, n * 2, cudaMemcpyDeviceToDevice)); });
  float const copyk_us =
      median_us([&] { copy_kernel<<<sms * 8, 512>>>((const uint4 *)codes, (uint4 *)out, n / 8); });
  float const fill_us = median_us([&] { fill_kernel<<<sms * 8, 512>>>((uint4 *)out, n / 8); });
  printf(
      "ceilings, GB/s of %llu MB written: memcpy d2d %.0f, copy kernel %.0f (twice that read + "
      "write), write only %.0f\n",
      (unsigned long long)(n * 2 >> 20), n * 2.0 / copy_us / 1e3, n * 2.0 / copyk_us / 1e3,
      n * 2.0 / fill_us / 1e3);
  u32 *hist = alloc<u32>(SYMBOLS);
  for (const Case &c : cases) {
    make_codes<<<sms * 8, 256>>>(codes, n, c.kind, inv_log_theta(c.lo),
                                 c.hi ? inv_log_theta(c.hi) : 0);
    CK(cudaMemset(hist, 0, SYMBOLS * 4));
    histogram<<<sms * 4, 512>>>(codes, n, hist);
    std::vector<u32> h(SYMBOLS);
    CK(cudaMemcpy(h.data(), hist, SYMBOLS * 4, cudaMemcpyDeviceToHost));
    Book const b = make_book(std::vector<u64>(h.begin(), h.end()));
    Tables const t = make_tables(b);
    bench_sub<128>(c, n, codes, out, b, t);
    bench_sub<256>(c, n, codes, out, b, t);
  }
  printf(
      "\nbest table per mode, GB/s of u16 output (nsym,kd in brackets; all classes "
      "launched)\n%-10s %4s",
      "case", "sub");
  for (int m = 0; m < COUNT_ONLY; m++) printf(" %20s", mode_names[m]);
  printf(" %20s\n", "best");
  for (const Case &c : cases)
    for (int sub : {128, 256}) {
      printf("%-10s %4d", c.name, sub);
      const Row *best = nullptr;
      for (int m = 0; m < COUNT_ONLY; m++) {
        const Row *bm = nullptr;
        for (const Row &r : rows)
          if (r.c == c.name && r.sub == sub && r.mode == mode_names[m] && (!bm || r.us < bm->us))
            bm = &r;
        char s[64];
        snprintf(s, sizeof s, "%.0f (%d,%d)", bm->gbs, bm->nsym, bm->kd);
        printf(" %20s", s);
        if (!best || bm->us < best->us) best = bm;
      }
      char s[64];
      snprintf(s, sizeof s, "%.0f %s", best->gbs, best->mode.c_str());
      printf(" %20s\n", s);
    }
  printf(
      "\none fixed table for all, GB/s: harmonic mean over the cases of each (mode, nsym, "
      "kd)\n%-14s %8s %8s %8s %8s\n",
      "mode", "nsym,kd", "128", "256", "256/128");
  for (int m = 0; m < COUNT_ONLY; m++)
    for (auto [ns, kd] : {std::pair<int, int>{1, 12}, {2, 11}, {2, 12}, {4, 10}, {4, 11}}) {
      double us[2] = {0, 0};
      for (const Row &r : rows)
        if (r.mode == mode_names[m] && r.nsym == ns && r.kd == kd) us[r.sub == 256] += r.us;
      double const k = sizeof cases / sizeof *cases * n * 2.0 / 1e3;
      printf("%-14s %5d,%-2d %8.0f %8.0f %8.3f\n", mode_names[m], ns, kd, k / us[0], k / us[1],
             us[0] / us[1]);
    }
  printf("\n%s\n", failures ? "VERIFICATION FAILED" : "all outputs verified");
  fclose(csv);
  return failures != 0;
}
