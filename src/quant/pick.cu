/* pick.cu - copies runs of a field's values to the host.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One block reads where the runs begin in pinned memory, and writes the values there: up to 4 KiB
 * and 32 KiB over the link. It waits for the link and for the first values, not for bandwidth.
 */
#include <string.h>

#include "core/cuda_check.cuh"
#include "core/tell.cuh"
#include "quant/bound.h"

namespace szg {
namespace {

struct PickPolicy {
  static constexpr int kThreads = 1024; /* 4 values each, or 2 when a raster is looked for */
};

/* In pinned memory. */
struct PickWork {
  uint64_t first[SZG_MOST_RUNS];
  uint64_t picked[SZG_MOST_PICKED]; /* values of any type, one behind the other */
  uint32_t told;
};
static_assert(sizeof(PickWork) <= SZG_PICK_WORK_BYTES, "more than the caller gives");

template <class Bits>
__global__ void __launch_bounds__(PickPolicy::kThreads)
    pick_kernel(const Bits *values, uint32_t value_count, uint32_t run_values, PickWork *work) {
  auto *const picked = (Bits *)work->picked;
  for (uint32_t i = threadIdx.x; i < value_count; i += PickPolicy::kThreads)
    picked[i] = values[work->first[i / run_values] + i % run_values];
  __syncthreads(); /* all of them are written before the host is told */
  if (threadIdx.x == 0) tell(&work->told);
}

template <class Bits>
szgpu_status pick_bits(szg_device *device, const void *values, uint32_t value_count,
                       uint32_t run_values, PickWork *work) {
  pick_kernel<<<1, PickPolicy::kThreads, 0, device->stream>>>((const Bits *)values, value_count,
                                                              run_values, work);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status pick_values(szg_device *device, size_t width, const void *values, uint32_t value_count,
                         uint32_t run_values, PickWork *work) {
  if (width == 1) return pick_bits<uint8_t>(device, values, value_count, run_values, work);
  if (width == 2) return pick_bits<uint16_t>(device, values, value_count, run_values, work);
  if (width == 4) return pick_bits<uint32_t>(device, values, value_count, run_values, work);
  return pick_bits<uint64_t>(device, values, value_count, run_values, work);
}

} // namespace
} // namespace szg

szgpu_status szg_pick_cuda(szg_device *device, szgpu_dtype dtype, const void *values,
                           const szg_runs *runs, void *pinned_work, void *picked) {
  auto *const work = (szg::PickWork *)pinned_work;
  uint32_t const value_count = runs->count * runs->run_values;
  size_t const width = szg_dtype_bytes(dtype);
  memcpy(work->first, runs->first, runs->count * sizeof *runs->first);
  szg_device_expect(&work->told, 1);
  SZG_TRY(szg::pick_values(device, width, values, value_count, runs->run_values, work));
  SZG_TRY(szg_device_await(device, &work->told, 1));
  memcpy(picked, work->picked, value_count * width);
  return SZGPU_OK;
}
