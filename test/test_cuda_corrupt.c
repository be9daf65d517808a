/* test_cuda_corrupt.c - damaged and hostile archives on the GPU: what the CPU refuses is refused.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Damage gets the CPU's status. An archive made to do harm has correct checksums, so the GPU may
 * accept it; then the field must be the CPU's. It may write nothing beyond the field;
 * compute-sanitizer finds reads beyond the archive (scripts/gpu_check.sh).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive_edit.h"
#include "archive_samples.h"
#include "container/format.h"
#include "cuda_support.h"

enum { GUARD = 64, MOST_FIELD_BYTES = 1 << 20 };
enum { CODED, LONE, CONSTANT, RAW, WIDE, FRAMES, ZSTD, BATCH, LONG, KINDS };
/* KINDS samples of the linear layout, as many of the tile layout, then lossless linear ones, and
 * levels frames. */
enum {
  TOP_PLANE = 2 * KINDS,
  TOP_PLANE_NO_GAPS,
  TOP_PLANE_FRAMES,
  TOP_PLANE_LONG, /* with several sequences */
  LEVELS,         /* then levels frames; this one has exact and fill values */
  LEVELS_LINE,
  LEVELS_PLANE, /* wide */
  LEVELS_FRAMES,
  LEVELS_SPARSE, /* stages of masks, and of zeros */
  SAMPLE_COUNT
};

static szgpu_ctx *serial_cpu; /* cuda_cpu decodes by table and does not read gaps */
static test_archive samples[SAMPLE_COUNT];
static size_t field_bytes_of[SAMPLE_COUNT];

/* ---- small archives of every kind ---- */

static szgpu_params params_of(szgpu_layout layout, szgpu_mode mode, double bound) {
  szgpu_params params = test_params(mode, bound);
  params.layout = layout;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  return params;
}

/* Has every section of its layout, and in the tile layout a raw tile if there are several tiles. */
static test_archive make_coded(szgpu_layout layout, szgpu_shape shape) {
  float *const field = test_make_waves(&shape);
  bool const is_linear = layout == SZGPU_LAYOUT_LINEAR;
  szgpu_params params = params_of(layout, SZGPU_MODE_ABS, 0.5);
  if (is_linear) params.radius = 16;
  for (uint64_t i = 40; i < test_value_count(&shape); i += 1 + test_hash(i) % 30)
    field[i] = i % 5 ? 1e20f : i % 3 ? 3e9f : -1e4f;
  field[5] = INFINITY, field[6] = NAN, field[800] = 3e9f, field[801] = -1e5f;
  for (uint64_t y = 64; !is_linear && shape.ndim == 2 && y < 128; y++)
    for (uint64_t x = 64; x < 128; x++)
      field[y * shape.dims[1] + x] = (float)(test_hash(y * 64 + x) % 500000000);
  test_archive const archive = sample_make(cuda_cpu, shape, params, field);
  for (uint32_t kind = 0; kind < SZG_SECTION_RAW; kind++)
    if (is_linear || kind < SZG_SECTION_GAPS || kind >= SZG_SECTION_EXACT_COUNTS)
      (void)archive_section_of_kind(&archive, 0, kind);
  return archive;
}

static test_archive make_lone(szgpu_layout layout) { /* one symbol, or a tile without words */
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 100, 0, 0, 0);
  float *const field = test_allocate(400);
  for (int i = 0; i < 100; i++) field[i] = (float)(i % 2);
  return sample_make(cuda_cpu, shape, params_of(layout, SZGPU_MODE_ABS, 10.0), field);
}

static test_archive make_constant(szgpu_layout layout) {
  szgpu_shape const shape = test_shape(SZGPU_F64, 1, 200, 0, 0, 0);
  double *const field = test_allocate(1600);
  for (int i = 0; i < 200; i++) field[i] = i % 50 == 9 ? INFINITY : i % 7 ? 2.5 : 1e20;
  return sample_make(cuda_cpu, shape, params_of(layout, SZGPU_MODE_REL, 1e-3), field);
}

static test_archive make_raw(szgpu_layout layout) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, 5, 7, 0, 0);
  return sample_make(cuda_cpu, shape, params_of(layout, SZGPU_MODE_REL, 1e-4),
                     test_make_bits(&shape));
}

