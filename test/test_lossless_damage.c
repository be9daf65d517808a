/* test_lossless_damage.c - damaged and hostile lossless archives: a named status, never a crash.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As in test_corrupt.c, decoders must find damage. They may accept an archive that lies with
 * correct checksums, but then any number of threads must restore the same and stay inside the
 * archive's and the field's bytes. Blocks have exactly their size: run this under a sanitizer.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "archive_lies.h"
#include "container/format.h"
#include "lossless_fields.h"

/* WEIGHTS_2: a coded plane and a stored one. OLD_WEIGHTS: the same as format version 3 has it.
 * BYTES: one coded. MIXED: one coded, three constant. NOTHING: headers alone. FRAMES: three, of
 * four coded planes. PACKED: under zstd. In the linear layout, LINEAR: a stored plane and gap
 * arrays, in three frames; LINEAR_BYTES: neither, and a book of one symbol; LINEAR_PACKED: under
 * zstd. */
enum {
  WEIGHTS_2,
  OLD_WEIGHTS,
  BYTES,
  MIXED,
  NOTHING,
  RAW,
  FRAMES,
  PACKED,
  LINEAR,
  LINEAR_BYTES,
  LINEAR_PACKED,
  SAMPLE_COUNT
};

/* All readers of the linear layout; the first two, with the default decoder, read all samples. */
enum { PLAIN_READERS = 2, READERS = 6 };
static szgpu_ctx *ctx, *three_threads, *readers[READERS];
static szgpu_decoder const decoders[READERS] = {
    SZGPU_DECODER_AUTO,      SZGPU_DECODER_AUTO,        SZGPU_DECODER_SERIAL,
    SZGPU_DECODER_SELF_SYNC, SZGPU_DECODER_ALL_OFFSETS, SZGPU_DECODER_HIERARCHICAL};
static test_archive samples[SAMPLE_COUNT];
static void *fields[SAMPLE_COUNT];
static size_t field_bytes_of[SAMPLE_COUNT];

static void make_sample(int i, lossless_kind kind, szgpu_shape shape, uint64_t frame_rows,
                        int zstd_level, const char *planes) {
  szgpu_params params = lossless_params();
  params.frame_rows = frame_rows;
  params.zstd_level = zstd_level;
  params.layout = i < LINEAR ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR;
  params.without_gaps = i == LINEAR_BYTES;
  fields[i] = lossless_make(kind, &shape);
  field_bytes_of[i] = test_field_bytes(&shape);
  samples[i] = archive_plain(lossless_compress(ctx, &params, &shape, fields[i]));
  assert_string_equal(lossless_planes(&samples[i], 0), planes);
}

static void make_readers(void) {
  for (int r = 0; r < READERS; r++) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.threads = r % 2 ? 3 : 1;
    options.decoder = decoders[r];
    assert_int_equal(szgpu_create(&readers[r], &options), SZGPU_OK);
  }
  ctx = readers[0];
  three_threads = readers[1];
}

static bool is_zstd(const test_archive *archive) {
  for (uint32_t i = 0; i < archive_section_count(archive, 0); i++)
    if (archive->bytes[archive_entry_offset(archive, 0, i) + 4] == SZG_CODEC_ZSTD) return true;
  return false;
}

static void make_old(test_archive *archive) {
  for (uint64_t f = 0; f < test_inspect(archive).frame_count; f++)
    archive_order_as_before_7(archive, f);
  archive_store(archive, 8, 4, SZG_FORMAT_VERSION_LOSSLESS);
  archive_rehash(archive);
}

