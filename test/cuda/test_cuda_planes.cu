/* test_cuda_planes.cu - lossless frames on the device give the CPU's counts, bytes and values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cuda/planes_cases.cuh"

namespace {

/* ---- bytes and values ---- */

template <class T>
void check_same(const char *what, const Frame &frame, const std::vector<T> &found,
                const std::vector<T> &expected) {
  size_t i = 0;
  while (i < found.size() && i < expected.size() && found[i] == expected[i]) i++;
  CHECK(i == expected.size() && i == found.size(),
        "%s of %llu values of %u bytes, modes %x: %zu and %zu of them, differ from %zu on", what,
        (unsigned long long)frame.value_count, frame.value_bytes, frame.choice.layout.modes,
        found.size(), expected.size(), i);
}

void check_range(const Frame &frame, const Sections &sections, uint64_t first, uint64_t count,
                 uint32_t offset) {
  Decoded const decoded = decode_on_device(sections, first, count, offset);
  Bytes expected(kGuardBytes, kGuard);
  expected.insert(expected.end(), frame.bytes.begin() + (int64_t)first,
                  frame.bytes.begin() + (int64_t)(first + count));
  expected.insert(expected.end(), kGuardBytes, kGuard);
  CHECK(!decoded.is_bad, "%llu values of %u bytes, modes %x: bytes from %llu on",
        (unsigned long long)frame.value_count, frame.value_bytes, frame.choice.layout.modes,
        (unsigned long long)first);
  check_same("bytes", frame, decoded.bytes, expected);
  CHECK(decoded.counter == 0, "%u", decoded.counter);
}

/* However the encoder goes about it, sections are the CPU's, with their padding. Without room for
 * all words, some are missing, but their number is told. */
void check_encoding(const Frame &frame, const Sections &expected, uint32_t offset) {
  FrameOnDevice device(frame, offset);
  uint64_t const word_count = expected.words.size();
  uint64_t const room_words = FrameOnDevice::padded<uint32_t>(word_count);
  std::vector<uint16_t> sizes = expected.sizes;
  std::vector<uint32_t> words = expected.words;
  sizes.resize(FrameOnDevice::padded<uint16_t>(sizes.size()));
  words.resize(room_words);
  for (int telling = 0; telling < kTellings; telling++) {
    Sections const found = device.encode(frame, (Telling)telling, room_words);
    check_same("sizes", frame, found.sizes, sizes);
    check_same("words", frame, found.words, words);
    check_same("stored bytes", frame, found.stored, expected.stored);
    CHECK(device.word_count() == word_count && !device.is_misled(), "%llu words",
          (unsigned long long)device.word_count());
    if (room_words == 0) continue;
    device.encode(frame, (Telling)telling, random_below((uint32_t)room_words / 4) * 4);
    CHECK(device.word_count() == word_count, "%llu words, without room",
          (unsigned long long)device.word_count());
  }
  device.measure();
  CHECK(device.word_count() == word_count, "%llu words, measured",
        (unsigned long long)device.word_count());
}

void check_frame(const Frame &frame, uint32_t offset) {
  Sections const expected = encode_on_cpu(frame);
  check_encoding(frame, expected, offset);
  check_range(frame, expected, 0, frame.bytes.size(), offset);
}

/* Planes like those of floats: exponents in the highest byte. */
std::vector<Symbols> float_planes(uint32_t value_bytes) {
  std::vector<Symbols> planes(value_bytes, kUniform);
  planes[value_bytes - 1] = kFew;
  return planes;
}

void frames_of_every_count() {
  uint64_t const counts[] = {1,   2,   3,   4,   5,    15,   16,   17,   31,   32,    33,
                             127, 128, 129, 255, 1000, 4095, 4096, 4097, 8192, 12289, 40000};
  for (uint64_t count : counts)
    for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
      check_frame(make_frame(value_bytes, count, float_planes(value_bytes), true), 0);
      check_frame(make_frame(value_bytes, count, random_planes(value_bytes), false), 0);
    }
}

