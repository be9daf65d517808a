/* launcher.h - the threads of a process that an MPI launcher started beside others.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#ifdef __cplusplus
extern "C" {
#endif

/* A process's share of `cores`, the cores of the machine, by the number of processes that the
 * launcher says it has started there: at least 1 thread, at most as the library takes. 0, the
 * library's default, if there is no launcher or one process alone. */
int launcher_threads(long cores);

#ifdef __cplusplus
}
#endif

#endif
