/* thread_start.h - starts a POSIX thread that gets no signals of the caller's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_THREAD_START_H
#define SZG_THREAD_START_H

#include <pthread.h>
#include <stdbool.h>

/* False if the system refuses. Only the caller's own threads get signals, except for faults of the
 * thread itself: the caller may have a handler for them that maps memory when it is touched. */
bool szg_thread_start(pthread_t *thread, void *(*function)(void *), void *argument);

#endif
