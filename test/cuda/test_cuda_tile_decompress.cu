/* test_cuda_tile_decompress.cu - tile frames to values on the GPU, against the CPU's functions.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/tile_cases.cuh"
#include "values/mapping.h"

using cuda_test::DeviceArray;
using cuda_test::stream;
using namespace tile_cases;

namespace {

constexpr uint8_t kPoison = 0xA5; /* DeviceArray's */
constexpr szgpu_dtype kNarrowTypes[] = {SZGPU_U8,  SZGPU_I8,  SZGPU_U16,
                                        SZGPU_I16, SZGPU_F16, SZGPU_BF16};

/* A frame as the CPU codes it. */
struct Coded {
  szg_tile_decoder decoder;
  std::vector<uint16_t> sizes;
  std::vector<uint64_t> first_words;
  std::vector<uint32_t> words;
};

Coded code_frame(const Setup &s, const Bytes &values) {
  Coded coded = {};
  Book const book = own_book(s, values);
  MUST(szg_tile_decoder_build(&book.codebook, &coded.decoder));
  Bytes room(SZG_TILE_VALUES * 8);
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    tile_deltas(s, values, tile);
    uint32_t const raw_words = szg_raw_tile_words(tile.value_count, s.width());
    uint32_t const count = szg_tile_encode(&book.parts.encoder, s.lattice_bits, s.zero_groups,
                                           &tile, &work.deltas, raw_words, room.data());
    coded.first_words.push_back(coded.words.size());
    coded.sizes.push_back((uint16_t)count);
    coded.words.resize(coded.words.size() + count);
    if (count > 0) memcpy(&coded.words[coded.first_words.back()], room.data(), 4 * count);
  }
  coded.first_words.push_back(coded.words.size());
  return coded;
}

/* The frame's values as the CPU restores them; tiles that it refuses stay poisoned. */
Bytes restore_frame(const Setup &s, const Coded &coded, bool *is_good) {
  Bytes values(s.grid.value_count * s.width(), kPoison);
  *is_good = true;
  for (uint64_t t = 0; t < s.grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s.grid, t);
    uint32_t const count = coded.sizes[t];
    const uint8_t *words = (const uint8_t *)(coded.words.data() + coded.first_words[t]);
    if (count == szg_raw_tile_words(tile.value_count, s.width())) {
      for (uint64_t z = 0; z < tile.z_extent; z++)
        for (uint64_t y = 0; y < tile.y_extent; y++, words += tile.x_extent * s.width())
          memcpy(&values[(tile.first_value + z * tile.z_stride + y * tile.y_stride) * s.width()],
                 words, tile.x_extent * s.width());
      continue;
    }
    memset(&work.deltas, 0, sizeof work.deltas);
    if (count > 0 && !szg_tile_decode(&coded.decoder, s.lattice_bits, s.zero_groups, &tile, words,
                                      count, &work.deltas))
      *is_good = false;
    else
      szg_tile_deltas_to_values(&s.k, s.lattice_bits, s.axes, &tile, &work, values.data());
  }
  return values;
}

/* A frame on the device. */
class Input {
 public:
  Input(const Setup &s, const Coded &coded)
      : s_(s),
        decoder_(std::vector<szg_tile_decoder>{coded.decoder}),
        sizes_(coded.sizes),
        first_words_(coded.first_words),
        words_(coded.words),
        counters_(1),
        verdict_(1) {
    counters_.zero(), verdict_.zero();
  }
  szg_tile_input_cuda frame() const {
    return {decoder_.data(), sizes_.data(), first_words_.data(), counters_.data(), words_.data(),
            words_.count(),  s_.axes,       s_.zero_groups};
  }
  szg_verdict *verdict() const { return verdict_.data(); }
  bool is_good() const { return verdict_.host()[0].bad_data == 0; }

 private:
  const Setup &s_;
  DeviceArray<szg_tile_decoder> decoder_;
  DeviceArray<uint16_t> sizes_;
  DeviceArray<uint64_t> first_words_;
  DeviceArray<uint32_t> words_, counters_;
  DeviceArray<szg_verdict> verdict_;
};

/* Restores `count` values from `first` on and compares them. shift: of the output past 16-byte
 * alignment, in values. */
