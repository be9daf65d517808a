/* hdf5_archive.c - what szgpu's filter stores of a chunk, restored without its plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_archive.h"

#include "../chunks/plain_chunk.h"
#include "field.h"
#include "hdf5_api.h"
#include "szgpu_hdf5.h"
#include "values.h"

#include <string.h>

static bool is_same_shape(const szgpu_shape *a, const szgpu_shape *b) {
  size_t const dims_bytes = (size_t)a->ndim * sizeof *a->dims;
  return a->dtype == b->dtype && a->ndim == b->ndim && memcmp(a->dims, b->dims, dims_bytes) == 0;
}

szgpu_status archive_restore(szgpu_ctx *ctx, const szgpu_shape *shape, bool is_swapped,
                             const unsigned char *stored, size_t stored_bytes, unsigned char *to,
                             size_t chunk_bytes, const unsigned char **chunk) {
  szgpu_info info = {.struct_bytes = sizeof info};
  if (plain_chunk_is_one(stored, stored_bytes)) {
    *chunk = stored + PLAIN_CHUNK_HEAD_BYTES;
    return plain_chunk_fault(stored, stored_bytes, chunk_bytes) ? SZGPU_BAD_DATA : SZGPU_OK;
  }
  *chunk = to;
  szgpu_status status = szgpu_inspect(stored, stored_bytes, &info);
  if (status == SZGPU_OK && !is_same_shape(&info.shape, shape)) status = SZGPU_BAD_DATA;
  if (status == SZGPU_OK) status = szgpu_decompress(ctx, stored, stored_bytes, to, chunk_bytes);
  if (status == SZGPU_OK && is_swapped)
    swap_bytes(to, to, chunk_bytes / dtype_bytes(shape->dtype), shape->dtype);
  return status;
}

/* ---- HDF5's filter ---- */

/* Chunks are compressed elsewhere. A failure is told by HDF5, without a reason. */
static size_t filter_chunk(unsigned flags, size_t word_count, const unsigned words[],
                           size_t stored_bytes, size_t *buffer_bytes, void **buffer) {
  static szgpu_ctx *ctx; /* HDF5 works in one thread */
  szgpu_params params;
  szgpu_shape shape;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  if (!(flags & H5Z_FLAG_REVERSE) || szgpu_h5_chunk(words, word_count, &params, &shape)) return 0;
  if (!ctx && szgpu_create(&ctx, &options) != SZGPU_OK) return 0;
  uint64_t chunk_bytes;
  if (!shape_bytes(&shape, &chunk_bytes)) return 0;
  unsigned const type = words[szgpu_h5_user_words(words) + SZGPU_H5_CHUNK_TYPE];
  unsigned char *const made = H5allocate_memory((size_t)chunk_bytes, false);
  const unsigned char *chunk = made;
  bool const is_restored =
      made && archive_restore(ctx, &shape, type & SZGPU_H5_BIG_ENDIAN, *buffer, stored_bytes, made,
                              (size_t)chunk_bytes, &chunk) == SZGPU_OK;
  if (is_restored && chunk != made) memcpy(made, chunk, (size_t)chunk_bytes);
  H5free_memory(is_restored ? *buffer : made);
  if (!is_restored) return 0;
  *buffer = made;
  *buffer_bytes = (size_t)chunk_bytes;
  return (size_t)chunk_bytes;
}

bool archive_register_filter(void) {
  H5Z_class2_t const filter_class = {.version = H5Z_CLASS_T_VERS,
                                     .id = SZGPU_H5_FILTER_ID,
                                     .encoder_present = 1,
                                     .decoder_present = 1,
                                     .name = "szgpu",
                                     .filter = filter_chunk};
  return H5Zfilter_avail(SZGPU_H5_FILTER_ID) > 0 || H5Zregister(&filter_class) >= 0;
}
