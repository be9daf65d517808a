/* test_cuda_encode.cu - the linear layout as a GPU writes it, against the CPU's encoder.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every output is compared together with the bytes after it, which must not change. The scratch has
 * exactly the room that the stream needs, so that compute-sanitizer sees any access beyond it.
 */
#include <memory>
#include <string>
#include <vector>

#include "cuda/cuda_test.cuh"
#include "huffman/huffman.h"

using cuda_test::DeviceArray;
using cuda_test::random_below;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

constexpr size_t kGuardBytes = 64;

/* ---- books and codes ---- */

struct BookKind {
  const char *name;
  uint32_t symbol_count;
  uint64_t (*count_of)(uint32_t symbol, uint32_t symbol_count);
};

uint64_t skewed(uint32_t symbol, uint32_t symbol_count) {
  uint32_t const middle = symbol_count / 2;
  uint32_t const distance = symbol > middle ? symbol - middle : middle - symbol;
  return 1 + ((uint64_t)1 << 40 >> (distance < 40 ? distance : 40));
}
uint64_t flat(uint32_t, uint32_t) { return 1; }
uint64_t only_middle(uint32_t symbol, uint32_t symbol_count) { return symbol == symbol_count / 2; }
uint64_t only_escape(uint32_t symbol, uint32_t) { return symbol == SZG_ESCAPE_SYMBOL; }
uint64_t two(uint32_t symbol, uint32_t) { return symbol == 0 || symbol == 3; }
/* lengths 1 to 16, the ends of the book among them */
uint64_t steep(uint32_t symbol, uint32_t symbol_count) {
  uint32_t const from_end = symbol_count - 1 - symbol;
  return symbol < 10 ? (uint64_t)1 << 2 * symbol : from_end < 10 ? (uint64_t)2 << 2 * from_end : 0;
}

const BookKind book_kinds[] = {
    {"lone", 1024, only_middle},
    {"lone escape", 4, only_escape},
    {"two", 4, two},
    {"flat of 4", 4, flat},
    {"flat of 256", 256, flat},
    {"flat of 1024", 1024, flat},
    {"steep", 1024, steep},
    {"skewed", 1024, skewed},
    {"skewed of 4096", 4096, skewed},
    {"flat of 4096", 4096, flat},
    {"skewed of 4098", 4098, skewed},
    {"steep of 16384", 16384, steep},
    {"skewed of 65536", 65536, skewed},
    {"flat of 65536", 65536, flat},
};

struct Coder {
  const char *name;
  szg_codebook book;
  uint32_t table[SZG_MAX_SYMBOLS];
  uint16_t draw[1 << SZG_MAX_CODE_BITS]; /* each symbol as often as its code length implies */
  std::vector<uint16_t> symbols;         /* all that occur */
  uint16_t rarest;                       /* one with the longest code */
};

std::unique_ptr<Coder> make_coder(const BookKind &kind) {
  static std::unique_ptr<szg_codebook_work> const work(new szg_codebook_work);
  std::unique_ptr<Coder> coder(new Coder());
  std::vector<uint64_t> counts(kind.symbol_count);
  for (uint32_t s = 0; s < kind.symbol_count; s++) counts[s] = kind.count_of(s, kind.symbol_count);
  szg_codebook_build(counts.data(), kind.symbol_count, SZG_MAX_CODE_BITS, &coder->book, work.get());
  szg_encoder_table(&coder->book, coder->table);
  coder->name = kind.name;
  size_t drawn = 0;
  for (uint32_t s = 0; s < kind.symbol_count; s++) {
    uint32_t const length = coder->book.lengths[s];
    if (!length) continue;
    coder->symbols.push_back((uint16_t)s);
    if (coder->symbols.size() == 1 || length > coder->book.lengths[coder->rarest])
      coder->rarest = (uint16_t)s;
    for (size_t i = 0; i < (size_t)1 << (SZG_MAX_CODE_BITS - length); i++)
      coder->draw[drawn++] = (uint16_t)s;
  }
  for (; drawn < (size_t)1 << SZG_MAX_CODE_BITS; drawn++) /* a lone symbol fills both halves */
    coder->draw[drawn] = coder->symbols[0];
  return coder;
}

enum Draw { BY_LENGTH, ALL_ALIKE, RAREST, ESCAPES, DRAW_COUNT };
const char *const draw_names[DRAW_COUNT] = {"by length", "all alike", "the rarest", "escapes"};

