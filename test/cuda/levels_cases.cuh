/* levels_cases.cuh - levels frames with values, and what the CPU makes of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_LEVELS_CASES_CUH
#define SZG_LEVELS_CASES_CUH

#include <math.h>

#include <string>

#include "codecs/interpolation/levels_cuda.h"
#include "cuda/cuda_test.cuh"
#include "cuda/levels_grids.cuh"
#include "predict/axes_core.h"

namespace levels_cases {

using cuda_test::DeviceArray;
using cuda_test::random_below;

typedef std::vector<uint8_t> Bytes;
constexpr size_t kGuard = 64; /* bytes behind what is to be written */
constexpr uint8_t kPoison = 0xA5;

/* ---- frames ---- */

struct Setup {
  szg_grid grid;
  szg_levels levels;
  szg_levels_lattice lattice;
  std::string name;

  size_t value_bytes() const { return lattice.dtype == SZGPU_F32 ? 4 : 8; }
  size_t point_bytes() const { return levels.is_wide ? 8 : 4; }
  const szg_levels_stage &stage(uint32_t i) const { return levels.stages[i]; }
  size_t tile_bytes(uint32_t i) const { return stage(i).place_count * point_bytes(); }
  bool is_last(uint32_t i) const { return i == levels.level_count; }
};

inline void choose_rules(Setup *s) {
  szg_levels *const l = &s->levels;
  uint32_t const d = l->axis_count;
  l->base_axes = 1 + (uint32_t)random_below((1u << d) - 1);
  if (l->level_count == 0) return;
  l->fine_bits = 1 + (uint32_t)random_below(SZG_LEVELS_MOST_FINE);
  l->is_halved = d == 1 && random_below(2);
  l->is_linear = random_below(3) == 0;
  l->is_blended = d > 1 && random_below(2);
  l->is_quintic = l->is_blended && !l->is_linear && random_below(3) > 0;
  bool const has_ranks = !l->is_blended && random_below(2);
  for (uint32_t axis = 0; axis < d; axis++)
    l->ranks[axis] = has_ranks ? (uint8_t)random_below(SZG_LEVELS_MOST_RANK + 1) : 0;
  for (uint32_t i = 0; i <= l->level_count; i++)
    l->stages[i].unit = 1 + (uint32_t)random_below(1u << l->fine_bits);
  if (random_below(2)) l->stages[0].unit = 1u << random_below(l->fine_bits + 1);
  l->stages[l->level_count].unit = 1u << l->fine_bits;
}

inline uint64_t fill_bits_of(szgpu_dtype dtype) { /* of 1 */
  return dtype == SZGPU_F32 ? 0x3f800000u : 0x3ff0000000000000u;
}

inline Setup make_setup(const std::vector<uint64_t> &dims, uint32_t axis_count, uint64_t fold,
                        uint32_t level_count, szgpu_dtype dtype, bool is_wide) {
  Setup s;
  s.grid = cuda_test::grid_of(dims);
  if (!szg_levels_make(&s.grid, axis_count, fold, level_count, &s.levels)) {
    printf("the view does not suit the frame\n");
    exit(1);
  }
  s.levels.is_wide = is_wide;
  choose_rules(&s);
  double const step = 0.01 * (1 + cuda_test::random_unit());
  s.lattice = szg_levels_lattice_make(dtype, is_wide, s.levels.fine_bits, step, random_below(2),
                                      fill_bits_of(dtype));
  for (uint64_t dim : dims) s.name += std::to_string(dim) + " ";
  char rules[160];
  snprintf(rules, sizeof rules,
           "d %u L %u fold %llu %s%s%s%s F %u ranks %u%u%u base axes %u units %u %u", axis_count,
           level_count, (unsigned long long)fold, dtype == SZGPU_F32 ? "f32" : "f64",
           is_wide ? " wide" : "", s.levels.is_blended ? " blended" : "",
           s.levels.is_halved    ? " halved"
           : s.levels.is_quintic ? " quintic"
           : s.levels.is_linear  ? " linear"
                                 : "",
           s.levels.fine_bits, s.levels.ranks[0], s.levels.ranks[1], s.levels.ranks[2],
           s.levels.base_axes, s.levels.stages[0].unit,
           s.levels.stages[level_count > 1 ? 1 : 0].unit);
  s.name += rules;
  return s;
}