void check_values(const Setup &s, const Coded &coded, uint64_t first, uint64_t count,
                  size_t shift) {
  bool is_good = false;
  Bytes const expected = restore_frame(s, coded, &is_good);
  Input const input(s, coded);
  szg_tile_input_cuda const frame = input.frame();
  DeviceArray<uint8_t> values((count + shift + 2) * s.width());
  for (int turn = 0; turn < 2; turn++) /* the second time with used counters */
    MUST(szg_tile_decompress_cuda(&s.k, s.lattice_bits, &s.grid, &frame, 0, s.grid.tile_count,
                                  values.data() + shift * s.width(), first, count, input.verdict(),
                                  stream));
  Bytes const found = values.host();
  CHECK(input.is_good() == is_good, "%s: the CPU says %d", name_of(s), is_good);
  for (uint64_t i = 0; i < found.size(); i++) {
    uint64_t const at = i - shift * s.width();
    bool const is_inside = i >= shift * s.width() && at < count * s.width();
    uint8_t const byte = is_inside ? expected[first * s.width() + at] : kPoison;
    if (found[i] == byte || (is_inside && !is_good)) continue;
    CHECK(false, "%s: at byte %llu there is %u, not %u", name_of(s), (unsigned long long)at,
          found[i], byte);
    return;
  }
}

/* Restores all values in a narrower type, four values past alignment, and compares them. */
void check_narrow(const Setup &s, const Coded &coded, szgpu_dtype dtype) {
  size_t const width = szg_dtype_bytes(dtype), shift = 4 * width;
  uint64_t const count = s.grid.value_count;
  szg_mapping const mapping = szg_mapping_of(SZGPU_MODE_ABS, dtype);
  DeviceArray<uint8_t> values((count + 6) * width);
  uint8_t *const to = values.data() + shift;
  CHECK(!szg_tile_narrows_cuda(&s.k, &s.grid, dtype, to + width), "%s", name_of(s));
  if (!szg_tile_narrows_cuda(&s.k, &s.grid, dtype, to)) return;
  bool is_good = false;
  Bytes const inner = restore_frame(s, coded, &is_good);
  Bytes expected(values.count(), kPoison);
  szg_values_to_outer(&mapping, inner.data(), count, &expected[shift]);
  Input const input(s, coded);
  szg_tile_input_cuda const frame = input.frame();
  for (int turn = 0; turn < 2; turn++)
    MUST(szg_tile_decompress_narrow_cuda(&s.k, s.lattice_bits, &s.grid, &frame, dtype, to,
                                         input.verdict(), stream));
  CHECK(input.is_good() == is_good, "%s: the CPU says %d", name_of(s), is_good);
  Bytes const found = values.host();
  for (uint64_t i = 0; i < found.size(); i++) {
    bool const is_inside = i >= shift && i < shift + count * width;
    if (found[i] == expected[i] || (is_inside && !is_good)) continue;
    CHECK(false, "%s as type %d: at byte %llu there is %u, not %u", name_of(s), (int)dtype,
          (unsigned long long)i, found[i], expected[i]);
    return;
  }
}

/* A few bits of the words changed, each time others. */
void damage(Coded *coded) {
  for (uint64_t i = 0; i <= random_below(3) && !coded->words.empty(); i++)
    coded->words[random_below(coded->words.size())] ^= 1u << random_below(32);
}

/* Each lattice, shape and field once; margins, axes, zero groups and parts in turn. */
void every_frame_is_the_cpus() {
  uint32_t turn = 0;
  for (const Lattice &lattice : kLattices)
    for (const szg_grid &grid : all_grids())
      for (int field = 0; field < kFields; field++, turn++) {
        if (cuda_test::is_left_out(turn, 7)) continue;
        Setup s = setup_of(lattice.arithmetic, lattice.bits, grid, kMargins[turn % 4], field);
        s.axes = 1 + (uint32_t)random_below(szg_grid_axes(&grid));
        if (turn % 4 < 2) s.axes = szg_grid_axes(&grid);
        s.zero_groups = turn / 2 % SZG_ZERO_GROUPS_COUNT;
        Coded coded = code_frame(s, make_field(s));
        uint64_t const all = grid.value_count, first = random_below(all);
        check_values(s, coded, 0, all, turn % 2);
        check_values(s, coded, first, 1 + random_below(all - first), 0);
        for (szgpu_dtype const dtype : kNarrowTypes) check_narrow(s, coded, dtype);
        damage(&coded);
        check_values(s, coded, 0, all, 0);
        check_narrow(s, coded, kNarrowTypes[turn % 6]);
      }
}

} // namespace

int main() {
  cuda_test::begin();
  every_frame_is_the_cpus();
  return cuda_test::end();
}
