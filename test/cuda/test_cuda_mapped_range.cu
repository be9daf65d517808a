/* test_cuda_mapped_range.cu - one pass on the device gives the CPU's inner values, signs and range.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <algorithm>

#include "cuda/cuda_test.cuh"
#include "quant/bound.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::random_unit;

namespace {

constexpr size_t kGuard = 64; /* bytes behind an output that must stay as they are */
constexpr uint8_t kPoison = 0xA5;

szg_mapping log_mapping(szgpu_dtype outer, szgpu_dtype inner) {
  szg_mapping mapping = {};
  mapping.kind = SZG_MAPPING_LOG;
  mapping.outer = outer;
  mapping.inner = inner;
  return mapping;
}

szg_mapping with_fill(szg_mapping mapping, double fill) {
  mapping.fill.is_there = true;
  mapping.fill.bits =
      szg_log_fill_bits(mapping.outer, mapping.inner, szg_bits_of_value(mapping.outer, fill));
  return mapping;
}

/* Every mapping without a fill value. */
std::vector<szg_mapping> all_mappings() {
  std::vector<szg_mapping> mappings;
  for (szgpu_dtype const outer :
       {SZGPU_U8, SZGPU_I8, SZGPU_U16, SZGPU_I16, SZGPU_F16, SZGPU_BF16, SZGPU_I32})
    mappings.push_back(szg_mapping_of(SZGPU_MODE_ABS, outer));
  mappings.push_back(log_mapping(SZGPU_F32, SZGPU_F32));
  mappings.push_back(log_mapping(SZGPU_F32, SZGPU_F64));
  mappings.push_back(log_mapping(SZGPU_F64, SZGPU_F64));
  return mappings;
}

bool keeps_signs(const szg_mapping &mapping) { return mapping.kind == SZG_MAPPING_LOG; }

std::vector<uint32_t> expected_signs(const szg_mapping &mapping, const uint8_t *outer,
                                     size_t count) {
  std::vector<uint8_t> are_negative(count);
  std::vector<uint32_t> words((count + 31) / 32);
  szg_log_signs(mapping.outer, mapping.inner, mapping.fill, outer, count, are_negative.data());
  for (size_t i = 0; i < count; i++) words[i / 32] |= (uint32_t)are_negative[i] << i % 32;
  return words;
}

/* Which known fill values a field has. */
uint32_t own_fills(const szg_mapping &mapping, const uint8_t *outer, size_t count) {
  szg_threads threads = {};
  threads.count = 1;
  szg_value_source const own = szg_value_source_cpu(&threads, mapping.outer, outer, count);
  szg_extremes extremes;
  MUST(own.find_extremes(&own, NULL, &extremes));
  return extremes.fills_seen;
}

/* A field's values, `misplaced` values behind a multiple of their own size. */
class Field {
 public:
  Field(const szg_mapping &mapping, const std::vector<uint8_t> &values, size_t misplaced)
      : mapping_(mapping),
        values_(values),
        width_(szg_dtype_bytes(mapping.outer)),
        inner_width_(szg_dtype_bytes(mapping.inner)),
        misplaced_(misplaced),
        count_(values.size() / width_),
        outer_(placed(values, misplaced * width_)),
        inner_((misplaced + count_) * inner_width_ + kGuard),
        signs_((count_ + 31) / 32 * 4 + kGuard) {
    snprintf(where_, sizeof where_, "kind %d, type %d in %d, %zu values, misplaced by %zu%s",
             (int)mapping.kind, (int)mapping.outer, (int)mapping.inner, count_, misplaced,
             mapping.fill.is_there ? ", with a fill value" : "");
  }

  /* Maps without looking at the range. */
  void compare_mapping() {
    poison();
    MUST(szg_values_to_inner_cuda(&mapping_, outer(), count_, inner(), signs(), cuda_test::stream));
    compare_values("mapped");
  }

  void compare_range(szg_device *device, void *work, void *pinned, const uint64_t *named_fill) {
    poison();
    memset(pinned, kPoison, SZG_RANGE_WORK_BYTES);
    szg_map_range_cuda const map = {device,  &mapping_, outer(), count_,
                                    inner(), signs(),   work,    pinned};
    szg_threads threads = {};
    threads.count = 1;
    szg_value_source const cpu =
        szg_value_source_mapped_cpu(&threads, &mapping_, values_.data(), count_);
    szg_extremes expected, found;
    MUST(cpu.find_extremes(&cpu, named_fill, &expected));
    MUST(szg_map_extremes_cuda(&map, named_fill, &found));
    compare_values(named_fill ? "mapped with its range, fill named" : "mapped with its range");
    compare_extremes(found, expected);
    szg_map_range_cuda looked_at = map;
    looked_at.inner = nullptr;
    poison();
    MUST(szg_map_extremes_cuda(&looked_at, named_fill, &found));
    compare_extremes(found, expected);
    std::vector<uint8_t> const untouched = signs_.host();
    CHECK(untouched == std::vector<uint8_t>(signs_.count(), kPoison), "%s: signs", where_);
  }

