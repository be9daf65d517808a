/* code_queue.cuh - moves decoded codes from a warp's lanes to memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each lane decodes codes for a place of its own. It joins them in rows of four in its column of
 * shared memory; two rows are a unit, which is stored in 16 bytes, or in 8 if codes are bytes. When
 * some lane has no room left, the warp stores all complete units; a few lanes store those of one
 * lane. So the room needed does not depend on the number of codes.
 */
#ifndef SZG_CODE_QUEUE_CUH
#define SZG_CODE_QUEUE_CUH

#include "core/shared_memory.cuh"
#include "huffman/decode.cuh"

namespace szg {

constexpr uint32_t kUnitCodes = 8;
constexpr uint32_t kRowCodes = 4;
constexpr uint32_t kSpareRows = 2; /* for codes before a lane's first whole unit */
constexpr uint32_t kCellBytes = kRowCodes * sizeof(uint16_t);

/* The length of a warp's queues. kUnits: units that a lane's queue holds, and lanes that store
 * them; kPairs: pairs of lookups between two checks whether queues are full. */
template <uint32_t kUnits, uint32_t kPairs>
struct QueueShape {
  static constexpr uint32_t kUnitCount = kUnits, kPairCount = kPairs;
  static constexpr uint32_t kCodeRows = 2 * kUnits;
  static constexpr uint32_t kRowsAhead = kPairs * 2 * NarrowEntry::kMostSymbols / kRowCodes;
  /* A little over 32 cells, so that a lane's units lie in different banks. */
  static constexpr uint32_t kRowBytes = (32 + 8 / kUnits) * kCellBytes;
  static constexpr uint32_t kBytes = (kSpareRows + kCodeRows) * kRowBytes; /* per warp */
  static_assert(kCodeRows > kRowsAhead, "room for what is decoded between the looks");
  static_assert(8 % kUnits == 0, "kUnits lanes store a lane's units");
};

/* How codes are stored: makes a unit from two rows. */
struct HalfWords {
  typedef uint4 Unit;
  static __device__ Unit unit_of(uint64_t low, uint64_t high) {
    return make_uint4((uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32));
  }
};
struct Bytes { /* codes below 256 */
  typedef uint2 Unit;
  static __device__ uint32_t bytes_of(uint64_t row) {
    return __byte_perm((uint32_t)row, (uint32_t)(row >> 32), 0x6420);
  }
  static __device__ Unit unit_of(uint64_t low, uint64_t high) {
    return make_uint2(bytes_of(low), bytes_of(high));
  }
};

/* Stores units: kUnits lanes store those of an owner, one each, for kUnits owners in turn. */
template <class Shape, class Output>
struct UnitWriter {
  typedef typename Output::Unit Unit;
  static constexpr uint32_t kUnits = Shape::kUnitCount;
  static constexpr uint32_t kOwners = 32 / kUnits; /* lanes that have units stored at once */
  uint32_t owner;  /* the first lane for which this one stores a unit */
  uint32_t cell;   /* place of that unit's first row */
  uint32_t needed; /* an owner's notice is greater if it has that unit */
  uint8_t *units;  /* the place of unit 0, plus the index of this lane's unit among the owner's */

  __device__ UnitWriter(uint32_t queue_memory, Unit *first_unit) {
    uint32_t const lane = threadIdx.x % 32, part = lane % kUnits;
    owner = lane / kUnits;
    cell = queue_memory + (kSpareRows + 2 * part) * Shape::kRowBytes + owner * kCellBytes;
    needed = part << 16 | 0xFFFF;
    units = reinterpret_cast<uint8_t *>(first_unit + part);
  }

