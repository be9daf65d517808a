/* gpus.h - the GPUs of the machine.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A build has one of gpus_cuda.c and gpus_none.c.
 */
#ifndef GPUS_H
#define GPUS_H

/* The number of GPUs that CUDA shows; 0 if there are none or CUDA does not work. */
int gpu_count(void);

#endif