std::vector<uint16_t> draw_codes(const Coder &coder, Draw draw, uint64_t code_count) {
  std::vector<uint16_t> codes(code_count);
  bool const has_escape = coder.book.lengths[SZG_ESCAPE_SYMBOL] != 0;
  for (uint16_t &code : codes)
    code = draw == BY_LENGTH               ? coder.draw[random_bits() >> 48]
           : draw == ALL_ALIKE             ? coder.symbols[random_below(coder.symbols.size())]
           : draw == RAREST || !has_escape ? coder.rarest
                                           : (uint16_t)SZG_ESCAPE_SYMBOL;
  return codes;
}

/* ---- what the CPU writes ---- */

struct Sections {
  std::vector<uint16_t> tile_bits;
  std::vector<uint8_t> words, gaps;
  std::vector<uint16_t> sequence_codes;
  uint64_t bit_count;
};

Sections encode_on_host(const Coder &coder, const szg_grid &grid,
                        std::vector<uint16_t> const &codes) {
  Sections s = {};
  for (uint64_t t = 0; t < grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&grid, t);
    uint64_t const bits =
        szg_linear_bits(&coder.book, codes.data() + tile.first_code, tile.value_count);
    s.tile_bits.push_back((uint16_t)(bits - tile.value_count));
    s.bit_count += bits;
  }
  s.words.resize((s.bit_count + 31) / 32 * 4);
  std::vector<uint8_t> gaps(szg_subsequence_count(s.bit_count));
  std::vector<uint64_t> first_codes(szg_sequence_count(s.bit_count));
  szg_linear_stream out = {s.words.data(), s.bit_count, gaps.data(), first_codes.data()};
  szg_linear_run run = {};
  szg_linear_encode(coder.table, codes.data(), codes.size(), &run, &out);
  szg_linear_merge(&run, 1, &out);
  s.gaps.resize((gaps.size() + 1) / 2);
  szg_gaps_pack(gaps.data(), gaps.size(), s.gaps.data());
  first_codes.push_back(grid.value_count);
  for (size_t q = 0; q + 1 < first_codes.size(); q++)
    s.sequence_codes.push_back((uint16_t)(first_codes[q + 1] - first_codes[q]));
  return s;
}

/* ---- what the GPU writes ---- */

/* Scratch and outputs for one stream, of exactly the size it needs. */
struct DeviceEncoder {
  DeviceEncoder(const szg_grid &grid, const Sections &s, uint64_t scan_bytes)
      : table(SZG_MAX_SYMBOLS),
        tile_first_bits(grid.tile_count + 1),
        gaps(szg_subsequence_count(s.bit_count)),
        sequence_codes(s.sequence_codes.size()),
        scan(scan_bytes),
        tile_bits(2 * s.tile_bits.size() + kGuardBytes),
        words(s.words.size() + kGuardBytes),
        packed_gaps(s.gaps.size() + kGuardBytes),
        sequence_counts(2 * s.sequence_codes.size() + kGuardBytes) {}

  void encode(const Coder &coder, const szg_grid &grid, DeviceArray<uint16_t> const &codes,
              uint64_t bit_count) {
    szg_linear_encoder_cuda const encoder = {table.data(), tile_first_bits.data(),
                                             gaps.data(),  sequence_codes.data(),
                                             scan.data(),  scan.bytes()};
    szg_linear_output_cuda const output = {
        bit_count, reinterpret_cast<uint16_t *>(tile_bits.data()),
        reinterpret_cast<uint32_t *>(words.data()), packed_gaps.data(),
        reinterpret_cast<uint16_t *>(sequence_counts.data())};
    /* On this stream, because a copy on another may not be done in time for it. */
    MUST(cudaMemcpyAsync(table.data(), coder.table, coder.book.symbol_count * sizeof *coder.table,
                         cudaMemcpyHostToDevice, stream));
    MUST(szg_linear_encode_cuda(&encoder, &grid, coder.book.symbol_count, codes.data(), &output,
                                stream));
  }

  void poison() {
    tile_bits.poison(), words.poison(), packed_gaps.poison(), sequence_counts.poison();
  }

  DeviceArray<uint32_t> table;
  DeviceArray<uint64_t> tile_first_bits;
  DeviceArray<uint8_t> gaps;
  DeviceArray<uint64_t> sequence_codes;
  DeviceArray<uint8_t> scan, tile_bits, words, packed_gaps, sequence_counts;
};

/* The section must be as expected, and the bytes after it still poison. */
void check_section(const char *what, DeviceArray<uint8_t> const &section, const void *expected,
                   size_t byte_count, const char *about) {
  std::vector<uint8_t> wanted(byte_count + kGuardBytes, 0xA5);
  if (byte_count) memcpy(wanted.data(), expected, byte_count);
  std::vector<uint8_t> const found = section.host();
  size_t wrong = 0;
  while (wrong < wanted.size() && found[wrong] == wanted[wrong]) wrong++;
  CHECK(wrong == wanted.size(), "%s: %s: byte %zu of %zu is %02x and not %02x", about, what, wrong,
        byte_count, found[wrong], wanted[wrong]);
}

