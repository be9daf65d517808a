/* encode_pass.cuh - encodes the tiles of a lossless frame in one pass over the values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One warp per tile; each lane has four values of each row. While a warp reads the rows of a tile,
 * it writes the bytes of stored planes to their place, and appends codes to each lane's own bits,
 * whose full words go to the warp's stage in shared memory: word i of lane l of a plane at
 * [32 i + l], so that lanes use different banks. At the end of the tile, lengths are known, the
 * tile's size is published (core/look_back.cuh), and the lanes are joined to the tile's words.
 * These wait in shared memory until the end of the warp's next tile, when the tiles before mostly
 * have published theirs.
 *
 * A tile whose bits do not fit there is only measured, and read again once its place is known.
 *
 * Checksums need not read stored planes again: their blocks are summed up on the way.
 */
#ifndef SZG_ENCODE_PASS_CUH
#define SZG_ENCODE_PASS_CUH

#include "codecs/planes/encode_planes.cuh"
#include "codecs/planes/stored_sums.cuh"
#include "core/look_back.cuh"
#include "core/shared_memory.cuh"
#include "core/tile_queue.cuh"

namespace szg {

template <class Kind>
struct PassPolicy {
  static constexpr int kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kBlocks = Kind::kValueBytes <= 2 ? 8 : Kind::kValueBytes == 4 ? 6 : 4;
  /* With fewer on a multiprocessor, it takes less time to read the values twice. */
  static constexpr int kLeastBlocks = Kind::kValueBytes <= 4 ? 5 : 4;
};

template <class Kind>
struct PassJob {
  PlanesEncodeJob encode;
  uint32_t
      lane_words[Kind::kValueBytes]; /* by plane: words of a lane that the stage has room for */
  uint32_t stage_words;              /* of all lanes of all planes */
  uint32_t tile_words;               /* room for a tile's words in shared memory */
  uint32_t *ticket;
  TileSums sums;
  SumJob stored_sums;
};

constexpr uint32_t kLaneStep = SZG_LANES * sizeof(uint32_t); /* from a lane's word to its next */

/* Dynamic shared memory of a block: keys, entries of coded planes, then each warp's stage and
 * words. */
template <class Kind>
__host__ __device__ uint32_t pass_shared_bytes(const PassJob<Kind> &job) {
  uint32_t const words = job.encode.coded_planes * SZG_PLANES_SYMBOLS +
                         PassPolicy<Kind>::kWarps * (job.stage_words + job.tile_words);
  return kSumKeyBytes<Kind> + words * (uint32_t)sizeof(uint32_t);
}

/* ---- a lane's bits ---- */

/* Entries in shared memory: codes left-aligned, their lengths in the low four bits, and
 * kHasNoCode. */
constexpr uint32_t kHasNoCode = 1 << 7;
static_assert(SZG_PLANES_CODE_BITS < 16, "lengths are below the flag");

__device__ __forceinline__ uint32_t pass_entry(uint32_t entry) {
  return left_aligned(entry) | (entry & SZG_PLANES_UNCOUNTED_FLAG ? kHasNoCode : 0);
}

/* A lane's bits of a plane in the stage. Words for which there is no room are dropped. */
struct StagedBits {
  uint32_t word;      /* current: bits from the highest on, the rest 0 */
  uint32_t at;        /* how many bits there are */
  uint32_t next, end; /* shared addresses: of the current word's place; behind the stage */

