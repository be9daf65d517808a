/* test_container.c - the archive's headers: written, read back, and refused for each bad field.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/container.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "archive_edit.h"
#include "core/bytes.h"

enum { TWO_FRAMES_BYTES = 128 + 16 + 8 + 8 };

static szg_header const sample_header = {
    .shape = {SZGPU_F32, 3, {40, 9, 33}},
    .mode = SZGPU_MODE_ABS,
    .layout = SZGPU_LAYOUT_LINEAR,
    .source = SZGPU_SOURCE_NPY | SZGPU_SOURCE_BIG_ENDIAN,
    .arithmetic = SZG_ARITHMETIC_F32,
    .has_fill = true,
    .has_gaps = true,
    .fill_bits = 0x60AD78EC,
    .bound = 0.25,
    .absolute_bound = 0.125,
    .step = 0.0625,
    .value_range = 7.5,
    .frame_rows = 32,
    .frame_count = 2,
    .archive_bytes = TWO_FRAMES_BYTES + 64 + 96,
};
static uint64_t const sample_frame_bytes[] = {64, 96};

/* The sample's header in a block of exactly its size. */
static test_archive sample_bytes(void) {
  uint64_t header_bytes;
  assert_true(szg_header_bytes_with(2, 0, &header_bytes));
  assert_int_equal(header_bytes, TWO_FRAMES_BYTES);
  test_archive const archive = {test_allocate(header_bytes), header_bytes};
  memset(archive.bytes, 0xA5, header_bytes);
  szg_header_write(&sample_header, sample_frame_bytes, archive.bytes);
  return archive;
}

static szgpu_status status_with(size_t offset, unsigned width, uint64_t value) {
  test_archive archive = sample_bytes();
  szg_header header;
  archive_store(&archive, offset, width, value);
  archive_rehash(&archive);
  szgpu_status const status = szg_header_read(archive.bytes, archive.byte_count, &header);
  free(archive.bytes);
  return status;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void a_header_comes_back(void **state) {
  (void)state;
  test_archive archive = sample_bytes();
  szg_header header;
  assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header), SZGPU_OK);
  assert_int_equal(header.shape.dtype, SZGPU_F32);
  assert_int_equal(header.shape.ndim, 3);
  uint64_t const dims[] = {40, 9, 33, 1};
  assert_memory_equal(header.shape.dims, dims, sizeof dims);
  assert_int_equal(header.mode, SZGPU_MODE_ABS);
  assert_int_equal(header.layout, SZGPU_LAYOUT_LINEAR);
  assert_int_equal(header.format_version, 1);
  assert_int_equal(header.source, 5);
  assert_int_equal(header.arithmetic, SZG_ARITHMETIC_F32);
  assert_true(header.has_fill);
  assert_int_equal(header.fill_bits, 0x60AD78EC);
  assert_true(header.bound == 0.25 && header.absolute_bound == 0.125 && header.step == 0.0625 &&
              header.value_range == 7.5);
  assert_int_equal(header.frame_rows, 32);
  assert_int_equal(header.frame_count, 2);
  assert_int_equal(header.archive_bytes, TWO_FRAMES_BYTES + 160);
  assert_int_equal(szg_header_frame_bytes(archive.bytes, 0), 64);
  assert_int_equal(szg_header_frame_bytes(archive.bytes, 1), 96);
  free(archive.bytes);
}

static void fields_stand_where_the_format_says(void **state) {
  (void)state;
  test_archive archive = sample_bytes();
  const uint8_t *const b = archive.bytes;
  assert_memory_equal(b, "\x89SZG\r\n\x1a\n\1\0\0\0\1\0\0\0\0\3\1\0\5\0\0\0\50", 25);
  assert_int_equal(szg_load_u64(b + 40), 33);
  assert_int_equal(szg_load_u64(b + 56), bits_of(0.25));
  assert_int_equal(szg_load_u64(b + 80), bits_of(7.5));
  assert_int_equal(szg_load_u64(b + 88), 0x60AD78EC);
  assert_int_equal(szg_load_u64(b + 96), 32);
  assert_int_equal(szg_load_u64(b + 104), 2);
  assert_int_equal(szg_load_u64(b + 112), TWO_FRAMES_BYTES + 160);
  assert_int_equal(szg_load_u64(b + 136), 96);
  assert_int_equal(szg_load_u64(b + 144), 0); /* padding */
  test_archive again = archive_copy(&archive, archive.byte_count);
  archive_rehash(&again);
  assert_memory_equal(again.bytes, b, archive.byte_count);
  free(again.bytes);
  free(archive.bytes);
}

