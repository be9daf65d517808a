/* planes_cases.cuh - lossless frames to test with: their sections from the CPU and from the device.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANES_CASES_CUH
#define SZG_PLANES_CASES_CUH

#include <functional>

#include "codecs/planes/planes_cuda.h"
#include "cuda/cuda_test.cuh"

namespace {

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;

typedef std::vector<uint8_t> Bytes;

szg_codebook book;
szg_codebook_work book_work;

/* ---- frames ---- */

/* How a plane's symbols are distributed. */
enum Symbols { kOne, kTwo, kFew, kSteep, kUniform, kRarest, kSymbolKinds };

inline uint32_t symbol_of(Symbols kind) {
  switch (kind) {
    case kOne:
      return 77;
    case kTwo:
      return random_below(50) ? 3 : 250;
    case kFew: { /* like the exponents of weights */
      uint32_t const drop = (uint32_t)__builtin_ctzll(random_bits() | (uint64_t)1 << 40);
      return 121 - drop;
    }
    case kSteep:
      return (uint32_t)(random_bits() >> random_below(64)) & 255;
    case kUniform:
      return (uint32_t)random_below(256);
    default:
      return 200 + (uint32_t)random_below(56);
  }
}

struct Frame {
  uint32_t value_bytes;
  uint64_t value_count;
  std::vector<Symbols> planes;
  Bytes bytes;
  szg_planes_counts counts;
  szg_planes_choice choice;
};

/* A frame, its counts and the choice. is_forced: every plane with several symbols is coded, and
 * kRarest planes get a book in which their symbols are the rarest. */
inline Frame make_frame(uint32_t value_bytes, uint64_t value_count,
                        const std::vector<Symbols> &planes, bool is_forced) {
  Frame frame = {value_bytes, value_count, planes, Bytes(value_count * value_bytes), {}, {}};
  for (uint64_t i = 0; i < value_count; i++) {
    uint64_t turned = 0;
    for (uint32_t p = 0; p < value_bytes; p++) turned |= (uint64_t)symbol_of(planes[p]) << 8 * p;
    uint64_t const value = szg_planes_turned_back(turned, value_bytes);
    memcpy(&frame.bytes[i * value_bytes], &value, value_bytes);
  }
  szg_planes_count(frame.bytes.data(), value_count, value_bytes, &frame.counts);
  szg_planes_choose(&frame.counts, value_count, false, value_bytes, &book, &book_work,
                    &frame.choice);
  for (uint32_t p = 0; is_forced && p < value_bytes; p++) {
    if (szg_plane_mode(frame.choice.layout.modes, p) == SZG_PLANE_CONSTANT) continue;
    uint64_t counts[SZG_PLANES_SYMBOLS];
    for (uint32_t s = 0; s < SZG_PLANES_SYMBOLS; s++)
      counts[s] =
          planes[p] == kRarest ? (s < 200 ? (uint64_t)1 << 30 : 1) : frame.counts.planes[p][s];
    if (planes[p] == kRarest)
      for (uint32_t s = 0; s < 8; s++) counts[s] <<= 3 * (8 - s);
    szg_codebook_build(counts, SZG_PLANES_SYMBOLS, SZG_PLANES_CODE_BITS, &book, &book_work);
    frame.choice.layout.modes &= ~(3u << 2 * p);
    frame.choice.layout.modes |= (uint32_t)SZG_PLANE_CODED << 2 * p;
    memcpy(frame.choice.lengths[p], book.lengths, SZG_PLANES_SYMBOLS);
  }
  return frame;
}

inline uint32_t coded_planes(const szg_planes_layout &layout) {
  return szg_planes_of_mode(layout.modes, layout.value_bytes, SZG_PLANE_CODED);
}

inline std::vector<Symbols> random_planes(uint32_t value_bytes) {
  std::vector<Symbols> planes(value_bytes);
  for (Symbols &plane : planes) plane = (Symbols)random_below(kSymbolKinds);
  return planes;
}

/* A frame's sections. */
struct Sections {
  szg_planes_layout layout;
  uint64_t value_count;
  Bytes books;
  std::vector<uint16_t> sizes;
  std::vector<uint32_t> words;
  Bytes stored;
};

inline uint32_t tile_values(uint64_t value_count, uint64_t tile) {
  uint64_t const left = value_count - tile * SZG_TILE_VALUES;
  return (uint32_t)szg_lesser_u64(left, SZG_TILE_VALUES);
}

