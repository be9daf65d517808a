/* test_stream_decoders.c - linear archives with and without gap arrays, by every CPU decoder.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The decoders self-sync and all-offsets do not know tiles, so the library must compare the tiles'
 * sizes with what they found. On damaged streams all decoders must agree.
 */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "container/format.h"
#include "stream_readers.h"

/* An archive in a block of exactly its size. */
static test_archive make_archive(const szgpu_shape *shape, szgpu_params params, const void *field) {
  test_archive const roomy = archive_compress(readers[0][0], &params, shape, field);
  test_archive const archive = archive_copy(&roomy, roomy.byte_count);
  free(roomy.bytes);
  return archive;
}

static szgpu_params make_params(double bound, int without_gaps) {
  szgpu_params params = test_linear_params(SZGPU_MODE_ABS, bound);
  params.without_gaps = without_gaps;
  return params;
}

/* Waves, with outliers of every kind unless is_smooth. */
static void *make_field(const szgpu_shape *shape, bool is_smooth) {
  void *const field = test_make_waves(shape);
  for (uint64_t i = 0; i < test_value_count(shape) && !is_smooth; i++) {
    if (test_hash(i) % 50 == 0) test_set_value(shape->dtype, field, i, 1e20);
    if (test_hash(i) % 97 == 0) test_set_value(shape->dtype, field, i, (double)NAN);
    if (test_hash(i) % 201 == 0) test_set_value(shape->dtype, field, i, 3e4);
  }
  return field;
}

/* ---- sound archives ---- */

static void assert_all_read(const test_archive *archive, const szgpu_shape *shape,
                            const void *field, test_random *random) {
  uint8_t *const whole = test_decompress(readers[0][0], archive, test_field_bytes(shape));
  szgpu_info const info = test_inspect(archive);
  test_assert_bound(shape, field, whole, &info);
  for (int d = 0; d < READER_DECODERS; d++)
    for (int t = 0; t < READER_THREAD_COUNTS; t++)
      if (szgpu_decoder_reads(reader_decoders[d], &info))
        assert_reads(readers[d][t], archive, shape, whole, random);
  free(whole);
}

static void all_decoders_read_alike(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_F32, 1, {1}},         {SZGPU_F64, 1, {4097}},
                                       {SZGPU_F32, 1, {70001}},     {SZGPU_F32, 2, {200, 133}},
                                       {SZGPU_F32, 3, {50, 9, 65}}, {SZGPU_F64, 4, {5, 17, 9, 9}}};
  static double const bounds[] = {1e-3, 0.3, 1e3}; /* the last: a book of one symbol */
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (size_t b = 0; b < ARRAY_COUNT(bounds); b++)
      for (int variant = 0; variant < 4; variant++) { /* gaps or not, frames or not */
        if (b != 1 && variant % 3 == 0) continue;     /* enough of them */
        szgpu_params params = make_params(bounds[b], variant % 2);
        params.frame_rows = variant / 2 * 64;
        params.zstd_level = variant == 3;
        params.radius = b == 1 ? 16 : 0; /* escapes */
        void *const field = make_field(&shapes[s], b == 2);
        test_archive const archive = make_archive(&shapes[s], params, field);
        szgpu_info const info = test_inspect(&archive);
        assert_int_equal(info.has_gaps, !params.without_gaps);
        assert_int_equal(archive_plain_version(&archive), params.without_gaps ? 3 : 1);
        assert_all_read(&archive, &shapes[s], field, &random);
        free(archive.bytes);
        free(field);
      }
}

/* The same sections in the same order, except those two. */
static void without_gaps_an_archive_lacks_two_sections(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 100, 90, 0, 0);
  void *const field = make_field(&shape, false);
  test_archive const with = make_archive(&shape, make_params(0.5, 0), field);
  test_archive const without = make_archive(&shape, make_params(0.5, 1), field);
  assert_int_equal(archive_section_count(&with, 0), archive_section_count(&without, 0) + 2);
  for (uint32_t i = 0, kept = 0; i < archive_section_count(&with, 0); i++) {
    size_t const entry = archive_entry_offset(&with, 0, i);
    if (with.bytes[entry] == SZG_SECTION_GAPS || with.bytes[entry] == SZG_SECTION_SEQUENCE_CODES)
      continue;
    assert_memory_equal(without.bytes + archive_entry_offset(&without, 0, kept), with.bytes + entry,
                        32);
    kept++;
  }
  free(with.bytes);
  free(without.bytes);
  free(field);
}

/* ---- what is refused ---- */

