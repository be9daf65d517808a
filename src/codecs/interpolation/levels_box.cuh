/* levels_box.cuh - a tile of a level: predictions from its box, class after class.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A warp settles four rows of a class at once, because the codes of four rows alternate: a lane has
 * four places in a piece. Rows that others are predicted from are in shared memory, 32 points each.
 * Points of class 0 come from the coarser grid, and those of the last class, which nothing is
 * predicted from, stay in registers.
 *
 * A Step says what happens to a point once it is predicted (levels_code.cu, levels_restore.cu):
 *   Unsigned settle(z, y, x, predicted, &code)   the lattice value of the tile's point
 *   store(z, y, x, even, odd, has_odd)           two points that are neighbours along x, settled
 *   load_codes(place, codes), store_codes(...)   codes of a lane, 1 or 4 places in a row
 *   kHasCodes                                    whether codes are there already
 */
#ifndef SZG_LEVELS_BOX_CUH
#define SZG_LEVELS_BOX_CUH

#include "codecs/interpolation/levels_job.cuh"
#include "codecs/interpolation/levels_stencil.cuh"

namespace szg {

/* ---- where rows lie ---- */

/* Rows of a class in a full tile, without those of far planes. */
__host__ __device__ inline uint32_t level_planes(const szg_levels_stage &stage) {
  return stage.tile_z > 1 ? stage.tile_z / 2 : 1;
}
__host__ __device__ inline uint32_t level_rows(const szg_levels_stage &stage) {
  return stage.tile_y > 1 ? stage.tile_y / 2 : 1;
}

/* The rows of all classes in shared memory, class after class, with room for far planes. */
struct BoxRows {
  uint32_t first[9]; /* of class m; first[8]: of them all */
  uint32_t pitch[8]; /* rows of a plane */

  BoxRows() = default;
  explicit BoxRows(const LevelsGrid &job) {
    uint32_t const last_class = (1u << job.axis_count) - 1;
    uint32_t row = 0;
    for (uint32_t m = 0; m < 8; m++) {
      uint32_t const far_row = m & SZG_AXIS_Y ? 0 : 1, far_plane = m & SZG_AXIS_Z ? 0 : 1;
      pitch[m] = level_rows(job.stage) + far_row;
      first[m] = row;
      if (m > 0 && m < last_class)
        row += pitch[m] * (job.axis_count == 3 ? level_planes(job.stage) + far_plane : 1);
    }
    first[8] = row;
  }
};

/* Along an axis: even coordinates in the tile, and in its box; odd ones. */
struct AxisCounts {
  uint32_t in_tile, in_box, odd;

  __device__ AxisCounts(uint64_t first, uint32_t extent, uint64_t grid_extent)
      : in_tile((extent + 1) / 2),
        in_box(in_tile + (first + extent < grid_extent ? 1 : 0)),
        odd(extent / 2) {}
};

/* ---- predictions ---- */

template <class A>
__device__ __forceinline__ typename A::Unsigned clamp(bool is_clamped,
                                                      typename A::Unsigned prediction) {
  constexpr typename A::Point kLimit = (typename A::Point)1 << A::kLimitBits;
  return is_clamped ? szg_clamp_prediction(kLimit, prediction) : prediction;
}
/* The prediction from a sum over stencils along axis_count axes. */
template <class A>
__device__ __forceinline__ typename A::Unsigned finish(bool is_clamped, uint32_t axis_count,
                                                       typename A::Unsigned sum) {
  return clamp<A>(is_clamped, szg_predict(axis_count, sum));
}

/* ---- the box ---- */

/* Points of class 0, from the coarser grid. They may lie outside the tile. */
template <class A>
struct KnownGrid {
  typedef typename A::Unsigned Unsigned;

  const Unsigned *first; /* the tile's first point; axes that are not interpolated have extent 1 */
  int64_t plane_rows, row_points;

  __device__ KnownGrid(const LevelsGrid &job, const szg_levels_tile &tile, const Unsigned *grid)
      : first(grid +
              ((tile.box * job.coarse_z + tile.z / 2) * job.coarse_y + tile.y / 2) *
                  job.coarse_row +
              tile.x / 2),
        plane_rows((int64_t)job.coarse_y),
        row_points((int64_t)job.coarse_row) {}

  /* n points after point i of a row. */
  __device__ __forceinline__ Unsigned at(int32_t z, int32_t y, int32_t i, int32_t n) const {
    return __ldg(first + ((z * plane_rows + y) * row_points + i + n));
  }
};

/* Indices z, y, i are those of a point in its class: half its coordinates in the tile. Known: as
 * KnownGrid. */
template <class A, class Known = KnownGrid<A>>
struct LevelsBox {
  typedef typename A::Unsigned Unsigned;

