/* test_codec.c - zstd over a section: one frame per piece, kept if it pays, refused if damaged.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/codec.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "container/format.h"
#include "support.h"

enum { PIECE = SZG_ZSTD_PIECE_BYTES };

static szg_threads threads = {.count = 2};

/* Compressible: runs of equal bytes of random lengths. */
static uint8_t *make_runs(size_t byte_count) {
  uint8_t *const bytes = test_allocate(byte_count);
  for (size_t i = 0, run = 0; i < byte_count; run++)
    for (uint64_t left = 1 + test_hash(run) % 100; left > 0 && i < byte_count; left--)
      bytes[i++] = (uint8_t)(test_hash(run) >> 32);
  return bytes;
}

static uint8_t *make_noise(size_t byte_count) {
  uint8_t *const bytes = test_allocate(byte_count);
  for (size_t i = 0; i < byte_count; i++) bytes[i] = (uint8_t)test_hash(i);
  return bytes;
}

static bool compress(const uint8_t *bytes, size_t byte_count, szg_buffer *packed) {
  bool pays = false;
  assert_int_equal(szg_zstd_compress(&threads, 3, bytes, byte_count, 0, packed, &pays), SZGPU_OK);
  return pays;
}

/* Uses blocks of exactly these sizes, so that a sanitizer sees any access beyond them. */
static szgpu_status restore(const uint8_t *packed, size_t packed_bytes, uint8_t *raw,
                            size_t raw_bytes) {
  uint8_t *const copy = test_allocate(packed_bytes);
  uint8_t *const room = test_allocate(raw_bytes);
  if (packed_bytes) memcpy(copy, packed, packed_bytes);
  szgpu_status const status =
      szg_zstd_decompress(&threads, NULL, copy, packed_bytes, room, raw_bytes);
  if (status == SZGPU_OK && raw && raw_bytes) memcpy(raw, room, raw_bytes);
  free(copy);
  free(room);
  return status;
}

static void sections_of_awkward_sizes_come_back(void **state) {
  (void)state;
  size_t const sizes[] = {1, 2, 31, 257, 4097, 65521, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7};
  for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
    for (int is_noise = 0; is_noise < 2; is_noise++) {
      uint8_t *const bytes = is_noise ? make_noise(sizes[i]) : make_runs(sizes[i]);
      uint8_t *const back = test_allocate(sizes[i]);
      szg_buffer packed = {0};
      (void)compress(bytes, sizes[i], &packed);
      assert_int_equal(restore(packed.bytes, packed.used_bytes, back, sizes[i]), SZGPU_OK);
      assert_memory_equal(back, bytes, sizes[i]);
      szg_buffer_release(&packed);
      free(back);
      free(bytes);
    }
}

static void each_piece_is_a_zstd_frame_of_its_own(void **state) {
  (void)state;
  size_t const byte_count = 2 * PIECE + 12345;
  uint8_t *const bytes = make_runs(byte_count);
  uint8_t *const back = test_allocate(byte_count);
  szg_buffer packed = {0};
  assert_true(compress(bytes, byte_count, &packed));
  size_t at = 0;
  for (size_t piece = 0; piece < 3; piece++) {
    size_t const frame = ZSTD_findFrameCompressedSize(packed.bytes + at, packed.used_bytes - at);
    assert_false(ZSTD_isError(frame));
    size_t const expected = piece < 2 ? PIECE : 12345;
    assert_int_equal(ZSTD_decompress(back, byte_count, packed.bytes + at, frame), expected);
    assert_memory_equal(back, bytes + piece * PIECE, expected);
    at += frame;
  }
  assert_int_equal(at, packed.used_bytes);
  assert_int_equal(ZSTD_decompress(back, byte_count, packed.bytes, packed.used_bytes), byte_count);
  szg_buffer_release(&packed);
  free(back);
  free(bytes);
}

static void the_bytes_do_not_depend_on_the_threads(void **state) {
  (void)state;
  uint8_t *const bytes = make_runs(5 * PIECE + 1);
  szg_buffer packed[3] = {{0}};
  int const thread_counts[] = {1, 2, 7};
  for (int i = 0; i < 3; i++) {
    threads.count = thread_counts[i];
    assert_true(compress(bytes, 5 * PIECE + 1, &packed[i]));
    assert_int_equal(packed[i].used_bytes, packed[0].used_bytes);
    assert_memory_equal(packed[i].bytes, packed[0].bytes, packed[0].used_bytes);
  }
  threads.count = 2;
  for (int i = 0; i < 3; i++) szg_buffer_release(&packed[i]);
  free(bytes);
}

