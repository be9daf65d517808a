/* codebook.c - length-limited canonical Huffman codes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lengths by package-merge (Larmore and Hirschberg, 1990): optimal under the limit. Every order is
 * fixed: leaves by (count, symbol), a leaf before a package of equal weight. If no code needs the
 * limit, which is so for most books, Huffman's algorithm with the same order finds the same
 * lengths: its items, in the order in which it joins them, are then the levels of package-merge.
 */
#include <assert.h>
#include <string.h>

#include "core/bytes.h"
#include "huffman/huffman.h"

/* Symbols that occur, in their order. */
static uint32_t find_leaves(const uint64_t *counts, uint32_t symbol_count, uint32_t *leaves) {
  uint32_t leaf_count = 0;
  for (uint32_t s = 0; s < symbol_count; s++)
    if (counts[s]) leaves[leaf_count++] = s;
  return leaf_count;
}

/* Sorts a few leaves by (count, symbol), by insertion. */
static void sort_few(const uint64_t *counts, uint32_t leaf_count, uint32_t *leaves) {
  for (uint32_t i = 1; i < leaf_count; i++) {
    uint32_t const leaf = leaves[i];
    uint32_t place = i;
    for (; place > 0 && counts[leaves[place - 1]] > counts[leaf]; place--)
      leaves[place] = leaves[place - 1];
    leaves[place] = leaf;
  }
}

/* The same for many: a stable radix sort on the counts. */
static void sort_many(const uint64_t *counts, uint32_t leaf_count, szg_codebook_work *work) {
  uint64_t all_bits = 0;
  for (uint32_t i = 0; i < leaf_count; i++) all_bits |= counts[work->leaves[0][i]];
  uint32_t *from = work->leaves[0], *to = work->leaves[1];
  for (unsigned shift = 0; shift < 64 && all_bits >> shift; shift += 8) {
    uint32_t starts[257] = {0};
    for (uint32_t i = 0; i < leaf_count; i++) starts[(counts[from[i]] >> shift & 255) + 1]++;
    for (int i = 0; i < 256; i++) starts[i + 1] += starts[i];
    for (uint32_t i = 0; i < leaf_count; i++)
      to[starts[counts[from[i]] >> shift & 255]++] = from[i];
    uint32_t *const swapped = from;
    from = to;
    to = swapped;
  }
  if (from != work->leaves[0]) memcpy(work->leaves[0], from, leaf_count * sizeof *from);
}

/* Joins leaves and packages two by two, the lightest first, until one package is left, and notes
 * which one each of them is in. */
static void join_items(const uint64_t *counts, const uint32_t *leaves, uint32_t leaf_count,
                       uint64_t *weights, uint32_t *leaf_parents, uint64_t *package_parents) {
  uint32_t leaf = 0, package = 0;
  for (uint32_t made = 0; made + 1 < leaf_count; made++) {
    weights[made] = 0;
    for (int i = 0; i < 2; i++) {
      bool const takes_leaf =
          leaf < leaf_count && (package == made || counts[leaves[leaf]] <= weights[package]);
      if (takes_leaf) {
        weights[made] += counts[leaves[leaf]];
        leaf_parents[leaf++] = made;
      } else {
        weights[made] += weights[package];
        package_parents[package++] = made;
      }
    }
  }
}

/* Huffman's lengths of two leaves or more; false, and no lengths, if one is too long. */
static bool find_lengths(const uint64_t *counts, uint32_t leaf_count, int longest_code,
                         uint8_t *lengths, szg_codebook_work *work) {
  const uint32_t *const leaves = work->leaves[0];
  uint32_t *const leaf_parents = work->leaves[1];
  uint64_t *const depths = work->weights[1]; /* of packages; first which one each is in */
  uint32_t const root = leaf_count - 2;
  join_items(counts, leaves, leaf_count, work->weights[0], leaf_parents, depths);
  depths[root] = 0;
  for (uint32_t package = root; package-- > 0;) depths[package] = depths[depths[package]] + 1;
  if (depths[leaf_parents[0]] + 1 > (uint64_t)longest_code) return false; /* the lightest leaf */
  for (uint32_t i = 0; i < leaf_count; i++)
    lengths[leaves[i]] = (uint8_t)(depths[leaf_parents[i]] + 1);
  return true;
}