static void tile_sizes_that_the_stream_has_not_are_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 30000, 0, 0, 0); /* eight tiles */
  void *const field = make_field(&shape, false);
  for (int without_gaps = 0; without_gaps <= 1; without_gaps++) {
    test_archive const sound = make_archive(&shape, make_params(0.5, without_gaps), field);
    assert_shifted_tile_sizes_refused(&sound, 8, test_field_bytes(&shape));
    free(sound.bytes);
  }
  free(field);
}

/* Once, only a decoder's own assertion found this. */
static void a_book_without_codes_is_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 3000, 0, 0, 0);
  void *const field = make_field(&shape, true);
  for (int without_gaps = 0; without_gaps <= 1; without_gaps++) {
    test_archive archive = make_archive(&shape, make_params(1e3, without_gaps), field);
    size_t const book = archive_section_offset(&archive, 0, 0);
    assert_int_equal(archive.bytes[book] | archive.bytes[book + 6], 1); /* one code, of one bit */
    archive.bytes[book] = archive.bytes[book + 6] = 0;
    assert_all_refuse(&archive, test_field_bytes(&shape));
    free(archive.bytes);
  }
  free(field);
}

static void gap_arrays_are_there_just_if_the_header_says_so(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 30, 90, 0, 0);
  void *const field = make_field(&shape, true);
  test_archive with = make_archive(&shape, make_params(0.5, 0), field);
  test_archive without = make_archive(&shape, make_params(0.5, 1), field);
  archive_store(&with, 8, 4, SZG_FORMAT_VERSION_LOSSLESS);
  archive_store(&with, 12, 4, SZG_FLAG_NO_GAPS);
  assert_all_refuse(&with, test_field_bytes(&shape));
  archive_store(&without, 8, 4, SZG_FORMAT_VERSION_LINEAR);
  archive_store(&without, 12, 4, 0);
  assert_all_refuse(&without, test_field_bytes(&shape));
  archive_store(&without, 12, 4, SZG_FLAG_NO_GAPS); /* version 1 has no such flag */
  assert_all_refuse(&without, test_field_bytes(&shape));
  free(with.bytes);
  free(without.bytes);
  free(field);
}

/* Of those that read archives with a bound, only serial looks at gaps and sequence codes: what
 * docs/security.md says. test_top_plane.c has lossless archives. */
static void only_some_decoders_look_at_gaps(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 3000, 0, 0, 0);
  void *const field = make_field(&shape, true);
  uint8_t *const restored = test_allocate(test_field_bytes(&shape));
  for (uint32_t kind = SZG_SECTION_GAPS; kind <= SZG_SECTION_SEQUENCE_CODES; kind++) {
    test_archive archive = make_archive(&shape, make_params(0.5, 0), field);
    archive
        .bytes[archive_section_offset(&archive, 0, archive_section_of_kind(&archive, 0, kind))] ^=
        1;
    archive_rehash(&archive);
    szgpu_info const info = test_inspect(&archive);
    for (int d = 0; d < READER_DECODERS; d++)
      if (szgpu_decoder_reads(reader_decoders[d], &info))
        assert_int_equal(
            reader_decompress(readers[d][0], &archive, restored, test_field_bytes(&shape)),
            looks_at_gaps(reader_decoders[d]) ? SZGPU_BAD_DATA : SZGPU_OK);
    free(archive.bytes);
  }
  free(restored);
  free(field);
}

/* ---- lies ---- */

static void decoders_agree_on_any_book_sizes_and_stream(void **state) {
  (void)state;
  static const uint32_t kinds[] = {SZG_SECTION_CODEBOOK, SZG_SECTION_TILE_SIZES,
                                   SZG_SECTION_BITSTREAM};
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 9000, 0, 0, 0); /* three tiles */
  void *const field = make_field(&shape, true);
  uint64_t accepted = 0;
  for (int b = 0; b < 3; b++) {
    test_archive const sound = make_archive(&shape, make_params(b ? 2.0 * b : 1e3, 1), field);
    test_archive archive = archive_copy(&sound, sound.byte_count);
    for (int round = 0; round < 250; round++) {
      uint32_t const kind = kinds[round % 3];
      uint32_t const section = archive_section_of_kind(&sound, 0, kind);
      uint64_t const bytes =
          test_bits_at(SZGPU_F64, sound.bytes + archive_entry_offset(&sound, 0, section), 2);
      memcpy(archive.bytes, sound.bytes, sound.byte_count);
      flip_bits_of_section(&archive, section, bytes, &random);
      accepted += all_agree(&archive, test_field_bytes(&shape));
    }
    free(archive.bytes);
    free(sound.bytes);
  }
  assert_in_range(accepted, 20, 730); /* neither all nor none */
  free(field);
}

