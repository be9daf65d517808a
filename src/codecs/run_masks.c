/* run_masks.c - which values of a frame are negative or hold a further fill value, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/run_masks.h"

#include "core/once.h"

enum {
  RUN_SIZE_BYTES = 2,
  MOST_SHARE = SZG_SIGN_RUN / 8,
  PART_RUNS = 16 /* in a part of a loop */
};
static_assert(MOST_SHARE <= UINT16_MAX, "the size of a share must fit 16 bits");

static uint64_t run_count(uint64_t value_count) { return szg_div_up(value_count, SZG_SIGN_RUN); }

void szg_run_mask_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  const szg_header *const archive = facts->archive;
  uint64_t const values = facts->frame->value_count,
                 sizes_bytes = RUN_SIZE_BYTES * run_count(values);
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++) {
    bool const may_be_there =
        which ? which <= archive->more_fill_count : archive->mode == SZGPU_MODE_PWREL;
    if (!may_be_there) continue;
    szg_rule_add(rules, szg_run_sizes_section(which), false, sizes_bytes, sizes_bytes, 1);
    if (szg_has_section(facts->frame, szg_run_sizes_section(which)))
      szg_rule_add(rules, szg_run_masks_section(which), true, 1, szg_div_up(values, 8), 1);
  }
}

/* ---- writing ---- */

/* Codes a run's mask, which it overwrites. Returns the bytes of the share. */
static uint32_t encode_run(uint8_t *mask, uint32_t value_count, uint8_t *share) {
  uint32_t const bits_bytes = szg_run_bits_bytes(value_count);
  uint8_t runs[SZG_MASK_MAX_BYTES];
  size_t const bytes = szg_mask_encode(mask, value_count, 0, runs);
  if (bytes < bits_bytes) {
    memcpy(share, runs, bytes);
    return (uint32_t)bytes;
  }
  memset(share, 0, bits_bytes);
  for (uint32_t i = 0; i < value_count; i++) share[i / 8] |= (uint8_t)(mask[i] << i % 8);
  return bits_bytes;
}

/* One mask of a frame. */
typedef struct mask_job {
  const szg_write_job *frame;
  uint32_t which;
} mask_job;

static uint8_t *share_of(const szg_write_job *job, uint32_t which, uint64_t run) {
  uint64_t const runs = run_count(job->grid.value_count);
  return job->ctx->kept[SZG_KEPT_RUN_MASKS + which].bytes + RUN_SIZE_BYTES * runs +
         MOST_SHARE * run;
}

static bool make_mask(const mask_job *job, const uint8_t *field, uint32_t count, uint8_t *mask) {
  const szg_mapping *const mapping = &job->frame->mapping;
  if (job->which)
    return szg_missing_mark(&job->frame->bound->missing, mapping->outer, job->which, field, count,
                            mask);
  return szg_log_signs(mapping->outer, mapping->inner, mapping->fill, field, count, mask);
}

static szgpu_status find_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const mask_job *const job = job_pointer;
  const szg_write_job *const frame = job->frame;
  uint64_t const values = frame->grid.value_count, width = szg_dtype_bytes(frame->mapping.outer);
  uint64_t const end = szg_min_u64((part + 1) * PART_RUNS, run_count(values));
  for (uint64_t run = part * PART_RUNS; run < end; run++) {
    uint8_t mask[SZG_SIGN_RUN];
    uint64_t const first = run * SZG_SIGN_RUN;
    uint32_t const count = szg_run_values(values, first);
    const uint8_t *const field = (const uint8_t *)frame->field_values + first * width;
    bool const any = make_mask(job, field, count, mask);
    uint32_t const bytes = any ? encode_run(mask, count, share_of(frame, job->which, run)) : 0;
    szg_store_u16(frame->ctx->kept[SZG_KEPT_RUN_MASKS + job->which].bytes + RUN_SIZE_BYTES * run,
                  (uint16_t)bytes);
  }
  return SZGPU_OK;
}

static szgpu_status find_mask(szg_write_job *frame, uint32_t which) {
  uint64_t const runs = run_count(frame->grid.value_count);
  szg_buffer *const buffer = &frame->ctx->kept[SZG_KEPT_RUN_MASKS + which];
  mask_job job = {frame, which};
  SZG_TRY(szg_buffer_reset(buffer, (RUN_SIZE_BYTES + MOST_SHARE) * runs));
  SZG_TRY(szg_for_parts(&frame->ctx->threads, szg_div_up(runs, PART_RUNS), 0, find_part, &job));
  uint64_t bytes = 0;
  for (uint64_t run = 0; run < runs; run++)
    bytes += szg_load_u16(buffer->bytes + RUN_SIZE_BYTES * run);
  frame->mask_bytes[which] = bytes ? RUN_SIZE_BYTES * runs + bytes : 0;
  return SZGPU_OK;
}

uint64_t szg_run_masks_buffer_bytes(const szg_write_request *request) {
  uint64_t const bytes = (RUN_SIZE_BYTES + MOST_SHARE) * run_count(request->frame_grid.value_count);
  uint64_t const signs = request->mapping.kind == SZG_MAPPING_LOG ? 1 : 0;
  uint64_t const fills = request->may_edit ? SZG_MOST_MORE_FILLS : 0;
  return (signs + fills) * bytes;
}

