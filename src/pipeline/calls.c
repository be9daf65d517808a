/* calls.c - what every public call does: takes its ctx, checks its arguments, gives memory back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pipeline/calls.h"

#include <string.h>

#include "container/compact.h"
#include "huffman/decoders/decoders.h"
#include "pipeline/backend.h"
#include "pipeline/pipeline.h"
#include "values/mapping.h"

enum { MOST_ZSTD_LEVEL = 19 };
enum { FIRST_BYTES = 4096 }; /* of an archive of which nothing is there */

/* A ctx keeps a workspace of this size, with so much for each thread, or of so many times what the
 * call's field and archive take: more than any honest archive needs. */
enum { ALWAYS_KEPT_BYTES = 128 << 20, KEPT_THREAD_BYTES = 4 << 20, MOST_KEPT_TIMES = 16 };

/* Why szg_take_struct refuses params. */
static szgpu_status refuse_params(szgpu_ctx *ctx, size_t given_bytes) {
  if (given_bytes < SZG_FIRST_PARAMS_BYTES)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "params.struct_bytes is %zu, less than any version has; start from "
                    "SZGPU_PARAMS_DEFAULTS",
                    given_bytes);
  return szg_fail(
      ctx, SZGPU_BAD_ARGUMENT,
      "params sets members that libszgpu %s does not have; link with the version of the "
      "szgpu.h that the program was compiled with, or a later one",
      SZGPU_VERSION_STRING);
}

bool szg_take_struct(const void *given, size_t given_bytes, size_t first_bytes, void *known,
                     size_t known_bytes) {
  if (given_bytes < first_bytes) return false;
  for (size_t i = known_bytes; i < given_bytes; i++)
    if (((const uint8_t *)given)[i]) return false;
  memset(known, 0, known_bytes);
  memcpy(known, given, given_bytes < known_bytes ? given_bytes : known_bytes);
  return true;
}

szgpu_status szg_begin_call(szgpu_ctx *ctx) {
  SZG_REQUIRE(ctx, SZGPU_BAD_ARGUMENT);
  SZG_REQUIRE(!__atomic_exchange_n(&ctx->is_busy, true, __ATOMIC_ACQUIRE), SZGPU_BAD_ARGUMENT);
  ctx->error[0] = ctx->note[0] = '\0';
  ctx->callers_bytes = UINT64_MAX;
  ctx->threads.reported_values = ctx->threads.total_values = 0;
  ctx->account.refused_bytes = 0;
  ctx->kept_bytes = ctx->account.taken_bytes;
  szg_environment_enter(&ctx->callers_environment);
  return SZGPU_OK;
}

void szg_give_memory_back(szgpu_ctx *ctx) {
  szg_release_memory_cuda(ctx);
  szg_ctx_release_buffers(ctx);
}

/* Whether the call has made the workspace larger than any honest field and archive would. */
static bool took_too_much(const szgpu_ctx *ctx) {
  uint64_t const taken = ctx->account.taken_bytes;
  uint64_t const always_kept = ALWAYS_KEPT_BYTES + (uint64_t)ctx->threads.count * KEPT_THREAD_BYTES;
  return taken > ctx->kept_bytes && taken > always_kept &&
         taken / MOST_KEPT_TIMES > ctx->callers_bytes;
}

szgpu_status szg_leave_call(szgpu_ctx *ctx, szgpu_status status) {
  szg_environment_leave(&ctx->callers_environment);
  __atomic_store_n(&ctx->is_busy, false, __ATOMIC_RELEASE);
  return status;
}

szgpu_status szg_end_call(szgpu_ctx *ctx, szgpu_status status) {
  szg_account const account = ctx->account;
  if (status != SZGPU_OK || took_too_much(ctx)) szg_give_memory_back(ctx);
  if (status == SZGPU_MEMORY_LIMIT && account.refused_bytes)
    status = szg_fail(ctx, status, "it needs %llu bytes or more, and its limit is %llu",
                      (unsigned long long)account.refused_bytes,
                      (unsigned long long)account.limit_bytes);
  return szg_leave_call(ctx, status);
}

/* Refuses parameters that mean nothing in a lossless call, unless they have their default
 * values. */
static szgpu_status check_lossless(szgpu_ctx *ctx, const szgpu_params *params) {
  if (params->radius || params->has_fill)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "radius and fill value are not for the lossless mode");
  return SZGPU_OK;
}

