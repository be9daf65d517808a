/* mapping.c - values to their inner type and back, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "values/mapping.h"

#include "core/dispatch.h"
#include "values/mapping_core.h"

szg_mapping szg_mapping_of(szgpu_mode mode, szgpu_dtype dtype) {
  szgpu_dtype const inner = szg_coded_dtype(mode, dtype);
  return (szg_mapping){.kind = inner == dtype ? SZG_MAPPING_NONE : SZG_MAPPING_WIDEN,
                       .outer = dtype,
                       .inner = inner};
}

szg_mapping szg_mapping_of_params(const szgpu_params *params, szgpu_dtype dtype) {
  if (params->mode != SZGPU_MODE_PWREL) return szg_mapping_of(params->mode, dtype);
  return (szg_mapping){
      .kind = SZG_MAPPING_LOG, .outer = dtype, .inner = szg_log_dtype(dtype, params->bound)};
}

/* Both ways of a type; INNER: how inner values are moved. */
#define MAP_BOTH_WAYS(dtype, suffix, OUTER, INNER, widen, narrow)                  \
  SZG_HOT static void widen_##suffix(const OUTER *restrict outer, uint64_t count,  \
                                     INNER *restrict inner) {                      \
    for (uint64_t i = 0; i < count; i++) inner[i] = widen(outer[i]);               \
  }                                                                                \
  SZG_HOT static void narrow_##suffix(const INNER *restrict inner, uint64_t count, \
                                      OUTER *restrict outer) {                     \
    for (uint64_t i = 0; i < count; i++) outer[i] = (OUTER)narrow(inner[i]);       \
  }
#define NARROW_I8(x) szg_narrow_integer_f32(x, INT8_MIN, INT8_MAX)
#define NARROW_U8(x) szg_narrow_integer_f32(x, 0, UINT8_MAX)
#define NARROW_I16(x) szg_narrow_integer_f32(x, INT16_MIN, INT16_MAX)
#define NARROW_U16(x) szg_narrow_integer_f32(x, 0, UINT16_MAX)
#define NARROW_I32(x) szg_narrow_integer_f64(x, INT32_MIN, INT32_MAX)

/* Number, suffix, outer and inner type of each type that is widened, and its ways. */
#define WIDENED_TYPES(X)                                                   \
  X(SZGPU_F16, f16, uint16_t, uint32_t, szg_widen_f16, szg_narrow_f16)     \
  X(SZGPU_BF16, bf16, uint16_t, uint32_t, szg_widen_bf16, szg_narrow_bf16) \
  X(SZGPU_I8, i8, int8_t, float, (float), NARROW_I8)                       \
  X(SZGPU_U8, u8, uint8_t, float, (float), NARROW_U8)                      \
  X(SZGPU_I16, i16, int16_t, float, (float), NARROW_I16)                   \
  X(SZGPU_U16, u16, uint16_t, float, (float), NARROW_U16)                  \
  X(SZGPU_I32, i32, int32_t, double, (double), NARROW_I32)
WIDENED_TYPES(MAP_BOTH_WAYS)

void szg_values_to_inner(const szg_mapping *mapping, const void *outer, uint64_t value_count,
                         void *inner) {
  if (mapping->kind == SZG_MAPPING_LOG) {
    szg_log_to_inner(mapping->outer, mapping->inner, mapping->fill, outer, value_count, inner);
    return;
  }
  switch (mapping->outer) {
#define CASE(dtype, suffix, OUTER, INNER, widen, narrow) \
  case dtype:                                            \
    widen_##suffix(outer, value_count, inner);           \
    break;
    WIDENED_TYPES(CASE)
#undef CASE
    default:
      assert(!"a type that is widened");
  }
}

void szg_values_to_outer(const szg_mapping *mapping, const void *inner, uint64_t value_count,
                         void *outer) {
  switch (mapping->outer) {
#define CASE(dtype, suffix, OUTER, INNER, widen, narrow) \
  case dtype:                                            \
    narrow_##suffix(inner, value_count, outer);          \
    break;
    WIDENED_TYPES(CASE)
#undef CASE
    default:
      assert(!"a type that is widened");
  }
}
