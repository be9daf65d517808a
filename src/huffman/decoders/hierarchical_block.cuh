/* hierarchical_block.cuh - a block of the hierarchical decoder: memory, threads' bits, both ways
 * through them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_HIERARCHICAL_BLOCK_CUH
#define SZG_HIERARCHICAL_BLOCK_CUH

#include "huffman/decoders/hierarchical_lookup.cuh"

namespace szg {

struct HierarchicalPolicy {
  static constexpr unsigned kThreads = SZG_HIERARCHICAL_BLOCK_THREADS;
  static constexpr unsigned kBlocks = 4; /* per multiprocessor, if its memory has room */
  static constexpr uint32_t kCopies = 8; /* of the tables: 4 lanes read from each */
};
constexpr unsigned kWarps = HierarchicalPolicy::kThreads / 32;
static_assert(kWarps == 16, "a half-warp has the counts of all warps");

/* Bits of packs, as in hierarchical.h. */
constexpr uint32_t kLookupBits = 8, kLookups = 3; /* of 32 bits, so that the longest code fits */
constexpr uint32_t kPackMost = 3 * kLookups;      /* symbols per step */
constexpr uint32_t kPackBits = 31, kPackFirstBit = 5, kPackCountBit = 29;
static_assert(kLookups * kLookupBits <= kPackBits, "the bits of a step in one sum");
static_assert(kThreadBits + kLookups * kLookupBits <= kSpanBits, "bits and counts in one sum");

/* A block's shared memory. */
struct HierarchicalMemory {
  uint32_t packs[256 * HierarchicalPolicy::kCopies];
  uint32_t spans[256 * HierarchicalPolicy::kCopies];
  uint4 symbols[HierarchicalPolicy::kThreads * kThreadBits / 16 + 1]; /* one byte each */
  uint32_t warp_counts[kWarps];
};

extern __shared__ uint4 hierarchical_memory[];
__device__ __forceinline__ HierarchicalMemory *block_memory() {
  return reinterpret_cast<HierarchicalMemory *>(hierarchical_memory);
}

/* ---- a thread's bits ---- */

inline __device__ uint32_t word_at(const szg_hierarchical_stream &stream, uint64_t index) {
  return word_or_zero(static_cast<const uint32_t *>(stream.words), stream.word_count, index);
}

struct ThreadWords : StretchWords {
  /* The whole warp calls. */
  __device__ ThreadWords(const szg_hierarchical_stream &stream, uint64_t thread) {
    uint64_t const index = 2 * thread;
    if (index + 2 <= stream.word_count) {
      uint2 const both = __ldg(static_cast<const uint2 *>(stream.words) + thread);
      first = both.x;
      second = both.y;
    } else {
      first = word_at(stream, index);
      second = 0; /* beyond the end */
    }
    next = __shfl_down_sync(kAllLanes, first, 1);
    if (threadIdx.x % 32 == 31) next = word_at(stream, index + 2);
  }
};

/* Where the gaps say that a thread's codes begin and end in its bits. */
struct ThreadStretch {
  uint32_t gap, limit; /* codes begin from gap on and before limit */
  uint32_t end;        /* end of the last code */

  /* The whole warp calls. */
  __device__ ThreadStretch(const szg_hierarchical_stream &stream, uint64_t thread)
      : gap(0), limit(0) {
    uint64_t const first_bit = thread * kThreadBits;
    uint64_t const bits_left = stream.bit_count > first_bit ? stream.bit_count - first_bit : 0;
    bool const is_last = bits_left <= kThreadBits; /* or beyond it */
    if (bits_left > 0) {
      gap = szg_hierarchical_gap(stream.gaps, stream.gap_bits, thread);
      limit = is_last ? (uint32_t)bits_left : kThreadBits;
    }
    uint32_t next_gap = __shfl_down_sync(kAllLanes, gap, 1);
    if (threadIdx.x % 32 == 31 && !is_last)
      next_gap = szg_hierarchical_gap(stream.gaps, stream.gap_bits, thread + 1);
    end = is_last ? limit : kThreadBits + next_gap;
  }
};

/* ---- tables ---- */

/* The address of the first entry in the lane's copy of a table. */
inline __device__ uint32_t own_copy(const uint32_t *table) {
  return shared_address(table + threadIdx.x % HierarchicalPolicy::kCopies);
}
/* The entry of the byte that `bits` begin with. */
__device__ __forceinline__ uint32_t look_up(uint32_t copy, uint32_t bits) {
  uint32_t const byte = __byte_perm(bits, 0, 0x4443); /* one instruction, then one for the place */
  return *shared_at<uint32_t>(copy + byte * (HierarchicalPolicy::kCopies * sizeof(uint32_t)));
}