static int make_samples(void **state) {
  (void)state;
  make_readers();
  make_sample(WEIGHTS_2, WEIGHTS, test_shape(SZGPU_BF16, 1, 401, 0, 0, 0), 0, 0, "cs");
  make_sample(OLD_WEIGHTS, WEIGHTS, test_shape(SZGPU_BF16, 1, 401, 0, 0, 0), 0, 0, "cs");
  make_old(&samples[OLD_WEIGHTS]);
  make_sample(BYTES, FEW, test_shape(SZGPU_U8, 2, 17, 19, 0, 0), 0, 0, "c");
  make_sample(MIXED, ONE_BIT, test_shape(SZGPU_F32, 1, 1000, 0, 0, 0), 0, 0, "kkkc");
  make_sample(NOTHING, FLAT, test_shape(SZGPU_F16, 1, 5000, 0, 0, 0), 0, 0, "kk");
  make_sample(RAW, NOISE, test_shape(SZGPU_FP8, 1, 77, 0, 0, 0), 0, 0, "");
  make_sample(FRAMES, FEW, test_shape(SZGPU_F32, 3, 40, 3, 5, 0), 16, 0, "cccc");
  make_sample(PACKED, REPEATS, test_shape(SZGPU_BF16, 1, 4000, 0, 0, 0), 0, 19, "cs");
  make_sample(LINEAR, WEIGHTS, test_shape(SZGPU_F16, 2, 40, 20, 0, 0), 16, 0, "cs");
  make_sample(LINEAR_BYTES, FLAT, test_shape(SZGPU_U8, 1, 321, 0, 0, 0), 0, 0, "c");
  make_sample(LINEAR_PACKED, REPEATS, test_shape(SZGPU_BF16, 1, 4000, 0, 0, 0), 0, 19, "cs");
  assert_true(is_zstd(&samples[PACKED]) && is_zstd(&samples[LINEAR_PACKED]));
  return 0;
}

static int free_samples(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) free(samples[i].bytes), free(fields[i]);
  for (int r = 0; r < READERS; r++) szgpu_destroy(readers[r]);
  return 0;
}

/* ---- damage ---- */

static void truncated_at_every_byte_says_so(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (size_t cut = 0; cut < samples[i].byte_count; cut++) {
      test_archive const archive = archive_copy(&samples[i], cut);
      assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[i]), SZGPU_TRUNCATED);
      free(archive.bytes);
    }
}

static void every_flipped_bit_is_found_and_named(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    test_archive const archive = archive_copy(&samples[i], samples[i].byte_count);
    for (size_t bit = 0; bit < 8 * archive.byte_count; bit++) {
      archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      szgpu_status const status = damaged_decompress(ctx, &archive, field_bytes_of[i]);
      if (!damage_has_right_name(bit / 8, status))
        fail_msg("sample %d, bit %zu: %s", i, bit, szgpu_status_text(status));
      archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(archive.bytes);
  }
}

/* ---- lies, with corrected checksums ---- */

enum { MOST_FIELD_BYTES = 1 << 20 };

/* The other decoders must agree with the default one, unless they find wrong side data. */
static void assert_others_agree(const test_archive *archive, szgpu_status expected,
                                const void *field, void *other, size_t field_bytes) {
  szgpu_info const info = test_inspect(archive);
  if (info.layout == SZGPU_LAYOUT_TILE) return;
  for (int r = PLAIN_READERS; r < READERS; r++) {
    if (!szgpu_decoder_reads(decoders[r], &info)) continue;
    szgpu_status const status =
        szgpu_decompress(readers[r], archive->bytes, archive->byte_count, other, field_bytes);
    bool const looks_at_gaps = info.has_gaps && (decoders[r] == SZGPU_DECODER_SERIAL ||
                                                 decoders[r] == SZGPU_DECODER_HIERARCHICAL);
    if (status != expected && !(looks_at_gaps && status == SZGPU_BAD_DATA))
      fail_msg("decoder %d: %s, not %s", decoders[r], szgpu_status_text(status),
               szgpu_status_text(expected));
    if (status == SZGPU_OK) assert_memory_equal(other, field, field_bytes);
  }
}

