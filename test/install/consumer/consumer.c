/* consumer.c - a user's program: compresses a field, restores it and checks the bound.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <szgpu.h>

/* README.md shows this function as it stands; scripts/check_style.sh compares the two. */
/* example begins */
szgpu_status there_and_back(const szgpu_shape *shape, const float *field, float *restored,
                            size_t field_bytes, void *archive, size_t *archive_bytes) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.bound = 1e-4; /* times the range of the values */
  szgpu_ctx *ctx;
  szgpu_status status = szgpu_create(&ctx, NULL);
  if (!status)
    status = szgpu_compress(ctx, &params, shape, field, archive, *archive_bytes, archive_bytes);
  if (!status) status = szgpu_decompress(ctx, archive, *archive_bytes, restored, field_bytes);
  szgpu_destroy(ctx);
  return status;
}
/* example ends */

enum { ROWS = 20, COLUMNS = 300, VALUES = ROWS * COLUMNS };

static float field[VALUES], restored[VALUES];

/* How large an archive of such a field can become. */
static size_t largest_archive(const szgpu_shape *shape) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  szgpu_ctx *ctx;
  size_t bytes = 0;
  if (szgpu_create(&ctx, NULL) || szgpu_sizes(ctx, &params, shape, NULL, &bytes)) bytes = 0;
  szgpu_destroy(ctx);
  return bytes;
}

int main(void) {
  szgpu_shape shape = {SZGPU_F32, 2, {ROWS, COLUMNS}};
  for (int i = 0; i < VALUES; i++) field[i] = 1000.0f + 50.0f * sinf((float)i / 40.0f);

  size_t archive_bytes = largest_archive(&shape);
  void *archive = malloc(archive_bytes);
  if (!archive) return 1;
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status status =
      there_and_back(&shape, field, restored, sizeof field, archive, &archive_bytes);
  if (!status) status = szgpu_inspect(archive, archive_bytes, &info);
  free(archive);
  if (status) {
    fprintf(stderr, "consumer: %s\n", szgpu_status_text(status));
    return 1;
  }

  double largest_error = 0;
  for (int i = 0; i < VALUES; i++)
    largest_error = fmax(largest_error, fabs((double)field[i] - (double)restored[i]));
  printf("szgpu %s: %zu -> %zu bytes, max error %g, bound %g\n", szgpu_version(), sizeof field,
         archive_bytes, largest_error, info.absolute_bound);
  return largest_error <= info.absolute_bound && archive_bytes < sizeof field / 2 ? 0 : 1;
}
