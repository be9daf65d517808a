/* frame_sections.c - a coded frame's sections.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/frame_sections.h"

#include <string.h>

void szg_size_outliers(const szg_frame_job *job, szg_section_sizes *sizes) {
  uint64_t escape_list_bytes = 0;
  for (uint64_t part = 0; part < job->part_count; part++) {
    const szg_outlier_lists *const lists = &job->plan->lists[part];
    escape_list_bytes += lists->escapes.used_bytes;
    sizes->exact_mask += lists->exact_mask.used_bytes;
    sizes->exact_values += lists->exact_values.used_bytes;
    sizes->fill_mask += lists->fill_mask.used_bytes;
  }
  uint64_t const tile_count = job->grid.tile_count;
  if (escape_list_bytes) {
    int64_t least = 0, greatest = 0;
    for (int i = 0; i < job->ctx->threads.count; i++) {
      const szg_compress_worker *const worker = &job->plan->workers[i];
      if (worker->least_escape < least) least = worker->least_escape;
      if (worker->greatest_escape > greatest) greatest = worker->greatest_escape;
    }
    unsigned const for_least = szg_narrow_bytes(least), for_greatest = szg_narrow_bytes(greatest);
    sizes->escape_bytes = for_least > for_greatest ? for_least : for_greatest;
    unsigned const list_width = szg_escape_list_bytes(job);
    sizes->escape_counts = 2 * tile_count;
    sizes->escapes = escape_list_bytes / list_width * sizes->escape_bytes;
  }
  if (sizes->exact_mask) sizes->exact_counts = 4 * tile_count;
  if (sizes->fill_mask) sizes->fill_counts = 2 * tile_count;
}

void szg_size_stream(const szg_frame_job *job, szg_section_sizes *sizes) {
  sizes->book = szg_codebook_write(job->plan->book, job->plan->book_bytes);
  szg_size_stream_of(job->bit_count, job->grid.tile_count, job->has_gaps, sizes);
}

void szg_size_stream_of(uint64_t bit_count, uint64_t tile_count, bool has_gaps,
                        szg_section_sizes *sizes) {
  sizes->tile_bits = 2 * tile_count;
  sizes->bitstream = szg_div_up(bit_count, 32) * 4;
  if (!has_gaps) return;
  sizes->gaps = szg_div_up(szg_subsequence_count(bit_count), 2);
  sizes->sequence_codes = 2 * szg_sequence_count(bit_count);
}

uint64_t szg_sections_bytes(const szg_section_sizes *sizes) {
  return sizes->book + sizes->tile_bits + sizes->bitstream + sizes->gaps + sizes->sequence_codes +
         sizes->escape_counts + sizes->escapes + sizes->exact_counts + sizes->exact_mask +
         sizes->exact_values + sizes->fill_counts + sizes->fill_mask;
}

/* Numbers of up to 16 bits as a section. */
typedef uint64_t (*number_at)(const szg_frame_job *job, uint64_t i);

static szgpu_status write_numbers(szg_frame_job *job, szg_writer *writer, uint32_t kind,
                                  uint64_t count, number_at at) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, 2 * count, &bytes));
  for (uint64_t i = 0; i < count; i++) szg_store_u16(bytes + 2 * i, (uint16_t)at(job, i));
  return szg_writer_end_section(writer, kind, 2 * count);
}

static uint64_t spare_tile_bits(const szg_frame_job *job, uint64_t i) {
  return job->plan->tile_bits[i] - szg_tile_at(&job->grid, i).value_count;
}
static uint64_t sequence_codes_at(const szg_frame_job *job, uint64_t i) {
  bool const is_last = i + 1 == szg_sequence_count(job->bit_count);
  uint64_t const end = is_last ? job->grid.value_count : job->plan->sequence_codes[i + 1];
  return end - job->plan->sequence_codes[i];
}
static uint64_t escapes_at(const szg_frame_job *job, uint64_t i) {
  return job->plan->counts.escapes[i];
}
/* Two a tile: bytes of its mask, values. */
static uint64_t exact_counts_at(const szg_frame_job *job, uint64_t i) {
  return i % 2 ? job->plan->counts.exact_values[i / 2] : job->plan->counts.exact_mask_bytes[i / 2];
}
static uint64_t fill_mask_bytes_at(const szg_frame_job *job, uint64_t i) {
  return job->plan->counts.fill_mask_bytes[i];
}

/* The parts' lists one after the other; each is given back as soon as it is copied. */
static szgpu_status write_lists(szg_frame_job *job, szg_writer *writer, uint32_t kind,
                                size_t list_offset, uint64_t byte_count) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  for (uint64_t part = 0; part < job->part_count; part++) {
    szg_buffer *const list = (szg_buffer *)(void *)((char *)&job->plan->lists[part] + list_offset);
    if (list->used_bytes) memcpy(bytes, list->bytes, list->used_bytes);
    bytes += list->used_bytes;
    szg_buffer_release(list);
  }
  return szg_writer_end_section(writer, kind, byte_count);
}

