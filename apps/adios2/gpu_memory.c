/* gpu_memory.c - whether values that ADIOS2 passes are in a GPU's memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Without CUDA's headers or library, so that a build for the CPU also tells memory that it cannot
 * read. Declarations and numbers are those of cuda.h, which keeps them.
 */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "gpu_memory.h"

#include <dlfcn.h>
#include <stdint.h>

typedef unsigned long long device_pointer;
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, DEVICE_ORDINAL = 9 }; /* CU_POINTER_ATTRIBUTE_... */
enum { MEMORY_IS_DEVICE = 2 };                                /* CU_MEMORYTYPE_DEVICE */

/* NULL if the program has not loaded the driver, and so has no memory of a GPU. */
static void *driver_function(const char *name) {
  void *const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : NULL;
}

int gpu_of(const void *values) {
  int (*get)(void *, int, device_pointer);
  *(void **)&get = driver_function("cuPointerGetAttribute");
  device_pointer const pointer = (uintptr_t)values;
  unsigned type = 0, is_managed = 0;
  int device = -1;
  if (!get || get(&type, MEMORY_TYPE, pointer) != 0 || type != MEMORY_IS_DEVICE) return -1;
  if (get(&is_managed, IS_MANAGED, pointer) == 0 && is_managed) return -1;
  return get(&device, DEVICE_ORDINAL, pointer) == 0 ? device : -1;
}

bool gpu_copy(const void *values, size_t byte_count, void *copy) {
  int (*copy_to_host)(void *, device_pointer, size_t);
  *(void **)&copy_to_host = driver_function("cuMemcpyDtoH_v2");
  return copy_to_host && copy_to_host(copy, (uintptr_t)values, byte_count) == 0;
}