static void survives(test_archive *archive) {
  archive_rehash(archive);
  szgpu_info info = {.struct_bytes = sizeof info};
  if (szgpu_inspect(archive->bytes, archive->byte_count, &info) != SZGPU_OK) return;
  szgpu_frame_info frame = {.struct_bytes = sizeof frame};
  assert_true(szgpu_inspect_frames(archive->bytes, archive->byte_count, 0, 1, &frame) <=
              SZGPU_BAD_DATA);
  size_t const field_bytes = info.field_bytes <= MOST_FIELD_BYTES ? info.field_bytes : 64;
  uint8_t *const by_one = test_allocate(field_bytes), *const by_three = test_allocate(field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, archive->bytes, archive->byte_count, by_one, field_bytes);
  assert_int_equal(
      szgpu_decompress(three_threads, archive->bytes, archive->byte_count, by_three, field_bytes),
      status);
  assert_true(status <= SZGPU_BAD_DATA);
  if (status == SZGPU_OK) assert_memory_equal(by_one, by_three, field_bytes);
  assert_others_agree(archive, status, by_one, by_three, field_bytes);
  if (info.field_bytes <= MOST_FIELD_BYTES) {
    size_t const row_bytes = info.field_bytes / info.shape.dims[0];
    uint64_t const row = info.shape.dims[0] / 2;
    uint8_t *const slab = test_allocate(row_bytes);
    szgpu_status const slab_status =
        szgpu_decompress_slab(ctx, archive->bytes, archive->byte_count, row, 1, slab, row_bytes);
    assert_true(slab_status <= SZGPU_BAD_DATA);
    if (status == SZGPU_OK && slab_status == SZGPU_OK)
      assert_memory_equal(slab, by_one + row * row_bytes, row_bytes);
    free(slab);
  }
  free(by_one);
  free(by_three);
}

static void any_byte_may_lie(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) lie_in_any_byte(&samples[i], &random, survives);
}

static void any_number_of_the_headers_may_lie(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) lie_in_headers(&samples[i], survives);
}

static void many_bytes_may_lie_at_once(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) lie_in_sections(&samples[i], &random, 1000, survives);
}

/* ---- lies that must be found ---- */

typedef enum place { HEADER, FRAME, SECTION_0, SECTION_1, SECTION_2, SECTION_3 } place;

static size_t offset_of(const test_archive *archive, place at) {
  if (at == HEADER) return 0;
  if (at == FRAME) return archive_frame_offset(archive, 0);
  return archive_section_offset(archive, 0, at - SECTION_0);
}

