/* test_cuda_tokens_damage.cu - the device refuses what the CPU refuses, and takes no harm.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/tokens_cases.cuh"

using namespace tokens_cases;

namespace {

int bad_count, sound_count;

/* Reads a section on both sides. */
void check(const Stage &stage, const Bytes &section, uint32_t least_unit, uint32_t most_unit,
           const char *what, uint64_t detail) {
  Read const expected = read_section(stage, section, least_unit, most_unit);
  uint64_t const tile_count = stage.tiles.tile_count;
  Opened const found = open_and_decode(stage, section, least_unit, most_unit, 0, tile_count);
  bool const is_bad = found.verdict.bad_data != 0;
  (expected.is_bad ? bad_count : sound_count)++;
  CHECK(is_bad == expected.is_bad,
        "%s, %s %llu (%zu bytes, mode %u, g %u): bad %d, on the CPU %d (tile %lld)",
        stage.name.c_str(), what, (unsigned long long)detail, section.size(),
        section.empty() ? 0 : section[0], section.size() < 2 ? 0 : section[1], is_bad,
        expected.is_bad, (long long)expected.bad_tile);
  check_guard(stage, found, what);
  CHECK(found.opened.unit >= 1 && found.opened.unit <= most_unit, "%s, %s %llu: unit %u",
        stage.name.c_str(), what, (unsigned long long)detail, found.opened.unit);
  if (!expected.is_bad && !is_bad)
    check_codes(stage, found.codes, expected.codes.data(), 0, tile_count, what);
}

struct Sample {
  Stage stage;
  Bytes section;
  uint32_t front_bytes;
};

Sample sample_of(const View &view, uint32_t stage, bool is_wide, Density density, uint32_t mode,
                 bool is_whole) {
  Sample sample = {stage_of(view, stage, is_wide), {}, 0};
  Bytes const codes = codes_of(sample.stage, density);
  szg_tokens_tally const tally =
      count_tiles(sample.stage, codes, (uint32_t)sample.stage.tiles.tile_count);
  uint32_t const least = szg_tokens_least_lane_groups_log2(sample.stage.tiles.group_count);
  uint32_t const g = least + (uint32_t)random_below(5 - least);
  szg_tokens_book_cuda const made = book_of(plan_of(tally, mode, g, is_whole), 2);
  sample.front_bytes = made.front_bytes;
  sample.section = section_of(sample.stage, codes, made);
  return sample;
}

/* A sample of any mode, of a few small tiles, some cut off. */
Sample random_sample() {
  const View views[] = {{{9, 11, 70}, 3, 0, 2},
                        {{70, 90}, 2, 0, 2},
                        {{9000}, 1, 0, 1},
                        {{5, 9, 33}, 3, 0, 1},
                        {{4096}, 1, 0, 0}};
  const Density densities[] = {{1000, 3, 0}, {300, 2, 300}, {30, 9, 500}, {700, 31, 100}};
  const View &view = views[random_below(5)];
  return sample_of(view, (uint32_t)random_below(view.level_count + 1), random_below(2),
                   densities[random_below(4)], 1 + (uint32_t)random_below(3), random_below(2));
}

int rounds_of(int rounds) { return cuda_test::is_quick() ? rounds / 20 : rounds; }

void flipped_bits_are_judged_as_on_the_cpu() {
  for (int i = 0; i < rounds_of(40); i++) {
    Sample const sample = random_sample();
    for (int k = 0; k < 60; k++) {
      Bytes section = sample.section;
      /* Half of them in the front, where bits matter to all. */
      uint64_t const limit = random_below(2) ? sample.front_bytes : section.size();
      uint64_t const bit = random_below(8 * limit);
      section[bit / 8] ^= (uint8_t)(1 << bit % 8);
      check(sample.stage, section, 1, 2, "bit", bit);
    }
  }
}

