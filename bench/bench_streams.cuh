/* bench_streams.cuh - streams of codes to time decoders on, from fields and from files of bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_STREAMS_CUH
#define SZG_BENCH_STREAMS_CUH

#include <memory>

#include "bench_events.cuh"
#include "bench_json.cuh"
#include "bench_support.cuh"
#include "core/bytes.h"
#include "core/context.h"
#include "core/places.h"
#include "core/workers.h"
#include "frames/open.h"
#include "huffman/huffman.h"

namespace {

constexpr int kLeastRuns = 20, kWarmUps = 3;

/* ---- arguments ---- */

struct Arguments {
  int runs = kLeastRuns, host_runs = 3, threads = szg_usable_cores();
  std::vector<double> bounds;
  std::vector<std::string> fields, byte_files;
  std::vector<uint32_t> run_ups = {64};
  std::string json;
};

template <class Number>
std::vector<Number> numbers_of(const std::string &list) {
  std::vector<Number> numbers;
  char *end;
  for (const char *at = list.c_str(); *at; at = *end == ',' ? end + 1 : end) {
    numbers.push_back((Number)strtod(at, &end));
    if (end == at || (*end && *end != ',')) die(list + " is no list of numbers");
  }
  return numbers;
}

inline Arguments parse_arguments(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++) {
    std::string const name = argv[i];
    if (name[0] != '-') {
      arguments.fields.push_back(name);
      continue;
    }
    if (++i == argc) die(name + " needs a value");
    if (name == "--runs")
      arguments.runs = atoi(argv[i]);
    else if (name == "--host-runs")
      arguments.host_runs = atoi(argv[i]);
    else if (name == "--threads")
      arguments.threads = atoi(argv[i]);
    else if (name == "-e")
      arguments.bounds = numbers_of<double>(argv[i]);
    else if (name == "--run-ups")
      arguments.run_ups = numbers_of<uint32_t>(argv[i]);
    else if (name == "--bytes")
      arguments.byte_files.push_back(argv[i]);
    else if (name == "--json")
      arguments.json = argv[i];
    else
      die("what is " + name + "?");
  }
  if (arguments.fields.empty() && arguments.byte_files.empty()) die("a field or --bytes, please");
  if (!arguments.fields.empty() && arguments.bounds.empty()) die("a bound (-e), please");
  if (arguments.runs < kLeastRuns) die("at least 20 runs");
  if (arguments.threads < 1 || arguments.threads > SZG_MAX_THREADS) die("how many threads?");
  return arguments;
}

/* ---- streams ---- */

struct Stream {
  std::string name;
  double bound = 0.0; /* relative; 0 for a file of bytes */
  uint64_t hash = 0;  /* XXH3-64 of the file */
  bool are_bytes = false;
  uint32_t symbol_count = 0;
  uint64_t code_count = 0, bit_count = 0;
  szg_grid grid;
  std::vector<uint16_t> codes;
  szg_codebook book;
  std::vector<uint8_t> section; /* holds the book */
  std::vector<uint32_t> words;
  std::vector<uint8_t> gaps;
  std::vector<uint16_t> sequence_codes;
  std::vector<szg_tile_place> places; /* tiles + 1 */

  szg_linear_input input() const {
    return {
        (const uint8_t *)words.data(),         4 * words.size(), bit_count, code_count, gaps.data(),
        (const uint8_t *)sequence_codes.data()};
  }
  double bits_per_code() const { return (double)bit_count / (double)code_count; }
};