/* Breaks every rule of docs/format.md, section 15, one at a time. */
static void what_the_format_forbids_is_refused(void **state) {
  (void)state;
  static struct {
    int sample;
    place at;
    size_t offset;
    unsigned width;
    uint64_t value;
  } const edits[] = {
      {WEIGHTS_2, HEADER, 8, 4, 2},   /* the tile layout's version */
      {WEIGHTS_2, HEADER, 12, 4, 2},  /* no gap arrays: not in this layout */
      {WEIGHTS_2, HEADER, 16, 1, 10}, /* no such type */
      {WEIGHTS_2, HEADER, 18, 1, 0},  /* another mode */
      {WEIGHTS_2, FRAME, 0, 1, 0},    /* a linear frame */
      {WEIGHTS_2, FRAME, 0, 1, 1},    /* a constant frame */
      {WEIGHTS_2, FRAME, 0, 1, 3},    /* a tile frame */
      {WEIGHTS_2, FRAME, 0, 1, 5},    /* an unknown kind */
      {RAW, FRAME, 0, 1, 4},          /* planes of no bytes */
      {WEIGHTS_2, FRAME, 1, 1, 1},    /* axes */
      {RAW, FRAME, 1, 1, 1},
      {RAW, FRAME, 2, 1, 1},       /* escape bytes */
      {WEIGHTS_2, FRAME, 2, 1, 0}, /* bytes of a value */
      {WEIGHTS_2, FRAME, 2, 1, 1},
      {WEIGHTS_2, FRAME, 2, 1, 3},
      {WEIGHTS_2, FRAME, 2, 1, 4},
      {BYTES, FRAME, 2, 1, 2},        /* 323 bytes are not values of two */
      {NOTHING, FRAME, 3, 1, 4},      /* tile flags */
      {WEIGHTS_2, FRAME, 4, 4, 0x0},  /* modes: both stored, with the sections of coded ones */
      {WEIGHTS_2, FRAME, 4, 4, 0xC},  /* mode 3 */
      {WEIGHTS_2, FRAME, 4, 4, 0x14}, /* a mode for a plane that does not exist */
      {WEIGHTS_2, FRAME, 4, 4, 0x8},  /* constant, with the sections of a coded one */
      {WEIGHTS_2, FRAME, 4, 4, 0x6},  /* one section too many */
      {NOTHING, FRAME, 4, 4, 0x2A},
      {WEIGHTS_2, FRAME, 24, 8, 0x100}, /* a constant for a coded plane */
      {WEIGHTS_2, FRAME, 24, 8, 1},     /* for a stored one */
      {NOTHING, FRAME, 24, 8, 0x10000}, /* for no plane */
      {RAW, FRAME, 24, 8, 1},
      {WEIGHTS_2, FRAME, 16, 8, 400},      /* value count */
      {WEIGHTS_2, FRAME, 40, 4, 3},        /* section kinds */
      {WEIGHTS_2, SECTION_0, 0, 8, ~0ull}, /* lengths over 12 */
      {WEIGHTS_2, SECTION_0, 0, 1, 1},     /* an oversubscribed code */
      {WEIGHTS_2, SECTION_1, 0, 2, 0},     /* the tile's words: not all that there are */
      {WEIGHTS_2, SECTION_1, 0, 2, 65535},
      {WEIGHTS_2, SECTION_3, 2, 2, 12}, /* a width over 11 */
      {WEIGHTS_2, SECTION_3, 0, 2, 0},  /* the shortest lane gets shorter */
      {WEIGHTS_2, SECTION_3, 4, 4, 0},  /* lanes get shorter */
      {OLD_WEIGHTS, SECTION_2, 2, 2, 12},
      {OLD_WEIGHTS, SECTION_2, 4, 4, 0},
      {OLD_WEIGHTS, HEADER, 16, 1, 7},  /* u16, which version 3 does not have */
      {RAW, FRAME, 40, 4, 22},          /* plane words instead of raw values */
      {LINEAR, HEADER, 8, 4, 3},        /* version 3 has no lossless linear layout */
      {LINEAR, HEADER, 12, 4, 2},       /* no gap arrays, but there are */
      {LINEAR_BYTES, HEADER, 12, 4, 0}, /* gap arrays, but there are none */
      {LINEAR, HEADER, 12, 4, 1},       /* a fill value */
      {LINEAR, HEADER, 18, 1, 1},       /* another mode */
      {LINEAR, HEADER, 19, 1, 1},       /* another layout */
      {LINEAR, FRAME, 0, 1, 1},         /* a constant frame */
      {LINEAR, FRAME, 0, 1, 2},         /* a raw one */
      {LINEAR, FRAME, 0, 1, 3},         /* a tile frame */
      {LINEAR, FRAME, 0, 1, 4},         /* a planes frame */
      {LINEAR, FRAME, 1, 1, 1},         /* axes */
      {LINEAR, FRAME, 2, 1, 1},         /* escape bytes */
      {LINEAR, FRAME, 3, 1, 4},         /* tile flags */
      {LINEAR, FRAME, 4, 4, 127},       /* radius */
      {LINEAR, FRAME, 4, 4, 32768},
      {LINEAR, FRAME, 16, 8, 319},         /* value count */
      {LINEAR, FRAME, 24, 8, 1},           /* constant */
      {LINEAR, FRAME, 40 + 5 * 32, 4, 5},  /* escape counts instead of raw values */
      {LINEAR, SECTION_0, 1, 1, 1},        /* a byte of the book that is 0 */
      {LINEAR, SECTION_1, 0, 2, 0},        /* the tile's bits: not all of the stream's */
      {LINEAR_BYTES, SECTION_0, 6, 1, 2},  /* a lone code of two bits */
      {LINEAR_BYTES, SECTION_2, 0, 4, 1},  /* the bit pattern without a code */
      {LINEAR_BYTES, SECTION_2, 40, 1, 1}, /* unused bits */
  };
  for (size_t i = 0; i < ARRAY_COUNT(edits); i++) {
    const test_archive *const sound = &samples[edits[i].sample];
    test_archive archive = archive_copy(sound, sound->byte_count);
    archive_store(&archive, offset_of(sound, edits[i].at) + edits[i].offset, edits[i].width,
                  edits[i].value);
    archive_rehash(&archive);
    szgpu_status const status = damaged_decompress(ctx, &archive, field_bytes_of[edits[i].sample]);
    if (status != SZGPU_BAD_DATA) fail_msg("edit %zu: %s", i, szgpu_status_text(status));
    free(archive.bytes);
  }
}