inline Sections encode_on_cpu(const Frame &frame) {
  static szg_planes_encoder encoder;
  szg_planes_encoder_build(&frame.choice, &encoder);
  szg_planes_layout const layout = frame.choice.layout;
  Sections sections = {layout,
                       frame.value_count,
                       Bytes(szg_planes_book_bytes(&layout)),
                       {},
                       {},
                       Bytes(szg_planes_stored_bytes(&layout, frame.value_count))};
  if (!sections.books.empty()) szg_planes_books_write(&frame.choice, sections.books.data());
  for (uint64_t t = 0; t < szg_planes_tile_count(frame.value_count); t++) {
    static uint32_t words[SZG_PLANES_TILE_MOST_WORDS + 2];
    uint64_t const first = t * SZG_TILE_VALUES;
    const uint8_t *const values = &frame.bytes[first * frame.value_bytes];
    uint32_t const value_count = tile_values(frame.value_count, t);
    uint32_t count = 0;
    bool const is_coded =
        szg_planes_encode_tile(&encoder, values, value_count, (uint8_t *)words, &count);
    CHECK(is_coded, "tile %llu", (unsigned long long)t);
    if (!sections.stored.empty())
      szg_planes_store_tile(&layout, values, value_count, sections.stored.data() + first,
                            szg_stored_plane_bytes(frame.value_count));
    sections.words.insert(sections.words.end(), words, words + count);
    if (coded_planes(layout) > 0) sections.sizes.push_back((uint16_t)count);
  }
  return sections;
}

/* ---- the device ---- */

/* Device memory of the size that an arena needs. */
template <class Carve>
class Work {
 public:
  explicit Work(const Carve &carve) : memory_(needed(carve)) {
    szg_arena arena = {memory_.data(), 0, memory_.count(), false};
    MUST(carve(&arena));
  }

 private:
  static size_t needed(const Carve &carve) {
    szg_arena arena = {nullptr, 0, 0, false};
    MUST(carve(&arena));
    return arena.used_bytes;
  }
  DeviceArray<uint8_t> memory_;
};
template <class Carve>
Work<Carve> work_of(const Carve &carve) {
  return Work<Carve>(carve);
}

/* What an encoder is told of lanes' bits. */
enum Telling { kTypical, kFarTooFew, kNothing, kTellings };

/* A frame on the device. offset: of the values from an aligned address. */
class FrameOnDevice {
 public:
  FrameOnDevice(const Frame &frame, uint32_t offset)
      : tile_count_(szg_planes_tile_count(frame.value_count)),
        values_(placed(frame, offset)),
        encoder_(encoder_of(frame)),
        sizes_(padded<uint16_t>(tile_count_)),
        stored_(szg_planes_stored_bytes(&frame.choice.layout, frame.value_count)),
        work_([&](szg_arena *arena) {
          return szg_planes_output_carve_cuda(arena, &frame.choice.layout, frame.value_count, false,
                                              &output_);
        }) {
    output_.layout = frame.choice.layout;
    output_.values = values_.data() + offset;
    output_.value_count = frame.value_count;
    output_.encoder = encoder_.data();
    output_.sizes = sizes_.data();
    output_.stored = stored_.data();
  }

  /* room_words: a multiple of 4. The sections, with words as far as there is room, behind which
   * nothing is written. */
  Sections encode(const Frame &frame, Telling telling, uint64_t room_words) {
    static const uint32_t too_few[SZG_PLANES_MOST] = {};
    const uint32_t *const bits = telling == kNothing     ? NULL
                                 : telling == kFarTooFew ? too_few
                                                         : frame.choice.typical_bits;
    szg_planes_layout const &layout = output_.layout;
    DeviceArray<uint32_t> words(room_words + kGuardWords);
    sizes_.poison();
    stored_.poison();
    output_.words = words.data();
    output_.room_words = room_words;
    uint64_t summed_bytes = 0;
    MUST(szg_planes_output_clear_cuda(&output_, cuda_test::stream));
    MUST(szg_planes_encode_cuda(&output_, bits, &summed_bytes, cuda_test::stream));
    CHECK(summed_bytes == 0, "%llu bytes, without memory for sums",
          (unsigned long long)summed_bytes);
    fetch_facts();
    Sections sections = {layout, frame.value_count, Bytes(szg_planes_book_bytes(&layout)),
                         {},     words.host(),      stored_.host()};
    if (coded_planes(layout) > 0) sections.sizes = sizes_.host();
    if (!sections.books.empty()) szg_planes_books_write(&frame.choice, sections.books.data());
    for (uint32_t i = 0; i < kGuardWords; i++)
      CHECK(sections.words[room_words + i] == kGuardWord, "%u words behind the room", i);
    sections.words.resize(room_words);
    return sections;
  }
  void measure() {
    MUST(szg_planes_output_clear_cuda(&output_, cuda_test::stream));
    MUST(szg_planes_measure_cuda(&output_, cuda_test::stream));
    fetch_facts();
  }
  uint64_t word_count() const { return word_count_; }
  bool is_misled() const { return is_misled_; }