static test_archive make_wide(szgpu_layout layout) { /* the 64-bit lattice */
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, 9, 11, 0, 0);
  double *const field = test_allocate(9 * 11 * 8);
  for (int i = 0; i < 9 * 11; i++) field[i] = 1e6 + 2e-5 * (i % 11) + (i == 50 ? 1e3 : 0);
  test_archive const archive =
      sample_make(cuda_cpu, shape, params_of(layout, SZGPU_MODE_ABS, 1e-5), field);
  assert_int_equal(archive.bytes[120], SZG_ARITHMETIC_F64_WIDE);
  (void)archive_section_of_kind(&archive, 0, SZG_SECTION_CODEBOOK); /* the frame is not raw */
  return archive;
}

static test_archive make_waves(szgpu_layout layout, szgpu_shape shape, double bound,
                               uint64_t frame_rows, int level) {
  szgpu_params params = params_of(layout, SZGPU_MODE_ABS, bound);
  params.frame_rows = frame_rows;
  params.zstd_level = level;
  return sample_make(cuda_cpu, shape, params, test_make_waves(&shape));
}

static void make_samples_of(szgpu_layout layout, test_archive *made) {
  made[CODED] = make_coded(layout, test_shape(SZGPU_F32, 3, 3, 9, 33, 0));
  made[LONE] = make_lone(layout);
  made[CONSTANT] = make_constant(layout);
  made[RAW] = make_raw(layout);
  made[WIDE] = make_wide(layout);
  made[FRAMES] = make_waves(layout, test_shape(SZGPU_F32, 3, 40, 2, 5, 0), 2.0, 16, 0);
  made[ZSTD] = make_waves(layout, test_shape(SZGPU_F32, 2, 120, 70, 0, 0), 20.0, 0, 19);
  made[BATCH] = make_waves(layout, test_shape(SZGPU_F64, 4, 3, 2, 2, 9), 2.0, 1, 0);
  made[LONG] = make_coded(layout, test_shape(SZGPU_F32, 2, 300, 333, 0, 0));
}

/* Values with highest bytes distributed as the exponents of weights. */
static test_archive make_top_plane(szgpu_shape shape, uint64_t frame_rows, int without_gaps) {
  size_t const width = test_dtype_bytes(shape.dtype);
  uint8_t *const field = test_make_bits(&shape);
  for (uint64_t i = 0; i < test_value_count(&shape); i++)
    field[(i + 1) * width - 1] = (uint8_t)(0x3C - __builtin_ctzll(test_hash(i) | 1u << 20) / 2);
  szgpu_params params = params_of(SZGPU_LAYOUT_LINEAR, SZGPU_MODE_LOSSLESS, 0);
  params.frame_rows = frame_rows;
  params.without_gaps = without_gaps;
  test_archive const archive = sample_make(cuda_cpu, shape, params, field);
  (void)archive_section_of_kind(&archive, 0, SZG_SECTION_CODEBOOK); /* the frame is not raw */
  return archive;
}

static test_archive make_top_plane_long(void) {
  test_archive const archive = make_top_plane(test_shape(SZGPU_BF16, 2, 200, 300, 0, 0), 0, 0);
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  assert_int_equal(szgpu_inspect_frames(archive.bytes, archive.byte_count, 0, 1, &frame), SZGPU_OK);
  uint32_t const section = archive_section_of_kind(&archive, 0, SZG_SECTION_SEQUENCE_CODES);
  assert_in_range(frame.sections[section].raw_bytes / 2, 3, 5); /* sequences */
  return archive;
}

static test_archive make_levels(szgpu_shape shape, double bound, uint64_t frame_rows,
                                uint64_t rarity, bool is_smooth) {
  void *const field = test_make_waves(&shape);
  for (uint64_t i = 0; i < test_value_count(&shape); i++) {
    double const x = (double)(i % shape.dims[shape.ndim - 1]), row = (double)(i / 97);
    if (is_smooth) test_set_value(shape.dtype, field, i, 0.5 * x + 1e-4 * row);
    if (rarity && test_hash(i) % rarity == 0)
      test_set_value(shape.dtype, field, i, i % 3 ? 1e20 : (double)INFINITY);
  }
  szgpu_params params = params_of(SZGPU_LAYOUT_TILE, SZGPU_MODE_ABS, bound);
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  params.frame_rows = frame_rows;
  test_archive const archive = sample_make(cuda_cpu, shape, params, field);
  (void)archive_section_of_kind(&archive, 0, SZG_SECTION_BASE); /* it is a levels frame */
  return archive;
}

