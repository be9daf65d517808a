/* levels_kernels.cu - fused kernels for levels frames, being tried; not part of the library.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Full 3-D tiles of f32, narrow, cubic, equal ranks: one warp marches a tile, prediction, codes and
 * bits in one kernel per level and direction. On an H200, 512^3 f32, all levels, GB/s of field to
 * codes and back: turbulence 1e-2 1503 / 2116, 1e-3 1276 / 1648, 1e-4 1022 / 1272; wave 1e-3
 * 1560 / 2124, 1e-4 1022 / 1412. Outputs equal those of the host's reference bit for bit, except for the gaps below.
 *
 * Build: nvcc -O3 -arch=sm_90 -fmad=false levels_kernels.cu; on a CPU, for correctness: g++ -O1
 * -std=c++17 -DEMU -x c++ levels_kernels.cu
 * Run: FILE nx ny nz BOUND(relative to the range) MODE(1 plain, 2 pairs, 3 masks at s=1; 0 =
 * cheapest for each level) FLAGS
 *   v verify all codes, restored values and tile words against the host; t times; s stages alone;
 * n every kernel once (ncu)
 * One warp a tile. Fast path: full tiles; edge path: all others.
 * Gaps: codes beyond 8 bits at s=1 (16 at s=2) are clamped, on the host too, and counted; tiles
 * whose lanes overtake their codes
 * are counted and dropped; the base goes as raw int32; L = 3; no checks of bad input.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <queue>
#include <string>
#include <thread>
#include <vector>
#ifdef EMU
#include "emu.h"
#define SMEM int *sm = (int *)emu_sm
#else
#include <cuda_runtime.h>
#define SMEM extern __shared__ __align__(1024) int sm[]
#endif
#define CK(x)                                                        \
  do {                                                               \
    cudaError_t e_ = (x);                                            \
    if (e_ != cudaSuccess) {                                         \
      printf("CUDA %s line %d\n", cudaGetErrorString(e_), __LINE__); \
      exit(1);                                                       \
    }                                                                \
  } while (0)
typedef uint32_t u32;
typedef uint64_t u64;
constexpr int KM = 0x4B400000, XLOW = 0x4B000000; // bits of 1.5*2^23; bits with X = -2^22
constexpr int CLAMP = 1 << 22;
// ---------------------------------------------------------------- geometry
struct Lv {
  int nx, ny, nz, np, mx, my, mz, cp, tx, ty, tz, nt, H, s, unit, CB, g, nl, mode;
  u32 magic;
  int offk;
}; // grid, its pitch; coarse grid, its pitch; tiles
__host__ __device__ inline int dup(int a, int b) { return (a + b - 1) / b; }
struct Par {
  const float *in;
  const int *C;
  int *Ro;
  float *out;
  int NX, NY, NZ;
  float inv, fine;
  u32 *ovf;
};
enum { OV_CLAMP, OV_OVER, OV_EDGE };
constexpr int CRW = 40; // words of a staged coarse row: x0-4 .. x0+35
// staging of a warp, in slots. Decoder: a coarse plane each. Encoder: at s = 1 also the field's
// values of an even and an odd plane; else these have places of their own, at s = 2 for whole rows
template <int S, bool ENC>
__host__ __device__ constexpr int slot_words() {
  return 7 * CRW + (ENC && S == 1 ? 1024 : 0);
}
template <int S>
__host__ __device__ constexpr int plane_words() {
  return S == 2 ? 1024 : 512;
}
template <int S, bool ENC>
__host__ __device__ constexpr int stage_words() {
  return (ENC ? 2 : 4) * slot_words<S, ENC>() + (ENC && S > 1 ? 2 * plane_words<S>() : 0);
}
#ifdef EMU
static inline void cpa(void *d, const void *g) { memcpy(d, g, 16); }
static inline void cpa4(void *d, const void *g) { memcpy(d, g, 4); }
#define CPA_COMMIT()
#define CPA_WAIT(n)
#define PDL_SYNC()
#define PREFETCH(q)
#else
__device__ __forceinline__ void cpa(void *d, const void *g) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"((u32)__cvta_generic_to_shared(d)),
               "l"(g)
               : "memory");
}
__device__ __forceinline__ void cpa4(void *d, const void *g) {
  asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"((u32)__cvta_generic_to_shared(d)),
               "l"(g)
               : "memory");
}
#define CPA_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CPA_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#ifdef NOPF
#define PREFETCH(q)
#else
#define PREFETCH(q) asm volatile("prefetch.global.L2 [%0];" ::"l"(q))
#endif
#define PDL_SYNC()                             \
  do {                                         \
    cudaTriggerProgrammaticLaunchCompletion(); \
    cudaGridDependencySynchronize();           \
  } while (0)
#endif
#ifdef EMU
static inline u32 sad(const void *p) { return (u32)((const char *)p - emu_sm); }
static inline u32 lds(u32 a) {
  u32 v;
  memcpy(&v, emu_sm + a, 4);
  return v;
}
static inline void sts(u32 a, u32 v) { memcpy(emu_sm + a, &v, 4); }
template <int OFF>
static inline u32 ldt(u32 a) {
  return lds(a + OFF);
}
static inline float2 lds2f(u32 a) {
  float2 v;
  memcpy(&v, emu_sm + a, 8);
  return v;
}
static inline float2 lds4xz(u32 a) {
  float v[4];
  memcpy(v, emu_sm + a, 16);
  return {v[0], v[2]};
}
static inline void cpas(u32 d, const void *g) { memcpy(emu_sm + d, g, 16); }
static inline void cpas4(u32 d, const void *g) { memcpy(emu_sm + d, g, 4); }
#define KEEP(x)
#define KEEP64(x)
#else
#define KEEP(x) asm volatile("" : "+r"(x)) // keeps it in a register: made anew otherwise
#define KEEP64(x) asm volatile("" : "+l"(x))
__device__ __forceinline__ float2 lds2f(u32 a) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0,%1},[%2];" : "=f"(v.x), "=f"(v.y) : "r"(a) : "memory");
  return v;
}
__device__ __forceinline__ float2 lds4xz(u32 a) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3},[%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(a)
               : "memory");
  return make_float2(v.x, v.z);
}
__device__ __forceinline__ void cpas4(u32 d, const void *g) {
  asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"(d), "l"(g) : "memory");
}
__device__ __forceinline__ void cpas(u32 d, const void *g) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(d), "l"(g) : "memory");
}
__device__ __forceinline__ u32 sad(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 lds(u32 a) {
  u32 v;
  asm volatile("ld.shared.u32 %0,[%1];" : "=r"(v) : "r"(a) : "memory");
  return v;
}
__device__ __forceinline__ void sts(u32 a, u32 v) {
  asm volatile("st.shared.u32 [%0],%1;" ::"r"(a), "r"(v) : "memory");
}
template <int OFF>
__device__ __forceinline__ u32 ldt(u32 a) {
  u32 v;
  asm("ld.shared.u32 %0,[%1+%2];" : "=r"(v) : "r"(a), "n"(OFF));
  return v;
} // tables
#endif
// the four codes (y) of one class at one (z pair, lane)
template <int CB>
struct Cw;
template <>
struct Cw<1> {
  u32 w = 0;                           // bytes; the encoder's are code + 128
  __device__ int get256(int j) const { // byte j, sign extended, times 256
#ifdef EMU
    return (int8_t)(w >> (8 * j)) * 256;
#else
    int r;
    if (j == 0)
      asm("prmt.b32 %0,%1,0,0x8804;" : "=r"(r) : "r"(w));
    else if (j == 1)
      asm("prmt.b32 %0,%1,0,0x9914;" : "=r"(r) : "r"(w));
    else if (j == 2)
      asm("prmt.b32 %0,%1,0,0xaa24;" : "=r"(r) : "r"(w));
    else
      asm("prmt.b32 %0,%1,0,0xbb34;" : "=r"(r) : "r"(w));
    return r;
#endif
  }
  __device__ int get(int j) const { return (int8_t)(w >> (8 * j)); }
  __device__ void pack(const int *d) {
    w = __byte_perm(__byte_perm(d[0], d[1], 0x0051), __byte_perm(d[2], d[3], 0x0051), 0x5410);
  } // bytes 1
  __device__ void packk(const int *k) {
    w = 0;
    for (int j = 0; j < 4; j++) w |= (u32)((k[j] + 128) & 255) << (8 * j);
  }
};
template <>
struct Cw<2> {
  uint2 w = {0, 0};
  __device__ int get(int j) const {
    u32 v = j < 2 ? w.x : w.y;
    return (int)(v << (j & 1 ? 0 : 16)) >> 16;
  }
  __device__ void packk(const int *k) {
    w.x = __byte_perm(k[0], k[1], 0x5410);
    w.y = __byte_perm(k[2], k[3], 0x5410);
  }
};
template <>
struct Cw<4> {
  int w[4] = {0, 0, 0, 0};
  __device__ int get(int j) const { return w[j]; }
  __device__ void packk(const int *k) {
    for (int j = 0; j < 4; j++) w[j] = k[j];
  }
};
// k = floor((X - P + unit / 2) / unit) for |X - P| < 2^23 and unit 2 to 256
__device__ __forceinline__ int div_unit(const Lv &g, int d) {
  return (int)__umulhi((u32)(d + (g.unit >> 1) + g.offk * g.unit), g.magic) - g.offk;
}
__device__ __forceinline__ int clampP(int P) { return min(max(P, -CLAMP), CLAMP); }
template <int CB>
__device__ __forceinline__ int clampK(int k, bool &c) {
  const int m = CB == 1 ? 127 : CB == 2 ? 32767 : 0x7fffffff;
  int r = min(max(k, -m - 1), m);
  c |= r != k;
  return r;
}
struct Tile {
  int bx, by, bz, x0, y0, z0, tx, ty, tz;
}; // first point and extents, in points of the grid
__host__ __device__ inline Tile tile_of(const Lv &g, int t) {
  Tile b;
  b.bx = t % g.tx;
  b.by = (t / g.tx) % g.ty;
  b.bz = t / (g.tx * g.ty);
  b.x0 = b.bx * 64;
  b.y0 = b.by * 8;
  b.z0 = b.bz * 2 * g.H;
  b.tx = g.nx - b.x0 < 64 ? g.nx - b.x0 : 64;
  b.ty = g.ny - b.y0 < 8 ? g.ny - b.y0 : 8;
  b.tz = g.nz - b.z0 < 2 * g.H ? g.nz - b.z0 : 2 * g.H;
  return b;
}
__host__ __device__ inline bool is_full(const Lv &g, const Tile &b) {
  return b.tx == 64 && b.ty == 8 && b.tz == 2 * g.H;
}

// tile number k in order of work: those at the far z and y faces, which go the slow path, first
__device__ __forceinline__ int tile_at(const Lv &g, int k, bool back) {
  const int slab = g.tx * g.ty, ye = g.tx * (g.tz - 1);
  if (k < slab) return (g.tz - 1) * slab + k;
  k -= slab;
  if (k < ye) return k / g.tx * slab + slab - g.tx + k % g.tx;
  k -= ye;
  const int per = slab - g.tx;
  if (back) k = per * (g.tz - 1) - 1 - k;
  return k / per * slab + k % per;
}

// a + k * b, addresses and bytes: one instruction
__device__ __forceinline__ const char *adv(const char *a, u32 k, u32 b) {
#ifdef EMU
  return a + (u64)k * b;
#else
  const char *r;
  asm("mad.wide.u32 %0,%1,%2,%3;" : "=l"(r) : "r"(k), "r"(b), "l"(a));
  return r;
#endif
}
__device__ __forceinline__ char *adv(char *a, u32 k, u32 b) {
  return (char *)adv((const char *)a, k, b);
}
// can the tile go the fast path? Else the edge path takes it.
template <int S>
__device__ __forceinline__ bool is_fast(const Par &p, const Lv &g, const Tile &b) {
  return is_full(g, b) && p.NX % 4 == 0;
}
// prediction, fast path. Returns false (encoder, s=1) if the tile must be done by the edge path.
// Rows and planes that the grid does not have behind the far faces are ghosts: values that make
// the inner stencil the one of the end.
template <int S, bool ENC, int CB, class GET, class PUT>
__device__ __forceinline__ bool march_fast(const Par &p, const Lv &g, const Tile &b, int lane,
                                           u32 sb, GET get, PUT put) {
  constexpr int H = 8 / S, SW = slot_words<S, ENC>(), ND = ENC ? 2 : 4;
  const int xi = b.x0 / 2 + lane, cx0 = b.x0 / 2, cy0 = b.y0 / 2, cz0 = b.z0 / 2, cp = g.cp;
  const bool y0f = cy0 == 0, z0f = cz0 == 0, yfar = cy0 + 4 == g.my, ymiss = cy0 + 5 == g.my,
             zfar = cz0 + H == g.mz;
  int a0 = -1, a1 = 9, a2 = 9, a3 = -1, b0 = -1, b1 = 9, b2 = 9, b3 = -1, w2 = 1, M3 = 0x2AAAAAAB;
  if (xi == 0) a0 = 0, a1 = 6, a2 = 12, a3 = -2;
  if (xi == g.mx - 2) a0 = -2, a1 = 12, a2 = 6, a3 = 0;
  if (xi == g.mx - 1) a0 = -8, a1 = 24, a2 = 0, a3 = 0;
  if (lane == 0) b0 = 0, b1 = 6, b2 = 12, b3 = -2;
  if (lane == 30) b0 = -2, b1 = 12, b2 = 6, b3 = 0;
  if (lane == 31) b0 = b1 = b2 = b3 = 0, w2 = 2, M3 = 0x40000000; // x is left out
#ifndef EMU
  asm volatile("" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3));
  asm volatile("" : "+r"(b0), "+r"(b1), "+r"(b2), "+r"(b3), "+r"(w2), "+r"(M3));
#endif // keeps them in registers: made anew in each step otherwise
  const u32 crow = (u32)cp * 4, cpl = crow * (u32)g.my; // bytes of a coarse row and plane
  const u32 frow = (u32)p.NX * S * 4, fpl = (u32)p.NX * (u32)p.NY * (S * 4);
  // pieces of 16 bytes of a coarse plane; those outside the grid are replaced by others, no value
  // of which counts
  const char *cq[3];
#pragma unroll
  for (int k = 0; k < 3; k++) {
    const int c = lane + 32 * k, r = c / 10, x = cx0 + 4 * (c - 10 * r) - 4, y = cy0 - 1 + r;
    cq[k] = (const char *)(p.C + ((size_t)cz0 * g.my + min(max(y, 0), g.my - 1)) * cp +
                           min(max(x, 0), cp - 4));
  }
  const char *fq = nullptr; // the field: this lane's first piece of plane 0 (s = 1), its values
  if (ENC) {
    fq = (const char *)(p.in + ((size_t)b.z0 * p.NY + b.y0) * S * (size_t)p.NX + (size_t)b.x0 * S);
    fq += S == 1 ? (lane >> 4) * frow + (lane & 15) * 16 : lane * 16;
  }
  char *oq = nullptr; // where the values go: this lane's of plane 0
  const u32 orow = (u32)g.np * 4, opl = orow * (u32)g.ny;
  if (!(ENC && S == 1))
    oq = (S == 1 ? (char *)p.out : (char *)p.Ro) +
         4 * (((size_t)b.z0 * g.ny + b.y0) * g.np + 2 * xi);
  KEEP64(cq[0]);
  KEEP64(cq[1]);
  KEEP64(cq[2]);
  if (ENC) KEEP64(fq);
  // bytes: even and odd plane of the field's values, behind the slots if they are not in them
  constexpr u32 EVEN = S == 1 ? 28 * CRW : 2 * SW * 4, ODD = EVEN + plane_words<S>() * 4;
  constexpr bool AHEAD = ENC && S > 1;
  u32 sl = sb + 16 * lane, sx0 = sb + 4 * (lane + 4), sf = sb + (S == 2 ? 16 : 8) * lane;
  KEEP(sl);
  KEEP(sx0);
  KEEP(sf);
  auto field = [&](int z, u32 to) { // a plane of it to byte `to` of the staging
    const char *q = adv(fq, z, fpl);
#pragma unroll
    for (int k = 0; k < 8; k++) {
      if (S == 4) {
        cpas4(sl - 12 * lane + to + 256 * k, adv(q, k, frow));
        cpas4(sl - 12 * lane + to + 256 * k + 128, adv(q, k, frow) + 128 * S);
      } else if (S == 2)
        cpas(sl + to + 512 * k, adv(q, k, frow));
      else if (k < 4)
        cpas(sl + to + 512 * k, adv(q, 2 * k, frow));
    }
  };
  auto issue = [&](int i) {
    const u32 to = (i & (ND - 1)) * (SW * 4);
    if (i <= H + 1 && cz0 + i < g.mz) {
      cpas(sl + to, adv(cq[0], i, cpl));
      cpas(sl + to + 512, adv(cq[1], i, cpl));
      if (lane < 6) cpas(sl + to + 1024, adv(cq[2], i, cpl));
    }
    if (ENC && !AHEAD) {
      if (i < H) field(2 * i, EVEN + to);
      if (i >= 2 && i <= H + 1) field(2 * i - 3, ODD + to);
    }
    if (!AHEAD) CPA_COMMIT();
  };
  int e1[18], u[18], tt[18]; // the plane before; 9 of it - the one before; 9 of both - the third
  u32 acc = 0, accx = 0, kept = 0; // do codes fit, have values a lattice value
  const int toq = (g.unit >> 1) + g.offk * g.unit - KM;
#pragma unroll
  for (int j = 0; j < 18; j++) e1[j] = u[j] = tt[j] = 0;
  for (int i = 0; i < ND - 1; i++) issue(i);
  if (AHEAD) {
    field(0, EVEN);
    CPA_COMMIT();
    CPA_COMMIT(); // no odd plane yet
  }
  if (!z0f) {
    const int *q = p.C + ((size_t)(cz0 - 1) * g.my + cy0) * cp + xi;
#pragma unroll
    for (int j = 0; j < 5; j++) e1[j] = q[min(j, g.my - 1 - cy0) * cp];
  }
  auto xs = [&](int c) {
    int l = __shfl_up_sync(~0u, c, 1), r = __shfl_down_sync(~0u, c, 1),
        r2 = __shfl_down_sync(~0u, c, 2);
    return b0 * l + b1 * c + b2 * r + b3 * r2;
  };
  auto emit = [&](char *q, int j, int v0, int v1) {
    q = adv(q, j, orow);
    if (S == 1)
      __stcs((float2 *)q, make_float2((float)v0 * p.fine, (float)v1 * p.fine));
    else
      *(int2 *)q = make_int2(v0, v1);
  };
  auto ycub = [](const int *v, int j) {
    return j == 0   ? 6 * v[0] + 12 * v[1] - 2 * v[2]
           : j == 3 ? -2 * v[2] + 12 * v[3] + 6 * v[4]
                    : 9 * (v[j] + v[j + 1]) - (v[j - 1] + v[j + 2]);
  };
  auto ghost = [](int v0, int v1, int v2) { return v0 + 3 * (v2 - v1); }; // behind v2
#pragma unroll 1
  for (int i = 0; i <= H + 1; i++) {
    const u32 so = (i & (ND - 1)) * (SW * 4), sx = sx0 + so;
    CPA_WAIT(AHEAD ? 1 : ND - 2);
    __syncwarp();
    issue(i + ND - 1);
    const bool coded = i < H;
    const int mask = coded ? (S == 1 ? ~255 : ~0) : 0, mc = coded ? -0x8000 : 0;
    Cw<CB> w[7];
    if (!ENC) {
#pragma unroll
      for (int c = 0; c < 3; c++)
        if (coded) w[c] = get(c, i);
      if (i >= 2) {
#pragma unroll
        for (int c = 3; c < 7; c++) w[c] = get(c, i - 2);
      }
    }
    // at s = 1 a row; else all rows of a plane come into registers, and then the next plane is
    // on its way to their place
    float2 rows[AHEAD ? 8 : 1];
    auto take = [&](u32 from, bool more, int next) {
#pragma unroll
      for (int y = 0; y < 8; y++)
        rows[y % (AHEAD ? 8 : 1)] =
            S == 2 ? lds4xz(sf + from + 512 * y) : lds2f(sf + from + 256 * y);
      __syncwarp();
      if (more) field(next, from);
      CPA_COMMIT();
    };
    auto fx = [&](int y) {
      return AHEAD ? rows[y % (AHEAD ? 8 : 1)] : lds2f(sf + EVEN + so + 256 * y);
    };
    if (AHEAD) take(EVEN, i + 1 < H, 2 * i + 2);
    auto ap = [&](int P, float x, int *d, const Cw<CB> &w, int j, int mk, int mcc) -> int {
      if (S > 1) P = clampP(P);
      if constexpr (ENC) {
        const int xb = __float_as_int(fmaf(x, p.inv, 12582912.f));
        accx |= (u32)(xb ^ XLOW); /* of a plane without codes x is what was last there */
        if constexpr (S == 1) {
          const int v = xb - P + (128 - KM + 0x8000);
          d[j] = v;
          if (j & 1) acc |= (u32)(d[j - 1] | v);
          return P + (v & mk) + mcc;
        } else {
          int k = (int)__umulhi((u32)(xb - P + toq), g.magic) - g.offk;
          if (CB == 2) acc |= (u32)(k + 32768);
          k &= mk;
          d[j] = k;
          return P + k * g.unit;
        }
      } else {
        if constexpr (S == 1)
          return P + w.get256(j);
        else
          return P + w.get(j) * g.unit;
      }
    };
    auto pk = [&](const int *d) {
      Cw<CB> w;
      if constexpr (S == 1)
        w.pack(d);
      else
        w.packk(d);
      return w;
    };
    auto far = [&](int P) { return S > 1 ? clampP(P) : P; };
    int cur[18], zs[18];
    if (coded || (i == H && !zfar)) {
      int ee[7], d[4];
      float2 f[4];
#pragma unroll
      for (int j = 0; j < 7; j++) ee[j] = (int)lds(sx + 4 * j * CRW); // coarse rows -1..5
      if (y0f) ee[0] = ghost(ee[3], ee[2], ee[1]);
      if (ymiss) ee[6] = ghost(ee[3], ee[4], ee[5]);
      if (yfar) {
        ee[5] = ghost(ee[2], ee[3], ee[4]);
        ee[6] = 9 * ee[5] - 15 * ee[4] + 7 * ee[3];
      }
      if (ENC) {
        kept = acc;
#pragma unroll
        for (int j = 0; j < 4; j++) f[j] = fx(2 * j);
      }
#pragma unroll
      for (int j = 0; j < 5; j++) {
        const u32 q = sx + 4 * (j + 1) * CRW;
        int P = (a0 * (int)lds(q - 4) + a1 * ee[j + 1] + a2 * (int)lds(q + 4) +
                 a3 * (int)lds(q + 8) + 8) >>
                4;
        cur[j] = ee[j + 1];
        cur[5 + j] = j < 4 ? ap(P, f[j & 3].y, d, w[0], j & 3, mask, mc) : far(P);
      }
      if (yfar) cur[9] = ghost(cur[6], cur[7], cur[8]);
      if (ENC && coded) put(0, i, pk(d));
      if (ENC) {
#pragma unroll
        for (int j = 0; j < 4; j++) f[j] = fx(2 * j + 1);
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int q = 9 * (ee[j + 1] + ee[j + 2]) - (ee[j] + ee[j + 3]);
        cur[10 + j] = ap((q + 8) >> 4, f[j].x, d, w[1], j, mask, mc);
      }
      if (ENC && coded) put(1, i, pk(d));
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int X = xs(cur[10 + j]);
        int sum = X + w2 * ycub(cur + 5, j);
        if (j == 3 && yfar) sum = w2 == 2 ? 16 * (cur[13] + cur[8]) : 2 * X;
        cur[14 + j] = ap((sum + 16) >> 5, f[j].y, d, w[2], j, mask, mc);
      }
      if (ENC && coded) put(2, i, pk(d));
      if (ENC && !coded) acc = kept;
      if (coded && !(ENC && S == 1)) {
        char *o = adv(oq, 2 * i, opl);
#pragma unroll
        for (int j = 0; j < 4; j++) {
          emit(o, 2 * j, cur[j], cur[5 + j]);
          emit(o, 2 * j + 1, cur[10 + j], cur[14 + j]);
        }
      }
    } else {
      const bool here = cz0 + i < g.mz; // coarse values behind the far plane
#pragma unroll
      for (int j = 0; j < 18; j++) {
        const int eh = 9 * e1[j] - u[j], eh2 = 9 * (e1[j] + eh) - tt[j];
        cur[j] = ghost(eh2, eh, e1[j]);
        if (H == 2 && i == H && (j >= 5 || z0f)) cur[j] = 2 * e1[j] - eh;
        if (zfar && i > H) cur[j] = tt[j] - (j < 5 ? 24 * eh - 8 * eh2 : eh); // see odd()
        if (j < 5 && here) cur[j] = (int)lds(sx + 4 * (j + 1) * CRW);
      }
    }