/* Types of the same size have the same planes; other types are refused, even with enough room. */
static void only_types_of_the_same_size_read_it(void **state) {
  (void)state;
  for (int i = WEIGHTS_2; i <= OLD_WEIGHTS; i++) {
    test_archive archive = archive_copy(&samples[i], samples[i].byte_count);
    for (int dtype = 0; dtype < LOSSLESS_DTYPES; dtype++) {
      archive_store(&archive, 16, 1, (uint64_t)dtype);
      archive_rehash(&archive);
      size_t const width = test_dtype_bytes((szgpu_dtype)dtype);
      bool const has_version = i == WEIGHTS_2 || dtype <= SZGPU_FP8; /* version 3 lacks others */
      assert_int_equal(damaged_decompress(ctx, &archive, 401 * width),
                       width == 2 && has_version ? SZGPU_OK : SZGPU_BAD_DATA);
    }
    free(archive.bytes);
  }
}

/* Frames without sections, so that only their headers can be wrong. */
static void values_have_the_bytes_of_their_type(void **state) {
  (void)state;
  szgpu_shape const odd = test_shape(SZGPU_U8, 1, 5001, 0, 0, 0);
  szgpu_params const params = lossless_params();
  void *const field = lossless_make(FLAT, &odd);
  test_archive bytes = archive_plain(lossless_compress(ctx, &params, &odd, field));
  test_archive halves = archive_copy(&samples[NOTHING], samples[NOTHING].byte_count);
  size_t const frame = archive_frame_offset(&bytes, 0);
  for (uint32_t width = 1; width <= 2; width++) {
    archive_store(&bytes, frame + 2, 1, width);
    archive_store(&halves, frame + 2, 1, width);
    archive_store(&bytes, frame + 4, 4, width == 1 ? 0x2 : 0xA);
    archive_store(&halves, frame + 4, 4, width == 1 ? 0x2 : 0xA);
    archive_store(&bytes, frame + 24, 8, 0);
    archive_store(&halves, frame + 24, 8, 0);
    archive_rehash(&bytes);
    archive_rehash(&halves);
    assert_int_equal(damaged_decompress(ctx, &bytes, 5001), width == 1 ? SZGPU_OK : SZGPU_BAD_DATA);
    assert_int_equal(damaged_decompress(ctx, &halves, 10000),
                     width == 2 ? SZGPU_OK : SZGPU_BAD_DATA);
  }
  free(bytes.bytes);
  free(halves.bytes);
  free(field);
}

static void words_that_no_plane_has_are_refused(void **state) {
  (void)state;
  test_archive archive = archive_copy(&samples[BYTES], samples[BYTES].byte_count);
  size_t const size_at = archive_section_offset(&archive, 0, 1);
  uint64_t const words = test_bits_at(SZGPU_BF16, archive.bytes + size_at, 0);
  archive_resize_section(&archive, 0, 2, 4 * (words + 1));
  archive_store(&archive, size_at, 2, words + 1);
  archive_rehash(&archive);
  assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[BYTES]), SZGPU_BAD_DATA);
  free(archive.bytes);
}

/* Archives with a bound have no planes frames in versions 1 and 2; lossless archives have no
 * constant frames, and in the linear layout no planes frames. */
