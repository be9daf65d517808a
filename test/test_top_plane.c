/* test_top_plane.c - lossless archives of the linear layout, by every CPU decoder.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tests compare decoders with the field itself, and on archives that lie with one another.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_edit.h"
#include "container/format.h"
#include "lossless_fields.h"
#include "stream_readers.h"

static szgpu_params make_params(int without_gaps) {
  szgpu_params params = lossless_params();
  params.layout = SZGPU_LAYOUT_LINEAR;
  params.without_gaps = without_gaps;
  return params;
}

/* ---- sound archives ---- */

/* Each decoder that reads the archive restores it, with one thread and with three. */
static void assert_all_read(const test_archive *archive, const szgpu_shape *shape,
                            const void *field, test_random *random) {
  szgpu_info const info = test_inspect(archive);
  for (int d = 0; d < READER_DECODERS; d++)
    for (int t = 0; t < READER_THREAD_COUNTS; t++) {
      if (szgpu_decoder_reads(reader_decoders[d], &info)) {
        assert_reads(readers[d][t], archive, shape, field, random);
        continue;
      }
      uint8_t nothing[8];
      assert_int_equal(reader_decompress(readers[d][t], archive, nothing, sizeof nothing),
                       SZGPU_UNSUPPORTED);
      assert_string_equal(
          szgpu_last_error(readers[d][t]),
          "the archive has no gap array: the decoder hierarchical does not read it");
    }
}

static void all_decoders_give_the_field_back(void **state) {
  (void)state;
  static const szgpu_shape shapes[] = {{SZGPU_U8, 1, {1}},          {SZGPU_U8, 1, {70001}},
                                       {SZGPU_BF16, 1, {4097}},     {SZGPU_BF16, 2, {200, 133}},
                                       {SZGPU_F16, 3, {50, 9, 65}}, {SZGPU_FP8, 3, {1, 100, 90}},
                                       {SZGPU_F32, 2, {3, 40000}},  {SZGPU_F64, 4, {5, 17, 9, 9}}};
  test_random random = test_random_begin();
  for (size_t s = 0; s < ARRAY_COUNT(shapes); s++)
    for (int kind = 0; kind < LOSSLESS_KINDS; kind++)
      for (int variant = 0; variant < 4; variant++) { /* gaps or not, frames and zstd or not */
        szgpu_params params = make_params(variant % 2);
        params.frame_rows = variant / 2 * 64;
        params.zstd_level = variant / 2;
        void *const field = lossless_make((lossless_kind)kind, &shapes[s]);
        test_archive const archive =
            archive_plain(lossless_compress(readers[0][0], &params, &shapes[s], field));
        szgpu_info const info = test_inspect(&archive);
        assert_int_equal(archive_plain_version(&archive), 4);
        assert_int_equal(info.has_gaps, !params.without_gaps);
        assert_all_read(&archive, &shapes[s], field, &random);
        free(archive.bytes);
        free(field);
      }
}

/* Near the ends of tiles, subsequences, sequences and words; very small frames are raw. */
static void any_number_of_values_comes_back(void **state) {
  (void)state;
  uint64_t linear_frames = 0;
  test_random random = test_random_begin();
  for (uint64_t count = 1; count <= 9000; count += count < 60 ? 1 : count < 300 ? 7 : 241) {
    szgpu_shape const shape = test_shape((szgpu_dtype)(count % LOSSLESS_DTYPES), 1, count, 0, 0, 0);
    szgpu_params const params = make_params(0);
    void *const field = lossless_make(WEIGHTS, &shape);
    test_archive const archive =
        archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
    linear_frames += lossless_planes(&archive, 0)[0] == 'c';
    assert_all_read(&archive, &shape, field, &random);
    free(archive.bytes);
    free(field);
  }
  assert_in_range(linear_frames, 40, 120);
}