#pragma unroll
    for (int j = 0; j < 18; j++) zs[j] = tt[j] - cur[j];
    if (i == 2 && !(H == 1)) {
#pragma unroll
      for (int j = 0; j < 18; j++)
        if (j >= 5 || z0f) zs[j] -= 3 * (9 * e1[j] - u[j] - e1[j]) + cur[j];
    }
#pragma unroll
    for (int j = 0; j < 18; j++) {
      tt[j] = 9 * cur[j] + u[j];
      u[j] = 9 * cur[j] - e1[j];
      e1[j] = cur[j];
    }
    // the odd plane before the last even one. LAST: no plane follows, z is left out, and zs has the
    // sums of class 4 and otherwise the values of the plane before
    auto odd = [&](auto last) {
      constexpr bool LAST = decltype(last)::value;
      int d[4], ee[5], xo[5], yo[4], xy[4];
      float2 f[4];
      constexpr int OM = S == 1 ? ~255 : ~0, MC = -0x8000;
      if (ENC) {
#pragma unroll
        for (int j = 0; j < 4; j++) f[j] = fx(8 + 2 * j);
      }
#pragma unroll
      for (int j = 0; j < 5; j++) {
        int P = (zs[j] + 8) >> 4;
        ee[j] = j < 4 ? ap(P, f[j & 3].x, d, w[3], j & 3, OM, MC) : far(P);
      }
      if (yfar) ee[4] = ghost(ee[1], ee[2], ee[3]);
      if (ENC) put(3, i - 2, pk(d));
#pragma unroll
      for (int j = 0; j < 5; j++) {
        const int X = xs(ee[j]),
                  sum = !LAST     ? X + w2 * zs[5 + j]
                        : w2 == 2 ? 16 * (ee[j] + zs[5 + j])
                                  : 2 * X,
                  P = (sum + 16) >> 5;
        xo[j] = j < 4 ? ap(P, f[j & 3].y, d, w[4], j & 3, OM, MC) : far(P);
      }
      if (yfar) xo[4] = ghost(xo[1], xo[2], xo[3]);
      if (ENC) put(4, i - 2, pk(d));
      if (ENC) {
#pragma unroll
        for (int j = 0; j < 4; j++) f[j] = fx(9 + 2 * j);
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int sum = LAST ? 2 * ycub(ee, j) : ycub(ee, j) + zs[10 + j];
        if (j == 3 && yfar) sum = LAST ? 16 * (ee[3] + zs[13]) : 2 * zs[13];
        yo[j] = ap((sum + 16) >> 5, f[j].x, d, w[5], j, OM, MC);
      }
      if (ENC) put(5, i - 2, pk(d));
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int X = xs(yo[j]), Y = ycub(xo, j);
        int sum = !LAST ? X + Y + zs[14 + j] : w2 == 2 ? 2 * Y : X + Y, m = LAST ? 0x40000000 : M3;
        if (j == 3 && yfar) {
          sum = LAST ? 2 * X : X + w2 * zs[17];
          m = 0x40000000;
          if (LAST && w2 == 2) sum = 16 * (yo[3] + xo[3] + zs[17]), m = 0x2AAAAAAB;
        }
        xy[j] = ap((__mulhi(sum, m) + 4) >> 3, f[j].y, d, w[6], j, OM, MC);
      }
      if (ENC) put(6, i - 2, pk(d));
      if (!(ENC && S == 1)) {
        char *o = adv(oq, 2 * i - 3, opl);
#pragma unroll
        for (int j = 0; j < 4; j++) {
          emit(o, 2 * j, ee[j], xo[j]);
          emit(o, 2 * j + 1, yo[j], xy[j]);
        }
      }
    };
    if (AHEAD) {
      CPA_WAIT(1);
      __syncwarp();
      take(ODD, i >= 1 && i <= H, 2 * i - 1);
    }
    if (i >= 2) {
      if (zfar && i == H + 1)
        odd(std::true_type());
      else
        odd(std::false_type());
    }
  }
  CPA_WAIT(0);
  __syncwarp();
  return !ENC || !__any_sync(~0u, (CB < 4 ? acc >> 16 : 0) | (accx >> 23));
}