inline void set_value(szgpu_dtype dtype, Bytes *field, uint64_t i, double value) {
  float const value_f32 = (float)value;
  if (dtype == SZGPU_F32)
    memcpy(&(*field)[4 * i], &value_f32, 4);
  else
    memcpy(&(*field)[8 * i], &value, 8);
}

/* How many values have none on the lattice: none, a few fill values, some, most. */
enum Kind { kSmooth, kFills, kSpecials, kMostlyNone, kKinds };

inline Bytes make_field(const Setup &s, Kind kind) {
  uint64_t const count = s.grid.value_count;
  uint64_t const rare = kind == kMostlyNone ? 2 : kind == kFills ? 4000 : 20;
  Bytes field(count * s.value_bytes());
  double const amplitude = kind > kFills && random_below(4) == 0 ? 1e4 : 1.0;
  double const noises[] = {0.0, 0.01, 0.1, 1.0, 3.0, 30.0}; /* codes from zeros to thousands */
  double const noise = noises[random_below(6)];
  double const specials[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1.0, -0.0, 1e-42};
  for (uint64_t i = 0; i < count; i++) {
    double const smooth = sin((double)(i % 97) * 0.07) + cos((double)(i / 97) * 0.11);
    bool const is_special = kind != kSmooth && random_below(rare) == 0;
    double const special = kind == kFills ? 1.0 : specials[random_below(8)];
    double const usual = amplitude * (smooth + noise * (cuda_test::random_unit() - 0.5));
    set_value(s.lattice.dtype, &field, i, is_special ? special : usual);
  }
  return field;
}

/* ---- the CPU ---- */

struct Coded {
  std::vector<Bytes> codes; /* by stage, tile after tile */
  std::vector<Bytes> grids; /* lattice values by stage; those of the last one are restored */
  Bytes marks;              /* of the frame's tiles */
};

inline std::vector<void *> pointers(std::vector<Bytes> *arrays) {
  std::vector<void *> all;
  for (Bytes &bytes : *arrays) all.push_back(bytes.data());
  return all;
}

inline std::vector<Bytes> empty_grids(const Setup &s) {
  std::vector<Bytes> grids;
  for (uint32_t i = 0; i <= s.levels.level_count; i++)
    grids.push_back(Bytes(s.stage(i).point_count * s.point_bytes(), kPoison));
  return grids;
}

inline Bytes marks_on_cpu(const Setup &s, const Bytes &field) {
  Bytes marks(s.grid.tile_count);
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    for (uint32_t z = 0; z < tile.z_extent; z++)
      for (uint32_t y = 0; y < tile.y_extent; y++) {
        uint8_t row[SZG_TILE_VALUES];
        uint64_t const first = tile.first_value + z * tile.z_stride + y * tile.y_stride;
        marks[t] |= szg_levels_mark(&s.lattice, field.data(), first, tile.x_extent, row);
      }
  }
  return marks;
}

inline Coded code_on_cpu(const Setup &s, const Bytes &field) {
  static szg_levels_work work;
  Coded coded = {{}, empty_grids(s), marks_on_cpu(s, field)};
  std::vector<void *> const grids = pointers(&coded.grids);
  for (uint32_t i = 0; i <= s.levels.level_count; i++) {
    coded.codes.push_back(Bytes(s.stage(i).tile_count * s.tile_bytes(i)));
    for (uint64_t t = 0; t < s.stage(i).tile_count; t++)
      szg_levels_code_tile(&s.levels, i, t, &s.lattice, field.data(), grids.data(), &work,
                           &coded.codes[i][t * s.tile_bytes(i)]);
  }
  return coded;
}

