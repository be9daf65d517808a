/* series.cpp - a C++ program: appends the steps of a wave to a series, reads one, checks the bound.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * c++ series.cpp -std=c++17 $(pkg-config --cflags --libs szgpu)
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <szgpu.hpp>

static const std::size_t rows = 100, columns = 200;
static const double bound = 1e-4;

/* The height of a circular wave at a time. */
static std::vector<float> wave(double time) {
  std::vector<float> height(rows * columns);
  for (std::size_t i = 0; i < height.size(); i++) {
    const double x = double(i % columns) - 60, y = double(i / columns) - 50;
    height[i] = float(std::cos(std::hypot(x, y) / 8 - time) / (1 + std::hypot(x, y) / 40));
  }
  return height;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "wave.szgs";
  std::remove(path);
  try {
    szgpu::context ctx;
    {
      szgpu::series series(path, SZGPU_SERIES_APPEND);
      for (int step = 0; step < 10; step++) {
        const szgpu_label label = {"height", 1, step * 0.5};
        series.append(ctx, wave(step * 0.5), {rows, columns}, szgpu::bounded(SZGPU_MODE_ABS, bound),
                      &label);
      }
    }
    szgpu::series series(path);
    const std::vector<float> restored = series.read<float>(ctx, 7), exact = wave(7 * 0.5);
    double largest_error = 0;
    for (std::size_t i = 0; i < exact.size(); i++)
      largest_error = std::max(largest_error, std::fabs(double(restored[i]) - double(exact[i])));
    const szgpu_region box = {{10, 20, 0, 0}, {2, 3, 0, 0}}; /* rows 10 and 11, columns 20 to 22 */
    const bool same = series.read<float>(ctx, 7, 0, &box)[0] == restored[10 * columns + 20];
    std::printf("%s: %d steps; step 7: %zu -> %llu bytes, max error %g, bound %g\n", path,
                int(series.size()), exact.size() * sizeof(float),
                (unsigned long long)series.inspect(7).archive_bytes, largest_error, bound);
    return largest_error <= bound && same ? 0 : 1;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "series.cpp: %s\n", failure.what());
    return 1;
  }
}
