/* fuzz_archive.c - any bytes as an archive: no access out of bounds, and all ways to read it agree.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The input is the archive. It is described, restored by every decoder of the CPU, whole, in slabs,
 * as previews and in regions of these, by one thread and by several, with AVX2 and without.
 */
#include <stdlib.h>
#include <string.h>

#include "archive_mutate.h"

enum { MOST_FIELD_BYTES = 1 << 20, THREADS = 3, DECODERS = 8, MOST_FRAMES = 40 };
enum { COMPACT_VERSION = 9, MOST_HEADER_BYTES = 2048 };

static const szgpu_decoder decoders[] = {SZGPU_DECODER_SERIAL, SZGPU_DECODER_TABLE,
                                         SZGPU_DECODER_SELF_SYNC, SZGPU_DECODER_ALL_OFFSETS,
                                         SZGPU_DECODER_HIERARCHICAL};
enum { DECODER_COUNT = sizeof decoders / sizeof *decoders };

/* By decoder; those of one thread, and those of several. */
static szgpu_ctx *alone[DECODERS], *together[DECODERS];

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  alone[SZGPU_DECODER_AUTO] = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, 1);
  together[SZGPU_DECODER_AUTO] = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, THREADS);
  for (int i = 0; i < DECODER_COUNT; i++) {
    alone[decoders[i]] = fuzz_make_ctx(SZGPU_BACKEND_CPU, decoders[i], 1);
    together[decoders[i]] = fuzz_make_ctx(SZGPU_BACKEND_CPU, decoders[i], THREADS);
  }
  return 0;
}

/* An archive at work. */
typedef struct trial {
  const uint8_t *archive;
  size_t archive_bytes;
  fuzz_random random; /* the archive's own */
  szgpu_info info;
  uint64_t row_bytes;
  szgpu_status whole_status;
  const uint8_t *whole; /* the field, if the status is SZGPU_OK */
} trial;

static bool is_about_archive(szgpu_status status) {
  return status >= SZGPU_NOT_AN_ARCHIVE && status <= SZGPU_BAD_DATA;
}

/* Work on a frame takes memory by the frame's size. */
static bool is_memory_out(const trial *t, szgpu_status status) {
  return status == SZGPU_OUT_OF_MEMORY && t->info.field_bytes > MOST_FIELD_BYTES;
}

/* serial and hierarchical check gap arrays, which no other decoder reads. */
static bool checks_gaps(const trial *t, szgpu_decoder decoder) {
  return t->info.has_gaps &&
         (decoder == SZGPU_DECODER_SERIAL || decoder == SZGPU_DECODER_HIERARCHICAL);
}

static szgpu_ctx *any_ctx(trial *t, szgpu_decoder decoder) {
  fuzz_choose_avx2(&t->random);
  return fuzz_one_in(&t->random, 32) ? together[decoder] : alone[decoder];
}

/* ---- descriptions ---- */

static void check_frame_info(const trial *t, const szgpu_frame_info *frame) {
  FUZZ_CHECK(strlen(frame->kind) > 0 && strlen(frame->axes) < 4 && strlen(frame->planes) < 9,
             "a frame's names");
  FUZZ_CHECK(strlen(frame->predictor) < 16 && strlen(frame->stencil) < 16, "a frame's predictor");
  FUZZ_CHECK(frame->section_count <= SZGPU_MAX_SECTIONS, "%u sections", frame->section_count);
  /* Those of a compact form lie in the archive that it stands for. */
  uint64_t const archive_bytes = t->info.format_version == COMPACT_VERSION
                                     ? t->info.field_bytes + MOST_HEADER_BYTES
                                     : t->info.archive_bytes;
  for (uint32_t i = 0; i < frame->section_count; i++) {
    const szgpu_section_info *const section = &frame->sections[i];
    FUZZ_CHECK(strlen(section->name) > 2 && strlen(section->codec) > 3, "a section's names");
    FUZZ_CHECK(section->offset <= archive_bytes &&
                   section->stored_bytes <= archive_bytes - section->offset,
               "a section beyond the archive");
  }
}

