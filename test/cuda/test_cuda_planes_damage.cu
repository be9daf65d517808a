/* test_cuda_planes_damage.cu - damaged lossless frames get the CPU's verdict and do no harm.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/planes_cases.cuh"

namespace {

/* The CPU's verdict on a frame's sections, and its values if they are sound. */
bool decode_on_cpu(const Sections &sections, Bytes *bytes) {
  static szg_planes_decoder decoder;
  static uint8_t lengths[SZG_PLANES_MOST][SZG_PLANES_SYMBOLS];
  uint64_t sum = 0;
  for (uint16_t size : sections.sizes) sum += size;
  if (sum != sections.words.size()) return false;
  if (szg_planes_books_read(&sections.layout, sections.books.data(), sections.books.size(),
                            lengths) != SZGPU_OK)
    return false;
  szg_planes_decoder_build(&sections.layout, lengths, &decoder);
  uint64_t const value_bytes = sections.layout.value_bytes;
  bytes->resize(sections.value_count * value_bytes);
  uint64_t first_word = 0;
  for (uint64_t t = 0; t < szg_planes_tile_count(sections.value_count); t++) {
    uint64_t const first = t * SZG_TILE_VALUES;
    uint32_t const size = sections.sizes.empty() ? 0 : sections.sizes[t];
    szgpu_status const status = szg_planes_decode_tile(
        &decoder, (const uint8_t *)(sections.words.data() + first_word), size,
        sections.stored.data() + (sections.stored.empty() ? 0 : first),
        szg_stored_plane_bytes(sections.value_count), tile_values(sections.value_count, t),
        bytes->data() + first * value_bytes);
    if (status != SZGPU_OK) return false;
    first_word += size;
  }
  return true;
}

void check_damaged(const Sections &sections, const char *what) {
  Bytes expected;
  bool const is_good = decode_on_cpu(sections, &expected);
  uint64_t const byte_count = sections.value_count * sections.layout.value_bytes;
  Decoded const decoded = decode_on_device(sections, 0, byte_count, 0);
  CHECK(decoded.is_bad == !is_good, "%s, %u bytes, modes %x: bad %d, on the CPU %d", what,
        sections.layout.value_bytes, sections.layout.modes, decoded.is_bad, !is_good);
  CHECK(
      !is_good || memcmp(decoded.bytes.data() + kGuardBytes, expected.data(), expected.size()) == 0,
      "%s: other values", what);
  bool is_guarded = true;
  for (uint32_t i = 0; i < kGuardBytes; i++)
    is_guarded = is_guarded && decoded.bytes[i] == kGuard &&
                 decoded.bytes[kGuardBytes + byte_count + i] == kGuard;
  CHECK(is_guarded, "%s: bytes outside", what);
  CHECK(decoded.counter == 0, "%s: %u", what, decoded.counter);
}

/* The sections of a random frame with a coded plane. */
Sections random_sections(bool is_large) {
  for (;;) {
    uint32_t const value_bytes = 1u << random_below(4);
    uint64_t const count = is_large ? 9000 + random_below(9000) : 1 + random_below(200);
    Frame const frame = make_frame(value_bytes, count, random_planes(value_bytes), true);
    if (coded_planes(frame.choice.layout) > 0) return encode_on_cpu(frame);
  }
}

void damaged_words_are_told_as_on_the_cpu() {
  for (int i = 0; i < 200; i++) {
    Sections sections = random_sections(i % 2);
    for (uint64_t k = 0; k <= random_below(3); k++)
      sections.words[random_below(random_below(2) ? 4 : sections.words.size()) %
                     sections.words.size()] ^= 1u << random_below(32);
    check_damaged(sections, "flipped bits");
  }
  for (int i = 0; i < 100; i++) {
    Sections sections = random_sections(i % 2);
    for (uint32_t &word : sections.words)
      if (random_below(2)) word = (uint32_t)random_bits();
    if (i % 3 == 0) sections.words[0] = szg_planes_head((uint32_t)random_below(1600), 11);
    check_damaged(sections, "garbage");
  }
  for (uint32_t width : {0u, 1u, 10u, 11u, 12u, 31u, 32u, 65535u})
    for (uint32_t least : {0u, 1u, 1535u, 1536u, 1537u, 65535u}) {
      Sections sections = random_sections(true);
      sections.words[0] = szg_planes_head(least, width);
      check_damaged(sections, "another head");
    }
}

