/* test_codebook.c - from counts to code lengths to codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A code clipped to its limit without mending the others (Kraft's sum off by a little) decodes the
 * most frequent symbol wrongly; a lone symbol with a code of no bits decodes to nothing. Both have
 * been seen in compressors of this family: hence the geometric counts and the single symbol here.
 */
#include "huffman/huffman.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Too large for the stack. */
static szg_codebook book;
static szg_codebook_work work;
static uint64_t counts[SZG_MAX_SYMBOLS];

static void clear_counts(void) { memset(counts, 0, sizeof counts); }

static void build(uint32_t symbol_count) {
  memset(&book, 0xA5, sizeof book); /* no part of an earlier book may survive */
  memset(&work, 0xA5, sizeof work);
  szg_codebook_build(counts, symbol_count, SZG_MAX_CODE_BITS, &book, &work);
}

static uint64_t cost_of_book(void) {
  uint64_t cost = 0;
  for (uint32_t s = 0; s < book.symbol_count; s++) cost += counts[s] * book.lengths[s];
  return cost;
}

/* Kraft's sum in units of 2^-16. */
static uint32_t kraft_sum(const szg_codebook *b) {
  uint32_t sum = 0;
  for (uint32_t s = 0; s < b->symbol_count; s++)
    if (b->lengths[s]) sum += 1u << (SZG_MAX_CODE_BITS - b->lengths[s]);
  return sum;
}

/* Codes must count up by (length, symbol), XORed with the leading bits of delta 0's code. Exactly
 * the symbols with a count have a code. Lengths are within the limit, and Kraft's sum is 1. */
static void check_book(void) {
  static uint32_t plain[SZG_MAX_SYMBOLS];
  uint32_t code = 0, occurring = 0;
  for (uint32_t length = 1; length <= SZG_MAX_CODE_BITS; length++, code <<= 1)
    for (uint32_t s = 0; s < book.symbol_count; s++)
      if (book.lengths[s] == length) plain[s] = code++;
  uint32_t const zero = book.symbol_count / 2;
  uint32_t const zero_bits = book.lengths[zero];
  uint32_t const zero_code = zero_bits ? plain[zero] << (SZG_MAX_CODE_BITS - zero_bits) : 0;
  for (uint32_t s = 0; s < book.symbol_count; s++) {
    uint32_t const length = book.lengths[s];
    assert_true(length <= SZG_MAX_CODE_BITS);
    assert_int_equal(length > 0, counts[s] > 0);
    if (!length) continue;
    occurring++;
    assert_int_equal(book.codes[s], plain[s] ^ zero_code >> (SZG_MAX_CODE_BITS - length));
  }
  if (zero_bits) assert_int_equal(book.codes[zero], 0);
  if (occurring > 1) assert_int_equal(kraft_sum(&book), 1u << SZG_MAX_CODE_BITS);
}

/* ---- the least cost, by search instead of package-merge ---- */

enum { MOST_SEARCHED = 40 };

typedef struct search {
  uint32_t count;
  uint64_t tails[MOST_SEARCHED + 1]; /* sums of counts from i on, in falling order */
  uint64_t costs[SZG_MAX_CODE_BITS + 1][MOST_SEARCHED + 1][MOST_SEARCHED + 1];
} search;

/* The least cost of coding symbols done .. count - 1 below `open` nodes of this depth; tries every
 * number of leaves at every depth. */
static uint64_t least_cost(search *s, uint32_t depth, uint32_t done, uint32_t open) {
  uint64_t *const known = &s->costs[depth][done][open];
  if (*known) return *known - 1;
  uint64_t best = UINT64_MAX / 2;
  for (uint32_t leaves = 0; leaves <= open && done + leaves <= s->count; leaves++) {
    uint32_t const now_done = done + leaves, still_open = open - leaves;
    uint64_t cost = UINT64_MAX / 2;
    if (now_done == s->count && still_open == 0)
      cost = 0;
    else if (depth < SZG_MAX_CODE_BITS && still_open && 2 * still_open <= s->count - now_done)
      cost = s->tails[now_done] + least_cost(s, depth + 1, now_done, 2 * still_open);
    if (cost < best) best = cost;
  }
  *known = best + 1;
  return best;
}