void planes_of_every_kind() {
  for (int i = 0; i < 60; i++) {
    uint32_t const value_bytes = 1u << i % 4;
    uint64_t const count = 1 + random_below(20000);
    check_frame(make_frame(value_bytes, count, random_planes(value_bytes), i % 8 < 4), 0);
  }
  for (Symbols kind : {kOne, kTwo, kFew, kSteep, kUniform, kRarest})
    for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2)
      for (bool is_forced : {false, true})
        check_frame(
            make_frame(value_bytes, 9000, std::vector<Symbols>(value_bytes, kind), is_forced), 0);
}

/* Many full tiles, as in real fields. */
void many_tiles() {
  for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
    check_frame(
        make_frame(value_bytes, 150 * SZG_TILE_VALUES + 77, float_planes(value_bytes), false), 0);
    check_frame(make_frame(value_bytes, 40 * SZG_TILE_VALUES, random_planes(value_bytes), true), 0);
  }
}

void values_from_and_to_anywhere() {
  for (uint32_t offset = 1; offset < 16; offset++) {
    uint32_t const value_bytes = 1u << offset % 4;
    check_frame(make_frame(value_bytes, 9001, float_planes(value_bytes), false), offset);
  }
}

void parts_of_frames() {
  for (uint32_t value_bytes = 1; value_bytes <= 8; value_bytes *= 2) {
    Frame const frame = make_frame(value_bytes, 20001, float_planes(value_bytes), false);
    Sections const sections = encode_on_cpu(frame);
    uint64_t const byte_count = frame.bytes.size(), tile = SZG_TILE_VALUES * value_bytes;
    check_range(frame, sections, tile, 2 * tile, 0);
    check_range(frame, sections, tile - 1, 2, 0);
    check_range(frame, sections, byte_count - 1, 1, 3);
    for (int i = 0; i < 30; i++) {
      uint64_t const first = random_below(byte_count), most = byte_count - first;
      uint64_t const whole = i % 3 ? 1 : value_bytes;
      uint64_t const begin = first / whole * whole;
      check_range(frame, sections, begin, 1 + random_below(most), (uint32_t)random_below(9));
    }
  }
}

/* ---- counts ---- */

void check_counts(const Frame &frame, uint32_t offset) {
  Bytes placed(offset, 0xFF);
  placed.insert(placed.end(), frame.bytes.begin(), frame.bytes.end());
  DeviceArray<uint8_t> values(placed);
  DeviceArray<szg_planes_counts> counts(1);
  counts.zero();
  for (int k = 0; k < 2; k++)
    MUST(szg_planes_count_cuda(values.data() + offset, frame.value_count, frame.value_bytes, false,
                               counts.data(), cuda_test::stream));
  szg_planes_counts const found = counts.host()[0];
  uint32_t wrong = 0;
  for (uint32_t p = 0; p < SZG_PLANES_MOST; p++)
    for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
      wrong += found.planes[p][s] != 2 * frame.counts.planes[p][s];
  CHECK(wrong == 0, "%llu values of %u bytes: %u counts", (unsigned long long)frame.value_count,
        frame.value_bytes, wrong);
}

/* A frame of more tiles than are counted, whose last one is cut and, for some numbers of tiles, one
 * of the sample. */
void counts_of_samples_are_the_cpus() {
  for (int i = 0; i < 8; i++) {
    uint32_t const value_bytes = 1u << i % 4, counted_tiles = SZG_PLANES_MOST_COUNTED;
    uint64_t const tile_count = counted_tiles + 1 + random_below(i < 4 ? 400 : 3000);
    uint64_t const value_count = (tile_count - 1) * SZG_TILE_VALUES + 1 + random_below(4095);
    Frame const frame = make_frame(value_bytes, value_count, random_planes(value_bytes), false);
    szg_planes_counts expected = {};
    for (uint32_t k = 0; k < counted_tiles; k++) {
      uint64_t const tile = szg_sample_tile(tile_count, counted_tiles, k);
      szg_planes_count(&frame.bytes[tile * SZG_TILE_VALUES * value_bytes],
                       tile_values(value_count, tile), value_bytes, &expected);
    }
    DeviceArray<uint8_t> values(frame.bytes);
    DeviceArray<szg_planes_counts> counts(1);
    counts.zero();
    MUST(szg_planes_count_cuda(values.data(), value_count, value_bytes, true, counts.data(),
                               cuda_test::stream));
    szg_planes_counts const found = counts.host()[0];
    CHECK(memcmp(&found, &expected, sizeof found) == 0, "%llu tiles of %u bytes a value",
          (unsigned long long)tile_count, value_bytes);
  }
}