/* Fibonacci numbers as counts give the longest codes: 16 bits; 21 without the limit. */
static void codes_of_16_bits_are_read(void **state) {
  (void)state;
  enum { SYMBOLS = 22 };
  uint64_t counts[SYMBOLS] = {1, 1}, total = 2, place = 0;
  for (int s = 2; s < SYMBOLS; s++) total += counts[s] = counts[s - 1] + counts[s - 2];
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, total, 0, 0, 0);
  uint8_t *const field = test_allocate(total);
  for (int s = 0; s < SYMBOLS; s++)
    for (uint64_t i = 0; i < counts[s]; i++) field[place++] = (uint8_t)(116 + s); /* 128 occurs */
  test_random random = test_random_begin();
  for (uint64_t i = total - 1; i > 0; i--) {
    uint64_t const other = test_random_below(&random, i + 1);
    uint8_t const symbol = field[i];
    field[i] = field[other];
    field[other] = symbol;
  }
  szgpu_params const params = make_params(0);
  test_archive const archive =
      archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
  assert_string_equal(lossless_planes(&archive, 0), "c");
  assert_all_read(&archive, &shape, field, &random);
  uint8_t const *const book = archive.bytes + archive_section_offset(&archive, 0, 0);
  assert_int_equal(book[6] & 31, 16); /* the length of the first symbol */
  free(archive.bytes);
  free(field);
}

/* ---- what is in the archives ---- */

static uint64_t raw_bytes_at(const test_archive *archive, uint32_t section) {
  return test_bits_at(SZGPU_F64, archive->bytes + archive_entry_offset(archive, 0, section), 1);
}

/* 4100 values 1, -1, 1, -1 ...; the sign is a stored bit, so each code is one bit 0. */
static void a_frame_is_what_the_format_says(void **state) {
  (void)state;
  enum { COUNT = 4100, STORED = 4112, BITS = COUNT };
  szgpu_shape const shape = test_shape(SZGPU_BF16, 2, 2, COUNT / 2, 0, 0);
  uint16_t *const field = test_allocate(COUNT * sizeof *field);
  for (int i = 0; i < COUNT; i++) field[i] = i % 2 ? 0xBF80 : 0x3F80;
  szgpu_params const params = make_params(0);
  test_archive const archive =
      archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
  const uint8_t *const frame = archive.bytes + archive_frame_offset(&archive, 0);
  static const uint8_t header[32] = {0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 16};
  static const uint64_t kinds[] = {0, 1, 2, 3, 4, 12}, sizes[] = {7, 4, 516, 9, 2, STORED};
  static const uint8_t book[] = {0, 0, 127, 0, 1, 0, 1};
  assert_memory_equal(frame, header, sizeof header);
  assert_int_equal(archive_section_count(&archive, 0), ARRAY_COUNT(kinds));
  for (uint32_t i = 0; i < ARRAY_COUNT(kinds); i++) {
    assert_int_equal(archive.bytes[archive_entry_offset(&archive, 0, i)], kinds[i]);
    assert_int_equal(raw_bytes_at(&archive, i), sizes[i]);
  }
  assert_memory_equal(archive.bytes + archive_section_offset(&archive, 0, 0), book, sizeof book);
  const uint8_t *const stored = archive.bytes + archive_section_offset(&archive, 0, 5);
  for (int i = 0; i < STORED; i++) assert_int_equal(stored[i], i < COUNT ? i % 2 : 0);
  for (int section = 1; section <= 3; section++) { /* each code is one bit, 0, and has no gap */
    const uint8_t *const bytes =
        archive.bytes + archive_section_offset(&archive, 0, (uint32_t)section);
    for (uint64_t i = 0; i < sizes[section]; i++) assert_int_equal(bytes[i], 0);
  }
  assert_int_equal(
      test_bits_at(SZGPU_BF16, archive.bytes + archive_section_offset(&archive, 0, 4), 0), BITS);
  free(archive.bytes);
  free(field);
}

