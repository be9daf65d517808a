/* lost.c - whether an archive would turn values into missing ones.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lost.h"

#include <math.h>
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

static bool is_among_values(const szgpu_info *info, double fill, bool ignores_zero) {
  int64_t const place = order_of(fill);
  if (place == 0 && ignores_zero) return false;
  if (place > order_of(INFINITY) || place < order_of(-INFINITY)) return false; /* a NaN */
  return !info->has_limits || (place >= order_of(info->least) && place <= order_of(info->greatest));
}

bool chunk_may_lose(const szgpu_info *info, bool ignores_zero) {
  if (info->mode == SZGPU_MODE_LOSSLESS || !info->has_fill) return false;
  bool among = is_among_values(info, info->fill, ignores_zero);
  for (uint32_t f = 0; f < info->more_fill_count; f++)
    among |= is_among_values(info, info->more_fills[f], ignores_zero);
  return among;
}

/* The bits that make a value a fill value: a zero of either sign reads as one. */
static uint64_t mask_of(szgpu_dtype dtype, size_t width, double fill) {
  bool const is_float =
      dtype == SZGPU_F32 || dtype == SZGPU_F64 || dtype == SZGPU_F16 || dtype == SZGPU_BF16;
  return order_of(fill) == 0 && is_float ? ~((uint64_t)1 << (8 * width - 1)) : UINT64_MAX;
}

/* How many values have these bits, where the mask has any. */
static size_t count_bits(const uint8_t *values, size_t value_count, size_t width, uint64_t bits,
                         uint64_t mask) {
  size_t count = 0;
  for (size_t i = 0; i < value_count; i++) {
    uint64_t own = 0;
    memcpy(&own, values + i * width, width); /* little-endian, as everything here */
    count += ((own ^ bits) & mask) == 0;
  }
  return count;
}

/* Fill values themselves come back, so it suffices to count. Only one that lies among the values
 * can be met by others. */
static bool has_more(const szgpu_info *info, const void *field, const void *restored,
                     size_t value_count, size_t width, bool ignores_zero) {
  for (uint32_t f = 0; f <= info->more_fill_count; f++) {
    double const fill = f == 0 ? info->fill : info->more_fills[f - 1];
    uint64_t const bits = f == 0 ? info->fill_bits : info->more_fill_bits[f - 1];
    uint64_t const mask = mask_of(info->shape.dtype, width, fill);
    if (is_among_values(info, fill, ignores_zero) &&
        count_bits(restored, value_count, width, bits, mask) !=
            count_bits(field, value_count, width, bits, mask))
      return true;
  }
  return false;
}

szgpu_status chunk_find_lost_but_zero(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                                      const void *field, size_t field_bytes, size_t width,
                                      bool ignores_zero, bool *loses) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  szgpu_status status = szgpu_inspect(archive, archive_bytes, &info);
  *loses = false;
  if (status || !chunk_may_lose(&info, ignores_zero)) return status;
  uint8_t *const restored = malloc(field_bytes);
  if (!restored) return SZGPU_OUT_OF_MEMORY;
  status = szgpu_decompress(ctx, archive, archive_bytes, restored, field_bytes);
  if (!status) *loses = has_more(&info, field, restored, field_bytes / width, width, ignores_zero);
  free(restored);
  return status;
}

szgpu_status chunk_find_lost(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                             const void *field, size_t field_bytes, size_t width, bool *loses) {
  return chunk_find_lost_but_zero(ctx, archive, archive_bytes, field, field_bytes, width, false,
                                  loses);
}

szgpu_params chunk_lossless_params(const szgpu_params *params) {
  szgpu_params lossless = SZGPU_PARAMS_DEFAULTS;
  lossless.mode = SZGPU_MODE_LOSSLESS;
  lossless.layout = params->layout;
  lossless.source = params->source;
  lossless.zstd_level = params->zstd_level;
  return lossless;
}