static void a_frame_of_another_mode_is_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 500, 0, 0, 0);
  szgpu_params const params = SZGPU_PARAMS_DEFAULTS;
  void *const field = test_make_waves(&shape);
  test_archive archive = archive_compress(ctx, &params, &shape, field);
  assert_int_equal(damaged_decompress(ctx, &archive, 2000), SZGPU_OK);
  archive_store(&archive, archive_frame_offset(&archive, 0), 8, SZG_FRAME_PLANES | 4 << 16);
  archive_rehash(&archive);
  assert_int_equal(damaged_decompress(ctx, &archive, 2000), SZGPU_BAD_DATA);
  free(archive.bytes);
  szgpu_params exact = params;
  exact.mode = SZGPU_MODE_ABS;
  exact.bound = 1e-30;
  archive = archive_compress(ctx, &exact, &shape, field);
  assert_string_equal(lossless_planes(&archive, 0), "csss");
  archive_store(&archive, 8, 4, SZG_FORMAT_VERSION_TILE);
  archive_rehash(&archive);
  assert_int_equal(damaged_decompress(ctx, &archive, 2000), SZGPU_BAD_DATA);
  free(archive.bytes);
  archive = archive_copy(&samples[NOTHING], samples[NOTHING].byte_count);
  archive_store(&archive, archive_frame_offset(&archive, 0), 8, SZG_FRAME_CONSTANT);
  archive_rehash(&archive);
  assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[NOTHING]), SZGPU_BAD_DATA);
  free(archive.bytes);
  archive = archive_copy(&samples[NOTHING], samples[NOTHING].byte_count);
  archive_store(&archive, 8, 4, SZG_FORMAT_VERSION_TOP_PLANE);
  archive_store(&archive, 19, 1, SZGPU_LAYOUT_LINEAR);
  archive_rehash(&archive);
  assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[NOTHING]), SZGPU_BAD_DATA);
  free(archive.bytes);
  free(field);
}

/* ---- the section of the words, by version ---- */

static void assert_refused(const test_archive *archive, int sample, szgpu_status status,
                           const char *sentence) {
  for (int r = 0; r < PLAIN_READERS; r++) {
    assert_int_equal(damaged_decompress(readers[r], archive, field_bytes_of[sample]), status);
    assert_string_equal(szgpu_last_error(readers[r]), sentence);
  }
}

static void assert_restored(const test_archive *archive, int sample) {
  for (int r = 0; r < PLAIN_READERS; r++) {
    void *const field = test_decompress(readers[r], archive, field_bytes_of[sample]);
    assert_memory_equal(field, fields[sample], field_bytes_of[sample]);
    free(field);
  }
}

/* Words are of kind 22 in version 7, and of kind 2 before. */
static void words_are_of_the_kind_of_the_version(void **state) {
  (void)state;
  static int const of_words[] = {WEIGHTS_2, BYTES, MIXED, FRAMES, PACKED};
  for (size_t i = 0; i < ARRAY_COUNT(of_words); i++) {
    int const sample = of_words[i];
    assert_int_equal(test_inspect(&samples[sample]).format_version, 7);
    test_archive archive = archive_copy(&samples[sample], samples[sample].byte_count);
    archive_store(&archive, 8, 4, SZG_FORMAT_VERSION_LOSSLESS);
    archive_rehash(&archive);
    assert_refused(&archive, sample, SZGPU_BAD_DATA,
                   "section 'plane words' of frame 0 should not be there");
    make_old(&archive);
    assert_restored(&archive, sample);
    archive_store(&archive, 8, 4, SZG_FORMAT_VERSION_PLANE_WORDS);
    archive_rehash(&archive);
    assert_refused(&archive, sample, SZGPU_BAD_DATA,
                   "section 'bitstream' of frame 0 should not be there");
    free(archive.bytes);
  }
}

