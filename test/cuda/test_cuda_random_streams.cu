/* test_cuda_random_streams.cu - many small streams of random codebooks: each decoder on the device
 * gives the codes, or refuses what the CPU refuses.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: test_cuda_random_streams [STREAMS [FIRST]] All decoders decode each stream. About one in
 * four streams has some bits or some of its side data changed. Threads share the streams; each
 * stream takes one copy to the device and one back. A stream depends only on SZGPU_TEST_SEED and
 * its number, not on the thread: a complaint says how to repeat it.
 */
#include <array>
#include <memory>
#include <thread>

#include "cuda/decode_cases.cuh"
#include "huffman/decoders/all_offsets.h"
#include "huffman/decoders/chunked.h"
#include "huffman/decoders/hierarchical.h"
#include "huffman/decoders/self_sync.h"
#include "study/hierarchical_forms.h"

namespace {

using namespace cuda_test;
using namespace decode_cases;

constexpr size_t kMostCodes = 40000;
constexpr size_t kMostBits = kMostCodes * SZG_MAX_CODE_BITS;
constexpr size_t kRoom = (size_t)1 << 20; /* for data to the device, and for data back */
constexpr size_t kGuardBytes = 64;
constexpr uint64_t kWarpBits = 32 * SZG_HIERARCHICAL_THREAD_BITS;
constexpr uint64_t kBookStreams = 8; /* streams per book */

enum Decoder { GAP, CHUNKED, SELF_SYNC, SELF_SYNC_BYTES, ALL_OFFSETS, HIERARCHICAL, DECODER_COUNT };
const char *const decoder_names[DECODER_COUNT] = {
    "gap-array", "chunked", "self-sync", "self-sync to bytes", "all-offsets", "hierarchical"};

uint64_t base_seed; /* SZGPU_TEST_SEED */

/* The command that repeats one stream. */
struct Repeat {
  char command[128];
  explicit Repeat(uint64_t number) {
    snprintf(command, sizeof command, "SZGPU_TEST_SEED=%llu test_cuda_random_streams 1 %llu",
             (unsigned long long)base_seed, (unsigned long long)number);
  }
};

/* Seeds the numbers so that they do not depend on earlier draws. */
void begin_numbers(uint64_t of_what) {
  random_state = base_seed;
  random_state = random_bits() + of_what;
  random_state = random_bits();
}

/* ---- memory of a thread ---- */

struct Memory {
  uint8_t *host, *device;
  size_t used_bytes = 0;

  Memory() {
    MUST(cudaMallocHost(&host, kRoom));
    MUST(cudaMalloc(&device, kRoom));
  }
  ~Memory() {
    cudaFreeHost(host);
    cudaFree(device);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  uint8_t *take(size_t bytes) { /* returns its place on the device */
    uint8_t *const at = device + used_bytes;
    used_bytes += (bytes + 255) / 256 * 256;
    if (used_bytes > kRoom) MUST(SZGPU_CAPACITY);
    return at;
  }
  template <class T>
  const T *add(const T *values, size_t count) {
    uint8_t *const at = take(count * sizeof(T));
    if (count) memcpy(host + (at - device), values, count * sizeof(T));
    return (const T *)(void *)at;
  }
  template <class T>
  const T *add(const std::vector<T> &values) {
    return add(values.data(), values.size());
  }
  const uint8_t *back(const void *at) const { return host + ((const uint8_t *)at - device); }
};

/* ---- books ---- */

/* Symbols that occur, most frequent first: from one to all, evenly or with a few far ahead. */
struct RandomBook {
  uint32_t symbol_count;
  std::vector<uint16_t> symbols;
  double skew;

