/* header.c - uses all of the headers that is not a function; read as C and as C++.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <szgpu.h>
#include <szgpu_series.h>

static const szgpu_params params = SZGPU_PARAMS_DEFAULTS;
static const szgpu_options options = SZGPU_OPTIONS_DEFAULTS;

int main(void) {
  szgpu_shape shape = {SZGPU_F32, 3, {2, 3, 4, 0}};
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  szgpu_ctx *ctx;
  if (szgpu_create(&ctx, &options) != SZGPU_OK) return 1;
  if (szgpu_reserve(ctx, &params, &shape) != SZGPU_OK) return 1;
  if (szgpu_inspect(NULL, 0, &info) == SZGPU_OK) return 1;
  if (szgpu_inspect_frames(NULL, 0, 0, 1, &frame) == SZGPU_OK) return 1;
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_store store = {NULL, NULL, NULL, NULL, NULL};
  szgpu_series *series;
  if (szgpu_series_open(&series, &store, 0) == SZGPU_OK) return 1;
  if (szgpu_series_end(series, &step) == SZGPU_OK) return 1;
  szgpu_destroy(ctx);
  return SZGPU_VERSION_MAJOR;
}
