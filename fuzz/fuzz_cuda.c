/* fuzz_cuda.c - any bytes as an archive: the GPU restores what the CPU does, and refuses the rest.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Some rows of an archive that is damaged elsewhere may be restored by one backend and refused by
 * the other, since each decodes more than these rows, and not the same. So only whole fields must
 * be refused alike. Rows that both restore are equal.
 *
 * Replayed only: libFuzzer sees nothing of what kernels do. Without a GPU it exits with 77, or with
 * 1 if SZGPU_REQUIRE_GPU is in the environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_mutate.h"

enum { MOST_FIELD_BYTES = 1 << 20, MOST_DECODERS = 16 };

static szgpu_ctx *table, *serial; /* of the CPU; only `serial` looks at gap arrays */
static szgpu_ctx *gpus[MOST_DECODERS];
static szgpu_decoder decoders[MOST_DECODERS];
static int gpu_count;

static void require_gpu(szgpu_ctx *ctx) {
  szgpu_params const params = SZGPU_PARAMS_DEFAULTS;
  szgpu_shape const shape = {.dtype = SZGPU_F32, .ndim = 1, .dims = {1}};
  szgpu_status const status = szgpu_sizes(ctx, &params, &shape, NULL, NULL);
  if (status == SZGPU_OK) return;
  printf("skipped: %s %s\n", szgpu_status_text(status), szgpu_last_error(ctx));
  exit(getenv("SZGPU_REQUIRE_GPU") ? 1 : 77);
}

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  table = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, 1);
  serial = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_SERIAL, 1);
  for (int i = 0; szgpu_decoder_name((szgpu_decoder)i); i++) {
    szgpu_decoder const decoder = (szgpu_decoder)i;
    if (!szgpu_decoder_runs_on(decoder, SZGPU_BACKEND_CUDA)) continue;
    FUZZ_CHECK(gpu_count < MOST_DECODERS, "more than %d decoders", MOST_DECODERS);
    decoders[gpu_count] = decoder;
    gpus[gpu_count++] = fuzz_make_ctx(SZGPU_BACKEND_CUDA, decoder, 1);
  }
  require_gpu(gpus[0]);
  return 0;
}

/* Rows of an archive. */
typedef struct rows_trial {
  const uint8_t *archive;
  size_t archive_bytes;
  uint64_t first_row, row_count;
  size_t byte_count;
  bool is_whole; /* all rows: backends must agree on the status */
  bool is_good;  /* the whole field was restored by the CPU: so must be these rows, by all */
} rows_trial;

static szgpu_status restore(szgpu_ctx *ctx, const rows_trial *t, uint8_t *rows) {
  memset(rows, 0xA5, t->byte_count);
  return szgpu_decompress_slab(ctx, t->archive, t->archive_bytes, t->first_row, t->row_count, rows,
                               t->byte_count);
}

/* Tells if the CPU restores the rows. */
static bool compare(const rows_trial *t, const szgpu_info *info) {
  uint8_t *const expected = fuzz_allocate(t->byte_count), *const rows =
                                                              fuzz_allocate(t->byte_count);
  szgpu_status const by_serial = restore(serial, t, rows), by_table = restore(table, t, expected);
  fuzz_count(by_table == SZGPU_OK ? "restored" : "refused");
  for (int i = 0; i < gpu_count; i++) {
    szgpu_decoder const decoder = decoders[i];
    if (!szgpu_decoder_reads(decoder, info)) continue;
    szgpu_status const status = restore(gpus[i], t, rows);
    FUZZ_CHECK(status <= SZGPU_BAD_DATA, "%s: %s", szgpu_decoder_name(decoder),
               szgpu_last_error(gpus[i]));
    if (t->is_whole)
      FUZZ_CHECK(status == SZGPU_OK ? by_table == SZGPU_OK : by_serial != SZGPU_OK,
                 "%s gives %d, table %d, serial %d", szgpu_decoder_name(decoder), status, by_table,
                 by_serial);
    FUZZ_CHECK(!t->is_good || status == SZGPU_OK, "%s refuses rows of a good archive: %s",
               szgpu_decoder_name(decoder), szgpu_last_error(gpus[i]));
    if (status == SZGPU_OK && by_table == SZGPU_OK)
      FUZZ_CHECK(memcmp(rows, expected, t->byte_count) == 0, "%s gives other values",
                 szgpu_decoder_name(decoder));
  }
  FUZZ_CHECK(!t->is_good || (by_table == SZGPU_OK && by_serial == SZGPU_OK),
             "the CPU refuses rows of a good archive: table %d, serial %d", by_table, by_serial);
  free(expected);
  free(rows);
  return by_serial == SZGPU_OK;
}

static void compare_refusals(const uint8_t *archive, size_t archive_bytes, szgpu_status expected) {
  uint8_t field[64];
  szgpu_status const status =
      szgpu_decompress(gpus[0], archive, archive_bytes, field, sizeof field);
  FUZZ_CHECK(status == expected, "the GPU gives %d, szgpu_inspect %d", status, expected);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  return archive_change(data, size, capacity, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_random random = fuzz_random_of(data, size);
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status const status = szgpu_inspect(data, size, &info);
  if (status != SZGPU_OK) {
    compare_refusals(data, size, status);
    return 0;
  }
  if (info.field_bytes > MOST_FIELD_BYTES) return 0;
  uint64_t const row_count = info.shape.dims[0];
  rows_trial t = {data, size, 0, row_count, info.field_bytes, .is_whole = true};
  t.is_good = compare(&t, &info);
  if (t.is_good) archive_is_good(data, size);
  t.is_whole = false;
  t.first_row = fuzz_below(&random, row_count);
  t.row_count = 1 + fuzz_below(&random, row_count - t.first_row);
  t.byte_count = info.field_bytes / row_count * t.row_count;
  compare(&t, &info);
  return 0;
}
