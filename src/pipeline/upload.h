/* upload.h - a field in host memory on its way to the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_UPLOAD_H
#define SZG_UPLOAD_H

#include "quant/bound.h"

SZG_C_BEGIN

/* A source of values that copies them to the device, once: all are there when it has found their
 * extremes, or those of a sample. */
typedef struct szg_upload_cuda {
  szg_value_source source;            /* its `where` points here, so this must not move */
  const szg_value_source_cuda *there; /* the values where they arrive */
  const uint8_t *from;
  uint8_t *to;
  bool *is_there; /* all values have been copied */
} szg_upload_cuda;

/* to: the device memory that `there` reads. *is_there is false at first. */
void szg_upload_open_cuda(const szg_value_source_cuda *there, const void *from, void *to,
                          bool *is_there, szg_upload_cuda *upload);

SZG_C_END

#endif
