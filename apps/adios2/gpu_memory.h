/* gpu_memory.h - whether values that ADIOS2 passes are in a GPU's memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ADIOS2 passes the program's own pointer and does not say which memory it points to. This asks
 * CUDA's driver, if the program has loaded it.
 */
#ifndef GPU_MEMORY_H
#define GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The index of the GPU whose memory has the values; -1: the CPU can read them. */
int gpu_of(const void *values);
/* Copies values of a GPU to the host. False: CUDA reported an error. */
bool gpu_copy(const void *values, size_t byte_count, void *copy);

#ifdef __cplusplus
}
#endif

#endif