inline __device__ void fill_tables(const szg_hierarchical_tables *tables) {
  HierarchicalMemory *const memory = block_memory();
  for (uint32_t i = threadIdx.x; i < 256 * HierarchicalPolicy::kCopies;
       i += HierarchicalPolicy::kThreads) {
    memory->packs[i] = __ldg(&tables->packs[i / HierarchicalPolicy::kCopies]);
    memory->spans[i] = __ldg(&tables->spans[i / HierarchicalPolicy::kCopies]);
  }
}

/* ---- two passes over the bits ---- */

/* Counts the codes that begin in a stretch: returns where they end and, from kSpanCountBit on,
 * their number. */
inline __device__ uint32_t count_codes(const szg_hierarchical_tables *tables,
                                       const ThreadWords &words, const ThreadStretch &stretch,
                                       bool *is_sound) {
  uint32_t const copy = own_copy(block_memory()->spans);
  uint32_t span = stretch.gap; /* bits above the count hold sums of borders and are dropped */
  int const last_step = (int)stretch.limit - (int)(kLookups * kLookupBits);
  while ((int)(span & kSpanBits) <= last_step) {
    uint32_t const bits = words.bits_at(span & kSpanBits);
    uint32_t const first = look_up(copy, bits);
    uint32_t const rest = bits_after(bits, first);
    uint32_t const second = look_up(copy, rest);
    uint32_t const third = look_up(copy, bits_after(rest, second));
    span += first + second + third;
    /* A long code stops a step: all lookups after it give 0, too. */
    if (third == 0) span += chained_span(tables, words.bits_at(span & kSpanBits), is_sound);
  }
  while ((span & kSpanBits) < stretch.limit) {
    uint32_t const bits = words.bits_at(span & kSpanBits), next = look_up(copy, bits);
    span += next == 0 ? chained_span(tables, bits, is_sound)
                      : cut_span(next, stretch.limit - (span & kSpanBits));
  }
  return span & 0xFFFF;
}

/* Writes the pack's symbols from `place` on. It always writes three places; later symbols overwrite
 * the excess. kIsChecked: writes nothing from `end` on. */
template <bool kIsChecked>
__device__ __forceinline__ void put_pack(uint32_t pack, uint32_t place, uint32_t end) {
#pragma unroll
  for (uint32_t i = 0; i < 3; i++)
    if (!kIsChecked || place + i < end)
      *shared_at<uint8_t>(place + i) = (uint8_t)(pack >> (kPackFirstBit + 8 * i));
}

struct SymbolWriter {
  const szg_hierarchical_tables *tables;
  const ThreadWords &words;
  uint32_t copy;
  uint32_t at;    /* bit of the next code */
  uint32_t place; /* place of the next symbol in shared memory */

  /* Writes as many packs as 32 bits surely hold, and the longer code if one stops them. */
  template <bool kIsChecked>
  __device__ __forceinline__ void step(uint32_t end) {
    uint32_t bits = words.bits_at(at), bit_sum = 0, packs[kLookups];
#pragma unroll
    for (uint32_t i = 0; i < kLookups; i++) {
      packs[i] = look_up(copy, bits);
      bits = bits_after(bits, packs[i]);
      bit_sum += packs[i];
    }
#pragma unroll
    for (uint32_t i = 0; i < kLookups; i++) {
      put_pack<kIsChecked>(packs[i], place, end);
      place += packs[i] >> kPackCountBit;
    }
    at += bit_sum & kPackBits;
    if (packs[kLookups - 1] == 0) {
      uint32_t const entry = chained_entry(tables, words.bits_at(at));
      uint32_t const code = entry ? entry : kNoCode;
      if (!kIsChecked || place < end) *shared_at<uint8_t>(place) = (uint8_t)code;
      place++;
      at += code >> 8;
    }
  }

  __device__ void write_until(uint32_t end) {
    while (place + kPackMost <= end) step<false>(end);
    while (place < end) step<true>(end);
  }
};

/* ---- packs kept between the phases ---- */

/* As many packs as fit registers. */
struct KeptPacks {
  /* A group of lookups begins with 32 bits at once. In the first two groups each lookup is of a
   * whole byte before the stretch's end, except after some long codes. */
  static constexpr uint32_t kGroups = 4, kSureGroups = 2, kGrouped = kGroups * kLookups;
  static constexpr uint32_t kCutSlots = 2; /* for codes that begin in the last byte */
  static constexpr uint32_t kSlots = kGrouped + kCutSlots;
  static constexpr uint32_t kEarlySlots = 9; /* usually more symbols follow these */
  static constexpr uint32_t kLastByte = kThreadBits - kLookupBits;