 private:
  void compare_extremes(const szg_extremes &found, const szg_extremes &expected) {
    bool const notes_own = keeps_signs(mapping_) && !mapping_.fill.is_there;
    uint32_t const fills =
        notes_own ? own_fills(mapping_, values_.data(), count_) : expected.fills_seen;
    CHECK(found.fills_seen == fills, "%s: %x, not %x", where_, found.fills_seen, fills);
    CHECK(szg_bits_f64(found.least + 0.0) == szg_bits_f64(expected.least + 0.0), "%s: %a, not %a",
          where_, found.least, expected.least);
    CHECK(szg_bits_f64(found.greatest + 0.0) == szg_bits_f64(expected.greatest + 0.0),
          "%s: %a, not %a", where_, found.greatest, expected.greatest);
  }

  static std::vector<uint8_t> placed(const std::vector<uint8_t> &values, size_t misplaced_bytes) {
    std::vector<uint8_t> all(misplaced_bytes, 0x77);
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
  const uint8_t *outer() const { return outer_.data() + misplaced_ * width_; }
  uint8_t *inner() const { return inner_.data() + misplaced_ * inner_width_; }
  uint32_t *signs() const {
    return keeps_signs(mapping_) ? (uint32_t *)(void *)signs_.data() : nullptr;
  }
  void poison() {
    inner_.poison();
    signs_.poison();
  }

  void compare_values(const char *what) {
    std::vector<uint8_t> expected(inner_.count(), kPoison);
    szg_values_to_inner(&mapping_, values_.data(), count_,
                        expected.data() + misplaced_ * inner_width_);
    compare_bytes(inner_.host(), expected, inner_width_, what);
    std::vector<uint8_t> words(signs_.count(), kPoison);
    if (keeps_signs(mapping_)) {
      std::vector<uint32_t> const signs = expected_signs(mapping_, values_.data(), count_);
      memcpy(words.data(), signs.data(), 4 * signs.size());
    }
    compare_bytes(signs_.host(), words, 4, "signs");
  }

  void compare_bytes(const std::vector<uint8_t> &found, const std::vector<uint8_t> &expected,
                     size_t width, const char *what) {
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < expected.size(); i++)
      if (found[i] != expected[i] && wrong++ == 0) first = i;
    CHECK(wrong == 0, "%s, %s: %zu bytes, from number %zu on", where_, what, wrong, first / width);
  }

  szg_mapping mapping_;
  std::vector<uint8_t> values_;
  size_t width_, inner_width_, misplaced_, count_;
  DeviceArray<uint8_t> outer_, inner_, signs_;
  char where_[160];
};

/* ---- values ---- */

void append(uint64_t bits, size_t width, std::vector<uint8_t> *values) {
  values->insert(values->end(), (uint8_t *)&bits, (uint8_t *)&bits + width);
}

/* A value of f32 or f64. One in `rarity` is not a normal number, or is a fill value. */
uint64_t random_real(szgpu_dtype dtype, uint64_t rarity) {
  static const uint32_t fills_f32[] = SZG_KNOWN_FILLS_F32;
  static const uint64_t fills_f64[] = SZG_KNOWN_FILLS_F64;
  bool const is_f32 = dtype == SZGPU_F32;
  if (random_below(rarity))
    return szg_bits_of_value(dtype,
                             exp2(60.0 * random_unit() - 40.0) * (random_below(3) ? 1.0 : -1.0));
  uint64_t const sign = random_below(2) ? (is_f32 ? 1ull << 31 : 1ull << 63) : 0;
  switch (random_below(8)) {
    case 0:
      return sign;
    case 1:
      return sign | random_below(1000); /* subnormal */
    case 2:
      return sign | szg_bits_of_value(dtype, INFINITY);
    case 3:
      return sign | (szg_bits_of_value(dtype, INFINITY) + 1 + random_below(1000)); /* NaN */
    case 4:
      return szg_bits_of_value(dtype, -9999.0);
    case 5:
      return is_f32 ? (uint32_t)random_bits() : random_bits();
    case 6:
      return szg_bits_of_value(dtype, sign ? -3e15 : 3e15); /* large, and no fill value */
    default:
      return is_f32 ? fills_f32[random_below(sizeof fills_f32 / sizeof *fills_f32)]
                    : fills_f64[random_below(sizeof fills_f64 / sizeof *fills_f64)];
  }
}

