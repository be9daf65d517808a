/* test_checksum.c - the tree of XXH3-64 over 16 KiB blocks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "container/checksum.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "support.h"

static size_t const awkward_sizes[] = {0,     1,     15,    16383, 16384,       16385,
                                       32767, 32768, 32769, 65521, 4194304 - 1, 5 * 1024 * 1024};

static uint8_t *make_bytes(size_t byte_count) {
  uint8_t *const bytes = test_allocate(byte_count);
  for (size_t i = 0; i < byte_count; i++) bytes[i] = (uint8_t)test_hash(i);
  return bytes;
}

static uint64_t tree_of(int thread_count, const uint8_t *bytes, size_t byte_count) {
  szg_threads threads = {.count = thread_count};
  uint64_t *const leaves = test_allocate(szg_checksum_leaf_count(byte_count) * sizeof *leaves);
  uint64_t checksum = 0;
  assert_int_equal(szg_checksum_tree(&threads, bytes, byte_count, leaves, &checksum), SZGPU_OK);
  free(leaves);
  return checksum;
}

static void plain_is_xxh3_64(void **state) {
  (void)state;
  assert_int_equal(szg_checksum_plain((const uint8_t *)"", 0), UINT64_C(0x2D06800538D394C2));
  uint8_t *const bytes = make_bytes(1000);
  for (size_t i = 0; i <= 1000; i += 37)
    assert_int_equal(szg_checksum_plain(bytes, i), XXH3_64bits(bytes, i));
  free(bytes);
}

static void a_leaf_for_each_begun_block(void **state) {
  (void)state;
  assert_int_equal(szg_checksum_leaf_count(0), 0);
  assert_int_equal(szg_checksum_leaf_count(1), 1);
  assert_int_equal(szg_checksum_leaf_count(16384), 1);
  assert_int_equal(szg_checksum_leaf_count(16385), 2);
  assert_int_equal(szg_checksum_leaf_count(UINT64_MAX), (uint64_t)1 << 50);
}

/* By hand: hash each block, write the hashes down little-endian, hash that. */
static void the_tree_is_the_hash_of_the_blocks_hashes(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(awkward_sizes); i++) {
    size_t const byte_count = awkward_sizes[i];
    uint8_t *const bytes = make_bytes(byte_count);
    uint8_t *const hashes = test_allocate((byte_count / 16384 + 1) * 8);
    size_t hash_bytes = 0;
    for (size_t start = 0; start < byte_count; start += 16384) {
      size_t const left = byte_count - start;
      uint64_t const hash = XXH3_64bits(bytes + start, left < 16384 ? left : 16384);
      for (int b = 0; b < 8; b++) hashes[hash_bytes++] = (uint8_t)(hash >> 8 * b);
    }
    uint64_t const expected = XXH3_64bits(hashes, hash_bytes);
    for (int threads = 1; threads <= 4; threads++)
      assert_int_equal(tree_of(threads, bytes, byte_count), expected);
    free(hashes);
    free(bytes);
  }
}

static void one_block_is_hashed_twice(void **state) {
  (void)state;
  uint64_t const leaf = XXH3_64bits("abc", 3);
  uint8_t stored[8];
  for (int b = 0; b < 8; b++) stored[b] = (uint8_t)(leaf >> 8 * b);
  assert_int_equal(tree_of(1, (const uint8_t *)"abc", 3), XXH3_64bits(stored, 8));
  assert_true(tree_of(1, (const uint8_t *)"abc", 3) != leaf);
}

static void every_byte_counts(void **state) {
  (void)state;
  size_t const byte_count = 16384 + 100;
  uint8_t *const bytes = make_bytes(byte_count);
  uint64_t const sound = tree_of(1, bytes, byte_count);
  for (size_t i = 0; i < byte_count; i += i % 500 ? 1 : 97) {
    bytes[i] ^= (uint8_t)(1 << i % 8);
    assert_true(tree_of(1, bytes, byte_count) != sound);
    bytes[i] ^= (uint8_t)(1 << i % 8);
  }
  assert_true(tree_of(1, bytes, byte_count - 1) != sound);
  assert_int_equal(tree_of(1, bytes, byte_count), sound);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_is_xxh3_64),
      cmocka_unit_test(a_leaf_for_each_begun_block),
      cmocka_unit_test(the_tree_is_the_hash_of_the_blocks_hashes),
      cmocka_unit_test(one_block_is_hashed_twice),
      cmocka_unit_test(every_byte_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
