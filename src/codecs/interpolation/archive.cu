/* archive.cu - completes an archive of one levels frame without outliers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/archive_complete.cuh"

namespace szg {
namespace {

struct LevelsKind {
  static constexpr uint32_t kMostSections = SZG_LEVELS_MOST + 1;
  uint32_t stage_count;
  uint64_t raw_bytes, capacity;
  uint64_t most_bytes; /* of stages that count */
  const szg_levels_found *found;
  szg_levels_found *told; /* in the host's memory */

  /* As the host decides in levels_write.cu. */
  __device__ bool size_sections(uint64_t *sizes) const {
    uint64_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < kMostSections; i++) {
      sizes[i] = i < stage_count ? found->section_bytes[i] : 0;
      if (sizes[i] > SZG_LEVELS_HEAD_BYTES) sum += sizes[i];
    }
    bool const fits = found->starts[stage_count] <= capacity;
    return fits && !found->has_marks && sum < raw_bytes && sum <= most_bytes;
  }

  __device__ uint64_t header_bits() const { return 0; }
  __device__ szg_summed_leaves summed() const { return {}; }

  __device__ void tell_host(uint64_t frame_bytes) const {
    constexpr uint32_t kWords = sizeof *found / sizeof(uint32_t);
    static_assert(kWords * sizeof(uint32_t) == sizeof *found, "whole words");
    for (uint32_t i = threadIdx.x; i < kWords; i += TreePolicy::kThreads)
      ((uint32_t *)told)[i] = ((const uint32_t *)found)[i];
    __syncthreads(); /* the device does not know the frame's bytes */
    if (threadIdx.x == 0) told->frame_bytes = frame_bytes;
  }
};

} // namespace
} // namespace szg

szgpu_status szg_levels_archive_complete_cuda(const szg_write_job_cuda *job,
                                              const szg_frame_header *header, uint64_t most_bytes) {
  const szg_levels_write_plan_cuda *const plan = &job->plan->levels;
  szg::LevelsKind const kind = {header->section_count, job->raw_bytes,  job->capacity, most_bytes,
                                plan->found,           plan->found_back};
  return szg::complete_archive(job, header, kind);
}