/* Refuses a declared magnitude, and what goes with it, where they mean nothing. */
static szgpu_status check_declared(szgpu_ctx *ctx, const szgpu_params *params) {
  if (params->greatest == 0.0 && !params->raw_outliers) return SZGPU_OK;
  if (params->greatest == 0.0)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "raw_outliers needs a greatest magnitude");
  if (!szg_is_positive(params->greatest))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "a greatest magnitude of %g is not finite and above 0",
                    params->greatest);
  if (params->mode != SZGPU_MODE_ABS)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "a greatest magnitude is for absolute bounds only: leave it out");
  uint32_t const traits =
      szg_call_traits(params) & (SZG_KIND_HAS_RAW_OUTLIERS | SZG_KIND_INTERPOLATES);
  if (params->raw_outliers && traits != SZG_KIND_HAS_RAW_OUTLIERS)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "raw_outliers is for the tile layout and the predictor lorenzo");
  return SZGPU_OK;
}

/* Refuses wishes to keep something that are unknown, or that a declared magnitude cannot grant. */
static szgpu_status check_keep(szgpu_ctx *ctx, const szgpu_params *params) {
  if (params->keep & ~(uint64_t)SZGPU_KEEP_ALL)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "keep has unknown bits: 0x%llx",
                    (unsigned long long)params->keep);
  if (params->more_fill_count > SZG_MOST_MORE_FILLS)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "%u more fill values are over %d",
                    params->more_fill_count, (int)SZG_MOST_MORE_FILLS);
  if (params->more_fill_count && !params->has_fill)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "more fill values need a first one");
  if (params->has_valid && !(params->valid_least <= params->valid_greatest))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "valid values from %.17g to %.17g are none",
                    params->valid_least, params->valid_greatest);
  if (params->has_valid && params->mode == SZGPU_MODE_PWREL)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "a bound relative to each value cannot keep a range of valid values");
  if (((params->keep & ~(uint64_t)SZGPU_KEEP_RESTORED) || params->more_fill_count ||
       params->has_valid) &&
      params->greatest != 0.0)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "a greatest magnitude skips the scan of the values, which is needed to keep "
                    "their range or missing values; leave one of the two out");
  return SZGPU_OK;
}

static szgpu_status check_params(szgpu_ctx *ctx, const szgpu_params *params) {
  if (params->mode > SZGPU_MODE_PWREL)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "there is no mode %d", (int)params->mode);
  if (params->source & ~(uint32_t)SZGPU_SOURCE_ALL)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "source has unknown bits: 0x%x", params->source);
  if (params->layout > SZGPU_LAYOUT_TILE)
    return szg_fail(ctx, SZGPU_UNSUPPORTED, "there is no layout %d", (int)params->layout);
  uint32_t const traits = szg_call_traits(params);
  if (params->mode == SZGPU_MODE_LOSSLESS) SZG_TRY(check_lossless(ctx, params));
  if (params->mode != SZGPU_MODE_LOSSLESS && !szg_is_positive(params->bound))
    return szg_fail(ctx, SZGPU_BAD_BOUND, "the bound is %g", params->bound);
  if (params->mode == SZGPU_MODE_PWREL && !(params->bound < 1.0))
    return szg_fail(ctx, SZGPU_BAD_BOUND, "a bound relative to each value of %g is not below 1",
                    params->bound);
  if (params->radius && (params->radius < SZG_MIN_RADIUS || params->radius > SZG_MAX_RADIUS))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "a radius of %u is not in 2 .. 32768", params->radius);
  if (params->radius && !(traits & SZG_KIND_HAS_RADIUS))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "a radius is for the linear layout only");
  if (params->without_gaps && !(traits & SZG_KIND_HAS_GAPS))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "only the linear layout has a gap array to leave out");
  if (params->predictor > SZGPU_PREDICTOR_INTERPOLATION)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "there is no predictor %d", (int)params->predictor);
  if (params->predictor == SZGPU_PREDICTOR_INTERPOLATION && !(traits & SZG_KIND_INTERPOLATES))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    "interpolation is for the tile layout and modes with a bound");
  if (params->zstd_level < 0 || params->zstd_level > MOST_ZSTD_LEVEL)
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "a zstd level of %d is not in 0 .. 19",
                    params->zstd_level);
  SZG_TRY(check_keep(ctx, params));
  return check_declared(ctx, params);
}

szgpu_status szg_check_request(szgpu_ctx *ctx, const szgpu_params *given, const szgpu_shape *shape,
                               szgpu_params *params, szg_grid *grid) {
  SZG_REQUIRE(given && shape, SZGPU_BAD_ARGUMENT);
  if (!szg_take_struct(given, given->struct_bytes, SZG_FIRST_PARAMS_BYTES, params, sizeof *params))
    return refuse_params(ctx, given->struct_bytes);
  SZG_TRY(check_params(ctx, params));
  SZG_TRY(szg_grid_of_shape(shape, grid));
  if (!szg_dtype_has_mode(shape->dtype, params->mode))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                    params->mode == SZGPU_MODE_PWREL
                        ? "a bound relative to each value is for f32 and f64 only: use abs"
                        : "values of this type can only be compressed losslessly");
  if (!szg_source_is_sound(params->source, params->mode, shape))
    return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "an empty file is one u8 in its place, lossless");
  szg_mapping const mapping = szg_mapping_of_params(params, shape->dtype);
  for (uint32_t i = 0; i < szg_call_fill_count(params); i++) {
    double const fill = szg_call_fill(params, i);
    if (!szg_mapping_has_value(&mapping, fill))
      return szg_fail(
          ctx, SZGPU_BAD_ARGUMENT,
          "the fill value %.17g is not representable in the field's type: name one that is", fill);
  }
  return SZGPU_OK;
}

