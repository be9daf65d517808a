/* layout.cu - places a frame's sections on the GPU, and ends a frame of any kind.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/run_masks.h"
#include "codecs/write_cuda.h"

szgpu_status szg_layout_place_cuda(const szg_write_job_cuda *job, szg_frame_layout_cuda *layout) {
  szg_frame_header *const header = &layout->header;
  if (job->more_sections) szg_run_masks_add_sections_cuda(job, layout);
  uint64_t offset = szg_frame_header_bytes(header->section_count);
  layout->ranges.count = header->section_count;
  for (uint32_t i = 0; i < header->section_count; i++) {
    uint64_t const held_bytes = header->sections[i].stored_bytes;
    uint8_t *const bytes = job->archive + job->first_byte + offset;
    layout->at[header->sections[i].kind] = held_bytes ? bytes : NULL;
    layout->held_bytes[i] = held_bytes;
    layout->ranges.kinds[i] = header->sections[i].kind;
    layout->ranges.bytes[i] = bytes;
    layout->ranges.byte_counts[i] = szg_align_up(held_bytes, SZG_ALIGNMENT);
    offset += layout->ranges.byte_counts[i];
  }
  layout->frame_bytes = offset;
  if (offset <= job->capacity - job->first_byte) return SZGPU_OK;
  return szg_fail(job->ctx, SZGPU_CAPACITY, "over %llu bytes are needed",
                  (unsigned long long)job->capacity);
}

szgpu_status szg_layout_finish_cuda(const szg_write_job_cuda *job,
                                    const szg_frame_layout_cuda *layout) {
  szg_device *const device = &job->ctx->device;
  const szg_write_plan_cuda *const plan = job->plan;
  uint8_t host_header[SZG_MOST_FRAME_HEADER_BYTES];
  szg_frame_header_write(&layout->header, host_header);
  bool const is_padded = layout->is_padded && !job->more_sections;
  const uint64_t *const held_bytes = is_padded ? NULL : layout->held_bytes;
  if (job->more_sections) SZG_TRY(szg_run_masks_write_cuda(job, layout));
  SZG_TRY(szg_checksum_seal_cuda(&layout->ranges, &layout->summed, held_bytes, host_header,
                                 plan->leaves, plan->ticket, job->archive + job->first_byte,
                                 device->stream));
  return szg_device_mark(device, "checksums");
}