/* Reads the header and the frames; returns the header's status. */
static szgpu_status check_descriptions(trial *t) {
  static szgpu_frame_info frames[MOST_FRAMES];
  t->info.struct_bytes = sizeof t->info;
  szgpu_status const status = szgpu_inspect(t->archive, t->archive_bytes, &t->info);
  FUZZ_CHECK(status == SZGPU_OK || is_about_archive(status), "szgpu_inspect gives %d", status);
  bool const is_open = status == SZGPU_OK;
  uint64_t const frame_count =
      is_open && t->info.frame_count < MOST_FRAMES ? t->info.frame_count : 1;
  for (int i = 0; i < MOST_FRAMES; i++) frames[i] = (szgpu_frame_info)SZGPU_FRAME_INFO_DEFAULTS;
  szgpu_status const frames_status =
      szgpu_inspect_frames(t->archive, t->archive_bytes, 0, frame_count, frames);
  FUZZ_CHECK(frames_status == SZGPU_OK || is_about_archive(frames_status),
             "szgpu_inspect_frames gives %d", frames_status);
  if (!is_open) {
    FUZZ_CHECK(frames_status != SZGPU_OK, "frames are described without a header");
    return status;
  }
  for (uint64_t i = 0; i < frame_count && frames_status == SZGPU_OK; i++)
    check_frame_info(t, &frames[i]);
  szgpu_status const beyond =
      szgpu_inspect_frames(t->archive, t->archive_bytes, t->info.frame_count, 1, frames);
  bool const is_cut_short = t->info.format_version == COMPACT_VERSION && beyond == frames_status;
  FUZZ_CHECK(beyond == SZGPU_BAD_ARGUMENT || is_cut_short, "a frame after the last gives %d",
             beyond);
  return status;
}

/* ---- restoring ---- */

static szgpu_status restore(szgpu_ctx *ctx, const trial *t, int pattern, uint8_t *field) {
  memset(field, pattern, t->info.field_bytes);
  return szgpu_decompress(ctx, t->archive, t->archive_bytes, field, t->info.field_bytes);
}

static szgpu_status restore_rows(szgpu_ctx *ctx, const trial *t, uint64_t first, uint64_t count,
                                 uint8_t *rows) {
  memset(rows, 0x77, count * t->row_bytes);
  return szgpu_decompress_slab(ctx, t->archive, t->archive_bytes, first, count, rows,
                               count * t->row_bytes);
}

/* Bytes of a value as it is coded, by docs/format.md; 0: it is coded as it is. */
static uint64_t bytes_of_coded(const szgpu_info *info) {
  switch (info->shape.dtype) {
    case SZGPU_F32:
    case SZGPU_F64:
      return info->mode == SZGPU_MODE_PWREL ? 8 : 0;
    case SZGPU_I32:
      return info->mode == SZGPU_MODE_LOSSLESS ? 0 : 8;
    default:
      return info->mode == SZGPU_MODE_LOSSLESS ? 0 : 4;
  }
}

/* The most memory of one thread, by docs/security.md, with 1 MiB for what libzstd takes for itself.
 * largest: values of the largest frame. */
static size_t most_memory(const trial *t) {
  uint64_t rows = 1, values = 1;
  for (int i = 0; i < t->info.shape.ndim; i++) {
    if (rows == 1) rows = t->info.shape.dims[i];
    values *= t->info.shape.dims[i];
  }
  uint64_t const largest = values / rows * t->info.frame_rows;
  uint64_t const bytes = t->info.field_bytes / values, coded = bytes_of_coded(&t->info);
  uint64_t const part = 4 + bytes + (coded ? coded : bytes);
  return ((size_t)6 << 20) + t->archive_bytes / 4 +
         largest * (bytes + coded + 1 + (part > 11 ? part : 11));
}

