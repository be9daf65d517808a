/* fuzz_series.c - any bytes as a series: what is read of it, and what an append leaves.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The input is the series. What it should be is found by docs/format.md, section 17, without the
 * library's code.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fuzz.h"
#include "szgpu_series.h"

enum {
  MOST_FIELD_BYTES = 1 << 18,
  APPENDED_BYTES = 1 << 12,
  HEAD_BYTES = 48,
  MOST_RECORD_BYTES = 304,
  MOST_STEPS_READ = 8
};

static const uint8_t magic[8] = {0x89, 'S', 'Z', 'S', '\r', '\n', 0x1A, '\n'};
static szgpu_ctx *ctx;
static uint8_t archive[APPENDED_BYTES]; /* that is appended */
static size_t archive_bytes;

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  static const float field[3] = {1, 2, 4};
  szgpu_shape const shape = {SZGPU_F32, 1, {3, 0, 0, 0}};
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  ctx = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, 1);
  params.mode = SZGPU_MODE_LOSSLESS;
  szgpu_status const status =
      szgpu_compress(ctx, &params, &shape, field, archive, sizeof archive, &archive_bytes);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_compress gives %d", status);
  return 0;
}

/* ---- section 17 ---- */

static bool are_zero(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i]) return false;
  return true;
}

static size_t size_of_record(const uint8_t *record) {
  return HEAD_BYTES + (fuzz_load(record + 40, 4) + 15) / 16 * 16;
}

static uint64_t checksum_of(const uint8_t *record) {
  uint8_t copy[MOST_RECORD_BYTES];
  size_t const size = size_of_record(record);
  memcpy(copy, record, size);
  memset(copy + 24, 0, 8);
  return XXH3_64bits(copy, size);
}

/* What follows at `at`, of which there are n bytes, in the order of the page. */
static szgpu_status look(const uint8_t *at, size_t n, bool is_first) {
  size_t const magic_bytes = n < sizeof magic ? n : sizeof magic;
  bool const has_magic = memcmp(at, magic, magic_bytes) == 0;
  if (!has_magic && is_first && (n > sizeof magic || !are_zero(at, n))) return SZGPU_NOT_A_SERIES;
  if (!has_magic && !are_zero(at, magic_bytes)) return SZGPU_BAD_DATA;
  if (n >= 12 && fuzz_load(at + 8, 4) > 1) return SZGPU_NEWER_VERSION;
  if (n < 24 || fuzz_load(at + 16, 8) == 0) return SZGPU_UNFINISHED;
  if (!has_magic || fuzz_load(at + 8, 4) == 0) return SZGPU_BAD_DATA;
  if (n < HEAD_BYTES) return SZGPU_TRUNCATED;
  size_t const name_bytes = fuzz_load(at + 40, 4);
  if (name_bytes > 255) return SZGPU_BAD_DATA;
  size_t const size = size_of_record(at);
  if (n < size) return SZGPU_TRUNCATED;
  if (checksum_of(at) != fuzz_load(at + 24, 8)) return SZGPU_BAD_CHECKSUM;
  double time;
  memcpy(&time, at + 32, sizeof time);
  bool const is_sound = fuzz_load(at + 12, 4) <= 1 && are_zero(at + 44, 4) && time - time == 0 &&
                        (at[12] || are_zero(at + 32, 8)) && fuzz_load(at + 16, 8) % 16 == 0 &&
                        !memchr(at + HEAD_BYTES, 0, name_bytes) &&
                        are_zero(at + HEAD_BYTES + name_bytes, size - HEAD_BYTES - name_bytes);
  if (!is_sound) return SZGPU_BAD_DATA;
  return fuzz_load(at + 16, 8) <= n - size ? SZGPU_OK : SZGPU_TRUNCATED;
}

typedef struct found {
  uint64_t count;
  size_t end; /* of the last step */
  szgpu_status status;
} found;

static found walk(const uint8_t *data, size_t size) {
  found f = {.status = SZGPU_OK};
  while (f.end < size) {
    f.status = look(data + f.end, size - f.end, f.end == 0);
    if (f.status != SZGPU_OK) break;
    f.end += size_of_record(data + f.end) + fuzz_load(data + f.end + 16, 8);
    f.count++;
  }
  return f;
}

/* Whether the data end where the archive of the step at `from` does, by its header. */
static bool has_own_end(const uint8_t *data, size_t size, size_t from) {
  szgpu_info info = {.struct_bytes = sizeof info};
  size_t const left = size - from;
  size_t const record = left >= HEAD_BYTES ? size_of_record(data + from) : SIZE_MAX;
  return record <= MOST_RECORD_BYTES && record < left &&
         szgpu_inspect(data + from + record, left - record, &info) == SZGPU_OK &&
         info.archive_bytes == left - record;
}

