/* test_cuda_levels_choice.cu - how a levels frame predicts: the GPU's choice is the CPU's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>

#include <string>

#include "codecs/interpolation/frame.h"
#include "codecs/interpolation/levels_probe.h"
#include "cuda/cuda_test.cuh"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::stream;

namespace {

typedef std::vector<uint64_t> Dims;

/* ---- fields ---- */

enum Look { kSmooth, kNoise, kPeriodic, kSteps, kConstantAxis, kSpikes, kLookCount };

/* What a value is made of. Fields lie between about -100 and 100. */
struct Recipe {
  Look look;
  double frequency[4], noise;
  uint64_t period;
  bool has_mask, has_specials;
};

Recipe random_recipe() {
  Recipe r;
  r.look = (Look)random_below(kLookCount);
  for (double &frequency : r.frequency)
    frequency = 0.3 * pow(0.5, (double)random_below(8)) * cuda_test::random_unit();
  r.noise = pow(10, -(double)random_below(8));
  r.period = 2 + random_below(600);
  r.has_mask = random_below(4) == 0;
  r.has_specials = random_below(6) == 0;
  return r;
}

double noise_of(uint64_t i) {
  uint64_t const z = (i + 1) * 0x9E3779B97F4A7C15u;
  return (double)((z ^ z >> 29) * 0xBF58476D1CE4E5B9u >> 11) * 0x1p-53 - 0.5;
}

constexpr double kFill = -1e30;

double value_at(const Recipe &r, const Dims &dims, uint64_t i) {
  uint64_t at[4] = {}, rest = i;
  for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
  if (r.has_specials && i % 1013 == 7) return i % 3 ? (double)NAN : (double)INFINITY;
  if (r.has_mask && sin(0.21 * (double)at[0]) + sin(0.13 * (double)at[dims.size() - 1]) > 0.7)
    return kFill;
  double value = 0;
  for (size_t d = 0; d < dims.size(); d++) {
    if (r.look == kConstantAxis && d == r.period % dims.size()) continue;
    value += 25 * sin(r.frequency[d] * (double)at[d] + 0.01 * value);
  }
  if (r.look == kNoise) value = 100 * noise_of(i);
  if (r.look == kPeriodic) value = 80 * noise_of(i % r.period);
  if (r.look == kSteps) value = floor(value / 7) * 7;
  if (r.look == kSpikes) value = i % 701 < 3 ? value : 0;
  return value + r.noise * noise_of(i);
}

/* ---- one frame on both backends ---- */

template <class Value>
struct Frame {
  std::vector<Value> values;
  szg_write_request request;
  szg_bound_plan bound;
  szg_levels_asked asked;
  std::string name;
};

/* False: this frame can be no levels frame. */
template <class Value>
bool make_frame(const Dims &dims, const Recipe &recipe, double relative, Frame<Value> *frame) {
  szg_threads threads = {};
  threads.count = 1;
  szgpu_dtype const dtype = sizeof(Value) == 4 ? SZGPU_F32 : SZGPU_F64;
  frame->request = {};
  frame->request.dtype = dtype;
  frame->request.frame_grid = cuda_test::grid_of(dims);
  frame->request.predictor = random_below(2) ? SZGPU_PREDICTOR_AUTO : SZGPU_PREDICTOR_INTERPOLATION;
  frame->values.resize(frame->request.frame_grid.value_count);
  for (size_t i = 0; i < frame->values.size(); i++)
    frame->values[i] = (Value)value_at(recipe, dims, i);
  Value const fill = (Value)kFill;
  uint64_t fill_bits = 0;
  memcpy(&fill_bits, &fill, sizeof fill);
  szg_value_source const source =
      szg_value_source_cpu(&threads, dtype, frame->values.data(), frame->values.size());
  szg_range range;
  MUST(szg_range_take(&source, recipe.has_mask ? &fill_bits : nullptr, &range));
  MUST(szg_bound_derive(&source, SZGPU_MODE_REL, relative, &range, &frame->bound));
  frame->asked = {&frame->request, &frame->bound, &frame->request.frame_grid};
  char text[200];
  snprintf(text, sizeof text, "look %d, noise %g, period %llu, mask %d, specials %d, bound %g, %s",
           recipe.look, recipe.noise, (unsigned long long)recipe.period, recipe.has_mask,
           recipe.has_specials, relative, sizeof(Value) == 4 ? "f32" : "f64");
  frame->name = text;
  for (uint64_t dim : dims) frame->name += " " + std::to_string(dim);
  return szg_levels_frame_suits(&frame->bound);
}

szg_probes probe_cpu(const szg_probe_source &source) {
  szg_threads threads = {};
  threads.count = 2;
  szg_probe_plan plan;
  szg_arena arena = {};
  szg_levels_probe_carve(&arena, &source.grid, threads.count, &plan);
  std::vector<uint8_t> memory(arena.used_bytes + SZG_ARENA_ALIGNMENT);
  arena = {};
  arena.base = memory.data() + SZG_ARENA_ALIGNMENT - (uintptr_t)memory.data() % SZG_ARENA_ALIGNMENT;
  arena.capacity_bytes = memory.size() - SZG_ARENA_ALIGNMENT;
  szg_levels_probe_carve(&arena, &source.grid, threads.count, &plan);
  szg_probes probes = {};
  MUST(szg_levels_probe(&threads, &source, &plan, &probes));
  return probes;
}

