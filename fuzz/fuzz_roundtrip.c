/* fuzz_roundtrip.c - any bytes as a field of any type and shape, with any params, there and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The bound is checked exactly. The archive's bytes do not depend on threads, capacity, AVX2 or the
 * caller's floating-point environment, and all ways to restore it agree.
 */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_parts.h"
#include "bound_check.h"
#include "field_case.h"

enum { FEW_THREADS = 2, MANY_THREADS = 7, DECODERS = 8 };

static const szgpu_decoder decoders[] = {SZGPU_DECODER_AUTO,        SZGPU_DECODER_SERIAL,
                                         SZGPU_DECODER_TABLE,       SZGPU_DECODER_SELF_SYNC,
                                         SZGPU_DECODER_ALL_OFFSETS, SZGPU_DECODER_HIERARCHICAL};
enum { DECODER_COUNT = sizeof decoders / sizeof *decoders };

static szgpu_ctx *by_decoder[DECODERS]; /* of one thread */
static szgpu_ctx *few, *many;

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  for (int i = 0; i < DECODER_COUNT; i++)
    by_decoder[decoders[i]] = fuzz_make_ctx(SZGPU_BACKEND_CPU, decoders[i], 1);
  few = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, FEW_THREADS);
  many = fuzz_make_ctx(SZGPU_BACKEND_CPU, SZGPU_DECODER_AUTO, MANY_THREADS);
  return 0;
}

/* ---- the caller's floating-point environment ---- */

#if defined(__x86_64__)
#include <immintrin.h>
enum { FLUSH = 0x8040, STATUS_BITS = 0x3F }; /* denormals to zero, as operands and results */
static unsigned environment(void) { return _mm_getcsr() & ~(unsigned)STATUS_BITS; }
static void flush_denormals(void) { _mm_setcsr(_mm_getcsr() | FLUSH); }
#else
static unsigned environment(void) { return (unsigned)fegetround(); }
static void flush_denormals(void) {}
#endif

/* One of eight environments; returns it, to be compared after the call. */
static unsigned disturb_environment(uint64_t choice) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  fesetround(modes[choice % 4]);
  if (choice & 4) flush_denormals();
  return environment();
}

static void restore_environment(unsigned expected) {
  unsigned const after = environment();
  fesetenv(FE_DFL_ENV);
  FUZZ_CHECK(after == expected, "the call left another floating-point environment");
}

/* ---- there ---- */

typedef struct made_archive {
  uint8_t *bytes; /* owned */
  size_t capacity, byte_count;
} made_archive;

static bool has_sound_bound(const szgpu_params *params) {
  double const most = params->mode == SZGPU_MODE_PWREL ? nextafter(1.0, 0.0) : DBL_MAX;
  return params->mode == SZGPU_MODE_LOSSLESS || (params->bound > 0.0 && params->bound <= most);
}

static szgpu_status compress(szgpu_ctx *ctx, const field_case *c, size_t capacity,
                             fuzz_random *random, made_archive *archive) {
  fuzz_choose_avx2(random);
  *archive = (made_archive){fuzz_allocate(capacity), capacity, 0};
  return szgpu_compress(ctx, &c->params, &c->shape, c->field, archive->bytes, capacity,
                        &archive->byte_count);
}

static void check_same_bytes(szgpu_ctx *ctx, const field_case *c, const made_archive *archive,
                             size_t capacity, fuzz_random *random) {
  made_archive again;
  szgpu_status const status = compress(ctx, c, capacity, random, &again);
  if (status == SZGPU_OK)
    FUZZ_CHECK(again.byte_count == archive->byte_count &&
                   memcmp(again.bytes, archive->bytes, archive->byte_count) == 0,
               "other bytes the second time");
  else /* the sections of a frame that becomes raw may not fit where the frame does */
    FUZZ_CHECK(status == SZGPU_CAPACITY && capacity < archive->capacity, "then %s",
               szgpu_status_text(status));
  free(again.bytes);
}

static void check_small_capacity(const field_case *c, size_t capacity, fuzz_random *random) {
  made_archive small;
  szgpu_status const status = compress(by_decoder[SZGPU_DECODER_AUTO], c, capacity, random, &small);
  FUZZ_CHECK(status == SZGPU_CAPACITY, "too small a capacity gives %d", status);
  free(small.bytes);
}

/* False if the bound is refused, and should be. */
static bool make_archive(const field_case *c, fuzz_random *random, made_archive *archive) {
  szgpu_ctx *const ctx = by_decoder[SZGPU_DECODER_AUTO];
  size_t most_bytes;
  szgpu_status status = szgpu_sizes(ctx, &c->params, &c->shape, NULL, &most_bytes);
  if (!has_sound_bound(&c->params)) {
    FUZZ_CHECK(status == SZGPU_BAD_BOUND, "a bound of %g gives %d", c->params.bound, status);
    return false;
  }
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_sizes: %s", szgpu_last_error(ctx));
  unsigned const around = disturb_environment(fuzz_bits(random));
  status = compress(ctx, c, most_bytes, random, archive);
  restore_environment(around);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_compress: %s %s", szgpu_status_text(status),
             szgpu_last_error(ctx));
  if (fuzz_one_in(random, 4)) check_same_bytes(ctx, c, archive, archive->byte_count, random);
  if (fuzz_one_in(random, 4))
    check_small_capacity(c, fuzz_below(random, archive->byte_count), random);
  if (fuzz_one_in(random, 16)) {
    check_same_bytes(few, c, archive, most_bytes, random);
    check_same_bytes(many, c, archive, most_bytes, random);
    fuzz_count("threads");
  }
  return true;
}