  const LevelsGrid &job;
  const BoxRows &rows;
  const szg_levels_tile &tile;
  Known const known;
  Unsigned *shared;
  AxisCounts z_counts, y_counts, x_counts;

  __device__ LevelsBox(const LevelsGrid &job_, const BoxRows &rows_, const szg_levels_tile &tile_,
                       const Known &known_, Unsigned *shared_)
      : job(job_),
        rows(rows_),
        tile(tile_),
        known(known_),
        shared(shared_),
        z_counts(tile_.z, tile_.z_extent, job_.stage.z_extent),
        y_counts(tile_.y, tile_.y_extent, job_.stage.y_extent),
        x_counts(tile_.x, tile_.x_extent, job_.stage.x_extent) {}

  __device__ __forceinline__ Unsigned *row_of(uint32_t m, uint32_t z, uint32_t y) const {
    return shared + (rows.first[m] + z * rows.pitch[m] + y) * SZG_LEVELS_ROW;
  }

  /* After even point `index` of `count` along an axis; w(n): the value n points after that. */
  template <class Values>
  __device__ __forceinline__ Unsigned predict_along(uint64_t index, uint64_t count,
                                                    Values w) const {
    Neighbours const at(index, count);
    if (!job.is_quintic)
      return finish<A>(job.is_clamped, 1, sum_single<Unsigned>(job.is_linear, at, w));
    Unsigned const sum = at.has_both && count >= 3 ? sum_quintic<Unsigned>(index, count, w)
                                                   : 16 * sum_single<Unsigned>(true, at, w);
    return clamp<A>(job.is_clamped, szg_predict_quintic(sum));
  }
  /* One odd axis: values of class 0 from the whole grid. */
  __device__ __forceinline__ Unsigned predict_single(uint32_t m, uint32_t z, uint32_t y,
                                                     uint32_t i) const {
    int32_t const z_at = (int32_t)z, y_at = (int32_t)y, i_at = (int32_t)i;
    if (m == SZG_AXIS_X)
      return predict_along(tile.x / 2 + i, job.coarse_x,
                           [&](int32_t n) { return known.at(z_at, y_at, i_at, n); });
    if (m == SZG_AXIS_Y)
      return predict_along(tile.y / 2 + y, job.coarse_y,
                           [&](int32_t n) { return known.at(z_at, y_at + n, i_at, 0); });
    return predict_along(tile.z / 2 + z, job.coarse_z,
                         [&](int32_t n) { return known.at(z_at + n, y_at, i_at, 0); });
  }

  /* The sum over points of a class at a point's neighbours before and after along the axes `over`.
   * Where the box has none after it, the one before counts twice. */
  __device__ __forceinline__ Unsigned sum_around(uint32_t point_class, uint32_t over, uint32_t z,
                                                 uint32_t y, uint32_t i) const {
    bool const has_z = z + 1 < z_counts.in_box, has_y = y + 1 < y_counts.in_box,
               has_x = i + 1 < x_counts.in_tile;
    Unsigned sum = 0;
#pragma unroll
    for (uint32_t after = 0; after < 8; after++) {
      if (after & ~over) continue;
      uint32_t const z_at = z + (after >> 2 && has_z), y_at = y + ((after >> 1 & 1) && has_y),
                     i_at = i + ((after & 1) && has_x);
      sum += point_class == 0 ? known.at((int32_t)z_at, (int32_t)y_at, (int32_t)i_at, 0)
                              : row_of(point_class, z_at, y_at)[i_at];
    }
    return sum;
  }

  /* Two or three odd axes of a blended frame. */
  __device__ __forceinline__ Unsigned blend(uint32_t m, uint32_t z, uint32_t y, uint32_t i) const {
    Unsigned const none = sum_around(0, m, z, y, i);
    Unsigned near = 0, edges = 0;
#pragma unroll
    for (uint32_t axis = 0; axis < 3; axis++) {
      uint32_t const set = 1u << axis;
      if (!(m & set)) continue;
      near += sum_around(m ^ set, set, z, y, i);
      if (m == SZG_AXES_ALL) edges += sum_around(set, m ^ set, z, y, i);
    }
    return m == SZG_AXES_ALL ? szg_blend_three(szg_half_of_three(0, 0, none), 0, near, edges)
                             : szg_blend_two(szg_half_of_two(0, none), 0, near);
  }