/* in_graph: the launches are captured first, and the graph runs twice. */
szg_probes probe_cuda(const szg_probe_source &source, bool in_graph) {
  szg_arena arena = {};
  szg_probe_plan_cuda plan;
  szg_levels_probe_carve_zeroed_cuda(&arena, &plan);
  DeviceArray<uint8_t> counts(arena.used_bytes);
  arena = {};
  szg_levels_probe_carve_cuda(&arena, &plan);
  DeviceArray<uint8_t> results(arena.used_bytes);
  plan.counts = counts.data();
  plan.results = results.data();
  MUST(cudaMallocHost(&plan.answer, sizeof *plan.answer));
  memset(plan.answer, 0xA5, sizeof *plan.answer);
  if (in_graph) {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    MUST(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream));
    MUST(szg_levels_probe_cuda(&source, &plan, stream));
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 2; i++) MUST(cudaGraphLaunch(ready, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaGraphExecDestroy(ready));
    MUST(cudaGraphDestroy(graph));
  } else {
    counts.zero();
    MUST(szg_levels_probe_cuda(&source, &plan, stream));
  }
  szg_device device = {};
  device.stream = stream;
  MUST(szg_device_await(&device, plan.answer->told, plan.answer->told_count));
  szg_probes const probes = plan.answer->probes;
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaFreeHost(plan.answer));
  return probes;
}

void compare_found(const szg_probe_found &cpu, const szg_probe_found &gpu, const char *view,
                   const std::string &name) {
  CHECK(gpu.way_number == cpu.way_number, "%s: %s: way %u, not %u", name.c_str(), view,
        gpu.way_number, cpu.way_number);
  CHECK(memcmp(gpu.scales, cpu.scales, sizeof cpu.scales) == 0, "%s: %s", name.c_str(), view);
  CHECK(memcmp(gpu.noisy, cpu.noisy, sizeof cpu.noisy) == 0, "%s: %s", name.c_str(), view);
  CHECK(memcmp(gpu.differences, cpu.differences, sizeof cpu.differences) == 0, "%s: %s",
        name.c_str(), view);
}

bool are_alike(const szg_levels &a, const szg_levels &b) {
  bool alike = a.axis_count == b.axis_count && a.level_count == b.level_count && a.fold == b.fold;
  alike &= a.fine_bits == b.fine_bits && a.base_axes == b.base_axes;
  alike &= a.is_linear == b.is_linear && a.is_wide == b.is_wide;
  alike &= memcmp(a.ranks, b.ranks, sizeof a.ranks) == 0;
  for (uint32_t i = 0; i <= a.level_count && alike; i++)
    alike =
        a.stages[i].unit == b.stages[i].unit && a.stages[i].tile_count == b.stages[i].tile_count;
  return alike;
}

bool are_alike(const szg_levels_lattice &a, const szg_levels_lattice &b) {
  return a.dtype == b.dtype && a.is_wide == b.is_wide && a.has_fill == b.has_fill &&
         a.fill_bits == b.fill_bits && a.limit == b.limit && a.fine == b.fine &&
         a.inverse == b.inverse && a.fine_f32 == b.fine_f32 && a.inverse_f32 == b.inverse_f32;
}

/* What the frames so far chose. */
struct {
  uint64_t all, folds, linear, ranked, finer_units, planar, wide, differences, tiles;
} met;

void note(const szg_levels_choice &choice) {
  const szg_levels &levels = choice.levels;
  met.all++;
  if (!choice.is_chosen) {
    met.tiles++;
    return;
  }
  met.folds += levels.fold > 0;
  met.linear += levels.is_linear;
  met.ranked += (levels.ranks[0] | levels.ranks[1] | levels.ranks[2]) != 0;
  met.wide += levels.is_wide;
  met.differences += levels.level_count == 0;
  met.planar += levels.axis_count == 2 && levels.fold == 0;
  met.finer_units += levels.level_count > 0 && levels.stages[0].unit < 1u << levels.fine_bits;
}

