/* test_cuda_tokens.cu - the device counts, makes books, encodes and decodes as the CPU does.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/tokens_cases.cuh"
#include "cuda/tokens_count_all.cuh"

using namespace tokens_cases;

namespace {

/* ---- what there is to code ---- */

const View views[] = {
    {{5000}, 1, 0, 0},         {{5000}, 1, 0, 1},       {{100003}, 1, 0, 6},
    {{5000}, 2, 77, 2},        {{3}, 1, 0, 2},          {{64, 64}, 2, 0, 1},
    {{130, 67}, 2, 0, 3},      {{257, 301}, 2, 0, 6},   {{1, 5}, 1, 0, 0},
    {{37, 21, 70}, 3, 0, 1},   {{37, 21, 70}, 3, 0, 6}, {{16, 64, 128}, 3, 0, 2},
    {{37, 21, 70}, 2, 0, 4},   {{33, 9, 65}, 3, 0, 3},  {{3, 20, 17, 40}, 3, 0, 2},
    {{2, 5, 40, 90}, 2, 0, 2}, {{2, 2, 2}, 3, 0, 1},    {{17, 8, 64}, 3, 0, 0},
};

const Density densities[] = {{1000, 3, 0},  {1000, 20, 0}, {600, 2, 100}, {300, 1, 300},
                             {100, 4, 500}, {20, 1, 700},  {2, 8, 900},   {700, 12, 200},
                             {0, 1, 0},     {1000, 31, 0}, {1, 31, 0},    {1000, 0, 0}};

template <class Claim>
void for_all_stages(Claim claim) {
  uint64_t number = 0;
  for (const View &view : views) {
    szg_grid const grid = cuda_test::grid_of(view.dims);
    szg_levels levels;
    if (!szg_levels_make(&grid, view.axis_count, view.fold, view.level_count, &levels)) {
      printf("%s: not a view, left out\n", name_of(view, 0, false).c_str());
      continue;
    }
    for (uint32_t stage = 0; stage <= view.level_count; stage++)
      for (uint32_t is_wide = 0; is_wide < 2; is_wide++)
        if (!cuda_test::is_left_out(number++, 5)) claim(stage_of(view, stage, is_wide));
  }
}

Density density_of(const Stage &stage) {
  Density density = densities[random_below(sizeof densities / sizeof *densities)];
  if (stage.tiles.is_wide && random_below(2)) density.most_bits = density.most_bits * 2 + 1;
  return density;
}

/* ---- counts and books ---- */