static int by_count_downwards(const void *a, const void *b) {
  uint64_t const x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

static uint64_t least_cost_of_counts(void) {
  static search s;
  memset(&s, 0, sizeof s);
  uint64_t sorted[MOST_SEARCHED];
  for (uint32_t i = 0; i < MOST_SEARCHED; i++)
    if (counts[i]) sorted[s.count++] = counts[i];
  qsort(sorted, s.count, sizeof *sorted, by_count_downwards);
  for (uint32_t i = s.count; i-- > 0;) s.tails[i] = s.tails[i + 1] + sorted[i];
  return least_cost(&s, 0, 0, 1);
}

/* The cost of the plain Huffman code; its tree may be deeper than the limit. *depth: how deep. */
static uint64_t huffman_cost(uint32_t symbol_count, uint32_t *depth) {
  static uint64_t leaves[SZG_MAX_SYMBOLS], nodes[SZG_MAX_SYMBOLS];
  static uint32_t depths[SZG_MAX_SYMBOLS];
  uint32_t leaf_count = 0, leaf = 0, node = 0, node_count = 0;
  uint64_t cost = 0;
  for (uint32_t s = 0; s < symbol_count; s++)
    if (counts[s]) leaves[leaf_count++] = counts[s];
  qsort(leaves, leaf_count, sizeof *leaves, by_count_downwards);
  for (uint32_t i = 0; i < leaf_count / 2; i++) {
    uint64_t const swapped = leaves[i];
    leaves[i] = leaves[leaf_count - 1 - i];
    leaves[leaf_count - 1 - i] = swapped;
  }
  *depth = 0;
  for (; node_count + 1 < leaf_count; node_count++) {
    nodes[node_count] = depths[node_count] = 0;
    for (int half = 0; half < 2; half++) {
      bool const is_leaf = leaf < leaf_count && (node == node_count || leaves[leaf] <= nodes[node]);
      uint32_t const below = is_leaf ? 0 : depths[node];
      nodes[node_count] += is_leaf ? leaves[leaf++] : nodes[node++];
      if (below + 1 > depths[node_count]) depths[node_count] = below + 1;
    }
    cost += nodes[node_count];
    *depth = depths[node_count];
  }
  return cost;
}

/* ---- claims ---- */

static void builds_four_symbols_as_a_hand_does(void **state) {
  (void)state;
  clear_counts();
  counts[0] = 1, counts[3] = 4, counts[4] = 2, counts[5] = 1; /* 4 is delta 0 */
  build(8);
  uint8_t const lengths[8] = {3, 0, 0, 1, 2, 3, 0, 0};
  assert_memory_equal(book.lengths, lengths, 8);
  /* Canonical 3: 0, 4: 10, 0: 110, 5: 111; XORed with 10... */
  assert_int_equal(book.codes[3], 1);
  assert_int_equal(book.codes[4], 0);
  assert_int_equal(book.codes[0], 2);
  assert_int_equal(book.codes[5], 3);
  check_book();
}

static void no_symbol_makes_an_empty_book(void **state) {
  (void)state;
  clear_counts();
  build(1024);
  for (uint32_t s = 0; s < 1024; s++) assert_int_equal(book.lengths[s], 0);
}

static void a_lone_symbol_has_a_code_of_one_bit(void **state) {
  (void)state;
  uint32_t const places[] = {0, 1, 511, 512, 513, 1023};
  for (int i = 0; i < 6; i++) {
    clear_counts();
    counts[places[i]] = i % 2 ? 1 : (uint64_t)1 << 40;
    build(1024);
    assert_int_equal(book.lengths[places[i]], 1);
    assert_int_equal(book.codes[places[i]], 0);
    check_book();
  }
}

static void two_symbols_have_codes_of_one_bit(void **state) {
  (void)state;
  clear_counts();
  counts[2] = 1, counts[3] = 1000000; /* delta 0 is rare, but its code is still all zeros */
  build(4);
  assert_int_equal(book.lengths[2], 1);
  assert_int_equal(book.lengths[3], 1);
  assert_int_equal(book.codes[2], 0);
  assert_int_equal(book.codes[3], 1);
  check_book();
}

static void the_largest_alphabet_of_equal_counts_has_16_bit_codes(void **state) {
  (void)state;
  for (uint32_t s = 0; s < SZG_MAX_SYMBOLS; s++) counts[s] = 7;
  build(SZG_MAX_SYMBOLS);
  for (uint32_t s = 0; s < SZG_MAX_SYMBOLS; s++) {
    assert_int_equal(book.lengths[s], 16);
    assert_int_equal(book.codes[s], s ^ 32768);
  }
}

static void equal_counts_give_longer_codes_to_lower_symbols(void **state) {
  (void)state;
  clear_counts();
  counts[1] = counts[2] = counts[3] = 5;
  build(4);
  assert_int_equal(book.lengths[1], 2);
  assert_int_equal(book.lengths[2], 2);
  assert_int_equal(book.lengths[3], 1);
}

static void a_leaf_goes_before_a_package_of_equal_weight(void **state) {
  (void)state;
  clear_counts();
  counts[1] = counts[2] = 1, counts[5] = counts[6] = 2; /* 3, 3, 2, 1 would cost the same */
  build(8);
  assert_int_equal(book.lengths[1], 2);
  assert_int_equal(book.lengths[2], 2);
  assert_int_equal(book.lengths[5], 2);
  assert_int_equal(book.lengths[6], 2);
}

static void steep_counts(bool is_fibonacci, uint32_t count, bool is_rising) {
  uint64_t a = 1, b = 1;
  clear_counts();
  for (uint32_t i = 0; i < count; i++) {
    counts[is_rising ? i : count - 1 - i] = a;
    uint64_t const next = is_fibonacci ? a + b : 2 * b;
    a = b;
    b = next;
  }
}

static void codes_that_want_over_16_bits_are_optimal_within_them(void **state) {
  (void)state;
  for (int shape = 0; shape < 4; shape++)
    for (uint32_t count = 15; count <= MOST_SEARCHED; count++) {
      steep_counts(shape % 2, count, shape / 2);
      build(64);
      check_book();
      assert_int_equal(cost_of_book(), least_cost_of_counts());
      uint32_t depth;
      uint64_t const unlimited = huffman_cost(64, &depth);
      if (depth > 16) assert_true(cost_of_book() > unlimited);
    }
}

static void small_alphabets_cost_the_least_that_any_code_can(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < 600; i++) {
    uint32_t const count = 2 + (uint32_t)test_random_below(&random, MOST_SEARCHED - 1);
    clear_counts();
    for (uint32_t s = 0; s < count; s++)
      counts[s] = test_random_bits(&random) >> (24 + test_random_below(&random, 40));
    counts[0]++, counts[count - 1]++; /* at least two symbols */
    build(count + count % 2);
    check_book();
    assert_int_equal(cost_of_book(), least_cost_of_counts());
  }
}