static void pays_only_if_it_saves_over_a_64th(void **state) {
  (void)state;
  enum { BYTES = 400000 }; /* four of zstd's blocks; one of them will shrink */
  szg_buffer packed = {0};
  uint8_t *const noise = make_noise(BYTES);
  assert_false(compress(noise, BYTES, &packed));
  assert_false(compress(noise, 1, &packed));
  int paying_count = 0, shrinking_count = 0;
  for (size_t zero_count = 0; zero_count <= 10000; zero_count += 250) { /* around the threshold */
    memset(noise, 0, zero_count);
    bool const pays = compress(noise, BYTES, &packed);
    assert_int_equal(pays, packed.used_bytes < BYTES - BYTES / 64);
    paying_count += pays;
    shrinking_count += packed.used_bytes < BYTES;
  }
  assert_true(0 < paying_count && paying_count < shrinking_count);
  szg_buffer_release(&packed);
  free(noise);
}

static void a_wrong_raw_size_is_bad_data(void **state) {
  (void)state;
  size_t const byte_count = PIECE + 1000;
  uint8_t *const bytes = make_runs(byte_count);
  szg_buffer packed = {0};
  assert_true(compress(bytes, byte_count, &packed));
  size_t const wrong[] = {0, 1, 1000, PIECE, PIECE + 999, PIECE + 1001, 2 * PIECE, 2 * PIECE + 1};
  for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
    assert_int_equal(restore(packed.bytes, packed.used_bytes, NULL, wrong[i]), SZGPU_BAD_DATA);
  szg_buffer_release(&packed);
  free(bytes);
}

/* Packs with zstd's optional header fields or without. */
static size_t pack_with(const uint8_t *bytes, size_t byte_count, bool has_size, bool has_checksum,
                        uint8_t *packed, size_t capacity) {
  ZSTD_CCtx *const zstd = ZSTD_createCCtx();
  assert_non_null(zstd);
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, has_size);
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, has_checksum);
  size_t const packed_bytes = ZSTD_compress2(zstd, packed, capacity, bytes, byte_count);
  assert_false(ZSTD_isError(packed_bytes));
  ZSTD_freeCCtx(zstd);
  return packed_bytes;
}

/* Raw, run-length and compressed blocks, small and large content sizes, with and without a
 * checksum: whatever zstd writes is found and undone, and nothing that is cut off. */
static void any_zstd_frame_may_be_a_piece(void **state) {
  (void)state;
  size_t const sizes[] = {1, 255, 256, 65791, 65792, 300000, PIECE};
  enum { ROOM = 2 * PIECE };
  uint8_t *const packed = test_allocate(ROOM);
  for (size_t i = 0; i < 4 * 3 * ARRAY_COUNT(sizes); i++) {
    size_t const byte_count = sizes[i / 12];
    uint8_t *const bytes = i / 4 % 3 == 0 ? make_noise(byte_count) : make_runs(byte_count);
    uint8_t *const back = test_allocate(byte_count);
    if (i / 4 % 3 == 2) memset(bytes, 7, byte_count);
    size_t const packed_bytes = pack_with(bytes, byte_count, i % 2, i / 2 % 2, packed, ROOM);
    assert_int_equal(restore(packed, packed_bytes, back, byte_count), SZGPU_OK);
    assert_memory_equal(back, bytes, byte_count);
    for (size_t cut = 1; cut <= 24 && cut <= packed_bytes; cut++)
      assert_int_equal(restore(packed, packed_bytes - cut, NULL, byte_count), SZGPU_BAD_DATA);
    free(back);
    free(bytes);
  }
  free(packed);
}

/* Libzstd reads other frames too: skippable ones, and those of its early versions. */
static void other_frames_are_bad_data(void **state) {
  (void)state;
  uint8_t const skippable[] = {0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9};
  uint8_t const early[] = {0x27, 0xB5, 0x2F, 0xFD, 0, 0, 0, 0, 9};
  assert_int_equal(restore(skippable, sizeof skippable, NULL, 1), SZGPU_BAD_DATA);
  assert_int_equal(restore(early, sizeof early, NULL, 1), SZGPU_BAD_DATA);
}