uint64_t szg_field_bytes(const szgpu_shape *shape, const szg_grid *grid) {
  return grid->value_count * szg_dtype_bytes(shape->dtype);
}

szgpu_status szg_check_decoder(szgpu_ctx *ctx, const szg_header *header) {
  szgpu_decoder const decoder = ctx->options.decoder;
  const char *const refusal =
      szg_decoder_refusal(decoder, header->mode, header->layout, header->has_gaps);
  if (!refusal) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_UNSUPPORTED, "the archive %s: the decoder %s does not read it",
                  refusal, szg_decoder_name(decoder));
}

szgpu_status szg_check_apart(szgpu_ctx *ctx, const void *field, uint64_t field_bytes,
                             const void *archive, uint64_t archive_bytes) {
  uintptr_t const first = (uintptr_t)field, second = (uintptr_t)archive;
  bool const is_apart =
      first < second ? second - first >= field_bytes : first - second >= archive_bytes;
  if (is_apart) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT,
                  "the field and the archive share memory: give each its own");
}

szgpu_status szg_check_alignment(szgpu_ctx *ctx, szgpu_dtype dtype, const void *field) {
  if ((uintptr_t)field % szg_dtype_bytes(dtype) == 0) return SZGPU_OK;
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "the field is not aligned as its values must be");
}

szgpu_status szg_open_archive(szgpu_ctx *ctx, const void *archive, size_t archive_bytes,
                              bool on_device, szg_opened *opened) {
  SZG_TRY(on_device ? szg_open_cuda(ctx, archive, archive_bytes, opened)
                    : szg_open(archive, archive_bytes, &ctx->kept[SZG_KEPT_HEAD], opened));
  SZG_TRY(szg_check_decoder(ctx, &opened->header)); /* first, as a stream must */
  uint64_t const stated_bytes = opened->archive_bytes;
  if (archive_bytes == stated_bytes) return SZGPU_OK;
  return szg_fail(ctx, archive_bytes < stated_bytes ? SZGPU_TRUNCATED : SZGPU_TRAILING_BYTES,
                  "it has %llu bytes and should have %llu", (unsigned long long)archive_bytes,
                  (unsigned long long)stated_bytes);
}

szgpu_status szg_open_part(szgpu_ctx *ctx, const void *archive, szg_asking *asking,
                           szg_opened *opened, bool *is_open) {
  uint64_t const there = szg_present_from_start(asking);
  uint64_t header_bytes = FIRST_BYTES;
  *is_open = false;
  if (there < szg_min_u64(SZG_HEADER_BYTES, asking->archive_bytes))
    return szg_ask(asking, 0, szg_min_u64(FIRST_BYTES, asking->archive_bytes));
  if (szg_is_compact(archive, there) && there < asking->archive_bytes)
    return szg_ask(asking, 0, asking->archive_bytes);
  szgpu_status const status = szg_open_in_place(archive, there, opened);
  bool const is_cut = status == SZGPU_TRUNCATED && there >= SZG_HEADER_BYTES;
  if (is_cut && szg_header_bytes(&opened->header, &header_bytes) && header_bytes > there)
    return szg_ask(asking, 0, header_bytes);
  SZG_TRY(status);
  *is_open = true;
  SZG_TRY(szg_open_archive(ctx, archive, asking->archive_bytes, false, opened));
  if (!opened->is_compact) opened->asking = asking;
  return SZGPU_OK;
}

szgpu_status szg_check_field(szgpu_ctx *ctx, const void *archive, const szg_opened *opened,
                             uint64_t value_count, const void *field, size_t field_bytes) {
  szgpu_dtype const dtype = opened->header.shape.dtype;
  uint64_t const needed_bytes = value_count * szg_dtype_bytes(dtype);
  SZG_TRY(szg_check_alignment(ctx, dtype, field));
  ctx->callers_bytes = opened->archive_bytes + field_bytes;
  if (field_bytes == needed_bytes)
    return szg_check_apart(ctx, field, field_bytes, archive, opened->archive_bytes);
  return szg_fail(ctx, SZGPU_BAD_ARGUMENT, "the values take %llu bytes, not %llu",
                  (unsigned long long)needed_bytes, (unsigned long long)field_bytes);
}
