/* test_cuda_async_damage.cu - damaged and foreign archives: kernels find what the CPU does.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/async_damage.cuh"
#include "cuda/async_lossless.cuh"

using namespace async_test;

namespace {

/* ---- damage ---- */

void damage_is_found_as_by_the_cpu() {
  const std::vector<std::vector<uint64_t>> dims = {{20, 30, 41}, {90, 100}, {9000}};
  for (size_t i = 0; i < dims.size(); i++)
    for (int kind : {kWaves, kNoise}) {
      szgpu_shape const shape = shape_of(i == 1 ? SZGPU_F64 : SZGPU_F32, dims[i]);
      szgpu_params const params = params_of(i == 2 ? 1e-5 : 1e-2, 102);
      Bytes const compact = archive_by(cpu, params, shape, make_field(shape, (FieldKind)kind));
      Bytes const sound = plain_of(compact);
      check_compact(params, shape, compact);
      check_headers(params, shape, sound);
      check_sizes(params, shape, sound);
      check_more(params, shape, sound);
      check_sections(params, shape, sound);
    }
}

void damage_of_lossless_archives_is_found_as_by_the_cpu() {
  int turn = 0;
  for (int dtype = SZGPU_F32; dtype <= SZGPU_I32; dtype++)
    for (uint64_t count : {(uint64_t)9001, (uint64_t)70}) {
      if (cuda_test::is_left_out((uint64_t)turn++, 5)) continue;
      szgpu_shape const shape = shape_of((szgpu_dtype)dtype, {count});
      Bytes const field = make_lossless_field(shape, count > 100 ? kWeights : kMixed);
      Bytes const compact = archive_by(cpu, lossless_params(), shape, field);
      Bytes const sound = plain_of(compact);
      check_compact(lossless_params(), shape, compact);
      check_headers(lossless_params(), shape, sound);
      check_sizes(lossless_params(), shape, sound);
      check_more(lossless_params(), shape, sound);
      check_sections(lossless_params(), shape, sound);
    }
}

/* ---- archives of other calls ---- */

void add_other(const szgpu_params &params, const szgpu_shape &shape, const Bytes &field,
               const char *what, std::vector<Damaged> *all) {
  all->push_back({archive_by(cpu, params, shape, field), what, 0});
}

void archives_of_other_params_are_refused() {
  szgpu_shape const shape = shape_of(SZGPU_F32, {33, 40, 50});
  szgpu_params const params = params_of(1e-2, 102);
  Bytes const field = make_field(shape, kWaves), strange = make_field(shape, kStrange);
  std::vector<Damaged> all;
  szgpu_params p = params;
  p.bound = 2e-2;
  add_other(p, shape, field, "another bound", &all);
  p = params, p.greatest = 1e5;
  add_other(p, shape, field, "another magnitude", &all);
  p = params, p.has_fill = 1;
  add_other(p, shape, field, "a fill value", &all);
  p = params, p.source = SZGPU_SOURCE_NPY;
  add_other(p, shape, field, "another source", &all);
  p = params, p.greatest = 0, p.raw_outliers = 0, p.keep = SZGPU_KEEP_RANGE;
  add_other(p, shape, field, "limits", &all);
  p = params, p.frame_rows = 16;
  add_other(p, shape, field, "several frames", &all);
  p = params, p.zstd_level = 1;
  add_other(p, shape, make_field(shape, kNoise), "a field of noise", &all); /* the same bytes */
  p = params, p.raw_outliers = 0;
  add_other(p, shape, strange, "exact values", &all);
  p = SZGPU_PARAMS_DEFAULTS;
  add_other(p, shape, field, "a relative bound", &all);
  p.mode = SZGPU_MODE_LOSSLESS;
  add_other(p, shape, field, "no bound", &all);
  p = SZGPU_PARAMS_DEFAULTS, p.layout = SZGPU_LAYOUT_LINEAR;
  add_other(p, shape, field, "the linear layout", &all);
  szgpu_shape other = shape_of(SZGPU_F32, {33, 2, 20, 50});
  add_other(params, other, field, "other dims", &all);
  other = shape_of(SZGPU_F64, {33, 40, 25});
  add_other(params, other, field, "another type", &all);
  check_all(params, shape, all, true);
}

