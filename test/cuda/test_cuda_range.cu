/* test_cuda_range.cu - the range pass on the device gives the CPU's results.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>

#include <algorithm>

#include "cuda/cuda_test.cuh"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;

namespace {

struct F32 {
  typedef uint32_t Bits;
  static constexpr szgpu_dtype kDtype = SZGPU_F32;
  static std::vector<Bits> known_fills() { return SZG_KNOWN_FILLS_F32; }
  static constexpr Bits kInfinity = 0x7F800000u, kSign = 0x80000000u;
};

struct F64 {
  typedef uint64_t Bits;
  static constexpr szgpu_dtype kDtype = SZGPU_F64;
  static std::vector<Bits> known_fills() { return SZG_KNOWN_FILLS_F64; }
  static constexpr Bits kInfinity = 0x7FF0000000000000u, kSign = 0x8000000000000000u;
};

template <class Type>
typename Type::Bits bits_of(double value) {
  return (typename Type::Bits)szg_bits_of_value(Type::kDtype, value);
}

/* Memory of both passes. Each use finds what the last one left in it. */
class Passes {
 public:
  Passes() : work_(SZG_RANGE_WORK_BYTES) {
    device_.stream = cuda_test::stream;
    work_.zero();
    MUST(cudaMallocHost(&pinned_, SZG_RANGE_WORK_BYTES));
  }
  ~Passes() { cudaFreeHost(pinned_); }

  /* misplaced: how many values lie between a multiple of 16 bytes and the first one. */
  template <class Type>
  void compare(const std::vector<typename Type::Bits> &values, size_t misplaced,
               const uint64_t *named_fill, const char *what) {
    std::vector<typename Type::Bits> placed(misplaced, bits_of<Type>(-1e38));
    placed.insert(placed.end(), values.begin(), values.end());
    DeviceArray<typename Type::Bits> field(placed);
    szg_threads threads = {};
    threads.count = 1;
    szg_value_source const cpu =
        szg_value_source_cpu(&threads, Type::kDtype, values.data(), values.size());
    szg_value_source_cuda cuda;
    szg_value_source_open_cuda(&device_, Type::kDtype, field.data() + misplaced, values.size(),
                               work_.data(), pinned_, &cuda);
    char where[160];
    snprintf(where, sizeof where, "%s: dtype %d, %zu values, misplaced by %zu, %s", what,
             (int)Type::kDtype, values.size(), misplaced, named_fill ? "fill named" : "no fill");
    szg_range const range = compare_range(cpu, cuda.source, named_fill, where);
    compare_magnitudes(cpu, cuda.source, range, where);
    if (values.size() >> SZG_RANGE_SPAN_LOG2) compare_samples(cpu, cuda.source, where);
  }

 private:
  void poison() { memset(pinned_, 0xA5, SZG_RANGE_WORK_BYTES); }

  szg_range compare_range(const szg_value_source &cpu, const szg_value_source &cuda,
                          const uint64_t *named_fill, const char *where) {
    szg_range expected, found;
    szg_extremes expected_extremes, found_extremes;
    poison();
    uint32_t const trips = device_.round_trips;
    MUST(szg_range_take(&cpu, named_fill, &expected));
    MUST(szg_range_take(&cuda, named_fill, &found));
    CHECK(device_.round_trips == trips + 1, "%s", where);
    CHECK(found.has_values == expected.has_values, "%s", where);
    CHECK(found.has_fill == expected.has_fill && found.fill_bits == expected.fill_bits, "%s",
          where);
    CHECK(szg_bits_f64(found.least) == szg_bits_f64(expected.least), "%s: %a, not %a", where,
          found.least, expected.least);
    CHECK(szg_bits_f64(found.greatest) == szg_bits_f64(expected.greatest), "%s: %a, not %a", where,
          found.greatest, expected.greatest);
    MUST(cpu.find_extremes(&cpu, named_fill, &expected_extremes));
    MUST(cuda.find_extremes(&cuda, named_fill, &found_extremes));
    CHECK(found_extremes.fills_seen == expected_extremes.fills_seen, "%s: %x, not %x", where,
          found_extremes.fills_seen, expected_extremes.fills_seen);
    return expected;
  }