/* Encodes s->codes with the book; codes, book and grid are set. */
inline void encode(Stream *s) {
  std::vector<uint32_t> table(SZG_MAX_SYMBOLS);
  s->code_count = s->codes.size();
  s->section.resize(SZG_CODEBOOK_MAX_BYTES);
  s->section.resize(szg_codebook_write(&s->book, s->section.data()));
  s->bit_count = szg_linear_bits(&s->book, s->codes.data(), s->codes.size());
  s->words.resize((s->bit_count + 31) / 32);
  std::vector<uint8_t> gap_bytes(szg_subsequence_count(s->bit_count));
  std::vector<uint64_t> first_codes(szg_sequence_count(s->bit_count));
  szg_linear_stream stream = {(uint8_t *)s->words.data(), s->bit_count, gap_bytes.data(),
                              first_codes.data()};
  szg_linear_run run = {};
  szg_encoder_table(&s->book, table.data());
  szg_linear_encode(table.data(), s->codes.data(), s->codes.size(), &run, &stream);
  szg_linear_merge(&run, 1, &stream);
  s->gaps.resize((gap_bytes.size() + 1) / 2);
  szg_gaps_pack(gap_bytes.data(), gap_bytes.size(), s->gaps.data());
  first_codes.push_back(s->code_count);
  for (size_t i = 0; i + 1 < first_codes.size(); i++)
    s->sequence_codes.push_back((uint16_t)(first_codes[i + 1] - first_codes[i]));
  szg_tile_place place = {};
  for (uint64_t t = 0; t < s->grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&s->grid, t);
    s->places.push_back(place);
    place.bit += szg_linear_bits(&s->book, &s->codes[tile.first_code], tile.value_count);
  }
  s->places.push_back(place);
}

/* The tiles in the form that the table decoder takes. */
inline std::vector<szg_code_run> tile_runs(const szg_grid &grid,
                                           const std::vector<szg_tile_place> &places,
                                           uint16_t *codes) {
  std::vector<szg_code_run> runs;
  for (uint64_t t = 0; t < grid.tile_count; t++) {
    szg_tile const tile = szg_tile_at(&grid, t);
    runs.push_back({places[t].bit, places[t + 1].bit - places[t].bit, tile.value_count,
                    codes + tile.first_code});
  }
  return runs;
}

/* Takes the codes and the book of an archive's first frame. */
inline void take_codes(const szgpu_ctx *ctx, const std::vector<uint8_t> &archive, Stream *s) {
  szg_opened opened;
  szg_frame_header header;
  must(ctx, szg_open_in_place(archive.data(), archive.size(), &opened));
  uint64_t offset = szg_frame_offset(&opened, 0);
  must(ctx, szg_frame_open(&opened, 0, archive.data() + offset, archive.size() - offset, &header,
                           nullptr));
  if (header.kind != SZG_FRAME_LINEAR) die(s->name + ": its first frame has no codes");
  s->grid = szg_grid_of_rows(&opened.grid, szg_frame_row_count(&opened, 0));
  s->symbol_count = 2 * header.radius;
  offset += szg_frame_header_bytes(header.section_count);
  const uint8_t *sections[SZG_SECTION_KIND_COUNT] = {};
  uint64_t section_bytes[SZG_SECTION_KIND_COUNT] = {};
  for (uint32_t i = 0; i < header.section_count; i++) {
    const szg_section *const section = &header.sections[i];
    sections[section->kind] = archive.data() + offset;
    section_bytes[section->kind] = section->stored_bytes;
    offset += szg_align_up(section->stored_bytes, SZG_ALIGNMENT);
  }
  must(ctx, szg_codebook_read(sections[SZG_SECTION_CODEBOOK], section_bytes[SZG_SECTION_CODEBOOK],
                              s->symbol_count, &s->book));
  std::vector<szg_tile_place> places(1);
  for (uint64_t t = 0; t < s->grid.tile_count; t++) {
    szg_tile_place next = places.back();
    next.bit += szg_load_u16(sections[SZG_SECTION_TILE_SIZES] + 2 * t) +
                szg_tile_at(&s->grid, t).value_count;
    places.push_back(next);
  }
  s->codes.resize(s->grid.value_count);
  std::vector<szg_code_run> const runs = tile_runs(s->grid, places, s->codes.data());
  std::unique_ptr<szg_decode_table> const table(new szg_decode_table);
  szg_decode_table_build(&s->book, table.get());
  szg_linear_input input = {};
  input.words = sections[SZG_SECTION_BITSTREAM];
  input.word_bytes = section_bytes[SZG_SECTION_BITSTREAM];
  input.bit_count = places.back().bit;
  input.code_count = s->grid.value_count;
  must(ctx, szg_decode_runs(table.get(), &input, runs.data(), runs.size()));
  encode(s);
  if (4 * s->words.size() != input.word_bytes ||
      memcmp(s->words.data(), input.words, input.word_bytes) != 0)
    die(s->name + ": its codes do not make its bits");
}