void check_sections(const DeviceEncoder &device, const Sections &s, const char *about) {
  check_section("tile bits", device.tile_bits, s.tile_bits.data(), 2 * s.tile_bits.size(), about);
  check_section("bitstream", device.words, s.words.data(), s.words.size(), about);
  check_section("gaps", device.packed_gaps, s.gaps.data(), s.gaps.size(), about);
  check_section("sequence codes", device.sequence_counts, s.sequence_codes.data(),
                2 * s.sequence_codes.size(), about);
}

uint64_t scan_bytes_for(const szg_grid &grid) {
  szg_arena arena = {};
  szg_linear_encoder_cuda encoder;
  MUST(szg_linear_encoder_carve_cuda(&arena, &grid, &encoder));
  return encoder.scan_temp_bytes;
}

/* Encodes twice, the second time with the scratch that the first has used. */
void encodes_as_the_cpu(const Coder &coder, Draw draw, const szg_grid &grid, const char *shape) {
  std::vector<uint16_t> const codes = draw_codes(coder, draw, grid.value_count);
  Sections const expected = encode_on_host(coder, grid, codes);
  DeviceArray<uint16_t> const device_codes(codes);
  DeviceEncoder device(grid, expected, scan_bytes_for(grid));
  char about[128];
  snprintf(about, sizeof about, "%s, %s, %s", coder.name, draw_names[draw], shape);
  for (int turn = 0; turn < 2; turn++) {
    device.poison();
    device.encode(coder, grid, device_codes, expected.bit_count);
    check_sections(device, expected, about);
  }
}

/* ---- shapes ---- */

std::string name_of(std::vector<uint64_t> const &dims) {
  std::string name;
  for (uint64_t const dim : dims) name += (name.empty() ? "" : " x ") + std::to_string(dim);
  return name;
}

/* Numbers of codes in a row. Some fill a subsequence or a sequence exactly with lengths 1, 2, 8 and
 * 16; with 26 and 3277 no code of 10 bits begins in the last one. */
const std::vector<uint64_t> row_lengths = {1,    2,    15,   16,   17,    26,    31,   32,   33,
                                           128,  256,  257,  2047, 2048,  2049,  3277, 4095, 4096,
                                           4097, 8191, 8192, 8205, 16384, 32768, 70001};

/* Dozens of small tiles share a word; odd sizes put tiles at every place in an octet. */
const std::vector<std::vector<uint64_t>> box_dims = {
    {2, 2},       {3, 5},       {64, 64},       {65, 67},       {100, 130},    {63, 1025},
    {2, 2, 2},    {16, 8, 32},  {17, 9, 33},    {20, 30, 40},   {3, 4, 101},   {33, 17, 65},
    {2, 2, 2, 2}, {5, 3, 7, 9}, {300, 2, 2, 2}, {3, 17, 9, 33}, {7, 20, 5, 50}};

void encodes_rows(const Coder &coder) {
  for (uint64_t const row_length : row_lengths) {
    szg_grid const grid = cuda_test::grid_of({row_length});
    std::string const shape = name_of({row_length});
    encodes_as_the_cpu(coder, BY_LENGTH, grid, shape.c_str());
    encodes_as_the_cpu(coder, row_length % 2 ? ALL_ALIKE : RAREST, grid, shape.c_str());
  }
  encodes_as_the_cpu(coder, ESCAPES, cuda_test::grid_of({20000}), "20000");
}

void encodes_boxes(const Coder &coder) {
  for (std::vector<uint64_t> const &dims : box_dims) {
    szg_grid const grid = cuda_test::grid_of(dims);
    std::string const shape = name_of(dims);
    encodes_as_the_cpu(coder, BY_LENGTH, grid, shape.c_str());
    encodes_as_the_cpu(coder, ALL_ALIKE, grid, shape.c_str());
  }
}

/* The last frame of a field: a plane, a line or a few fields of a batch. */
void encodes_thin_frames(const Coder &coder) {
  szg_grid const volume = cuda_test::grid_of({33, 20, 70}), plane = cuda_test::grid_of({130, 70});
  szg_grid const batch = cuda_test::grid_of({5, 9, 10, 35});
  encodes_as_the_cpu(coder, BY_LENGTH, szg_grid_of_rows(&volume, 1), "a plane of 33 x 20 x 70");
  encodes_as_the_cpu(coder, BY_LENGTH, szg_grid_of_rows(&plane, 1), "a line of 130 x 70");
  encodes_as_the_cpu(coder, BY_LENGTH, szg_grid_of_rows(&batch, 2), "2 of 5 x 9 x 10 x 35");
}

