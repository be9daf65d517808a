/* signs.c - which values of a frame are negative, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "frames/signs.h"

#include "core/once.h"

enum {
  RUN_SIZE_BYTES = 2,
  MOST_SHARE = SZG_SIGN_RUN / 8,
  PART_RUNS = 16 /* in a part of a loop */
};
static_assert(MOST_SHARE <= UINT16_MAX, "the size of a share must fit 16 bits");

static uint64_t run_count(uint64_t value_count) { return szg_div_up(value_count, SZG_SIGN_RUN); }

void szg_sign_rules(const szg_frame_facts *facts, szg_section_rules *rules) {
  if (facts->archive->mode != SZGPU_MODE_PWREL) return;
  uint64_t const runs = run_count(facts->frame->value_count);
  szg_rule_add(rules, SZG_SECTION_SIGN_SIZES, false, RUN_SIZE_BYTES * runs, RUN_SIZE_BYTES * runs,
               1);
  if (szg_has_section(facts->frame, SZG_SECTION_SIGN_SIZES))
    szg_rule_add(rules, SZG_SECTION_SIGNS, true, 1, szg_div_up(facts->frame->value_count, 8), 1);
}

/* ---- writing ---- */

/* Codes a run's mask, which it overwrites. Returns the bytes of the share. */
static uint32_t encode_run(uint8_t *mask, uint32_t value_count, uint8_t *share) {
  uint32_t const bits_bytes = szg_sign_bits_bytes(value_count);
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

static uint8_t *share_of(const szg_write_job *job, uint64_t run) {
  uint64_t const runs = run_count(job->grid.value_count);
  return job->ctx->signs.bytes + RUN_SIZE_BYTES * runs + MOST_SHARE * run;
}

static szgpu_status find_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  const szg_write_job *const job = job_pointer;
  const szg_mapping *const mapping = &job->mapping;
  uint64_t const values = job->grid.value_count, width = szg_dtype_bytes(mapping->outer);
  uint64_t const end = szg_min_u64((part + 1) * PART_RUNS, run_count(values));
  for (uint64_t run = part * PART_RUNS; run < end; run++) {
    uint8_t mask[SZG_SIGN_RUN];
    uint64_t const first = run * SZG_SIGN_RUN;
    uint32_t const count = szg_sign_run_values(values, first);
    const uint8_t *const field = (const uint8_t *)job->field_values + first * width;
    bool const any =
        szg_log_signs(mapping->outer, mapping->inner, mapping->fill, field, count, mask);
    uint32_t const bytes = any ? encode_run(mask, count, share_of(job, run)) : 0;
    szg_store_u16(job->ctx->signs.bytes + RUN_SIZE_BYTES * run, (uint16_t)bytes);
  }
  return SZGPU_OK;
}

uint64_t szg_signs_buffer_bytes(const szg_write_request *request) {
  if (request->mapping.kind != SZG_MAPPING_LOG) return 0;
  return (RUN_SIZE_BYTES + MOST_SHARE) * run_count(request->frame_grid.value_count);
}

szgpu_status szg_signs_find(szg_write_job *job) {
  uint64_t const runs = run_count(job->grid.value_count);
  szg_buffer *const buffer = &job->ctx->signs;
  SZG_TRY(szg_buffer_reset(buffer, (RUN_SIZE_BYTES + MOST_SHARE) * runs));
  SZG_TRY(szg_for_parts(&job->ctx->threads, szg_div_up(runs, PART_RUNS), 0, find_part, job));
  uint64_t bytes = 0;
  for (uint64_t run = 0; run < runs; run++)
    bytes += szg_load_u16(buffer->bytes + RUN_SIZE_BYTES * run);
  job->sign_bytes = bytes ? RUN_SIZE_BYTES * runs + bytes : 0;
  return SZGPU_OK;
}