static void header_sizes_that_overflow_are_refused(void **state) {
  (void)state;
  uint64_t bytes;
  assert_true(szg_header_bytes_with(1, 0, &bytes));
  assert_int_equal(bytes, 144);
  assert_false(szg_header_bytes_with(UINT64_MAX, 0, &bytes));
  assert_false(szg_header_bytes_with(UINT64_MAX / 8, 0, &bytes));
  assert_false(szg_header_bytes_with((uint64_t)1 << 61, 0, &bytes));
  uint64_t const most_frames = UINT64_MAX / 8 - 19; /* that 128 + 8 + 16 bytes leave room for */
  assert_true(szg_header_bytes_with(most_frames, 0, &bytes));
  assert_false(szg_header_bytes_with(most_frames + 1, 0, &bytes));
  assert_true(szg_header_bytes_with(most_frames - 5, 40, &bytes));
  assert_false(szg_header_bytes_with(most_frames - 4, 40, &bytes));
}

static void refuses_every_field_that_contradicts_the_format(void **state) {
  (void)state;
  double const bad_doubles[] = {-1.0, -0x1p-1074, NAN, INFINITY, -INFINITY};
  static struct {
    size_t offset;
    unsigned width;
    uint64_t value;
  } const edits[] = {
      {8, 4, 0},   /* version */
      {12, 4, 33}, /* unknown flags */
      {12, 4, 65},
      {12, 4, 0x80000001},
      {12, 4, 3}, /* no gap arrays, of another version */
      {12, 4, 0}, /* a fill value, but no flag */
      {16, 1, 1}, /* f64 with f32's arithmetic */
      {16, 1, 2}, /* dtype */
      {16, 1, 255},
      {17, 1, 0}, /* ndim */
      {17, 1, 5},
      {17, 1, 255},
      {17, 1, 2}, /* dims beyond ndim */
      {18, 1, 3}, /* lossless, but with a bound and of another version */
      {18, 1, 4}, /* mode */
      {8, 4, 2},  /* the version of the tile layout */
      {19, 1, 1}, /* the tile layout, of another version */
      {19, 1, 2}, /* layout */
      {20, 4, 8}, /* source: an empty file, which has one u8, losslessly */
      {20, 4, 16},
      {20, 4, UINT32_MAX},
      {48, 8, 0},
      {48, 8, 2},                 /* dims[3] of 3 dims */
      {56, 8, 0},                 /* bound 0 */
      {92, 4, 1},                 /* fill of f32 over 32 bits */
      {104, 8, 1},                /* frame count */
      {112, 8, TWO_FRAMES_BYTES}, /* archive bytes */
      {112, 8, TWO_FRAMES_BYTES + 159},
      {112, 8, TWO_FRAMES_BYTES + 161},
      {112, 8, 0},
      {120, 4, 2}, /* arithmetic of f64 */
      {120, 4, 3},
      {120, 4, 4},
      {120, 4, UINT32_MAX},
      {124, 4, 1},  /* reserved */
      {128, 8, 65}, /* frame sizes */
      {128, 8, 80},
      {128, 8, UINT64_MAX - 15},
      {136, 8, 0},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    szgpu_status const status = status_with(edits[i].offset, edits[i].width, edits[i].value);
    if (status != SZGPU_BAD_DATA && !(edits[i].offset == 104 && status == SZGPU_BAD_CHECKSUM))
      fail_msg("%llu at %zu: %s", (unsigned long long)edits[i].value, edits[i].offset,
               szgpu_status_text(status));
  }
  for (size_t offset = 56; offset <= 80; offset += 8)
    for (size_t i = 0; i < ARRAY_COUNT(bad_doubles); i++)
      assert_int_equal(status_with(offset, 8, bits_of(bad_doubles[i])), SZGPU_BAD_DATA);
}