inline std::unique_ptr<Stream> stream_of_field(const Field &field, double bound) {
  std::unique_ptr<Stream> s(new Stream);
  s->name = field.name;
  s->hash = field.hash;
  s->bound = bound;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.layout = SZGPU_LAYOUT_LINEAR;
  params.mode = SZGPU_MODE_REL;
  params.bound = bound;
  szgpu_ctx *ctx;
  must_succeed(szgpu_create(&ctx, &options));
  size_t capacity = 0, archive_bytes = 0;
  must(ctx, szgpu_sizes(ctx, &params, &field.shape, nullptr, &capacity));
  std::vector<uint8_t> archive(capacity);
  must(ctx, szgpu_compress(ctx, &params, &field.shape, field.bytes.data(), archive.data(),
                           archive.size(), &archive_bytes));
  archive.resize(archive_bytes);
  take_codes(ctx, archive, s.get());
  szgpu_destroy(ctx);
  return s;
}

inline std::unique_ptr<Stream> stream_of_bytes(const std::string &path) {
  std::unique_ptr<Stream> s(new Stream);
  s->name = path.substr(path.find_last_of('/') + 1);
  FILE *const file = fopen(path.c_str(), "rb");
  if (!file) die("cannot open " + path);
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> some(1 << 20);
  for (size_t count; (count = fread(some.data(), 1, some.size(), file)) > 0;)
    bytes.insert(bytes.end(), some.begin(), some.begin() + (long)count);
  if (ferror(file) || bytes.empty()) die(path + " cannot be read, or is empty");
  fclose(file);
  s->hash = szg_checksum_plain(bytes.data(), bytes.size());
  s->are_bytes = true;
  s->symbol_count = 256;
  std::vector<uint64_t> counts(s->symbol_count);
  for (uint8_t byte : bytes) counts[byte]++;
  std::unique_ptr<szg_codebook_work> const work(new szg_codebook_work);
  szg_codebook_build(counts.data(), s->symbol_count, SZG_MAX_CODE_BITS, &s->book, work.get());
  szgpu_shape shape = {};
  shape.dtype = SZGPU_F32;
  shape.ndim = 1;
  shape.dims[0] = bytes.size();
  must_succeed(szg_grid_of_shape(&shape, &s->grid));
  s->codes.assign(bytes.begin(), bytes.end());
  encode(s.get());
  return s;
}

/* Calls use for each field under each bound, then for each file of bytes. */
template <class Use>
void for_streams(const Arguments &arguments, Use use) {
  for (const std::string &path : arguments.fields) {
    Field const field = read_field(path);
    for (double const bound : arguments.bounds) use(*stream_of_field(field, bound));
  }
  for (const std::string &path : arguments.byte_files) use(*stream_of_bytes(path));
}

/* ---- the same on the device ---- */

