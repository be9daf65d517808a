/* gpus_none.c - no GPU in a build without CUDA.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gpus.h"

int gpu_count(void) { return 0; }
