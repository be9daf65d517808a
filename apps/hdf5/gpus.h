/* gpus.h - the GPUs of the machine.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A build has one of gpus_cuda.c and gpus_none.c.
 */
#ifndef GPUS_H
#define GPUS_H

/* Those that CUDA shows; 0 where there are none, or no CUDA. */
int gpu_count(void);

#endif