/* ---- claims ---- */

void encodes_five_codes_as_a_hand_does() {
  std::unique_ptr<Coder> const coder = make_coder({"by hand", 8, flat});
  uint64_t const counts[8] = {1, 0, 0, 4, 2, 1, 0, 0}; /* 3: 1, 4: 00, 0: 010, 5: 011 */
  std::unique_ptr<szg_codebook_work> const work(new szg_codebook_work);
  szg_codebook_build(counts, 8, SZG_MAX_CODE_BITS, &coder->book, work.get());
  szg_encoder_table(&coder->book, coder->table);
  /* 1 010 011 00 1, from the highest bit of a little-endian word down */
  Sections expected = {{5}, {0, 0, 0x40, 0xA6}, {0}, {5}, 10};
  szg_grid const grid = cuda_test::grid_of({5});
  DeviceEncoder device(grid, expected, scan_bytes_for(grid));
  DeviceArray<uint16_t> const codes(std::vector<uint16_t>{3, 0, 5, 4, 3});
  device.encode(*coder, grid, codes, 10);
  check_sections(device, expected, "five codes");
}

/* Scratch for a frame with the largest stream, carved as in the pipeline, also serves a smaller
 * frame after it. */
void carves_scratch_for_the_largest_stream(const Coder &coder) {
  szg_grid const whole = cuda_test::grid_of({40, 30, 70});
  szg_arena arena = {};
  szg_linear_encoder_cuda encoder = {};
  MUST(szg_linear_encoder_carve_cuda(&arena, &whole, &encoder));
  CHECK(encoder.table == nullptr && arena.used_bytes > 0 && !arena.overflowed, "when measuring");
  uint64_t const scratch_bytes = arena.used_bytes;
  DeviceArray<uint8_t> const scratch(scratch_bytes + kGuardBytes);
  arena = {};
  arena.base = scratch.data();
  arena.capacity_bytes = scratch_bytes;
  MUST(szg_linear_encoder_carve_cuda(&arena, &whole, &encoder));
  CHECK(arena.used_bytes == scratch_bytes, "measured and carved differ");
  MUST(cudaMemcpyAsync(encoder.table, coder.table, coder.book.symbol_count * sizeof *coder.table,
                       cudaMemcpyHostToDevice, stream));
  uint64_t const rows[] = {40, 16, 1};
  for (uint64_t const row_count : rows) {
    szg_grid const grid = szg_grid_of_rows(&whole, row_count);
    std::vector<uint16_t> const codes = draw_codes(coder, RAREST, grid.value_count);
    Sections const expected = encode_on_host(coder, grid, codes);
    DeviceArray<uint16_t> const device_codes(codes);
    DeviceEncoder device(grid, expected, 0);
    szg_linear_output_cuda const output = {
        expected.bit_count, reinterpret_cast<uint16_t *>(device.tile_bits.data()),
        reinterpret_cast<uint32_t *>(device.words.data()), device.packed_gaps.data(),
        reinterpret_cast<uint16_t *>(device.sequence_counts.data())};
    MUST(szg_linear_encode_cuda(&encoder, &grid, coder.book.symbol_count, device_codes.data(),
                                &output, stream));
    check_sections(device, expected, "carved scratch");
  }
  std::vector<uint8_t> const bytes = scratch.host();
  for (size_t i = scratch_bytes; i < bytes.size(); i++)
    CHECK(bytes[i] == 0xA5, "byte %zu behind the scratch", i - scratch_bytes);
}

void encodes_large_fields() {
  szg_grid const cube = cuda_test::grid_of({256, 256, 256}),
                 ragged = cuda_test::grid_of({131, 257, 251});
  std::unique_ptr<Coder> const skewed_book = make_coder({"skewed", 1024, skewed});
  std::unique_ptr<Coder> const flat_book = make_coder({"flat of 65536", 65536, flat});
  encodes_as_the_cpu(*skewed_book, BY_LENGTH, cube, "256 x 256 x 256");
  encodes_as_the_cpu(*skewed_book, BY_LENGTH, ragged, "131 x 257 x 251");
  encodes_as_the_cpu(*flat_book, BY_LENGTH, ragged, "131 x 257 x 251");
}

} // namespace

int main() {
  cuda_test::begin();
  encodes_five_codes_as_a_hand_does();
  for (const BookKind &kind : book_kinds) {
    std::unique_ptr<Coder> const coder = make_coder(kind);
    encodes_rows(*coder);
    encodes_boxes(*coder);
    encodes_thin_frames(*coder);
    carves_scratch_for_the_largest_stream(*coder);
  }
  encodes_large_fields();
  return cuda_test::end();
}