  uint16_t draw() const {
    double const place = pow(random_unit(), skew) * (double)symbols.size();
    return symbols[std::min((size_t)place, symbols.size() - 1)];
  }
};

void build_book(Coder *coder, RandomBook *book) {
  static const uint32_t symbol_counts[] = {4, 64, 256, 256, 256, 1000, 1024, 4096};
  book->symbol_count =
      random_below(64) == 0 ? (uint32_t)SZG_MAX_SYMBOLS : symbol_counts[random_below(8)];
  uint64_t const kind = random_below(8);
  uint64_t const most = kind == 0   ? 1
                        : kind == 1 ? 2
                        : kind == 2 ? (uint64_t)SZG_MAX_CODE_BITS
                                    : 1 + random_below(book->symbol_count);
  uint64_t const count = std::min<uint64_t>(most, book->symbol_count);
  book->symbols.clear();
  uint64_t const first = random_below(book->symbol_count), step = 2 * random_below(1 << 15) + 1;
  for (uint64_t i = 0; i < count; i++) /* odd steps meet each symbol once if the count is 2^n */
    book->symbols.push_back((uint16_t)((first + i * step) % book->symbol_count));
  std::sort(book->symbols.begin(), book->symbols.end());
  book->symbols.erase(std::unique(book->symbols.begin(), book->symbols.end()), book->symbols.end());
  for (size_t i = book->symbols.size(); i-- > 1;) /* likely symbols may be anywhere */
    std::swap(book->symbols[i], book->symbols[random_below(i + 1)]);
  book->skew = 1 + (double)random_below(9);
  memset(coder->counts, 0, book->symbol_count * sizeof *coder->counts);
  for (size_t i = 0; i < book->symbols.size(); i++) {
    size_t const rank = book->symbols.size() - i;
    coder->counts[book->symbols[i]] = kind == 2 ? (uint64_t)1 << 2 * (rank - 1) : 1;
  }
  if (kind != 2)
    for (int i = 0; i < 2000; i++) coder->counts[book->draw()]++;
  szg_codebook_build(coder->counts, book->symbol_count, SZG_MAX_CODE_BITS, &coder->book,
                     &coder->work);
  szg_encoder_table(&coder->book, coder->table);
  szg_canonical_index_build(&coder->book, &coder->index);
  coder->section.resize(SZG_CODEBOOK_MAX_BYTES);
  coder->section.resize(szg_codebook_write(&coder->book, coder->section.data()));
}

/* ---- side data, and damage ---- */

/* Gaps every 64 bits, and positions: marked in the stream, or split from an archive's gap array. */
struct Side {
  bool is_split, is_bad = false; /* bad: could not be split */
  std::vector<uint8_t> gaps, positions;
  szg_hierarchical_stream stream;

