/* decoders.h - the names of decoders, and which is for what.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_DECODERS_H
#define SZGPU_APP_DECODERS_H

#include "report.h"
#include "szgpu.h"
#include "values.h"

#include <stdbool.h>

extern const struct choice decoder_choices[];

/* As --decoder takes it. */
const char *decoder_name(szgpu_decoder decoder);
/* SZGPU_BACKEND_AUTO: for either of them. */
bool decoder_is_for(szgpu_decoder decoder, szgpu_backend backend);
/* Those for the backend that read the archive: "auto serial table". */
struct words words_for_decoders(const szgpu_info *info, szgpu_backend backend);

#endif