template <class Value>
void compare(const Dims &dims, const Recipe &recipe, double relative, bool in_graph = false) {
  Frame<Value> frame;
  szg_probe_source source = {};
  if (!make_frame(dims, recipe, relative, &frame)) return;
  if (!szg_levels_probe_source(&frame.asked, frame.values.data(), &source)) return;
  szg_probes const cpu = probe_cpu(source);
  DeviceArray<Value> const values(frame.values);
  source.values = values.data();
  szg_probes const gpu = probe_cuda(source, in_graph);
  CHECK(gpu.fold == cpu.fold, "%s: %u, not %u", frame.name.c_str(), gpu.fold, cpu.fold);
  compare_found(cpu.plain, gpu.plain, "plain", frame.name);
  if (cpu.fold > 0) compare_found(cpu.folded, gpu.folded, "folded", frame.name);
  szg_levels_choice a, b;
  szg_levels_decide(&frame.asked, &cpu, &a);
  szg_levels_decide(&frame.asked, &gpu, &b);
  CHECK(a.is_chosen == b.is_chosen, "%s", frame.name.c_str());
  if (a.is_chosen && b.is_chosen)
    CHECK(are_alike(a.levels, b.levels) && are_alike(a.lattice, b.lattice), "%s",
          frame.name.c_str());
  note(b);
}

/* ---- claims ---- */

/* Up to about 2^bits values. */
Dims random_dims(uint32_t bits) {
  size_t const count = 1 + random_below(4);
  Dims dims;
  uint64_t left = 2 + random_below((uint64_t)1 << (1 + random_below(bits)));
  for (size_t d = 0; d + 1 < count; d++) {
    uint64_t const dim =
        1 + random_below(1 + (uint64_t)pow((double)left, 1.5 / (double)(count - d)));
    dims.push_back(dim);
    left = left / dim + 1;
  }
  dims.push_back(left);
  return dims;
}

void random_frames_are_chosen_alike() {
  for (uint64_t i = 0; i < 1500; i++) {
    Recipe const recipe = random_recipe();
    Dims const dims = random_dims(i % 20 ? 17 : 21);
    double const relative = pow(10, -1 - 6 * cuda_test::random_unit());
    if (cuda_test::is_left_out(i, 50)) continue;
    if (i % 3)
      compare<float>(dims, recipe, relative);
    else
      compare<double>(dims, recipe, relative * (i % 2 ? 1 : 1e-6));
  }
}

/* Extents around those of runs, of what predictions reach and of tiles. */
void awkward_extents_are_chosen_alike() {
  static const Dims shapes[] = {
      {2},         {31},        {32},         {33},          {127},           {128},
      {129},       {4097},      {65536},      {1 << 21},     {2, 2},          {3, 33},
      {64, 64},    {1000, 3},   {1 << 18, 2}, {3, 3, 3},     {7, 25, 64},     {26, 8, 65},
      {2, 2, 999}, {300, 2, 2}, {3, 2, 9, 9}, {5, 13, 1, 7}, {2, 64, 64, 64}, {40, 257, 257}};
  for (const Dims &dims : shapes)
    for (int look = 0; look < kLookCount; look++) {
      Recipe recipe = random_recipe();
      recipe.look = (Look)look;
      compare<float>(dims, recipe, 1e-3);
      compare<double>(dims, recipe, look % 2 ? 1e-4 : 1e-11);
    }
}

/* Lines that repeat themselves: a fold is found, and most are taken. */
void periodic_lines_are_folded_alike() {
  uint64_t const before = met.folds;
  for (uint64_t i = 0; i < 40; i++) {
    if (cuda_test::is_left_out(i, 10)) continue;
    Recipe recipe = random_recipe();
    recipe.look = kPeriodic;
    recipe.noise = 1e-3;
    recipe.has_mask = i % 5 == 0;
    compare<float>({20000 + random_below(200000)}, recipe, 1e-3, i % 4 == 0);
  }
  CHECK(met.folds > before, "no fold was met");
}

/* More runs than warps, and all that a sample may have. */
void large_frames_are_chosen_alike() {
  Recipe recipe = random_recipe();
  recipe.look = kSmooth;
  recipe.has_mask = recipe.has_specials = false;
  compare<float>({(uint64_t)1 << 23}, recipe, 1e-4);
  compare<float>({200, 220, 240}, recipe, 1e-4, true);
  if (!cuda_test::is_quick()) compare<float>({320, 330, 340}, recipe, 1e-3);
}

/* The frames above were not all of one kind. */
void all_kinds_of_choice_were_met() {
  printf(
      "%llu frames: %llu folded, %llu linear, %llu ranked, %llu with finer units, %llu of two "
      "axes, %llu wide, %llu of differences, %llu left to tiles\n",
      (unsigned long long)met.all, (unsigned long long)met.folds, (unsigned long long)met.linear,
      (unsigned long long)met.ranked, (unsigned long long)met.finer_units,
      (unsigned long long)met.planar, (unsigned long long)met.wide,
      (unsigned long long)met.differences, (unsigned long long)met.tiles);
  CHECK(met.folds && met.linear && met.ranked && met.planar && met.wide && met.tiles, "see above");
  if (!cuda_test::is_quick()) CHECK(met.finer_units && met.differences, "see above");
}

} // namespace

int main() {
  cuda_test::begin();
  random_frames_are_chosen_alike();
  awkward_extents_are_chosen_alike();
  periodic_lines_are_folded_alike();
  large_frames_are_chosen_alike();
  all_kinds_of_choice_were_met();
  return cuda_test::end();
}
