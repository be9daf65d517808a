/* caller_hdf5.c - finds the libhdf5 that called, by the address that the call returns to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* dladdr */

#include "caller_hdf5.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "szgpu.h"

typedef struct function_entry {
  const char *name;
  size_t member; /* its offset in caller_hdf5 */
  enum { FOR_CHUNKS, FOR_DATASETS, IF_THERE } need;
} function_entry;

static const function_entry functions[] = {
#define CHUNK_ENTRY(name) {#name, offsetof(caller_hdf5, name), FOR_CHUNKS},
#define DATASET_ENTRY(name) {#name, offsetof(caller_hdf5, name), FOR_DATASETS},
    CALLER_HDF5_CHUNK_FUNCTIONS(CHUNK_ENTRY) CALLER_HDF5_DATASET_FUNCTIONS(DATASET_ENTRY){
        "H5Eis_paused", offsetof(caller_hdf5, H5Eis_paused), IF_THERE},
#undef CHUNK_ENTRY
#undef DATASET_ENTRY
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

/* The libraries found so far. The list only grows, so reading it needs no lock, even after
 * fork(). */
static _Atomic(caller_hdf5 *) callers;

/* Takes the functions of the library at base, and of no other library that it depends on. */
static bool take_functions(void *library, const void *base, caller_hdf5 *caller) {
  caller->has_all = true;
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    void *const function = dlsym(library, functions[i].name);
    Dl_info found;
    if (function && dladdr(function, &found) && found.dli_fbase == base)
      memcpy((char *)caller + functions[i].member, &function, sizeof function);
    else if (functions[i].need == FOR_CHUNKS)
      return false;
    else if (functions[i].need == FOR_DATASETS)
      caller->has_all = false;
  }
  unsigned major, minor, release;
  if (caller->H5get_libversion(&major, &minor, &release) < 0) return false;
  caller->has_large_chunks = major > 1;
  return major > 1 || (major == 1 && minor >= 10);
}

/* netCDF allocates chunks by malloc and frees what it gets. */
static void *allocate(size_t byte_count, hbool_t is_clear) {
  return is_clear ? calloc(1, byte_count) : malloc(byte_count);
}
static herr_t release(void *memory) {
  free(memory);
  return 0;
}
static bool take_netcdf(const void *return_address, caller_hdf5 *caller) {
  *caller = (caller_hdf5){.is_netcdf = true,
                          .has_large_chunks = true,
                          .H5allocate_memory = allocate,
                          .H5free_memory = release};
  return caller_netcdf_of(return_address, &caller->netcdf);
}

/* Keeps the handle, so that the library is not unloaded and another one put in its place. */
static bool open_library(const Dl_info *where, caller_hdf5 *caller) {
  void *const library = dlopen(where->dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (library) {
    if (take_functions(library, where->dli_fbase, caller)) return true;
    dlclose(library);
  }
  /* HDF5 may be linked statically into the program, which dlopen does not find by name. */
  void *const program = dlopen(NULL, RTLD_LAZY);
  if (!program) return false;
  bool const is_program = take_functions(program, where->dli_fbase, caller);
  dlclose(program);
  return is_program;
}

caller_hdf5 *caller_hdf5_of(const void *return_address) {
  Dl_info where;
  if (!dladdr(return_address, &where)) return NULL;
  for (caller_hdf5 *known = atomic_load(&callers); known; known = known->next)
    if (known->base == where.dli_fbase) return known;
  caller_hdf5 *const caller = calloc(1, sizeof *caller);
  if (!caller) return NULL;
  if (!open_library(&where, caller) && !take_netcdf(return_address, caller)) {
    free(caller);
    return NULL;
  }
  caller->base = where.dli_fbase;
  caller->next = atomic_load(&callers);
  while (!atomic_compare_exchange_weak(&callers, &caller->next, caller)) continue;
  return caller;
}

/* HDF5's own error class is a variable, so szgpu registers one. HDF5 drops it when it closes,
 * and may give its numbers to others when it opens again. */
static bool has_error_class(caller_hdf5 *caller) {
  if (caller->error_class > 0 &&
      (!caller->has_all || (caller->H5Iget_type(caller->error_class) == H5I_ERROR_CLASS &&
                            caller->H5Iget_type(caller->error_major) == H5I_ERROR_MSG &&
                            caller->H5Iget_type(caller->error_minor) == H5I_ERROR_MSG)))
    return true;
  caller->error_class = caller->H5Eregister_class("szgpu", "libh5zszgpu", szgpu_version());
  if (caller->error_class <= 0) return false;
  caller->error_major = caller->H5Ecreate_msg(caller->error_class, H5E_MAJOR, "Data filters");
  caller->error_minor = caller->H5Ecreate_msg(caller->error_class, H5E_MINOR, "Filter szgpu");
  return caller->error_major > 0 && caller->error_minor > 0;
}

void caller_hdf5_push(caller_hdf5 *caller, const char *file, const char *function, int line,
                      const char *sentence) {
  if (caller->is_netcdf) {
    caller_netcdf_log(&caller->netcdf, CALLER_NETCDF_ERROR, sentence);
    return;
  }
  if (!has_error_class(caller)) return;
  /* HDF5 2.0 pauses its stack while it runs a filter: it drops what a filter pushes, and a call
   * that pauses the stack again clears it. A new stack is not paused, and can replace the paused
   * one. */
  bool is_paused = false;
  if (caller->H5Eis_paused && caller->H5Eis_paused(H5E_DEFAULT, &is_paused) < 0) return;
  hid_t const stack = is_paused ? caller->H5Ecreate_stack() : H5E_DEFAULT;
  if (stack < 0) return;
  caller->H5Epush2(stack, file, function, (unsigned)line, caller->error_class, caller->error_major,
                   caller->error_minor, "%s", sentence);
  if (is_paused) caller->H5Eset_current_stack(stack); /* which closes it */
}