void heads_are_judged_as_on_the_cpu() {
  for (int i = 0; i < rounds_of(20); i++) {
    Sample const sample = random_sample();
    for (uint32_t at = 0; at < 16; at++)
      for (uint32_t byte : {0, 1, 2, 3, 4, 5, 8, 255}) {
        Bytes section = sample.section;
        section[at] = (uint8_t)byte;
        check(sample.stage, section, 1, 2, "head's byte", at * 256 + byte);
        check(sample.stage, section, 2, 2, "head's byte, one unit", at * 256 + byte);
      }
    Bytes const front(sample.section.begin(), sample.section.begin() + 16);
    check(sample.stage, front, 1, 2, "only the head", 0);
    Bytes zero(16, 0);
    zero[4] = 1;
    check(sample.stage, zero, 1, 2, "no codes", 0);
    zero.resize(20, 0);
    check(sample.stage, zero, 1, 2, "no codes, but more bytes", 0);
  }
}

void other_lengths_are_refused() {
  for (int i = 0; i < rounds_of(40); i++) {
    Sample const sample = random_sample();
    for (int k = 0; k < 20; k++) {
      Bytes section = sample.section;
      section.resize(random_below(section.size() / 4 + 40) * 4, (uint8_t)random_bits());
      check(sample.stage, section, 1, 2, "length", section.size());
    }
  }
}

/* Words that are random, under a head that fits. */
void random_words_do_no_harm() {
  for (int i = 0; i < rounds_of(200); i++) {
    Sample const sample = random_sample();
    Bytes section = sample.section;
    uint64_t const tile_count = sample.stage.tiles.tile_count;
    uint64_t const words = sample.front_bytes + (tile_count + 1) / 2 * 4;
    for (uint64_t k = words; k < section.size(); k++) {
      uint64_t const kind = i % 4;
      section[k] = kind == 0     ? (uint8_t)random_bits()
                   : kind == 1   ? 0
                   : kind == 2   ? 255
                   : k % 32 < 28 ? section[k]
                                 : (uint8_t)random_bits();
    }
    check(sample.stage, section, 1, 2, "random words", (uint64_t)i);
  }
}

/* Sizes of two tiles change, and their sum does not. */
void shifted_sizes_are_judged_as_on_the_cpu() {
  for (int i = 0; i < rounds_of(200); i++) {
    Sample const sample = random_sample();
    Bytes section = sample.section;
    uint64_t const tile_count = sample.stage.tiles.tile_count;
    uint64_t const a = random_below(tile_count), b = random_below(tile_count);
    uint8_t *const sizes = section.data() + sample.front_bytes;
    uint16_t one, other;
    memcpy(&one, sizes + 2 * a, 2);
    memcpy(&other, sizes + 2 * b, 2);
    uint32_t const moved = (uint32_t)random_below(one + 1u);
    if (a == b || moved + other > UINT16_MAX) continue;
    one = (uint16_t)(one - moved), other = (uint16_t)(other + moved);
    memcpy(sizes + 2 * a, &one, 2);
    memcpy(sizes + 2 * b, &other, 2);
    check(sample.stage, section, 1, 2, "words moved", moved);
  }
}

/* One place that does not exist has a code. */
void places_that_do_not_exist_have_no_codes() {
  const View views[] = {{{9, 11, 70}, 3, 0, 2}, {{70, 91}, 2, 0, 1}, {{9001}, 1, 0, 1}};
  int const bad_before = bad_count;
  for (int i = 0; i < rounds_of(200) + 20; i++) {
    const View &view = views[i % 3];
    uint32_t const own = (uint32_t)random_below(view.level_count + 1);
    Stage const stage = stage_of(view, own, random_below(2));
    Bytes codes = codes_of(stage, {300, 3, 100});
    szg_tokens_tally const tally = count_tiles(stage, codes, (uint32_t)stage.tiles.tile_count);
    uint64_t place = random_below(64 * stage.existing.size());
    while (stage.existing[place / 64] >> place % 64 & 1)
      place = (place + 1) % (64 * stage.existing.size());
    codes[place * stage.code_bytes()] = 1;
    szg_tokens_book_cuda const made =
        book_of(plan_of(tally, 2 + (uint32_t)random_below(2), 4, false), 2);
    check(stage, section_of(stage, codes, made), 1, 2, "a code at place", place);
  }
  CHECK(bad_count > bad_before + 5, "only %d are bad", bad_count - bad_before);
}