/* ---- which decoder reads what ---- */

/* The refusal for a letter in the table below; +: the archive is read. */
static const char *refusal_of(char letter) {
  switch (letter) {
    case 't':
      return "has the tile layout";
    case 'p':
      return "is lossless in the tile layout";
    case 'l':
      return "is not lossless";
    case 'g':
      return "has no gap array";
    default:
      return "is not known";
  }
}

static void a_decoder_says_what_it_reads(void **state) {
  (void)state;
  static struct {
    szgpu_decoder decoder;
    const char *letters; /* one for each archive below */
  } const rows[] = {
      {SZGPU_DECODER_AUTO, "++++++"},        {SZGPU_DECODER_SERIAL, "+++p++"},
      {SZGPU_DECODER_TABLE, "++++++"},       {SZGPU_DECODER_GAP_ARRAY, "t+gt+g"},
      {SZGPU_DECODER_CHUNKED, "t++t++"},     {SZGPU_DECODER_SELF_SYNC, "t++t++"},
      {SZGPU_DECODER_ALL_OFFSETS, "t++t++"}, {SZGPU_DECODER_HIERARCHICAL, "tllt+g"},
      {(szgpu_decoder)8, "??????"},          {(szgpu_decoder)-1, "??????"},
  };
  static szgpu_mode const rel = SZGPU_MODE_REL, lossless = SZGPU_MODE_LOSSLESS;
  szgpu_info const infos[] = {
      {.mode = rel, .layout = SZGPU_LAYOUT_TILE},
      {.mode = rel, .layout = SZGPU_LAYOUT_LINEAR, .has_gaps = 1},
      {.mode = rel, .layout = SZGPU_LAYOUT_LINEAR},
      {.mode = lossless, .layout = SZGPU_LAYOUT_TILE},
      {.mode = lossless, .layout = SZGPU_LAYOUT_LINEAR, .has_gaps = 1},
      {.mode = lossless, .layout = SZGPU_LAYOUT_LINEAR},
  };
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    for (size_t k = 0; k < ARRAY_COUNT(infos); k++) {
      char const letter = rows[i].letters[k];
      const char *const refusal = szgpu_decoder_refusal(rows[i].decoder, &infos[k]);
      assert_int_equal(szgpu_decoder_reads(rows[i].decoder, &infos[k]), letter == '+');
      if (letter == '+')
        assert_null(refusal);
      else
        assert_string_equal(refusal, refusal_of(letter));
    }
    assert_int_equal(szgpu_decoder_reads(rows[i].decoder, NULL), 0);
    assert_string_equal(szgpu_decoder_refusal(rows[i].decoder, NULL), "is not known");
  }
}

/* ---- the list of decoders ---- */

static int decoder_count(void) {
  int count = 0;
  while (szgpu_decoder_name((szgpu_decoder)count)) count++;
  return count;
}

static void the_list_of_decoders_ends(void **state) {
  (void)state;
  static const char *const names[] = {"auto",    "serial",    "table",       "gap-array",
                                      "chunked", "self-sync", "all-offsets", "hierarchical"};
  assert_int_equal(decoder_count(), ARRAY_COUNT(names));
  for (int d = 0; d < decoder_count(); d++)
    assert_string_equal(szgpu_decoder_name((szgpu_decoder)d), names[d]);
  static int const none[] = {ARRAY_COUNT(names), ARRAY_COUNT(names) + 1, -1, INT_MAX, INT_MIN};
  for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
    assert_null(szgpu_decoder_name((szgpu_decoder)none[i]));
    assert_null(szgpu_decoder_summary((szgpu_decoder)none[i]));
    assert_int_equal(szgpu_decoder_runs_on((szgpu_decoder)none[i], SZGPU_BACKEND_AUTO), 0);
  }
}

static void names_of_decoders_are_unique_and_summaries_are_one_line(void **state) {
  (void)state;
  for (int d = 0; d < decoder_count(); d++) {
    const char *const name = szgpu_decoder_name((szgpu_decoder)d);
    const char *const summary = szgpu_decoder_summary((szgpu_decoder)d);
    assert_non_null(summary);
    assert_in_range(strlen(summary), 10, 58); /* fits beside its name in 80 columns */
    assert_null(strchr(summary, '\n'));
    assert_int_not_equal(summary[strlen(summary) - 1], '.');
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
    for (int other = 0; other < d; other++)
      assert_string_not_equal(name, szgpu_decoder_name((szgpu_decoder)other));
  }
}

