/* caller_netcdf.c - finds the libnetcdf that called, by the address that the call returns to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* dladdr */

#include "caller_netcdf.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
  const char *name;
  size_t member; /* its offset in caller_netcdf */
} functions[] = {
#define ENTRY(name) \
  { #name, offsetof(caller_netcdf, name) }
    ENTRY(nc_inq_var),      ENTRY(nc_inq_var_chunking),   ENTRY(nc_inq_var_endian),
    ENTRY(nc_inq_var_fill), ENTRY(nc_inq_var_filter_ids), ENTRY(nclog),
#undef ENTRY
};

static bool take_functions(void *library, const void *base, caller_netcdf *caller) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *const function = dlsym(library, functions[i].name);
    Dl_info found;
    if (!function || !dladdr(function, &found) || found.dli_fbase != base) return false;
    memcpy((char *)caller + functions[i].member, &function, sizeof function);
  }
  return true;
}

bool caller_netcdf_of(const void *return_address, caller_netcdf *caller) {
  Dl_info where;
  if (!dladdr(return_address, &where)) return false;
  /* The program is for one that holds netCDF itself, which dlopen does not find by name. */
  const char *const names[] = {where.dli_fname, NULL};
  bool is_found = false;
  for (int i = 0; i < 2 && !is_found; i++) {
    void *const library = dlopen(names[i], RTLD_NOLOAD | RTLD_LAZY);
    if (!library) continue;
    is_found = take_functions(library, where.dli_fbase, caller);
    dlclose(library); /* who calls stays loaded */
  }
  return is_found;
}

void caller_netcdf_log(const caller_netcdf *caller, int level, const char *sentence) {
  caller->nclog(level, "%s", sentence);
}
