/* mapped_range.cu - values to those that are coded, with their range, in one pass on the device.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quant/range.cuh"
#include "values/map_values.cuh"

namespace szg {
namespace {

/* What a thread sees of the results. */
template <class Format, class OuterFormat>
struct LooksForExtremes {
  typedef ExtremesPass<Format> Pass;
  typedef typename Format::Bits Bits;
  Pass pass;
  bool notes_own_fills; /* known fill values of the outer type, in place of the inner ones */
  typename Pass::Found found;

  template <int kCount>
  __device__ void take(const Bits (&values)[kCount]) {
    pass.take(values, &found);
  }
  template <int kCount>
  __device__ void take_plain(const Bits (&values)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; i++) Pass::include(values[i], &found);
  }
  __device__ void see_outer(typename OuterFormat::Bits bits) {
    if (!notes_own_fills || (bits & ~OuterFormat::kSign) < OuterFormat::kLeastFill) return;
    int const place = OuterFormat::known_fill(bits);
    if (place >= 0) found.fills_seen |= 1u << place;
  }
};

/* The same for a survey of the results, of which all are looked at alike. */
template <class Format>
struct LooksForEnds {
  typedef SurveyPass<Format> Pass;
  typedef typename Format::Bits Bits;
  Pass pass;
  typename Pass::Found found;

  template <int kCount>
  __device__ void take(const Bits (&values)[kCount]) {
    pass.take(values, &found);
  }
};

template <class Way, class Look>
__global__ void __launch_bounds__(MapPolicy::kThreads, MapPolicy::kBlocks<Way>)
    map_reduce_kernel(MapJob<Way> job, Look look, RangeWork *work, RangeResult *result) {
  look.found = Look::Pass::nothing();
  map_values(job, &look);
  finish_pass<typename Look::Pass, MapPolicy::kThreads>(look.found, work, result);
}

template <size_t kBytes>
struct FormatOf {
  typedef FormatF32 Format;
};
template <>
struct FormatOf<8> {
  typedef FormatF64 Format;
};

/* Maps the values, waits, and gives what was seen of the results. */
template <class Way, class Look>
szgpu_status map_and_look(const szg_map_range_cuda *map, const MapJob<Way> &job, const Look &look,
                          RangeFound *found) {
  auto *const result = (RangeResult *)map->pinned_work;
  unsigned blocks;
  SZG_TRY(map_blocks(job, &blocks));
  szg_device_expect(&result->told, 1);
  map_reduce_kernel<<<blocks, MapPolicy::kThreads, 0, map->device->stream>>>(
      job, look, (RangeWork *)map->work, result);
  SZG_TRY_LAUNCH();
  return await_range(map->device, result, found);
}

struct ReduceLaunch {
  const szg_map_range_cuda *map;
  const uint64_t *named_fill;
  szg_extremes *extremes;

  template <class Way>
  szgpu_status go(const Way &way) const {
    typedef typename FormatOf<sizeof(typename Way::To)>::Format Format;
    typedef typename FormatOf<sizeof(typename Way::From)>::Format OuterFormat;
    typedef LooksForExtremes<Format, OuterFormat> Look;
    MapJob<Way> const job = map_job_of(map->values, map->value_count, map->inner, map->signs, way);
    Look look = {};
    look.pass = {named_fill ? (typename Format::Bits) * named_fill : no_value<Format>(),
                 named_fill != NULL};
    look.notes_own_fills = Way::kHasSigns && !map->mapping->fill.is_there;
    RangeFound found;
    SZG_TRY(map_and_look(map, job, look, &found));
    *extremes = extremes_of<Format>(found);
    return SZGPU_OK;
  }
};

struct SurveyLaunch {
  const szg_map_range_cuda *map;
  const szg_survey *survey;
  szg_ends *ends;

  template <class Type>
  szgpu_status run() const {
    typedef ToInner<Type> Way;
    typedef typename FormatOf<sizeof(typename Way::To)>::Format Format;
    MapJob<Way> const job = map_job_of(map->values, map->value_count, NULL, NULL, Way());
    LooksForEnds<Format> look = {};
    look.pass = survey_pass<Format>(survey);
    RangeFound found;
    SZG_TRY(map_and_look(map, job, look, &found));
    *ends = ends_of<Format>(found);
    return SZGPU_OK;
  }
};

struct WidenRangeLaunch {
  ReduceLaunch launch;
  template <class Type>
  szgpu_status run() const {
    return launch.go(ToInner<Type>());
  }
};

struct LogRangeLaunch {
  ReduceLaunch launch;
  template <class Pair>
  szgpu_status run() const {
    return launch.go(ToLog<Pair>{launch.map->mapping->fill});
  }
};

} // namespace
} // namespace szg

szgpu_status szg_map_extremes_cuda(const szg_map_range_cuda *map, const uint64_t *named_fill,
                                   szg_extremes *extremes) {
  const szg_mapping *const mapping = map->mapping;
  szg::ReduceLaunch const launch = {map, named_fill, extremes};
  if (mapping->kind == SZG_MAPPING_LOG)
    return szg::with_log_pair(mapping->outer, mapping->inner, szg::LogRangeLaunch{launch});
  return szg::with_narrow_type(mapping->outer, szg::WidenRangeLaunch{launch});
}

szgpu_status szg_map_survey_cuda(const szg_map_range_cuda *map, const szg_survey *survey,
                                 szg_ends *ends) {
  return szg::with_narrow_type(map->mapping->outer, szg::SurveyLaunch{map, survey, ends});
}