  /* The calling lane has `count` units from unit `first`, below 2^16, on. The whole warp calls. */
  __device__ __forceinline__ void store(uint32_t count, uint32_t first) const {
    uint32_t const notice = count << 16 | first;
    uint32_t notices[kUnits];
    uint64_t low[kUnits], high[kUnits];
#pragma unroll
    for (uint32_t i = 0; i < kUnits; i++) {
      notices[i] = __shfl_sync(kAllLanes, notice, (int)(owner + i * kOwners));
      low[i] = *shared_at<uint64_t>(cell + i * kOwners * kCellBytes);
      high[i] = *shared_at<uint64_t>(cell + i * kOwners * kCellBytes + Shape::kRowBytes);
    }
#pragma unroll
    for (uint32_t i = 0; i < kUnits; i++) {
      if (notices[i] <= needed) continue;
      uint64_t const offset = (uint64_t)(notices[i] & 0xFFFF) * sizeof(Unit);
      *reinterpret_cast<Unit *>(units + offset) = Output::unit_of(low[i], high[i]);
    }
  }
};

/* PTX's shift, which gives 0 for a shift of 64. */
__device__ __forceinline__ uint64_t shift_right(uint64_t value, uint32_t shift) {
  uint64_t result;
  asm("shr.u64 %0, %1, %2;" : "=l"(result) : "l"(value), "r"(shift));
  return result;
}

/* What a lane has decoded but not yet stored. A unit belongs to the lane that has its first code.
 * So the lane decodes beyond its own codes to complete its last unit, and drops those before its
 * first. */
template <class Entry, class Shape>
struct CodeQueue {
  static constexpr uint32_t kRowBytes = Shape::kRowBytes;
  uint32_t column;     /* first row of the lane's first unit not yet stored */
  uint32_t row;        /* the row begun */
  uint64_t begun;      /* its codes, in lanes of 16 bits */
  uint32_t begun_bits; /* bits of the row in use */
  uint32_t unit;       /* number of the unit at `column` */
  int32_t units_left;  /* of the lane, from that one on */

  /* first, end: the lane's codes, counted from unit 0; units from unit_limit on are not stored. */
  __device__ CodeQueue(uint32_t queue_memory, uint32_t first, uint32_t end, uint32_t unit_limit)
      : column(queue_memory + kSpareRows * kRowBytes + threadIdx.x % 32 * kCellBytes),
        begun(0),
        begun_bits(first % kRowCodes * 16),
        unit((first + kUnitCodes - 1) / kUnitCodes) {
    units_left = (int32_t)min((end + kUnitCodes - 1) / kUnitCodes, unit_limit) - (int32_t)unit;
    row = column - (2 * unit - first / kRowCodes) * kRowBytes;
  }

  __device__ __forceinline__ void append(uint64_t entry) {
    uint64_t const symbols = Entry::symbols(entry);
    begun = (begun | symbols << begun_bits) & Entry::kLaneMask;
    uint32_t const new_bits = (begun_bits + Entry::fill(entry)) % 64;
    if (new_bits <= begun_bits) { /* the row is complete */
      *shared_at<uint64_t>(row) = begun;
      row += kRowBytes;
      begun = shift_right(symbols, 64 - begun_bits);
    }
    begun_bits = new_bits;
  }

  __device__ bool is_done() const {
    return units_left <= 0 || row >= column + (uint32_t)units_left * (2 * kRowBytes);
  }
  __device__ bool is_full() const {
    return row > column + (Shape::kCodeRows - Shape::kRowsAhead) * kRowBytes;
  }

  /* Stores the units that are complete. The whole warp calls. */
  template <class Output>
  __device__ __forceinline__ void flush(const UnitWriter<Shape, Output> &writer) {
    uint32_t const rows = row > column ? (row - column) / kRowBytes : 0;
    int32_t const complete = (int32_t)(rows / 2);
    __syncwarp(); /* rows complete before other lanes read them */
    writer.store((uint32_t)max(min(complete, units_left), 0), unit);
    __syncwarp(); /* rows read before they are written again */
    if (complete > 0 && rows % 2)
      *shared_at<uint64_t>(column) = *shared_at<uint64_t>(row - kRowBytes);
    row -= (uint32_t)complete * (2 * kRowBytes);
    unit += (uint32_t)complete;
    units_left -= complete;
  }
};

} // namespace szg

#endif
