/* old_adios2.h - whether the ADIOS2 that calls is too old for this plugin.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OLD_ADIOS2_H
#define OLD_ADIOS2_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the code at `address` is of an ADIOS2 before 2.12. Such a one would call the functions of
 * an operator by other numbers, since its interface is another class of the same name. It states no
 * version to a plugin, and some programs have ADIOS2 inside, as openPMD-api's wheels do. But its
 * type of functions that make engines, which is in the library for std::function, has a parameter
 * core::IO & in place of IO. */
bool is_old_adios2(const void *address);

#ifdef __cplusplus
}
#endif

#endif