/* Books of a few units, over words that are few. */
void books_are_judged_by_their_units() {
  const char *const cases[] = {
      "D",        "1D",     "2D",       "11D",    "12D",    "111D",
      "122D",     "1E1D",   "1F1D",     "11",     "0F",     "01001011D",
      "110FED",   "110FEE", "110FEE0D", "110FEF", "0FEE11", "0FEE110000000000",
      "11D00001", "C",      "",         "0"};
  Stage const stage = stage_of({{70, 90}, 2, 0, 1}, 1, false);
  for (const char *units : cases)
    for (uint8_t mode = 1; mode < 4; mode++) {
      Bytes section(16, 0), books((strlen(units) + 7) / 8 * 4, 0);
      for (size_t k = 0; units[k]; k++) {
        int const unit = units[k] <= '9' ? units[k] - '0' : units[k] - 'A' + 10;
        books[k / 2] |= (uint8_t)(unit << (k % 2 ? 0 : 4));
      }
      section[0] = mode, section[1] = 2, section[4] = 1, section[8] = (uint8_t)books.size();
      section.insert(section.end(), books.begin(), books.end());
      section.resize(section.size() + (stage.tiles.tile_count + 1) / 2 * 4, 0);
      check(stage, section, 1, 2, units, mode);
      section[16 + books.size()] = 1; /* a tile of one word */
      section.resize(section.size() + 4, 0);
      check(stage, section, 1, 2, units, 10 + mode);
    }
}

/* A bad section beside a sound one: both are opened in one call. */
void sections_are_opened_together() {
  Sample const sound = sample_of({{90, 70}, 2, 0, 1}, 0, false, {300, 3, 100}, 3, true);
  Sample const more = sample_of({{300, 300}, 2, 0, 1}, 1, false, {300, 3, 100}, 1, true);
  for (int is_damaged = 0; is_damaged < 2; is_damaged++) {
    Bytes other = more.section;
    if (is_damaged) other[17] ^= 0xFF;
    Read const other_expected = read_section(more.stage, other, 1, 2);
    Read const expected = read_section(sound.stage, sound.section, 1, 2);
    bool const is_bad = other_expected.is_bad;
    DeviceArray<uint8_t> bytes(sound.section), other_bytes(other), codes(expected.codes.size());
    DeviceArray<uint8_t> other_codes(other_expected.codes.size());
    DeviceArray<szg_tokens_opened_cuda> opened(2);
    DeviceArray<uint16_t> sizes(sound.stage.tiles.tile_count), other_sizes(10000);
    DeviceArray<uint64_t> first_words(sound.stage.tiles.tile_count + 1), other_words(10000);
    DeviceArray<szg_verdict> verdict(1);
    verdict.zero();
    szg_tokens_input_cuda const inputs[2] = {
        {sound.stage.tiles, bytes.data(), sound.section.size(), 1, 2, opened.data(), sizes.data(),
         first_words.data()},
        {more.stage.tiles, other_bytes.data(), other.size(), 1, 2, opened.data() + 1,
         other_sizes.data(), other_words.data()}};
    MUST(szg_tokens_open_cuda(inputs, 2, verdict.data(), cuda_test::stream));
    MUST(szg_tokens_decode_cuda(&inputs[0], 0, sound.stage.tiles.tile_count, codes.data(),
                                verdict.data(), cuda_test::stream));
    MUST(szg_tokens_decode_cuda(&inputs[1], 0, more.stage.tiles.tile_count, other_codes.data(),
                                verdict.data(), cuda_test::stream));
    CHECK((verdict.host()[0].bad_data != 0) == is_bad, "bad %u, on the CPU %d",
          verdict.host()[0].bad_data, is_bad);
    check_codes(sound.stage, codes.host(), expected.codes.data(), 0, sound.stage.tiles.tile_count,
                "together");
  }
}

} // namespace

int main() {
  cuda_test::begin();
  flipped_bits_are_judged_as_on_the_cpu();
  heads_are_judged_as_on_the_cpu();
  other_lengths_are_refused();
  random_words_do_no_harm();
  shifted_sizes_are_judged_as_on_the_cpu();
  places_that_do_not_exist_have_no_codes();
  books_are_judged_by_their_units();
  sections_are_opened_together();
  printf("%d bad sections, %d sound ones\n", bad_count, sound_count);
  CHECK(bad_count > sound_count / 10 && sound_count > 0, "%d, %d", bad_count, sound_count);
  return cuda_test::end();
}