/* One level: merges the leaves with the packages, which are pairs of the items before. Returns the
 * number of items; marks which are packages. */
static uint32_t merge_level(const uint64_t *counts, const uint32_t *leaves, uint32_t leaf_count,
                            const uint64_t *items, uint32_t item_count, uint64_t *merged,
                            uint64_t *is_package) {
  uint32_t const package_count = item_count / 2;
  uint32_t leaf = 0, package = 0, n = 0;
  memset(is_package, 0, (leaf_count + package_count + 63) / 64 * sizeof *is_package);
  while (leaf < leaf_count || package < package_count) {
    uint64_t const package_weight =
        package < package_count ? items[2 * package] + items[2 * package + 1] : UINT64_MAX;
    if (leaf < leaf_count && counts[leaves[leaf]] <= package_weight) {
      merged[n] = counts[leaves[leaf++]];
    } else {
      merged[n] = package_weight;
      is_package[n / 64] |= (uint64_t)1 << n % 64;
      package++;
    }
    n++;
  }
  return n;
}

static void package_merge(const uint64_t *counts, uint32_t leaf_count, int longest_code,
                          szg_codebook *book, szg_codebook_work *work) {
  uint32_t const *const leaves = work->leaves[0];
  uint32_t item_count = 0;
  for (int level = 0; level < longest_code; level++)
    item_count = merge_level(counts, leaves, leaf_count, work->weights[(level + 1) % 2], item_count,
                             work->weights[level % 2], work->is_package[level]);
  /* Takes the first 2 n - 2 items of the last level and all that their packages hold. At every
   * level the taken leaves are a prefix of the sorted ones; each lengthens its symbol's code. */
  uint32_t taken_count = 2 * leaf_count - 2;
  for (int level = longest_code - 1; level >= 0 && taken_count; level--) {
    uint32_t package_count = 0;
    for (uint32_t i = 0; i < taken_count; i++)
      package_count += (uint32_t)(work->is_package[level][i / 64] >> i % 64 & 1);
    for (uint32_t i = 0; i < taken_count - package_count; i++) book->lengths[leaves[i]]++;
    taken_count = 2 * package_count;
  }
}

/* Canonical codes by (length, symbol), XORed with the mask. length_counts: how many symbols have
 * each length. */
static void number_codes(const uint32_t *length_counts, szg_codebook *book) {
  uint32_t next_codes[SZG_MAX_CODE_BITS + 1];
  szg_canonical_firsts(length_counts, SZG_MAX_CODE_BITS, next_codes);
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s))
    if (book->lengths[s]) book->codes[s] = (uint16_t)next_codes[book->lengths[s]]++;
  /* Delta 0's code becomes all zeros: smooth stretches of the stream are zero bytes. */
  uint32_t const zero = book->symbol_count / 2;
  if (!book->lengths[zero]) return;
  uint32_t const mask = (uint32_t)book->codes[zero] << (SZG_MAX_CODE_BITS - book->lengths[zero]);
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s))
    if (book->lengths[s])
      book->codes[s] ^= (uint16_t)(mask >> (SZG_MAX_CODE_BITS - book->lengths[s]));
}

/* False if the lengths are not a complete prefix code; a lone symbol of length 1 is legal. */
static bool assign_codes(szg_codebook *book) {
  uint32_t length_counts[SZG_MAX_CODE_BITS + 1] = {0};
  for (uint32_t s = 0; s < book->end_symbol; s = szg_symbol_after(book, s))
    length_counts[book->lengths[s]]++;
  uint32_t used = 0, occurring = 0; /* used: code space, of 2^16 */
  for (int length = 1; length <= SZG_MAX_CODE_BITS; length++) {
    used += length_counts[length] << (SZG_MAX_CODE_BITS - length);
    occurring += length_counts[length];
    if (used > 1u << SZG_MAX_CODE_BITS) return false;
  }
  bool const is_lone = occurring == 1 && length_counts[1] == 1;
  if (!(occurring == 0 || is_lone || used == 1u << SZG_MAX_CODE_BITS)) return false;
  number_codes(length_counts, book);
  return true;
}