/* By a ctx of its own, so that its memory can be measured; half of them have a limit. */
static szgpu_status restore_measured(trial *t, uint64_t first, uint64_t count, uint8_t *rows) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = 1;
  if (fuzz_one_in(&t->random, 2))
    options.memory_limit = UINT64_C(1) << (12 + fuzz_below(&t->random, 12));
  size_t const before = fuzz_memory_live();
  fuzz_memory_begin();
  szgpu_ctx *ctx;
  szgpu_status status = szgpu_create(&ctx, &options);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_create gives %d", status);
  status = restore_rows(ctx, t, first, count, rows);
  size_t const peak = fuzz_memory_peak() - before;
  szgpu_destroy(ctx);
  FUZZ_CHECK(peak <= most_memory(t), "%zu bytes of memory instead of %zu", peak, most_memory(t));
  FUZZ_CHECK(fuzz_memory_live() == before, "%zu bytes are not given back",
             fuzz_memory_live() - before);
  if (!options.memory_limit) return status;
  FUZZ_CHECK(peak <= options.memory_limit + ((size_t)1 << 20), "%zu bytes, with a limit of %llu",
             peak, (unsigned long long)options.memory_limit);
  if (status != SZGPU_MEMORY_LIMIT) return status;
  fuzz_count("limited");
  return restore_rows(alone[SZGPU_DECODER_AUTO], t, first, count, rows);
}

static void check_whole(trial *t, uint8_t *field, uint8_t *again) {
  fuzz_choose_avx2(&t->random);
  t->whole_status = restore(alone[SZGPU_DECODER_AUTO], t, 0xA5, field);
  t->whole = field;
  FUZZ_CHECK(t->whole_status == SZGPU_OK || is_about_archive(t->whole_status),
             "szgpu_decompress gives %d", t->whole_status);
  fuzz_count(t->whole_status == SZGPU_OK ? "restored" : "refused");
  if (t->whole_status != SZGPU_OK) return;
  archive_is_good(t->archive, t->archive_bytes);
  szgpu_status const status = restore(any_ctx(t, SZGPU_DECODER_AUTO), t, 0x5A, again);
  FUZZ_CHECK(status == SZGPU_OK, "the second time it gives %d", status);
  FUZZ_CHECK(memcmp(field, again, t->info.field_bytes) == 0,
             "the second time other values, or some were not written");
}

static void check_decoder(trial *t, szgpu_decoder decoder, uint8_t *field) {
  szgpu_status const status = restore(any_ctx(t, decoder), t, 0x5A, field);
  if (!szgpu_decoder_reads(decoder, &t->info)) {
    FUZZ_CHECK(status == SZGPU_UNSUPPORTED || is_about_archive(status),
               "decoder %d should refuse, but gives %d", decoder, status);
    return;
  }
  bool const may_differ = checks_gaps(t, decoder) && status == SZGPU_BAD_DATA;
  FUZZ_CHECK(status == t->whole_status || may_differ, "decoder %d gives %d, auto %d", decoder,
             status, t->whole_status);
  if (status == SZGPU_OK)
    FUZZ_CHECK(memcmp(field, t->whole, t->info.field_bytes) == 0, "decoder %d gives another field",
               decoder);
}

static void check_rows(trial *t, uint64_t first, uint64_t count) {
  szgpu_decoder decoder = decoders[fuzz_below(&t->random, DECODER_COUNT)];
  if (!szgpu_decoder_reads(decoder, &t->info)) decoder = SZGPU_DECODER_AUTO;
  uint8_t *const rows = fuzz_allocate(count * t->row_bytes);
  szgpu_status const status = fuzz_one_in(&t->random, 2)
                                  ? restore_measured(t, first, count, rows)
                                  : restore_rows(any_ctx(t, decoder), t, first, count, rows);
  FUZZ_CHECK(status == SZGPU_OK || is_about_archive(status) || is_memory_out(t, status),
             "a slab gives %d", status);
  if (t->whole_status == SZGPU_OK) {
    FUZZ_CHECK(status == SZGPU_OK || (checks_gaps(t, decoder) && status == SZGPU_BAD_DATA),
               "a slab gives %d, the whole is good", status);
    if (status == SZGPU_OK)
      FUZZ_CHECK(memcmp(rows, t->whole + first * t->row_bytes, count * t->row_bytes) == 0,
                 "a slab is not what the whole has there");
  }
  free(rows);
}

