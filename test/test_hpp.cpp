/* test_hpp.cpp - claims about include/szgpu.hpp; compiled as C++17 and as C++20.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: test_hpp FILE, which becomes a series
 */
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#include <szgpu.hpp>

static int claims = 0, broken = 0;
static void check(bool holds, const std::string &claim) {
  claims++;
  if (holds) return;
  broken++;
  std::printf("does not hold: %s\n", claim.c_str());
}

/* The call must throw szgpu::error with this status and a text that has these words. */
template <class Call>
static void refused(szgpu_status status, const std::string &words, Call call) {
  try {
    call();
    check(false, words + ": nothing was thrown");
  } catch (const szgpu::error &failure) {
    check(failure.status == status, words + ": the status is " + std::to_string(failure.status));
    const std::string text = failure.what();
    check(text.find(szgpu_status_text(status)) == 0 && text.find(words) != text.npos,
          words + ": it says " + text);
  }
}

template <class T>
static void check_type(szgpu_dtype dtype) {
  szgpu::context ctx;
  std::vector<T> field(2 * 3 * 5 * 7);
  for (std::size_t i = 0; i < field.size(); i++) field[i] = T(i * i % 97);
  const std::string name = "dtype " + std::to_string(dtype);
  const auto exact = ctx.compress(field, {2, 3, 5, 7}, szgpu::bounded(SZGPU_MODE_LOSSLESS, 0));
  check(ctx.decompress<T>(exact) == field, name + ": lossless");

  const auto archive = ctx.compress(field, {2, 3, 5, 7}, szgpu::bounded(SZGPU_MODE_ABS, 2));
  const szgpu_info info = szgpu::inspect(archive);
  check(info.shape.dtype == dtype && info.shape.ndim == 4 && info.shape.dims[3] == 7,
        name + ": shape");
  const std::vector<T> restored = ctx.decompress<T>(archive);
  double error = 0;
  for (std::size_t i = 0; i < field.size(); i++)
    error = std::fmax(error, std::fabs(double(field[i]) - double(restored[i])));
  check(restored.size() == field.size() && error <= info.absolute_bound, name + ": bound");

  const szgpu_region box = {{1, 0, 2, 3}, {1, 2, 2, 3}};
  const std::vector<T> part = ctx.decompress<T>(archive, 0, &box);
  check(part.size() == 12 && part[11] == restored[((1 * 3 + 1) * 5 + 3) * 7 + 5], name + ": box");
}

static void check_containers() {
  szgpu::context ctx;
  const std::array<double, 6> field = {1, 2, 3, 4, 5, 6};
  const auto archive = ctx.compress(field, {2, 3}, szgpu::bounded(SZGPU_MODE_ABS, 1e-3));
  double plain[6];
  ctx.decompress_to(archive, plain);
  check(std::fabs(plain[5] - 6) <= 1e-3, "a C array");
  const std::string as_text(reinterpret_cast<const char *>(archive.data()), archive.size());
  check(ctx.decompress<double>(as_text)[5] == plain[5], "an archive in a string");
  szgpu::context moved = std::move(ctx);
  check(moved.decompress<double>(archive)[0] == plain[0], "a ctx that was moved");
#if __cplusplus >= 202002L
  std::array<double, 6> target{};
  moved.decompress_to(std::span(archive), std::span(target));
  check(target[3] == plain[3], "spans");
  check(moved.compress(std::span(field), {2, 3}, szgpu::bounded(SZGPU_MODE_ABS, 1e-3)) == archive,
        "a span of const values");
#endif
}