// prediction, edge path: any extents, values without a lattice value; plain loads
template <int S, bool ENC, int CB, class GET, class PUT>
__device__ __forceinline__ void march_edge(const Par &p, const Lv &g, const Tile &b, int lane,
                                           GET get, PUT put) {
  const int cx = b.x0 / 2 + lane, cy0 = b.y0 / 2, cz0 = b.z0 / 2;
  const size_t cpl = (size_t)g.cp * g.my;
  bool cl = false;
  const bool xe = 2 * lane < b.tx, xo_ = 2 * lane + 1 < b.tx; // does the even, the odd x exist
  const int nxb = (b.tx + 1) / 2, nyb = (b.ty + 1) / 2 + (b.y0 + b.ty < g.ny),
            nzb = (b.tz + 1) / 2 + (b.z0 + b.tz < g.nz); // even columns, rows, planes of the box
  auto sten =
      [](int v, int n,
         int *
             // stencil of the odd point between even points v and v+1 of n; false: no right
             // neighbour
             w) {
        w[0] = w[3] = 0;
        w[1] = w[2] = 8;
        if (v + 1 >= n) {
          w[1] = w[2] = 0;
          return false;
        }
        if (v >= 1 && v + 2 < n) {
          w[0] = w[3] = -1;
          w[1] = w[2] = 9;
        } else if (v + 2 < n) {
          w[1] = 6;
          w[2] = 12;
          w[3] = -2;
        } else if (v >= 1) {
          w[0] = -2;
          w[1] = 12;
          w[2] = 6;
        }
        return true;
      };
  auto sten1 = [&](int v, int n, int *w) {
    if (sten(v, n, w)) return;
    if (v >= 1) {
      w[0] = -8;
      w[1] = 24;
    } else
      w[1] = 16;
  };
  int ax[4], bx[4];
  sten1(cx, g.mx, ax);
  const bool ux = sten(lane, nxb, bx);
  auto at = [&](int x, int y, int z) {
    return p
        .C[(size_t)z * cpl + (size_t)min(max(y, 0), g.my - 1) * g.cp + min(max(x, 0), g.mx - 1)];
  };
  auto xsh = [&](int c) {
    int l = __shfl_up_sync(~0u, c, 1), r = __shfl_down_sync(~0u, c, 1),
        r2 = __shfl_down_sync(~0u, c, 2);
    return bx[0] * l + bx[1] * c + bx[2] * r + bx[3] * r2;
  };
  auto ysum = [](const int *v, const int *w, int j) {
    int s = w[1] * v[j] + w[2] * v[j + 1];
    if (j > 0) s += w[0] * v[j - 1];
    if (j < 3) s += w[3] * v[j + 2];
    return s;
  };
  auto m2 = [](int s0, bool u0, int l0, int s1, bool u1, int l1) {
    if (u0 && u1) return (s0 + s1 + 16) >> 5;
    if (u0 || u1) return ((u0 ? s0 : s1) + 8) >> 4;
    return (16 * (l0 + l1) + 16) >> 5;
  };
  float fv[32];
  const float *fp = ENC ? p.in + ((size_t)b.z0 * S * p.NY + (size_t)b.y0 * S) * p.NX +
                              (size_t)(b.x0 + 2 * lane) * S
                        : nullptr;
  const size_t frow = (size_t)p.NX * S,
               fpl =
                   (size_t)p.NX * p.NY * S; // field values of a step: even plane, odd plane; row; x
  auto ap = [&](int P, bool ok, int x, int y, int z, const Cw<CB> &w, int j, int *d) -> int {
    if (S > 1) P = clampP(P);
    int k;
    if (ENC) {
      int xb = __float_as_int(fmaf(fv[(z & 1) * 16 + 2 * y + (x & 1)], p.inv, 12582912.f));
      k = 0;
      if (ok && (u32)(xb - XLOW) < 1u << 23)
        k = clampK<CB>(S == 1 ? (xb - KM - P + 128) >> 8 : div_unit(g, xb - KM - P), cl);
      d[j] = k;
    } else
      k = ok ? w.get(j) : 0;
    return P + k * g.unit;
  };
  auto emit = [&](bool ok, int x, int y, int z, int v) {
    if (!ok || (ENC && S == 1)) return;
    size_t o = ((size_t)(b.z0 + z) * g.ny + b.y0 + y) * g.np + b.x0 + x;
    if (S == 1)
      p.out[o] = (float)v * p.fine;
    else
      p.Ro[o] = v;
  };
  auto pk = [&](const int *d) {
    Cw<CB> w;
    w.packk(d);
    return w;
  };
  auto far = [&](int P) { return S > 1 ? clampP(P) : P; };
  int h0[18], h1[18], h2[18], cur[18]; // planes i-3, i-2, i-1, i
#pragma unroll
  for (int j = 0; j < 18; j++) h0[j] = h1[j] = h2[j] = cur[j] = 0;
  if (cz0 > 0) {
#pragma unroll
    for (int j = 0; j < 5; j++) h2[j] = at(cx, cy0 + j, cz0 - 1);
  }
#pragma unroll 1
  for (int i = 0; i <= g.H + 1; i++) {
    const bool plane = i < nzb, coded = 2 * i < b.tz;
    const int z = 2 * i;
    int d[4];
    Cw<CB> w;
    if (ENC) {
#pragma unroll
      for (int y = 0; y < 16; y++) {
        const int zf = y < 8 ? 2 * i : 2 * i - 3;
        const bool in = zf >= 0 && zf < b.tz && (y < 8 ? coded : i >= 2) && (y & 7) < b.ty;
        const float *q = fp + (size_t)(in ? zf : 0) * fpl + (size_t)(in ? y & 7 : 0) * frow;
        fv[2 * y] = in && xe ? q[0] : 0.f;
        fv[2 * y + 1] = in && xo_ ? q[S] : 0.f;
      }
    }
    int em = 0, e5 = 0;
    if (plane) {
      em = at(cx, cy0 - 1, cz0 + i);
      e5 = at(cx, cy0 + 5, cz0 + i);
    }
    if (cz0 + i < g.mz) {
#pragma unroll
      for (int j = 0; j < 5; j++) cur[j] = at(cx, cy0 + j, cz0 + i);
    }
    if (plane) {
      if (!ENC && coded) w = get(0, i);
#pragma unroll
      for (int j = 0; j < 5; j++) {
        int P = (ax[0] * at(cx - 1, cy0 + j, cz0 + i) + ax[1] * cur[j] +
                 ax[2] * at(cx + 1, cy0 + j, cz0 + i) + ax[3] * at(cx + 2, cy0 + j, cz0 + i) + 8) >>
                4;
        if (j < 4)
          cur[5 + j] = ap(P, coded && xo_ && 2 * j < b.ty, 2 * lane + 1, 2 * j, z, w, j, d);
        else
          cur[9] = far(P);
      }
      if (ENC && coded) put(0, i, pk(d));
      if (!ENC && coded) w = get(1, i);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int yw[4];
        sten1(cy0 + j, g.my, yw);
        int P = (yw[0] * (j ? cur[j ? j - 1 : 0] : em) + yw[1] * cur[j] + yw[2] * cur[j + 1] +
                 yw[3] * (j < 3 ? cur[j + 2 > 4 ? 4 : j + 2] : e5) + 8) >>
                4;
        cur[10 + j] = ap(P, coded && xe && 2 * j + 1 < b.ty, 2 * lane, 2 * j + 1, z, w, j, d);
      }
      if (ENC && coded) put(1, i, pk(d));
      if (!ENC && coded) w = get(2, i);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int yw[4];
        bool uy = sten(j, nyb, yw);
        int P = m2(xsh(cur[10 + j]), ux, cur[10 + j], ysum(cur + 5, yw, j), uy, cur[5 + j]);
        cur[14 + j] = ap(P, coded && xo_ && 2 * j + 1 < b.ty, 2 * lane + 1, 2 * j + 1, z, w, j, d);
      }
      if (ENC && coded) put(2, i, pk(d));
      if (coded) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          emit(xe && 2 * j < b.ty, 2 * lane, 2 * j, z, cur[j]);
          emit(xo_ && 2 * j < b.ty, 2 * lane + 1, 2 * j, z, cur[5 + j]);
          emit(xe && 2 * j + 1 < b.ty, 2 * lane, 2 * j + 1, z, cur[10 + j]);
          emit(xo_ && 2 * j + 1 < b.ty, 2 * lane + 1, 2 * j + 1, z, cur[14 + j]);
        }
      }
    }
    const int q =
        i - 2; // the pair whose odd plane comes now: between h1 and h2, with h0 and cur around
    if (q >= 0 && 2 * q + 1 < b.tz) {
      int ew[4], zw[4], ee[5], xo[5], yo[4], xy[4];
      sten1(cz0 + q, g.mz, ew);
      const bool uz = sten(q, nzb, zw);
      const int z = 2 * q + 1;
      auto zsum = [&](int j, const int *w) {
        return w[0] * h0[j] + w[1] * h1[j] + w[2] * h2[j] + w[3] * cur[j];
      };
      if (!ENC) w = get(3, q);
#pragma unroll
      for (int j = 0; j < 5; j++) {
        int P = (zsum(j, ew) + 8) >> 4;
        if (j < 4)
          ee[j] = ap(P, xe && 2 * j < b.ty, 2 * lane, 2 * j, z, w, j, d);
        else
          ee[4] = far(P);
      }
      if (ENC) put(3, q, pk(d));
      if (!ENC) w = get(4, q);
#pragma unroll
      for (int j = 0; j < 5; j++) {
        int P = m2(xsh(ee[j]), ux, ee[j], zsum(5 + j, zw), uz, h1[5 + j]);
        if (j < 4)
          xo[j] = ap(P, xo_ && 2 * j < b.ty, 2 * lane + 1, 2 * j, z, w, j, d);
        else
          xo[4] = far(P);
      }
      if (ENC) put(4, q, pk(d));
      if (!ENC) w = get(5, q);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int yw[4];
        bool uy = sten(j, nyb, yw);
        int P = m2(ysum(ee, yw, j), uy, ee[j], zsum(10 + j, zw), uz, h1[10 + j]);
        yo[j] = ap(P, xe && 2 * j + 1 < b.ty, 2 * lane, 2 * j + 1, z, w, j, d);
      }
      if (ENC) put(5, q, pk(d));
      if (!ENC) w = get(6, q);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int yw[4];
        bool uy = sten(j, nyb, yw);
        int n = ux + uy + uz, s = xsh(yo[j]), P;
        if (!ux) s = 0;
        if (uy) s += ysum(xo, yw, j);
        if (uz) s += zsum(14 + j, zw);
        if (n == 0) {
          s = 16 * (yo[j] + xo[j] + h1[14 + j]);
          n = 3;
        }
        P = n == 3 ? (__mulhi(s, 0x2AAAAAAB) + 4) >> 3 : n == 2 ? (s + 16) >> 5 : (s + 8) >> 4;
        xy[j] = ap(P, xo_ && 2 * j + 1 < b.ty, 2 * lane + 1, 2 * j + 1, z, w, j, d);
      }
      if (ENC) put(6, q, pk(d));
#pragma unroll
      for (int j = 0; j < 4; j++) {
        emit(xe && 2 * j < b.ty, 2 * lane, 2 * j, z, ee[j]);
        emit(xo_ && 2 * j < b.ty, 2 * lane + 1, 2 * j, z, xo[j]);
        emit(xe && 2 * j + 1 < b.ty, 2 * lane, 2 * j + 1, z, yo[j]);
        emit(xo_ && 2 * j + 1 < b.ty, 2 * lane + 1, 2 * j + 1, z, xy[j]);
      }
    }
    // in a cut tile codes of planes that do not exist are 0
    if (ENC) {
      for (int k = 0; k < 4; k++) d[k] = 0;
      if (i < g.H && !coded) {
        put(0, i, pk(d));
        put(1, i, pk(d));
        put(2, i, pk(d));
      }
      if (q >= 0 && 2 * q + 1 >= b.tz) {
        put(3, q, pk(d));
        put(4, q, pk(d));
        put(5, q, pk(d));
        put(6, q, pk(d));
      }
    }
#pragma unroll
    for (int j = 0; j < 18; j++) {
      h0[j] = h1[j];
      h1[j] = h2[j];
      h2[j] = cur[j];
    }
  }
  if (ENC && cl) atomicAdd(p.ovf + OV_CLAMP, 1u);
}

// ---------------------------------------------------------------- entropy stage
// Codes of a tile in shared memory: 64 words a region, odd pitch. Group G of 64 codes begins at
// word gw(G); a group lies in one region.
constexpr int LB = 12, LUTN = 1 << LB, NREG = 28, DPITCH = 65, EPITCH = 69, SLACK = 4;
constexpr int DTILE = (NREG * DPITCH + 3) / 4 * 4, ETILE = NREG * EPITCH + 24;
constexpr int LUTW =
    6144; // words: plain uses 4096 (u32), pairs 4096 + 2048 (u16), masks 3 x 2048 (u16)
constexpr u32 FLAG =
    // u32 entries: length in bits 0-3, flag; plain: code or symbol in bits 24-31; pairs: codes in
    // bits 16-31
    0x4000;
constexpr u32 FLAG16 =
    // u16 entries of values: length, flag, code or symbol in bits 8-15; others: symbol << 4 |
    // length
    0x10;
// encoder table, u32: code and raw bits from bit 31 on, at most 18; bit 13: too long for the fast
// path, or no code; length in bits 0-5.
constexpr int ET_VAL = 0, ET_TOP = 256, ET_MASK = 512, ET_ESC = 768, ET_SYM = 772,
              ETW = 1032; // values by code + 128; pairs by nibbles, or octets;