/* All frames have their words as the version says, not only the first. */
static void no_frame_may_have_words_of_another_version(void **state) {
  (void)state;
  test_archive archive = archive_copy(&samples[FRAMES], samples[FRAMES].byte_count);
  archive_order_as_before_7(&archive, 1);
  archive_rehash(&archive);
  assert_refused(&archive, FRAMES, SZGPU_BAD_DATA,
                 "section 'bitstream' of frame 1 should not be there");
  archive_order_as_before_7(&archive, 0);
  archive_store(&archive, 8, 4, SZG_FORMAT_VERSION_LOSSLESS);
  archive_rehash(&archive);
  assert_restored(&archive, FRAMES); /* the third frame is raw */
  free(archive.bytes);
}

/* With a bound, or with types of version 6. */
static void words_of_other_archives_are_of_the_kind_of_the_version(void **state) {
  (void)state;
  static struct {
    szgpu_mode mode;
    szgpu_dtype dtype;
    uint32_t versions[2];
  } const cases[] = {{SZGPU_MODE_LOSSLESS, SZGPU_I16, {6, 6}},
                     {SZGPU_MODE_ABS, SZGPU_F32, {3, 5}},
                     {SZGPU_MODE_ABS, SZGPU_BF16, {6, 6}},
                     {SZGPU_MODE_PWREL, SZGPU_F64, {6, 6}}};
  for (size_t c = 0; c < ARRAY_COUNT(cases); c++) {
    szgpu_shape const shape = test_shape(cases[c].dtype, 1, 5000, 0, 0, 0);
    size_t const field_bytes = test_field_bytes(&shape);
    szgpu_params params = lossless_params();
    params.mode = cases[c].mode;
    params.bound = 1e-30;
    void *const field = lossless_make(WEIGHTS, &shape);
    test_archive const sound = archive_plain(lossless_compress(ctx, &params, &shape, field));
    assert_int_equal(test_inspect(&sound).format_version, 7);
    assert_true(test_has_coded_planes(&sound));
    test_archive old = archive_copy(&sound, sound.byte_count);
    archive_order_as_before_7(&old, 0);
    for (uint32_t version = 1; version <= 7; version++) {
      bool const is_old = version == cases[c].versions[0] || version == cases[c].versions[1];
      test_archive new = archive_copy(&sound, sound.byte_count);
      archive_store(&new, 8, 4, version);
      archive_rehash(&new);
      assert_int_equal(damaged_decompress(ctx, &new, field_bytes),
                       version == 7 ? SZGPU_OK : SZGPU_BAD_DATA);
      archive_store(&old, 8, 4, version);
      archive_rehash(&old);
      assert_int_equal(damaged_decompress(ctx, &old, field_bytes),
                       is_old ? SZGPU_OK : SZGPU_BAD_DATA);
      free(new.bytes);
    }
    archive_store(&old, 8, 4, cases[c].versions[0]);
    archive_rehash(&old);
    void *const restored = test_decompress(ctx, &old, field_bytes);
    assert_memory_equal(restored, field, field_bytes);
    free(restored);
    free(old.bytes);
    free(sound.bytes);
    free(field);
  }
}

static void damaged_and_missing_words_are_named(void **state) {
  (void)state;
  const test_archive *const sound = &samples[WEIGHTS_2];
  uint32_t const words = archive_section_of_kind(sound, 0, SZG_SECTION_PLANE_WORDS);
  size_t const first = archive_section_offset(sound, 0, words);
  assert_int_equal(words, archive_section_count(sound, 0) - 1);
  for (size_t at = first; at < sound->byte_count; at++) { /* also the padding */
    test_archive const archive = archive_copy(sound, sound->byte_count);
    archive.bytes[at] ^= 4;
    assert_refused(&archive, WEIGHTS_2, SZGPU_BAD_CHECKSUM, "section 'plane words' of frame 0");
    free(archive.bytes);
  }
  test_archive archive = archive_copy(sound, sound->byte_count);
  archive_resize_section(&archive, 0, words, 0);
  archive_rehash(&archive);
  assert_refused(&archive, WEIGHTS_2, SZGPU_BAD_DATA,
                 "section 'plane words' of frame 0 has a size that cannot be");
  free(archive.bytes);
  archive = archive_without_section(archive_copy(sound, sound->byte_count), words);
  archive_rehash(&archive);
  assert_refused(&archive, WEIGHTS_2, SZGPU_BAD_DATA,
                 "section 'plane words' of frame 0 is missing");
  free(archive.bytes);
}