/* Leaves are in the symbols' order. */
static void set_span(const uint32_t *leaves, uint32_t leaf_count, szg_codebook *book) {
  uint32_t const escapes = leaf_count > 0 && leaves[0] == SZG_ESCAPE_SYMBOL;
  book->first_symbol = leaf_count > escapes ? leaves[escapes] : 1;
  book->end_symbol = leaf_count > escapes ? leaves[leaf_count - 1] + 1 : 1;
}

void szg_codebook_lengths(const uint64_t *counts, uint32_t symbol_count, int longest_code,
                          szg_codebook *book, szg_codebook_work *work) {
  enum { FEW_LEAVES = 32 };
  uint32_t *const leaves = work->leaves[0];
  uint32_t const leaf_count = find_leaves(counts, symbol_count, leaves);
  set_span(leaves, leaf_count, book);
  book->symbol_count = symbol_count;
  memset(book->lengths, 0, symbol_count);
  if (leaf_count <= FEW_LEAVES)
    sort_few(counts, leaf_count, leaves);
  else
    sort_many(counts, leaf_count, work);
  if (leaf_count == 1) book->lengths[leaves[0]] = 1;
  if (leaf_count > 1 && !find_lengths(counts, leaf_count, longest_code, book->lengths, work))
    package_merge(counts, leaf_count, longest_code, book, work);
}

void szg_codebook_build(const uint64_t *counts, uint32_t symbol_count, int longest_code,
                        szg_codebook *book, szg_codebook_work *work) {
  szg_codebook_lengths(counts, symbol_count, longest_code, book, work);
  bool const is_complete = assign_codes(book);
  assert(is_complete); /* Kraft equality */
  (void)is_complete;
}

size_t szg_codebook_write(const szg_codebook *book, uint8_t *bytes) {
  uint32_t first = 1, end = book->symbol_count;
  while (first < end && !book->lengths[first]) first++;
  while (end > first && !book->lengths[end - 1]) end--;
  if (first == end) first = end = 1;
  bytes[0] = book->lengths[SZG_ESCAPE_SYMBOL];
  bytes[1] = 0;
  szg_store_u16(bytes + 2, (uint16_t)first);
  szg_store_u16(bytes + 4, (uint16_t)(end - first));
  size_t byte_count = SZG_BOOK_HEAD_BYTES;
  for (uint32_t s = first; s < end;) {
    uint32_t run = 1;
    while (run < SZG_BOOK_LONGEST_RUN && s + run < end &&
           book->lengths[s + run] == book->lengths[s])
      run++;
    bytes[byte_count++] = (uint8_t)((run - 1) << SZG_BOOK_LENGTH_BITS | book->lengths[s]);
    s += run;
  }
  return byte_count;
}

szgpu_status szg_codebook_read(const uint8_t *bytes, size_t byte_count, uint32_t symbol_count,
                               szg_codebook *book) {
  SZG_REQUIRE(byte_count >= SZG_BOOK_HEAD_BYTES, SZGPU_BAD_DATA);
  uint32_t const first = szg_load_u16(bytes + 2), end = first + szg_load_u16(bytes + 4);
  SZG_REQUIRE(bytes[0] <= SZG_MAX_CODE_BITS && bytes[1] == 0, SZGPU_BAD_DATA);
  SZG_REQUIRE(first >= 1 && end <= symbol_count, SZGPU_BAD_DATA);
  book->symbol_count = symbol_count;
  book->first_symbol = first;
  book->end_symbol = end;
  memset(book->lengths, 0, symbol_count);
  book->lengths[SZG_ESCAPE_SYMBOL] = bytes[0];
  uint32_t s = first;
  for (size_t i = SZG_BOOK_HEAD_BYTES; i < byte_count; i++) {
    uint32_t const run = (uint32_t)(bytes[i] >> SZG_BOOK_LENGTH_BITS) + 1;
    uint8_t const length = bytes[i] & ((1 << SZG_BOOK_LENGTH_BITS) - 1);
    SZG_REQUIRE(length <= SZG_MAX_CODE_BITS && run <= end - s, SZGPU_BAD_DATA);
    memset(book->lengths + s, length, run);
    s += run;
  }
  SZG_REQUIRE(s == end, SZGPU_BAD_DATA);
  SZG_REQUIRE(assign_codes(book), SZGPU_BAD_DATA);
  return SZGPU_OK;
}