// masks (0: escape); escape of values, of pairs or octets; values by symbol
constexpr u32 LEN = 63, LONG = 0x2000, NONE = LONG | 40, CODE = ~0x3fffu;
template <int CB, int PITCH>
__device__ __forceinline__ int gw(int G) {
  const int w = G * 16 * CB;
  return (w >> 6) * PITCH + (w & 63);
}
// a class has 4 regions in any level; place of a lane's word of class c, plane z
template <int CB, int PITCH>
__device__ __forceinline__ int pw(int c, int z, int lane) {
  const int w = (z * 32 + lane) * CB;
  return c * 4 * PITCH + (w >> 6) * PITCH + (w & 63);
}
// existing places of the word of 4 codes number q of a tile's class-major order; 15: all
__device__ __forceinline__ u32 exist4(const Tile &b, int H, int q) {
  const int x = q & 31, r = q >> 5, m = (r >> (__ffs(H) - 1)) + 1, z = r & (H - 1);
  const bool ok = 2 * x + (m & 1) < b.tx && 2 * z + (m >> 2) < b.tz;
  const int n = (b.ty + 1 - (m >> 1 & 1)) >> 1;
  return ok ? (1u << n) - 1 : 0;
}
struct Bits {
  const u32 *p;
  u32 pos; // upper half of pos is dirt
  __device__ __forceinline__ u32 win() const {
    const u32 *q = (const u32 *)((const char *)p + ((pos >> 3) & 0x1ffc));
    return __funnelshift_l(q[1], q[0], pos);
  }
  __device__ __forceinline__ u32 take(int n) {
    u32 v = n ? win() >> (32 - n) : 0;
    pos += n;
    return v;
  }
};
__device__ __forceinline__ int value_of(
    Bits &b, u32 sym) { // what a symbol stands for that is no code by itself
  if (sym < 63) return sym & 1 ? (int)(sym + 1) >> 1 : -(int)(sym >> 1);
  if (sym == 255) {
    int v = (int)b.win();
    b.pos += 32;
    return v;
  }
  const int t = sym - 63, c = t >> 1, e = 5 + (c >> 1);
  const int m = (int)((2 + (c & 1)) << (e - 1)) + (int)b.take(e - 1);
  return t & 1 ? -m : m;
}
__device__ __forceinline__ int value16(Bits &b, const uint16_t *lv) {
  const u32 e = lv[b.win() >> (32 - LB)];
  b.pos += e & 15;
  return e & FLAG16 ? value_of(b, e >> 8) : (int)(int8_t)(e >> 8);
}
__device__ __forceinline__ int value32(Bits &b, const u32 *lv) {
  const u32 e = lv[b.win() >> (32 - LB)];
  b.pos += e & 15;
  return e & FLAG ? value_of(b, e >> 24) : (int)e >> 24;
}
template <int CB>
__device__ __forceinline__ void put_code(u32 *d, int i, int k) {
  if (CB == 1)
    ((int8_t *)d)[i] = (int8_t)k;
  else if (CB == 2)
    ((int16_t *)d)[i] = (int16_t)k;
  else
    ((int *)d)[i] = k;
}
template <int CB>
__device__ __forceinline__ int get_code(const u32 *d, int i) {
  if (CB == 1) return (int)((const uint8_t *)d)[i] - 128;
  if (CB == 2) return ((const int16_t *)d)[i];
  return ((const int *)d)[i];
}
// two bytes to two halves, with their signs
__device__ __forceinline__ u32 sext16(u32 b) {
#ifdef EMU
  return (u32)(uint16_t)(int8_t)b | (u32)(int8_t)(b >> 8) << 16;
#else
  u32 r;
  asm("prmt.b32 %0,%1,0,0x9180;" : "=r"(r) : "r"(b));
  return r;
#endif
}
// a lane's bits to codes; the codes' memory holds zeros
template <int MODE, int CB>
__device__ __forceinline__ void decode_lane(Bits b, const u32 *lut, u32 *cs, int G0, int groups,
                                            bool cut, const Tile &tl, int H) {
  const uint16_t *l16 = (const uint16_t *)lut;
  const char *l8 = (const char *)lut;
  if (MODE == 1) {
#pragma unroll 1
    for (int gi = 0; gi < groups; gi++) {
      u32 *d = cs + gw<CB, DPITCH>(G0 + gi);
      if (CB == 1) {
#pragma unroll 1
        for (int i = 0; i < 16; i++) {
          u32 e[4];
          if (cut) {
            const u32 ex = exist4(tl, H, (G0 + gi) * 16 + i);
            if (ex != 15) {
              for (int k = 0; k < 4; k++)
                if (ex >> k & 1) put_code<CB>(d, 4 * i + k, value32(b, lut));
              continue;
            }
          }
#pragma unroll
          for (int k = 0; k < 4; k += 2) {
            const u32 w = b.win();
            e[k] = *(const u32 *)(l8 + ((w >> 18) & ~3u));
            const u32 w2 = __funnelshift_l(0, w, e[k]);
            e[k + 1] = *(const u32 *)(l8 + ((w2 >> 18) & ~3u));
            if ((e[k] | e[k + 1]) & FLAG) {
              e[k] = (u32)value32(b, lut) << 24;
              e[k + 1] = (u32)value32(b, lut) << 24;
            } else
              b.pos += e[k] + e[k + 1];
          }
          d[i] =
              __byte_perm(__byte_perm(e[0], e[1], 0x0073), __byte_perm(e[2], e[3], 0x0073), 0x5410);
        }
      } else {
#pragma unroll 1
        for (int i = 0; i < 64; i += 2) {
          u32 ex = 3;
          if (cut) ex = exist4(tl, H, (G0 + gi) * 16 + (i >> 2)) >> (i & 3) & 3;
          const u32 w = b.win(), e0 = *(const u32 *)(l8 + ((w >> 18) & ~3u)),
                    w2 = __funnelshift_l(0, w, e0), e1 = *(const u32 *)(l8 + ((w2 >> 18) & ~3u));
          if (((e0 | e1) & FLAG) || ex != 3) {
            if (ex & 1) put_code<CB>(d, i, value32(b, lut));
            if (ex & 2) put_code<CB>(d, i + 1, value32(b, lut));
          } else {
            b.pos += e0 + e1;
            if (CB == 2)
              d[i / 2] = sext16(__byte_perm(e0, e1, 0x0073));
            else
              d[i] = (int)e0 >> 24, d[i + 1] = (int)e1 >> 24;
          }
        }
      }
    }
  } else if (MODE == 2) {
    const uint16_t *lv = l16 + 8192;
    auto slow = [&](u32 *d, int i, u32 e) {
      if (e & FLAG) {
        b.pos += e & 15;
        put_code<CB>(d, i, value16(b, lv));
        put_code<CB>(d, i + 1, value16(b, lv));
      } else {
        b.pos += e & 15;
        put_code<CB>(d, i, (int8_t)(e >> 16));
        put_code<CB>(d, i + 1, (int8_t)(e >> 24));
      }
    };
#pragma unroll 1
    for (int gi = 0; gi < groups; gi++) {
      u32 *d = cs + gw<CB, DPITCH>(G0 + gi);
      if (CB == 1) {
#pragma unroll 1
        for (int i = 0; i < 16; i++) {
          if (cut) {
            const u32 ex = exist4(tl, H, (G0 + gi) * 16 + i);
            if (!(ex >> 2)) {
              if (ex) slow(d, 4 * i, lut[b.win() >> (32 - LB)]);
              continue;
            }
          }
          const u32 w = b.win(), e0 = *(const u32 *)(l8 + ((w >> 18) & ~3u)),
                    w2 = __funnelshift_l(0, w, e0), e1 = *(const u32 *)(l8 + ((w2 >> 18) & ~3u));
          if ((e0 | e1) & FLAG) {
            slow(d, 4 * i, e0);
            slow(d, 4 * i + 2, lut[b.win() >> (32 - LB)]);
          } else {
            b.pos += e0 + e1;
            d[i] = __byte_perm(e0, e1, 0x7632);
          }
        }
      } else {
#pragma unroll 1
        for (int i = 0; i < 64; i += 4) {
          u32 ex = 15;
          if (cut) ex = exist4(tl, H, (G0 + gi) * 16 + (i >> 2));
          const u32 w = b.win(), e0 = *(const u32 *)(l8 + ((w >> 18) & ~3u)),
                    w2 = __funnelshift_l(0, w, e0), e1 = *(const u32 *)(l8 + ((w2 >> 18) & ~3u));
          if (((e0 | e1) & FLAG) || !(ex >> 2)) {
            if (ex) slow(d, i, e0);
            if (ex >> 2) slow(d, i + 2, lut[b.win() >> (32 - LB)]);
          } else {
            b.pos += e0 + e1;
            if (CB == 2) {
              d[i / 2] = sext16(e0 >> 16);
              d[i / 2 + 1] = sext16(e1 >> 16);
            } else {
              d[i] = (int)(e0 << 8) >> 24, d[i + 1] = (int)e0 >> 24;
              d[i + 2] = (int)(e1 << 8) >> 24, d[i + 3] = (int)e1 >> 24;
            }
          }
        }
      }
    }
  } else {
    const uint16_t *lm = l16 + 4096, *lv = l16 + 8192;
#pragma unroll 1
    for (int gi = 0; gi < groups; gi++) {
      u32 *d = cs + gw<CB, DPITCH>(G0 + gi);
      u32 e = l16[b.win() >> (32 - LB)], mm = e >> 4, M[2] = {0, 0};
      b.pos += e & 15;
      if (mm == 256) mm = b.take(8);
      while (mm) {
        const int s = 8 * (__ffs(mm) - 1);
        mm &= mm - 1;
        e = lm[b.win() >> (32 - LB)];
        b.pos += e & 15;
        u32 m = e >> 4;
        if (!m) m = b.take(8);
        if (s < 32)
          M[0] |= m << s;
        else
          M[1] |= m << (s - 32);
      }
#pragma unroll
      for (int h = 0; h < 2; h++) {
        u32 m = M[h];
        while (m) {
          const u32 w = b.win();
          const int i = 32 * h + __ffs(m) - 1;
          m &= m - 1;
          e = lv[w >> (32 - LB)];
          if (e & FLAG16) {
            b.pos += e & 15;
            put_code<CB>(d, i, value_of(b, e >> 8));
            continue;
          }
          put_code<CB>(d, i, (int8_t)(e >> 8));
          u32 n = e & 15;
          if (m) {
            const u32 e2 = lv[(w << n) >> (32 - LB)];
            if (!(e2 & FLAG16)) {
              put_code<CB>(d, 32 * h + __ffs(m) - 1, (int8_t)(e2 >> 8));
              m &= m - 1;
              n += e2 & 15;
            }
          }
          b.pos += n;
        }
      }
    }
  }
}
// prefix sums of the tiles' words; a block takes 8192 tiles and adds up all before them by itself
struct Scan {
  const uint16_t *cnt;
  u32 *off;
  int n;
};
struct Scans {
  Scan l[3];
};
__global__ void __launch_bounds__(1024) scan_k(Scans a) {
  SMEM;
  const int tid = threadIdx.x, lane = tid & 31, wp = tid >> 5;
  int b = blockIdx.x, l = 2;
  while (l > 0 && b >= (a.l[l].n + 8191) / 8192) b -= (a.l[l--].n + 8191) / 8192;
  const Scan &s = a.l[l];
  const int i = b * 8192 + 8 * tid;
  u32 before = 0;
  for (int k = 8 * tid; k < b * 8192; k += 8192) {
    const uint4 q = *(const uint4 *)(s.cnt + k);
    const u32 lo = 0xffff;
    before += (q.x & lo) + (q.x >> 16) + (q.y & lo) + (q.y >> 16) + (q.z & lo) + (q.z >> 16) +
              (q.w & lo) + (q.w >> 16);
  }
  u32 c[8], v = 0;
  uint4 q = make_uint4(0, 0, 0, 0);
  if (i < s.n) q = *(const uint4 *)(s.cnt + i);
  const u32 w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
  for (int j = 0; j < 8; j++) {
    c[j] = i + j < s.n ? w[j >> 1] >> (16 * (j & 1)) & 0xffff : 0;
    v += c[j];
  }
  u32 x = v;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    u32 y = __shfl_up_sync(~0u, x, d);
    if (lane >= d) x += y;
  }
  before = __reduce_add_sync(~0u, before);
  if (lane == 31) {
    sm[wp] = (int)x;
    sm[32 + wp] = (int)before;
  }
  __syncthreads();
  x += __reduce_add_sync(~0u, (u32)sm[32 + lane] + (lane < wp ? (u32)sm[lane] : 0)) - v;
  u32 o[8];
#pragma unroll
  for (int j = 0; j < 8; j++) {
    o[j] = x;
    x += c[j];
  }
  if (i + 8 <= s.n) {
    *(uint4 *)(s.off + i) = make_uint4(o[0], o[1], o[2], o[3]);
    *(uint4 *)(s.off + i + 4) = make_uint4(o[4], o[5], o[6], o[7]);
  } else
#pragma unroll
    for (int j = 0; j < 8; j++)
      if (i + j < s.n) s.off[i + j] = o[j];
  if (i < s.n && i + 8 >= s.n) s.off[s.n] = x;
}
constexpr int HEADB = 23;
// decode kernel: part 0 all, 1 tokens only, 2 prediction only
template <int S, int WPB>
__global__ void __launch_bounds__(WPB * 32, 1)
    dec_k(Par p, Lv g, const u32 *__restrict__ words, const u32 *__restrict__ off,
          const u32 *__restrict__ lut_, u32 *tiles, int part) {
  SMEM;
  constexpr int CB = S, STW = stage_words<S, false>();
  const int lane = threadIdx.x & 31, wp = threadIdx.x >> 5;
  int *st = sm + LUTW + wp * (STW + DTILE);
  u32 sta = sad(st);
  KEEP(sta);
  u32 *cs = (u32 *)st + STW;
  u32 csa = sad(cs);
  KEEP(csa);
  for (int i = threadIdx.x; i < LUTW / 4; i += WPB * 32)
    ((uint4 *)sm)[i] = ((const uint4 *)lut_)[i];
  const u32 *lut = (const u32 *)sm;
  PDL_SYNC();
  __syncthreads();
#pragma unroll 1
  for (u32 k = blockIdx.x + gridDim.x * wp, kn = 0; k < (u32)g.nt; k = __shfl_sync(~0u, kn, 0)) {
    if (lane == 0) kn = gridDim.x * WPB + atomicAdd(tiles, 1u);
    const int t = tile_at(g, (int)k, S == 1);
    const Tile tl = tile_of(g, t);
    const bool full = is_full(g, tl);
    if (part != 2) {
      const u32 o = off[t], n = off[t + 1] - o;
      const u32 *src = words + o;
      if (n) {
        const bool in = n + 2 <= STW;
        if (in) {
          for (int i = lane; i < (int)n; i += 32) cpa4(st + i, src + i);
          CPA_COMMIT();
        }
        for (int i = lane; i < DTILE / 4; i += 32) ((uint4 *)cs)[i] = make_uint4(0, 0, 0, 0);
        CPA_WAIT(0);
        __syncwarp();
        auto go = [&](const u32 *w) {
          const u32 h = w[0], least = h >> 15, width = h >> 10 & 31, fl = h >> 9 & 1;
          u32 mask = g.nl == 32 ? ~0u : (1u << g.nl) - 1;
          u32 at = HEADB;
          Bits b{w, at};
          if (fl) {
            mask = b.win() >> (32 - g.nl);
            at += g.nl; // lane 0 first: bit nl - 1
            const bool live = lane < g.nl && (mask >> (g.nl - 1 - lane) & 1);
            mask = __ballot_sync(~0u, live);
          }
          const bool live = mask >> lane & 1;
          b.pos = at + __popc(mask & ((1u << lane) - 1)) * width;
          u32 len = live ? least + b.take(width) : 0, x = len;
#pragma unroll
          for (int d = 1; d < 32; d <<= 1) {
            u32 y = __shfl_up_sync(~0u, x, d);
            if (lane >= d) x += y;
          }
          const u32 first = at + __popc(mask) * width + x - len;
          b.p = w + (first >> 5);
          b.pos = first & 31;
          const int G0 = lane << g.g, n = min(1 << g.g, 7 * g.H * 2 - G0);
          if (live) {
            if (g.mode == 1)
              decode_lane<1, CB>(b, lut, cs, G0, n, !full, tl, g.H);
            else if (g.mode == 2)
              decode_lane<2, CB>(b, lut, cs, G0, n, !full, tl, g.H);
            else
              decode_lane<3, CB>(b, lut, cs, G0, n, !full, tl, g.H);
          }
        };
        if (in)
          go((const u32 *)st);
        else
          go(src);
      } else
        for (int i = lane; i < DTILE / 4; i += 32) ((uint4 *)cs)[i] = make_uint4(0, 0, 0, 0);
      __syncwarp();
    }
    if (part != 1) {
      auto get = [&](int c, int z) {
        const u32 q = csa + 4 * pw<CB, DPITCH>(c, z, lane);
        Cw<CB> w;
        if constexpr (CB == 1)
          w.w = lds(q);
        else if constexpr (CB == 2) {
          w.w.x = lds(q);
          w.w.y = lds(q + 4);
        } else {
          for (int i = 0; i < 4; i++) w.w[i] = (int)lds(q + 4 * i);
        }
        return w;
      };
      auto put = [](int, int, const Cw<CB> &) {};
      const bool fast = is_fast<S>(p, g, tl);
      if (fast)
        march_fast<S, false, CB>(p, g, tl, lane, sta, get, put);
      else
        march_edge<S, false, CB>(p, g, tl, lane, get, put);
      __syncwarp();
    } else if (lane < NREG)
      ((u32 *)p.out)[(size_t)t * 32 + lane] = cs[lane * 7];
  }
}

