/* levels_march.cuh - a warp predicts a tile of a level plane by plane: tiles that are full.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For tiles of which WarpLevel::is_full is true; levels_march_edge.cuh has the others, and
 * levels_march_blended.cuh those of blended frames. Step i
 * settles the points of even plane i of the tile, and of the odd plane between even planes i - 2
 * and i - 1, whose stencils reach from plane i - 3 to plane i. What they need of earlier planes
 * stays in registers, as sums. The coarser grid comes by copies that run some steps ahead.
 *
 * Where the grid ends, rows and planes behind the end are ghosts: values with which the stencil of
 * the middle gives the sum of the end's, exactly. Only in the last odd row and the last odd plane,
 * which have no next neighbour, predictions have another form.
 *
 * In a plane, a lane has five rows of even and four of odd points: row 8 is on the far plane, or
 * on the coarser grid's row behind the tile, and only predicted. Its values of an even plane stand
 * in 18 columns: 5 of class 0, 5 of class 1 (odd x), 4 of class 2 (odd y), 4 of class 3.
 *
 * A Step says what happens to points. Classes are numbered from 1 as in format.md; pair: of planes.
 *   kCodeBytes, kSlots, kSlotWords    slots of shared memory for copies
 *   kLateGroups                       groups of copies that may be on their way as a step begins
 *   kPins                             keep weights in registers, which takes fewer instructions
 *   lane                              threadIdx.x % 32
 *   kIsInner                          tiles are inner ones (WarpLevel::is_inner): the coarser grid
 *                                     goes on behind all ends along y and z, so nothing is asked
 *   copy(i, words)                    copies for step i, behind the coarser grid's in its slot
 *   start(stage)                      after the first copies
 *   begin(i, words)                   step i begins; its copies have arrived
 *   load_rows(is_odd_plane, is_odd_row)     before the classes of these rows
 *   settle<kClass>(j, predicted, is_coded)  the lattice value of row j of 4; not coded: a far plane
 *   end_class<kClass>(pair, is_coded)       its four points are settled
 *   store(z, y, even, odd)                  two neighbours of the tile
 *   gives_up()                              the steps that follow are of no use
 */
#ifndef SZG_LEVELS_MARCH_CUH
#define SZG_LEVELS_MARCH_CUH

#include "codecs/interpolation/levels_warp.cuh"
#include "core/copy_ahead.cuh"
#include "core/shared_memory.cuh"

namespace szg {

/* Of the coarser grid, a step needs rows y - reach to y + 4 + reach, and points x - 4 to x + 35.
 * The reach is szg_levels_reach. */
constexpr uint32_t kMarchRow = 40, kMarchLead = 4;
__host__ __device__ constexpr uint32_t march_rows(uint32_t reach) { return 5 + 2 * reach; }
__host__ __device__ constexpr uint32_t march_plane_words(uint32_t reach) {
  return march_rows(reach) * kMarchRow;
}

/* The coarser grid around a tile, which comes to shared memory plane by plane. */
template <uint32_t kReach, class Step>
struct MarchCopies {
  static constexpr uint32_t kCodeBytes = Step::kCodeBytes, kRows = march_rows(kReach);
  static constexpr bool kIsInner = Step::kIsInner;
  static constexpr int kPairs = kTilePairs<kCodeBytes>;
  /* Lanes copy pieces of 16 bytes, three rows at once. In inner tiles rows lie at one distance. */
  static constexpr uint32_t kRowPieces = kMarchRow / 4, kPieceRows = 32 / kRowPieces;
  static constexpr uint32_t kPieces = (kRows + kPieceRows - 1) / kPieceRows;

  const WarpLevel &level;
  Step &step;
  uint32_t *stage; /* shared memory: [kSlots][kSlotWords] */
  const uint32_t *coarse;
  uint32_t coarse_plane_bytes, coarse_row;
  bool is_first_z, is_first_y;
  uint32_t planes_left, rows_left; /* of the coarser grid, from the tile's first on */
  uint32_t lane;
  const uint32_t *pieces[kIsInner ? 1 : kPieces]; /* of this lane, in the tile's first plane */