static void refuses_frame_sizes_whose_sum_overflows(void **state) {
  (void)state;
  uint64_t const frame_bytes[] = {UINT64_MAX - 15, 160 + 16}; /* 160 in all, modulo 2^64 */
  uint8_t bytes[TWO_FRAMES_BYTES];
  szg_header header;
  szg_header_write(&sample_header, frame_bytes, bytes);
  assert_int_equal(szg_header_read(bytes, sizeof bytes, &header), SZGPU_BAD_DATA);
}

static void a_step_of_f32_arithmetic_is_an_f32_of_ordinary_size(void **state) {
  (void)state;
  double const bad_steps[] = {0x1p-127, 0x1p-1074, 0x1p127, 1e300, 0.1, 1.0 + 0x1p-24};
  double const good_steps[] = {0.0, 0x1p-126, 0x1p126, 1.0 + 0x1p-23};
  for (size_t i = 0; i < ARRAY_COUNT(bad_steps); i++)
    assert_int_equal(status_with(72, 8, bits_of(bad_steps[i])), SZGPU_BAD_DATA);
  for (size_t i = 0; i < ARRAY_COUNT(good_steps); i++)
    assert_int_equal(status_with(72, 8, bits_of(good_steps[i])), SZGPU_OK);
}

static void a_newer_version_is_told_from_12_bytes(void **state) {
  (void)state;
  test_archive archive = sample_bytes();
  szg_header header;
  for (uint64_t version = SZG_FORMAT_VERSION + 1; version < (uint64_t)1 << 32;
       version = 5 * version + 3) {
    archive_store(&archive, 8, 4, version);
    test_archive start = archive_copy(&archive, 12);
    assert_int_equal(szg_header_read(start.bytes, 12, &header), SZGPU_NEWER_VERSION);
    free(start.bytes);
    assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header),
                     SZGPU_NEWER_VERSION);
  }
  free(archive.bytes);
}

static void anything_else_is_not_an_archive(void **state) {
  (void)state;
  szg_header header;
  for (size_t i = 0; i < 8; i++)
    for (size_t available = i + 1; available <= TWO_FRAMES_BYTES; available += 9) {
      test_archive sample = sample_bytes();
      test_archive archive = archive_copy(&sample, available);
      archive.bytes[i] ^= 0x20;
      assert_int_equal(szg_header_read(archive.bytes, available, &header), SZGPU_NOT_AN_ARCHIVE);
      free(archive.bytes);
      free(sample.bytes);
    }
}

static void a_header_truncated_at_every_byte_says_so(void **state) {
  (void)state;
  test_archive sample = sample_bytes();
  szg_header header;
  for (size_t available = 0; available < sample.byte_count; available++) {
    test_archive archive = archive_copy(&sample, available);
    assert_int_equal(szg_header_read(archive.bytes, available, &header), SZGPU_TRUNCATED);
    free(archive.bytes);
  }
  free(sample.bytes);
}

/* ---- frame headers ---- */

enum { SAMPLE_SECTIONS = 3, FRAME_HEADER = 48 + 32 * SAMPLE_SECTIONS, FRAME = FRAME_HEADER + 64 };

static szg_frame_header const sample_frame = {
    .kind = SZG_FRAME_LINEAR,
    .axes = 5,
    .escape_bytes = 3,
    .radius = 512,
    .index = 7,
    .value_count = 1000,
    .constant_bits = 0,
    .section_count = SAMPLE_SECTIONS,
    .sections = {{0, SZG_CODEC_STORED, 17, 17, 11},
                 {2, SZG_CODEC_ZSTD, 900, 1, 12},
                 {12, SZG_CODEC_STORED, 16, 16, 13}},
};

static szgpu_status frame_status(const uint8_t *bytes, uint64_t frame_bytes, uint64_t available) {
  uint8_t *const copy = test_allocate(available);
  if (available) memcpy(copy, bytes, available);
  szg_frame_header frame;
  szgpu_status const status = szg_frame_header_read(copy, frame_bytes, available, &frame);
  free(copy);
  return status;
}