// ---- encoder
struct Out {
  u32 next, hi,
      // shared address of the next word; current word, at mod 32 bits of it (the rest of at is
      // dirt)
      at;
  __device__ __forceinline__ void add(u32 v, u32 l) { // l mod 64 is 0 to 32; bits of v below are 0
    hi |= __funnelshift_r(v, 0, at);
    const u32 to = at + l;
    if ((to ^ at) & 32) {
      sts(next, hi);
      next += 4;
      hi = __funnelshift_r(0, v, at);
    }
    at = to;
  }
  __device__ __forceinline__ void num(u32 v, int n) {
    if (n) add(v << (32 - n), n);
  }
  __device__ __forceinline__ void value(int k, u32 tb);
  __device__ __forceinline__ void pair(int a, int c, u32 tb);
};
#ifdef EMU
#define NOINLINE
#else
#define NOINLINE __noinline__
#endif
struct OutSlow : Out {
  __device__ __forceinline__ void value_in(int k, u32 tb) {
    u32 m = k < 0 ? 0u - (u32)k : (u32)k, e, r = 0;
    int n = 0, s;
    if (m < 32)
      s = k > 0 ? 2 * k - 1 : (int)(2 * m);
    else {
      const int ex = 31 - __clz((int)m), c = 2 * (ex - 5) + (m >> (ex - 1) & 1);
      n = ex - 1;
      r = m & ((1u << n) - 1);
      s = 63 + 2 * c + (k < 0);
      if (c > 95) s = 255;
    }
    e = lds(tb + 4 * (ET_SYM + s));
    if ((e & LONG) || s == 255) {
      e = lds(tb + 4 * ET_ESC);
      add(e & CODE, e);
      add((u32)k, 32);
    } else {
      add(e & CODE, e);
      num(r, n);
    }
  }
  __device__ __forceinline__ void pair_in(int a, int c, u32 tb) {
    u32 e = NONE;
    if (min(a, c) >= -7 && max(a, c) <= 7) e = lds(tb + 4 * (ET_TOP + ((a + 8) | (c + 8) << 4)));
    if (!(e & LONG)) {
      add(e & CODE, e);
      return;
    }
    e = lds(tb + 4 * (ET_ESC + 1));
    add(e & CODE, e);
    value_in(a, tb);
    value_in(c, tb);
  }
};
// on their own, so that the loops stay small
static __device__ NOINLINE Out put_value(Out o, int k, u32 tb) {
  OutSlow s;
  (Out &)s = o;
  s.value_in(k, tb);
  return s;
}
static __device__ NOINLINE Out put_pair(Out o, int a, int c, u32 tb) {
  OutSlow s;
  (Out &)s = o;
  s.pair_in(a, c, tb);
  return s;
}
__device__ __forceinline__ void Out::value(int k, u32 tb) { *this = put_value(*this, k, tb); }
__device__ __forceinline__ void Out::pair(int a, int c, u32 tb) { *this = put_pair(*this, a, c, tb); }
// codes of a lane to bits, in place; returns false if the bits overtook the codes. tb: shared
// address of the table, a multiple of 1024
// which codes of a group are not 0
template <int CB>
__device__ __forceinline__ u32 group_masks(const u32 *q, u32 *M) {
  if (CB == 1) {
    u32 any = 0; // mostly none is, where masks are the cheapest
#pragma unroll
    for (int k = 0; k < 16; k++) any |= q[k] ^ 0x80808080u;
    M[0] = M[1] = 0;
    if (!any) return 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      u32 r = 0;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const u32 x = q[8 * h + 2 * k] ^ 0x80808080u, y = q[8 * h + 2 * k + 1] ^ 0x80808080u,
                  a = (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) & 0x80808080u,
                  c = (((y & 0x7f7f7f7fu) + 0x7f7f7f7fu) | y) & 0x80808080u;
        r |= (((a >> 7 | c >> 3) * 0x01020408u) >> 24) << (8 * k);
      }
      M[h] = r;
    }
  } else {
#pragma unroll 1
    for (int h = 0; h < 2; h++) {
      u32 r = 0;
#pragma unroll 8
      for (int k = 0; k < 8 * CB; k++) {
        const u32 x = q[8 * CB * h + k];
        if (CB == 2)
          r |= ((x & 0xffff ? 1u : 0u) | (x >> 16 ? 2u : 0u)) << (2 * k & 31);
        else
          r |= (x ? 1u : 0u) << (k & 31);
      }
      M[h] = r;
    }
  }
  return M[0] | M[1];
}
// 128 added to both halves
__device__ __forceinline__ u32 add128(u32 w) {
  return ((w & 0x7fff7fffu) + 0x00800080u) ^ (w & 0x80008000u);
}
template <int MODE, int CB>
__device__ __forceinline__ bool encode_lane(Out &o, u32 *cs, const u32 tb, int G0, int groups,
                                            bool cut, const Tile &tl, int H, const u32 *masks,
                                            u32 &any) {
  const u32 none = MODE == 3 ? lds(tb + 4 * ET_TOP) : 0;
#pragma unroll 1
  for (int gi = 0; gi < groups; gi++) {
    const u32 *q = cs + gw<CB, EPITCH>(G0 + gi) + SLACK;
    u32 qa = sad(q);
    if (MODE < 3) {
      // words at a time: 8 codes of a byte, else 4; the next ones are read ahead
      constexpr int NW = CB == 1 ? 2 : CB, NC = 4 * NW / CB;
      const u32 qe = qa + 64 * CB;
      u32 w[NW];
      bool over = false;
#pragma unroll
      for (int k = 0; k < NW; k++) w[k] = lds(qa + 4 * k);
#pragma unroll 1
      while (qa != qe) {
        u32 nx[NW], bad = cut; // with the bits that send all codes the slow way
        qa += 4 * NW;
#pragma unroll
        for (int k = 0; k < NW; k++) nx[k] = lds(qa + 4 * k);
#pragma unroll
        for (int k = 0; k < NW; k++) any |= CB == 1 ? w[k] ^ 0x80808080u : w[k];
        bool slow;
        if (MODE == 1) {
          u32 a[NC], e[NC]; // byte addresses of the entries in the table of values
#pragma unroll
          for (int k = 0; k < NW; k++) {
            if (CB == 1) {
              a[4 * k] = w[k] << 2, a[4 * k + 1] = w[k] >> 6;
              a[4 * k + 2] = w[k] >> 14, a[4 * k + 3] = w[k] >> 22;
            } else if (CB == 2) {
              const u32 b = add128(w[k]);
              bad |= b & 0xff00ff00u;
              a[2 * k] = b << 2, a[2 * k + 1] = b >> 14;
            } else {
              bad |= (w[k] + 128) & ~255u;
              a[k] = (w[k] + 128) << 2;
            }
          }
#pragma unroll
          for (int k = 0; k < NC; k++) {
            e[k] = ldt<0>((a[k] & 0x3fc) | tb);
            bad |= e[k] & LONG;
          }
          slow = bad != 0;
          if (!slow) {
#pragma unroll
            for (int k = 0; k < NC; k += 2)
              o.add((e[k] & CODE) | __funnelshift_r(e[k + 1] & CODE, 0, e[k]), e[k] + e[k + 1]);
          }
        } else {
          u32 x[NC / 2], e[NC / 2]; // pairs' entries
#pragma unroll
          for (int k = 0; k < NW; k++) {
            if (CB == 1) {
              const u32 s = w[k] - 0x78787878u, y = s | s >> 4;
              bad |= s & 0xf0f0f0f0u;
              x[2 * k] = y << 2, x[2 * k + 1] = y >> 14;
            } else if (CB == 2) {
              const u32 s = add128(w[k]) - 0x00780078u;
              bad |= s & 0xfff0fff0u;
              x[k] = (s | s >> 12) << 2;
            } else if (k % 2 == 0) {
              const u32 s = w[k] + 8, y = w[k + 1] + 8;
              bad |= (s | y) & ~15u;
              x[k / 2] = (s | y << 4) << 2;
            }
          }
#pragma unroll
          for (int k = 0; k < NC / 2; k++) {
            e[k] = ldt<4 * ET_TOP>((x[k] & 0x3fc) | tb);
            bad |= e[k] & LONG;
          }
          slow = bad != 0;
          if (!slow) {
#pragma unroll
            for (int k = 0; k < NC / 2; k += 2)
              o.add((e[k] & CODE) | __funnelshift_r(e[k + 1] & CODE, 0, e[k]), e[k] + e[k + 1]);
          }
        }
        if (slow) { // the fast way alone cannot overtake the codes, but for bytes in plain mode
          const int first = ((G0 + gi) * 64 * CB + (int)(qa - sad(q)) - 4 * NW) / CB;
#pragma unroll 1
          for (int i = 0; i < NC; i += 2) {
            const u32 ex = cut ? exist4(tl, H, (first + i) >> 2) >> (i & 2) & 3 : 3;
            const int a = get_code<CB>(q, (first + i) & 63), c = get_code<CB>(q, (first + i + 1) & 63);
            if (MODE == 2) {
              if (ex) o.pair(a, c, tb);
            } else {
              if (ex & 1) o.value(a, tb);
              if (ex & 2) o.value(c, tb);
            }
            if (o.next > sad(q) + ((((first + i) & 63) + 2) * CB & ~3)) return false;
          }
        }
        over |= o.next > qa;
#pragma unroll
        for (int k = 0; k < NW; k++) w[k] = nx[k];
      }
      if (MODE == 1 && CB == 1 && over) return false; // at most 16 words past, in ETILE
    } else {
      const u32 M[2] = {masks[2 * (G0 + gi)],
                        masks[2 * (G0 + gi) + 1]}; // their octets that are not 0, one bit each
      if (!(M[0] | M[1]) && !(none & LONG)) {
        o.add(none & CODE, none);
        continue;
      }
      u32 mm = 0;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const u32 a = (((M[h] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | M[h]) & 0x80808080u;
        mm |= (((a >> 7) * 0x01020408u) >> 24 & 15) << (4 * h);
      }
      any |= mm;
      u32 e = lds(tb + 4 * (ET_TOP + mm));
      if (!(e & LONG))
        o.add(e & CODE, e);
      else {
        e = lds(tb + 4 * (ET_ESC + 1));
        o.add(e & CODE, e);
        o.num(mm, 8);
      }
      auto octet = [&](int j) { return (j < 4 ? M[0] : M[1]) >> (8 * (j & 3)) & 255; };
      while (mm) {
        const u32 v = octet(__ffs(mm) - 1), rest = mm & (mm - 1), r = rest ? octet(__ffs(rest) - 1) : 0;
        mm = rest & (rest - 1);
        const u32 e0 = lds(tb + 4 * (ET_MASK + v)), e1 = r ? lds(tb + 4 * (ET_MASK + r)) : 0;
        if (!((e0 | e1) & LONG))
          o.add((e0 & CODE) | __funnelshift_r(e1 & CODE, 0, e0), e0 + e1);
        else {
#pragma unroll 1
          for (u32 both = v | r << 8; both; both >>= 8) {
            e = lds(tb + 4 * (ET_MASK + (both & 255)));
            if (e & LONG) e = lds(tb + 4 * ET_MASK);
            o.add(e & CODE, e);
            if (lds(tb + 4 * (ET_MASK + (both & 255))) & LONG) o.num(both & 255, 8);
          }
        }
      }
      if (o.next > qa) return false;
#pragma unroll
      for (int h = 0; h < 2; h++) {
        u32 m = M[h];
        while (m) {
          const int i = 32 * h + __ffs(m) - 1;
          m &= m - 1;
          const int j = m ? 32 * h + __ffs(m) - 1 : -1;
          m &= m - 1;
          if (o.next > qa + ((i * CB) & ~3)) return false;
          const int k = get_code<CB>(q, i), l = j < 0 ? 0 : get_code<CB>(q, j);
          u32 e0 = NONE, e1 = 0;
          if (CB == 1 || (u32)(k + 128) < 256) e0 = lds(tb + 4 * (ET_VAL + 128 + k));
          if (j >= 0) e1 = CB == 1 || (u32)(l + 128) < 256 ? lds(tb + 4 * (ET_VAL + 128 + l)) : NONE;
          if (!((e0 | e1) & LONG))
            o.add((e0 & CODE) | __funnelshift_r(e1 & CODE, 0, e0), e0 + e1);
          else {
            o.value(k, tb);
            if (j >= 0) {
              if (o.next > qa + ((j * CB) & ~3)) return false;
              o.value(l, tb);
            }
          }
        }
      }
    }
  }
  return true;
}
template <int CB>
__device__ __forceinline__ u32 put_codes(u32 csa, int c, int z, int lane, const Cw<CB> &w) {
  const u32 q = csa + 4 * pw<CB, EPITCH>(c, z, lane);
  if constexpr (CB == 1) {
    sts(q, w.w);
    return w.w ^ 0x80808080u;
  } else if constexpr (CB == 2) {
    sts(q, w.w.x);
    sts(q + 4, w.w.y);
    return w.w.x | w.w.y;
  } else {
    for (int i = 0; i < 4; i++) sts(q + 4 * i, (u32)w.w[i]);
    return (u32)(w.w[0] | w.w[1] | w.w[2] | w.w[3]);
  }
}
template <int S, int CB>
__device__ NOINLINE u32 edge_encode(const Par &p, const Lv &g, const Tile &tl, int lane, u32 csa) {
  u32 live = 0;
  march_edge<S, true, CB>(
      p, g, tl, lane, [](int, int) { return Cw<CB>{}; },
      [&](int c, int z, const Cw<CB> &w) { live |= put_codes<CB>(csa, c, z, lane, w); });
  return live;
}
// part 0 all, 1 prediction only, 2 without the way out of shared memory
template <int S, int WPB>
__global__ void __launch_bounds__(WPB * 32, 1)
    enc_k(Par p, Lv g, const u32 *__restrict__ tab, u32 *__restrict__ out, u32 *__restrict__ off,
          uint16_t *__restrict__ cnt, u32 *ticket, u32 *tiles, int part) {
  SMEM;
  constexpr int CB = S, STW = stage_words<S, true>();
  const int lane = threadIdx.x & 31, wp = threadIdx.x >> 5;
  u32 *tb = (u32 *)sm;
  int *st = sm + ETW + wp * (STW + ETILE);
  u32 sta = sad(st);
  KEEP(sta);
  u32 *cs = (u32 *)st + STW;
  u32 csa = sad(cs + SLACK);
  KEEP(csa);
  for (int i = threadIdx.x; i < ETW; i += WPB * 32) tb[i] = tab[i];
  PDL_SYNC();
  __syncthreads();
#pragma unroll 1
  for (u32 k = blockIdx.x + gridDim.x * wp, kn = 0; k < (u32)g.nt; k = __shfl_sync(~0u, kn, 0)) {
    if (lane == 0) kn = gridDim.x * WPB + atomicAdd(tiles, 1u);
    const int t = tile_at(g, (int)k, S == 1);
    const Tile tl = tile_of(g, t);
    const bool full = is_full(g, tl);
    u32 live = 0; // of this lane's codes: is one not 0
    auto get = [](int, int) { return Cw<CB>{}; };
    auto put = [&](int c, int z, const Cw<CB> &w) { live |= put_codes<CB>(csa, c, z, lane, w); };
    bool done = false;
    if (is_fast<S>(p, g, tl))
      done = march_fast<S, true, CB>(p, g, tl, lane, sta, get, put);
    if (!done) {
      if (lane == 0) atomicAdd(p.ovf + OV_EDGE, 1u);
      live = 0;
      live = edge_encode<S, CB>(p, g, tl, lane, csa);
    }
    __syncwarp();
    if (part == 1) {
      if (lane < NREG) out[(size_t)t * 32 + lane] = cs[lane * 7];
      continue;
    }
    if (!__any_sync(~0u, live)) { // all codes 0
      if (lane == 0) cnt[t] = 0;
      continue;
    }
    u32 busy = 1; // 0: all codes of the lane are 0
    if (g.mode == 3) {
      u32 some = 0;
      for (int G = CB == 1 ? 4 * lane : lane; G < (CB == 1 ? min(4 * lane + 4, 112) : 14 * g.H);
           G += CB == 1 ? 1 : 32)
        some |= group_masks<CB>(cs + gw<CB, EPITCH>(G) + SLACK, (u32 *)st + 2 * G);
      some = __ballot_sync(~0u, some != 0);
      if (CB == 1) busy = some >> (lane << (g.g - 2) & 31) & ((1u << (1 << (g.g - 2))) - 1);
      __syncwarp();
    }
    const int G0 = lane << g.g;
    const u32 *rg = cs + gw<CB, EPITCH>(G0);
    Out o{sad(rg), 0, 0};
    const u32 rga = o.next;
    u32 any = 0;
    bool good = true;
    const int ng = min(1 << g.g, 7 * g.H * 2 - G0);
    if (lane < g.nl && busy) {
      if (g.mode == 1)
        good = encode_lane<1, CB>(o, cs, sad(sm), G0, ng, !full, tl, g.H, (const u32 *)st, any);
      else if (g.mode == 2)
        good = encode_lane<2, CB>(o, cs, sad(sm), G0, ng, !full, tl, g.H, (const u32 *)st, any);
      else
        good = encode_lane<3, CB>(o, cs, sad(sm), G0, ng, !full, tl, g.H, (const u32 *)st, any);
    }
    __syncwarp();
    u32 n = any ? (o.next - rga) * 8 + (o.at & 31) : 0, x = n;
    if (n & 31)
      sts(o.next,
          o.hi); // a lane's bits do not reach the next lane's: its codes began SLACK words later
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
      u32 y = __shfl_up_sync(~0u, x, d);
      if (lane >= d) x += y;
    }
    live = __ballot_sync(~0u, n > 0);
    const u32 sum = __shfl_sync(~0u, x, 31),
              least = __reduce_min_sync(~0u, n ? n : ~0u), most = __reduce_max_sync(~0u, n);
    u32 tot = 0;
    const u32 all = g.nl == 32 ? ~0u : (1u << g.nl) - 1;
    if (live) {
      const int width = 32 - __clz((int)(most - least)), fl = live != all;
      const u32 at = HEADB + (fl ? g.nl : 0), lanes = at + __popc(live) * width;
      tot = (lanes + sum + 31) / 32;
      u32 *w = (u32 *)st;
      if (__any_sync(~0u, !good) || tot > (u32)STW) {
        tot = 0;
        if (lane == 0) atomicAdd(p.ovf + OV_OVER, 1u);
      } else {
        for (u32 i = lane; i < tot; i += 32) w[i] = 0;
        __syncwarp();
        auto bits = [&](u32 at, u32 v, int n) {
          const u64 y = (u64)v << (64 - n - (at & 31));
          atomicOr(w + (at >> 5), (u32)(y >> 32));
          if ((u32)y) atomicOr(w + (at >> 5) + 1, (u32)y);
        }; // n 1 to 32
        if (lane == 0) bits(0, least << 6 | (u32)width << 1 | (u32)fl, HEADB);
        if (fl && lane < g.nl && n) bits(HEADB + lane, 1, 1);
        if (n && width) bits(at + __popc(live & ((1u << lane) - 1)) * width, n - least, width);
        if (n) {
          const u32 f = lanes + x - n;
          u32 *d = w + (f >> 5);
          const int sh = f & 31, k = (n + 31) / 32, last = (sh + (int)n + 31) / 32 - 1;
          u32 prev = 0;
#pragma unroll 1
          for (int i = 0; i <= last; i++) {
            const u32 v = i < k ? rg[i] : 0, y = __funnelshift_r(v, prev, sh);
            prev = v;
            if (i == 0 || i == last)
              atomicOr(d + i, y);
            else
              d[i] = y;
          }
        }
        __syncwarp();
      }
    }
    u32 base = 0;
    if (lane == 0) {
      if (tot) {
        base = atomicAdd(ticket, tot);
        atomicAdd(ticket + 16 + (t >> 6), tot); // words of 64 tiles
      }
      cnt[t] = (uint16_t)tot;
      off[t] = base;
    }
    base = __shfl_sync(~0u, base, 0);
    if (part != 2)
      for (u32 i = lane; i < tot; i += 32) out[base + i] = ((u32 *)st)[i];
    __syncwarp();
  }
}
// tiles' words from where they were written to their places in the section; a block takes 32 tiles
struct Gather {
  const u32 *from, *at, *sums;
  const uint16_t *cnt;
  u32 *to, *out;
  int nt;
};
struct Gathers {
  Gather l[3];
};
__global__ void __launch_bounds__(1024) gather_k(Gathers a) {
  SMEM;
  PDL_SYNC();
  const int lane = threadIdx.x & 31, wp = threadIdx.x >> 5;
  int b = blockIdx.x, l = 2;
  while (l > 0 && b >= (a.l[l].nt + 31) / 32) b -= (a.l[l--].nt + 31) / 32;
  const Gather &g = a.l[l];
  const int first = b * 32, t = first + wp;
  u32 v = 0;
  for (int i = threadIdx.x; i < first >> 6; i += 1024) v += g.sums[i];
  if ((first & 32) && wp == 0) v += g.cnt[first - 32 + lane];
  v = __reduce_add_sync(~0u, v);
  if (lane == 0) sm[wp] = (int)v;
  const u32 c = first + lane < g.nt ? g.cnt[first + lane] : 0;
  __syncthreads();
  u32 f = __reduce_add_sync(~0u, (u32)sm[lane] + (lane < wp ? c : 0));
  const u32 n = __shfl_sync(~0u, c, wp);
  if (t >= g.nt) return;
  if (lane == 0) {
    g.to[t] = f;
    if (t == g.nt - 1) g.to[t + 1] = f + n;
  }
  if (!n) return;
  const u32 *s = g.from + g.at[t];
  u32 *d = g.out + f;
  u32 i = lane;
  for (; i + 224 < n; i += 256) {
    u32 x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) x[k] = s[i + 32 * k];
#pragma unroll
    for (int k = 0; k < 8; k++) d[i + 32 * k] = x[k];
  }
  for (; i + 96 < n; i += 128) {
    u32 x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = s[i + 32 * k];
#pragma unroll
    for (int k = 0; k < 4; k++) d[i + 32 * k] = x[k];
  }
  for (; i < n; i += 32) d[i] = s[i];
}
// counters of a level: words taken, tiles taken, from 16 on words of 64 tiles each
constexpr int SUMS = 16 + 4096;
template <bool ENC>
__global__ void base_k(const float *in, int NX, int NY, int mx, int my, int mz, int cp, float inv,
                       int unit, int *q8, int *R, u32 *tickets) {
  PDL_SYNC();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!ENC && i < 4) tickets[3 * SUMS + i] = 0;
  if (ENC)
    for (int k = i; k < 3 * SUMS; k += gridDim.x * blockDim.x) tickets[k] = 0;
  if (i >= mx * my * mz) return;
  int x = i % mx, y = i / mx % my, z = i / (mx * my), q;
  if (ENC) {
    int xb = __float_as_int(fmaf(in[((size_t)z * 8 * NY + y * 8) * NX + x * 8], inv, 12582912.f));
    q = ((u32)(xb - XLOW) < 1u << 23 ? xb - KM : 0) + unit / 2;
    q = q >= 0 ? q / unit : -((unit - 1 - q) / unit);
    q8[i] = q;
  } else
    q = q8[i];
  R[((size_t)z * my + y) * cp + x] = q * unit;
}