static void check_refusals() {
  szgpu::context ctx;
  const std::vector<float> field(60, 1.5f);
  const auto with = [&](double bound) {
    return ctx.compress(field, {3, 4, 5}, szgpu::bounded(SZGPU_MODE_ABS, bound));
  };
  refused(SZGPU_BAD_BOUND, "the bound is 0", [&] { with(0); });
  refused(SZGPU_BAD_BOUND, "the bound is -1", [&] { with(-1); });
  refused(SZGPU_BAD_BOUND, "nan", [&] { with(std::numeric_limits<double>::quiet_NaN()); });
  const std::string size = "the container's size is not that of dims";
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(field, {3, 4, 6}); });
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(field, {3, 4}); });
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(field, {60, 0}); });
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(field, {}); });
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(field, {60, 1, 1, 1, 1}); });
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(field, {1ull << 32, 1ull << 32, 60}); });
  refused(SZGPU_BAD_SHAPE, size, [&] { ctx.compress(std::vector<float>(), {0}); });

  auto archive = with(1e-3);
  std::vector<float> small(59);
  refused(SZGPU_BAD_ARGUMENT, "", [&] { ctx.decompress_to(archive, small); });
  refused(SZGPU_BAD_ARGUMENT, "another type", [&] { ctx.decompress<double>(archive); });
  refused(SZGPU_BAD_ARGUMENT, "no such level", [&] { ctx.decompress<float>(archive, 7); });
  szgpu_region box = {{0, 0, 0, 0}, {3, 4, 6, 0}};
  refused(SZGPU_BAD_ARGUMENT, "larger", [&] { ctx.decompress<float>(archive, 0, &box); });
  box = {{2, 0, 0, 0}, {2, 1, 1, 0}};
  refused(SZGPU_BAD_ARGUMENT, "axis", [&] { ctx.decompress<float>(archive, 0, &box); });
  archive.pop_back();
  refused(SZGPU_TRUNCATED, "", [&] { ctx.decompress<float>(archive); });
  refused(SZGPU_NOT_AN_ARCHIVE, "", [&] { szgpu::inspect(std::string(200, 'x')); });

  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.threads = -1;
  refused(SZGPU_BAD_ARGUMENT, "", [&] { szgpu::context bad(options); });
  check(ctx.decompress<float>(with(1e-3)).size() == 60, "the ctx stays usable");
}

static void check_series(const std::string &path) {
  std::remove(path.c_str());
  refused(SZGPU_SOURCE_FAILED, path + ": No such file", [&] { szgpu::series missing(path); });
  szgpu::context ctx;
  const std::vector<std::int16_t> field(100, 7);
  for (int round = 0; round < 2; round++) { /* the second one finds the lock free */
    szgpu::series series(path, SZGPU_SERIES_APPEND);
    const szgpu_label label = {"seven", 1, 0.5};
    series.append(ctx, field, {10, 10}, szgpu::bounded(SZGPU_MODE_LOSSLESS, 0), &label);
    refused(SZGPU_LOCKED, "", [&] { szgpu::series again(path, SZGPU_SERIES_APPEND); });
    refused(SZGPU_BAD_BOUND, "bound", [&] {
      series.append(ctx, field, {10, 10}, szgpu::bounded(SZGPU_MODE_ABS, -1));
    });
  }
  szgpu::series series(path);
  check(series.size() == 2, "two steps");
  check(series.inspect(1).shape.dtype == SZGPU_I16, "the header of a step");
  check(series.read<std::int16_t>(ctx, 1) == field, "a step");
  const szgpu_region box = {{9, 0, 0, 0}, {1, 3, 0, 0}};
  check(series.read<std::int16_t>(ctx, 0, 0, &box).size() == 3, "a box of a step");
  refused(SZGPU_BAD_ARGUMENT, "", [&] { series.read<std::int16_t>(ctx, 2); });
  refused(SZGPU_BAD_ARGUMENT, "another type", [&] { series.read<float>(ctx, 0); });
  refused(SZGPU_BAD_ARGUMENT, "", [&] { series.append(ctx, field, {100}); });
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  try {
    check_type<float>(SZGPU_F32);
    check_type<double>(SZGPU_F64);
    check_type<std::int8_t>(SZGPU_I8);
    check_type<std::uint8_t>(SZGPU_U8);
    check_type<std::int16_t>(SZGPU_I16);
    check_type<std::uint16_t>(SZGPU_U16);
    check_type<std::int32_t>(SZGPU_I32);
    check_containers();
    check_refusals();
    check_series(argv[1]);
  } catch (const std::exception &failure) {
    check(false, std::string("nothing else is thrown: ") + failure.what());
  }
  std::printf("%d claims, %d do not hold\n", claims, broken);
  return broken || claims == 0 ? 1 : 0;
}