/* One value that the choice did not see, anywhere: a symbol without a code, or a second one in a
 * constant plane. */
void misleading_choices_are_found() {
  for (int i = 0; i < 60; i++) {
    uint32_t const value_bytes = 1u << i % 4;
    std::vector<Symbols> planes(value_bytes, kFew);
    if (i % 3 == 1) planes[random_below(value_bytes)] = kOne;
    Frame frame = make_frame(value_bytes, 1 + random_below(30000), planes, true);
    uint64_t const wrong = random_below(frame.value_count) * value_bytes;
    uint32_t const plane = (uint32_t)random_below(value_bytes);
    uint64_t value = 0;
    memcpy(&value, &frame.bytes[wrong], value_bytes);
    value = szg_planes_turned(value, value_bytes);
    value = (value & ~((uint64_t)255 << 8 * plane)) | (uint64_t)253 << 8 * plane;
    value = szg_planes_turned_back(value, value_bytes);
    memcpy(&frame.bytes[wrong], &value, value_bytes);
    FrameOnDevice device(frame, (uint32_t)random_below(2));
    for (int telling = 0; telling < kTellings; telling++) {
      device.encode(frame, (Telling)telling, 1 << 16);
      CHECK(device.is_misled(), "%u bytes, plane %u", value_bytes, plane);
    }
    device.measure();
    CHECK(device.is_misled(), "%u bytes, plane %u, measured", value_bytes, plane);
  }
}

void counts_are_the_cpus() {
  for (int i = 0; i < 60; i++) {
    uint32_t const value_bytes = 1u << i % 4;
    uint64_t const count = i < 40 ? random_below(100) : random_below(200000);
    check_counts(make_frame(value_bytes, count + 1, random_planes(value_bytes), false),
                 i % 3 ? 0 : (uint32_t)random_below(16));
  }
}

void samples_of_bytes_are_the_cpus() {
  uint64_t const counts[] = {0, 1, 7, 8, 32767, 32768, 32769, 100003, 64 * 32768, 70 * 32768 + 5};
  for (uint64_t byte_count : counts) {
    uint32_t const offset = (uint32_t)random_below(3);
    Bytes bytes(offset + byte_count);
    for (uint8_t &byte : bytes) byte = (uint8_t)symbol_of(kSteep);
    std::vector<szg_split_tally> expected(1);
    memset(expected.data(), 0, sizeof expected[0]);
    for (uint32_t i = 0; i < szg_split_stretch_count(byte_count); i++) {
      szg_split_stretch const stretch = szg_split_stretch_at(byte_count, i);
      szg_split_count(bytes.data() + offset + stretch.first_byte, stretch.byte_count,
                      expected.data());
    }
    DeviceArray<uint8_t> device_bytes(bytes);
    DeviceArray<szg_split_tally> tally(1);
    tally.zero();
    MUST(szg_split_count_cuda(device_bytes.data() + offset, byte_count, tally.data(),
                              cuda_test::stream));
    CHECK(memcmp(tally.host().data(), expected.data(), sizeof expected[0]) == 0, "%llu bytes",
          (unsigned long long)byte_count);
  }
}

} // namespace

int main() {
  cuda_test::begin();
  counts_are_the_cpus();
  counts_of_samples_are_the_cpus();
  misleading_choices_are_found();
  samples_of_bytes_are_the_cpus();
  frames_of_every_count();
  planes_of_every_kind();
  many_tiles();
  values_from_and_to_anywhere();
  parts_of_frames();
  return cuda_test::end();
}