// host: the rule point by point, the bits by the format's text
template <class F>
static void par(int n, F f) {
#ifdef EMU
  for (int i = 0; i < n; i++) f(i);
#else
  std::vector<std::thread> th;
  int T = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<int> nx(0);
  for (int k = 0; k < T; k++)
    th.emplace_back([&] {
      for (int i; (i = nx++) < n;) f(i);
    });
  for (auto &t : th) t.join();
#endif
}
static std::atomic<u64> h_clamped;
struct Ref {
  std::vector<int> codes, R;
  std::vector<std::vector<u32>> words; // R with pitch np
  void tile(const Lv &g, const std::vector<int> &C, const float *in, int NX, int NY, float inv,
            int t) {
    const Tile b = tile_of(g, t);
    const int o[3] = {b.x0, b.y0, b.z0}, T[3] = {b.tx, b.ty, b.tz}, N[3] = {g.nx, g.ny, g.nz},
              E[3] = {b.tx, b.ty + (b.y0 + b.ty < g.ny), b.tz + (b.z0 + b.tz < g.nz)};
    auto Cg = [&](int x, int y, int z) { return C[((size_t)z * g.my + y) * g.cp + x]; };
    std::vector<int> V((size_t)E[0] * E[1] * E[2]);
    auto v = [&](int x, int y, int z) -> int & { return V[((size_t)z * E[1] + y) * E[0] + x]; };
    for (int n = 0; n <= 3; n++)
      for (int z = 0; z < E[2]; z++)
        for (int y = 0; y < E[1]; y++)
          for (int x = 0; x < E[0]; x++) {
            const int q[3] = {x, y, z};
            const int m = (x & 1) | (y & 1) << 1 | (z & 1) << 2;
            if (__builtin_popcount(m) != n) continue;
            if (n == 0) {
              v(x, y, z) = Cg((o[0] + x) / 2, (o[1] + y) / 2, (o[2] + z) / 2);
              if (x < T[0] && y < T[1] && z < T[2])
                R[((size_t)(o[2] + z) * g.ny + o[1] + y) * g.np + o[0] + x] = v(x, y, z);
              continue;
            }
            auto w = [&](int a, int c) {
              if (n == 1) {
                int r[3] = {o[0] + x, o[1] + y, o[2] + z};
                r[a] = c;
                return Cg(r[0] / 2, r[1] / 2, r[2] / 2);
              }
              int r[3] = {x, y, z};
              r[a] = c;
              return v(r[0], r[1], r[2]);
            };
            int64_t S = 0;
            int used = 0, P;
            for (int a = 0; a < 3; a++)
              if (m >> a & 1) {
                const int c = n == 1 ? o[a] + q[a] : q[a], hi = (n == 1 ? N[a] : E[a]) - 1;
                if (c + 1 > hi) continue;
                used++;
                const bool l = c - 3 >= 0, r = c + 3 <= hi;
                if (l && r)
                  S += 9 * (w(a, c - 1) + w(a, c + 1)) - w(a, c - 3) - w(a, c + 3);
                else if (r)
                  S += 6 * w(a, c - 1) + 12 * w(a, c + 1) - 2 * w(a, c + 3);
                else if (l)
                  S += 12 * w(a, c - 1) + 6 * w(a, c + 1) - 2 * w(a, c - 3);
                else
                  S += 8 * (w(a, c - 1) + w(a, c + 1));
              }
            if (n == 1) {
              if (!used) {
                const int a = m == 1 ? 0 : m == 2 ? 1 : 2, c = o[a] + q[a];
                S = c >= 3 ? 24 * w(a, c - 1) - 8 * w(a, c - 3) : 16 * w(a, c - 1);
              }
              P = (int)((S + 8) >> 4);
            } else {
              if (!used)
                for (int a = 0; a < 3; a++)
                  if (m >> a & 1) {
                    S += 16 * w(a, q[a] - 1);
                    used++;
                  }
              P = used == 1   ? (int)((S + 8) >> 4)
                  : used == 2 ? (int)((S + 16) >> 5)
                              : (int)((((S * 0x2AAAAAAB) >> 32) + 4) >> 3);
            }
            if (g.s > 1) P = std::min(std::max(P, -CLAMP), CLAMP);
            if (x < T[0] && y < T[1] && z < T[2]) {
              const float f = in[((size_t)(o[2] + z) * g.s * NY + (size_t)(o[1] + y) * g.s) * NX +
                                 (size_t)(o[0] + x) * g.s];
              const float r = fmaf(f, inv, 12582912.f);
              int k = 0;
              if (r >= 8388608.f && r < 16777216.f) {
                const int X = (int)((double)r - 12582912.0);
                k = (int)floor(((double)X - P + g.unit / 2) / g.unit);
                const int M = g.s == 1 ? 127 : g.s == 2 ? 32767 : 0x7fffffff;
                if (k > M || k < -M - 1) {
                  h_clamped++;
                  k = k > M ? M : -M - 1;
                }
              }
              P += k * g.unit;
              codes[(size_t)t * 7 * g.H * 128 + (((m - 1) * g.H + z / 2) * 32 + x / 2) * 4 +
                    y / 2] = k;
              R[((size_t)(o[2] + z) * g.ny + o[1] + y) * g.np + o[0] + x] = P;
            }
            v(x, y, z) = P;
          }
  }
  void run(const Lv &g, const std::vector<int> &C, const float *in, int NX, int NY, float inv) {
    codes.assign((size_t)g.nt * 7 * g.H * 128, 0);
    R.assign((size_t)g.np * g.ny * g.nz, 0);
    par(g.nt, [&](int t) { tile(g, C, in, NX, NY, inv, t); });
  }
};
static bool exists(const Lv &g, const Tile &b, int i) {
  const int y2 = i & 3, x2 = i >> 2 & 31, r = i >> 7, m = r / g.H + 1, z2 = r % g.H;
  return 2 * x2 + (m & 1) < b.tx && 2 * y2 + (m >> 1 & 1) < b.ty && 2 * z2 + (m >> 2) < b.tz;
}
static int symbol(int k, int &raw, u32 &rv) {
  const u32 m = (u32)abs(k);
  raw = 0;
  rv = 0;
  if (m < 32) return k > 0 ? 2 * k - 1 : (int)(2 * m);
  int e = 5;
  while (m >> (e + 1)) e++;
  const int c = 2 * (e - 5) + (m >> (e - 1) & 1);
  raw = e - 1;
  rv = m & ((1u << raw) - 1);
  return 63 + 2 * c + (k < 0);
}
struct Book {
  std::vector<int> len;
  std::vector<u32> code;
  std::vector<u64> h;
  double bits = 0;
  void build() {
    const int n = (int)h.size();
    std::vector<u64> w = h;
    for (;;) {
      len.assign(n, 0);
      typedef std::pair<u64, int> P;
      std::priority_queue<P, std::vector<P>, std::greater<P>> q;
      std::vector<int> up, id;
      for (int i = 0; i < n; i++)
        if (w[i]) {
          q.push({w[i], (int)up.size()});
          up.push_back(-1);
          id.push_back(i);
        }
      const int m = (int)up.size();
      if (m == 1) len[id[0]] = 1;
      if (m < 2) break;
      while (q.size() > 1) {
        auto a = q.top();
        q.pop();
        auto b = q.top();
        q.pop();
        up[a.second] = up[b.second] = (int)up.size();
        q.push({a.first + b.first, (int)up.size()});
        up.push_back(-1);
      }
      std::vector<int> d(up.size(), 0);
      int mx = 0;
      for (int i = (int)up.size() - 2; i >= 0; i--) d[i] = d[up[i]] + 1;
      for (int i = 0; i < m; i++) {
        len[id[i]] = d[i];
        mx = std::max(mx, d[i]);
      }
      if (mx <= LB) break;
      for (auto &x : w)
        if (x) x = (x >> 1) | 1;
    }
    code.assign(n, 0);
    u32 c = 0;
    for (int l = 1; l <= LB; l++) {
      c <<= 1;
      for (int i = 0; i < n; i++)
        if (len[i] == l) code[i] = c++;
    }
    bits = 0;
    for (int i = 0; i < n; i++) bits += (double)h[i] * len[i];
  }
  u32 entry(int i) const { return len[i] ? code[i] << (32 - len[i]) | len[i] : NONE; }
};
struct Writer {
  std::vector<u32> w;
  u64 n = 0;
  void put(u32 v, int l) {
    for (int i = l - 1; i >= 0; i--) {
      if (n / 32 >= w.size()) w.push_back(0);
      w[n / 32] |= (v >> i & 1) << (31 - n % 32);
      n++;
    }
  }
};
struct Mode {
  int mode;
  Book a, b, v;
  double raw = 0, cost = 0;
  // what = 0: count, 1: write
  template <class FA, class FB, class FV, class FR>
  void group(const int *k, const bool *ex, FA fa, FB fb, FV fv, FR fr) const {
    auto val = [&](int x) {
      int raw;
      u32 rv;
      int s = symbol(x, raw, rv);
      if (!fv(s)) {
        fv(255);
        fr((u32)x, 32);
      } else
        fr(rv, raw);
    };
    if (mode == 1) {
      for (int i = 0; i < 64; i++)
        if (ex[i]) val(k[i]);
    } else if (mode == 2) {
      for (int i = 0; i < 64; i += 2)
        if (ex[i] || ex[i + 1]) {
          if (std::min(k[i], k[i + 1]) < -7 || std::max(k[i], k[i + 1]) > 7 ||
              !fa(15 * (k[i] + 7) + k[i + 1] + 7)) {
            fa(225);
            val(k[i]);
            val(k[i + 1]);
          }
        }
    } else {
      u32 mm = 0, M[8] = {};
      for (int i = 0; i < 64; i++)
        if (k[i]) {
          mm |= 1u << (i / 8);
          M[i / 8] |= 1u << (i % 8);
        }
      if (!fa(mm)) {
        fa(256);
        fr(mm, 8);
      }
      for (int j = 0; j < 8; j++)
        if (M[j] && !fb(M[j])) {
          fb(0);
          fr(M[j], 8);
        }
      for (int i = 0; i < 64; i++)
        if (k[i]) val(k[i]);
    }
  }
  void count(const Lv &g, const std::vector<int> &codes, int every) {
    a.h.assign(mode == 2 ? 226 : 257, 0);
    b.h.assign(256, 0);
    v.h.assign(256, 0);
    raw = 0;
    const int pl = 7 * g.H * 128, lc = 64 << g.g;
    for (int t = 0; t < g.nt; t += every) {
      const Tile tl = tile_of(g, t);
      for (int l = 0; l * lc < pl; l++) {
        const int f = l * lc, e = std::min(pl, f + lc);
        bool any = false;
        for (int i = f; i < e; i++) any |= codes[(size_t)t * pl + i] != 0;
        if (any)
          for (int i = f; i < e; i += 64) {
            bool ex[64];
            for (int j = 0; j < 64; j++) ex[j] = exists(g, tl, i + j);
            group(
                &codes[(size_t)t * pl + i], ex,
                [&](int s) {
                  a.h[s]++;
                  return true;
                },
                [&](int s) {
                  b.h[s]++;
                  return true;
                },
                [&](int s) {
                  v.h[s]++;
                  return true;
                },
                [&](u32, int n) { raw += n; });
          }
      }
    }
    if (mode >= 2) a.h[mode == 2 ? 225 : 256]++;
    if (mode == 3) b.h[0]++;
    v.h[255]++;
    a.build();
    b.build();
    v.build();
    cost = raw + v.bits + (mode >= 2 ? a.bits : 0) + (mode == 3 ? b.bits : 0);
  }
  std::vector<u32> words(const Lv &g, const int *codes, int t) const {
    const Tile tl = tile_of(g, t);
    const int pl = 7 * g.H * 128, lc = 64 << g.g, nl = (pl + lc - 1) / lc;
    std::vector<Writer> w(nl);
    u64 least = ~0ull, most = 0;
    int live = 0;
    for (int l = 0; l < nl; l++) {
      bool any = false;
      for (int i = l * lc; i < std::min(pl, l * lc + lc); i++) any |= codes[i] != 0;
      if (!any) continue;
      Writer &o = w[l];
      for (int i = l * lc; i < std::min(pl, l * lc + lc); i += 64) {
        bool ex[64];
        for (int j = 0; j < 64; j++) ex[j] = exists(g, tl, i + j);
        auto use = [&](const Book &B, int s) {
          if (!B.len[s]) return false;
          o.put(B.code[s], B.len[s]);
          return true;
        };
        group(
            codes + i, ex, [&](int s) { return use(a, s); }, [&](int s) { return use(b, s); },
            [&](int s) { return use(v, s); }, [&](u32 x, int n) { o.put(x, n); });
      }
      live++;
      least = std::min(least, o.n);
      most = std::max(most, o.n);
    }
    Writer h;
    if (!live) return h.w;
    int width = 0;
    while ((most - least) >> width) width++;
    h.put((u32)least, 17);
    h.put(width, 5);
    h.put(live != nl, 1);
    if (live != nl)
      for (auto &x : w) h.put(x.n > 0, 1);
    for (auto &x : w)
      if (x.n) h.put((u32)(x.n - least), width);
    for (auto &x : w)
      for (u64 i = 0; i < x.n; i++) h.put(x.w[i / 32] >> (31 - i % 32) & 1, 1);
    return h.w;
  }
  std::vector<u32> enc_table() const {
    std::vector<u32> t(ETW, NONE);
    if (mode == 2) {
      for (int a0 = -7; a0 <= 7; a0++)
        for (int b0 = -7; b0 <= 7; b0++)
          t[ET_TOP + ((a0 + 8) | (b0 + 8) << 4)] = a.entry(15 * (a0 + 7) + b0 + 7);
      t[ET_ESC + 1] = a.entry(225);
    }
    if (mode == 3) {
      for (int i = 0; i < 256; i++) t[ET_TOP + i] = a.entry(i);
      t[ET_ESC + 1] = a.entry(256);
      for (int i = 0; i < 256; i++) t[ET_MASK + i] = b.entry(i);
    }
    for (int s = 0; s < 255; s++) t[ET_SYM + s] = v.entry(s);
    t[ET_ESC] = v.entry(255);
    for (int k = -128; k < 128; k++) {
      int raw;
      u32 rv;
      int s = symbol(k, raw, rv);
      if (v.len[s]) {
        const int l = v.len[s] + raw;
        t[ET_VAL + 128 + k] =
            (v.code[s] << (32 - v.len[s])) | (raw ? rv << (32 - l) : 0) | l | (l > 16 ? LONG : 0);
      }
    }
    return t;
  }
  std::vector<u32> lut() const {
    std::vector<u32> t(LUTW, 0);
    uint16_t *s = (uint16_t *)t.data();
    auto fill = [&](const Book &B, auto f) {
      for (size_t i = 0; i < B.len.size(); i++)
        if (B.len[i])
          for (u32 q = B.code[i] << (LB - B.len[i]); q < (B.code[i] + 1) << (LB - B.len[i]); q++)
            f(q, (int)i, B.len[i]);
    };
    auto k8 = [](int i) { return i < 63 ? (i & 1 ? (i + 1) / 2 : -(i / 2)) & 255 : i; };
    if (mode == 1)
      fill(v, [&](u32 q, int i, int l) { t[q] = (u32)k8(i) << 24 | (i >= 63 ? FLAG : 0) | l; });
    else
      fill(v, [&](u32 q, int i, int l) {
        s[8192 + q] = (uint16_t)(k8(i) << 8 | (i >= 63 ? FLAG16 : 0) | l);
      });
    if (mode == 2)
      fill(a, [&](u32 q, int i, int l) {
        t[q] = i == 225 ? FLAG | l
                        : (u32)((i / 15 - 7) & 255) << 16 | (u32)((i % 15 - 7) & 255) << 24 | l;
      });
    if (mode == 3) {
      fill(a, [&](u32 q, int i, int l) { s[q] = (uint16_t)(i << 4 | l); });
      fill(b, [&](u32 q, int i, int l) { s[4096 + q] = (uint16_t)(i << 4 | l); });
    }
    return t;
  }
};

