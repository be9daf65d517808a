/* decoders.h - decoders by their names on the command line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_DECODERS_H
#define SZGPU_APP_DECODERS_H

#include "report.h"
#include "szgpu.h"

#include <stdbool.h>

/* False: no decoder has this name; *decoder stays as it is. */
bool find_decoder(const char *name, szgpu_decoder *decoder);
/* Those that the backend has and that read the archive: "auto serial table". info may be NULL: of
 * any archive. */
struct words words_for_decoders(const szgpu_info *info, szgpu_backend backend);

#endif