  __device__ __forceinline__ MarchCopies(const WarpLevel &level_, const WarpTile &tile,
                                         const uint32_t *grid, uint32_t *stage_memory, Step &step_)
      : level(level_),
        step(step_),
        stage(stage_memory),
        coarse(grid + level.first_coarse(tile)),
        coarse_plane_bytes(4 * (uint32_t)level.coarse_plane()),
        coarse_row(level.coarse_row),
        is_first_z(!kIsInner && tile.z == 0),
        is_first_y(!kIsInner && tile.y == 0),
        planes_left(level.coarse_z - tile.z / 2),
        rows_left(level.coarse_y - tile.y / 2),
        lane(step_.lane) {
    if (Step::kPins) {
      uint32_t address = shared_address(stage);
      asm volatile("" : "+r"(address));
      stage = shared_at<uint32_t>(address);
    }
    set_pieces(tile.y / 2, tile.x / 2);
  }

  /* Of pieces outside the grid nothing counts, so that the nearest ones inside do.
   * y, x: the tile's first point in the coarser grid. */
  __device__ __forceinline__ void set_pieces(uint32_t y, uint32_t x) {
#pragma unroll
    for (uint32_t k = 0; k < (kIsInner ? 1 : kPieces); k++) {
      int32_t const row_at = (int32_t)(y + kPieceRows * k + lane / kRowPieces) - (int32_t)kReach;
      int32_t const at = (int32_t)(x + 4 * (lane % kRowPieces) - kMarchLead);
      int32_t const row_there = min(max(row_at, 0), (int32_t)level.coarse_y - 1) - (int32_t)y;
      int32_t const there = min(max(at, 0), (int32_t)coarse_row - 4) - (int32_t)x;
      pieces[k] = coarse + (row_there * (int32_t)coarse_row + there);
      if (Step::kPins) asm volatile("" : "+l"(pieces[k]));
    }
  }

  __device__ __forceinline__ uint32_t *slot(int i) const {
    return stage + (uint32_t)i % (uint32_t)Step::kSlots * Step::kSlotWords;
  }

  __device__ __forceinline__ void copy(int i) {
    uint32_t *const words = slot(i);
    bool const has_plane = i <= kPairs + 1 && (kIsInner || (uint32_t)i < planes_left);
    const uint32_t *piece = step_by(pieces[0], (uint32_t)i, coarse_plane_bytes);
#pragma unroll
    for (uint32_t k = 0; k < kPieces; k++) {
      uint32_t const rows = min(kPieceRows, kRows - kPieceRows * k);
      if (k > 0 && !kIsInner) piece = step_by(pieces[k], (uint32_t)i, coarse_plane_bytes);
      copy_16_ahead_if(has_plane && lane < rows * kRowPieces,
                       words + kPieceRows * kMarchRow * k + 4 * lane, piece);
      if (kIsInner) piece = step_by(piece, kPieceRows, 4 * level.coarse_row);
    }
    step.copy(i, words + march_plane_words(kReach));
    end_copies();
  }