static void a_frame_header_comes_back(void **state) {
  (void)state;
  uint8_t bytes[FRAME_HEADER];
  szg_frame_header frame;
  assert_int_equal(szg_frame_header_bytes(SAMPLE_SECTIONS), FRAME_HEADER);
  szg_frame_header_write(&sample_frame, bytes);
  assert_int_equal(szg_frame_header_read(bytes, FRAME, FRAME_HEADER, &frame), SZGPU_OK);
  assert_int_equal(frame.kind, SZG_FRAME_LINEAR);
  assert_int_equal(frame.axes, 5);
  assert_int_equal(frame.escape_bytes, 3);
  assert_int_equal(frame.radius, 512);
  assert_int_equal(frame.index, 7);
  assert_int_equal(frame.value_count, 1000);
  assert_int_equal(frame.section_count, SAMPLE_SECTIONS);
  for (int i = 0; i < SAMPLE_SECTIONS; i++)
    assert_memory_equal(&frame.sections[i], &sample_frame.sections[i], sizeof frame.sections[i]);
}

static void refuses_every_frame_field_that_contradicts_the_format(void **state) {
  (void)state;
  static struct {
    size_t offset;
    unsigned width;
    uint64_t value;
    szgpu_status status;
  } const edits[] = {
      {0, 1, 6, SZGPU_BAD_DATA},       /* kind */
      {3, 1, 1, SZGPU_BAD_DATA},       /* reserved */
      {36, 4, 1, SZGPU_BAD_DATA},      /* reserved */
      {32, 4, 14, SZGPU_BAD_CHECKSUM}, /* more sections than kinds */
      {32, 4, UINT32_MAX, SZGPU_BAD_CHECKSUM},
      {32, 4, 6, SZGPU_BAD_CHECKSUM},
      {32, 4, 2, SZGPU_BAD_CHECKSUM},
      {40, 4, 20, SZGPU_BAD_DATA}, /* section kind */
      {40, 4, 2, SZGPU_BAD_DATA},  /* the same kind twice */
      {40, 4, 3, SZGPU_BAD_DATA},  /* kinds not in rising order */
      {44, 4, 2, SZGPU_BAD_DATA},  /* codec */
      {48, 8, 16, SZGPU_BAD_DATA}, /* stored, but its two sizes differ */
      {56, 8, 18, SZGPU_BAD_DATA},
      {80, 8, 0, SZGPU_BAD_DATA},         /* under zstd, but no smaller */
      {88, 8, 17, SZGPU_BAD_DATA},        /* too long */
      {88, 8, 0, SZGPU_BAD_DATA},         /* too short for the frame */
      {88, 8, FRAME + 1, SZGPU_BAD_DATA}, /* beyond the frame */
      {88, 8, UINT64_MAX, SZGPU_BAD_DATA},
      {88, 8, UINT64_MAX - 30, SZGPU_BAD_DATA},
      {88, 8, (uint64_t)1 << 63, SZGPU_BAD_DATA},
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    uint8_t bytes[FRAME_HEADER];
    szg_frame_header_write(&sample_frame, bytes);
    for (unsigned b = 0; b < edits[i].width; b++)
      bytes[edits[i].offset + b] = (uint8_t)(edits[i].value >> 8 * b);
    szg_store_u64(bytes + FRAME_HEADER - 8, XXH3_64bits(bytes, FRAME_HEADER - 8));
    szgpu_status const status = frame_status(bytes, FRAME, FRAME_HEADER);
    if (status != edits[i].status)
      fail_msg("%llu at %zu: %s", (unsigned long long)edits[i].value, edits[i].offset,
               szgpu_status_text(status));
  }
}