static void large_alphabets_cost_what_plain_huffman_does(void **state) {
  (void)state;
  uint32_t const symbol_counts[] = {1024, 4096, 16384, SZG_MAX_SYMBOLS};
  test_random random = test_random_begin();
  for (size_t i = 0; i < ARRAY_COUNT(symbol_counts); i++) {
    uint32_t const symbol_count = symbol_counts[i];
    for (uint32_t s = 0; s < symbol_count; s++) counts[s] = 1000 + test_random_below(&random, 1000);
    build(symbol_count);
    check_book();
    uint32_t depth;
    uint64_t const cost = huffman_cost(symbol_count, &depth);
    if (symbol_count < SZG_MAX_SYMBOLS) assert_in_range(depth, 1, 16);
    if (depth <= 16)
      assert_int_equal(cost_of_book(), cost);
    else
      assert_true(cost_of_book() >= cost);
  }
}

/* ---- the lengths of package-merge, which an archive has even if other codes cost the same ---- */

enum { MOST_MERGED = 24, MOST_ITEMS = 2 * MOST_MERGED };

typedef struct merge_item {
  uint64_t weight;
  uint8_t lengths[MOST_MERGED]; /* what taking it adds to the leaves' */
} merge_item;

/* The leaves, with counts in rising order, merged with the pairs of the items before. */
static uint32_t merge_items(const uint64_t *rising, uint32_t leaf_count, const merge_item *items,
                            uint32_t item_count, merge_item *merged) {
  uint32_t leaf = 0, pair = 0, n = 0;
  while (leaf < leaf_count || pair < item_count / 2) {
    merge_item package = {.weight = UINT64_MAX};
    if (pair < item_count / 2) {
      package = items[2 * pair];
      package.weight += items[2 * pair + 1].weight;
      for (int i = 0; i < MOST_MERGED; i++)
        package.lengths[i] = (uint8_t)(package.lengths[i] + items[2 * pair + 1].lengths[i]);
    }
    if (leaf < leaf_count && rising[leaf] <= package.weight) {
      merged[n] = (merge_item){.weight = rising[leaf]};
      merged[n++].lengths[leaf++] = 1;
    } else {
      merged[n++] = package;
      pair++;
    }
  }
  return n;
}

