/* hierarchical_values.cuh - decoded bytes from shared memory to values, 16 bytes at a time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_HIERARCHICAL_VALUES_CUH
#define SZG_HIERARCHICAL_VALUES_CUH

#include "huffman/code_queue.cuh"
#include "huffman/decoders/hierarchical.h"

namespace szg {

/* Units of 16 bytes of values, made of as many symbols as they hold. Values are known by their
 * number, symbols by their place in shared memory; units are aligned in both. They are stored as
 * what is not read again, which also keeps the compiler from storing them in parts. */
struct ByteOutput {
  static constexpr uint32_t kUnitValues = 16;
  const szg_hierarchical_output &output;

  __device__ void store_unit(uint64_t first, uint32_t symbols) const {
    __stcs(reinterpret_cast<uint4 *>(static_cast<uint8_t *>(output.values) + first),
           *shared_at<uint4>(symbols));
  }
  __device__ void store(uint64_t place, uint32_t symbol) const {
    static_cast<uint8_t *>(output.values)[place] = *shared_at<uint8_t>(symbol);
  }
};

struct Bf16Output {
  static constexpr uint32_t kUnitValues = 8;
  const szg_hierarchical_output &output;

  /* Two values of the bytes that the selector takes of exponents and rests. */
  template <uint32_t kSelector>
  __device__ static uint32_t merged(uint32_t exponents, uint32_t rests) {
    uint32_t const e = __byte_perm(exponents, 0, kSelector), r = __byte_perm(rests, 0, kSelector);
    /* A sign in bit 7 goes to bit 15: 255 * 128 above it. No sum leaves its 16 bits. */
    return e * 128 + r + (r & 0x00800080) * 255;
  }
  __device__ void store_unit(uint64_t first, uint32_t symbols) const {
    uint2 const e = *shared_at<uint2>(symbols);
    uint2 const r = __ldg(reinterpret_cast<const uint2 *>(output.rest + first));
    uint4 const unit = make_uint4(merged<0x4140>(e.x, r.x), merged<0x4342>(e.x, r.x),
                                  merged<0x4140>(e.y, r.y), merged<0x4342>(e.y, r.y));
    __stcs(reinterpret_cast<uint4 *>(static_cast<uint16_t *>(output.values) + first), unit);
  }
  __device__ void store(uint64_t place, uint32_t symbol) const {
    static_cast<uint16_t *>(output.values)[place] =
        szg_bf16_of(*shared_at<uint8_t>(symbol), output.rest[place]);
  }
};

} // namespace szg

#endif