/* As write_lists, each delta narrowed to the frame's width. */
static szgpu_status write_escapes(szg_frame_job *job, szg_writer *writer, uint64_t byte_count,
                                  unsigned width) {
  unsigned const list_width = szg_escape_list_bytes(job);
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  for (uint64_t part = 0; part < job->part_count; part++) {
    szg_buffer *const list = &job->plan->lists[part].escapes;
    for (size_t i = 0; i < list->used_bytes; i += list_width, bytes += width)
      szg_store_narrow(bytes, (uint64_t)szg_load_narrow(list->bytes + i, list_width), width);
    szg_buffer_release(list);
  }
  return szg_writer_end_section(writer, SZG_SECTION_ESCAPES, byte_count);
}

static szgpu_status write_exact(szg_frame_job *job, szg_writer *writer,
                                const szg_section_sizes *sizes) {
  SZG_TRY(write_numbers(job, writer, SZG_SECTION_EXACT_COUNTS, sizes->exact_counts / 2,
                        exact_counts_at));
  SZG_TRY(write_lists(job, writer, SZG_SECTION_EXACT_MASK, offsetof(szg_outlier_lists, exact_mask),
                      sizes->exact_mask));
  return write_lists(job, writer, SZG_SECTION_EXACT_VALUES,
                     offsetof(szg_outlier_lists, exact_values), sizes->exact_values);
}

static szgpu_status write_fill(szg_frame_job *job, szg_writer *writer,
                               const szg_section_sizes *sizes) {
  SZG_TRY(write_numbers(job, writer, SZG_SECTION_FILL_COUNTS, sizes->fill_counts / 2,
                        fill_mask_bytes_at));
  return write_lists(job, writer, SZG_SECTION_FILL_MASK, offsetof(szg_outlier_lists, fill_mask),
                     sizes->fill_mask);
}

szgpu_status szg_write_marked(szg_frame_job *job, szg_writer *writer,
                              const szg_section_sizes *sizes) {
  SZG_TRY(write_exact(job, writer, sizes));
  return write_fill(job, writer, sizes);
}

szgpu_status szg_write_outliers(szg_frame_job *job, szg_writer *writer,
                                const szg_section_sizes *sizes) {
  if (sizes->escapes) {
    SZG_TRY(write_numbers(job, writer, SZG_SECTION_ESCAPE_COUNTS, sizes->escape_counts / 2,
                          escapes_at));
    SZG_TRY(write_escapes(job, writer, sizes->escapes, sizes->escape_bytes));
  }
  if (sizes->exact_mask) SZG_TRY(write_exact(job, writer, sizes));
  return sizes->fill_mask ? write_fill(job, writer, sizes) : SZGPU_OK;
}

static szgpu_status encode_part(void *job_pointer, uint64_t part, int worker) {
  (void)worker;
  szg_frame_job *const job = job_pointer;
  szg_linear_run *const run = &job->plan->runs[part];
  uint64_t const end_code =
      part + 1 < job->part_count ? job->plan->runs[part + 1].first_code : job->grid.value_count;
  szg_linear_encode(job->plan->encoder_table, job->plan->codes + run->first_code,
                    end_code - run->first_code, run, &job->stream);
  return SZGPU_OK;
}

szgpu_status szg_write_stream(szg_frame_job *job, szg_writer *writer,
                              const szg_section_sizes *sizes) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, sizes->book, &bytes));
  memcpy(bytes, job->plan->book_bytes, sizes->book);
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_CODEBOOK, sizes->book));
  SZG_TRY(
      write_numbers(job, writer, SZG_SECTION_TILE_SIZES, job->grid.tile_count, spare_tile_bits));
  SZG_TRY(szg_writer_begin_section(writer, sizes->bitstream, &bytes));
  job->stream =
      (szg_linear_stream){bytes, job->bit_count, job->plan->gaps, job->plan->sequence_codes};
  SZG_TRY(
      szg_for_parts(&job->ctx->threads, job->part_count, job->grid.value_count, encode_part, job));
  szg_linear_merge(job->plan->runs, job->part_count, &job->stream);
  if (writer->zstd_level) szg_buffer_release(&job->ctx->codes); /* its memory is wanted again */
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_BITSTREAM, sizes->bitstream));
  if (!job->has_gaps) return SZGPU_OK;
  SZG_TRY(szg_writer_begin_section(writer, sizes->gaps, &bytes));
  szg_gaps_pack(job->plan->gaps, szg_subsequence_count(job->bit_count), bytes);
  SZG_TRY(szg_writer_end_section(writer, SZG_SECTION_GAPS, sizes->gaps));
  return write_numbers(job, writer, SZG_SECTION_SEQUENCE_CODES, szg_sequence_count(job->bit_count),
                       sequence_codes_at);
}

uint32_t szg_outlier_section_count(const szg_section_sizes *sizes) {
  return (sizes->escapes ? 2u : 0u) + (sizes->exact_mask ? 3u : 0u) + (sizes->fill_mask ? 2u : 0u);
}
