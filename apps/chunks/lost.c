/* lost.c - whether an archive would turn values into missing ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lost.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Integers in the order of the doubles; those of NaNs lie beyond those of numbers. To compare the
 * doubles may set the caller's flags, and depends on how it treats denormals. */
static int64_t order_of(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits; /* zeros are equal */
}

static bool is_among_values(const szgpu_info *info, double fill) {
  int64_t const place = order_of(fill);
  return !info->has_limits || (place >= order_of(info->least) && place <= order_of(info->greatest));
}

/* How many values have these bits. */
static size_t count_bits(const uint8_t *values, size_t value_count, size_t width, uint64_t bits) {
  size_t count = 0;
  for (size_t i = 0; i < value_count; i++) {
    uint64_t own = 0;
    memcpy(&own, values + i * width, width); /* little-endian, as everything here */
    count += own == bits;
  }
  return count;
}

/* Fill values themselves come back, so it suffices to count. Only one that lies among the values
 * can be met by others. */
szgpu_status chunk_find_lost(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                             const void *field, size_t field_bytes, size_t width, bool *loses) {
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status status = szgpu_inspect(archive, archive_bytes, &info);
  *loses = false;
  if (status || !info.has_fill) return status;
  bool among = is_among_values(&info, info.fill);
  for (uint32_t f = 0; f < info.more_fill_count; f++)
    among |= is_among_values(&info, info.more_fills[f]);
  if (!among) return SZGPU_OK;
  size_t const value_count = field_bytes / width;
  uint8_t *const restored = malloc(field_bytes);
  if (!restored) return SZGPU_OUT_OF_MEMORY;
  status = szgpu_decompress(ctx, archive, archive_bytes, restored, field_bytes);
  for (uint32_t f = 0; !status && f <= info.more_fill_count; f++) {
    uint64_t const bits = f == 0 ? info.fill_bits : info.more_fill_bits[f - 1];
    *loses |= count_bits(restored, value_count, width, bits) !=
              count_bits(field, value_count, width, bits);
  }
  free(restored);
  return status;
}

szgpu_params chunk_lossless_params(const szgpu_params *params) {
  szgpu_params lossless = SZGPU_PARAMS_DEFAULTS;
  lossless.mode = SZGPU_MODE_LOSSLESS;
  lossless.layout = params->layout;
  lossless.zstd_level = params->zstd_level;
  return lossless;
}
