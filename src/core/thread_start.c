/* thread_start.c - starts a POSIX thread that gets no signals of the caller's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* pthread_sigmask */

#include "core/thread_start.h"

#include <signal.h>
#include <stddef.h>

static void fill_mask(sigset_t *mask) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigfillset(mask);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(mask, own[i]);
}

bool szg_thread_start(pthread_t *thread, void *(*function)(void *), void *argument) {
  sigset_t own, callers;
  fill_mask(&own);
  bool const is_masked = pthread_sigmask(SIG_SETMASK, &own, &callers) == 0;
  bool const is_started = pthread_create(thread, NULL, function, argument) == 0;
  if (is_masked) pthread_sigmask(SIG_SETMASK, &callers, NULL);
  return is_started;
}
