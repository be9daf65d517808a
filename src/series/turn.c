/* turn.c - one call at a time has a series, in the process that opened it; the last closes it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdatomic.h>
#include <unistd.h>

#include "pipeline/calls.h"
#include "series/series.h"

void szg_series_release(szgpu_series *series) {
  bool const is_owner = series->process == getpid();
  if (series->has_file)
    szg_series_file_close(&series->file, is_owner, series->places.used_bytes > 0);
  szg_buffer_release(&series->places);
  szg_buffer_release(&series->bytes);
  szg_buffer_release(&series->archive);
  szg_free(series);
}

/* Leaves a sentence in a ctx, if there is one, of a series that the call does not have. */
static szgpu_status refuse(szgpu_ctx *ctx, szgpu_status status, const char *sentence) {
  if (!ctx || szg_begin_call(ctx) != SZGPU_OK) return status;
  return szg_leave_call(ctx, szg_fail(ctx, status, "%s", sentence));
}

szgpu_status szg_series_take(szgpu_series *series, szgpu_ctx *ctx) {
  int free_turn = SZG_SERIES_FREE;
  SZG_REQUIRE(series, SZGPU_BAD_ARGUMENT);
  if (series->process != getpid())
    return refuse(ctx, SZGPU_OTHER_PROCESS, "open the series in the process that uses it");
  if (atomic_compare_exchange_strong(&series->turn, &free_turn, SZG_SERIES_BUSY)) return SZGPU_OK;
  return refuse(ctx, SZGPU_BAD_ARGUMENT,
                "another call is using the series; wait until it has returned");
}

szgpu_status szg_series_give_back(szgpu_series *series, szgpu_status status) {
  int busy_turn = SZG_SERIES_BUSY;
  series->ctx = NULL;
  if (!atomic_compare_exchange_strong(&series->turn, &busy_turn, SZG_SERIES_FREE))
    szg_series_release(series);
  return status;
}

/* In a process that was forked during a call, nobody ends that call: what it uses stays. */
void szgpu_series_close(szgpu_series *series) {
  if (!series) return;
  int const turn = atomic_exchange(&series->turn, SZG_SERIES_CLOSING);
  bool const is_owner = series->process == getpid();
  if (turn == SZG_SERIES_FREE)
    szg_series_release(series);
  else if (!is_owner && series->has_file)
    szg_series_file_close(&series->file, is_owner, true);
}