/* Byte 3, which only tile frames use */
static void a_tile_frame_says_how_its_lanes_are(void **state) {
  (void)state;
  for (unsigned byte = 0; byte < 256; byte++) {
    szg_frame_header sample = sample_frame, frame;
    sample.kind = SZG_FRAME_TILE;
    sample.zero_groups = byte & 3;
    sample.has_16_bits = byte & 4;
    uint8_t bytes[FRAME_HEADER];
    szg_frame_header_write(&sample, bytes);
    assert_int_equal(bytes[3], byte & 7);
    bytes[3] = (uint8_t)byte;
    szg_store_u64(bytes + FRAME_HEADER - 8, XXH3_64bits(bytes, FRAME_HEADER - 8));
    bool const is_sound = byte < 8 && (byte & 3) < 3;
    assert_int_equal(szg_frame_header_read(bytes, FRAME, FRAME_HEADER, &frame),
                     is_sound ? SZGPU_OK : SZGPU_BAD_DATA);
    if (!is_sound) continue;
    assert_int_equal(frame.zero_groups, byte & 3);
    assert_int_equal(frame.has_16_bits, byte >> 2);
  }
}

static void the_version_follows_from_the_layout(void **state) {
  (void)state;
  for (uint64_t version = 1; version <= 2; version++)
    for (uint64_t layout = 0; layout <= 1; layout++) {
      test_archive archive = sample_bytes();
      szg_header header;
      archive_store(&archive, 8, 4, version);
      archive_store(&archive, 19, 1, layout);
      archive_rehash(&archive);
      assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header),
                       version == layout + 1 ? SZGPU_OK : SZGPU_BAD_DATA);
      free(archive.bytes);
    }
  szg_header header = sample_header;
  header.layout = SZGPU_LAYOUT_TILE;
  uint8_t bytes[TWO_FRAMES_BYTES];
  szg_header_write(&header, sample_frame_bytes, bytes);
  assert_int_equal(szg_load_u32(bytes + 8), 2);
  assert_int_equal(bytes[19], 1);
}

/* A lossless archive has no bound and no fill value, and more types. */
static void a_header_without_loss_has_nothing_of_a_bound(void **state) {
  (void)state;
  static struct {
    size_t offset;
    unsigned width;
    uint64_t value;
    szgpu_status status;
  } const edits[] = {
      {16, 1, SZGPU_F64, SZGPU_OK}, {16, 1, SZGPU_FP8, SZGPU_OK}, {16, 1, 6, SZGPU_BAD_DATA},
      {18, 1, 1, SZGPU_BAD_DATA},   {19, 1, 0, SZGPU_BAD_DATA},   {12, 4, 1, SZGPU_BAD_DATA},
      {12, 4, 2, SZGPU_BAD_DATA},   {8, 4, 2, SZGPU_BAD_DATA},    {56, 8, 1, SZGPU_BAD_DATA},
      {64, 8, 1, SZGPU_BAD_DATA},   {72, 8, 1, SZGPU_BAD_DATA},   {80, 8, 1, SZGPU_BAD_DATA},
      {88, 8, 1, SZGPU_BAD_DATA},   {120, 4, 1, SZGPU_BAD_DATA},
  };
  szg_header sample = {.shape = sample_header.shape,
                       .mode = SZGPU_MODE_LOSSLESS,
                       .layout = SZGPU_LAYOUT_TILE,
                       .frame_rows = 32,
                       .frame_count = 2,
                       .archive_bytes = TWO_FRAMES_BYTES + 160};
  sample.shape.dtype = SZGPU_BF16;
  test_archive archive = {test_allocate(TWO_FRAMES_BYTES), TWO_FRAMES_BYTES};
  szg_header header;
  szg_header_write(&sample, sample_frame_bytes, archive.bytes);
  assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header), SZGPU_OK);
  assert_int_equal(header.format_version, 3);
  assert_int_equal(header.shape.dtype, SZGPU_BF16);
  assert_int_equal(header.mode, SZGPU_MODE_LOSSLESS);
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    szg_header_write(&sample, sample_frame_bytes, archive.bytes);
    archive_store(&archive, edits[i].offset, edits[i].width, edits[i].value);
    archive_rehash(&archive);
    szgpu_status const status = szg_header_read(archive.bytes, archive.byte_count, &header);
    if (status != edits[i].status)
      fail_msg("%llu at %zu: %s", (unsigned long long)edits[i].value, edits[i].offset,
               szgpu_status_text(status));
  }
  free(archive.bytes);
}