// ---------------------------------------------------------------- measuring
__global__ void check_k(const float *a, const float *b, size_t n, double eb, float inv,
                        unsigned long long *r) {
  unsigned long long bad = 0, out = 0;
  double mx = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x) {
    if ((u32)(__float_as_int(fmaf(a[i], inv, 12582912.f)) - XLOW) >= 1u << 23) {
      out++;
      continue;
    }
    double e = fabs((double)a[i] - b[i]);
    if (!(e <= eb)) bad++;
    if (e > mx) mx = e;
  }
  if (bad) atomicAdd(r, bad);
  if (out) atomicAdd(r + 2, out);
  atomicMax(r + 1, (unsigned long long)(mx / eb * 1e9));
}
#ifdef EMU
typedef int Stream;
static int SMS = 2;
#define LAUNCH(pdl, k, gr, bl, smb, st, ...) emu_launch(gr, bl, smb, [&] { k(__VA_ARGS__); })
#define PREP(k, smb)
constexpr int EW = 2, DW = 2, EWC = 2;
#else
typedef cudaStream_t Stream;
static int SMS = 132;
template <class K, class... A>
static void launch(bool pdl, K k, unsigned gr, unsigned bl, size_t smb, Stream st, A... a) {
  cudaLaunchConfig_t c = {};
  c.gridDim = gr;
  c.blockDim = bl;
  c.stream = st;
  c.dynamicSmemBytes = smb;
  cudaLaunchAttribute t[1];
  t[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  t[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = t;
  c.numAttrs = pdl ? 1 : 0;
  CK(cudaLaunchKernelEx(&c, k, a...));
}
#define LAUNCH(pdl, k, gr, bl, smb, st, ...) launch(pdl, k, gr, bl, smb, st, __VA_ARGS__)
#define PREP(k, smb) \
  CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(smb)))
#ifndef EWARPS
#define EWARPS 12
#endif
#ifndef DWARPS
#define DWARPS 16
#endif
#ifndef EWCOARSE
#define EWCOARSE 12
#endif
constexpr int EW = EWARPS, DW = DWARPS,
              EWC = EWCOARSE; // warps a block: encoder at s = 1, decoder, encoder at s = 2 and 4