/* The field in up to four slabs. */
static void check_slabs(trial *t) {
  uint64_t const row_count = t->info.shape.dims[0];
  uint64_t first = 0;
  for (int left = 3; left > 0 && first < row_count; left--) {
    uint64_t const count = 1 + fuzz_below(&t->random, row_count - first);
    check_rows(t, first, count);
    first += count;
  }
  if (first < row_count) check_rows(t, first, row_count - first);
}

/* ---- previews ---- */

/* Compares a preview with every 2^level-th value of the whole field. */
static void compare_preview(const trial *t, const szgpu_shape *shape, const uint8_t *preview) {
  uint64_t steps[4], strides[4], stride = t->info.field_bytes, value_bytes = t->info.field_bytes;
  uint64_t extents[4] = {1, 1, 1, 1}, at[4];
  for (int i = 0; i < shape->ndim; i++) {
    value_bytes /= t->info.shape.dims[i];
    strides[i] = stride /= t->info.shape.dims[i];
    extents[i] = shape->dims[i];
    steps[i] = 1;
    while ((t->info.shape.dims[i] + steps[i] - 1) / steps[i] > extents[i]) steps[i] *= 2;
  }
  for (int i = shape->ndim; i < 4; i++) strides[i] = steps[i] = 0;
  for (at[0] = 0; at[0] < extents[0]; at[0]++)
    for (at[1] = 0; at[1] < extents[1]; at[1]++)
      for (at[2] = 0; at[2] < extents[2]; at[2]++)
        for (at[3] = 0; at[3] < extents[3]; at[3]++) {
          uint64_t offset = 0;
          for (int i = 0; i < 4; i++) offset += at[i] * steps[i] * strides[i];
          FUZZ_CHECK(memcmp(preview, t->whole + offset, value_bytes) == 0,
                     "a preview of %d dims differs from the whole at byte %llu", shape->ndim,
                     (unsigned long long)offset);
          preview += value_bytes;
        }
}

/* ---- regions ---- */

/* Compares a box with what the level has there. */
static void compare_region(const szgpu_shape *shape, const szgpu_region *region,
                           uint64_t value_bytes, const uint8_t *level, const uint8_t *box) {
  uint64_t count = 1;
  for (int i = 0; i < shape->ndim; i++) count *= region->count[i];
  for (uint64_t value = 0; value < count; value++, box += value_bytes) {
    uint64_t rest = value, at = 0, stride = value_bytes;
    for (int i = shape->ndim - 1; i >= 0; i--) {
      at += (region->first[i] + rest % region->count[i]) * stride;
      rest /= region->count[i];
      stride *= shape->dims[i];
    }
    FUZZ_CHECK(memcmp(box, level + at, value_bytes) == 0,
               "a region differs from the whole at byte %llu", (unsigned long long)at);
  }
}

/* Any box of the level, whose values are `whole`; NULL: they are not known. */
static void check_region(trial *t, int level, const szgpu_shape *shape, const uint8_t *whole) {
  szgpu_region region = {{0}, {0}};
  uint64_t value_bytes = t->info.field_bytes;
  for (int i = 0; i < shape->ndim; i++) {
    value_bytes /= t->info.shape.dims[i];
    region.first[i] = fuzz_below(&t->random, shape->dims[i]);
    region.count[i] = 1 + fuzz_below(&t->random, shape->dims[i] - region.first[i]);
  }
  size_t box_bytes = value_bytes;
  for (int i = 0; i < shape->ndim; i++) box_bytes *= region.count[i];
  if (box_bytes > MOST_FIELD_BYTES) return;
  uint8_t *const box = fuzz_allocate(box_bytes);
  memset(box, 0xA5, box_bytes);
  szgpu_status const status = szgpu_decompress_region(
      any_ctx(t, SZGPU_DECODER_AUTO), t->archive, t->archive_bytes, level, &region, box, box_bytes);
  FUZZ_CHECK(status == SZGPU_OK || is_about_archive(status) || is_memory_out(t, status),
             "a region of level %d gives %d", level, status);
  if (t->whole_status == SZGPU_OK && whole) {
    FUZZ_CHECK(status == SZGPU_OK, "a region of level %d gives %d, the whole is good", level,
               status);
    compare_region(shape, &region, value_bytes, whole, box);
    fuzz_count("regions");
  }
  free(box);
}