/* A linear frame if its sections together are smaller than the values. */
static void frames_are_raw_where_that_is_no_larger(void **state) {
  (void)state;
  uint64_t least_gain = UINT64_MAX;
  for (uint64_t count = 1; count < 400; count++) {
    szgpu_shape const shape = test_shape(SZGPU_U8, 1, count, 0, 0, 0);
    szgpu_params const params = make_params(0);
    uint8_t *const field = test_allocate(count);
    for (uint64_t i = 0; i < count; i++) field[i] = (uint8_t)(test_hash(i) % 16);
    test_archive const archive =
        archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < archive_section_count(&archive, 0); i++)
      bytes += raw_bytes_at(&archive, i);
    if (lossless_planes(&archive, 0)[0]) {
      assert_true(bytes < count);
      if (count - bytes < least_gain) least_gain = count - bytes;
    } else {
      assert_int_equal(bytes, count);
    }
    free(archive.bytes);
    free(field);
  }
  assert_int_equal(least_gain, 1); /* no gain: raw; a gain of one byte: not raw */
}

/* ---- lies ---- */

static void tile_sizes_that_the_stream_has_not_are_refused(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_BF16, 1, 30000, 0, 0, 0); /* eight tiles */
  void *const field = lossless_make(WEIGHTS, &shape);
  for (int without_gaps = 0; without_gaps <= 1; without_gaps++) {
    szgpu_params const params = make_params(without_gaps);
    test_archive const sound =
        archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
    assert_shifted_tile_sizes_refused(&sound, 8, test_field_bytes(&shape));
    free(sound.bytes);
  }
  free(field);
}

/* Gap arrays although the header says that there are none; stored planes for a type of one byte. */
static void sections_that_should_not_be_there_are_refused(void **state) {
  (void)state;
  szgpu_shape const bytes = test_shape(SZGPU_U8, 1, 3000, 0, 0, 0);
  szgpu_shape const halves = test_shape(SZGPU_BF16, 1, 3000, 0, 0, 0);
  szgpu_params const params = make_params(0);
  void *const field = lossless_make(WEIGHTS, &halves);
  test_archive with_gaps = archive_plain(lossless_compress(readers[0][0], &params, &bytes, field));
  test_archive with_planes =
      archive_plain(lossless_compress(readers[0][0], &params, &halves, field));
  assert_int_equal(archive_section_count(&with_gaps, 0), 5);
  assert_int_equal(archive_section_count(&with_planes, 0), 6);
  archive_store(&with_gaps, 12, 4, SZG_FLAG_NO_GAPS);
  archive_store(&with_planes, 16, 1, SZGPU_FP8);
  assert_all_refuse(&with_gaps, 3000);
  assert_all_refuse(&with_planes, 3000);
  free(with_gaps.bytes);
  free(with_planes.bytes);
  free(field);
}

/* Only the headers of a frame of very many bytes with zstd sections. Before, the largest bit count
 * of its codes overflowed from 2^60 on, and all such frames were refused. */
static void sections_of_huge_frames_have_their_sizes(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_U8, 1, 3000, 0, 0, 0);
  szgpu_params const params = make_params(0);
  void *const field = lossless_make(WEIGHTS, &shape);
  test_archive archive = archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
  size_t const frame = archive_frame_offset(&archive, 0);
  size_t entries[5];
  for (uint32_t i = 0; i < 5; i++) entries[i] = archive_entry_offset(&archive, 0, i);
  for (int log = 58; log <= 62; log++)
    for (uint64_t bits = 1; bits <= 17; bits++) { /* per code; 8 make the frame too large */
      uint64_t const values = (uint64_t)1 << log, words = (values >> 5) * bits;
      if (words >> 62) continue; /* the bytes do not fit 64 bits */
      uint64_t const sizes[] = {0, values / 2048, 4 * words, (words + 15) / 16, words / 512};
      archive_store(&archive, 24, 8, values);         /* dims[0] */
      archive_store(&archive, 96, 8, values);         /* frame rows */
      archive_store(&archive, frame + 16, 8, values); /* value count */
      for (int i = 1; i < 5; i++) {                   /* the codebook stays as it is */
        archive_store(&archive, entries[i] + 4, 4, SZG_CODEC_ZSTD);
        archive_store(&archive, entries[i] + 8, 8, sizes[i]);
      }
      archive_rehash(&archive);
      szgpu_frame_info info = SZGPU_FRAME_INFO_DEFAULTS;
      assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &info),
                       bits < 8 ? SZGPU_OK : SZGPU_BAD_DATA);
    }
  free(archive.bytes);
  free(field);
}

