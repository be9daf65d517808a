/* hierarchical_bf16.cu - bf16 weights on a GPU: exponents by chained tables, merged with the rest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of the decoder of archives, with another output. Moves, in addition: the rest of each
 * value, read once.
 */
#include "huffman/decoders/hierarchical_kernel.cuh"
#include "study/hierarchical_forms.h"

namespace {

/* Units of 8 values, 16 bytes. */
struct Bf16Output {
  static constexpr uint32_t kUnitValues = 8;
  uint16_t *values;
  const uint8_t *rest;

  /* Two values, of the exponents and rests that the selector picks. */
  template <uint32_t kSelector>
  __device__ static uint32_t merged(uint32_t exponents, uint32_t rests) {
    uint32_t const e = __byte_perm(exponents, 0, kSelector), r = __byte_perm(rests, 0, kSelector);
    /* A sign in bit 7 goes to bit 15: 255 * 128 above it. No sum leaves its 16 bits. */
    return e * 128 + r + (r & 0x00800080) * 255;
  }
  __device__ void store_unit(uint64_t first, uint32_t symbols) const {
    uint2 const e = *szg::shared_at<uint2>(symbols);
    uint2 const r = __ldg(reinterpret_cast<const uint2 *>(rest + first));
    uint4 const unit = make_uint4(merged<0x4140>(e.x, r.x), merged<0x4342>(e.x, r.x),
                                  merged<0x4140>(e.y, r.y), merged<0x4342>(e.y, r.y));
    __stcs(reinterpret_cast<uint4 *>(values + first), unit);
  }
  __device__ void store(uint64_t place, uint32_t symbol) const {
    values[place] = szg_bf16_of(*szg::shared_at<uint8_t>(symbol), rest[place]);
  }
};

} // namespace

szgpu_status szg_decode_bf16_cuda(const szg_hierarchical_tables *tables,
                                  const szg_hierarchical_stream *stream,
                                  const szg_bf16_output *output, szg_verdict *verdict,
                                  struct CUstream_st *cuda_stream) {
  return szg::decode_to(tables, stream, Bf16Output{output->values, output->rest}, verdict,
                        cuda_stream);
}