/* Many empty blocks: a zstd frame that no encoder writes, and that would only cost memory. */
static void a_longer_zstd_frame_than_any_piece_has_is_bad_data(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    uint8_t const head[] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 1}; /* single segment of one byte */
    uint8_t const last[] = {9, 0, 0, 42};                     /* a raw block of one byte */
    size_t const most = PIECE + PIECE / 256;
    size_t const empty_blocks = (most - sizeof head - sizeof last) / 3 + extra;
    uint8_t *const packed = test_allocate(most + 16);
    size_t at = sizeof head;
    memcpy(packed, head, sizeof head);
    for (size_t i = 0; i < empty_blocks; i++, at += 3) memset(packed + at, 0, 3);
    memcpy(packed + at, last, sizeof last);
    at += sizeof last;
    assert_int_equal(at > most, extra);
    assert_int_equal(restore(packed, at, NULL, 1), extra ? SZGPU_BAD_DATA : SZGPU_OK);
    free(packed);
  }
}

static void nothing_packed_is_nothing_raw(void **state) {
  (void)state;
  assert_int_equal(restore(NULL, 0, NULL, 0), SZGPU_OK);
  assert_int_equal(restore(NULL, 0, NULL, 1), SZGPU_BAD_DATA);
}

static void a_frame_more_or_of_another_kind_is_bad_data(void **state) {
  (void)state;
  uint8_t *const bytes = make_runs(3000);
  szg_buffer packed = {0};
  (void)compress(bytes, 3000, &packed);
  uint8_t skippable[8 + 4] = {0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0};
  uint8_t *const both = test_allocate(2 * packed.used_bytes + sizeof skippable);
  memcpy(both, packed.bytes, packed.used_bytes);
  memcpy(both + packed.used_bytes, packed.bytes, packed.used_bytes);
  assert_int_equal(restore(both, 2 * packed.used_bytes, NULL, 3000), SZGPU_BAD_DATA);
  assert_int_equal(restore(both, 2 * packed.used_bytes, NULL, 6000), SZGPU_BAD_DATA);
  memcpy(both + packed.used_bytes, skippable, sizeof skippable);
  assert_int_equal(restore(both, packed.used_bytes + sizeof skippable, NULL, 3000), SZGPU_BAD_DATA);
  memcpy(both, skippable, sizeof skippable);
  memcpy(both + sizeof skippable, packed.bytes, packed.used_bytes);
  assert_int_equal(restore(both, packed.used_bytes + sizeof skippable, NULL, 3000), SZGPU_BAD_DATA);
  szg_buffer_release(&packed);
  free(both);
  free(bytes);
}

static void is_bad_data_truncated_at_every_byte(void **state) {
  (void)state;
  uint8_t *const bytes = make_runs(3000);
  szg_buffer packed = {0};
  (void)compress(bytes, 3000, &packed);
  for (size_t cut = 0; cut < packed.used_bytes; cut++)
    assert_int_equal(restore(packed.bytes, cut, NULL, 3000), SZGPU_BAD_DATA);
  szg_buffer_release(&packed);
  free(bytes);
}

/* Frames are written without zstd's own checksum, so a flipped bit may give other bytes; the
 * section's checksum finds that. */
static void with_any_bit_flipped_is_bad_data_or_bytes_of_the_right_number(void **state) {
  (void)state;
  uint8_t *const bytes = make_runs(2000);
  szg_buffer packed = {0};
  int refused_count = 0;
  (void)compress(bytes, 2000, &packed);
  for (size_t bit = 0; bit < 8 * packed.used_bytes; bit++) {
    packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    szgpu_status const status = restore(packed.bytes, packed.used_bytes, NULL, 2000);
    assert_true(status == SZGPU_OK || status == SZGPU_BAD_DATA);
    refused_count += status == SZGPU_BAD_DATA;
    packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  assert_true(refused_count > 32); /* at least the magic number's */
  szg_buffer_release(&packed);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sections_of_awkward_sizes_come_back),
      cmocka_unit_test(each_piece_is_a_zstd_frame_of_its_own),
      cmocka_unit_test(the_bytes_do_not_depend_on_the_threads),
      cmocka_unit_test(pays_only_if_it_saves_over_a_64th),
      cmocka_unit_test(a_wrong_raw_size_is_bad_data),
      cmocka_unit_test(any_zstd_frame_may_be_a_piece),
      cmocka_unit_test(other_frames_are_bad_data),
      cmocka_unit_test(a_longer_zstd_frame_than_any_piece_has_is_bad_data),
      cmocka_unit_test(nothing_packed_is_nothing_raw),
      cmocka_unit_test(a_frame_more_or_of_another_kind_is_bad_data),
      cmocka_unit_test(is_bad_data_truncated_at_every_byte),
      cmocka_unit_test(with_any_bit_flipped_is_bad_data_or_bytes_of_the_right_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