szgpu_status szg_signs_write(szg_write_job *job, szg_writer *writer) {
  uint64_t const runs = run_count(job->grid.value_count), sizes_bytes = RUN_SIZE_BYTES * runs;
  const uint8_t *const sizes = job->ctx->signs.bytes;
  uint64_t const signs_bytes = job->sign_bytes - sizes_bytes;
  uint8_t *to;
  SZG_TRY(szg_write_copy(writer, SZG_SECTION_SIGN_SIZES, sizes, sizes_bytes));
  SZG_TRY(szg_writer_begin_section(writer, signs_bytes, &to));
  for (uint64_t run = 0; run < runs; run++) {
    uint32_t const bytes = szg_load_u16(sizes + RUN_SIZE_BYTES * run);
    memcpy(to, share_of(job, run), bytes);
    to += bytes;
  }
  return szg_writer_end_section(writer, SZG_SECTION_SIGNS, signs_bytes);
}

/* ---- reading ---- */

szgpu_status szg_signs_open(szg_read_job *job, szg_signs *signs) {
  *signs = (szg_signs){.value_count = job->grid.value_count};
  SZG_TRY(szg_reader_load(&job->reader, SZG_SECTION_SIGN_SIZES, &signs->sizes));
  SZG_TRY(szg_reader_map(&job->reader, SZG_SECTION_SIGNS, &signs->shares));
  if (!signs->sizes.bytes) return SZGPU_OK;
  uint64_t const runs = run_count(signs->value_count), parts = szg_div_up(runs, PART_RUNS);
  szg_buffer *const buffer = &job->reader.ctx->signs;
  SZG_TRY(szg_buffer_reset(buffer, parts * sizeof(uint64_t)));
  signs->part_starts = (uint64_t *)(void *)buffer->bytes;
  uint64_t bytes = 0;
  for (uint64_t run = 0; run < runs; run++) {
    uint32_t const share = szg_load_u16(signs->sizes.bytes + RUN_SIZE_BYTES * run);
    uint32_t const count = szg_sign_run_values(signs->value_count, run * SZG_SIGN_RUN);
    SZG_REQUIRE(share <= szg_sign_bits_bytes(count), SZGPU_BAD_DATA);
    if (run % PART_RUNS == 0) signs->part_starts[run / PART_RUNS] = bytes;
    bytes += share;
  }
  SZG_REQUIRE(bytes == signs->shares.byte_count, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

static szgpu_status decode_run(const szg_signs *signs, uint64_t run, szg_sign_run *latest) {
  uint32_t const count = szg_sign_run_values(signs->value_count, run * SZG_SIGN_RUN);
  uint32_t const bytes = szg_load_u16(signs->sizes.bytes + RUN_SIZE_BYTES * run);
  uint64_t start = signs->part_starts[run / PART_RUNS];
  for (uint64_t before = run - run % PART_RUNS; before < run; before++)
    start += szg_load_u16(signs->sizes.bytes + RUN_SIZE_BYTES * before);
  const uint8_t *const share = signs->shares.bytes + start;
  latest->run = run;
  if (bytes == szg_sign_bits_bytes(count)) {
    for (uint32_t i = 0; i < count; i++)
      latest->are_negative[i] = (uint8_t)(szg_load_u8_once(share + i / 8) >> i % 8 & 1);
    return SZGPU_OK;
  }
  SZG_REQUIRE(szg_mask_decode(share, bytes, count, 0, latest->are_negative), SZGPU_BAD_DATA);
  return SZGPU_OK;
}

szgpu_status szg_signs_take(const szg_signs *signs, uint64_t first, uint64_t step,
                            uint64_t value_count, szg_sign_run *latest, uint8_t *are_negative) {
  if (!signs->sizes.bytes) {
    memset(are_negative, 0, value_count);
    return SZGPU_OK;
  }
  for (uint64_t i = 0; i < value_count;) {
    uint64_t const at = first + i * step, run = at / SZG_SIGN_RUN, place = at % SZG_SIGN_RUN;
    uint64_t const here = szg_min_u64(value_count - i, szg_div_up(SZG_SIGN_RUN - place, step));
    if (latest->run != run) SZG_TRY(decode_run(signs, run, latest));
    if (step == 1)
      memcpy(are_negative + i, latest->are_negative + place, here);
    else
      for (uint64_t k = 0; k < here; k++)
        are_negative[i + k] = latest->are_negative[place + k * step];
    i += here;
  }
  return SZGPU_OK;
}