static void make_samples_of_levels(void) {
  samples[LEVELS] = make_levels(test_shape(SZGPU_F32, 3, 33, 18, 70, 0), 0.5, 0, 40, false);
  samples[LEVELS_LINE] = make_levels(test_shape(SZGPU_F32, 1, 9000, 0, 0, 0), 1.0, 0, 0, false);
  samples[LEVELS_PLANE] = make_levels(test_shape(SZGPU_F64, 2, 70, 90, 0, 0), 1e-7, 0, 0, false);
  samples[LEVELS_FRAMES] = make_levels(test_shape(SZGPU_F32, 4, 5, 9, 20, 33), 2.0, 2, 300, false);
  samples[LEVELS_SPARSE] =
      make_levels(test_shape(SZGPU_F32, 3, 40, 30, 100, 0), 1e-2, 0, 700, true);
}

static int make_samples(void **state) {
  cuda_make_ctxs(state);
  serial_cpu = test_make_serial_ctx();
  make_samples_of(SZGPU_LAYOUT_LINEAR, samples);
  make_samples_of(SZGPU_LAYOUT_TILE, samples + KINDS);
  samples[TOP_PLANE] = make_top_plane(test_shape(SZGPU_BF16, 2, 300, 33, 0, 0), 0, 0);
  samples[TOP_PLANE_NO_GAPS] = make_top_plane(test_shape(SZGPU_U8, 2, 300, 33, 0, 0), 0, 1);
  samples[TOP_PLANE_FRAMES] = make_top_plane(test_shape(SZGPU_F32, 2, 300, 33, 0, 0), 64, 0);
  samples[TOP_PLANE_LONG] = make_top_plane_long();
  make_samples_of_levels();
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    field_bytes_of[i] = test_inspect(&samples[i]).field_bytes;
    bool const is_tile = (KINDS <= i && i < TOP_PLANE) || i >= LEVELS;
    assert_int_equal(test_inspect(&samples[i]).layout,
                     is_tile ? SZGPU_LAYOUT_TILE : SZGPU_LAYOUT_LINEAR);
  }
  return 0;
}

static int free_samples(void **state) {
  for (int i = 0; i < SAMPLE_COUNT; i++) free(samples[i].bytes);
  szgpu_destroy(serial_cpu);
  return cuda_destroy_ctxs(state);
}

/* ---- the comparison ---- */

static uint64_t attempts; /* a third have the archive on the device, a third the field */

/* Lets the GPU restore a new field; memory around it must not change. */
static szgpu_status decompress_on_gpu(szgpu_ctx *gpu, const test_archive *archive,
                                      size_t field_bytes, uint8_t **restored) {
  bool const is_device_archive = attempts % 3 == 1, is_device_field = attempts % 3 == 2;
  attempts++;
  size_t const all = field_bytes + 2 * GUARD;
  uint8_t *host = test_allocate(all), guard[GUARD];
  memset(host, 0xA5, all);
  memset(guard, 0xA5, GUARD);
  uint8_t *const bytes =
      is_device_archive ? cuda_copy_of(archive->bytes, archive->byte_count) : archive->bytes;
  uint8_t *const field = is_device_field ? cuda_copy_of(host, all) : host;
  szgpu_status const status =
      szgpu_decompress(gpu, bytes, archive->byte_count, field + GUARD, field_bytes);
  if (status == SZGPU_DEVICE_ERROR || status == SZGPU_NO_DEVICE)
    fail_msg("the GPU is lost: %s", szgpu_last_error(gpu)); /* further results would mean nothing */
  if (is_device_field) {
    free(host);
    host = cuda_host_copy_of(field, all);
    cuda_release(field);
  }
  if (is_device_archive) cuda_release(bytes);
  if (memcmp(host, guard, GUARD) != 0 || memcmp(host + GUARD + field_bytes, guard, GUARD) != 0)
    cuda_complain(NULL, "values around the field were written");
  memmove(host, host + GUARD, field_bytes);
  *restored = host;
  return status;
}

static szgpu_status status_on_gpu(szgpu_ctx *gpu, const test_archive *archive, size_t field_bytes) {
  uint8_t *restored;
  szgpu_status const status = decompress_on_gpu(gpu, archive, field_bytes, &restored);
  free(restored);
  return status;
}