#endif
template <class T>
static T *dalloc(size_t n) {
  T *p;
  CK(cudaMalloc(&p, n * sizeof(T) + 256));
  return p;
}
struct Bench {
  int NX, NY, NZ;
  size_t n;
  Lv lv[3];
  int mx, my, mz;
  float *d, *o;
  int *q8, *Re[3], *Rd[3];
  u32 *wt[3], *w[3], *at[3], *to[3], *tab[3], *lut[3], *tick, *ovf;
  uint16_t *cnt[3];
  unsigned long long *chk;
  float inv, fine;
  double eb;
  Stream st = 0;
  template <int S>
  static size_t esm() {
    return (ETW + (size_t)(S == 1 ? EW : EWC) * (stage_words<S, true>() + ETILE)) * 4;
  }
  template <int S>
  static size_t dsm() {
    return (LUTW + (size_t)DW * (stage_words<S, false>() + DTILE)) * 4;
  }
  void init(int x, int y, int z, const float *h) {
    NX = x;
    NY = y;
    NZ = z;
    n = (size_t)x * y * z;
    d = dalloc<float>(n);
    o = dalloc<float>(n);
    CK(cudaMemcpy(d, h, n * 4, cudaMemcpyHostToDevice));
    const int units[3] = {128, 171, 256};
    for (int l = 0; l < 3; l++) {
      Lv &g = lv[l];
      const int s = 4 >> l;
      g.s = s;
      g.CB = s;
      g.nx = dup(NX, s);
      g.ny = dup(NY, s);
      g.nz = dup(NZ, s);
      g.np = s == 1 ? NX : (g.nx + 3) & ~3;
      g.mx = dup(g.nx, 2);
      g.my = dup(g.ny, 2);
      g.mz = dup(g.nz, 2);
      g.cp = (g.mx + 3) & ~3;
      g.H = 8 / s;
      g.tx = dup(g.nx, 64);
      g.ty = dup(g.ny, 8);
      g.tz = dup(g.nz, 2 * g.H);
      g.nt = g.tx * g.ty * g.tz;
      g.unit = units[l];
      g.magic = (u32)((((u64)1 << 32) + g.unit - 1) / g.unit);
      g.offk = (1 << 23) / g.unit + 1;
      const size_t most = (size_t)g.nx * g.ny * g.nz * 2 + 1024;
      Re[l] = dalloc<int>((size_t)g.cp * g.my * g.mz);
      Rd[l] = dalloc<int>((size_t)g.cp * g.my * g.mz);
      wt[l] = dalloc<u32>(most);
      w[l] = dalloc<u32>(most);
      at[l] = dalloc<u32>(g.nt + 1);
      to[l] = dalloc<u32>(g.nt + 1);
      cnt[l] = dalloc<uint16_t>(g.nt + 8);
      tab[l] = dalloc<u32>(ETW);
      lut[l] = dalloc<u32>(LUTW);
    }
    mx = lv[0].mx;
    my = lv[0].my;
    mz = lv[0].mz;
    q8 = dalloc<int>((size_t)mx * my * mz);
    tick = dalloc<u32>(3 * SUMS + 16);
    ovf = dalloc<u32>(4);
    chk = dalloc<unsigned long long>(4);
    CK(cudaMemset(ovf, 0, 16));
    PREP((enc_k<1, EW>), esm<1>());
    PREP((enc_k<2, EWC>), esm<2>());
    PREP((enc_k<4, EWC>), esm<4>());
    PREP((dec_k<1, DW>), dsm<1>());
    PREP((dec_k<2, DW>), dsm<2>());
    PREP((dec_k<4, DW>), dsm<4>());
  }
  void bound(double e, double big) {
    eb = e;
    const double step = 2 * (e - big * 1.2e-7), h = step / 257;
    fine = (float)h;
    if ((double)fine > h) fine = nextafterf(fine, 0.f);
    inv = 1.f / fine;
  }
  Par par(int l, bool enc) {
    Par p;
    p.in = d;
    p.C = enc ? Re[l] : Rd[l];
    p.Ro = l < 2 ? (enc ? Re[l + 1] : Rd[l + 1]) : nullptr;
    p.out = o;
    p.NX = NX;
    p.NY = NY;
    p.NZ = NZ;
    p.inv = inv;
    p.fine = fine;
    p.ovf = ovf;
    return p;
  }
  void base(bool enc, Stream s) {
    const unsigned b = dup(mx * my * mz, 256);
    if (enc)
      LAUNCH(false, (base_k<true>), b, 256u, 0, s, (const float *)d, NX, NY, mx, my, mz, lv[0].cp,
             inv, lv[0].unit, q8, Re[0], tick);
    else
      LAUNCH(true, (base_k<false>), b, 256u, 0, s, (const float *)d, NX, NY, mx, my, mz, lv[0].cp,
             inv, lv[0].unit, q8, Rd[0], tick);
  }
  template <int S>
  void elev(int l, Stream s, int part, bool pdl = true) {
    const unsigned b = std::min(SMS, lv[l].nt);
    const Par p = par(l, true);
    constexpr int W = S == 1 ? EW : EWC;
    LAUNCH(pdl, (enc_k<S, W>), b, W * 32u, esm<S>(), s, p, lv[l], (const u32 *)tab[l], wt[l], at[l],
           cnt[l], tick + l * SUMS, tick + l * SUMS + 1, part);
  }
  template <int S>
  void dlev(int l, Stream s, int part, bool pdl = true) {
    const unsigned b = std::min(SMS, lv[l].nt);
    const Par p = par(l, false);
    LAUNCH(pdl, (dec_k<S, DW>), b, DW * 32u, dsm<S>(), s, p, lv[l], (const u32 *)w[l],
           (const u32 *)to[l], (const u32 *)lut[l], tick + 3 * SUMS + l, part);
  }
  void scan(Stream s) {
    Scans a;
    for (int l = 0; l < 3; l++) a.l[l] = Scan{cnt[l], to[l], lv[l].nt};
    LAUNCH(false, scan_k, (unsigned)(dup(lv[0].nt, 8192) + dup(lv[1].nt, 8192) + dup(lv[2].nt, 8192)), 1024u, 256, s, a);
  }
  void gather(Stream s) {
    Gathers a;
    int nt = 0;
    for (int l = 0; l < 3; l++) {
      a.l[l] = Gather{wt[l], at[l], tick + l * SUMS + 16, cnt[l], to[l], w[l], lv[l].nt};
      nt += dup(lv[l].nt, 32);
    }
    LAUNCH(true, gather_k, (unsigned)nt, 1024u, 128, s, a);
  }
  void enc(Stream s, int part = 0) {
    base(true, s);
    elev<4>(0, s, part);
    elev<2>(1, s, part);
    elev<1>(2, s, part);
    if (part == 0) gather(s);
  }
  void dec(Stream s, int part = 0) {
    if (part == 0) scan(s);
    base(false, s);
    dlev<4>(0, s, part);
    dlev<2>(1, s, part);
    dlev<1>(2, s, part);
  }
};
int main(int c, char **v) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const auto t0 = std::chrono::steady_clock::now();
  auto step = [&](const char *m) {
    if (getenv("STEPS"))
      printf("  [%.2f s] %s\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count(), m);
  };
  if (c < 6) {
    printf("FILE nx ny nz BOUND MODE FLAGS\n");
    return 1;
  }
  const int NX = atoi(v[2]), NY = atoi(v[3]), NZ = atoi(v[4]);
  const double rel = atof(v[5]);
  const int want = c > 6 ? atoi(v[6]) : 0;
  const char *fl = c > 7 ? v[7] : "v";
  auto has = [&](char x) { return strchr(fl, x) != nullptr; };
  const size_t n = (size_t)NX * NY * NZ;
  std::vector<float> h(n);
  FILE *f = fopen(v[1], "rb");
  if (!f || fread(h.data(), 4, n, f) != n) {
    printf("cannot read %s\n", v[1]);
    return 1;
  }
  fclose(f);
  if (has('x'))
    for (size_t i = 7; i < n; i += n / 40 + 13)
      h[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? 1e30f : -INFINITY; // values without a lattice value
  float mn = 3e38f, mx = -3e38f;
  for (float a : h)
    if (fabsf(a) < 1e29f) {
      mn = std::min(mn, a);
      mx = std::max(mx, a);
    }
  step("field read");
  Bench b;
  b.init(NX, NY, NZ, h.data());
  b.bound(rel * ((double)mx - mn), std::max(fabs(mx), fabs(mn)));
#ifndef EMU
  {
    cudaDeviceProp q;
    CK(cudaGetDeviceProperties(&q, 0));
    SMS = q.multiProcessorCount;
    CK(cudaStreamCreate(&b.st));
  }
#endif
  step("device memory taken");
  // codes of all levels by the host, books from them (every 16th tile of s = 1, as a product
  // would sample)
  const int units[3] = {128, 171, 256};
  std::vector<int> C((size_t)b.mz * b.my * b.lv[0].cp);
  for (int z = 0; z < b.mz; z++)
    for (int y = 0; y < b.my; y++)
      for (int x = 0; x < b.mx; x++) {
        const float r = fmaf(h[((size_t)z * 8 * NY + y * 8) * NX + x * 8], b.inv, 12582912.f);
        const int X = r >= 8388608.f && r < 16777216.f ? (int)((double)r - 12582912.0) : 0;
        C[((size_t)z * b.my + y) * b.lv[0].cp + x] =
            units[0] * (int)floor((X + units[0] / 2) / (double)units[0]);
      }
  Ref R[3];
  double all = 0;
  std::vector<Mode> modes(3);
  std::string desc;
  for (int l = 0; l < 3; l++) {
    Lv &g = b.lv[l];
    R[l].run(g, l ? R[l - 1].R : C, h.data(), NX, NY, b.inv);
    Mode best;
    best.mode = 0;
    const int every = l == 2 && g.nt > 512 ? 16 : 1;
    for (int m = 1; m <= 3; m++)
      if (!want || l < 2 || m == want) {
        Mode t;
        t.mode = m;
        g.g = l == 2 ? 2 : l == 1 ? 1 : 0;
        t.count(g, R[l].codes, every);
        double k = t.cost * every;
        if (!best.mode || k < best.cost * (1 - 1. / 64)) {
          t.cost = k;
          best = t;
        }
      }
    while (g.g < 4 && best.cost / ((double)g.nt * ((7 * g.H * 2) >> g.g)) < 160 && l == 2) {
      g.g++;
    }
    if (g.g > 2 || l < 2) best.count(g, R[l].codes, every), best.cost *= every;
    g.nl = dup(7 * g.H * 2, 1 << g.g);
    g.mode = best.mode;
    modes[l] = best;
    all += best.cost;
    char s[96];
    snprintf(s, 96, " s=%d %s g=%d %.3f;", g.s,
             best.mode == 1   ? "plain"
             : best.mode == 2 ? "pairs"
                              : "masks",
             g.g, best.cost / ((double)g.nx * g.ny * g.nz));
    desc += s;
    auto e = best.enc_table();
    auto d = best.lut();
    CK(cudaMemcpy(b.tab[l], e.data(), ETW * 4, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(b.lut[l], d.data(), LUTW * 4, cudaMemcpyHostToDevice));
  }
  printf("%s %dx%dx%d rel %g: bits a value of the level:%s host clamped %llu codes\n", v[1], NX, NY,
         NZ, rel, desc.c_str(), (unsigned long long)h_clamped);
  fflush(stdout);
  step("host codes made");
  CK(cudaMemset(b.o, 0xff, n * 4));
  b.enc(b.st);
  CK(cudaDeviceSynchronize());
  step("encoded");
  u32 ov[3];
  CK(cudaMemcpy(ov, b.ovf, 12, cudaMemcpyDeviceToHost));
  b.dec(b.st);
  CK(cudaDeviceSynchronize());
  CK(cudaGetLastError());
  step("decoded");
  {
    CK(cudaMemset(b.chk, 0, 32));
    LAUNCH(false, check_k, (unsigned)SMS * 8, 256u, 0, b.st, (const float *)b.d, (const float *)b.o,
           n, b.eb, b.inv, b.chk);
    CK(cudaDeviceSynchronize());
    unsigned long long r[3];
    CK(cudaMemcpy(r, b.chk, 24, cudaMemcpyDeviceToHost));
    printf(
        "  over the bound %llu, max error %.6f of it, without lattice value %llu; edge tiles %u, "
        "warps that clamped %u, tiles dropped %u\n",
        r[0], r[1] * 1e-9, r[2], ov[OV_EDGE], ov[OV_CLAMP], ov[OV_OVER]);
    fflush(stdout);
  }
  if (has('n')) return 0;
  if (has('v')) {
    for (int l = 0; l < 3; l++) {
      const Lv &g = b.lv[l];
      size_t badR = 0, badW = 0, words = 0;
      const size_t m = (size_t)g.np * g.ny * g.nz;
      if (l < 2)
        for (int e = 0; e < 2; e++) {
          std::vector<int> r(m);
          CK(cudaMemcpy(r.data(), e ? b.Re[l + 1] : b.Rd[l + 1], m * 4, cudaMemcpyDeviceToHost));
          for (int z = 0; z < g.nz; z++)
            for (int y = 0; y < g.ny; y++)
              for (int x = 0; x < g.nx; x++) {
                size_t i = ((size_t)z * g.ny + y) * g.np + x;
                badR += r[i] != R[l].R[i];
              }
        }
      else {
        std::vector<float> r(n);
        CK(cudaMemcpy(r.data(), b.o, n * 4, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < n; i++) badR += r[i] != (float)R[l].R[i] * b.fine;
      }
      std::vector<u32> to(g.nt + 1);
      CK(cudaMemcpy(to.data(), b.to[l], (g.nt + 1) * 4, cudaMemcpyDeviceToHost));
      words = to[g.nt];
      std::vector<u32> w(words + 1);
      CK(cudaMemcpy(w.data(), b.w[l], words * 4, cudaMemcpyDeviceToHost));
      std::atomic<u64> bw{0};
      const int every = std::max(1, g.nt / 1024);
      ::par(g.nt / every, [&](int i) {
        const int t = i * every;
        auto q = modes[l].words(g, &R[l].codes[(size_t)t * 7 * g.H * 128], t);
        bool same = q.size() == to[t + 1] - to[t];
        for (size_t k = 0; same && k < q.size(); k++) same = q[k] == w[to[t] + k];
        bw += !same;
      });
      badW = bw;
      printf(
          "  s=%d: restored values that differ %zu, tiles whose words differ %zu (every %d of %d), "
          "%.4f bits a value\n",
          g.s, badR, badW, every, g.nt, 32.0 * words / ((double)g.nx * g.ny * g.nz));
    }
    fflush(stdout);
  }
#ifndef EMU
  // median of 40 replays in a row, after 60 ms of them: clocks are up, and launches wait in the
  // queue
  auto graph = [&](auto fn) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    CK(cudaStreamBeginCapture(b.st, cudaStreamCaptureModeGlobal));
    fn(b.st);
    CK(cudaStreamEndCapture(b.st, &g));
    CK(cudaGraphInstantiate(&e, g, 0));
    const int N = 40;
    cudaEvent_t x[N + 1];
    for (auto &q : x) CK(cudaEventCreate(&q));
    std::vector<float> t;
    float m = 0;
    CK(cudaEventRecord(x[0], b.st));
    while (m < 60) {
      for (int i = 0; i < 20; i++) CK(cudaGraphLaunch(e, b.st));
      CK(cudaEventRecord(x[1], b.st));
      CK(cudaEventSynchronize(x[1]));
      CK(cudaEventElapsedTime(&m, x[0], x[1]));
    }
    CK(cudaGraphLaunch(e, b.st));
    CK(cudaEventRecord(x[0], b.st));
    for (int i = 0; i < N; i++) {
      CK(cudaGraphLaunch(e, b.st));
      CK(cudaEventRecord(x[i + 1], b.st));
    }
    CK(cudaEventSynchronize(x[N]));
    for (int i = 0; i < N; i++) {
      CK(cudaEventElapsedTime(&m, x[i], x[i + 1]));
      t.push_back(m);
    }
    std::sort(t.begin(), t.end());
    for (auto &q : x) cudaEventDestroy(q);
    cudaGraphExecDestroy(e);
    cudaGraphDestroy(g);
    return t[N / 2] * 1e-3;
  };
  const double GB = n * 4 / 1e9;
  if (has('t')) {
    const double e = graph([&](Stream s) { b.enc(s); }), d = graph([&](Stream s) { b.dec(s); });
    printf("  TOTAL %.4f bits a value: encode %.1f us %.0f GB/s, decode %.1f us %.0f GB/s\n",
           all / n, e * 1e6, GB / e, d * 1e6, GB / d);
    fflush(stdout);
  }
  if (has('s')) {
    auto row = [&](const char *s, auto fn) {
      const double t = graph(fn);
      printf("    %-28s %7.1f us %6.0f GB/s\n", s, t * 1e6, GB / t);
      fflush(stdout);
    };
    row("enc base", [&](Stream s) { b.base(true, s); });
    row("enc s=4", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.elev<4>(0, s, 0, false);
    });
    row("enc s=2", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.elev<2>(1, s, 0, false);
    });
    row("enc s=1", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.elev<1>(2, s, 0, false);
    });
    row("enc s=1 prediction", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.elev<1>(2, s, 1, false);
    });
    row("enc s=1 not written", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.elev<1>(2, s, 2, false);
    });
    row("enc gather", [&](Stream s) { b.gather(s); });
    row("enc prediction, all levels", [&](Stream s) { b.enc(s, 1); });
    row("dec prediction, all levels", [&](Stream s) { b.dec(s, 2); });
    row("copy of the field",
        [&](Stream s) { cudaMemcpyAsync(b.o, b.d, n * 4, cudaMemcpyDeviceToDevice, s); });
    b.enc(b.st);
    CK(cudaDeviceSynchronize());
    row("dec scan", [&](Stream s) { b.scan(s); });
    row("dec s=4", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.dlev<4>(0, s, 0, false);
    });
    row("dec s=2", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.dlev<2>(1, s, 0, false);
    });
    row("dec s=1", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.dlev<1>(2, s, 0, false);
    });
    row("dec s=1 tokens", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.dlev<1>(2, s, 1, false);
    });
    row("dec s=1 prediction", [&](Stream s) {
      cudaMemsetAsync(b.tick, 0, (3 * SUMS + 16) * 4, s);
      b.dlev<1>(2, s, 2, false);
    });
  }
#endif
  return 0;
}
