/* archive.cu - completes an archive of one planes frame.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/archive_complete.cuh"

namespace szg {
namespace {

struct PlanesKind {
  static constexpr uint32_t kMostSections = SZG_PLANES_MOST_SECTIONS;
  uint64_t section_bytes[kMostSections]; /* without words, which come last */
  uint32_t section_count;
  bool has_words;
  uint64_t raw_bytes, room_words;
  const uint64_t *facts;  /* words, and whether the choice misleads */
  szg_planes_found *told; /* in the host's memory */
  szg_summed_leaves stored_leaves;

  /* As the host decides in planes_write.cu. */
  __device__ bool size_sections(uint64_t *sizes) const {
    uint64_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < kMostSections; i++) {
      bool const is_words = has_words && i + 1 == section_count;
      sizes[i] = is_words ? 4 * facts[0] : section_bytes[i];
      sum += sizes[i];
    }
    return !facts[1] && facts[0] <= room_words && sum < raw_bytes;
  }

  __device__ uint64_t header_bits() const { return 0; }
  __device__ szg_summed_leaves summed() const { return stored_leaves; }

  __device__ void tell_host(uint64_t frame_bytes) const {
    if (threadIdx.x > 0) return;
    told->word_count = facts[0];
    told->is_misled = facts[1];
    told->frame_bytes = frame_bytes;
  }
};

} // namespace
} // namespace szg

szgpu_status szg_planes_archive_complete_cuda(const szg_write_job_cuda *job,
                                              const szg_frame_layout_cuda *layout,
                                              const szg_planes_output_cuda *output,
                                              const szg_summed_leaves *stored_leaves) {
  const szg_frame_header *const header = &layout->header;
  szg::PlanesKind kind = {};
  for (uint32_t i = 0; i < header->section_count; i++)
    kind.section_bytes[i] = header->sections[i].raw_bytes;
  kind.section_count = header->section_count;
  kind.has_words = szg_planes_book_bytes(&output->layout) > 0;
  kind.raw_bytes = job->raw_bytes;
  kind.room_words = output->room_words;
  kind.facts = output->first_words + szg_planes_tile_count(output->value_count);
  kind.told = job->plan->planes.found_back;
  kind.stored_leaves = *stored_leaves;
  return szg::complete_archive(job, header, kind);
}