static void is_refused_as_by_the_cpu(int sample, const test_archive *archive, const char *what,
                                     size_t where) {
  size_t const field_bytes = field_bytes_of[sample];
  uint8_t *const restored = test_allocate(field_bytes);
  szgpu_status const expected =
      szgpu_decompress(cuda_cpu, archive->bytes, archive->byte_count, restored, field_bytes);
  assert_int_not_equal(expected, SZGPU_OK);
  for (int i = 0; i < cuda_gpu_count; i++) {
    if (!cuda_reads_archive(i, &samples[sample])) continue;
    szgpu_status const found = status_on_gpu(cuda_gpus[i], archive, field_bytes);
    if (found != expected)
      cuda_complain(NULL, "sample %d, %s %zu: GPU ctx %d: %s; the CPU: %s", sample, what, where, i,
                    szgpu_status_text(found), szgpu_status_text(expected));
  }
  free(restored);
}

/* Corrects the checksums of a changed archive and compares. If the CPU's decoders disagree (only
 * the serial one reads gaps and sequence codes), the GPU may refuse the archive or not. */
static void compare(int sample, test_archive *archive, const char *what) {
  archive_rehash(archive);
  szgpu_info info = {.struct_bytes = sizeof info};
  if (szgpu_inspect(archive->bytes, archive->byte_count, &info) != SZGPU_OK) return;
  size_t const bytes = info.field_bytes <= MOST_FIELD_BYTES ? info.field_bytes : 64;
  uint8_t *const expected = test_allocate(bytes), *const serially = test_allocate(bytes);
  szgpu_status const by_table =
      szgpu_decompress(cuda_cpu, archive->bytes, archive->byte_count, expected, bytes);
  szgpu_status const by_serial =
      szgpu_decompress(serial_cpu, archive->bytes, archive->byte_count, serially, bytes);
  for (int i = 0; i < cuda_gpu_count; i++) {
    if (!cuda_reads_archive(i, &samples[sample])) continue;
    uint8_t *restored;
    szgpu_status const found = decompress_on_gpu(cuda_gpus[i], archive, bytes, &restored);
    bool const may_refuse = by_serial != SZGPU_OK, may_accept = by_table == SZGPU_OK;
    if (found > SZGPU_BAD_DATA || (found == SZGPU_OK ? !may_accept : !may_refuse))
      cuda_complain(NULL, "sample %d, %s: GPU ctx %d: %s; table: %s; serial: %s", sample, what, i,
                    szgpu_status_text(found), szgpu_status_text(by_table),
                    szgpu_status_text(by_serial));
    else if (found == SZGPU_OK && memcmp(restored, expected, bytes) != 0)
      cuda_complain(NULL, "sample %d, %s: GPU ctx %d: accepted with a wrong field", sample, what,
                    i);
    free(restored);
  }
  free(expected);
  free(serially);
}

static int rounds(int sample, int count) {
  if (sample % KINDS == LONG || sample >= TOP_PLANE) count /= 5;
  return cuda_is_quick() ? count / 40 + 1 : count;
}

/* ---- damage ---- */

static void the_samples_are_sound(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (int n = 0; n < 3; n++) { /* archive and field in every memory */
      test_archive again = archive_copy(&samples[i], samples[i].byte_count);
      compare(i, &again, "as it is");
      assert_memory_equal(again.bytes, samples[i].bytes, again.byte_count);
      free(again.bytes);
    }
  cuda_assert_no_complaints();
}

static void truncated_archives_say_so(void **state) {
  (void)state;
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (int n = 0; n < rounds(i, 200); n++) {
      size_t const cut = test_random_below(&random, samples[i].byte_count);
      test_archive archive = archive_copy(&samples[i], cut);
      is_refused_as_by_the_cpu(i, &archive, "cut at", cut);
      free(archive.bytes);
    }
  cuda_assert_no_complaints();
}

static void trailing_bytes_say_so(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (size_t more = 1; more < 40; more += 7) {
      test_archive archive = {calloc(1, samples[i].byte_count + more),
                              samples[i].byte_count + more};
      assert_non_null(archive.bytes);
      memcpy(archive.bytes, samples[i].bytes, samples[i].byte_count);
      is_refused_as_by_the_cpu(i, &archive, "trailing bytes", more);
      free(archive.bytes);
    }
  cuda_assert_no_complaints();
}

