/* say.c - what calls on a series leave in the ctx that they were given.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE /* strerror_r as POSIX has it */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/calls.h"
#include "series/series.h"

szgpu_status szg_series_enter(szgpu_series *series, szgpu_ctx *ctx, uint64_t step) {
  if (ctx) {
    SZG_TRY(szg_begin_call(ctx));
    SZG_TRY(szg_leave_call(ctx, SZGPU_OK));
  }
  SZG_TRY(szg_series_take(series, ctx));
  series->file.error_number = 0;
  series->called_step = step;
  series->ctx = ctx;
  return SZGPU_OK;
}

szgpu_status szg_series_fail(szgpu_series *series, szgpu_status status, const char *format, ...) {
  char sentence[sizeof series->ctx->error];
  va_list arguments;
  if (!series->ctx || szg_begin_call(series->ctx) != SZGPU_OK) return status;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return szg_leave_call(series->ctx, szg_fail(series->ctx, status, "%s", sentence));
}

szgpu_status szg_series_blame_store(szgpu_series *series, szgpu_status status) {
  char reason[128] = "its store failed";
  int const error_number = series->file.error_number;
  if (error_number && strerror_r(error_number, reason, sizeof reason) != 0)
    snprintf(reason, sizeof reason, "errno %d", error_number);
  return szg_series_fail(series, status, "the series could not be %s: %s",
                         status == SZGPU_SINK_FAILED ? "written" : "read", reason);
}

szgpu_status szg_series_leave(szgpu_series *series, szgpu_status status) {
  bool const is_silent = status != SZGPU_OK && series->ctx && !series->ctx->error[0];
  bool const is_of_store = status == SZGPU_SOURCE_FAILED || status == SZGPU_SINK_FAILED;
  if (is_silent && is_of_store)
    status = szg_series_blame_store(series, status);
  else if (is_silent)
    status = szg_series_fail(series, status, "step %llu of the series",
                             (unsigned long long)series->called_step);
  return szg_series_give_back(series, status);
}
