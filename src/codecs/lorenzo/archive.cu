/* archive.cu - completes an archive of one tile frame.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/archive_complete.cuh"

namespace szg {
namespace {

struct TileKind {
  static constexpr uint32_t kMostSections = SZG_TILE_SECTION_COUNT;
  uint64_t tile_count, raw_bytes;
  const szg_tile_found *found;
  szg_tile_found *told; /* in the host's memory */

  /* Codebook, tile sizes, bitstream; the others are empty. */
  __device__ bool size_sections(uint64_t *sizes) const {
    const szg_tile_result_cuda &result = found->result;
    sizes[0] = found->book.section_bytes;
    sizes[1] = 2 * tile_count;
    sizes[2] = 4 * result.word_count;
    return !result.is_too_large && !result.marked_tiles &&
           sizes[0] + sizes[1] + sizes[2] < raw_bytes;
  }

  __device__ uint64_t header_bits() const {
    return (uint64_t)found->choice.axes << 8 | (uint64_t)found->book.zero_groups << 24;
  }

  __device__ szg_summed_leaves summed() const { return {}; }

  __device__ void tell_host(uint64_t frame_bytes) const {
    if (threadIdx.x > 0) return;
    told->choice = found->choice;
    told->result = found->result;
    told->book.zero_groups = found->book.zero_groups;
    told->book.section_bytes = found->book.section_bytes;
    told->frame_bytes = frame_bytes;
  }
};

} // namespace
} // namespace szg

szgpu_status szg_tile_archive_complete_cuda(const szg_write_job_cuda *job,
                                            const szg_frame_header *header) {
  const szg_tile_write_plan_cuda *const plan = &job->plan->tile;
  szg::TileKind const kind = {job->grid.tile_count, job->raw_bytes, plan->found, plan->found_back};
  return szg::complete_archive(job, header, kind);
}