std::vector<uint8_t> random_values(szgpu_dtype dtype, size_t count, uint64_t rarity) {
  std::vector<uint8_t> values;
  bool const is_real = dtype == SZGPU_F32 || dtype == SZGPU_F64;
  for (size_t i = 0; i < count; i++)
    append(is_real ? random_real(dtype, rarity) : random_bits(), szg_dtype_bytes(dtype), &values);
  return values;
}

/* ---- claims ---- */

class Claims {
 public:
  Claims() : work_(SZG_RANGE_WORK_BYTES) {
    device_.stream = cuda_test::stream;
    work_.zero();
    MUST(cudaMallocHost(&pinned_, SZG_RANGE_WORK_BYTES));
  }
  ~Claims() { cudaFreeHost(pinned_); }

  void every_length_and_place() {
    static const size_t counts[] = {1,   2,   3,    4,    5,    31,   32,   33,    127,   128,
                                    129, 257, 1023, 1024, 1025, 4095, 4097, 16385, 100003};
    size_t number = 0;
    for (const szg_mapping &mapping : all_mappings())
      for (size_t const count : counts)
        for (size_t misplaced = 0; misplaced < 5; misplaced++)
          if (!cuda_test::is_left_out(number++, 13))
            compare(mapping, random_values(mapping.outer, count, 40), misplaced);
  }

  /* Of values that are all special, half of them, a few and none. */
  void every_kind_of_value() {
    for (const szg_mapping &mapping : all_mappings())
      for (uint64_t rarity : {1, 2, 300, 1000000}) {
        if (!keeps_signs(mapping)) continue;
        std::vector<uint8_t> const values = random_values(mapping.outer, 20011, rarity);
        compare(mapping, values, 0);
        for (double fill : {1e20, -9999.0, 0.0, -0.0, (double)NAN})
          compare(with_fill(mapping, fill), values, 0);
      }
  }

  /* One value that differs, in the first and last places of what lanes, warps and blocks take. */
  void no_value_is_missed() {
    for (const szg_mapping &mapping : all_mappings()) {
      size_t const width = szg_dtype_bytes(mapping.outer), count = 2 * 16384 + 77;
      bool const is_real = keeps_signs(mapping);
      uint64_t const usual = is_real ? szg_bits_of_value(mapping.outer, 3.0) : 3;
      uint64_t const other = is_real ? szg_bits_of_value(mapping.outer, -0.5) : 1;
      for (size_t place : {(size_t)0, (size_t)3, (size_t)31, (size_t)32, (size_t)127, (size_t)1023,
                           (size_t)1024, (size_t)4095, (size_t)4096, count - 78, count - 77,
                           count - 14, count - 13, count - 1}) {
        std::vector<uint8_t> values;
        for (size_t i = 0; i < count; i++) append(i == place ? other : usual, width, &values);
        compare(mapping, values, 0);
      }
    }
  }

  /* More values than all blocks take at once. */
  void a_large_field() {
    for (const szg_mapping &mapping : all_mappings()) {
      std::vector<uint8_t> values = random_values(mapping.outer, 100003, 3000);
      size_t const unit = values.size(), most = cuda_test::is_quick() ? 4 * unit : (size_t)40 << 20;
      while (values.size() + unit < most) values.insert(values.end(), &values[0], &values[unit]);
      compare(mapping, values, 0);
    }
  }

 private:
  void compare(const szg_mapping &mapping, const std::vector<uint8_t> &values, size_t misplaced) {
    std::vector<uint8_t> const copy = values;
    Field field(mapping, copy, misplaced);
    uint64_t named = szg_log_inner_fill(mapping.inner);
    if (!keeps_signs(mapping)) {
      field.compare_range(&device_, work_.data(), pinned_, NULL);
      named = szg_bits_of_value(mapping.inner, 3.0);
    }
    field.compare_range(&device_, work_.data(), pinned_, &named);
    field.compare_mapping();
  }

  szg_device device_ = {};
  DeviceArray<uint8_t> work_;
  void *pinned_ = nullptr;
};

} // namespace

int main() {
  cuda_test::begin();
  {
    Claims claims;
    claims.every_length_and_place();
    claims.every_kind_of_value();
    claims.no_value_is_missed();
    claims.a_large_field();
  }
  return cuda_test::end();
}