static void check_preview(trial *t, int level) {
  szgpu_shape shape;
  szgpu_status status = szgpu_level_shape(&t->info, level, &shape);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_level_shape gives %d", status);
  size_t preview_bytes = t->info.field_bytes;
  for (int i = 0; i < shape.ndim; i++)
    preview_bytes = preview_bytes / t->info.shape.dims[i] * shape.dims[i];
  uint8_t *const preview = fuzz_allocate(preview_bytes);
  for (int i = 0; i < 2; i++) {
    memset(preview, i ? 0x5A : 0xA5, preview_bytes);
    status = szgpu_decompress_level(any_ctx(t, SZGPU_DECODER_AUTO), t->archive, t->archive_bytes,
                                    level, preview, preview_bytes);
    FUZZ_CHECK(status == SZGPU_OK || status == SZGPU_BAD_ARGUMENT || is_about_archive(status),
               "level %d gives %d", level, status);
    if (t->whole_status != SZGPU_OK) continue;
    FUZZ_CHECK(status == SZGPU_OK || status == SZGPU_BAD_ARGUMENT,
               "level %d gives %d, the whole is good", level, status);
    if (status == SZGPU_OK) compare_preview(t, &shape, preview);
  }
  if (status == SZGPU_OK) fuzz_count("previews");
  if (status == SZGPU_OK || level == 0)
    check_region(t, level, &shape, status == SZGPU_OK ? preview : NULL);
  free(preview);
}

/* ---- the target ---- */

static void try_archive(trial *t) {
  uint64_t const row_count = t->info.shape.dims[0];
  t->row_bytes = t->info.field_bytes / row_count;
  if (t->info.field_bytes > MOST_FIELD_BYTES) {
    uint64_t const count = 1 + fuzz_below(&t->random, 3);
    uint64_t const first = fuzz_below(&t->random, row_count);
    t->whole_status = SZGPU_BAD_DATA; /* not known */
    if (t->row_bytes <= MOST_FIELD_BYTES)
      check_rows(t, first, count < row_count - first ? count : row_count - first);
    check_region(t, 0, &t->info.shape, NULL);
    return;
  }
  uint8_t *const field = fuzz_allocate(t->info.field_bytes);
  uint8_t *const again = fuzz_allocate(t->info.field_bytes);
  check_whole(t, field, again);
  for (int i = 0; i < DECODER_COUNT; i++) check_decoder(t, decoders[i], again);
  check_slabs(t);
  for (int level = 0; level <= SZGPU_MAX_LEVEL; level++) check_preview(t, level);
  free(field);
  free(again);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  return archive_change(data, size, capacity, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  trial t = {.archive_bytes = size, .random = fuzz_random_of(data, size)};
  /* Archives may have any alignment. */
  size_t const shift = fuzz_below(&t.random, 16);
  uint8_t *const block = fuzz_allocate(shift + size);
  if (size > 0) memcpy(block + shift, data, size);
  t.archive = block + shift;
  szgpu_status const status = check_descriptions(&t);
  if (status == SZGPU_OK) {
    fuzz_count("headers");
    try_archive(&t);
  } else {
    uint8_t *const field = fuzz_allocate(64);
    szgpu_status const restored =
        szgpu_decompress(alone[SZGPU_DECODER_AUTO], t.archive, size, field, 64);
    FUZZ_CHECK(restored == status, "szgpu_inspect gives %d, szgpu_decompress %d", status, restored);
    free(field);
  }
  free(block);
  return 0;
}
