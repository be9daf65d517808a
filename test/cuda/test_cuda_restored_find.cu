/* test_cuda_restored_find.cu - looking for restored values on the device gives the CPU's results.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>

#include "cuda/cuda_test.cuh"
#include "quant/restored.h"
#include "quant/restored_core.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_unit;

namespace {

constexpr double kFine = 0x1.2345p-7;

template <class Value>
constexpr bool kIsF32 = sizeof(Value) == 4;

template <class Value>
szg_restored_look look_at(uint64_t frame_values, uint64_t line_values) {
  szg_restored_look look = {};
  look.half = kFine / 2;
  look.inverse = 2 / kFine;
  look.half_f32 = (float)look.half;
  look.inverse_f32 = (float)look.inverse;
  look.exponent = ilogb(kFine) + (kIsF32<Value> ? 127 + 23 : 1023 + 52);
  look.least_evidence = kIsF32<Value> ? 1 : 4;
  look.needed = 8 + (uint32_t)random_below(60);
  look.has_fill = random_below(2);
  look.fill_bits = kIsF32<Value> ? szg_bits_f32(5.0f) : szg_bits_f64(5.0);
  look.frame_values = frame_values;
  look.line_values = line_values;
  return look;
}

/* Of a kind: a fine point, a coarse one, either or a middle, nothing, or any. */
template <class Value>
Value value_of(int kind) {
  double const size = exp2(20 * random_unit());
  double const halves = rint((2 * random_unit() - 1) * size);
  switch (kind) {
    case 0:
      return (Value)(2 * halves * (kFine / 2));
    case 1:
      return (Value)(258 * rint(halves / 258) * (kFine / 2));
    case 2:
      return (Value)(halves * (kFine / 2));
    case 3:
      return random_below(2) ? 0 : (Value)NAN;
    default:
      return (Value)(kFine * size * (random_unit() - 0.5));
  }
}

/* Stretches of one kind, with repeats, and at the end perhaps a rest. */
template <class Value>
std::vector<Value> make_values(uint64_t count) {
  std::vector<Value> values(count);
  Value value = 1;
  int kind = 0;
  for (Value &each : values) {
    if (random_below(40) == 0) kind = (int)random_below(5);
    if (random_below(5)) value = value_of<Value>(kind);
    each = value;
  }
  if (random_below(2))
    for (uint64_t i = count - count / (30 + random_below(5)); i < count; i++) values[i] = 7;
  return values;
}

/* Memory of passes. Each one finds what the last one left in it. */
class Passes {
 public:
  Passes() : work_(SZG_RANGE_WORK_BYTES) {
    device_.stream = cuda_test::stream;
    work_.zero();
    MUST(cudaMallocHost(&pinned_, SZG_RANGE_WORK_BYTES));
  }
  ~Passes() { cudaFreeHost(pinned_); }

  /* misplaced: how many values lie between a multiple of 16 bytes and the first one. */
  template <class Value>
  void compare(const std::vector<Value> &values, size_t misplaced, const szg_restored_look &look) {
    szgpu_dtype const dtype = kIsF32<Value> ? SZGPU_F32 : SZGPU_F64;
    std::vector<Value> placed(misplaced, 5);
    placed.insert(placed.end(), values.begin(), values.end());
    DeviceArray<Value> field(placed);
    szg_threads threads = {};
    threads.count = 1;
    szg_value_source const cpu =
        szg_value_source_cpu(&threads, dtype, values.data(), values.size());
    szg_value_source_cuda cuda;
    szg_value_source_open_cuda(&device_, dtype, field.data() + misplaced, values.size(),
                               work_.data(), pinned_, &cuda);
    memset(pinned_, 0xA5, SZG_RANGE_WORK_BYTES);
    uint32_t const trips = device_.round_trips;
    szg_restored_found expected, found;
    MUST(cpu.find_restored(&cpu, &look, &expected));
    MUST(cuda.source.find_restored(&cuda.source, &look, &found));
    CHECK(device_.round_trips == trips + 1, "%u trips", device_.round_trips - trips);
    check(expected, found, values.size(), look);
  }

 private:
  static void check(const szg_restored_found &expected, const szg_restored_found &found,
                    size_t count, const szg_restored_look &look) {
    char where[160];
    snprintf(where, sizeof where, "%zu values, frames of %llu, lines of %llu, %u needed", count,
             (unsigned long long)look.frame_values, (unsigned long long)look.line_values,
             look.needed);
#define SAME(member)                                                  \
  CHECK(found.member == expected.member, "%s: %llu, not %llu", where, \
        (unsigned long long)found.member, (unsigned long long)expected.member)
    SAME(counted);
    SAME(fine);
    SAME(coarse);
    SAME(control);
    SAME(fine_marks);
    SAME(coarse_marks);
    SAME(all);
    SAME(all_fine);
    SAME(all_coarse);
    SAME(runs);
#undef SAME
  }

  szg_device device_ = {};
  DeviceArray<uint8_t> work_;
  void *pinned_ = nullptr;
};

template <class Value>
void all_claims(Passes *passes) {
  for (uint64_t count : {1, 2, 63, 64, 65, 257, 4096, 6151, 20011, 300007})
    for (uint64_t line_values : {64, 65, 100, 255, 256, 257, 5000, 400000})
      for (uint64_t share : {1, 3}) {
        uint64_t const lines = line_values < count ? line_values : count;
        std::vector<Value> const values = make_values<Value>(count);
        passes->compare(values, random_below(4),
                        look_at<Value>(share == 1 ? count : 1 + count / share, lines));
      }
}

/* More patches than all blocks take at once. */
template <class Value>
void a_large_field(Passes *passes) {
  uint64_t const count = ((uint64_t)48 << 20) / sizeof(Value) + 3;
  std::vector<Value> values = make_values<Value>(count);
  passes->compare(values, 1, look_at<Value>(count, 1000));
  passes->compare(values, 0, look_at<Value>(count / 5, count / 5));
}

/* Nothing is found, except the one run that is there, wherever it is. */
template <class Value>
void no_run_is_missed(Passes *passes) {
  for (int round = 0; round < 40; round++) {
    uint64_t const lines = 200, count = 300 * lines;
    szg_restored_look look = look_at<Value>(count, lines);
    look.needed = 30;
    std::vector<Value> values(count);
    for (Value &each : values) each = value_of<Value>(4);
    uint64_t const line = random_below(4) * 64, column = random_below(3) * 64; /* of a patch */
    uint64_t const stride = round % 2 ? 1 : lines;
    for (int k = 0; k < 32; k++)
      values[line * lines + column + (uint64_t)k * stride] =
          (Value)((1000 + k) * (round % 4 < 2 ? 129 : 1) * kFine);
    passes->compare(values, 0, look);
  }
}

template <class Value>
void run(Passes *passes) {
  all_claims<Value>(passes);
  no_run_is_missed<Value>(passes);
  a_large_field<Value>(passes);
}

} // namespace

int main() {
  cuda_test::begin();
  {
    Passes passes;
    run<float>(&passes);
    run<double>(&passes);
  }
  return cuda_test::end();
}
