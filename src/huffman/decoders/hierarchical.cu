/* hierarchical.cu - byte symbols by chained tables of 256 entries, one thread for 8 bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/hierarchical_kernel.cuh"

namespace {

/* Stores symbols as they are. */
struct ByteOutput {
  static constexpr uint32_t kUnitValues = 16;
  uint8_t *values;

  __device__ void store_unit(uint64_t first, uint32_t symbols) const {
    __stcs(reinterpret_cast<uint4 *>(values + first), *szg::shared_at<uint4>(symbols));
  }
  __device__ void store(uint64_t place, uint32_t symbol) const {
    values[place] = *szg::shared_at<uint8_t>(symbol);
  }
};

} // namespace

szgpu_status szg_decode_hierarchical_cuda(const szg_hierarchical_tables *tables,
                                          const szg_hierarchical_stream *stream, uint8_t *symbols,
                                          szg_verdict *verdict, struct CUstream_st *cuda_stream) {
  return szg::decode_to(tables, stream, ByteOutput{symbols}, verdict, cuda_stream);
}