/* Tiles of a stage to its grid; to values if there are any. */
inline void restore_on_cpu(const Setup &s, uint32_t stage, uint64_t first_tile, uint64_t end_tile,
                           const Bytes &codes, std::vector<Bytes> *grids, Bytes *values) {
  static szg_levels_work work;
  std::vector<void *> const pointers_to = pointers(grids);
  for (uint64_t t = first_tile; t < end_tile; t++)
    szg_levels_restore_tile(&s.levels, stage, t, &s.lattice, &codes[t * s.tile_bytes(stage)], &work,
                            pointers_to.data(), values ? values->data() : nullptr);
}

/* ---- comparisons ---- */

inline long long element_at(const Bytes &bytes, size_t width, size_t i) {
  int32_t narrow;
  int64_t wide;
  if (width == 1) return bytes[i];
  memcpy(&narrow, &bytes[i * width], 4);
  if (width == 4) return narrow;
  memcpy(&wide, &bytes[i * width], 8);
  return wide;
}

/* Elements by their bits; in_tile: how many belong together, such as the places of a tile. */
inline void check_equal(const Setup &s, const char *what, uint32_t stage, const Bytes &found,
                        const Bytes &expected, size_t width, size_t in_tile) {
  CHECK(found.size() == expected.size(), "%s: %s: sizes", s.name.c_str(), what);
  if (found == expected) return;
  size_t const count = expected.size() / width;
  size_t different = 0, first = 0;
  for (size_t i = count; i-- > 0;)
    if (memcmp(&found[i * width], &expected[i * width], width) != 0) different++, first = i;
  CHECK(false, "%s, stage %u: %s: %zu of %zu differ, first %zu of tile %zu: %lld, not %lld",
        s.name.c_str(), stage, what, different, count, first % in_tile, first / in_tile,
        element_at(found, width, first), element_at(expected, width, first));
}

inline Bytes guarded(Bytes bytes) {
  bytes.resize(bytes.size() + kGuard, kPoison);
  return bytes;
}

/* Device memory of all grids, each with a guard. */
class DeviceGrids {
 public:
  explicit DeviceGrids(const Setup &s) {
    for (uint32_t i = 0; i <= s.levels.level_count; i++) {
      arrays_.emplace_back(
          new DeviceArray<uint8_t>(s.stage(i).point_count * s.point_bytes() + kGuard));
      pointers_[i] = arrays_.back()->data();
    }
  }
  ~DeviceGrids() {
    for (DeviceArray<uint8_t> *array : arrays_) delete array;
  }
  DeviceGrids(const DeviceGrids &) = delete;
  DeviceGrids &operator=(const DeviceGrids &) = delete;
  void *const *pointers() const { return pointers_; }
  Bytes host(uint32_t stage) const { return arrays_[stage]->host(); }

 private:
  std::vector<DeviceArray<uint8_t> *> arrays_;
  void *pointers_[SZG_LEVELS_MOST + 1] = {};
};

inline void check_grid(const Setup &s, const char *what, uint32_t stage, const DeviceGrids &grids,
                       const Bytes &expected) {
  const szg_levels_stage &own = s.stage(stage);
  Bytes const found = without_row_ends(own, s.point_bytes(), kPoison, grids.host(stage));
  check_equal(s, what, stage, found, guarded(expected), s.point_bytes(), own.x_extent);
}

/* A field whose first value is `shift` values past 16-byte alignment. */
inline Bytes shifted(const Setup &s, const Bytes &field, size_t shift) {
  Bytes bytes(shift * s.value_bytes(), kPoison);
  bytes.insert(bytes.end(), field.begin(), field.end());
  return bytes;
}

} // namespace levels_cases

#endif
