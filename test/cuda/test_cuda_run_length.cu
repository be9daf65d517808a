/* test_cuda_run_length.cu - run-length coding on a GPU, in one kernel and in four steps, against
 * the CPU's; decoding of sound runs and of wrong ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "study/run_length.h"

#include "cuda/cuda_test.cuh"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

constexpr size_t kGuard = 64; /* elements around an output that must not change */
constexpr uint8_t kPoison = 0xA5;

template <class Symbol>
struct Runs {
  std::vector<uint32_t> counts;
  std::vector<Symbol> symbols;
};

template <class Symbol>
Runs<Symbol> code_on_cpu(const std::vector<Symbol> &symbols) {
  Runs<Symbol> runs = {std::vector<uint32_t>(symbols.size()), std::vector<Symbol>(symbols.size())};
  szg_run_output output = {runs.counts.data(), runs.symbols.data(), symbols.size(), 0};
  MUST(szg_runs_encode_serial(sizeof(Symbol), symbols.data(), symbols.size(), &output));
  runs.counts.resize(output.count);
  runs.symbols.resize(output.count);
  return runs;
}

/* The memory that a carve function lays out, poisoned. */
template <class Work>
class Scratch {
 public:
  template <class Carve>
  explicit Scratch(Carve carve) : memory_(bytes_of(carve)) {
    szg_arena arena = {memory_.data(), 0, memory_.bytes(), false};
    MUST(carve(&arena, &work));
  }
  Work work = {};

 private:
  template <class Carve>
  static size_t bytes_of(Carve carve) {
    szg_arena arena = {};
    Work work = {};
    MUST(carve(&arena, &work));
    return arena.used_bytes;
  }
  DeviceArray<uint8_t> memory_;
};

/* ---- coding ---- */

enum Way { IN_ONE_KERNEL, STAGED, WAY_COUNT };
const char *const way_names[WAY_COUNT] = {"in one kernel", "staged"};

void code_on_gpu(Way way, uint32_t symbol_bytes, const void *symbols, uint64_t symbol_count,
                 const szg_run_output_cuda &output) {
  if (way == STAGED) {
    Scratch<szg_run_stages_cuda> const scratch([&](szg_arena *arena, szg_run_stages_cuda *work) {
      return szg_run_stages_carve_cuda(arena, symbol_count, work);
    });
    MUST(szg_runs_encode_staged_cuda(&scratch.work, symbol_bytes, symbols, symbol_count, &output,
                                     stream));
    MUST(cudaStreamSynchronize(stream));
    return;
  }
  Scratch<szg_run_encoder_cuda> const scratch([&](szg_arena *arena, szg_run_encoder_cuda *work) {
    return szg_run_encoder_carve_cuda(arena, symbol_bytes, symbol_count, work);
  });
  for (int turn = 0; turn < 2; turn++) /* the second time in used memory */
    MUST(szg_runs_encode_cuda(&scratch.work, symbol_bytes, symbols, symbol_count, &output, stream));
  MUST(cudaStreamSynchronize(stream));
}

template <class T>
bool is_untouched(const std::vector<T> &values) {
  T poison;
  memset(&poison, kPoison, sizeof poison);
  for (const T &value : values)
    if (value != poison) return false;
  return true;
}

/* Device memory of `count` elements between guards. */
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t count) : array_(count + 2 * kGuard) {}
  T *data() const { return array_.data() + kGuard; }
  /* The elements between the guards; none if a guard was overwritten. */
  std::vector<T> host() const {
    std::vector<T> all = array_.host();
    std::vector<T> const front(all.begin(), all.begin() + kGuard),
        back(all.end() - kGuard, all.end());
    if (!is_untouched(front) || !is_untouched(back)) return {};
    return std::vector<T>(all.begin() + kGuard, all.end() - kGuard);
  }

 private:
  DeviceArray<T> array_;
};

template <class T>
void check_same(const std::vector<T> &found, const std::vector<T> &expected, const char *what,
                const char *of_what) {
  CHECK(found.size() == expected.size(), "%s, %s: written beyond %zu", what, of_what,
        expected.size());
  size_t i = 0;
  while (i < expected.size() && i < found.size() && found[i] == expected[i]) i++;
  CHECK(i == found.size(), "%s, %s: number %zu of %zu is %llu and not %llu", what, of_what, i,
        expected.size(), (unsigned long long)found[i], (unsigned long long)expected[i]);
}