  /* As many elements as a section of `count` has with its padding. */
  template <class T>
  static uint64_t padded(uint64_t count) {
    return szg_align_up(count, SZG_ALIGNMENT / sizeof(T));
  }

 private:
  static constexpr uint32_t kGuardWords = 16, kGuardWord = 0xA5A5A5A5; /* DeviceArray's poison */

  static Bytes placed(const Frame &frame, uint32_t offset) {
    Bytes bytes(offset, 0xFF);
    bytes.insert(bytes.end(), frame.bytes.begin(), frame.bytes.end());
    return bytes;
  }
  static std::vector<szg_planes_encoder> encoder_of(const Frame &frame) {
    std::vector<szg_planes_encoder> encoder(1);
    szg_planes_encoder_build(&frame.choice, encoder.data());
    return encoder;
  }
  void fetch_facts() {
    uint64_t facts[2];
    MUST(cudaStreamSynchronize(cuda_test::stream));
    MUST(
        cudaMemcpy(facts, output_.first_words + tile_count_, sizeof facts, cudaMemcpyDeviceToHost));
    word_count_ = facts[0];
    is_misled_ = facts[1] != 0;
  }

  uint64_t tile_count_;
  szg_planes_output_cuda output_ = {};
  DeviceArray<uint8_t> values_;
  DeviceArray<szg_planes_encoder> encoder_;
  DeviceArray<uint16_t> sizes_;
  DeviceArray<uint8_t> stored_;
  Work<std::function<szgpu_status(szg_arena *)>> work_;
  uint64_t word_count_ = 0;
  bool is_misled_ = false;
};

/* Bytes decoded from a frame. */
struct Decoded {
  Bytes bytes; /* with kGuardBytes before and after */
  bool is_bad;
  uint32_t counter;
};
constexpr uint32_t kGuardBytes = 64;
constexpr uint8_t kGuard = 0xA5; /* DeviceArray's poison */

/* offset: of the bytes from an aligned address. */
inline Decoded decode_on_device(const Sections &sections, uint64_t first, uint64_t count,
                                uint32_t offset) {
  DeviceArray<uint8_t> books(sections.books), stored(sections.stored);
  DeviceArray<uint16_t> sizes(sections.sizes);
  DeviceArray<uint32_t> words(sections.words);
  DeviceArray<uint8_t> bytes(2 * kGuardBytes + offset + count);
  DeviceArray<szg_verdict> verdict(1);
  verdict.zero();
  szg_planes_input_cuda input = {};
  input.layout = sections.layout;
  input.value_count = sections.value_count;
  input.books = books.data();
  input.sizes = sizes.data();
  input.words = words.data();
  input.word_count = sections.words.size();
  input.stored = stored.data();
  auto const work = work_of([&](szg_arena *arena) {
    return szg_planes_input_carve_cuda(arena, &sections.layout, sections.value_count, &input);
  });
  MUST(szg_planes_open_cuda(&input, verdict.data(), cuda_test::stream));
  MUST(szg_planes_decode_cuda(&input, first, count, bytes.data() + kGuardBytes + offset,
                              verdict.data(), cuda_test::stream));
  Decoded decoded = {bytes.host(), verdict.host()[0].bad_data != 0, 1};
  MUST(cudaMemcpy(&decoded.counter, input.counter, sizeof decoded.counter, cudaMemcpyDeviceToHost));
  decoded.bytes.erase(decoded.bytes.begin(), decoded.bytes.begin() + offset);
  return decoded;
}

} // namespace

#endif