  /* Two or three: values of the box. */
  __device__ __forceinline__ Unsigned predict_from_box(uint32_t m, uint32_t z, uint32_t y,
                                                       uint32_t i) const {
    if (job.is_blended) return clamp<A>(job.is_clamped, blend(m, z, y, i));
    Neighbours const along_x(i, x_counts.in_tile), along_y(y, y_counts.in_box),
        along_z(z, z_counts.in_box);
    uint32_t const both =
        m & ((along_x.has_both ? SZG_AXIS_X : 0u) | (along_y.has_both ? SZG_AXIS_Y : 0u) |
             (along_z.has_both ? SZG_AXIS_Z : 0u));
    uint32_t const used = both ? job.used[both] : m;
    Unsigned sum = 0;
    if (used & SZG_AXIS_X) {
      const Unsigned *const at = row_of(m ^ SZG_AXIS_X, z, y) + i;
      sum += both ? sum_stencil<Unsigned>(job.is_linear, along_x, [&](int32_t n) { return at[n]; })
                  : szg_sum_one(*at);
    }
    if (used & SZG_AXIS_Y) {
      const Unsigned *const at = row_of(m ^ SZG_AXIS_Y, z, y) + i;
      sum += both ? sum_stencil<Unsigned>(job.is_linear, along_y,
                                          [&](int32_t n) { return at[n * SZG_LEVELS_ROW]; })
                  : szg_sum_one(*at);
    }
    if (used & SZG_AXIS_Z) {
      const Unsigned *const at = row_of(m ^ SZG_AXIS_Z, z, y) + i;
      int32_t const pitch = (int32_t)rows.pitch[m ^ SZG_AXIS_Z] * SZG_LEVELS_ROW;
      sum += both ? sum_stencil<Unsigned>(job.is_linear, along_z,
                                          [&](int32_t n) { return at[n * pitch]; })
                  : szg_sum_one(*at);
    }
    return finish<A>(job.is_clamped, (uint32_t)__popc((int)used), sum);
  }

  /* A point that is odd along x with the one before it, which is settled already. */
  template <class Step>
  __device__ __forceinline__ void store_pair(uint32_t m, uint32_t z, uint32_t y, uint32_t i,
                                             Unsigned odd, Step &step) const {
    if (2 * i >= tile.x_extent) return;
    Unsigned const even = m == SZG_AXIS_X ? known.at((int32_t)z, (int32_t)y, (int32_t)i, 0)
                                          : row_of(m ^ SZG_AXIS_X, z, y)[i];
    step.store(2 * z + (m >> 2 & 1), 2 * y + (m >> 1 & 1), 2 * i, even, odd,
               2 * i + 1 < tile.x_extent);
  }

  /* A row of a class that the box has; is_in_tile: not on a far plane. */
  template <class Step>
  __device__ __forceinline__ void settle_row(uint32_t m, uint32_t z, uint32_t y, bool is_in_tile,
                                             Unsigned *code, Step &step) const {
    uint32_t const i = threadIdx.x % 32, last_class = (1u << job.axis_count) - 1;
    uint32_t const x = 2 * i + (m & 1);
    Unsigned restored = 0;
    if (x < tile.x_extent) {
      restored = (m & (m - 1)) == 0 ? predict_single(m, z, y, i) : predict_from_box(m, z, y, i);
      if (is_in_tile)
        restored = step.settle(2 * z + (m >> 2 & 1), 2 * y + (m >> 1 & 1), x, restored, code);
    }
    if (m != last_class) row_of(m, z, y)[i] = restored;
    if (is_in_tile && m & SZG_AXIS_X) store_pair(m, z, y, i, restored, step);
  }

  /* Four rows of a class from row y on. The whole warp calls. */
  template <class Step>
  __device__ void settle_four_rows(uint32_t m, uint32_t z, uint32_t y, Step &step) const {
    uint32_t const z_in_tile = m & SZG_AXIS_Z ? z_counts.odd : z_counts.in_tile;
    uint32_t const z_in_box = m & SZG_AXIS_Z ? z_counts.odd : z_counts.in_box;
    uint32_t const y_in_tile = m & SZG_AXIS_Y ? y_counts.odd : y_counts.in_tile;
    uint32_t const y_in_box = m & SZG_AXIS_Y ? y_counts.odd : y_counts.in_box;
    uint32_t const planes = level_planes(job.stage), row_count = level_rows(job.stage);
    bool const has_places = z < planes && y < row_count;
    uint32_t const group = ((m - 1) * planes + z) * (row_count / 4) + y / 4;
    uint32_t const place = 4 * (group * SZG_LEVELS_ROW + threadIdx.x % 32);
    Unsigned codes[4] = {};
    if (has_places && Step::kHasCodes) step.load_codes(place, codes);
#pragma unroll
    for (uint32_t r = 0; r < 4; r++) {
      if (z >= z_in_box || y + r >= y_in_box) continue;
      settle_row(m, z, y + r, z < z_in_tile && y + r < y_in_tile, &codes[r], step);
    }
    if (has_places && !Step::kHasCodes) step.store_codes(place, codes);
  }