/* Whether a finished step hides in what follows the last one. */
static bool hides_step(const uint8_t *data, size_t size, size_t from) {
  if (has_own_end(data, size, from)) return false;
  for (size_t at = from; at < size; at++) {
    szgpu_status const status = look(data + at, size - at, true);
    bool const is_whole = size - at >= HEAD_BYTES && fuzz_load(data + at + 40, 4) <= 255 &&
                          size - at >= size_of_record(data + at);
    if (status == SZGPU_OK || (status == SZGPU_TRUNCATED && is_whole)) return true;
  }
  return false;
}

/* ---- a store ---- */

typedef struct store_bytes {
  uint8_t *bytes;
  size_t end, capacity;
} store_bytes;

static int read_store(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  const store_bytes *const store = user;
  size_t const left = offset < store->end ? store->end - (size_t)offset : 0;
  *got = byte_count < left ? byte_count : left;
  if (*got) memcpy(bytes, store->bytes + offset, *got);
  return 0;
}

static int write_store(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  store_bytes *const store = user;
  FUZZ_CHECK(offset <= store->end && byte_count <= store->capacity - offset, "a write far off");
  memcpy(store->bytes + offset, bytes, byte_count);
  if (offset + byte_count > store->end) store->end = (size_t)offset + byte_count;
  return 0;
}

static int sync_store(void *user) {
  (void)user;
  return 0;
}

static int cut_store(void *user, uint64_t byte_count) {
  store_bytes *const store = user;
  FUZZ_CHECK(byte_count <= store->end, "a cut behind the end");
  store->end = (size_t)byte_count;
  return 0;
}

static szgpu_series *open_series(store_bytes *store, szgpu_status *status) {
  szgpu_store const callbacks = {read_store, write_store, sync_store, cut_store, store};
  szgpu_series *series;
  *status = szgpu_series_open(&series, &callbacks, store->end);
  FUZZ_CHECK((*status == SZGPU_OK) == (series != NULL), "a status of %d", *status);
  return series;
}

/* ---- the claims ---- */

typedef struct values {
  uint8_t *bytes;
  size_t byte_count;
} values;

static int write_values(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  values *const v = user;
  FUZZ_CHECK(offset <= v->byte_count && byte_count <= v->byte_count - offset, "a write far off");
  memcpy(v->bytes + offset, bytes, byte_count);
  return 0;
}

static void check_values(szgpu_series *series, uint64_t index, const uint8_t *step_archive,
                         const szgpu_info *info) {
  size_t const field_bytes = (size_t)info->field_bytes;
  uint8_t *const direct = fuzz_allocate(field_bytes), *const whole = fuzz_allocate(field_bytes);
  values streamed = {fuzz_allocate(field_bytes), field_bytes};
  szgpu_sink const sink = {.write = write_values, .user = &streamed};
  szgpu_status const expected =
      szgpu_decompress(ctx, step_archive, (size_t)info->archive_bytes, direct, field_bytes);
  szgpu_status status = szgpu_series_read(series, ctx, index, 0, NULL, whole, field_bytes);
  FUZZ_CHECK(status == expected, "a step gives %d, its archive %d", status, expected);
  status = szgpu_series_read_stream(series, &ctx, 1, index, &sink);
  FUZZ_CHECK((status == SZGPU_OK) == (expected == SZGPU_OK), "a streamed step gives %d, not %d",
             status, expected);
  if (expected == SZGPU_OK) {
    FUZZ_CHECK(memcmp(whole, direct, field_bytes) == 0, "a step has other values");
    FUZZ_CHECK(memcmp(streamed.bytes, direct, field_bytes) == 0, "a streamed step, too");
    fuzz_count("steps restored");
  }
  free(streamed.bytes);
  free(whole);
  free(direct);
}

static void check_step(szgpu_series *series, uint64_t index, const uint8_t *data, size_t end) {
  szgpu_step step = SZGPU_STEP_DEFAULTS;
  szgpu_info info = {.struct_bytes = sizeof info}, own = info;
  szgpu_status status = szgpu_series_step(series, index, &step);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_series_step gives %d", status);
  FUZZ_CHECK(step.archive_offset <= end && step.archive_bytes <= end - step.archive_offset,
             "a step lies beyond its series");
  const uint8_t *const step_archive = data + step.archive_offset;
  status = szgpu_series_inspect(series, index, &info);
  szgpu_status expected = szgpu_inspect(step_archive, (size_t)step.archive_bytes, &own);
  if (expected == SZGPU_OK && own.archive_bytes != step.archive_bytes) expected = SZGPU_BAD_DATA;
  FUZZ_CHECK(status == expected, "szgpu_series_inspect gives %d, not %d", status, expected);
  if (status == SZGPU_OK && info.field_bytes <= MOST_FIELD_BYTES)
    check_values(series, index, step_archive, &info);
}