  /* The first copies. The whole warp calls. Shared memory may hold anything before. */
  __device__ __forceinline__ void begin() {
    for (int i = 0; i < Step::kSlots - 1; i++) copy(i);
    step.start(stage);
  }
  /* Steps 0 to last_step, each with the words of its plane, by run(i, words). The whole warp calls.
   * Shared memory may hold anything afterwards. */
  template <class Run>
  __device__ __forceinline__ void run_steps(int last_step, Run run) {
#pragma unroll 1
    for (int i = 0; i <= last_step; i++) {
      uint32_t *const words = slot(i);
      await_copies<Step::kSlots - 2 + Step::kLateGroups>();
      __syncwarp(); /* what all lanes have copied is there, and the slot before is free */
      copy(i + Step::kSlots - 1);
      step.begin(i, words + march_plane_words(kReach));
      run(i, words);
      if (step.gives_up()) i = last_step; /* a second way out of the loop would cost more */
    }
    await_copies<0>();
    __syncwarp(); /* nobody needs the stage any more */
  }
};

/* kIsPlain: LevelsForm::kPlain. */
template <bool kIsPlain, class Step>
struct FullMarch : MarchCopies<1, Step> {
  typedef MarchCopies<1, Step> Copies;
  using Copies::is_first_z, Copies::is_first_y, Copies::planes_left, Copies::rows_left,
      Copies::lane;
  using Copies::kCodeBytes, Copies::kIsInner, Copies::kPairs;
  using Copies::level, Copies::step, Copies::coarse, Copies::coarse_plane_bytes, Copies::coarse_row;
  static constexpr int kColumns = 18, kOddX = 5, kOddY = 10, kOddXY = 14;
  static constexpr int kRows = march_rows(1);

  StencilWeights single_x, box_x; /* along x */
  StencilWeights middle, at_end;  /* along y and z; at_end: at the beginning, from there inwards */
  szg_pair_rounding pair;
  szg_triple_rounding triple;
  /* Unless kIsPlain: */
  uint32_t xy[2], xz[2], yz[2], xyz[3]; /* 1: the class uses the axis */
  szg_pair_rounding xz_rounding, yz_rounding;

  /* Of each column: the value in the plane before; 9 times it less the one before that; and the sum
   * of the stencil between these two without the plane to come. */
  uint32_t last[kColumns], last_two[kColumns], last_three[kColumns];

  /* even_points: of a row of the tile. */
  __device__ __forceinline__ FullMarch(const WarpLevel &level_, const WarpTile &tile,
                                       const uint32_t *grid, uint32_t *stage_memory, Step &step_,
                                       uint32_t even_points = kWarpTileX / 2)
      : Copies(level_, tile, grid, stage_memory, step_),
        pair(szg_pair_rounding_of(2)),
        triple(szg_triple_rounding_of(3)),
        xz_rounding(pair),
        yz_rounding(pair) {
    set_weights(tile.x / 2, even_points);
#pragma unroll
    for (int j = 0; j < kColumns; j++) last[j] = last_two[j] = last_three[j] = 0;
  }

  /* x: the tile's first point in the coarser grid. */
  __device__ __forceinline__ void set_weights(uint32_t x, uint32_t even_points) {
    single_x = single_weights(is_linear(), Neighbours(x + lane, level.coarse_x));
    box_x = box_weights(is_linear(), Neighbours(lane, even_points));
    bool const has_x = lane + 1 < even_points;
    middle = box_weights(is_linear(), Neighbours(1, 4)); /* behind the second of four */
    at_end = box_weights(is_linear(), Neighbours(0, 3)); /* behind the first of three */
    if (kIsPlain) {
      pair = szg_pair_rounding_of(has_x ? 2 : 1);
      triple = szg_triple_rounding_of(has_x ? 3 : 2);
    } else {
      uint32_t const x_axis = has_x ? SZG_AXIS_X : 0;
      uint32_t const in_xy = level.used[SZG_AXIS_Y | x_axis];
      uint32_t const in_xz = level.used[SZG_AXIS_Z | x_axis];
      uint32_t const in_yz = level.used[SZG_AXIS_Y | SZG_AXIS_Z];
      uint32_t const in_xyz = level.used[SZG_AXIS_Y | SZG_AXIS_Z | x_axis];
      xy[0] = in_xy & 1, xy[1] = in_xy >> 1 & 1;
      xz[0] = in_xz & 1, xz[1] = in_xz >> 2;
      yz[0] = in_yz >> 1 & 1, yz[1] = in_yz >> 2;
      xyz[0] = in_xyz & 1, xyz[1] = in_xyz >> 1 & 1, xyz[2] = in_xyz >> 2;
      pair = szg_pair_rounding_of((uint32_t)__popc((int)in_xy));
      xz_rounding = szg_pair_rounding_of((uint32_t)__popc((int)in_xz));
      yz_rounding = szg_pair_rounding_of((uint32_t)__popc((int)in_yz));
      triple = szg_triple_rounding_of((uint32_t)__popc((int)in_xyz));
    }
    if (Step::kPins) /* they are made anew in each step otherwise */
      asm volatile(""
                   : "+r"(box_x.w[0]), "+r"(box_x.w[1]), "+r"(box_x.w[2]), "+r"(box_x.w[3]),
                     "+r"(pair.half), "+r"(pair.shift), "+r"(triple.half), "+r"(triple.factor),
                     "+r"(triple.after));
  }