  Side(const Stream &s, bool split)
      : is_split(split),
        gaps(szg_hierarchical_gap_bytes(s.bit_count, SZG_HIERARCHICAL_SPLIT_GAP_BITS)),
        positions(8 * (szg_hierarchical_block_count(s.bit_count) + 1)) {
    stream = {s.words.data(), s.words.size(),  s.bit_count, s.code_count, 4, 8,
              gaps.data(),    positions.data()};
  }
  void mark(const szg_hierarchical_tables *tables) {
    MUST(szg_hierarchical_mark(tables, &stream, gaps.data(), positions.data()));
  }
  void split(const szg_hierarchical_tables *tables, const Stream &s) {
    szg_linear_input const input = s.host_input();
    szg_threads threads = {};
    threads.count = 1;
    is_bad =
        szg_hierarchical_split_gaps(tables, &input, gaps.data(),
                                    (uint64_t *)(void *)positions.data(), &threads) != SZGPU_OK;
  }
};

enum Damage { NONE, OF_THE_STREAM, OF_SIDE_DATA };

Damage draw_damage() {
  if (random_below(4) != 0) return NONE;
  return random_below(2) ? OF_THE_STREAM : OF_SIDE_DATA;
}

void change_bits(Stream *s) {
  for (uint64_t i = 1 + random_below(4); i > 0; i--) {
    uint64_t const bit = random_below(s->bit_count);
    s->words[bit / 32] ^= 0x80000000u >> bit % 32;
  }
}

/* Changes a gap of the archive, or moves codes from one sequence to another. */
void change_side_data(Stream *s) {
  if (random_below(2)) {
    uint64_t const gap = random_below(szg_subsequence_count(s->bit_count));
    s->gaps[gap / 2] ^= (uint8_t)((1 + random_below(15)) << gap % 2 * 4);
    return;
  }
  uint64_t const from = random_below(s->sequence_codes.size());
  uint64_t const to = random_below(s->sequence_codes.size());
  uint16_t const codes = (uint16_t)(1 + random_below(random_below(2) ? 3 : UINT16_MAX));
  s->sequence_codes[from] = (uint16_t)(s->sequence_codes[from] - codes);
  if (to != from) s->sequence_codes[to] = (uint16_t)(s->sequence_codes[to] + codes);
}

void change_marks(const Stream &s, Side *side) {
  if (random_below(2)) {
    uint64_t const thread = random_below(szg_hierarchical_thread_count(s.bit_count));
    side->gaps[thread / 2] ^= (uint8_t)((1 + random_below(15)) << (thread % 2 ? 0 : 4));
    return;
  }
  uint64_t *const positions = (uint64_t *)(void *)side->positions.data();
  uint64_t const block = random_below(side->positions.size() / sizeof *positions);
  positions[block] += random_below(2) ? (uint64_t)1 : random_bits();
}

/* ---- a thread's work ---- */

struct Expected {
  bool is_refused;
  Codes codes;
};

bool is_of_bytes(int decoder) { return decoder == SELF_SYNC_BYTES || decoder == HIERARCHICAL; }
bool reads_side_data(int decoder) { return decoder == GAP || decoder == HIERARCHICAL; }

/* Counts of what was decoded. */
struct Tally {
  uint64_t damaged_long = 0; /* streams of several sequences */
  uint64_t split = 0;        /* with side data of archives */
  uint64_t kept = 0;         /* with a warp that can keep packs */
  std::array<uint64_t, DECODER_COUNT> decoded{}, damaged{}, refused{};

  void add(const Tally &other) {
    damaged_long += other.damaged_long, split += other.split, kept += other.kept;
    for (int d = 0; d < DECODER_COUNT; d++) {
      decoded[d] += other.decoded[d];
      damaged[d] += other.damaged[d];
      refused[d] += other.refused[d];
    }
  }
};

struct Worker {
  std::unique_ptr<Coder> coder{new Coder};
  std::unique_ptr<szg_hierarchical_tables> tables{new szg_hierarchical_tables};
  RandomBook book;
  Memory input, output;
  DeviceArray<uint8_t> device_book{szg_decode_book_bytes_cuda()};
  DeviceArray<uint8_t> work_memory{(size_t)64 << 20};
  szg_gap_decoder_cuda gap_work;
  szg_self_sync_decoder_cuda sync_work;
  szg_all_offsets_tables_cuda offsets_work;
  szg_hierarchical_gaps_cuda split_work;
  uint64_t book_group = UINT64_MAX;
  Tally tally;

  Worker();
  /* A stream on the device, and the places for its codes. */
  const uint8_t *section;
  szg_linear_input_cuda linear;
  szg_hierarchical_stream chained;
  const szg_hierarchical_tables *device_tables;
  szg_verdict *verdicts; /* [DECODER_COUNT], and the book's */
  uint8_t *codes_at[DECODER_COUNT];