  __device__ __forceinline__ void put_full_word() {
    store_shared_if(next < end, next, word);
    next += kLaneStep;
  }
  __device__ __forceinline__ void append_two(uint32_t first, uint32_t second) {
    uint32_t const codes = join_codes(first, second, kTwoCodes);
    append_joined(*this, codes, at + ((first + second) & 31));
  }
};

/* ---- rows ---- */

/* Reads a tile: stores stored planes, stages codes. misled: not 0 if some symbol has no code or a
 * constant plane is not constant. entries: in shared memory, of coded planes. keys: the shared
 * address of the lane's first key. */
template <class Kind, bool kIsWhole>
__device__ __forceinline__ void walk_rows(const PassJob<Kind> &job, const EncodeTile &tile,
                                          const uint32_t *entries, uint32_t keys, unsigned lane,
                                          StagedBits (&bits)[Kind::kValueBytes], uint32_t *misled) {
  constexpr uint32_t kValueBytes = Kind::kValueBytes, kRows = RunBatch<Kind, kIsWhole>::kRows;
  StoredSums<Kind> sums;
  sums.key_place = keys;
#pragma unroll 1
  for (uint32_t row = 0; row < kTileRows; row += kRows) {
    RunBatch<Kind, kIsWhole> batch;
    batch.load(job.encode, tile, row, lane);
#pragma unroll
    for (uint32_t i = 0; i < kRows; i++) {
      uint32_t(&run)[kValueBytes] = batch.runs[i];
      RunPlace const &place = batch.places[i];
      split_run<kValueBytes>(run);
      store_stored<Kind>(job.encode, place, run);
      const uint32_t *of_plane = entries;
#pragma unroll
      for (uint32_t plane = 0; plane < kValueBytes; plane++) {
        const szg_planes_layout &layout = job.encode.output.layout;
        uint32_t const mode = Kind::mode(layout.modes, plane);
        if (mode == SZG_PLANE_CONSTANT)
          *misled |= differences(run[plane], (uint32_t)(layout.constant_bits >> 8 * plane & 255),
                                 place.count);
        if (mode != SZG_PLANE_CODED) continue;
        uint32_t own[SZG_PLANES_RUN];
#pragma unroll
        for (uint32_t k = 0; k < SZG_PLANES_RUN; k++)
          own[k] = k < place.count ? of_plane[run[plane] >> 8 * k & 255] : 0;
        bits[plane].append_two(own[0], own[1]);
        bits[plane].append_two(own[2], own[3]);
        *misled |= (own[0] | own[1] | own[2] | own[3]) & kHasNoCode;
        of_plane += SZG_PLANES_SYMBOLS;
      }
    }
    if constexpr (kIsWhole && Kind::kHasSums)
      if (job.stored_sums.planes > 0)
        sums.add_rows(job.stored_sums, tile.first_value, row, batch.runs, lane);
  }
}

/* ---- lanes to words ---- */

/* Joins the staged lanes of a plane to its words, which are 0. stage: shared address of the lane's
 * first word. A lane may share the first and the last word that it writes with others. The whole
 * warp calls. */
__device__ __forceinline__ void join_lanes(const PlaneHead &head, uint32_t lane_bits,
                                           uint32_t stage, uint32_t *words, unsigned lane) {
  write_head(head, lane_bits, words, lane);
  uint32_t const at = head.first_bit % 32;
  int32_t const word_count = (int32_t)((lane_bits + 31) / 32);
  int32_t const last = (int32_t)((at + lane_bits + 31) / 32) - 1;
  uint32_t *const own = words + head.first_bit / 32;
  uint32_t const most = (head.least_bits + (1u << head.width) + 61) / 32; /* an upper bound */
  uint32_t before = load_shared(stage);
  if (lane_bits > 0) atomicOr(own, before >> at);
#pragma unroll 4
  for (int32_t i = 1; i < (int32_t)most; i++) {
    stage += kLaneStep;
    if (i > last) continue;
    uint32_t const word = i < word_count ? load_shared(stage) : 0;
    uint32_t const bits = __funnelshift_r(word, before, at);
    before = word;
    if (i < last)
      own[i] = bits;
    else
      atomicOr(own + i, bits);
  }
}

/* ---- tiles ---- */

/* A tile whose words wait in shared memory for their place. */
struct WaitingWords {
  uint32_t tile, count; /* count 0: there is none */
};

/* Where the tile's words go; NULL if there is no room. Its size is published. The last tile sets
 * the padding behind all words. The whole warp calls. */
template <class Kind>
__device__ __forceinline__ uint32_t *place_of(const PassJob<Kind> &job, uint32_t tile,
                                              uint32_t count, unsigned lane) {
  const szg_planes_output_cuda &output = job.encode.output;
  uint64_t const first = place_tile(job.sums, tile), end = first + count;
  if (tile + 1 == job.encode.tile_count) finish_words(job.encode, end, lane);
  return end <= output.room_words ? output.words + first : nullptr;
}

template <class Kind>
__device__ __forceinline__ void store_waiting(const PassJob<Kind> &job, const WaitingWords &waiting,
                                              const uint32_t *words, unsigned lane) {
  uint32_t *const out = place_of(job, waiting.tile, waiting.count, lane);
  if (out)
    for (uint32_t i = lane; i < waiting.count; i += SZG_LANES) __stcs(out + i, words[i]);
  __syncwarp(); /* all are stored before others take their place */
}

/* What walking a tile has found. */
template <class Kind>
struct WalkedTile {
  uint32_t lane_bits[Kind::kValueBytes]; /* the lane's, by plane */
  uint32_t word_count;
  bool is_cut; /* the stage did not have room for all bits */
};

/* Reads a tile: writes stored planes and its size, stages lanes. stage: shared address of the
 * lane's first word. The whole warp calls. */
template <class Kind>
__device__ __forceinline__ WalkedTile<Kind> walk_tile(const PassJob<Kind> &job,
                                                      const EncodeTile &tile,
                                                      const uint32_t *entries, uint32_t keys,
                                                      uint32_t stage, unsigned lane) {
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  const szg_planes_output_cuda &output = job.encode.output;
  StagedBits bits[kValueBytes];
  uint32_t misled = 0;
#pragma unroll
  for (uint32_t plane = 0; plane < kValueBytes; plane++) {
    if (Kind::mode(output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    uint32_t const end = stage + job.lane_words[plane] * kLaneStep;
    bits[plane] = {0, 0, stage, end};
    stage = end;
  }
  if (job.encode.are_runs_aligned && tile.value_count == SZG_TILE_VALUES)
    walk_rows<Kind, true>(job, tile, entries, keys, lane, bits, &misled);
  else
    walk_rows<Kind, false>(job, tile, entries, keys, lane, bits, &misled);
  WalkedTile<Kind> walked = {{}, 0, false};
#pragma unroll
  for (uint32_t plane = 0; plane < kValueBytes; plane++) {
    if (Kind::mode(output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    if (bits[plane].at % 32 > 0) bits[plane].put_full_word();
    walked.is_cut = walked.is_cut || bits[plane].next > bits[plane].end;
    walked.lane_bits[plane] = bits[plane].at;
    walked.word_count += head_of(bits[plane].at, lane).word_count;
  }
  walked.is_cut = __any_sync(kAllLanes, walked.is_cut);
  if (misled) output.first_words[job.encode.tile_count + 1] = 1;
  if (walked.word_count > 0) {
    if (lane == 0) publish_words(job.sums, (uint32_t)tile.index, walked.word_count);
    store_size(job.encode, tile.index, walked.word_count, lane);
  }
  return walked;
}

/* Joins the staged lanes of a tile to its words. The whole warp calls. */
template <class Kind>
__device__ __forceinline__ void join_planes(const PassJob<Kind> &job,
                                            const WalkedTile<Kind> &walked, uint32_t stage,
                                            uint32_t *words, unsigned lane) {
  for (uint32_t i = lane; i < walked.word_count; i += SZG_LANES) words[i] = 0;
  __syncwarp(); /* all are 0, and lanes are staged */
#pragma unroll
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(job.encode.output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    PlaneHead const head = head_of(walked.lane_bits[plane], lane);
    join_lanes(head, walked.lane_bits[plane], stage, words, lane);
    words += head.word_count;
    stage += job.lane_words[plane] * kLaneStep;
  }
  __syncwarp(); /* the words are complete */
}

/* Encodes tiles from the queue. The whole block calls. */
template <class Kind>
__device__ __forceinline__ void encode_in_one_pass(const PassJob<Kind> &job) {
  typedef PassPolicy<Kind> Policy;
  extern __shared__ __align__(16) uint32_t encode_memory[];
  uint64_t *const keys = (uint64_t *)(void *)encode_memory;
  const szg_planes_output_cuda &output = job.encode.output;
  unsigned const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  TileQueue queue;
  queue.ask(job.ticket, lane);
  if (Kind::kHasSums) make_sum_keys(keys, Policy::kThreads);
  uint32_t *const first_entries = encode_memory + kSumKeyBytes<Kind> / sizeof(uint32_t);
  uint32_t *entries = first_entries;
  for (uint32_t plane = 0; plane < Kind::kValueBytes; plane++) {
    if (Kind::mode(output.layout.modes, plane) != SZG_PLANE_CODED) continue;
    for (uint32_t s = threadIdx.x; s < SZG_PLANES_SYMBOLS; s += Policy::kThreads)
      entries[s] = pass_entry(output.encoder->entries[plane][s]);
    entries += SZG_PLANES_SYMBOLS;
  }
  __syncthreads(); /* keys and entries are there */
  uint32_t const own_keys = shared_address(keys + lane);
  uint32_t *const own = entries + warp * (job.stage_words + job.tile_words);
  uint32_t const stage = shared_address(own + lane);
  uint32_t *const words = own + job.stage_words;
  WaitingWords waiting = {0, 0};
  for (;;) {
    uint32_t const index = queue.take();
    bool const is_there = index < job.encode.tile_count;
    EncodeTile const tile = tile_at(job.encode, is_there ? index : 0);
    WalkedTile<Kind> walked = {{}, 0, false};
    if (is_there) walked = walk_tile<Kind>(job, tile, first_entries, own_keys, stage, lane);
    if (waiting.count > 0) store_waiting(job, waiting, words, lane);
    if (!is_there) break;
    queue.ask(job.ticket, lane);
    waiting = {index, walked.is_cut ? 0 : walked.word_count};
    if (!walked.is_cut) {
      join_planes<Kind>(job, walked, stage, words, lane);
    } else if (uint32_t *const out = place_of(job, index, walked.word_count, lane)) {
      write_any_tile<Kind>(job.encode, tile, first_entries, walked.lane_bits, out,
                           walked.word_count, lane);
    }
  }
}

} // namespace szg

#endif