  /* ---- ends ---- */

  __device__ __forceinline__ bool is_linear() const { return !kIsPlain && level.is_linear; }

  /* Without a far plane or row: plane kPairs, row 4. */
  __device__ __forceinline__ bool is_last_z() const { return !kIsInner && planes_left == kPairs; }
  __device__ __forceinline__ bool is_last_y() const { return !kIsInner && rows_left == 4; }

  /* Rows -1 to 5 of a plane of the coarser grid. */
  __device__ __forceinline__ void set_ghost_rows(uint32_t *rows) const {
    if (kIsInner) return;
    if (is_first_y) rows[0] = szg_ghost(rows[3], rows[2], rows[1]);
    if (rows_left == 5) rows[6] = szg_ghost(rows[3], rows[4], rows[5]);
    if (is_last_y()) {
      rows[5] =
          is_linear() ? szg_ghost_linear(rows[3], rows[4]) : szg_ghost(rows[2], rows[3], rows[4]);
      rows[6] = szg_ghost_beyond(rows[3], rows[4], rows[5]);
    }
  }
  /* The row of the box behind its last one. */
  __device__ __forceinline__ void set_ghost_row(uint32_t *rows) const {
    if (is_last_y()) rows[4] = szg_ghost(rows[1], rows[2], rows[3]);
  }

  /* ---- sums ---- */

  /* over the box along x */
  __device__ __forceinline__ uint32_t sum_x(uint32_t value) const {
    uint32_t const left = __shfl_up_sync(kAllLanes, value, 1);
    uint32_t const right = __shfl_down_sync(kAllLanes, value, 1);
    uint32_t const second = __shfl_down_sync(kAllLanes, value, 2);
    return box_x.w[0] * left + (box_x.w[1] * value + (box_x.w[2] * right + box_x.w[3] * second));
  }
  __device__ __forceinline__ uint32_t sum_middle(uint32_t before, uint32_t at, uint32_t next,
                                                 uint32_t second) const {
    return middle.w[1] * (at + next) + middle.w[0] * (before + second);
  }
  __device__ __forceinline__ uint32_t sum_end(uint32_t end, uint32_t next, uint32_t second) const {
    return at_end.w[1] * end + at_end.w[2] * next + at_end.w[3] * second;
  }
  /* along y, between rows 2 j and 2 j + 2 of the box */
  __device__ __forceinline__ uint32_t sum_y(const uint32_t *rows, int j) const {
    if (j == 0) return sum_end(rows[0], rows[1], rows[2]);
    if (j == 3) return sum_end(rows[4], rows[3], rows[2]);
    return sum_middle(rows[j - 1], rows[j], rows[j + 1], rows[j + 2]);
  }

  /* ---- predictions ---- */

