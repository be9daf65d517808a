/* h5_header.c - uses all of szgpu_hdf5.h; read as C11 and as C++17, with and without hdf5.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifdef WITH_HDF5
#include <hdf5.h>
#endif

#include "szgpu_hdf5.h"

int main(void) {
  unsigned words[SZGPU_H5_MOST_WORDS];
  uint64_t const dims[2] = {16, 32};
  double const fill = 1e20;
  szgpu_params params;
  szgpu_shape shape;
  size_t count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.5, words);
  words[SZGPU_H5_WORD_OPTIONS] |= szgpu_h5_predictor_bits(SZGPU_PREDICTOR_LORENZO);
  words[SZGPU_H5_WORD_OPTIONS] |= SZGPU_H5_LINEAR | (SZGPU_H5_ZSTD_LEVEL & 3);
  if (szgpu_h5_params(words, count, &params)) return 1;
  count = szgpu_h5_set_chunk(SZGPU_F32, 2, dims, &fill, words);
#ifdef WITH_HDF5
  if (H5Pset_szgpu_abs(0, 1) < 0 || H5Pset_szgpu_rel(0, 1) < 0) return 1;
  if (H5Pset_szgpu_predictor(0, SZGPU_PREDICTOR_LORENZO) < 0) return 1;
  if (H5Pset_szgpu_psnr(0, 1) < 0 || H5Pset_szgpu_pwrel(0, 0.1) < 0 || H5Pset_szgpu_lossless(0) < 0)
    return 1;
#endif
  return szgpu_h5_chunk(words, count, &params, &shape) ? SZGPU_H5_FILTER_ID : 0;
}