/* Lane lengths may have more bits than they need, up to the reader's limit. */
void wide_heads_are_told_as_on_the_cpu() {
  Frame const frame = make_frame(1, 300, {kFew}, true);
  Sections const narrow = encode_on_cpu(frame);
  uint32_t const width = szg_planes_head_width(narrow.words[0]);
  for (uint32_t wider = width; wider <= 16; wider++) {
    Sections sections = narrow;
    sections.words.assign(1 + wider, 0);
    sections.words[0] = szg_planes_head(szg_planes_head_least(narrow.words[0]), wider);
    for (uint32_t bit = 0; bit < SZG_LANES * width; bit++) {
      uint32_t const place = bit / width * wider + wider - width + bit % width;
      uint32_t const value = narrow.words[1 + bit / 32] >> (31 - bit % 32) & 1;
      sections.words[1 + place / 32] |= value << (31 - place % 32);
    }
    sections.words.insert(sections.words.end(), narrow.words.begin() + 1 + width,
                          narrow.words.end());
    sections.sizes[0] = (uint16_t)sections.words.size();
    Bytes values;
    CHECK(decode_on_cpu(sections, &values) == (wider <= SZG_PLANE_MOST_WIDTH), "width %u", wider);
    check_damaged(sections, "a wide head");
  }
}

void damaged_sizes_are_told_as_on_the_cpu() {
  for (int i = 0; i < 100; i++) {
    Sections sections = random_sections(true);
    uint16_t *const size = &sections.sizes[random_below(sections.sizes.size())];
    *size = i % 4 ? (uint16_t)(*size + random_below(5) - 2) : (uint16_t)random_bits();
    check_damaged(sections, "a size");
  }
  for (int i = 0; i < 50; i++) { /* moves a word between tiles: the sum stays */
    Sections sections = random_sections(true);
    sections.sizes[0]--;
    sections.sizes[1]++;
    check_damaged(sections, "sizes of the same sum");
  }
  for (bool is_in_tile : {false, true}) { /* a word that no tile needs */
    Sections sections = random_sections(true);
    sections.words.push_back(0);
    sections.sizes.back() = (uint16_t)(sections.sizes.back() + is_in_tile);
    check_damaged(sections, is_in_tile ? "a word behind a tile" : "a word behind all tiles");
  }
  for (int i = 0; i < 20; i++) {
    Sections sections = random_sections(i % 2);
    sections.words.resize(random_below(sections.words.size()));
    check_damaged(sections, "fewer words");
  }
}

void damaged_books_are_told_as_on_the_cpu() {
  for (int i = 0; i < 150; i++) {
    Sections sections = random_sections(false);
    for (uint64_t k = 0; k <= random_below(2); k++)
      sections.books[random_below(sections.books.size())] ^= (uint8_t)(1 << random_below(8));
    check_damaged(sections, "a book's bits");
  }
  for (int i = 0; i < 50; i++) { /* lengths of other symbols: often a valid code */
    Sections sections = random_sections(false);
    for (int k = 0; k < 20; k++) {
      uint8_t *const byte = &sections.books[random_below(sections.books.size())];
      *byte = (uint8_t)(*byte << 4 | *byte >> 4);
    }
    check_damaged(sections, "lengths of other symbols");
  }
  Sections sections = random_sections(false);
  for (uint8_t byte : {0x00, 0x11, 0x88, 0x0C, 0xCC, 0xDD, 0xFF}) {
    sections.books.assign(sections.books.size(), byte);
    check_damaged(sections, "a book of one byte");
  }
}

} // namespace

int main() {
  cuda_test::begin();
  damaged_words_are_told_as_on_the_cpu();
  wide_heads_are_told_as_on_the_cpu();
  damaged_sizes_are_told_as_on_the_cpu();
  damaged_books_are_told_as_on_the_cpu();
  return cuda_test::end();
}