/* szgpu_create accepts exactly what szgpu_decoder_runs_on says, if the build has the backend. */
static void a_backend_takes_the_decoders_that_run_on_it(void **state) {
  (void)state;
  static const char *const backends = "BCCGGBBB"; /* CPU, GPU or both, by decoder */
  for (int d = 0; d < decoder_count(); d++) {
    szgpu_decoder const decoder = (szgpu_decoder)d;
    assert_int_equal(szgpu_decoder_runs_on(decoder, SZGPU_BACKEND_CPU), backends[d] != 'G');
    assert_int_equal(szgpu_decoder_runs_on(decoder, SZGPU_BACKEND_CUDA), backends[d] != 'C');
    assert_int_equal(szgpu_decoder_runs_on(decoder, SZGPU_BACKEND_AUTO), 1);
    for (int b = SZGPU_BACKEND_AUTO; b <= SZGPU_BACKEND_CUDA; b++) {
      szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
      options.backend = (szgpu_backend)b;
      options.decoder = decoder;
      bool const needs_cuda = options.backend == SZGPU_BACKEND_CUDA || backends[d] == 'G';
      bool const is_taken =
          szgpu_decoder_runs_on(decoder, options.backend) && (szgpu_has_cuda() || !needs_cuda);
      szgpu_ctx *ctx;
      assert_int_equal(szgpu_create(&ctx, &options), is_taken ? SZGPU_OK : SZGPU_UNSUPPORTED);
      szgpu_destroy(ctx);
    }
  }
}

/* Exactly the archives that szgpu_decoder_reads denies are refused, in one sentence. */
static void an_archive_that_is_not_read_is_refused_in_a_sentence(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 3000, 0, 0, 0);
  static const char *const names[] = {"auto",      "serial",      "table",
                                      "self-sync", "all-offsets", "hierarchical"};
  void *const field = make_field(&shape, true);
  void *const restored = test_allocate(test_field_bytes(&shape));
  szgpu_params const tile = SZGPU_PARAMS_DEFAULTS;
  szgpu_params lossless = SZGPU_PARAMS_DEFAULTS;
  lossless.mode = SZGPU_MODE_LOSSLESS;
  test_archive const archives[] = {make_archive(&shape, tile, field),
                                   make_archive(&shape, lossless, field)};
  for (size_t a = 0; a < ARRAY_COUNT(archives); a++)
    for (int d = 0; d < READER_DECODERS; d++) {
      szgpu_info const info = test_inspect(&archives[a]);
      szgpu_status const status =
          szgpu_decompress(readers[d][0], archives[a].bytes, archives[a].byte_count, restored,
                           test_field_bytes(&shape));
      char sentence[100];
      bool const is_serial = reader_decoders[d] == SZGPU_DECODER_SERIAL;
      snprintf(sentence, sizeof sentence, "the archive %s: the decoder %s does not read it",
               is_serial ? "is lossless in the tile layout" : "has the tile layout", names[d]);
      bool const is_read = szgpu_decoder_reads(reader_decoders[d], &info);
      assert_int_equal(status, is_read ? SZGPU_OK : SZGPU_UNSUPPORTED);
      assert_string_equal(szgpu_last_error(readers[d][0]), is_read ? "" : sentence);
    }
  for (size_t a = 0; a < ARRAY_COUNT(archives); a++) free(archives[a].bytes);
  free(restored);
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_decoders_read_alike),
      cmocka_unit_test(without_gaps_an_archive_lacks_two_sections),
      cmocka_unit_test(tile_sizes_that_the_stream_has_not_are_refused),
      cmocka_unit_test(a_book_without_codes_is_refused),
      cmocka_unit_test(gap_arrays_are_there_just_if_the_header_says_so),
      cmocka_unit_test(only_some_decoders_look_at_gaps),
      cmocka_unit_test(decoders_agree_on_any_book_sizes_and_stream),
      cmocka_unit_test(a_decoder_says_what_it_reads),
      cmocka_unit_test(the_list_of_decoders_ends),
      cmocka_unit_test(names_of_decoders_are_unique_and_summaries_are_one_line),
      cmocka_unit_test(a_backend_takes_the_decoders_that_run_on_it),
      cmocka_unit_test(an_archive_that_is_not_read_is_refused_in_a_sentence),
  };
  return cmocka_run_group_tests(tests, make_readers, destroy_readers);
}