template <class Symbol>
void check_coding(Way way, const std::vector<Symbol> &symbols, const Runs<Symbol> &expected,
                  const char *what) {
  uint64_t const run_count = expected.counts.size();
  DeviceArray<Symbol> const device_symbols(symbols);
  Guarded<uint32_t> const counts(run_count);
  Guarded<Symbol> const run_symbols(run_count);
  DeviceArray<uint64_t> const count(1);
  code_on_gpu(way, sizeof(Symbol), device_symbols.data(), symbols.size(),
              {counts.data(), run_symbols.data(), run_count, count.data()});
  uint64_t const found_count = count.host()[0];
  CHECK(found_count == run_count, "%s, %s: %llu runs of %zu symbols and not %llu", what,
        way_names[way], (unsigned long long)found_count, symbols.size(),
        (unsigned long long)run_count);
  check_same(counts.host(), expected.counts, what, way_names[way]);
  check_same(run_symbols.host(), expected.symbols, what, way_names[way]);
}

/* ---- decoding ---- */

template <class Symbol>
struct Decoded {
  std::vector<Symbol> symbols; /* none if a guard was overwritten */
  bool is_bad;
};

template <class Symbol>
Decoded<Symbol> decode_on_gpu(const Runs<Symbol> &runs, uint64_t symbol_count) {
  DeviceArray<uint32_t> const counts(runs.counts);
  DeviceArray<Symbol> const run_symbols(runs.symbols);
  Guarded<Symbol> const symbols(symbol_count);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  Scratch<szg_run_decoder_cuda> const scratch([&](szg_arena *arena, szg_run_decoder_cuda *work) {
    return szg_run_decoder_carve_cuda(arena, runs.counts.size(), work);
  });
  szg_run_input const input = {counts.data(), run_symbols.data(), runs.counts.size()};
  MUST(szg_runs_decode_cuda(&scratch.work, sizeof(Symbol), &input, symbols.data(), symbol_count,
                            verdict.data(), stream));
  return {symbols.host(), verdict.host()[0].bad_data != 0};
}

template <class Symbol>
void check_decoding(const Runs<Symbol> &runs, const std::vector<Symbol> &expected,
                    const char *what) {
  Decoded<Symbol> const found = decode_on_gpu(runs, expected.size());
  CHECK(!found.is_bad, "%s: %zu runs of %zu symbols", what, runs.counts.size(), expected.size());
  check_same(found.symbols, expected, what, "decoded");
}

/* The GPU accepts what the CPU accepts, and writes nothing if the runs are bad. */
template <class Symbol>
bool check_verdict(const Runs<Symbol> &runs, uint64_t symbol_count, const char *what) {
  std::vector<Symbol> expected(symbol_count);
  szg_run_input const input = {runs.counts.data(), runs.symbols.data(), runs.counts.size()};
  szgpu_status const status =
      szg_runs_decode_serial(sizeof(Symbol), &input, expected.data(), symbol_count);
  if (status == SZGPU_OK) {
    check_decoding(runs, expected, what);
    return true;
  }
  Decoded<Symbol> const found = decode_on_gpu(runs, symbol_count);
  CHECK(found.is_bad, "%s: %zu runs for %llu symbols", what, runs.counts.size(),
        (unsigned long long)symbol_count);
  CHECK(found.symbols.size() == symbol_count && is_untouched(found.symbols),
        "%s: %zu runs for %llu symbols", what, runs.counts.size(),
        (unsigned long long)symbol_count);
  return false;
}

template <class Symbol>
void goes_there_and_back(const std::vector<Symbol> &symbols, const char *what) {
  Runs<Symbol> const runs = code_on_cpu(symbols);
  check_coding(IN_ONE_KERNEL, symbols, runs, what);
  check_coding(STAGED, symbols, runs, what);
  check_decoding(runs, symbols, what);
}

/* ---- claims ---- */

void runs_are_as_a_hand_finds_them() {
  std::vector<uint16_t> const symbols = {1, 2, 3, 6, 6, 6, 5, 5};
  Runs<uint16_t> const runs = {{1, 1, 1, 3, 2}, {1, 2, 3, 6, 5}};
  check_coding(IN_ONE_KERNEL, symbols, runs, "by hand");
  check_coding(STAGED, symbols, runs, "by hand");
  check_decoding(runs, symbols, "by hand");
}

void no_symbols_are_no_runs() {
  goes_there_and_back(std::vector<uint8_t>(), "nothing");
  goes_there_and_back(std::vector<uint16_t>(), "nothing");
}

/* Runs of 1 to `longest` equal symbols below `different`. */
template <class Symbol>
std::vector<Symbol> random_symbols(size_t count, uint64_t longest, uint64_t different) {
  std::vector<Symbol> symbols(count);
  for (size_t i = 0; i < count;) {
    Symbol const symbol = (Symbol)random_below(different);
    for (uint64_t run = 1 + random_below(longest); run > 0 && i < count; run--)
      symbols[i++] = symbol;
  }
  return symbols;
}