  __device__ __forceinline__ uint32_t clamp(uint32_t prediction) const {
    return clamp_prediction<kCodeBytes>(prediction);
  }
  __device__ __forceinline__ uint32_t predict_single(uint32_t sum) const {
    return clamp(szg_predict(1, sum));
  }
  /* From the sums along axes with both neighbours. */
  __device__ __forceinline__ uint32_t join_xy(uint32_t along_x, uint32_t along_y) const {
    if (kIsPlain) return szg_round_pair(pair, along_x + along_y + pair.half);
    return szg_round_pair(pair, xy[0] * along_x + (xy[1] * along_y + pair.half));
  }
  __device__ __forceinline__ uint32_t join_xz(uint32_t along_x, uint32_t along_z) const {
    if (kIsPlain) return szg_round_pair(pair, along_x + along_z + pair.half);
    return szg_round_pair(xz_rounding, xz[0] * along_x + (xz[1] * along_z + xz_rounding.half));
  }
  __device__ __forceinline__ uint32_t join_yz(uint32_t along_y, uint32_t along_z) const {
    if (kIsPlain) return szg_predict(2, along_y + along_z);
    return szg_round_pair(yz_rounding, yz[0] * along_y + (yz[1] * along_z + yz_rounding.half));
  }
  __device__ __forceinline__ uint32_t join_xyz(uint32_t along_x, uint32_t along_y,
                                               uint32_t along_z) const {
    if (kIsPlain) return szg_round_triple(triple, along_x + along_y + along_z + triple.half);
    uint32_t const sum = xyz[0] * along_x + (xyz[1] * along_y + xyz[2] * along_z);
    return szg_round_triple(triple, sum + triple.half);
  }
  /* At ends, where an axis has no next neighbour; both: the other axes of the class. Lane 31 has no
   * next neighbour along x either. */
  __device__ __forceinline__ uint32_t predict_end(uint32_t odd, uint32_t both,
                                                  const uint32_t (&sums)[3],
                                                  const uint32_t (&before)[3]) const {
    uint32_t const there = lane < 31 ? both : both & ~(uint32_t)SZG_AXIS_X;
    return predict_any<kCodeBytes>(level, odd, there, sums, before);
  }
  /* Row j of a plane: odd along x and y. */
  __device__ __forceinline__ uint32_t predict_xy_at(int j, uint32_t odd_y,
                                                    const uint32_t *odd_x) const {
    if (j < 3 || !is_last_y()) return clamp(join_xy(sum_x(odd_y), sum_y(odd_x, j)));
    return predict_end(SZG_AXIS_X | SZG_AXIS_Y, SZG_AXIS_X, {sum_x(odd_y), 0, 0},
                       {odd_y, odd_x[3], 0});
  }
  /* Rows of an odd plane. kIsLast: no plane follows, and along_z is the neighbour before. */
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_xz_at(uint32_t odd_z, uint32_t along_z) const {
    if (!kIsLast) return clamp(join_xz(sum_x(odd_z), along_z));
    return predict_end(SZG_AXIS_X | SZG_AXIS_Z, SZG_AXIS_X, {sum_x(odd_z), 0, 0},
                       {odd_z, 0, along_z});
  }
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_yz_at(int j, const uint32_t *odd_z,
                                                    uint32_t along_z) const {
    bool const has_y = j < 3 || !is_last_y();
    if (!kIsLast && has_y) return clamp(join_yz(sum_y(odd_z, j), along_z));
    uint32_t const both = (kIsLast ? 0 : SZG_AXIS_Z) | (has_y ? SZG_AXIS_Y : 0);
    return predict_end(SZG_AXIS_Y | SZG_AXIS_Z, both, {0, sum_y(odd_z, j), along_z},
                       {0, odd_z[j], along_z});
  }
  template <bool kIsLast>
  __device__ __forceinline__ uint32_t predict_xyz_at(int j, uint32_t odd_yz, const uint32_t *odd_xz,
                                                     uint32_t along_z) const {
    bool const has_y = j < 3 || !is_last_y();
    if (!kIsLast && has_y) return clamp(join_xyz(sum_x(odd_yz), sum_y(odd_xz, j), along_z));
    uint32_t const both = SZG_AXIS_X | (kIsLast ? 0 : SZG_AXIS_Z) | (has_y ? SZG_AXIS_Y : 0);
    return predict_end(SZG_AXES_ALL, both, {sum_x(odd_yz), sum_y(odd_xz, j), along_z},
                       {odd_yz, odd_xz[j], along_z});
  }

  /* ---- planes ---- */

