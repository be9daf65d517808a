/* decompress_frame.cu - one frame on the GPU: sections to values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The host sees the frame's header and nothing else: what depends on the contents is checked on the
 * device, which notes in the frame's verdict what is wrong.
 */
#include "core/bytes.h"
#include "pipeline/decompress_cuda.h"
#include "pipeline/frame_kernels.h"
#include "pipeline/frame_sections.h"
#include "rle/rle.h"

/* ---- sections ---- */

/* What the size of a section may be. */
typedef struct section_rule {
  uint32_t kind;
  bool is_allowed, is_required;
  uint64_t least_bytes, most_bytes;
  uint64_t unit_bytes; /* the size is a multiple */
} section_rule;

/* A section's place in the table; NULL: the frame has none. */
static const szg_section *find_section(const szg_frame_header *header, uint32_t kind) {
  for (uint32_t i = 0; i < header->section_count; i++)
    if (header->sections[i].kind == kind) return &header->sections[i];
  return NULL;
}

/* The rules of docs/format.md, section 5, for one frame. */
static int section_rules(const szg_header *header, const szg_frame_input_cuda *frame,
                         section_rule *rules) {
  uint32_t const kind = frame->header.kind;
  bool const is_linear = kind == SZG_FRAME_LINEAR, is_raw = kind == SZG_FRAME_RAW;
  bool const has_gaps = is_linear && header->has_gaps;
  bool const has_escapes = find_section(&frame->header, SZG_SECTION_ESCAPE_COUNTS) != NULL;
  bool const has_exact = find_section(&frame->header, SZG_SECTION_EXACT_COUNTS) != NULL;
  bool const has_fill = find_section(&frame->header, SZG_SECTION_FILL_COUNTS) != NULL;
  uint64_t const tiles = frame->grid.tile_count, values = frame->grid.value_count;
  uint64_t const width = szg_dtype_bytes(header->shape.dtype);
  uint64_t const most_mask = tiles * SZG_MASK_MAX_BYTES;
  uint64_t const most_stream = (values / 2 + 1) * 4; /* of 16 bits a code, at least */
  unsigned const escape_bytes = frame->header.escape_bytes ? frame->header.escape_bytes : 1;
  section_rule const all[] = {
      {SZG_SECTION_CODEBOOK, is_linear, is_linear, 1, SZG_CODEBOOK_MAX_BYTES, 1},
      {SZG_SECTION_TILE_SIZES, is_linear, is_linear, 2 * tiles, 2 * tiles, 2},
      {SZG_SECTION_BITSTREAM, is_linear, is_linear, 4, most_stream, 4},
      {SZG_SECTION_GAPS, has_gaps, has_gaps, 1, most_stream, 1},
      {SZG_SECTION_SEQUENCE_CODES, has_gaps, has_gaps, 2, most_stream, 2},
      {SZG_SECTION_ESCAPE_COUNTS, is_linear, false, 2 * tiles, 2 * tiles, 2},
      {SZG_SECTION_ESCAPES, has_escapes, has_escapes, 1, values * 8, escape_bytes},
      {SZG_SECTION_EXACT_COUNTS, !is_raw, false, 4 * tiles, 4 * tiles, 4},
      {SZG_SECTION_EXACT_MASK, has_exact, has_exact, 1, most_mask, 1},
      {SZG_SECTION_EXACT_VALUES, has_exact, has_exact, width, values * width, width},
      {SZG_SECTION_FILL_COUNTS, !is_raw && header->has_fill, false, 2 * tiles, 2 * tiles, 2},
      {SZG_SECTION_FILL_MASK, has_fill, has_fill, 1, most_mask, 1},
      {SZG_SECTION_RAW, is_raw, is_raw, values * width, values * width, 1},
  };
  int const count = (int)(sizeof all / sizeof *all);
  for (int i = 0; i < count; i++) rules[i] = all[i];
  return count;
}

static szgpu_status fail_section(szgpu_ctx *ctx, const szg_frame_input_cuda *frame, uint32_t kind,
                                 const char *problem) {
  return szg_fail(ctx, SZGPU_BAD_DATA, "section '%s' of frame %llu %s", szg_section_name(kind),
                  (unsigned long long)frame->header.index, problem);
}