static void bits_after_the_last_lane_are_0(void **state) {
  (void)state;
  const test_archive *const sound = &samples[BYTES];
  test_archive archive = archive_copy(sound, sound->byte_count);
  size_t const end = archive_section_offset(sound, 0, 2) +
                     test_bits_at(SZGPU_F64, sound->bytes + archive_entry_offset(sound, 0, 2), 2);
  assert_int_equal(archive.bytes[end - 4] & 1, 0); /* there are padding bits */
  archive.bytes[end - 4] |= 1;
  archive_rehash(&archive);
  assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[BYTES]), SZGPU_BAD_DATA);
  free(archive.bytes);
}

static void sections_of_another_size_are_refused(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    if (i == PACKED) continue;
    for (uint32_t section = 0; section < archive_section_count(&samples[i], 0); section++) {
      size_t const entry = archive_entry_offset(&samples[i], 0, section);
      uint64_t const bytes = test_bits_at(SZGPU_F64, samples[i].bytes + entry, 2);
      uint64_t const sizes[] = {0, bytes - 1, bytes + 1, bytes + 4, bytes + 16, 2 * bytes};
      for (size_t s = 0; s < ARRAY_COUNT(sizes); s++) {
        test_archive archive = archive_copy(&samples[i], samples[i].byte_count);
        archive_resize_section(&archive, 0, section, sizes[s]);
        archive_rehash(&archive);
        assert_int_equal(damaged_decompress(ctx, &archive, field_bytes_of[i]), SZGPU_BAD_DATA);
        free(archive.bytes);
      }
    }
  }
}

/* One row of a field that claims to be huge takes little time and memory. */
static void a_row_of_a_claimed_huge_field_is_restored(void **state) {
  (void)state;
  for (int log = 20; log <= 60; log += 4) {
    test_archive archive = archive_copy(&samples[NOTHING], samples[NOTHING].byte_count);
    uint64_t const rows = (uint64_t)1 << log;
    archive_store(&archive, 24, 8, rows); /* dims[0] */
    archive_store(&archive, 96, 8, rows); /* frame rows */
    archive_store(&archive, archive_frame_offset(&archive, 0) + 16, 8, rows);
    archive_rehash(&archive);
    uint16_t value = 0;
    assert_int_equal(szgpu_decompress_slab(ctx, archive.bytes, archive.byte_count, rows - 1, 1,
                                           &value, sizeof value),
                     SZGPU_OK);
    assert_int_equal(value, *(uint16_t *)fields[NOTHING]);
    free(archive.bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(truncated_at_every_byte_says_so),
      cmocka_unit_test(every_flipped_bit_is_found_and_named),
      cmocka_unit_test(any_byte_may_lie),
      cmocka_unit_test(any_number_of_the_headers_may_lie),
      cmocka_unit_test(many_bytes_may_lie_at_once),
      cmocka_unit_test(what_the_format_forbids_is_refused),
      cmocka_unit_test(only_types_of_the_same_size_read_it),
      cmocka_unit_test(values_have_the_bytes_of_their_type),
      cmocka_unit_test(words_that_no_plane_has_are_refused),
      cmocka_unit_test(a_frame_of_another_mode_is_refused),
      cmocka_unit_test(words_are_of_the_kind_of_the_version),
      cmocka_unit_test(no_frame_may_have_words_of_another_version),
      cmocka_unit_test(words_of_other_archives_are_of_the_kind_of_the_version),
      cmocka_unit_test(damaged_and_missing_words_are_named),
      cmocka_unit_test(bits_after_the_last_lane_are_0),
      cmocka_unit_test(sections_of_another_size_are_refused),
      cmocka_unit_test(a_row_of_a_claimed_huge_field_is_restored),
  };
  return cmocka_run_group_tests(tests, make_samples, free_samples);
}