  /* Even plane i, or the far plane, which is not coded. form: this march, or that of another form
   * which has its own ends and predictions. */
  template <class Form>
  __device__ __forceinline__ void settle_even_as(const Form &form, int i, bool is_coded,
                                                 const uint32_t *words, uint32_t *now) {
    const uint32_t *const known = words + kMarchLead + lane;
    uint32_t rows[kRows];
#pragma unroll
    for (int j = 0; j < kRows; j++) rows[j] = known[j * kMarchRow];
    form.set_ghost_rows(rows);
    step.load_rows(false, false);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      const uint32_t *const at = known + (j + 1) * kMarchRow;
      uint32_t const sum = single_x.w[0] * at[-1] + single_x.w[1] * rows[j + 1] +
                           single_x.w[2] * at[1] + single_x.w[3] * at[2];
      now[j] = rows[j + 1];
      now[kOddX + j] = predict_single(sum);
      if (j < 4) now[kOddX + j] = step.template settle<1>(j, now[kOddX + j], is_coded);
    }
    form.set_ghost_row(now + kOddX);
    step.template end_class<1>(i, is_coded);
    step.load_rows(false, true);
#pragma unroll
    for (int j = 0; j < 4; j++)
      now[kOddY + j] = step.template settle<2>(
          j, predict_single(sum_middle(rows[j], rows[j + 1], rows[j + 2], rows[j + 3])), is_coded);
    step.template end_class<2>(i, is_coded);
#pragma unroll
    for (int j = 0; j < 4; j++)
      now[kOddXY + j] =
          step.template settle<3>(j, form.predict_xy_at(j, now[kOddY + j], now + kOddX), is_coded);
    step.template end_class<3>(i, is_coded);
    if (!is_coded) return;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      step.store(2 * i, 2 * j, now[j], now[kOddX + j]);
      step.store(2 * i, 2 * j + 1, now[kOddY + j], now[kOddXY + j]);
    }
  }

  /* The two planes before the one before: what is missing in their sums. */
  __device__ __forceinline__ uint32_t second_last(int j) const {
    return szg_sum_cubic(last_two[j], last[j], 0, 0);
  }
  __device__ __forceinline__ uint32_t third_last(int j) const {
    return szg_sum_cubic(last_three[j], last[j], second_last(j), 0);
  }
  /* Plane i behind the last one of the box: ghosts, but for what the coarser grid has there. */
  __device__ __forceinline__ void set_behind(int i, const uint32_t *words, uint32_t *now) const {
    const uint32_t *const known = words + kMarchLead + lane;
    bool const is_known = kIsInner || (uint32_t)i < planes_left;
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      now[j] = szg_ghost(third_last(j), second_last(j), last[j]);
      if (i == 2 && (j >= 5 || is_first_z)) /* of two planes: the mean of both */
        now[j] = szg_ghost_linear(second_last(j), last[j]);
      if (j < 5 && is_known) now[j] = known[(j + 1) * kMarchRow];
    }
  }
  /* Step i, behind the last plane of the grid, whose ghost the plane before is: for class 4 the
   * sums, for others the values of the last plane, which may be the first, too. */
  __device__ __forceinline__ void end_z(int i, uint32_t *sums) const {
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      sums[j] = j < 5 ? szg_sum_beyond(second_last(j), third_last(j)) : second_last(j);
      if (j < 5 && i == 2 && is_first_z) sums[j] = szg_sum_one(second_last(j));
    }
  }
  /* The same if frames are linear, where sums do not tell planes. At step `planes` the sums of the
   * pair before are there; what the last pair needs takes their place. */
  __device__ __forceinline__ void end_linear_z(int i, int planes, uint32_t *sums) {
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      sums[j] = last_three[j];
      if (i != planes) continue;
      uint32_t const single = i == 1 && is_first_z
                                  ? szg_sum_one(last[j])
                                  : szg_sum_beyond(last[j], 0) + last_two[j] - sums[j];
      last_three[j] = j < 5 ? single : last[j];
    }
  }

  /* The sums along z between the two planes before, now that plane i is there. */
  __device__ __forceinline__ void sum_z(int i, const uint32_t *now, uint32_t *sums) {
#pragma unroll
    for (int j = 0; j < kColumns; j++) sums[j] = last_three[j] + middle.w[0] * now[j];
    if (i == 2 && !is_linear()) { /* no plane before the two */
#pragma unroll
      for (int j = 0; j < kColumns; j++)
        if (j >= 5 || is_first_z) sums[j] -= szg_ghost(now[j], last[j], second_last(j));
    }
#pragma unroll
    for (int j = 0; j < kColumns; j++) {
      last_three[j] = middle.w[1] * now[j] + last_two[j];
      last_two[j] = middle.w[1] * now[j] + middle.w[0] * last[j];
      last[j] = now[j];
    }
  }

  /* The odd plane of a pair. kIsLast: along_z is from end_z. */
  template <bool kIsLast, class Form>
  __device__ __forceinline__ void settle_odd_as(const Form &form, int planes,
                                                const uint32_t *along_z) {
    uint32_t odd_z[5], odd_xz[5], odd_yz[4], odd_xyz[4];
    step.load_rows(true, false);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      odd_z[j] = predict_single(along_z[j]);
      if (j < 4) odd_z[j] = step.template settle<4>(j, odd_z[j], true);
    }
    form.set_ghost_row(odd_z);
    step.template end_class<4>(planes, true);