/* Checksums are as docs/format.md says: computing them again changes nothing. */
static void check_checksums(const made_archive *archive) {
  uint8_t *const mended = fuzz_copy(archive->bytes, archive->byte_count);
  archive_mend(mended, archive->byte_count);
  FUZZ_CHECK(memcmp(mended, archive->bytes, archive->byte_count) == 0,
             "checksums are not as documented");
  free(mended);
}

/* ---- and back ---- */

static void check_info(const field_case *c, const made_archive *archive, szgpu_info *info) {
  info->struct_bytes = sizeof *info;
  szgpu_status status = szgpu_inspect(archive->bytes, archive->byte_count, info);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_inspect: %s", szgpu_status_text(status));
  FUZZ_CHECK(info->field_bytes == c->field_bytes && info->shape.ndim == c->shape.ndim &&
                 info->shape.dtype == c->shape.dtype && info->mode == c->params.mode &&
                 info->layout == c->params.layout && info->source == c->params.source &&
                 info->archive_bytes == archive->byte_count,
             "the archive does not say what was asked for");
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  for (uint64_t i = 0; i < info->frame_count; i++) {
    status = szgpu_inspect_frames(archive->bytes, archive->byte_count, i, 1, &frame);
    FUZZ_CHECK(status == SZGPU_OK, "szgpu_inspect_frames: %s", szgpu_status_text(status));
    fuzz_count(frame.kind);
  }
}

static void check_restored(szgpu_ctx *ctx, const field_case *c, const made_archive *archive,
                           fuzz_random *random, const uint8_t *restored) {
  fuzz_choose_avx2(random);
  uint8_t *const again = fuzz_allocate(c->field_bytes);
  memset(again, 0x5A, c->field_bytes);
  szgpu_status const status =
      szgpu_decompress(ctx, archive->bytes, archive->byte_count, again, c->field_bytes);
  FUZZ_CHECK(status == SZGPU_OK, "another ctx: %s", szgpu_status_text(status));
  FUZZ_CHECK(memcmp(again, restored, c->field_bytes) == 0, "another ctx restores other values");
  free(again);
}

static void check_slab(const field_case *c, const made_archive *archive, fuzz_random *random,
                       const uint8_t *restored) {
  uint64_t const rows = c->shape.dims[0], first = fuzz_below(random, rows);
  uint64_t const count = 1 + fuzz_below(random, rows - first);
  size_t const row_bytes = c->field_bytes / rows;
  uint8_t *const slab = fuzz_allocate(count * row_bytes);
  szgpu_status const status =
      szgpu_decompress_slab(by_decoder[SZGPU_DECODER_AUTO], archive->bytes, archive->byte_count,
                            first, count, slab, count * row_bytes);
  FUZZ_CHECK(status == SZGPU_OK, "a slab: %s", szgpu_status_text(status));
  FUZZ_CHECK(memcmp(slab, restored + first * row_bytes, count * row_bytes) == 0,
             "a slab is not what the whole has there");
  free(slab);
}

static void restore(const field_case *c, const made_archive *archive, fuzz_random *random) {
  szgpu_info info = {0};
  check_info(c, archive, &info);
  uint8_t *const restored = fuzz_allocate(c->field_bytes);
  memset(restored, 0xA5, c->field_bytes);
  unsigned const around = disturb_environment(fuzz_bits(random));
  szgpu_status const status = szgpu_decompress(by_decoder[SZGPU_DECODER_AUTO], archive->bytes,
                                               archive->byte_count, restored, c->field_bytes);
  restore_environment(around);
  FUZZ_CHECK(status == SZGPU_OK, "szgpu_decompress: %s", szgpu_status_text(status));
  if (c->params.mode == SZGPU_MODE_LOSSLESS)
    FUZZ_CHECK(memcmp(restored, c->field, c->field_bytes) == 0, "bits are lost");
  else
    check_bound(c, &info, restored);
  for (int i = 0; i < DECODER_COUNT; i++)
    if (szgpu_decoder_reads(decoders[i], &info))
      check_restored(by_decoder[decoders[i]], c, archive, random, restored);
  if (fuzz_one_in(random, 16)) check_restored(many, c, archive, random, restored);
  check_slab(c, archive, random, restored);
  free(restored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < CASE_HEADER_BYTES) return 0;
  fuzz_random random = fuzz_random_of(data, size);
  field_case c = case_make(data, size);
  made_archive archive;
  if (make_archive(&c, &random, &archive)) {
    check_checksums(&archive);
    restore(&c, &archive, &random);
    free(archive.bytes);
  }
  free(c.field);
  return 0;
}
