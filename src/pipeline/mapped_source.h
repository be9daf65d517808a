/* mapped_source.h - passes on the GPU over values that are coded in a wider type.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_MAPPED_SOURCE_H
#define SZG_MAPPED_SOURCE_H

#include "quant/bound.h"

SZG_C_BEGIN

/* A source that looks at values as they are coded, and leaves these if there is room for all. Its
 * sample is not asked for: a bound that a mapping changes follows from all values. */
typedef struct szg_mapped_source_cuda {
  szg_value_source source; /* its `where` points here, so this must not move */
  szg_device *device;
  uint8_t *inner; /* on the device: room for inner_values */
  uint64_t inner_values;
  uint32_t *signs;          /* their signs, if the mapping keeps signs apart: a bit for each */
  void *work, *pinned_work; /* as of szg_value_source_cuda */
} szg_mapped_source_cuda;

/* values: on the device, in the mapping's outer type. */
void szg_mapped_source_open_cuda(szg_device *device, const szg_mapping *mapping, const void *values,
                                 uint64_t value_count, void *inner, uint64_t inner_values,
                                 uint32_t *signs, void *work, void *pinned_work,
                                 szg_mapped_source_cuda *source);

SZG_C_END

#endif