  void compare_samples(const szg_value_source &cpu, const szg_value_source &cuda,
                       const char *where) {
    szg_extremes expected, found;
    poison();
    uint32_t const trips = device_.round_trips;
    MUST(cpu.sample_extremes(&cpu, &expected));
    MUST(cuda.sample_extremes(&cuda, &found));
    CHECK(device_.round_trips == trips + 1, "%s", where);
    CHECK((found.fills_seen != 0) == (expected.fills_seen != 0), "%s: %x, not %x", where,
          found.fills_seen, expected.fills_seen);
    if (expected.fills_seen) return; /* then nobody looks at the extremes */
    CHECK(found.least == expected.least && found.greatest == expected.greatest,
          "%s: %a to %a, not %a to %a", where, found.least, found.greatest, expected.least,
          expected.greatest);
  }

  void compare_magnitudes(const szg_value_source &cpu, const szg_value_source &cuda,
                          const szg_range &range, const char *where) {
    double const greatest = std::max(fabs(range.least), fabs(range.greatest));
    double const limits[] = {0.0,    greatest, nextafter(greatest, 0.0), 0.5 * greatest, 1e-3,
                             1e-320, DBL_MAX};
    poison();
    for (double limit : limits) {
      double expected, found;
      MUST(cpu.greatest_up_to(&cpu, &range, limit, &expected));
      MUST(cuda.greatest_up_to(&cuda, &range, limit, &found));
      CHECK(szg_bits_f64(found) == szg_bits_f64(expected), "%s, up to %a: %a, not %a", where, limit,
            found, expected);
    }
  }

  szg_device device_ = {};
  DeviceArray<uint8_t> work_;
  void *pinned_ = nullptr;
};

/* Finds a single value that is not 0 at any place. */
template <class Type>
void no_value_is_missed(Passes *passes) {
  typedef typename Type::Bits Bits;
  for (size_t count : {1, 2, 3, 5, 8, 13, 31})
    for (size_t place = 0; place < count; place++) {
      std::vector<Bits> values(count, bits_of<Type>(0.0));
      values[place] = bits_of<Type>(place % 2 ? -7.0 : 7.0);
      passes->compare<Type>(values, random_below(4), NULL, "one that is not 0");
    }
  size_t const chunk = 16384 / sizeof(Bits); /* what a block reads at once */
  for (size_t count : {chunk - 1, chunk, chunk + 1, 9 * chunk + 5})
    for (size_t place : {(size_t)0, chunk - 1, chunk, count / 2, count - 1}) {
      if (place >= count) continue;
      std::vector<Bits> values(count, bits_of<Type>(-0.0));
      values[place] = bits_of<Type>(1e-40);
      passes->compare<Type>(values, random_below(4), NULL, "one that is not -0");
    }
}

template <class Type>
void every_known_fill_is_seen(Passes *passes) {
  typedef typename Type::Bits Bits;
  std::vector<Bits> const fills = Type::known_fills();
  for (size_t i = 0; i < fills.size(); i++) {
    std::vector<Bits> values(2500);
    for (size_t v = 0; v < values.size(); v++) values[v] = bits_of<Type>((double)v - 99.0);
    values[random_below(values.size())] = fills[i];
    passes->compare<Type>(values, i % 4, NULL, "a known fill value");
    uint64_t const named = bits_of<Type>(7.0);
    passes->compare<Type>(values, i % 4, &named, "a known fill value beside the named one");
    values[random_below(values.size())] = fills[(i + 1) % fills.size()];
    passes->compare<Type>(values, 0, NULL, "two known fill values");
    for (Bits &bits : values) bits = fills[random_below(fills.size())];
    passes->compare<Type>(values, i % 4, NULL, "known fill values only");
    values.assign(4099, fills[i]);
    values[4000] ^= 1;
    passes->compare<Type>(values, i % 4, NULL, "a value just beside the fill value");
  }
}