szgpu_status szg_run_masks_find(szg_write_job *job) {
  uint32_t const fill_count = job->bound ? job->bound->missing.fill_count : 0;
  memset(job->mask_bytes, 0, sizeof job->mask_bytes);
  if (job->mapping.kind == SZG_MAPPING_LOG) SZG_TRY(find_mask(job, SZG_RUN_MASK_SIGNS));
  for (uint32_t which = 1; which < fill_count; which++) SZG_TRY(find_mask(job, which));
  return SZGPU_OK;
}

static szgpu_status write_mask(szg_write_job *job, uint32_t which, szg_writer *writer) {
  uint64_t const runs = run_count(job->grid.value_count), sizes_bytes = RUN_SIZE_BYTES * runs;
  const uint8_t *const sizes = job->ctx->kept[SZG_KEPT_RUN_MASKS + which].bytes;
  uint64_t const masks_bytes = job->mask_bytes[which] - sizes_bytes;
  uint8_t *to;
  SZG_TRY(szg_write_copy(writer, szg_run_sizes_section(which), sizes, sizes_bytes));
  SZG_TRY(szg_writer_begin_section(writer, masks_bytes, &to));
  for (uint64_t run = 0; run < runs; run++) {
    uint32_t const bytes = szg_load_u16(sizes + RUN_SIZE_BYTES * run);
    memcpy(to, share_of(job, which, run), bytes);
    to += bytes;
  }
  return szg_writer_end_section(writer, szg_run_masks_section(which), masks_bytes);
}

szgpu_status szg_run_masks_write(szg_write_job *job, szg_writer *writer) {
  for (uint32_t which = 0; which < SZG_RUN_MASKS; which++)
    if (job->mask_bytes[which]) SZG_TRY(write_mask(job, which, writer));
  return SZGPU_OK;
}

/* ---- reading ---- */

szgpu_status szg_run_mask_open(szg_read_job *job, uint32_t which, szg_run_mask *mask) {
  *mask = (szg_run_mask){.value_count = job->grid.value_count, .reader = &job->reader};
  SZG_TRY(szg_reader_load(&job->reader, szg_run_sizes_section(which), &mask->sizes));
  SZG_TRY(szg_reader_map(&job->reader, szg_run_masks_section(which), &mask->shares));
  if (!mask->sizes.bytes || job->reader.is_waiting) return SZGPU_OK;
  uint64_t const runs = run_count(mask->value_count), parts = szg_div_up(runs, PART_RUNS);
  szg_buffer *const buffer = &job->reader.ctx->kept[SZG_KEPT_RUN_MASKS + which];
  SZG_TRY(szg_buffer_reset(buffer, parts * sizeof(uint64_t)));
  mask->part_starts = (uint64_t *)(void *)buffer->bytes;
  uint64_t bytes = 0;
  for (uint64_t run = 0; run < runs; run++) {
    uint32_t const share = szg_load_u16(mask->sizes.bytes + RUN_SIZE_BYTES * run);
    uint32_t const count = szg_run_values(mask->value_count, run * SZG_SIGN_RUN);
    SZG_REQUIRE(share <= szg_run_bits_bytes(count), SZGPU_BAD_DATA);
    if (run % PART_RUNS == 0) mask->part_starts[run / PART_RUNS] = bytes;
    bytes += share;
  }
  SZG_REQUIRE(bytes == mask->shares.byte_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

static szgpu_status decode_run(const szg_run_mask *mask, uint64_t run, szg_mask_run *latest) {
  uint32_t const count = szg_run_values(mask->value_count, run * SZG_SIGN_RUN);
  uint32_t const bytes = szg_load_u16(mask->sizes.bytes + RUN_SIZE_BYTES * run);
  uint64_t start = mask->part_starts[run / PART_RUNS];
  for (uint64_t before = run - run % PART_RUNS; before < run; before++)
    start += szg_load_u16(mask->sizes.bytes + RUN_SIZE_BYTES * before);
  const uint8_t *const share = mask->shares.bytes + start;
  latest->run = run;
  if (szg_reader_only_asks(mask->reader))
    return szg_reader_ask(mask->reader, &mask->shares, start, bytes);
  if (bytes == szg_run_bits_bytes(count)) {
    for (uint32_t i = 0; i < count; i++)
      latest->are_marked[i] = (uint8_t)(szg_load_u8_once(share + i / 8) >> i % 8 & 1);
    return SZGPU_OK;
  }
  SZG_REQUIRE(szg_mask_decode(share, bytes, count, 0, latest->are_marked), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_run_mask_take(const szg_run_mask *mask, uint64_t first, uint64_t step,
                               uint64_t value_count, szg_mask_run *latest, uint8_t *are_marked) {
  if (!mask->sizes.bytes) {
    memset(are_marked, 0, value_count);
    return SZGPU_OK;
  }
  for (uint64_t i = 0; i < value_count;) {
    uint64_t const at = first + i * step, run = at / SZG_SIGN_RUN, place = at % SZG_SIGN_RUN;
    uint64_t const here = szg_min_u64(value_count - i, szg_div_up(SZG_SIGN_RUN - place, step));
    if (latest->run != run) SZG_TRY(decode_run(mask, run, latest));
    if (step == 1)
      memcpy(are_marked + i, latest->are_marked + place, here);
    else
      for (uint64_t k = 0; k < here; k++) are_marked[i + k] = latest->are_marked[place + k * step];
    i += here;
  }
  return SZGPU_OK;
}