/* Lossless archives of the linear layout have version 4, and no others have it. */
static void a_lossless_header_of_the_linear_layout_is_of_version_4(void **state) {
  (void)state;
  szg_header sample = {.shape = sample_header.shape,
                       .mode = SZGPU_MODE_LOSSLESS,
                       .layout = SZGPU_LAYOUT_LINEAR,
                       .frame_rows = 32,
                       .frame_count = 2,
                       .archive_bytes = TWO_FRAMES_BYTES + 160};
  test_archive archive = {test_allocate(TWO_FRAMES_BYTES), TWO_FRAMES_BYTES};
  szg_header header;
  for (int has_gaps = 0; has_gaps <= 1; has_gaps++) {
    sample.has_gaps = has_gaps;
    szg_header_write(&sample, sample_frame_bytes, archive.bytes);
    assert_int_equal(szg_load_u32(archive.bytes + 8), 4);
    assert_int_equal(szg_load_u32(archive.bytes + 12), has_gaps ? 0 : SZG_FLAG_NO_GAPS);
    assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header), SZGPU_OK);
    assert_int_equal(header.layout, SZGPU_LAYOUT_LINEAR);
    assert_int_equal(header.has_gaps, has_gaps);
    assert_false(header.has_planes);
    for (uint64_t version = 1; version <= SZG_FORMAT_VERSION_KEPT; version++) {
      if (version == 4) continue;
      archive_store(&archive, 8, 4, version);
      archive_rehash(&archive);
      assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header), SZGPU_BAD_DATA);
    }
    archive_store(&archive, 8, 4, 4);
    archive_store(&archive, 19, 1, SZGPU_LAYOUT_TILE); /* which never has version 4 */
    archive_rehash(&archive);
    assert_int_equal(szg_header_read(archive.bytes, archive.byte_count, &header), SZGPU_BAD_DATA);
  }
  free(archive.bytes);
}

/* Version 7 before any other: of all archives of the tile layout that have plane words. */
static void plane_words_are_of_version_7(void **state) {
  (void)state;
  static struct {
    szgpu_mode mode;
    szgpu_dtype dtype;
    bool has_levels;
    uint32_t version; /* without plane words */
  } const cases[] = {
      {SZGPU_MODE_LOSSLESS, SZGPU_BF16, false, 3}, {SZGPU_MODE_LOSSLESS, SZGPU_I16, false, 6},
      {SZGPU_MODE_ABS, SZGPU_F32, false, 3},       {SZGPU_MODE_ABS, SZGPU_F32, true, 5},
      {SZGPU_MODE_REL, SZGPU_U8, true, 6},         {SZGPU_MODE_PWREL, SZGPU_F32, false, 6}};
  uint8_t bytes[TWO_FRAMES_BYTES];
  test_archive archive = {bytes, sizeof bytes};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    for (int has_words = 0; has_words <= 1; has_words++) {
      szg_header sample = sample_header, header;
      sample.shape.dtype = cases[i].dtype;
      sample.mode = cases[i].mode;
      sample.layout = SZGPU_LAYOUT_TILE;
      sample.has_planes = true;
      sample.has_levels = cases[i].has_levels;
      sample.has_fill = sample.has_own_fill = false;
      if (sample.mode == SZGPU_MODE_LOSSLESS)
        sample.bound = sample.absolute_bound = sample.step = sample.value_range = 0;
      sample.has_plane_words = has_words;
      szg_header_write(&sample, sample_frame_bytes, bytes);
      assert_int_equal(szg_load_u32(bytes + 8), has_words ? 7 : cases[i].version);
      assert_int_equal(szg_header_read(bytes, sizeof bytes, &header), SZGPU_OK);
      assert_int_equal(header.has_plane_words, has_words);
      archive_store(&archive, 19, 1, SZGPU_LAYOUT_LINEAR);
      archive_rehash(&archive);
      szgpu_status const status = szg_header_read(bytes, sizeof bytes, &header);
      if (has_words) assert_int_equal(status, SZGPU_BAD_DATA);
    }
}

