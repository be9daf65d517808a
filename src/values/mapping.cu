/* mapping.cu - values to their inner type and back, on the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values/mapping.h"

#include "values/map_values.cuh"

namespace szg {
namespace {

template <class Way>
__global__ void __launch_bounds__(MapPolicy::kThreads, MapPolicy::kBlocks<Way>)
    map_kernel(MapJob<Way> job) {
  LooksAtNothing nothing;
  map_values(job, &nothing);
}

/* What is to be mapped, for one of the types below. */
struct MapLaunch {
  const void *from;
  uint64_t value_count;
  void *to;
  uint32_t *signs;
  cudaStream_t stream;
  template <class Way>
  szgpu_status go(const Way &way) const {
    MapJob<Way> const job = map_job_of(from, value_count, to, signs, way);
    unsigned blocks;
    SZG_TRY(map_blocks(job, &blocks));
    map_kernel<<<blocks, MapPolicy::kThreads, 0, stream>>>(job);
    return szg_launched();
  }
};

struct WidenLaunch {
  MapLaunch launch;
  template <class Type>
  szgpu_status run() const {
    return launch.go(ToInner<Type>());
  }
};

struct NarrowLaunch {
  MapLaunch launch;
  template <class Type>
  szgpu_status run() const {
    return launch.go(ToOuter<Type>());
  }
};

struct LogLaunch {
  MapLaunch launch;
  szg_log_fill fill;
  template <class Pair>
  szgpu_status run() const {
    return launch.go(ToLog<Pair>{fill});
  }
};

} // namespace
} // namespace szg

szgpu_status szg_values_to_inner_cuda(const szg_mapping *mapping, const void *outer,
                                      uint64_t value_count, void *inner, uint32_t *signs,
                                      struct CUstream_st *stream) {
  szg::MapLaunch const launch = {outer, value_count, inner, signs, stream};
  if (mapping->kind == SZG_MAPPING_LOG)
    return szg::with_log_pair(mapping->outer, mapping->inner,
                              szg::LogLaunch{launch, mapping->fill});
  return szg::with_narrow_type(mapping->outer, szg::WidenLaunch{launch});
}

szgpu_status szg_values_to_outer_cuda(const szg_mapping *mapping, const void *inner,
                                      uint64_t value_count, void *outer,
                                      struct CUstream_st *stream) {
  szg::MapLaunch const launch = {inner, value_count, outer, NULL, stream};
  return szg::with_narrow_type(mapping->outer, szg::NarrowLaunch{launch});
}