struct Member {
  const char *name;
  size_t at, count;
};
#define MEMBER(name, count) \
  { #name, offsetof(szg_tokens_tally, name) / 8, count }
const Member members[] = {
    MEMBER(octets, 257),      MEMBER(masks, 256),       MEMBER(pairs, 226),
    MEMBER(values, 256),      MEMBER(pair_values, 256), MEMBER(raw_bits, 1),
    MEMBER(pair_raw_bits, 1), MEMBER(live_lanes, 5),    MEMBER(live_groups, 5),
    MEMBER(live_pairs, 5),    MEMBER(live_places, 5)};

void check_tally(const Stage &stage, const szg_tokens_tally &found,
                 const szg_tokens_tally &expected) {
  for (const Member &member : members)
    for (size_t i = 0; i < member.count; i++) {
      uint64_t const a = ((const uint64_t *)&found)[member.at + i];
      uint64_t const b = ((const uint64_t *)&expected)[member.at + i];
      if (a == b) continue;
      CHECK(false, "%s: %s[%zu] is %llu, not %llu", stage.name.c_str(), member.name, i,
            (unsigned long long)a, (unsigned long long)b);
      break;
    }
}

template <class T>
void check_elements(const Stage &stage, const char *name, const T *found, const T *expected,
                    size_t count) {
  for (size_t i = 0; i < count; i++)
    if (found[i] != expected[i]) {
      CHECK(false, "%s: %s[%zu] is 0x%llx, not 0x%llx", stage.name.c_str(), name, i,
            (unsigned long long)found[i], (unsigned long long)expected[i]);
      return;
    }
}

/* Only entries of the books that the mode has: the others are not set. */
void check_encoder(const Stage &stage, const szg_tokens_encoder &found,
                   const szg_tokens_encoder &expected) {
  CHECK(found.mode == expected.mode, "%s: the encoder's mode is %u, not %u", stage.name.c_str(),
        found.mode, expected.mode);
  check_elements(stage, "values", found.values, expected.values, SZG_LEVELS_VALUES);
  check_elements(stage, "direct", found.direct, expected.direct, 2 * SZG_LEVELS_DIRECT);
  if (expected.mode == SZG_LEVELS_MODE_MASKS) {
    check_elements(stage, "octets", found.octets, expected.octets, SZG_LEVELS_OCTET_ESCAPE);
    check_elements(stage, "masks", found.masks, expected.masks, SZG_LEVELS_MASKS);
  }
  if (expected.mode == SZG_LEVELS_MODE_PAIRS) {
    check_elements(stage, "pairs", found.pairs, expected.pairs, SZG_LEVELS_PAIRS);
    check_elements(stage, "small pairs", found.small_pairs, expected.small_pairs, SZG_LEVELS_PAIRS);
  }
}

void check_book(const Stage &stage, const szg_tokens_book_cuda &found,
                const szg_tokens_book_cuda &expected) {
  const szg_tokens_books &own = found.plan.books, &other = expected.plan.books;
  CHECK(found.plan.mode == expected.plan.mode, "%s: mode %u, not %u", stage.name.c_str(),
        found.plan.mode, expected.plan.mode);
  CHECK(found.plan.lane_groups_log2 == expected.plan.lane_groups_log2, "%s: g %u, not %u",
        stage.name.c_str(), found.plan.lane_groups_log2, expected.plan.lane_groups_log2);
  check_elements(stage, "octets' lengths", own.octets, other.octets, SZG_LEVELS_OCTETS);
  check_elements(stage, "masks' lengths", own.masks, other.masks, SZG_LEVELS_MASKS);
  check_elements(stage, "pairs' lengths", own.pairs, other.pairs, SZG_LEVELS_PAIRS);
  check_elements(stage, "values' lengths", own.values, other.values, SZG_LEVELS_VALUES);
  check_encoder(stage, found.encoder, expected.encoder);
  CHECK(found.front_bytes == expected.front_bytes, "%s: front of %u bytes, not %u",
        stage.name.c_str(), found.front_bytes, expected.front_bytes);
  check_elements(stage, "front", found.front, expected.front, SZG_TOKENS_FRONT_MOST_BYTES / 4);
}

/* Counts, and makes the book. */
szg_tokens_book_cuda check_made(const Stage &stage, const Bytes &codes, uint32_t counted_count,
                                uint32_t unit) {
  bool const is_whole = counted_count == stage.tiles.tile_count;
  szg_tokens_tally const tally = count_tiles(stage, codes, counted_count);
  szg_tokens_plan plan;
  uint32_t const lane_bits = szg_tokens_lane_bits(stage.tiles.tile_count);
  szg_tokens_choose(&tally, stage.tiles.group_count, lane_bits, is_whole, &book, &book_work, &plan);
  szg_tokens_book_cuda const expected = book_of(plan, unit);
  size_t const tile_bytes = stage.place_count() * stage.code_bytes();
  Bytes sample;
  for (uint32_t i = 0; i < counted_count; i++) {
    uint64_t const t = szg_sample_tile(stage.tiles.tile_count, counted_count, i);
    sample.insert(sample.end(), codes.begin() + (ptrdiff_t)(t * tile_bytes),
                  codes.begin() + (ptrdiff_t)((t + 1) * tile_bytes));
  }
  DeviceArray<uint8_t> device_codes(codes), device_sample(sample);
  DeviceArray<szg_tokens_tally> device_tally(1);
  DeviceArray<szg_tokens_book_cuda> device_book(1);
  MUST(count_on_device(&stage.tiles, device_sample.data(), counted_count, true, device_tally.data(),
                       cuda_test::stream));
  check_tally(stage, device_tally.host()[0], tally);
  device_tally.poison();
  MUST(count_on_device(&stage.tiles, device_codes.data(), counted_count, false, device_tally.data(),
                       cuda_test::stream));
  check_tally(stage, device_tally.host()[0], tally);
  szg_tokens_book_facts const facts = {stage.tiles.group_count, lane_bits, is_whole, unit};
  MUST(szg_tokens_books_make_cuda(&facts, 1, device_tally.data(), device_book.data(),
                                  cuda_test::stream));
  check_book(stage, device_book.host()[0], expected);
  return expected;
}

/* ---- sections ---- */

/* Device memory to encode a stage. */
struct EncoderMemory {
  DeviceArray<uint16_t> sizes, group_bits;
  DeviceArray<uint64_t> first_words, nonzero;
  explicit EncoderMemory(const Stage &stage)
      : sizes(stage.tiles.tile_count),
        group_bits(stage.tiles.tile_count * stage.tiles.group_count),
        first_words(stage.tiles.tile_count + 1),
        nonzero(stage.tiles.tile_count * stage.tiles.group_count) {}
  szg_tokens_work_cuda work() const {
    return {sizes.data(), first_words.data(), nonzero.data(), group_bits.data()};
  }
};

/* Says what differs first between two sections. */
void check_section(const Stage &stage, const szg_tokens_book_cuda &made, const uint8_t *found,
                   const Bytes &expected, const char *what) {
  if (memcmp(found, expected.data(), expected.size()) == 0) return;
  size_t i = 0;
  while (found[i] == expected[i]) i++;
  size_t const sizes = made.front_bytes;
  size_t const words = sizes + (stage.tiles.tile_count + 1) / 2 * 4;
  uint64_t t = 0;
  size_t place = words;
  while (i >= words && t < stage.tiles.tile_count) {
    size_t const size = expected[sizes + 2 * t] | (size_t)expected[sizes + 2 * t + 1] << 8;
    if (i < place + 4 * size) break;
    place += 4 * size;
    t++;
  }
  CHECK(false,
        "%s, %s, mode %u, g %u: byte %zu (sizes at %zu, words at %zu, tile %llu's at %zu) "
        "is 0x%02x, not 0x%02x",
        stage.name.c_str(), what, made.plan.mode, made.plan.lane_groups_log2, i, sizes, words,
        (unsigned long long)t, place, found[i], expected[i]);
}

/* Encodes with a book at a place in an archive, which must get only the section. spare: bytes of
 * capacity that are left behind the section's padding; -1: it does not fit. */
void check_encoded(const Stage &stage, const Bytes &codes, const szg_tokens_book_cuda &made,
                   const Bytes &section, uint64_t first_byte, int spare) {
  uint64_t const next_byte = (first_byte + section.size() + 15) / 16 * 16;
  DeviceArray<uint8_t> device_codes(codes);
  DeviceArray<szg_tokens_book_cuda> device_book(std::vector<szg_tokens_book_cuda>(1, made));
  DeviceArray<uint8_t> archive(next_byte + 64);
  DeviceArray<uint64_t> places(std::vector<uint64_t>{first_byte, 1, 2});
  EncoderMemory const memory(stage);
  szg_tokens_work_cuda const work = memory.work();
  szg_tokens_output_cuda const output = {archive.data(), next_byte + (uint64_t)(int64_t)spare,
                                         places.data(), places.data() + 1, places.data() + 2};
  MUST(szg_tokens_encode_cuda(&stage.tiles, device_book.data(), device_codes.data(), &work, &output,
                              cuda_test::stream));
  std::vector<uint64_t> const told = places.host();
  CHECK(told[1] == section.size() && told[2] == next_byte,
        "%s, mode %u, g %u: %llu bytes up to %llu, not %zu up to %llu", stage.name.c_str(),
        made.plan.mode, made.plan.lane_groups_log2, (unsigned long long)told[1],
        (unsigned long long)told[2], section.size(), (unsigned long long)next_byte);
  Bytes expected(archive.count(), kPoison);
  if (spare >= 0) {
    memcpy(expected.data() + first_byte, section.data(), section.size());
    memset(expected.data() + first_byte + section.size(), 0,
           next_byte - first_byte - section.size());
  }
  Bytes const found = archive.host();
  if (spare >= 0) check_section(stage, made, found.data() + first_byte, section, "encoded");
  size_t i = 0;
  while (i < found.size() && found[i] == expected[i]) i++;
  CHECK(i == found.size(), "%s, mode %u, spare %d: byte %zu of the archive is 0x%02x, not 0x%02x",
        stage.name.c_str(), made.plan.mode, spare, i, found[i], expected[i]);
}

/* Reads back all tiles, and some of them. */
void check_decoded(const Stage &stage, const Bytes &codes, const szg_tokens_book_cuda &made,
                   const Bytes &section, uint32_t unit) {
  uint64_t const tile_count = stage.tiles.tile_count;
  Opened const found = open_and_decode(stage, section, 1, unit, 0, tile_count);
  uint32_t const mode = section[0]; /* 0 if all codes are */
  CHECK(found.verdict.bad_data == 0, "%s, mode %u, g %u: bad", stage.name.c_str(), mode,
        made.plan.lane_groups_log2);
  CHECK(found.opened.is_coded == (mode != 0) && found.opened.unit == unit &&
            found.opened.mode == mode,
        "%s: coded %u, unit %u, mode %u", stage.name.c_str(), found.opened.is_coded,
        found.opened.unit, found.opened.mode);
  check_guard(stage, found, "decoded");
  check_codes(stage, found.codes, codes.data(), 0, tile_count, "decoded");
  uint64_t const first = random_below(tile_count), end = first + random_below(tile_count - first);
  Opened const some = open_and_decode(stage, section, unit, unit, first, end + 1);
  CHECK(some.verdict.bad_data == 0, "%s, mode %u, some: bad", stage.name.c_str(), mode);
  check_guard(stage, some, "some");
  check_codes(stage, some.codes, codes.data() + first * stage.place_count() * stage.code_bytes(),
              first, end + 1, "some");
}

void check_both_ways(const Stage &stage, const Bytes &codes, const szg_tokens_book_cuda &made,
                     uint32_t unit) {
  Bytes const section = section_of(stage, codes, made);
  check_encoded(stage, codes, made, section, 16 * random_below(20), (int)random_below(2) * 48);
  check_decoded(stage, codes, made, section, unit);
}

/* ---- claims ---- */

void chosen_books_and_words_are_the_cpus() {
  for_all_stages([](const Stage &stage) {
    for (int round = 0; round < 3; round++) {
      Bytes const codes = codes_of(stage, density_of(stage));
      uint32_t const unit = 1 + (uint32_t)random_below(256);
      szg_tokens_book_cuda const made =
          check_made(stage, codes, (uint32_t)stage.tiles.tile_count, unit);
      check_both_ways(stage, codes, made, unit);
    }
  });
}

void samples_leave_escapes_for_the_rest() {
  for_all_stages([](const Stage &stage) {
    if (stage.tiles.tile_count < 2) return;
    Bytes const codes = codes_of(stage, density_of(stage));
    uint32_t const counted = 1 + (uint32_t)random_below(stage.tiles.tile_count - 1);
    szg_tokens_book_cuda const made = check_made(stage, codes, counted, 3);
    check_both_ways(stage, codes, made, 3);
  });
}

void every_mode_and_lane_size_gives_the_cpus_words() {
  for_all_stages([](const Stage &stage) {
    Bytes const codes = codes_of(stage, density_of(stage));
    uint32_t const tile_count = (uint32_t)stage.tiles.tile_count;
    szg_tokens_tally const none = {}, all = count_tiles(stage, codes, tile_count);
    uint32_t const least = szg_tokens_least_lane_groups_log2(stage.tiles.group_count);
    for (uint32_t mode = 1; mode < SZG_LEVELS_MODES; mode++)
      for (uint32_t g = least; g <= SZG_LEVELS_LANE_GROUPS_LOG2; g++) {
        check_both_ways(stage, codes, book_of(plan_of(all, mode, g, true), 1), 1);
        check_both_ways(stage, codes, book_of(plan_of(none, mode, g, false), 1), 1);
      }
  });
}

/* Counts that no tile has, to reach long codes, ties and books of one symbol. */
void books_of_any_counts_are_the_cpus() {
  Stage const stage = stage_of({{64, 64, 64}, 3, 0, 2}, 2, true);
  int const rounds = cuda_test::is_quick() ? 20 : 300;
  for (int round = 0; round < rounds; round++) {
    szg_tokens_tally tally = {};
    uint64_t const rarity = 1 + random_below(40), shift = 20 + random_below(40);
    bool const has_ties = random_below(2), is_whole = random_below(2);
    uint32_t const lane_bits = 160 * (uint32_t)random_below(3);
    uint64_t *const numbers = (uint64_t *)&tally;
    for (const Member &member : members)
      for (size_t i = 0; i < member.count; i++) {
        if (member.count < 6 || random_below(rarity)) continue;
        uint64_t const own = has_ties ? 1 + random_below(3) : 1 + (random_bits() >> shift >> i / 8);
        numbers[member.at + i] = own % ((uint64_t)1 << 36);
      }
    uint64_t sums[3] = {0, 0, 0};
    for (uint64_t count : tally.octets) sums[0] += count;
    for (uint64_t count : tally.pairs) sums[1] += count;
    for (uint64_t count : tally.values) sums[2] += count;
    tally.raw_bits = random_bits() >> shift, tally.pair_raw_bits = random_bits() >> shift;
    for (uint32_t g = 0; g < SZG_TOKENS_LANE_SIZES; g++) {
      tally.live_lanes[g] = round % 10 ? 1 + (random_bits() >> shift) : 0;
      tally.live_groups[g] = sums[0] + (random_bits() >> shift) % 1000000;
      tally.live_pairs[g] = sums[1] + (random_bits() >> shift) % 1000000;
      tally.live_places[g] = sums[2] + (random_bits() >> shift) % 1000000;
    }
    szg_tokens_plan plan;
    szg_tokens_choose(&tally, stage.tiles.group_count, lane_bits, is_whole, &book, &book_work,
                      &plan);
    DeviceArray<szg_tokens_tally> device_tally(std::vector<szg_tokens_tally>(1, tally));
    DeviceArray<szg_tokens_book_cuda> device_book(1);
    szg_tokens_book_facts const facts = {stage.tiles.group_count, lane_bits, is_whole, 7};
    MUST(szg_tokens_books_make_cuda(&facts, 1, device_tally.data(), device_book.data(),
                                    cuda_test::stream));
    check_book(stage, device_book.host()[0], book_of(plan, 7));
  }
}

/* Sizes are summed up in chunks of 1024 tiles by up to 64 blocks. */
void many_tiles_are_placed() {
  Stage const stage = stage_of({{64 * 8, 16 * 8, 64 * 4 - 1}, 3, 0, 6}, 6, false);
  Stage const line = stage_of({{4096 * 70000u}, 1, 0, 6}, 1, false); /* 2^-5 of the points */
  for (const Stage *own : {&stage, &line}) {
    Bytes const codes = codes_of(*own, {30, 3, 400});
    szg_tokens_book_cuda const made = check_made(
        *own, codes, own->tiles.tile_count < 300 ? (uint32_t)own->tiles.tile_count : 300, 1);
    check_both_ways(*own, codes, made, 1);
  }
}

void a_section_that_does_not_fit_is_not_written() {
  Stage const stage = stage_of({{37, 21, 70}, 3, 0, 1}, 1, false);
  Bytes const codes = codes_of(stage, {300, 4, 100});
  szg_tokens_tally const tally = count_tiles(stage, codes, (uint32_t)stage.tiles.tile_count);
  szg_tokens_book_cuda const made = book_of(plan_of(tally, 2, 3, true), 1);
  Bytes const section = section_of(stage, codes, made);
  for (int spare : {-1, 0, 1}) check_encoded(stage, codes, made, section, 32, spare);
}

void all_steps_can_be_captured() {
  Stage const stage = stage_of({{37, 21, 70}, 3, 0, 1}, 1, false);
  Bytes const codes = codes_of(stage, {300, 4, 100});
  uint32_t const tile_count = (uint32_t)stage.tiles.tile_count;
  szg_tokens_book_cuda const made = check_made(stage, codes, tile_count, 1);
  Bytes const section = section_of(stage, codes, made);
  DeviceArray<uint8_t> device_codes(codes), archive(section.size() + 64), restored(codes.size());
  DeviceArray<szg_tokens_tally> tally(1);
  DeviceArray<szg_tokens_book_cuda> device_book(1);
  DeviceArray<uint64_t> places(std::vector<uint64_t>{0, 1, 2});
  DeviceArray<szg_tokens_opened_cuda> opened(1);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  EncoderMemory const memory(stage);
  szg_tokens_work_cuda const work = memory.work();
  szg_tokens_output_cuda const output = {archive.data(), archive.count(), places.data(),
                                         places.data() + 1, places.data() + 2};
  szg_tokens_input_cuda const input = {
      stage.tiles, archive.data(), section.size(),      1,
      1,           opened.data(),  memory.sizes.data(), memory.first_words.data()};
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  MUST(cudaStreamBeginCapture(cuda_test::stream, cudaStreamCaptureModeThreadLocal));
  MUST(count_on_device(&stage.tiles, device_codes.data(), tile_count, false, tally.data(),
                       cuda_test::stream));
  szg_tokens_book_facts const facts = {stage.tiles.group_count, 320, true, 1};
  MUST(szg_tokens_books_make_cuda(&facts, 1, tally.data(), device_book.data(), cuda_test::stream));
  MUST(szg_tokens_encode_cuda(&stage.tiles, device_book.data(), device_codes.data(), &work, &output,
                              cuda_test::stream));
  MUST(szg_tokens_open_cuda(&input, 1, verdict.data(), cuda_test::stream));
  MUST(szg_tokens_decode_cuda(&input, 0, tile_count, restored.data(), verdict.data(),
                              cuda_test::stream));
  MUST(cudaStreamEndCapture(cuda_test::stream, &graph));
  MUST(cudaGraphInstantiate(&executable, graph, 0));
  for (int run = 0; run < 3; run++) {
    archive.poison();
    restored.poison();
    MUST(cudaGraphLaunch(executable, cuda_test::stream));
    check_section(stage, made, archive.host().data(), section, "from a graph");
    check_codes(stage, restored.host(), codes.data(), 0, tile_count, "from a graph");
    CHECK(verdict.host()[0].bad_data == 0, "run %d: bad", run);
  }
  MUST(cudaGraphExecDestroy(executable));
  MUST(cudaGraphDestroy(graph));
}

} // namespace

int main() {
  cuda_test::begin();
  chosen_books_and_words_are_the_cpus();
  samples_leave_escapes_for_the_rest();
  every_mode_and_lane_size_gives_the_cpus_words();
  books_of_any_counts_are_the_cpus();
  many_tiles_are_placed();
  a_section_that_does_not_fit_is_not_written();
  all_steps_can_be_captured();
  return cuda_test::end();
}