static void flipped_bits_are_found_and_named(void **state) {
  (void)state;
  cuda_skip_damage();
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    test_archive archive = archive_copy(&samples[i], samples[i].byte_count);
    for (int n = 0; n < rounds(i, 1000); n++) {
      size_t const bit = test_random_below(&random, 8 * archive.byte_count);
      archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      is_refused_as_by_the_cpu(i, &archive, "flipped bit", bit);
      archive.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(archive.bytes);
  }
  cuda_assert_no_complaints();
}

/* ---- hostility: damage with corrected checksums ---- */

/* A copy of a sample, to be changed. *first: the offset of its sections. */
static test_archive begin_change(int sample, size_t *first) {
  *first = archive_section_offset(&samples[sample], 0, 0);
  return archive_copy(&samples[sample], samples[sample].byte_count);
}

static void bytes_may_lie(void **state) {
  (void)state;
  cuda_skip_damage();
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    size_t first;
    test_archive archive = begin_change(i, &first);
    for (int n = 0; n < rounds(i, 1500) && first < archive.byte_count; n++) {
      memcpy(archive.bytes, samples[i].bytes, archive.byte_count);
      for (uint64_t lies = 1 + (n % 2 ? 0 : test_random_below(&random, 8)); lies > 0; lies--)
        archive.bytes[first + test_random_below(&random, archive.byte_count - first)] =
            (uint8_t)test_random_bits(&random);
      compare(i, &archive, "bytes of sections");
    }
    free(archive.bytes);
  }
  cuda_assert_no_complaints();
}

/* What overwrites a whole section: zeros, ones, counts of 4095 (a tile has at most 4096 values),
 * random bytes, or its contents plus 1. */
enum { SPOILS = 5 };
static void spoil(uint8_t *bytes, size_t byte_count, int how, test_random *random) {
  for (size_t i = 0; i < byte_count; i++) {
    uint8_t const spoils[SPOILS] = {0, 0xFF, i % 2 ? 0x0F : 0xFF, (uint8_t)test_random_bits(random),
                                    (uint8_t)(bytes[i] + (i % 2 ? 0 : 1))};
    bytes[i] = spoils[how];
  }
}

static void whole_sections_may_lie(void **state) {
  (void)state;
  cuda_skip_damage();
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++)
    for (uint32_t section = 0; section < archive_section_count(&samples[i], 0); section++)
      for (int how = 0; how < SPOILS; how++) {
        szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
        assert_int_equal(
            szgpu_inspect_frames(samples[i].bytes, samples[i].byte_count, 0, 1, &frame), SZGPU_OK);
        szgpu_section_info const place = frame.sections[section];
        for (size_t part = 1; part <= 4; part += 3) { /* the whole section, then its last quarter */
          test_archive archive = archive_copy(&samples[i], samples[i].byte_count);
          size_t const spoilt = (place.stored_bytes + part - 1) / part;
          spoil(archive.bytes + place.offset + place.stored_bytes - spoilt, spoilt, how, &random);
          compare(i, &archive, place.name);
          free(archive.bytes);
        }
      }
  cuda_assert_no_complaints();
}

static void numbers_of_the_headers_may_lie(void **state) {
  (void)state;
  cuda_skip_damage();
  static const uint64_t lies[] = {0,
                                  1,
                                  2,
                                  15,
                                  16,
                                  17,
                                  255,
                                  256,
                                  4096,
                                  65536,
                                  INT32_MAX,
                                  UINT32_MAX,
                                  (uint64_t)1 << 40,
                                  INT64_MAX,
                                  UINT64_MAX - 15,
                                  UINT64_MAX};
  test_random random = test_random_begin();
  for (int i = 0; i < SAMPLE_COUNT; i++) {
    size_t headers_end;
    test_archive archive = begin_change(i, &headers_end);
    for (int n = 0; n < rounds(i, 600); n++) {
      memcpy(archive.bytes, samples[i].bytes, archive.byte_count);
      archive_store(&archive, 8 + 4 * test_random_below(&random, (headers_end - 12) / 4),
                    test_random_below(&random, 2) ? 4 : 8,
                    lies[test_random_below(&random, ARRAY_COUNT(lies))]);
      compare(i, &archive, "a number of the headers");
    }
    free(archive.bytes);
  }
  cuda_assert_no_complaints();
}

