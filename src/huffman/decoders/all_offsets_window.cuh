/* all_offsets_window.cuh - decoding from every bit: a window's W, made in shared memory by a team.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A team is a warp, or a block if windows are large. It makes the rows one after the other and
 * waits for all its threads between them.
 */
#ifndef SZG_ALL_OFFSETS_WINDOW_CUH
#define SZG_ALL_OFFSETS_WINDOW_CUH

#include "huffman/decoders/all_offsets.cuh"

namespace szg {

struct OffsetsPolicy {
  static constexpr unsigned kWarpTeams = 8;      /* per block, if a warp takes a window */
  static constexpr unsigned kMostThreads = 1024; /* per block, if the block takes one window */
};

/* Shared memory holds the length of the first code for each value of the next kWindowBits bits. */
constexpr uint32_t kNoCode = 255; /* 0: the code is longer */
constexpr uint16_t kNoPlace = 0xFFFF;
constexpr uint32_t kMostRows = 32;
static_assert(SZG_ALL_OFFSETS_MOST_ROWS <= kMostRows, "row ends");
static_assert(SZG_ALL_OFFSETS_MOST_SHARED_BITS < kNoPlace, "offsets and places fit 16 bits");

/* A team's shared memory; its pieces begin at multiples of 64 bytes from its first byte. */
struct TeamLayout {
  uint32_t words, places, widths, bytes; /* row ends come first */

  __host__ __device__ TeamLayout(uint32_t window_bits, uint64_t widths_bytes) {
    words = kMostRows * sizeof(uint32_t);
    places = words + (window_bits / 8 + 64 + 63) / 64 * 64; /* one word more than the window's */
    widths = places + (2 * window_bits + 63) / 64 * 64;
    bytes = widths + (uint32_t)widths_bytes;
  }
};

/* ---- teams ---- */

struct WarpTeam {
  static constexpr unsigned kMostTeams = OffsetsPolicy::kWarpTeams; /* of a block */
  static constexpr unsigned kMostThreads = 32 * kMostTeams;
  __device__ static uint32_t number() { return threadIdx.x / 32; }
  __device__ static uint32_t count() { return blockDim.x / 32; }
  __device__ static uint32_t thread() { return threadIdx.x % 32; }
  __device__ static uint32_t threads() { return 32; }
  __device__ static void sync() { __syncwarp(); }
};
struct BlockTeam {
  static constexpr unsigned kMostTeams = 1;
  static constexpr unsigned kMostThreads = OffsetsPolicy::kMostThreads;
  __device__ static uint32_t number() { return 0; }
  __device__ static uint32_t count() { return 1; }
  __device__ static uint32_t thread() { return threadIdx.x; }
  __device__ static uint32_t threads() { return blockDim.x; }
  __device__ static void sync() { __syncthreads(); }
};

/* A window and its team's memory. */
struct TeamWindow {
  const OffsetsBatch &batch;
  const uint8_t *lengths; /* [kWindows] */
  uint32_t *row_ends;     /* [kMostRows] */
  uint32_t *words;
  uint16_t *places;
  uint8_t *widths;
  uint32_t offset_count;

