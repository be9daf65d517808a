/* compress.c - a user's program: compresses a field, restores it and checks the bound.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cc compress.c $(pkg-config --cflags --libs szgpu) -lm
 *
 * CMakeLists.txt does the same by find_package.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <szgpu.h>

/* Compresses a field and restores it. info gets what the archive says of itself. */
static szgpu_status there_and_back(const szgpu_shape *shape, const float *field, float *restored,
                                   size_t field_bytes, szgpu_info *info) {
  size_t capacity = 0, archive_bytes = 0;
  void *archive = NULL;
  szgpu_ctx *ctx;
  szgpu_status status = szgpu_create(&ctx, NULL);
  if (status) return status;
  /* README.md shows these lines; scripts/check_style.sh compares the two. */
  /* example begins */
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.bound = 1e-4; /* times the range of the values */
  status = szgpu_sizes(ctx, &params, shape, NULL, &capacity);
  if (!status && !(archive = malloc(capacity))) status = SZGPU_OUT_OF_MEMORY;
  if (!status)
    status = szgpu_compress(ctx, &params, shape, field, archive, capacity, &archive_bytes);
  if (!status) status = szgpu_decompress(ctx, archive, archive_bytes, restored, field_bytes);
  /* example ends */
  if (!status) status = szgpu_inspect(archive, archive_bytes, info);
  if (status) fprintf(stderr, "%s: %s\n", szgpu_status_text(status), szgpu_last_error(ctx));
  free(archive);
  szgpu_destroy(ctx);
  return status;
}

enum { ROWS = 20, COLUMNS = 300, VALUES = ROWS * COLUMNS };

static float field[VALUES], restored[VALUES];

int main(void) {
  szgpu_shape shape = {SZGPU_F32, 2, {ROWS, COLUMNS}};
  for (int i = 0; i < VALUES; i++) field[i] = 1000.0f + 50.0f * sinf((float)i / 40.0f);

  szgpu_info info = SZGPU_INFO_DEFAULTS;
  if (there_and_back(&shape, field, restored, sizeof field, &info)) return 1;

  double largest_error = 0;
  for (int i = 0; i < VALUES; i++)
    largest_error = fmax(largest_error, fabs((double)field[i] - (double)restored[i]));
  printf("szgpu %s: %zu -> %llu bytes, max error %g, bound %g\n", szgpu_version(), sizeof field,
         (unsigned long long)info.archive_bytes, largest_error, info.absolute_bound);
  return largest_error <= info.absolute_bound && info.archive_bytes < sizeof field / 2 ? 0 : 1;
}