  /* All rows of a class. Places that do not exist have codes to be written too. */
  template <class Step>
  __device__ void settle_class(uint32_t m, Step &step) const {
    uint32_t planes = m & SZG_AXIS_Z ? z_counts.odd : z_counts.in_box;
    uint32_t row_count = m & SZG_AXIS_Y ? y_counts.odd : y_counts.in_box;
    if (!Step::kHasCodes) {
      planes = max(planes, level_planes(job.stage));
      row_count = max(row_count, level_rows(job.stage));
    }
    uint32_t const fours = (row_count + 3) / 4;
    for (uint32_t n = threadIdx.x / 32; n < planes * fours; n += LevelsPolicy::kWarps)
      settle_four_rows(m, n / fours, n % fours * 4, step);
  }

  /* A tile of one axis: a row, of which each lane has a place. */
  template <class Step>
  __device__ void settle_line(Step &step) const {
    for (uint32_t i = threadIdx.x; i < job.stage.place_count; i += LevelsPolicy::kThreads) {
      Unsigned code[1] = {}, restored = 0;
      if (Step::kHasCodes) step.load_codes(i, code);
      if (2 * i + 1 < tile.x_extent)
        restored = step.settle(0, 0, 2 * i + 1, predict_single(SZG_AXIS_X, 0, 0, i), code);
      if (!Step::kHasCodes) step.store_codes(i, code);
      store_pair(SZG_AXIS_X, 0, 0, i, restored, step);
    }
  }

  /* The whole tile. The whole block calls. */
  template <class Step>
  __device__ void settle_tile(Step &step) const {
    if (job.axis_count == 1) {
      settle_line(step);
      return;
    }
    settle_class(SZG_AXIS_X, step);
    settle_class(SZG_AXIS_Y, step);
    if (job.axis_count == 3) settle_class(SZG_AXIS_Z, step);
    __syncthreads(); /* points with one odd axis are there */
    settle_class(SZG_AXIS_X | SZG_AXIS_Y, step);
    if (job.axis_count == 2) return;
    settle_class(SZG_AXIS_X | SZG_AXIS_Z, step);
    settle_class(SZG_AXIS_Y | SZG_AXIS_Z, step);
    __syncthreads(); /* and those with two */
    settle_class(SZG_AXES_ALL, step);
  }
};

/* Shared memory that a tile needs, and that a tile of any stage needs at most: 3-D, 16 planes. */
template <class A>
int box_bytes(const BoxRows &rows) {
  return (int)(rows.first[8] * SZG_LEVELS_ROW * sizeof(typename A::Unsigned));
}
constexpr int kMostBoxRows = 9 * 5 + 2 * (9 * 4) + 2 * (8 * 5) + 8 * 4;
template <class A>
constexpr int kMostBoxBytes = (int)sizeof(typename A::Unsigned[kMostBoxRows][SZG_LEVELS_ROW]);
static_assert(kMostBoxBytes<WidePoints> <= SZG_LEAST_SHARED_BYTES, "");

/* ---- pieces of memory ---- */

/* A lane's codes, at a place that is a multiple of their number. */
template <class Unsigned, uint32_t kCount>
struct alignas(kCount * sizeof(Unsigned) < 16 ? kCount * sizeof(Unsigned) : 16) Piece {
  Unsigned items[kCount];
};

template <class Unsigned, uint32_t kCount>
__device__ __forceinline__ void load_piece(const Unsigned *from, Unsigned (&items)[kCount]) {
  Piece<Unsigned, kCount> const piece = *(const Piece<Unsigned, kCount> *)from;
#pragma unroll
  for (uint32_t i = 0; i < kCount; i++) items[i] = piece.items[i];
}
template <class Unsigned, uint32_t kCount>
__device__ __forceinline__ void store_piece(const Unsigned (&items)[kCount], Unsigned *to) {
  Piece<Unsigned, kCount> piece;
#pragma unroll
  for (uint32_t i = 0; i < kCount; i++) piece.items[i] = items[i];
  *(Piece<Unsigned, kCount> *)to = piece;
}

/* Two neighbours; as one piece, if that is aligned. */
template <class T>
__device__ __forceinline__ void store_two(T even, T odd, bool has_odd, T *to) {
  if (has_odd && (uintptr_t)to % (2 * sizeof(T)) == 0) {
    T const both[2] = {even, odd};
    store_piece(both, to);
    return;
  }
  to[0] = even;
  if (has_odd) to[1] = odd;
}

} // namespace szg

#endif