/* Archives that are larger than any of the field, in the compact form and outside of it; and such
 * archives that are damaged, cut off, or not all of what there is. */
void archives_of_larger_fields_are_refused() {
  szgpu_shape const shape = shape_of(SZGPU_F32, {4, 5});
  szgpu_params const params = params_of(1e-2, 102);
  std::vector<Damaged> all, sealed;
  for (szgpu_shape const &larger :
       {shape_of(SZGPU_F32, {70, 90}), shape_of(SZGPU_F64, {20, 20, 20}),
        shape_of(SZGPU_F32, {80, 70, 60}), shape_of(SZGPU_F32, {300 * 4096})}) {
    szgpu_params p = params;
    if (larger.ndim == 1) p.frame_rows = 4096; /* the frame table is larger than the field */
    Bytes const archive = archive_by(cpu, p, larger, make_field(larger, kNoise));
    for (Bytes const &sound : {archive, plain_of(archive)}) {
      all.push_back({sound, "a larger field", sound.size()});
      for (size_t less : {(size_t)1, (size_t)16, sound.size() - 2000})
        all.push_back({Bytes(sound.begin(), sound.end() - (long)less), "bytes less", less});
      for (size_t more : {1, 16, 500}) {
        all.push_back({sound, "bytes more", more});
        all.back().archive.resize(sound.size() + more);
      }
      bool const is_compact = szg_is_compact(sound.data(), sound.size());
      for (uint64_t place = 0; place < 144; place += sound.size() < 100000 ? 1 : 13) {
        Damaged changed = {sound, "a byte of a larger field", 0};
        changed.archive[place] ^= (uint8_t)(1 + random_below(255));
        all.push_back(changed);
        if (!is_compact || (place >= 8 && place < 12)) continue;
        seal_compact(&changed.archive);
        sealed.push_back(changed);
      }
    }
  }
  check_all(params, shape, all, false);
  check_all(params, shape, sealed, true);
}

void lossless_calls_refuse_archives_of_other_params() {
  szgpu_shape const shape = shape_of(SZGPU_F32, {33, 40, 50});
  szgpu_params const params = lossless_params();
  Bytes const field = make_field(shape, kWaves);
  std::vector<Damaged> all;
  add_other(params_of(1e-2, 102), shape, field, "a bound", &all);
  szgpu_params p = params;
  p.source = SZGPU_SOURCE_NPY;
  add_other(p, shape, field, "another source", &all);
  p = params, p.frame_rows = 1;
  add_other(p, shape, field, "several frames", &all);
  p = params, p.zstd_level = 1;
  add_other(p, shape, make_field(shape, kZeros), "zeros", &all); /* the same bytes */
  p = params, p.layout = SZGPU_LAYOUT_LINEAR;
  add_other(p, shape, field, "the linear layout", &all);
  szgpu_shape other = shape_of(SZGPU_F32, {33, 2, 20, 50});
  add_other(params, other, field, "other dims", &all);
  other = shape_of(SZGPU_I32, {33, 40, 50});
  add_other(params, other, field, "another type of the same width", &all);
  other = shape_of(SZGPU_F64, {33, 40, 25});
  add_other(params, other, field, "another type", &all);
  check_all(params, shape, all, true);
}

} // namespace

int main() {
  cuda_test::begin();
  cpu = make_ctx(SZGPU_BACKEND_CPU);
  gpu = make_ctx(SZGPU_BACKEND_CUDA);
  damage_is_found_as_by_the_cpu();
  archives_of_other_params_are_refused();
  archives_of_larger_fields_are_refused();
  damage_of_lossless_archives_is_found_as_by_the_cpu();
  lossless_calls_refuse_archives_of_other_params();
  szgpu_destroy(gpu);
  szgpu_destroy(cpu);
  return cuda_test::end();
}