/* Swaps a tile's numbers in a section of counts with those of the next tile. */
static void swap_counts(test_archive *archive, uint32_t kind, size_t tile, size_t bytes) {
  uint32_t const section = archive_section_of_kind(archive, 0, kind);
  uint8_t *const counts = archive->bytes + archive_section_offset(archive, 0, section);
  uint8_t own[8];
  memcpy(own, counts + tile * bytes, bytes);
  memcpy(counts + tile * bytes, counts + (tile + 1) * bytes, bytes);
  memcpy(counts + (tile + 1) * bytes, own, bytes);
}

/* The sums stay right: only the tile itself reveals the fault. */
static void a_raw_tile_has_no_outliers(void **state) {
  (void)state;
  cuda_skip_damage();
  enum { TILE_LONG = KINDS + LONG, RAW_TILE = 7 };
  static const struct {
    uint32_t kind;
    size_t bytes;
  } counts[] = {{SZG_SECTION_EXACT_COUNTS, 4}, {SZG_SECTION_FILL_COUNTS, 2}};
  uint8_t *const restored = test_allocate(field_bytes_of[TILE_LONG]);
  const uint8_t *const sizes =
      samples[TILE_LONG].bytes + archive_section_offset(&samples[TILE_LONG], 0, 1);
  assert_int_equal(sizes[2 * RAW_TILE] + 256 * sizes[2 * RAW_TILE + 1], SZG_TILE_VALUES);
  for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
    size_t first;
    test_archive archive = begin_change(TILE_LONG, &first);
    swap_counts(&archive, counts[i].kind, RAW_TILE, counts[i].bytes);
    compare(TILE_LONG, &archive, "outliers of a raw tile");
    for (int gpu = -1; gpu < 1; gpu++)
      assert_int_equal(szgpu_decompress(gpu < 0 ? cuda_cpu : cuda_gpus[gpu], archive.bytes,
                                        archive.byte_count, restored, field_bytes_of[TILE_LONG]),
                       SZGPU_BAD_DATA);
    free(archive.bytes);
  }
  free(restored);
  cuda_assert_no_complaints();
}

/* One row of a constant archive, headers only, that claims to hold very many values: the work
 * depends on the slab, not on the claim. */
static void a_row_of_a_claimed_huge_field_takes_no_time(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 1, 16, 0, 0, 0);
  for (int log = 30; log <= 60; log += 3) {
    uint64_t const rows = (uint64_t)1 << log;
    float *const field = test_allocate(64);
    for (int i = 0; i < 16; i++) field[i] = 1.5f;
    test_archive archive = sample_make(cuda_cpu, shape, test_params(SZGPU_MODE_REL, 1e-3), field);
    archive_store(&archive, 24, 8, rows); /* dims[0] */
    archive_store(&archive, 96, 8, rows); /* frame rows */
    archive_store(&archive, archive_frame_offset(&archive, 0) + 16, 8, rows);
    archive_rehash(&archive);
    float row = 0;
    clock_t const start = clock();
    szgpu_status const status = szgpu_decompress_slab(
        cuda_gpus[0], archive.bytes, archive.byte_count, rows - 1, 1, &row, sizeof row);
    double const seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    free(archive.bytes);
    assert_true(status == SZGPU_OK || status == SZGPU_OUT_OF_MEMORY || status == SZGPU_BAD_DATA);
    if (status == SZGPU_OK) assert_true(row == 1.5f);
    if (!cuda_is_quick() && seconds > 1.0) fail_msg("a row of 2^%d took %.1f s", log, seconds);
  }
}

int main(void) {
  int const exit_code = cuda_exit_code();
  if (exit_code) return exit_code;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_samples_are_sound),
      cmocka_unit_test(truncated_archives_say_so),
      cmocka_unit_test(trailing_bytes_say_so),
      cmocka_unit_test(flipped_bits_are_found_and_named),
      cmocka_unit_test(bytes_may_lie),
      cmocka_unit_test(whole_sections_may_lie),
      cmocka_unit_test(numbers_of_the_headers_may_lie),
      cmocka_unit_test(a_raw_tile_has_no_outliers),
      cmocka_unit_test(a_row_of_a_claimed_huge_field_takes_no_time),
  };
  return cmocka_run_group_tests(tests, make_samples, free_samples);
}