template <class Symbol>
void symbols_of_all_sizes_return() {
  size_t const sizes[] = {1,    2,    15,   16,    17,    31,    32,    33,     1023,
                          1024, 1025, 2047, 2048,  2049,  4095,  4096,  4097,   8191,
                          8192, 8193, 9001, 16383, 16384, 16385, 70001, 131072, 300007};
  for (size_t const size : sizes)
    for (uint64_t const longest : {1, 2, 7, 60, 1000, 100000})
      goes_there_and_back(random_symbols<Symbol>(size, longest, longest == 1 ? 65536 : 3),
                          "random");
}

/* Dense runs, sparse runs and none in turn, so that threads, warps and tiles differ. */
template <class Symbol>
void mixed_runs_return() {
  for (size_t const stretch : {100, 1024, 5000, 16384, 40000}) {
    std::vector<Symbol> symbols;
    for (int i = 0; i < 12; i++) {
      uint64_t const longest = i % 3 == 0 ? 1 : i % 3 == 1 ? 40 : 1000000;
      std::vector<Symbol> const more = random_symbols<Symbol>(stretch, longest, 65536);
      symbols.insert(symbols.end(), more.begin(), more.end());
    }
    goes_there_and_back(symbols, "mixed");
  }
}

/* One different symbol, or a second run, begins near each border, from threads' to tiles'. */
template <class Symbol>
void changes_at_all_borders_are_found() {
  size_t const count = 3 * 16384 + 40;
  std::vector<Symbol> symbols(count);
  for (size_t const border : {0, 4, 8, 16, 32, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152})
    for (size_t place = border < 2 ? 0 : border - 2; place < border + 2; place++)
      for (int is_lone = 0; is_lone <= 1; is_lone++) {
        for (size_t i = 0; i < count; i++)
          symbols[i] = (Symbol)((is_lone ? i == place : i >= place) << (8 * sizeof(Symbol) - 1));
        goes_there_and_back(symbols, "border");
      }
}

template <class Symbol>
void many_tiles_return() {
  size_t const count = ((size_t)1 << 24) + 12345;
  for (uint64_t const longest : {1, 16, 300, 3000000})
    goes_there_and_back(random_symbols<Symbol>(count, longest, 200), "many tiles");
}

template <class Symbol>
void says_how_many_runs_do_not_fit() {
  std::vector<Symbol> const symbols = random_symbols<Symbol>(50000, 9, 256);
  uint64_t const run_count = code_on_cpu(symbols).counts.size();
  DeviceArray<Symbol> const device_symbols(symbols);
  for (int way = 0; way < WAY_COUNT; way++)
    for (uint64_t const capacity : {(uint64_t)0, (uint64_t)1, run_count / 2, run_count - 1}) {
      Guarded<uint32_t> const counts(capacity);
      Guarded<Symbol> const run_symbols(capacity);
      DeviceArray<uint64_t> const count(1);
      code_on_gpu((Way)way, sizeof(Symbol), device_symbols.data(), symbols.size(),
                  {counts.data(), run_symbols.data(), capacity, count.data()});
      CHECK(count.host()[0] == run_count, "%s, for %llu", way_names[way],
            (unsigned long long)capacity);
      CHECK(counts.host().size() == capacity && run_symbols.host().size() == capacity,
            "%s, for %llu", way_names[way], (unsigned long long)capacity);
    }
}

void like_runs_may_follow_each_other() {
  check_decoding(Runs<uint8_t>{{2, 3, 1}, {4, 4, 5}}, {4, 4, 4, 4, 4, 5}, "like runs");
}

void counts_that_do_not_add_up_are_bad() {
  Runs<uint16_t> const four = {{1, 2, 3, 4}, {1, 2, 3, 4}}, three = {{1, 2, 3}, {1, 2, 3}};
  CHECK(check_verdict(four, 10, "sums"), "1 + 2 + 3 + 4 = 10");
  CHECK(!check_verdict(four, 9, "sums"), "9");
  CHECK(!check_verdict(four, 11, "sums"), "11");
  CHECK(!check_verdict(three, 10, "sums"), "three counts");
  CHECK(!check_verdict(Runs<uint16_t>(), 10, "sums"), "no counts");
  CHECK(!check_verdict(Runs<uint16_t>{{10}, {1}}, 0, "sums"), "no symbols");
  CHECK(!check_verdict(Runs<uint16_t>{{0}, {1}}, 0, "sums"), "nothing");
  CHECK(!check_verdict(Runs<uint16_t>{{UINT32_MAX, 11}, {1, 2}}, 10, "sums"), "2^32 + 10");
  CHECK(!check_verdict(
            Runs<uint16_t>{std::vector<uint32_t>(5000, UINT32_MAX), std::vector<uint16_t>(5000)},
            40000, "sums"),
        "5000 times 2^32 - 1");
}