/* The frames decide, and only planes frames. */
static void frames_with_plane_words_are_noted(void **state) {
  (void)state;
  szg_frame_header frame = {.kind = SZG_FRAME_PLANES, .section_count = 4};
  static uint32_t const kinds[] = {SZG_SECTION_CODEBOOK, SZG_SECTION_TILE_SIZES, SZG_SECTION_RAW,
                                   SZG_SECTION_PLANE_WORDS};
  for (uint32_t i = 0; i < 4; i++) frame.sections[i].kind = kinds[i];
  for (uint32_t count = 0; count <= 4; count++) {
    szg_header header = {.layout = SZGPU_LAYOUT_TILE};
    frame.section_count = count;
    szg_header_note_frame(&header, &frame);
    assert_true(header.has_planes && header.has_plane_words == (count == 4));
    szg_frame_header const raw = {.kind = SZG_FRAME_RAW};
    szg_header_note_frame(&header, &raw); /* a later frame without words changes nothing */
    assert_int_equal(header.has_plane_words, count == 4);
  }
}

static void an_archive_without_gap_arrays_says_so(void **state) {
  (void)state;
  szg_header sample = sample_header, header;
  sample.has_gaps = false;
  uint8_t bytes[TWO_FRAMES_BYTES];
  szg_header_write(&sample, sample_frame_bytes, bytes);
  assert_int_equal(szg_load_u32(bytes + 8), 3);
  assert_int_equal(szg_load_u32(bytes + 12), 3);
  assert_int_equal(szg_header_read(bytes, sizeof bytes, &header), SZGPU_OK);
  assert_false(header.has_gaps);
  assert_true(header.has_fill);
}

/* Bytes 2 and 4 .. 7 have a meaning of their own in planes frames. */
static void a_planes_frame_says_what_its_planes_are(void **state) {
  (void)state;
  szg_frame_header sample = sample_frame, frame;
  sample.kind = SZG_FRAME_PLANES;
  sample.axes = sample.escape_bytes = sample.radius = 0;
  sample.value_bytes = 8;
  sample.plane_modes = 0x9216;
  uint8_t bytes[FRAME_HEADER];
  szg_frame_header_write(&sample, bytes);
  assert_int_equal(bytes[2], 8);
  assert_int_equal(szg_load_u32(bytes + 4), 0x9216);
  assert_int_equal(szg_frame_header_read(bytes, FRAME, FRAME_HEADER, &frame), SZGPU_OK);
  assert_int_equal(frame.value_bytes, 8);
  assert_int_equal(frame.plane_modes, 0x9216);
  assert_int_equal(frame.escape_bytes + frame.radius, 0);
}

static void refuses_sections_whose_sizes_overflow(void **state) {
  (void)state;
  szg_frame_header frame = sample_frame;
  frame.sections[1].stored_bytes = UINT64_MAX; /* 0 once it is aligned */
  frame.sections[2].raw_bytes = frame.sections[2].stored_bytes = 32;
  uint8_t bytes[FRAME_HEADER];
  szg_frame_header_write(&frame, bytes);
  assert_int_equal(frame_status(bytes, FRAME, FRAME_HEADER), SZGPU_BAD_DATA);
}

static void refuses_more_sections_than_there_are_kinds_of(void **state) {
  (void)state;
  uint8_t bytes[48 + 32 * 30] = {0};
  szg_store_u32(bytes + 32, 30);
  szg_store_u64(bytes + sizeof bytes - 8, XXH3_64bits(bytes, sizeof bytes - 8));
  assert_int_equal(frame_status(bytes, sizeof bytes, sizeof bytes), SZGPU_BAD_CHECKSUM);
}

static void a_frame_of_another_size_is_refused(void **state) {
  (void)state;
  uint8_t bytes[FRAME_HEADER];
  szg_frame_header_write(&sample_frame, bytes);
  assert_int_equal(frame_status(bytes, FRAME - 16, FRAME_HEADER), SZGPU_BAD_DATA);
  assert_int_equal(frame_status(bytes, FRAME + 16, FRAME_HEADER), SZGPU_BAD_DATA);
  assert_int_equal(frame_status(bytes, 47, FRAME_HEADER), SZGPU_BAD_DATA);
  assert_int_equal(frame_status(bytes, 0, FRAME_HEADER), SZGPU_BAD_DATA);
  assert_int_equal(frame_status(bytes, 48, FRAME_HEADER), SZGPU_BAD_CHECKSUM);
  assert_int_equal(frame_status(bytes, FRAME_HEADER - 1, FRAME_HEADER), SZGPU_BAD_CHECKSUM);
}