/* A vector's contents in device memory, at least 16 bytes. */
class Uploaded {
 public:
  template <class T>
  explicit Uploaded(const std::vector<T> &values)
      : memory_(Where::kDevice, values.size() * sizeof(T) + 16) {
    memory_.fill(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  const T *as() const {
    return (const T *)(const void *)memory_.bytes();
  }

 private:
  Memory memory_;
};

struct DeviceStream {
  Uploaded section, words, gaps, sequence_codes, places, bit_count, codes, bytes;
  Memory book, verdict, decoded;
  szg_linear_input_cuda input = {};

  DeviceStream(const Stream &s, cudaStream_t stream)
      : section(s.section),
        words(s.words),
        gaps(s.gaps),
        sequence_codes(s.sequence_codes),
        places(s.places),
        bit_count(std::vector<uint64_t>{s.bit_count}),
        codes(s.codes),
        bytes(s.are_bytes ? std::vector<uint8_t>(s.codes.begin(), s.codes.end())
                          : std::vector<uint8_t>()),
        book(Where::kDevice, szg_decode_book_bytes_cuda()),
        verdict(Where::kDevice, sizeof(szg_verdict)),
        decoded(Where::kDevice, (s.code_count + 8) * sizeof(uint16_t)) {
    input.words = words.as<uint32_t>();
    input.word_count = s.words.size();
    input.gaps = gaps.as<uint8_t>();
    input.gap_bytes = s.gaps.size();
    input.sequence_codes = sequence_codes.as<uint16_t>();
    input.sequence_count = s.sequence_codes.size();
    input.code_count = s.code_count;
    input.places = places.as<szg_tile_place>();
    input.bit_count = bit_count.as<uint64_t>();
    must_cuda(cudaMemsetAsync(verdict.bytes(), 0, verdict.byte_count(), stream));
    must_succeed(szg_decode_book_build_cuda(section.as<uint8_t>(), s.section.size(), s.symbol_count,
                                            device_book(), device_verdict(), stream));
    must_cuda(cudaStreamSynchronize(stream));
  }
  szg_decode_book_cuda *device_book() const { return (szg_decode_book_cuda *)book.bytes(); }
  szg_verdict *device_verdict() const { return (szg_verdict *)(void *)verdict.bytes(); }

  /* Called before a run, so that the check finds codes left unwritten. */
  void poison(cudaStream_t stream) const {
    must_cuda(cudaMemsetAsync(verdict.bytes(), 0, verdict.byte_count(), stream));
    decoded.poison(stream);
  }
  /* Called after a run. code_bytes: bytes per decoded code. */
  void check(Checker *checker, const Stream &s, uint32_t code_bytes) const {
    szg_verdict found;
    must_cuda(cudaMemcpy(&found, verdict.bytes(), sizeof found, cudaMemcpyDeviceToHost));
    checker->claim(found.bad_data == 0, "a decoder refuses the stream");
    if (code_bytes == 1)
      checker->same<uint8_t>("other codes", decoded.bytes(), bytes.as<uint8_t>(), s.code_count);
    else
      checker->same<uint16_t>("other codes", decoded.bytes(), codes.as<uint16_t>(), s.code_count);
  }
};

/* ---- results ---- */

inline void write_rows(const char *bench, const Arguments &arguments, const Machine &machine,
                       const std::vector<std::string> &rows) {
  if (arguments.json.empty()) return;
  std::string const text = object({{"bench", quoted(bench)},
                                   {"gpu", quoted(machine.gpu)},
                                   {"cuda_runtime", quoted(machine.runtime)},
                                   {"cuda_driver", quoted(machine.driver)},
                                   {"copy_gb_per_s", number(machine.copy_gb_per_second)},
                                   {"szgpu", quoted(szgpu_version())},
                                   {"cpu_threads", number(arguments.threads)},
                                   {"runs", number(arguments.runs)},
                                   {"host_runs", number(arguments.host_runs)},
                                   {"rows", array(rows)}});
  FILE *const file = fopen(arguments.json.c_str(), "w");
  if (!file || fprintf(file, "%s\n", text.c_str()) < 0 || fclose(file) != 0)
    die("cannot write " + arguments.json);
}

/* The members that every row of a stream begins with. */
inline Members stream_members(const Stream &s) {
  return {{"input", quoted(s.name)},
          {"kind", quoted(s.are_bytes ? "bytes" : "field")},
          {"bound", number(s.bound)},
          {"input_xxh3", hexadecimal(s.hash)},
          {"codes", number(s.code_count)},
          {"symbols", number((uint64_t)s.symbol_count)},
          {"bits_per_code", number(s.bits_per_code())}};
}

} // namespace

#endif