void a_count_of_zero_anywhere_is_bad() {
  size_t const run_count = 9000 + 3;
  Runs<uint8_t> runs = {std::vector<uint32_t>(run_count, 2), std::vector<uint8_t>(run_count, 1)};
  for (size_t i = 0; i < run_count; i += 2) runs.symbols[i] = (uint8_t)i;
  CHECK(check_verdict(runs, 2 * run_count, "twos"), "no zero");
  for (size_t const place : {(size_t)0, (size_t)1, (size_t)255, (size_t)256, (size_t)4097,
                             run_count - 3, run_count - 2, run_count - 1}) {
    runs.counts[place] = 0;
    CHECK(!check_verdict(runs, 2 * run_count - 2, "a zero"), "at %zu", place);
    runs.counts[place] = 2;
  }
}

void arbitrary_counts_stay_inside() {
  for (int round = 0; round < (cuda_test::is_quick() ? 20 : 300); round++) {
    Runs<uint16_t> runs;
    uint64_t const shift = 32 + random_below(32);
    uint64_t sum = 0;
    for (uint64_t left = random_below(round % 3 ? 41 : 3000); left > 0; left--) {
      runs.counts.push_back((uint32_t)(random_bits() >> shift));
      runs.symbols.push_back((uint16_t)random_bits());
      sum += runs.counts.back();
    }
    check_verdict(runs, sum < 70000 && round % 2 ? sum : random_below(70000), "arbitrary");
  }
}

void what_was_bad_before_stays_so() {
  DeviceArray<uint32_t> const counts(std::vector<uint32_t>{3});
  DeviceArray<uint8_t> const run_symbols(std::vector<uint8_t>{7}), symbols(3);
  szg_verdict const bad = {0, 1, 0};
  DeviceArray<szg_verdict> const verdict(std::vector<szg_verdict>{bad});
  Scratch<szg_run_decoder_cuda> const scratch([](szg_arena *arena, szg_run_decoder_cuda *work) {
    return szg_run_decoder_carve_cuda(arena, 1, work);
  });
  szg_run_input const input = {counts.data(), run_symbols.data(), 1};
  MUST(szg_runs_decode_cuda(&scratch.work, 1, &input, symbols.data(), 3, verdict.data(), stream));
  CHECK(verdict.host()[0].bad_data == 1 && is_untouched(symbols.host()), "a bad verdict");
}

/* Decoders accept counts that no encoder writes; coded again, runs end at multiples of the span. */
void counts_of_32_bits_return() {
  uint64_t const symbol_count = ((uint64_t)1 << 32) + 100000;
  DeviceArray<uint32_t> const counts(std::vector<uint32_t>{5, UINT32_MAX, 99996});
  DeviceArray<uint8_t> const run_symbols(std::vector<uint8_t>{1, 2, 3}), symbols(symbol_count);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  Scratch<szg_run_decoder_cuda> const scratch([](szg_arena *arena, szg_run_decoder_cuda *work) {
    return szg_run_decoder_carve_cuda(arena, 3, work);
  });
  szg_run_input const input = {counts.data(), run_symbols.data(), 3};
  MUST(szg_runs_decode_cuda(&scratch.work, 1, &input, symbols.data(), symbol_count, verdict.data(),
                            stream));
  CHECK(verdict.host()[0].bad_data == 0, "2^32 + 100000 symbols");
  DeviceArray<uint32_t> const found_counts(5);
  DeviceArray<uint8_t> const found_symbols(5);
  DeviceArray<uint64_t> const found_count(1);
  code_on_gpu(IN_ONE_KERNEL, 1, symbols.data(), symbol_count,
              {found_counts.data(), found_symbols.data(), 5, found_count.data()});
  uint32_t const span = (uint32_t)SZG_RUN_SPAN;
  CHECK(found_count.host()[0] == 5, "%llu runs", (unsigned long long)found_count.host()[0]);
  CHECK((found_counts.host() == std::vector<uint32_t>{5, span - 5, span, 4, 99996}), "counts");
  CHECK((found_symbols.host() == std::vector<uint8_t>{1, 2, 2, 2, 3}), "symbols");
}

template <class Symbol>
void check_symbols() {
  symbols_of_all_sizes_return<Symbol>();
  mixed_runs_return<Symbol>();
  changes_at_all_borders_are_found<Symbol>();
  says_how_many_runs_do_not_fit<Symbol>();
  if (!cuda_test::is_quick()) many_tiles_return<Symbol>();
}

} // namespace

int main() {
  cuda_test::begin();
  runs_are_as_a_hand_finds_them();
  no_symbols_are_no_runs();
  like_runs_may_follow_each_other();
  counts_that_do_not_add_up_are_bad();
  a_count_of_zero_anywhere_is_bad();
  arbitrary_counts_stay_inside();
  what_was_bad_before_stays_so();
  check_symbols<uint8_t>();
  check_symbols<uint16_t>();
  if (!cuda_test::is_quick()) counts_of_32_bits_return();
  return cuda_test::end();
}
