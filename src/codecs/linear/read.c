/* read.c - a linear frame on the CPU: codes to deltas to values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/linear/frame.h"

#include "codecs/read.h"

void szg_linear_frame_carve_read(szg_arena *arena, const szg_read_request *request,
                                 szg_read_plan *plan) {
  szg_stream_carve_read(arena, request->thread_count, &plan->stream);
}

szgpu_status szg_linear_frame_open(szg_read_job *job) {
  szg_reader *const reader = &job->reader;
  uint64_t bit_count;
  job->sizes_are_bits = true;
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_TILE_SIZES, &job->tile_sizes));
  SZG_TRY(szg_reader_load(reader, SZG_SECTION_ESCAPE_COUNTS, &job->escape_counts));
  SZG_TRY(szg_reader_map(reader, SZG_SECTION_ESCAPES, &job->escapes));
  SZG_TRY(szg_outliers_load(job));
  SZG_TRY(szg_stream_load(job));
  if (reader->is_waiting) return SZGPU_OK;
  SZG_TRY(szg_tiles_scan(job, &bit_count));
  return szg_stream_open(job, bit_count, false);
}

static szgpu_status restore_tile(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                                 const szg_part_start *at, const szg_tile_target *target,
                                 int worker) {
  const szg_frame_header *const frame = &job->reader.frame;
  uint32_t const lattice_bits = szg_lattice_bits(job->header->arithmetic);
  uint32_t const escape_count = szg_count_at(&job->escape_counts, tile_index);
  if (szg_reader_only_asks(&job->reader))
    return szg_reader_ask(&job->reader, &job->escapes, at->escape * frame->escape_bytes,
                          (uint64_t)escape_count * frame->escape_bytes);
  const uint16_t *const codes = szg_stream_codes_of(job, tile_index, tile, worker);
  const uint8_t *const escapes =
      job->escapes.bytes ? job->escapes.bytes + at->escape * frame->escape_bytes : NULL;
  szg_tile_work *const work = &job->plan->tiles[worker];
  SZG_REQUIRE(szg_tile_uncode(lattice_bits, tile, frame->radius, codes, escapes, escape_count,
                              frame->escape_bytes, work),
              SZGPU_BAD_DATA);
  szg_tile_sum(lattice_bits, tile, frame->axes, work);
  szg_tile_restore(&job->quantizer, &target->tile, work, target->values);
  return SZGPU_OK;
}

szgpu_status szg_linear_frame_restore(szg_read_job *job) {
  static const szg_tile_steps steps = {szg_stream_decode_part, restore_tile};
  return szg_tiles_restore(job, &steps);
}