template <class Type>
void fields_of_one_thing(Passes *passes) {
  typedef typename Type::Bits Bits;
  uint64_t const named = bits_of<Type>(-9999.0), nan = bits_of<Type>((double)NAN);
  Bits const things[] = {bits_of<Type>(1e20),
                         bits_of<Type>((double)NAN),
                         (Bits)(Type::kInfinity + 1),
                         (Bits) ~(Bits)0,
                         Type::kInfinity,
                         (Bits)(Type::kInfinity | Type::kSign),
                         (Bits)(Type::kInfinity - 1),
                         (Bits)((Type::kInfinity - 1) | Type::kSign),
                         bits_of<Type>(-0.0),
                         bits_of<Type>(-9999.0),
                         (Bits)1,
                         (Bits)(Type::kSign | 1),
                         bits_of<Type>(2e15)};
  for (Bits thing : things)
    for (size_t count : {1, 6, 4099}) {
      std::vector<Bits> const values(count, thing);
      passes->compare<Type>(values, 1, NULL, "one thing");
      passes->compare<Type>(values, 0, &named, "one thing");
      passes->compare<Type>(values, 2, &nan, "one thing");
    }
}

/* Ordinary values; one in `rarity` is special. */
template <class Type>
typename Type::Bits random_value(uint64_t rarity, double scale) {
  typedef typename Type::Bits Bits;
  std::vector<Bits> const fills = Type::known_fills();
  if (random_below(rarity)) return bits_of<Type>(scale * (random_unit() - 0.5));
  switch (random_below(8)) {
    case 0:
      return Type::kInfinity | (random_below(2) ? Type::kSign : 0);
    case 1:
      return (Bits)random_bits(); /* any bits */
    case 2:
      return Type::kInfinity + 1 + (Bits)random_below(1000);
    case 3:
      return bits_of<Type>(-0.0);
    case 4:
      return (Bits)random_below(1000); /* denormals */
    case 5:
      return bits_of<Type>(-9999.0);
    default:
      return fills[random_below(fills.size())];
  }
}

template <class Type>
void random_fields(Passes *passes) {
  uint64_t const named = bits_of<Type>(-9999.0);
  for (size_t count : {1, 7, 256, 1023, 2049, 4099, 65537})
    for (uint64_t rarity : {1, 2, 40, 3000})
      for (double scale : {200.0, 1e-307, 1e25}) {
        std::vector<typename Type::Bits> values(count);
        for (auto &bits : values) bits = random_value<Type>(rarity, scale);
        passes->compare<Type>(values, random_below(4), NULL, "random values");
        passes->compare<Type>(values, random_below(4), &named, "random values");
      }
}

/* More values than all blocks read at once; a third of them are fill, in long runs. */
template <class Type>
void a_large_field(Passes *passes) {
  size_t const count = ((size_t)40 << 20) / sizeof(typename Type::Bits) + 3;
  std::vector<typename Type::Bits> values(count);
  for (size_t i = 0; i < count; i++)
    values[i] =
        i / 3000 % 3 ? bits_of<Type>((double)(i * 2654435761u % 1000003)) : bits_of<Type>(1e20);
  values[count - 5000] = bits_of<Type>(-3.0);
  values[count / 2] = bits_of<Type>(1.5e6);
  values[count / 3] = bits_of<Type>(1e30);
  passes->compare<Type>(values, 1, NULL, "a large field");
}

template <class Type>
void all_claims(Passes *passes) {
  no_value_is_missed<Type>(passes);
  every_known_fill_is_seen<Type>(passes);
  fields_of_one_thing<Type>(passes);
  random_fields<Type>(passes);
  a_large_field<Type>(passes);
}

} // namespace

int main() {
  cuda_test::begin();
  {
    Passes passes;
    all_claims<F32>(&passes);
    all_claims<F64>(&passes);
  }
  return cuda_test::end();
}