static void a_frame_header_truncated_at_every_byte_says_so(void **state) {
  (void)state;
  uint8_t bytes[FRAME_HEADER];
  szg_frame_header_write(&sample_frame, bytes);
  for (size_t available = 0; available < FRAME_HEADER; available++)
    assert_int_equal(frame_status(bytes, FRAME, available), SZGPU_TRUNCATED);
}

static void every_flipped_bit_of_a_header_is_refused(void **state) {
  (void)state;
  test_archive sample = sample_bytes();
  szg_header header;
  uint8_t frame[FRAME_HEADER];
  szg_frame_header_write(&sample_frame, frame);
  for (size_t bit = 0; bit < 8 * sample.byte_count; bit++) {
    sample.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_not_equal(szg_header_read(sample.bytes, sample.byte_count, &header), SZGPU_OK);
    sample.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (size_t bit = 0; bit < 8 * FRAME_HEADER; bit++) {
    frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(frame_status(frame, FRAME, FRAME_HEADER), SZGPU_BAD_CHECKSUM);
    frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  free(sample.bytes);
}

static void sections_have_names(void **state) {
  (void)state;
  assert_string_equal(szg_section_name(SZG_SECTION_CODEBOOK), "codebook");
  assert_string_equal(szg_section_name(SZG_SECTION_RAW), "raw values");
  szg_frame_header frame = {.kind = SZG_FRAME_LEVELS, .levels = {.level_count = 3}};
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_FILL_MASK), "fill mask");
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_BASE), "base");
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_LEVEL_1), "level 2");
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_LEVEL_3), "level 0");
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_LEVEL_4), "fourth level");
  frame.levels.level_count = 255; /* before it is checked */
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_LEVEL_1), "first level");
  frame.kind = SZG_FRAME_TILE;
  assert_string_equal(szg_section_name_in(&frame, SZG_SECTION_LEVEL_1), "first level");
  for (uint32_t kind = 0; kind < SZG_SECTION_KIND_COUNT; kind++)
    assert_true(strlen(szg_section_name(kind)) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_header_comes_back),
      cmocka_unit_test(fields_stand_where_the_format_says),
      cmocka_unit_test(header_sizes_that_overflow_are_refused),
      cmocka_unit_test(refuses_every_field_that_contradicts_the_format),
      cmocka_unit_test(refuses_frame_sizes_whose_sum_overflows),
      cmocka_unit_test(a_step_of_f32_arithmetic_is_an_f32_of_ordinary_size),
      cmocka_unit_test(a_newer_version_is_told_from_12_bytes),
      cmocka_unit_test(anything_else_is_not_an_archive),
      cmocka_unit_test(a_header_truncated_at_every_byte_says_so),
      cmocka_unit_test(a_frame_header_comes_back),
      cmocka_unit_test(refuses_every_frame_field_that_contradicts_the_format),
      cmocka_unit_test(a_tile_frame_says_how_its_lanes_are),
      cmocka_unit_test(the_version_follows_from_the_layout),
      cmocka_unit_test(a_header_without_loss_has_nothing_of_a_bound),
      cmocka_unit_test(a_lossless_header_of_the_linear_layout_is_of_version_4),
      cmocka_unit_test(plane_words_are_of_version_7),
      cmocka_unit_test(frames_with_plane_words_are_noted),
      cmocka_unit_test(an_archive_without_gap_arrays_says_so),
      cmocka_unit_test(a_planes_frame_says_what_its_planes_are),
      cmocka_unit_test(refuses_sections_whose_sizes_overflow),
      cmocka_unit_test(refuses_more_sections_than_there_are_kinds_of),
      cmocka_unit_test(a_frame_of_another_size_is_refused),
      cmocka_unit_test(a_frame_header_truncated_at_every_byte_says_so),
      cmocka_unit_test(every_flipped_bit_of_a_header_is_refused),
      cmocka_unit_test(sections_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