/* The words say how many subsequences and sequences there are, whatever the last word holds. */
static szgpu_status check_stream(szgpu_ctx *ctx, const szg_frame_input_cuda *frame) {
  const szg_frame_header *const header = &frame->header;
  uint64_t const stream_bytes = find_section(header, SZG_SECTION_BITSTREAM)->raw_bytes;
  if (stream_bytes > UINT64_MAX / 8)
    return fail_section(ctx, frame, SZG_SECTION_BITSTREAM, "has a size that cannot be");
  szg_section_sizes sizes = {};
  szg_size_stream_of(stream_bytes * 8, frame->grid.tile_count, true, &sizes);
  if (find_section(header, SZG_SECTION_GAPS)->raw_bytes != sizes.gaps)
    return fail_section(ctx, frame, SZG_SECTION_GAPS, "does not fit the bitstream");
  if (find_section(header, SZG_SECTION_SEQUENCE_CODES)->raw_bytes != sizes.sequence_codes)
    return fail_section(ctx, frame, SZG_SECTION_SEQUENCE_CODES, "does not fit the bitstream");
  return SZGPU_OK;
}

szgpu_status szg_frame_check_cuda(szgpu_ctx *ctx, const szg_header *header,
                                  const szg_frame_input_cuda *frame) {
  uint32_t const kind = frame->header.kind;
  bool const is_top_plane = kind == SZG_FRAME_LINEAR && szg_has_top_plane(header);
  if (kind == SZG_FRAME_TILE || kind == SZG_FRAME_PLANES || is_top_plane)
    return SZGPU_OK; /* szg_open_frame_at did it */
  section_rule rules[SZG_SECTION_KIND_COUNT];
  int const rule_count = section_rules(header, frame, rules);
  for (int i = 0; i < rule_count; i++) {
    const section_rule *const rule = &rules[i];
    const szg_section *const section = find_section(&frame->header, rule->kind);
    if (!section && !rule->is_required) continue;
    if (!section) return fail_section(ctx, frame, rule->kind, "is missing");
    if (!rule->is_allowed) return fail_section(ctx, frame, rule->kind, "should not be there");
    if (section->raw_bytes < rule->least_bytes || section->raw_bytes > rule->most_bytes ||
        section->raw_bytes % rule->unit_bytes != 0)
      return fail_section(ctx, frame, rule->kind, "has a size that cannot be");
  }
  bool const has_gaps = frame->header.kind == SZG_FRAME_LINEAR && header->has_gaps;
  return has_gaps ? check_stream(ctx, frame) : SZGPU_OK;
}

void szg_frame_place_cuda(szg_frame_input_cuda *frame, const uint8_t *bytes) {
  bytes += szg_frame_header_bytes(frame->header.section_count);
  for (uint32_t i = 0; i < frame->header.section_count; i++) {
    const szg_section *const section = &frame->header.sections[i];
    frame->sections[section->kind] = {section->raw_bytes ? bytes : NULL, section->raw_bytes};
    bytes += szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  }
}

/* ---- what comes before the values ---- */

static const uint16_t *counts_of(const szg_frame_input_cuda *frame, uint32_t kind) {
  return (const uint16_t *)(const void *)frame->sections[kind].bytes;
}

szgpu_status szg_frame_verify_cuda(const szg_frame_work_cuda *work) {
  const szg_frame_header *const header = &work->frame->header;
  szg_checksum_ranges ranges = {};
  ranges.count = header->section_count;
  for (uint32_t i = 0; i < header->section_count; i++) {
    ranges.kinds[i] = header->sections[i].kind;
    ranges.bytes[i] = work->frame->sections[header->sections[i].kind].bytes;
    ranges.byte_counts[i] = szg_align_up(header->sections[i].stored_bytes, SZG_ALIGNMENT);
    ranges.expected[i] = header->sections[i].checksum;
  }
  SZG_TRY(szg_checksum_verify_cuda(&ranges, work->plan->leaves, work->frame->verdict,
                                   szg_device_beside(work->device, SZG_SIDE_CHECKS)));
  return szg_device_mark(work->device, "checksums");
}