  bool has_bytes() const { return book.symbol_count <= 256; }
  bool has(int decoder) const { return has_bytes() || !is_of_bytes(decoder); }
  void upload(const Stream &s, const Side *side);
  void launch(const szg_grid &grid, const Side *side);
  void make_stream(uint64_t number);
  Expected expected(Decoder decoder, const Stream &s, const szg_grid &grid, const Side *side) const;
  void begin_book(uint64_t group);
  void compare(uint64_t number, const Stream &s, Damage damage, const Codes &codes,
               const Expected *results);
};

Worker::Worker() {
  szg_self_sync_options_cuda const sync_options = SZG_SELF_SYNC_DEFAULTS_CUDA;
  szg_all_offsets_options offsets_options = SZG_ALL_OFFSETS_DEFAULTS_CUDA;
  offsets_options.slot_count = 256; /* so that some streams are several batches */
  szg_arena arena = {work_memory.data(), 0, work_memory.bytes(), false};
  MUST(szg_gap_decoder_carve_cuda(&arena, szg_sequence_count(kMostBits), &gap_work));
  MUST(szg_self_sync_carve_cuda(&arena, &sync_options, kMostBits / 32, &sync_work));
  MUST(szg_all_offsets_carve_cuda(&arena, &offsets_options, 1, SZG_MAX_CODE_BITS, &offsets_work));
  MUST(szg_hierarchical_gaps_carve_cuda(&arena, kMostBits, &split_work));
  if (arena.overflowed) MUST(SZGPU_CAPACITY);
}

/* The CPU's result for the same bits and side data. */
Expected Worker::expected(Decoder decoder, const Stream &s, const szg_grid &grid,
                          const Side *side) const {
  Expected result = {false, {}};
  if (decoder == GAP) {
    result.codes = s.serial(coder->index);
    result.is_refused = result.codes.empty();
  } else if (decoder == CHUNKED) {
    result.codes = s.serial_tiles(coder->index, grid);
    result.is_refused = result.codes.empty();
  } else if (decoder == HIERARCHICAL) {
    std::vector<uint8_t> bytes(s.code_count);
    szg_threads threads = {};
    threads.count = 1;
    result.is_refused = side->is_bad || szg_decode_hierarchical(tables.get(), &side->stream,
                                                                bytes.data(), &threads) != SZGPU_OK;
    result.codes.assign(bytes.begin(), bytes.end());
  } else {
    szg_linear_input const bits = s.host_input();
    result.codes.resize(s.code_count);
    szg_code_run const run = {0, s.bit_count, (uint32_t)s.code_count, result.codes.data()};
    result.is_refused = szg_decode_serial(&coder->index, &bits, &run, 1) != SZGPU_OK;
  }
  return result;
}

void check(const Expected &expected, const uint8_t *found, bool is_refused, int decoder,
           const Stream &s, uint64_t number) {
  Repeat const repeat(number);
  size_t const width = is_of_bytes(decoder) ? 1 : 2;
  CHECK(is_refused == expected.is_refused, "%s, %zu codes, %zu bits: %srefused; %s",
        decoder_names[decoder], (size_t)s.code_count, (size_t)s.bit_count, is_refused ? "" : "not ",
        repeat.command);
  bool is_equal = true, is_guard_whole = true;
  for (size_t i = 0; i < s.code_count; i++)
    is_equal &= expected.codes.size() == s.code_count &&
                expected.codes[i] == (width == 1 ? found[i] : ((const uint16_t *)found)[i]);
  size_t const room = (s.code_count + 7) / 8 * 8 * width;
  for (size_t i = room; i < room + kGuardBytes; i++) is_guard_whole &= found[i] == 0xA5;
  CHECK(is_refused || is_equal, "%s: other codes; %s", decoder_names[decoder], repeat.command);
  CHECK(is_guard_whole, "%s: written past the end; %s", decoder_names[decoder], repeat.command);
}

void Worker::upload(const Stream &s, const Side *side) {
  input.used_bytes = output.used_bytes = 0;
  section = input.add(coder->section);
  linear = {};
  linear.words = input.add(s.words), linear.word_count = s.words.size();
  linear.gaps = input.add(s.gaps), linear.gap_bytes = s.gaps.size();
  linear.sequence_codes = input.add(s.sequence_codes);
  linear.sequence_count = s.sequence_codes.size();
  linear.code_count = s.code_count;
  linear.places = input.add(s.places);
  linear.bit_count = input.add(&s.bit_count, 1);
  if (side) {
    chained = side->stream;
    chained.words = linear.words;
    chained.gaps = side->is_split ? split_work.gaps : input.add(side->gaps);
    chained.positions =
        side->is_split ? (const void *)split_work.positions : input.add(side->positions);
    device_tables = (const szg_hierarchical_tables *)(const void *)input.add(
        (const uint8_t *)tables.get(), szg_hierarchical_tables_bytes(tables.get()));
  }
  MUST(cudaMemcpyAsync(input.device, input.host, input.used_bytes, cudaMemcpyHostToDevice, stream));
  size_t const verdict_bytes = (DECODER_COUNT + 1) * sizeof *verdicts;
  size_t const code_room = (s.code_count + 7) / 8 * 8;
  verdicts = (szg_verdict *)(void *)output.take(verdict_bytes);
  for (int d = 0; d < DECODER_COUNT; d++)
    codes_at[d] = output.take(code_room * (is_of_bytes(d) ? 1 : 2) + kGuardBytes);
  MUST(cudaMemsetAsync(output.device, 0xA5, output.used_bytes, stream));
  MUST(cudaMemsetAsync(verdicts, 0, verdict_bytes, stream));
}

void Worker::launch(const szg_grid &grid, const Side *side) {
  uint32_t const symbol_count = book.symbol_count;
  szg_decode_book_cuda *const codes = (szg_decode_book_cuda *)(void *)device_book.data();
  uint16_t *as_codes[DECODER_COUNT];
  for (int d = 0; d < DECODER_COUNT; d++) as_codes[d] = (uint16_t *)(void *)codes_at[d];
  MUST(szg_decode_book_build_cuda(section, coder->section.size(), symbol_count, codes,
                                  &verdicts[DECODER_COUNT], stream));
  MUST(szg_decode_gap_cuda(&gap_work, codes, symbol_count, &linear, as_codes[GAP], &verdicts[GAP],
                           stream));
  MUST(szg_decode_chunked_cuda(codes, symbol_count, &grid, &linear, as_codes[CHUNKED],
                               &verdicts[CHUNKED], stream));
  MUST(szg_decode_self_sync_cuda(&sync_work, codes, symbol_count, &linear, 2, codes_at[SELF_SYNC],
                                 &verdicts[SELF_SYNC], stream));
  MUST(szg_decode_all_offsets_cuda(&offsets_work, codes, &linear, as_codes[ALL_OFFSETS],
                                   &verdicts[ALL_OFFSETS], stream));
  if (side) {
    MUST(szg_decode_self_sync_cuda(&sync_work, codes, symbol_count, &linear, 1,
                                   codes_at[SELF_SYNC_BYTES], &verdicts[SELF_SYNC_BYTES], stream));
    if (side->is_split)
      MUST(szg_hierarchical_split_gaps_cuda(device_tables, &linear, chained.bit_count, &split_work,
                                            &verdicts[HIERARCHICAL], stream));
    MUST(szg_decode_hierarchical_cuda(device_tables, &chained, (uint8_t *)codes_at[HIERARCHICAL],
                                      &verdicts[HIERARCHICAL], stream));
  }
  MUST(cudaMemcpyAsync(output.host, output.device, output.used_bytes, cudaMemcpyDeviceToHost,
                       stream));
}

void Worker::begin_book(uint64_t group) {
  if (group == book_group) return;
  begin_numbers(2 * group);
  build_book(coder.get(), &book);
  if (has_bytes()) szg_hierarchical_build(&coder->book, tables.get());
  book_group = group;
}

void Worker::compare(uint64_t number, const Stream &s, Damage damage, const Codes &codes,
                     const Expected *results) {
  Repeat const repeat(number);
  const szg_verdict *const found = (const szg_verdict *)(const void *)output.back(verdicts);
  CHECK(found[DECODER_COUNT].bad_data == 0, "the book; %s", repeat.command);
  for (int d = 0; d < DECODER_COUNT; d++) {
    if (!has(d)) continue;
    bool const is_damaged = damage == OF_THE_STREAM || (damage != NONE && reads_side_data(d));
    check(results[d], output.back(codes_at[d]), found[d].bad_data != 0, d, s, number);
    tally.decoded[d]++;
    tally.damaged[d] += is_damaged;
    tally.refused[d] += results[d].is_refused;
    CHECK(is_damaged || (!results[d].is_refused && results[d].codes == codes),
          "%s: the CPU refuses it; %s", decoder_names[d], repeat.command);
  }
}

void Worker::make_stream(uint64_t number) {
  begin_book(number / kBookStreams);
  begin_numbers(2 * number + 1);
  uint64_t const length = random_below(64); /* sometimes several sequences */
  Codes codes(1 + random_below(length < 4 ? kMostCodes : length < 12 ? 6000 : 600));
  for (uint16_t &code : codes) code = book.draw();
  szg_grid const grid = line_of(codes.size());
  Stream s(*coder, codes, grid);
  std::unique_ptr<Side> side(has_bytes() ? new Side(s, random_below(2)) : nullptr);
  if (side && !side->is_split) side->mark(tables.get());
  Damage const damage = draw_damage();
  if (damage == OF_THE_STREAM) change_bits(&s); /* side data stay unchanged */
  if (damage == OF_SIDE_DATA) change_side_data(&s);
  if (damage == OF_SIDE_DATA && side && !side->is_split) change_marks(s, side.get());
  if (side && side->is_split) side->split(tables.get(), s);
  upload(s, side.get());
  launch(grid, side.get());
  Expected results[DECODER_COUNT]; /* computed while the device works */
  for (int d = 0; d < DECODER_COUNT; d++)
    if (has(d)) results[d] = expected((Decoder)d, s, grid, side.get());
  MUST(cudaStreamSynchronize(stream));
  compare(number, s, damage, codes, results);
  tally.damaged_long += damage != NONE && s.sequence_codes.size() > 1;
  tally.split += side && side->is_split;
  tally.kept += side && s.bit_count > kWarpBits && szg_hierarchical_keeps_packs(&chained);
}

/* ---- all threads ---- */

/* Streams first to end - 1; one thread does all streams of a book. */
Tally make_streams(uint64_t first, uint64_t end) {
  unsigned const thread_count = std::min(16u, std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<uint64_t> next_group{first / kBookStreams};
  std::vector<Tally> tallies(thread_count);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; i++)
    threads.emplace_back([&, i] {
      MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      Worker worker;
      for (uint64_t group; (group = next_group++) * kBookStreams < end;) {
        uint64_t const begin = std::max(first, group * kBookStreams);
        for (uint64_t n = begin; n < std::min(end, (group + 1) * kBookStreams); n++)
          worker.make_stream(n);
      }
      tallies[i] = worker.tally;
    });
  Tally all;
  for (unsigned i = 0; i < thread_count; i++) {
    threads[i].join();
    all.add(tallies[i]);
  }
  return all;
}

/* Every decoder must refuse many damaged streams, long ones among them. It cannot refuse all,
 * because a changed bit may make another code of the same length; wrong side data always show. */
void check_tally(const Tally &tally) {
  constexpr uint64_t kEnough = 100; /* fewer damaged streams prove nothing */
  for (int d = 0; d < DECODER_COUNT; d++) {
    printf("%-18s %llu decoded, %llu of them damaged, %llu refused\n", decoder_names[d],
           (unsigned long long)tally.decoded[d], (unsigned long long)tally.damaged[d],
           (unsigned long long)tally.refused[d]);
    uint64_t const least = tally.damaged[d] / (reads_side_data(d) ? 2 : 8);
    CHECK(tally.damaged[d] < kEnough || tally.refused[d] > least, "%s", decoder_names[d]);
  }
  printf(
      "%llu damaged ones have several sequences; %llu have their gaps split; of %llu warps keep "
      "packs\n",
      (unsigned long long)tally.damaged_long, (unsigned long long)tally.split,
      (unsigned long long)tally.kept);
  CHECK(tally.damaged[GAP] < kEnough || (tally.damaged_long && tally.split && tally.kept),
        "few kinds");
}

} // namespace

int main(int argc, char **argv) {
  begin();
  base_seed = random_state;
  uint64_t const asked = argc > 1 ? strtoull(argv[1], nullptr, 10) : is_quick() ? 64 : 4000;
  uint64_t const first = argc > 2 ? strtoull(argv[2], nullptr, 10) : 0;
  check_tally(make_streams(first, first + asked));
  return end();
}
