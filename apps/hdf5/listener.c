/* listener.c - keeps the program's function.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "listener.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(szgpu_h5_listener) listening;

void szgpu_h5_listen(szgpu_h5_listener listener) { atomic_store(&listening, listener); }

bool listener_agrees(const char *sentence) {
  szgpu_h5_listener const listener = atomic_load(&listening);
  return !listener || listener(sentence) == 0;
}