/* Where every tile's shares begin; that they use up their sections exactly. */
static szgpu_status place_tiles(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_places_cuda *const places = &work->plan->places;
  struct CUstream_st *const stream = work->device->stream;
  SZG_TRY(szg_places_scan_cuda(places, &frame->code_grid, &work->counts, stream));
  szg_frame_sums sums = {};
  sums.is_linear = frame->header.kind == SZG_FRAME_LINEAR;
  sums.has_gaps = work->header->has_gaps;
  sums.escape_bytes = frame->header.escape_bytes;
  sums.value_bytes = work->width;
  sums.escapes = sections[SZG_SECTION_ESCAPES].byte_count;
  sums.exact_mask = sections[SZG_SECTION_EXACT_MASK].byte_count;
  sums.exact_values = sections[SZG_SECTION_EXACT_VALUES].byte_count;
  sums.fill_mask = sections[SZG_SECTION_FILL_MASK].byte_count;
  sums.bitstream = sections[SZG_SECTION_BITSTREAM].byte_count;
  sums.gaps = sections[SZG_SECTION_GAPS].byte_count;
  sums.sequence_codes = sections[SZG_SECTION_SEQUENCE_CODES].byte_count;
  sums.words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  SZG_TRY(szg_frame_sums_check_cuda(&sums, places->places + frame->code_grid.tile_count,
                                    work->plan->bit_count, frame->verdict, stream));
  return szg_device_mark(work->device, "places");
}

static szgpu_status build_book(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const book = &frame->sections[SZG_SECTION_CODEBOOK];
  SZG_TRY(szg_decode_book_build_cuda(book->bytes, book->byte_count, 2 * frame->header.radius,
                                     work->plan->book, frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "codebook");
}

static szgpu_status decode_codes(const szg_frame_work_cuda *work) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_device_section *const sections = frame->sections;
  const szg_decompress_plan_cuda *const plan = work->plan;
  szg_code_stream_cuda stream = {};
  stream.device = work->device;
  stream.book = plan->book;
  stream.book_section = sections[SZG_SECTION_CODEBOOK].bytes;
  stream.book_section_bytes = sections[SZG_SECTION_CODEBOOK].byte_count;
  stream.symbol_count = 2 * frame->header.radius;
  stream.grid = &frame->code_grid;
  stream.verdict = frame->verdict;
  szg_linear_input_cuda &input = stream.input;
  input.words = (const uint32_t *)(const void *)sections[SZG_SECTION_BITSTREAM].bytes;
  input.word_count = sections[SZG_SECTION_BITSTREAM].byte_count / 4;
  input.gaps = sections[SZG_SECTION_GAPS].bytes;
  input.gap_bytes = sections[SZG_SECTION_GAPS].byte_count;
  input.sequence_codes = counts_of(frame, SZG_SECTION_SEQUENCE_CODES);
  input.sequence_count = sections[SZG_SECTION_SEQUENCE_CODES].byte_count / 2;
  input.code_count = frame->grid.value_count;
  input.places = plan->places.places;
  input.bit_count = plan->bit_count;
  SZG_TRY(plan->decoder->decode(&stream, &plan->decoder_memory, plan->code_bytes, plan->codes));
  return szg_device_mark(work->device, "decode");
}

static szgpu_status list_outliers(const szg_frame_work_cuda *work) {
  if (!work->counts.exact && !work->counts.fill_mask_bytes) return SZGPU_OK;
  return szg_places_select_marks_counted_cuda(&work->plan->places, work->frame->grid.tile_count,
                                              work->counts.exact, work->counts.fill_mask_bytes,
                                              work->device->stream);
}

/* ---- rows to values ---- */

static uint64_t first_value_of(const szg_frame_work_cuda *work, const szg_frame_rows_cuda *rows) {
  return rows->first_row * work->frame->grid.row_values;
}

static uint64_t value_count_of(const szg_frame_work_cuda *work, const szg_frame_rows_cuda *rows) {
  return (rows->end_row - rows->first_row) * work->frame->grid.row_values;
}

static szgpu_status restore_raw(const szg_frame_work_cuda *work, const szg_frame_rows_cuda *rows) {
  const szg_frame_input_cuda *const frame = work->frame;
  SZG_TRY(szg_raw_merge_cuda(frame->sections[SZG_SECTION_RAW].bytes, frame->grid.value_count,
                             work->width, first_value_of(work, rows), value_count_of(work, rows),
                             rows->values, work->device->stream));
  return szg_device_mark(work->device, "raw");
}

static szgpu_status restore_linear(const szg_frame_work_cuda *work,
                                   const szg_frame_rows_cuda *rows) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_grid *const grid = &frame->grid;
  uint64_t const row_tiles = grid->tile_count / szg_div_up(grid->row_extent, grid->row_quantum);
  szg_restore_input_cuda input = {};
  input.codes = (const uint16_t *)work->plan->codes;
  input.code_lengths = szg_decode_book_lengths_cuda(work->plan->book);
  input.counts = work->counts;
  input.places = work->plan->places.places;
  input.escapes = frame->sections[SZG_SECTION_ESCAPES].bytes;
  input.escape_bytes = frame->header.escape_bytes;
  input.axes = frame->header.axes;
  input.radius = frame->header.radius;
  SZG_TRY(szg_tiles_restore_cuda(&work->quantizer, grid, &input,
                                 rows->first_row / grid->row_quantum * row_tiles,
                                 szg_div_up(rows->end_row, grid->row_quantum) * row_tiles,
                                 rows->values, first_value_of(work, rows),
                                 value_count_of(work, rows), frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "restore");
}