/* Two decoders check every gap and every sequence's number of codes; the others check none. */
static void wrong_side_data_is_found_by_those_that_look_at_it(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_FP8, 1, 18000, 0, 0, 0);
  size_t const field_bytes = test_field_bytes(&shape);
  void *const field = lossless_make(WEIGHTS, &shape), *const restored = test_allocate(field_bytes);
  szgpu_params const params = make_params(0);
  test_archive const sound =
      archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
  for (uint32_t section = 3; section <= 4; section++) {
    uint64_t const bytes = raw_bytes_at(&sound, section);
    size_t const at = archive_section_offset(&sound, 0, section);
    assert_true(section == 3 ? bytes > 64 : bytes >= 4); /* two sequences */
    uint64_t const step = section == 3 ? 3 : 1;
    for (uint64_t i = 0; i + 1 < 2 * bytes;
         i += step) { /* not the last half byte: it may be unused */
      test_archive archive = archive_copy(&sound, sound.byte_count);
      archive.bytes[at + i / 2] ^= (uint8_t)(1 << (i % 2 * 4 + test_hash(i) % 4));
      archive_rehash(&archive);
      for (int d = 0; d < READER_DECODERS; d++)
        assert_int_equal(reader_decompress(readers[d][i % 2], &archive, restored, field_bytes),
                         looks_at_gaps(reader_decoders[d]) ? SZGPU_BAD_DATA : SZGPU_OK);
      free(archive.bytes);
    }
  }
  free(sound.bytes);
  free(restored);
  free(field);
}

static void decoders_agree_on_any_section(void **state) {
  (void)state;
  test_random random = test_random_begin();
  szgpu_shape const shape = test_shape(SZGPU_BF16, 1, 9000, 0, 0, 0); /* three tiles */
  static const lossless_kind kinds[] = {WEIGHTS, FEW, FLAT};
  uint64_t accepted = 0;
  for (int round = 0; round < 900; round++) {
    int const variant = round / 150; /* three fields, with and without gap arrays */
    szgpu_params const params = make_params(variant % 2);
    void *const field = lossless_make(kinds[variant / 2], &shape);
    test_archive archive = archive_plain(lossless_compress(readers[0][0], &params, &shape, field));
    uint32_t const stream_sections = archive_section_count(&archive, 0) - 1;
    uint32_t const section = (uint32_t)round % stream_sections;
    uint64_t const bytes = raw_bytes_at(&archive, section) - (section == 3);
    flip_bits_of_section(&archive, section, bytes, &random);
    accepted += all_agree(&archive, test_field_bytes(&shape));
    free(archive.bytes);
    free(field);
  }
  assert_in_range(accepted, 50, 850); /* neither all nor none */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_decoders_give_the_field_back),
      cmocka_unit_test(any_number_of_values_comes_back),
      cmocka_unit_test(codes_of_16_bits_are_read),
      cmocka_unit_test(a_frame_is_what_the_format_says),
      cmocka_unit_test(frames_are_raw_where_that_is_no_larger),
      cmocka_unit_test(tile_sizes_that_the_stream_has_not_are_refused),
      cmocka_unit_test(sections_that_should_not_be_there_are_refused),
      cmocka_unit_test(sections_of_huge_frames_have_their_sizes),
      cmocka_unit_test(wrong_side_data_is_found_by_those_that_look_at_it),
      cmocka_unit_test(decoders_agree_on_any_section),
  };
  return cmocka_run_group_tests(tests, make_readers, destroy_readers);
}