  __device__ uint8_t *row_at(int row) const { return widths + batch.tables.rows[row].first_byte; }
  __device__ RowView view(int row) const {
    szg_all_offsets_row const &rule = batch.tables.rows[row];
    return {row_at(row), rule.entry_bytes, rule.bias, row_ends[row]};
  }
  __device__ uint32_t bits_at(uint32_t offset) const {
    return bits_from(words[offset / 32 + 1], words[offset / 32], offset);
  }
};

/* ---- stages 1 and 2: W ---- */

/* The whole block calls, once. */
inline __device__ void fill_lengths(const OffsetsBatch &batch, uint8_t *lengths) {
  for (uint32_t i = threadIdx.x; i < kWindows; i += blockDim.x) {
    uint32_t const length = batch.book->single[i] >> 16;
    uint32_t const checked = checked_length(batch, i << (32 - kWindowBits), length);
    lengths[i] = (uint8_t)(length == 0 ? 0 : checked == 0 ? kNoCode : checked);
  }
}

/* Loads the window's words and clears its row ends. The team calls. */
template <class Team>
__device__ void begin_window(TeamWindow &window, uint32_t slot) {
  const OffsetsBatch &batch = window.batch;
  window.offset_count = batch.offset_count(slot);
  uint64_t const first_word = batch.first_bit(slot) / 32;
  uint32_t const word_count = batch.tables.options.window_bits / 32 + 1;
  Team::sync(); /* the team is done with the window before */
  for (uint32_t i = Team::thread(); i < word_count; i += Team::threads())
    window.words[i] = batch.word_at(first_word + i);
  for (uint32_t i = Team::thread(); i < kMostRows; i += Team::threads()) window.row_ends[i] = 0;
  Team::sync(); /* words complete */
}

/* The width of the code at `offset`; a code that the stream's end cuts counts as none. */
inline __device__ uint32_t first_width(const TeamWindow &window, uint64_t bits_left,
                                       uint32_t offset) {
  uint32_t const bits = window.bits_at(offset);
  uint32_t length = window.lengths[bits >> (32 - kWindowBits)];
  if (length == 0) length = long_length(window.batch, bits);
  return length != kNoCode && offset + length <= bits_left ? length : 0;
}

template <class Team, class Entry>
__device__ void make_first_row(const TeamWindow &window, uint64_t bits_left) {
  Entry *const row = reinterpret_cast<Entry *>(window.row_at(0));
  uint32_t const bias = window.batch.tables.rows[0].bias;
  for (uint32_t base = 0; base < window.offset_count; base += Team::threads()) {
    uint32_t const offset = base + Team::thread();
    bool const is_there = offset < window.offset_count;
    uint32_t const width = is_there ? first_width(window, bits_left, offset) : 0;
    uint32_t const entry = width ? width - bias : 0;
    if (is_there) row[offset] = (Entry)entry;
    raise_row_end(window.row_ends, offset - offset % 32, entry);
  }
}

/* Makes entries 0 .. count - 1 of the row after `row`. */
template <class Team, class From, class To>
__device__ void make_row(const TeamWindow &window, int row, uint32_t count) {
  const From *const from = reinterpret_cast<const From *>(window.row_at(row));
  To *const to = reinterpret_cast<To *>(window.row_at(row + 1));
  uint32_t const from_bias = window.batch.tables.rows[row].bias;
  uint32_t const bias = 2 * from_bias - window.batch.tables.rows[row + 1].bias; /* modulo 2^32 */
  uint32_t const from_end = window.row_ends[row];
  for (uint32_t base = 0; base < count; base += Team::threads()) {
    uint32_t const offset = base + Team::thread();
    uint32_t const first = offset < min(count, from_end) ? from[offset] : 0;
    uint32_t const next = offset + first + from_bias;
    uint32_t const second = first && next < from_end ? from[next] : 0;
    uint32_t const entry = second ? first + second + bias : 0;
    if (offset < count) to[offset] = (To)entry;
    raise_row_end(&window.row_ends[row + 1], offset - offset % 32, entry);
  }
}

/* Makes the window's rows; returns how many have an entry. The team calls. */
template <class Team>
__device__ int make_widths(const TeamWindow &window, uint32_t slot) {
  const OffsetsBatch &batch = window.batch;
  const szg_all_offsets_row *const rows = batch.tables.rows;
  uint64_t const bits_left = min(*batch.bit_count, 32 * batch.word_count) - batch.first_bit(slot);
  if (rows[0].entry_bytes == 1)
    make_first_row<Team, uint8_t>(window, bits_left);
  else
    make_first_row<Team, uint32_t>(window, bits_left);
  Team::sync(); /* row 0 complete, and its end known */
  int row = 0;
  uint32_t end = window.row_ends[0];
  while (end > 0 && row + 1 < batch.tables.row_count) {
    uint32_t const count = next_row_count(batch, row, end, window.offset_count);
    uint32_t const from_bytes = rows[row].entry_bytes, to_bytes = rows[row + 1].entry_bytes;
    if (from_bytes == 4)
      make_row<Team, uint32_t, uint32_t>(window, row, count);
    else if (from_bytes == 2)
      make_row<Team, uint16_t, uint16_t>(window, row, count);
    else if (to_bytes == 2)
      make_row<Team, uint8_t, uint16_t>(window, row, count);
    else
      make_row<Team, uint8_t, uint8_t>(window, row, count);
    Team::sync(); /* the row complete, and its end known */
    end = window.row_ends[++row];
  }
  return end > 0 ? row + 1 : row;
}

} // namespace szg

#endif