  uint32_t slots[kSlots];
  uint32_t at;                 /* bit of the next code */
  uint32_t count, early_count; /* of symbols; of symbols in the early slots */
  bool is_all;                 /* slots hold all codes, which end where they should */

  __device__ __forceinline__ KeptPacks(const szg_hierarchical_tables *tables,
                                       const ThreadWords &words, const ThreadStretch &stretch)
      : at(stretch.gap), is_all(stretch.limit == kThreadBits) {
#pragma unroll
    for (uint32_t group = 0; group < kGroups; group++) {
      uint32_t *const packs = slots + group * kLookups;
      if (group < kSureGroups)
        take_sure_group(words, packs);
      else
        take_group(words, packs);
      /* A long code stops a group: all lookups after it give 0, too. */
      if (packs[kLookups - 1] == 0 && at <= kLastByte)
        take_long(tables, words.bits_at(at), &packs[kLookups - 1]);
    }
    is_all = is_all && at > kLastByte;
#pragma unroll
    for (uint32_t i = kGrouped; i < kSlots; i++) {
      slots[i] = 0;
      if (at < kThreadBits) take_cut(tables, words.bits_at(at), &slots[i]);
    }
    is_all = is_all && at == stretch.end;
    count = 0;
#pragma unroll
    for (uint32_t i = 0; i < kSlots; i++) {
      if (i == kEarlySlots) early_count = count;
      count += slots[i] >> kPackCountBit;
    }
  }

  __device__ __forceinline__ void take_sure_group(const ThreadWords &words, uint32_t *packs) {
    uint32_t const copy = own_copy(block_memory()->packs);
    uint32_t bits = words.bits_at(at), bit_sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < kLookups; i++) {
      if (i == kLookups - 1) is_all = is_all && at + (bit_sum & kPackBits) <= kLastByte;
      packs[i] = look_up(copy, bits);
      bits = bits_after(bits, packs[i]);
      bit_sum += packs[i];
    }
    at += bit_sum & kPackBits;
  }

  __device__ __forceinline__ void take_group(const ThreadWords &words, uint32_t *packs) {
    uint32_t const copy = own_copy(block_memory()->packs);
    uint32_t bits = words.bits_at(at);
#pragma unroll
    for (uint32_t i = 0; i < kLookups; i++) {
      packs[i] = at <= kLastByte ? look_up(copy, bits) : 0;
      bits = bits_after(bits, packs[i]);
      at += packs[i] & kPackBits;
    }
  }

  /* Takes the code that `bits` begin with, by the chain. */
  __device__ __forceinline__ void take_long(const szg_hierarchical_tables *tables, uint32_t bits,
                                            uint32_t *slot) {
    uint32_t const entry = chained_entry(tables, bits);
    is_all = is_all && entry != 0;
    *slot = 1u << kPackCountBit | (entry & 255) << kPackFirstBit | entry >> 8;
    at += entry >> 8;
  }

  /* Takes those codes of the next pack that begin in the stretch. */
  __device__ __forceinline__ void take_cut(const szg_hierarchical_tables *tables, uint32_t bits,
                                           uint32_t *slot) {
    uint32_t const pack = look_up(own_copy(block_memory()->packs), bits);
    if (pack == 0) {
      take_long(tables, bits, slot);
      return;
    }
    uint32_t const span = look_up(own_copy(block_memory()->spans), bits);
    uint32_t const cut = cut_span(span, kThreadBits - at);
    uint32_t const cut_count = cut >> kSpanCountBit;
    bool const is_cut = cut_count < pack >> kPackCountBit;
    *slot = is_cut ? (pack & ((1u << kPackCountBit) - 1)) | cut_count << kPackCountBit : pack;
    at += is_cut ? cut & kSpanBits : pack & kPackBits;
  }

  /* Writes all symbols from `place` on. The whole warp calls. */
  __device__ __forceinline__ void write(uint32_t place) const {
    uint32_t const end = place + count;
    bool const has_more = count >= early_count + 3; /* enough to cover the early packs' excess */
    if (__all_sync(kAllLanes, has_more))
      place = put_slots<0, kEarlySlots, false>(place, end);
    else
      place = put_slots<0, kEarlySlots, true>(place, end);
    put_slots<kEarlySlots, kSlots, true>(place, end);
  }
  template <uint32_t kFirst, uint32_t kEnd, bool kIsChecked>
  __device__ __forceinline__ uint32_t put_slots(uint32_t place, uint32_t end) const {
#pragma unroll
    for (uint32_t i = kFirst; i < kEnd; i++) {
      put_pack<kIsChecked>(slots[i], place, end);
      place += slots[i] >> kPackCountBit;
    }
    return place;
  }
};

} // namespace szg

#endif