static szgpu_status apply_outliers(const szg_frame_work_cuda *work,
                                   const szg_frame_rows_cuda *rows) {
  const szg_frame_input_cuda *const frame = work->frame;
  const szg_places_cuda *const places = &work->plan->places;
  if (!work->counts.exact && !work->counts.fill_mask_bytes) return SZGPU_OK;
  szg_outlier_input_cuda input = {};
  input.dtype = work->header->shape.dtype;
  input.grid = &frame->grid;
  input.counts = work->counts;
  input.places = places->places;
  input.exact_mask = frame->sections[SZG_SECTION_EXACT_MASK].bytes;
  input.exact_values = frame->sections[SZG_SECTION_EXACT_VALUES].bytes;
  input.fill_mask = frame->sections[SZG_SECTION_FILL_MASK].bytes;
  input.fill_bits = work->header->fill_bits;
  input.tiles = places->tiles;
  input.tile_count = places->tile_count;
  SZG_TRY(szg_outlier_apply_cuda(&input, rows->values, first_value_of(work, rows),
                                 value_count_of(work, rows), frame->verdict, work->device->stream));
  return szg_device_mark(work->device, "outliers");
}

/* ---- kinds of frame ---- */

szgpu_status szg_frame_open_cuda(szgpu_ctx *ctx, const szg_header *header,
                                 const szg_decompress_plan_cuda *plan,
                                 const szg_frame_input_cuda *frame, szg_frame_work_cuda *work) {
  *work = {};
  work->device = &ctx->device;
  work->header = header;
  work->plan = plan;
  work->frame = frame;
  work->counts = {
      counts_of(frame, SZG_SECTION_TILE_SIZES), counts_of(frame, SZG_SECTION_ESCAPE_COUNTS),
      counts_of(frame, SZG_SECTION_EXACT_COUNTS), counts_of(frame, SZG_SECTION_FILL_COUNTS)};
  work->quantizer = szg_quantizer_make(header->arithmetic, header->absolute_bound, header->step,
                                       header->has_fill, header->fill_bits);
  work->width = (unsigned)szg_dtype_bytes(header->shape.dtype);
  switch (frame->header.kind) {
    case SZG_FRAME_TILE:
      return szg_tile_frame_open_cuda(work);
    case SZG_FRAME_PLANES:
      return szg_planes_frame_open_cuda(work);
    case SZG_FRAME_LINEAR:
      return build_book(work);
    default:
      return SZGPU_OK;
  }
}

szgpu_status szg_frame_prepare_cuda(const szg_frame_work_cuda *work) {
  const szg_frame_header *const header = &work->frame->header;
  switch (header->kind) {
    case SZG_FRAME_RAW:
    case SZG_FRAME_PLANES:
      return SZGPU_OK;
    case SZG_FRAME_CONSTANT:
      if (header->section_count) SZG_TRY(place_tiles(work));
      break;
    case SZG_FRAME_TILE:
      SZG_TRY(szg_tile_frame_prepare_cuda(work));
      break;
    default:
      SZG_TRY(place_tiles(work));
      SZG_TRY(decode_codes(work));
  }
  return list_outliers(work);
}

szgpu_status szg_frame_restore_cuda(const szg_frame_work_cuda *work,
                                    const szg_frame_rows_cuda *rows) {
  switch (work->frame->header.kind) {
    case SZG_FRAME_RAW:
      return restore_raw(work, rows);
    case SZG_FRAME_PLANES:
      return szg_planes_frame_restore_cuda(work, rows);
    case SZG_FRAME_CONSTANT:
      SZG_TRY(szg_values_fill_cuda(rows->values, value_count_of(work, rows), work->width,
                                   work->frame->header.constant_bits, work->device->stream));
      break;
    case SZG_FRAME_TILE:
      SZG_TRY(szg_tile_frame_restore_cuda(work, rows));
      break;
    default:
      if (szg_has_top_plane(work->header)) return szg_top_plane_restore_cuda(work, rows);
      SZG_TRY(restore_linear(work, rows));
  }
  return apply_outliers(work, rows);
}