/* An append leaves all finished steps as they are, and adds one or refuses. */
static void check_append(store_bytes *store, szgpu_series *series, const uint8_t *data, size_t size,
                         const found *expected) {
  static const szgpu_label label = {"appended", 1, 0.5};
  bool const is_unfinished = expected->status == SZGPU_UNFINISHED;
  bool const is_free =
      expected->status == SZGPU_OK || (is_unfinished && !hides_step(data, size, expected->end));
  szgpu_status status = szgpu_series_append_archive(series, archive, archive_bytes, &label);
  FUZZ_CHECK(status == (is_free ? SZGPU_OK : expected->status), "an append gives %d after %d",
             status, expected->status);
  FUZZ_CHECK(memcmp(store->bytes, data, is_free ? expected->end : size) == 0,
             "an append changes what is there");
  FUZZ_CHECK(is_free || store->end == size, "a refused append changes the size");
  if (!is_free) return;
  fuzz_count("appends");
  szgpu_series *const again = open_series(store, &status);
  FUZZ_CHECK(status == SZGPU_OK && szgpu_series_end(again, NULL) == SZGPU_OK &&
                 szgpu_series_count(again) == expected->count + 1,
             "after an append the series is not whole");
  szgpu_series_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  store_bytes store = {.end = size, .capacity = size + APPENDED_BYTES + MOST_RECORD_BYTES};
  store.bytes = fuzz_allocate(store.capacity);
  if (size > 0) memcpy(store.bytes, data, size);
  found const expected = walk(data, size);
  szgpu_status status;
  szgpu_series *const series = open_series(&store, &status);
  bool const is_open =
      expected.count > 0 || expected.status == SZGPU_OK || expected.status == SZGPU_UNFINISHED;
  FUZZ_CHECK(status == (is_open ? SZGPU_OK : expected.status), "opening gives %d, not %d", status,
             expected.status);
  if (is_open) {
    szgpu_step end = SZGPU_STEP_DEFAULTS;
    FUZZ_CHECK(szgpu_series_count(series) == expected.count, "%llu steps, not %llu",
               (unsigned long long)szgpu_series_count(series), (unsigned long long)expected.count);
    FUZZ_CHECK(
        szgpu_series_end(series, &end) == expected.status && end.archive_offset == expected.end,
        "another end");
    fuzz_count("opened");
    for (uint64_t k = 0; k < expected.count && k < MOST_STEPS_READ; k++)
      check_step(series, k, data, expected.end);
    check_append(&store, series, data, size, &expected);
  }
  szgpu_series_close(series);
  free(store.bytes);
  return 0;
}

/* ---- changes, with right checksums ---- */

/* The place of one of the records, by chance; `size` if there is none. */
static size_t any_record(fuzz_random *random, const uint8_t *data, size_t size) {
  size_t chosen = size;
  uint64_t seen = 0;
  for (size_t at = 0; at + HEAD_BYTES <= size; at += 16)
    if (memcmp(data + at, magic, sizeof magic) == 0 && fuzz_one_in(random, ++seen)) chosen = at;
  return chosen;
}

static void change_record(fuzz_random *random, uint8_t *record, size_t left) {
  static const struct {
    uint8_t offset, width;
  } fields[] = {{8, 4}, {12, 4}, {16, 8}, {32, 8}, {40, 4}, {44, 4}, {48, 1}};
  static const uint64_t edges[] = {0, 1, 2, 15, 16, 17, 255, 256, UINT64_MAX, (uint64_t)1 << 63};
  size_t const f = fuzz_below(random, sizeof fields / sizeof *fields);
  uint64_t const old = fuzz_load(record + fields[f].offset, fields[f].width);
  uint64_t const value = fuzz_one_in(random, 2)
                             ? edges[fuzz_below(random, sizeof edges / sizeof *edges)]
                             : old + 16 * fuzz_below(random, 9) - 64;
  if (fields[f].offset < left) fuzz_store(record + fields[f].offset, fields[f].width, value);
}

static void mend(uint8_t *record, size_t left) {
  if (fuzz_load(record + 40, 4) <= 255 && size_of_record(record) <= left)
    fuzz_store(record + 24, 8, checksum_of(record));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  fuzz_random random = {seed};
  size_t const at = any_record(&random, data, size);
  size_t const left = size - at;
  switch (at == size ? 0 : fuzz_below(&random, 5)) {
    case 0:
      return LLVMFuzzerMutate(data, size, capacity);
    case 1: /* ends anywhere */
      return fuzz_below(&random, size + 1);
    case 2: /* once more, at the end */
      if (left > capacity - size) return size;
      memmove(data + size, data + at, left);
      return size + left;
    case 3: /* not finished */
      memset(data + at + 16, 0, 8);
      mend(data + at, left);
      return size;
    default:
      change_record(&random, data + at, left - 1);
      mend(data + at, left);
      return size;
  }
}