#pragma unroll
    for (int j = 0; j < 5; j++) {
      odd_xz[j] = form.template predict_xz_at<kIsLast>(odd_z[j], along_z[kOddX + j]);
      if (j < 4) odd_xz[j] = step.template settle<5>(j, odd_xz[j], true);
    }
    form.set_ghost_row(odd_xz);
    step.template end_class<5>(planes, true);
    step.load_rows(true, true);
#pragma unroll
    for (int j = 0; j < 4; j++)
      odd_yz[j] = step.template settle<6>(
          j, form.template predict_yz_at<kIsLast>(j, odd_z, along_z[kOddY + j]), true);
    step.template end_class<6>(planes, true);
#pragma unroll
    for (int j = 0; j < 4; j++)
      odd_xyz[j] = step.template settle<7>(
          j, form.template predict_xyz_at<kIsLast>(j, odd_yz[j], odd_xz, along_z[kOddXY + j]),
          true);
    step.template end_class<7>(planes, true);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      step.store(2 * planes + 1, 2 * j, odd_z[j], odd_xz[j]);
      step.store(2 * planes + 1, 2 * j + 1, odd_yz[j], odd_xyz[j]);
    }
  }

  /* All steps. planes: even ones of the tile. */
  template <class Form>
  __device__ __forceinline__ void run_as(const Form &form, int planes, int last_step) {
    Copies::run_steps(last_step, [&](int i, const uint32_t *words) {
      uint32_t now[kColumns], along_z[kColumns];
      bool const is_behind = i >= planes && form.is_last_z();
      bool const is_last = is_behind && i > planes;
      if (is_behind && is_linear()) {
        end_linear_z(i, planes, along_z);
      } else if (is_last) {
        end_z(i, along_z);
      } else {
        if (i <= kPairs && !is_behind)
          settle_even_as(form, i, i < planes, words, now);
        else
          set_behind(i, words, now);
        sum_z(i, now, along_z);
      }
      if (is_last)
        settle_odd_as<true>(form, i - 2, along_z);
      else if (i >= 2)
        settle_odd_as<false>(form, i - 2, along_z);
    });
  }

  /* After begin. The whole warp calls. */
  __device__ __forceinline__ void run() {
    if (!is_first_z) {
      const uint32_t *const before = coarse - coarse_plane_bytes / 4 + lane;
#pragma unroll
      for (int j = 0; j < 5; j++)
        if (kIsInner || (uint32_t)j < rows_left) last[j] = before[j * coarse_row];
    }
    run_as(*this, kPairs, kPairs + 1);
  }
};

} // namespace szg

#endif