static void merge_lengths(const uint64_t *rising, uint32_t leaf_count, int longest_code,
                          uint8_t lengths[MOST_MERGED]) {
  static merge_item items[2][MOST_ITEMS];
  uint32_t item_count = 0;
  for (int level = 0; level < longest_code; level++)
    item_count =
        merge_items(rising, leaf_count, items[level % 2], item_count, items[(level + 1) % 2]);
  memset(lengths, 0, MOST_MERGED);
  for (uint32_t i = 0; i < 2 * leaf_count - 2; i++)
    for (int leaf = 0; leaf < MOST_MERGED; leaf++)
      lengths[leaf] = (uint8_t)(lengths[leaf] + items[longest_code % 2][i].lengths[leaf]);
}

static void lengths_are_those_of_package_merge(void **state) {
  (void)state;
  int limited = 0, deep = 0;
  for (uint32_t c = 0; c < 20000; c++) {
    uint32_t const leaf_count = 2 + (uint32_t)(test_hash(4 * c) % (MOST_MERGED - 1));
    int const longest = 5 + (int)(test_hash(4 * c + 1) % 12);
    uint32_t const spread = (uint32_t)(test_hash(4 * c + 2) % 4); /* 0: many ties */
    uint8_t expected[MOST_MERGED], unlimited[MOST_MERGED];
    uint64_t count = 1;
    clear_counts();
    for (uint32_t i = 0; i < leaf_count; i++) {
      counts[i] = count;
      count += (test_hash(1000 * c + i) % 3 == 0) + (spread > 1 ? count * spread / 4 : 0);
    }
    merge_lengths(counts, leaf_count, longest, expected);
    merge_lengths(counts, leaf_count, MOST_MERGED, unlimited);
    memset(&book, 0xA5, sizeof book);
    szg_codebook_build(counts, MOST_MERGED, longest, &book, &work);
    if (memcmp(book.lengths, expected, MOST_MERGED) != 0)
      fail_msg("case %u: %u leaves, at most %d bits", c, leaf_count, longest);
    limited += memcmp(expected, unlimited, MOST_MERGED) != 0;
    deep += expected[0] == longest && memcmp(expected, unlimited, MOST_MERGED) == 0;
  }
  assert_true(limited > 1000 && deep > 100);
}

static void counts_near_2_to_the_40_do_not_overflow(void **state) {
  (void)state;
  for (uint32_t s = 0; s < 1024; s++) counts[s] = 1 + s % 5 * s;
  build(1024);
  szg_codebook const small = book;
  for (uint32_t s = 0; s < 1024; s++) counts[s] <<= 28;
  build(1024);
  assert_memory_equal(book.lengths, small.lengths, 1024);
  assert_memory_equal(book.codes, small.codes, 1024 * sizeof *book.codes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builds_four_symbols_as_a_hand_does),
      cmocka_unit_test(no_symbol_makes_an_empty_book),
      cmocka_unit_test(a_lone_symbol_has_a_code_of_one_bit),
      cmocka_unit_test(two_symbols_have_codes_of_one_bit),
      cmocka_unit_test(the_largest_alphabet_of_equal_counts_has_16_bit_codes),
      cmocka_unit_test(equal_counts_give_longer_codes_to_lower_symbols),
      cmocka_unit_test(a_leaf_goes_before_a_package_of_equal_weight),
      cmocka_unit_test(codes_that_want_over_16_bits_are_optimal_within_them),
      cmocka_unit_test(small_alphabets_cost_the_least_that_any_code_can),
      cmocka_unit_test(large_alphabets_cost_what_plain_huffman_does),
      cmocka_unit_test(lengths_are_those_of_package_merge),
      cmocka_unit_test(counts_near_2_to_the_40_do_not_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
