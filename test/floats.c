/* floats.c - there and back, and the exact check, in host memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "floats.h"

#include <float.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* For products that a bound must not exceed. */
#if LDBL_MANT_DIG >= 113
typedef long double quad;
#else
__extension__ typedef __float128 quad;
#endif

/* ---- messages ---- */

static void print_case(const floats_worker *worker) {
  static const char *const modes[] = {"rel", "abs", "psnr", "lossless"};
  static const char *const dtypes[] = {"f32", "f64", "u8", "bf16", "f16", "fp8"};
  static const char *const predictors[] = {"auto", "lorenzo", "interpolation"};
  const szgpu_params *const p = &worker->params;
  printf("  %s %a (%g), %s layout, predictor %s, frame rows %llu, %s", modes[p->mode], p->bound,
         p->bound, p->layout == SZGPU_LAYOUT_TILE ? "tile" : "linear", predictors[p->predictor],
         (unsigned long long)p->frame_rows, dtypes[worker->shape.dtype]);
  for (int i = 0; i < worker->shape.ndim; i++)
    printf("%s%llu", i ? "x" : " ", (unsigned long long)worker->shape.dims[i]);
  if (p->has_fill) printf(", fill %a", p->fill);
  printf("\n  again: %s --only %s --case %llu --block-bits %u%s\n", worker->program, worker->sweep,
         (unsigned long long)worker->number, worker->options->block_bits,
         worker->options->every_way ? " --every-way" : "");
}

void floats_fail(const floats_worker *worker, const char *format, ...) {
  static pthread_mutex_t only_one = PTHREAD_MUTEX_INITIALIZER; /* never unlocked */
  pthread_mutex_lock(&only_one);
  va_list arguments;
  va_start(arguments, format);
  printf("FAILED: ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  print_case(worker);
  fflush(stdout);
  _Exit(1);
}

void floats_must(const floats_worker *worker, szgpu_status status, const char *what) {
  if (status != SZGPU_OK)
    floats_fail(worker, "%s: %s; %s", what, szgpu_status_text(status),
                szgpu_last_error(worker->ctx));
}

void floats_fail_value(const floats_worker *worker, const floats_claim *claim, uint64_t index,
                       uint64_t bits, uint64_t restored_bits) {
  bool const is_f32 = worker->shape.dtype == SZGPU_F32;
  double const x = is_f32 ? floats_value_f32((uint32_t)bits) : floats_value_f64(bits);
  double const restored =
      is_f32 ? floats_value_f32((uint32_t)restored_bits) : floats_value_f64(restored_bits);
  floats_fail(worker, "value %llu, 0x%llx (%a), became 0x%llx (%a); the bound is %a",
              (unsigned long long)index, (unsigned long long)bits, x,
              (unsigned long long)restored_bits, restored, claim->bound);
}

/* ---- memory and shapes ---- */

void *floats_room(const floats_worker *worker, floats_buffer *buffer, size_t bytes) {
  if (bytes <= buffer->capacity) return buffer->bytes;
  free(buffer->bytes);
  buffer->bytes = malloc(bytes);
  buffer->capacity = bytes;
  if (!buffer->bytes) floats_fail(worker, "no memory for %zu bytes", bytes);
  return buffer->bytes;
}

uint64_t floats_value_count(const szgpu_shape *shape) {
  uint64_t count = 1;
  for (int i = 0; i < shape->ndim; i++) count *= shape->dims[i];
  return count;
}

size_t floats_value_bytes(szgpu_dtype dtype) {
  static const uint8_t bytes[] = {4, 8, 1, 2, 2, 1}; /* in the order of szgpu_dtype */
  return bytes[dtype];
}

void floats_set_way(uint64_t way, szgpu_params *params) {
  static const szgpu_predictor predictors[] = {SZGPU_PREDICTOR_INTERPOLATION,
                                               SZGPU_PREDICTOR_LORENZO, SZGPU_PREDICTOR_AUTO};
  bool const is_lossless = params->mode == SZGPU_MODE_LOSSLESS;
  params->layout = way == 3 ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
  params->predictor = way == 3 || is_lossless ? SZGPU_PREDICTOR_AUTO : predictors[way];
}

/* ---- what an archive must say ---- */

static void check_bound(const floats_worker *worker, const floats_facts *facts, double stated) {
  const szgpu_params *const p = &worker->params;
  bool const has_range = facts->least < facts->greatest;
  quad const range = has_range ? (quad)facts->greatest - (quad)facts->least : 0;
  quad wanted = p->bound;
  quad slack = 0; /* relative, downwards */
  if (p->mode == SZGPU_MODE_REL) {
    wanted *= range;
    slack = 0x1p-50; /* two roundings, two steps down */
    if ((quad)stated > wanted * (1 + (quad)1e-30))
      floats_fail(worker, "the archive states a bound of %a, above range * bound", stated);
  } else if (p->mode == SZGPU_MODE_PSNR) {
    wanted = range * (quad)(sqrtl(3.0L) * powl(10.0L, -(long double)p->bound / 20.0L));
    slack = 1e-12L;
    if ((quad)stated > wanted * (1 + slack))
      floats_fail(worker, "the archive states a bound of %a, above that of the PSNR", stated);
  } else if (stated != p->bound) {
    floats_fail(worker, "the archive states a bound of %a", stated);
  }
  bool const is_ordinary = wanted >= 0x1p-1000 && wanted <= DBL_MAX; /* of full precision */
  if (is_ordinary && (quad)stated < wanted * (1 - slack))
    floats_fail(worker, "the archive states a bound of %a, less than was asked for", stated);
}

static floats_path path_of(const floats_worker *worker, const szgpu_frame_info *frame) {
  uint32_t const bits = frame->lattice_bits;
  if (strcmp(frame->kind, "tile") == 0)
    return bits == 16 ? FLOATS_TILE_16 : bits == 32 ? FLOATS_TILE_32 : FLOATS_TILE_64;
  if (strcmp(frame->kind, "levels") == 0)
    return frame->level_count == 0 ? FLOATS_LEVELS_BASE
           : bits == 64            ? FLOATS_LEVELS_WIDE
                                   : FLOATS_LEVELS_NARROW;
  if (strcmp(frame->kind, "linear") == 0) return FLOATS_LINEAR;
  if (strcmp(frame->kind, "planes") == 0) return FLOATS_PLANES;
  if (strcmp(frame->kind, "top plane") == 0) return FLOATS_TOP_PLANE;
  if (strcmp(frame->kind, "constant") == 0) return FLOATS_CONSTANT;
  if (strcmp(frame->kind, "raw") == 0) return FLOATS_RAW;
  floats_fail(worker, "a frame is of kind %s", frame->kind);
}

floats_claim floats_examine(floats_worker *worker, const floats_facts *facts, const uint8_t *head,
                            size_t head_bytes, size_t archive_bytes) {
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_frame_info frame = SZGPU_FRAME_INFO_DEFAULTS;
  floats_must(worker, szgpu_inspect(head, head_bytes, &info), "inspect");
  floats_must(worker, szgpu_inspect_frames(head, head_bytes, 0, 1, &frame), "inspect frames");
  floats_tally *const tally = &worker->tally;
  tally->archives++;
  tally->archive_bytes += archive_bytes;
  tally->field_bytes += info.field_bytes;
  tally->values += floats_value_count(&worker->shape);
  tally->paths[path_of(worker, &frame)]++;
  if (worker->params.mode == SZGPU_MODE_LOSSLESS) return (floats_claim){-1.0, false, 0};
  check_bound(worker, facts, info.absolute_bound);
  if ((info.has_fill != 0) != facts->has_fill ||
      (info.has_fill && info.fill_bits != facts->fill_bits))
    floats_fail(worker, "the archive has the fill value %d, 0x%llx, but the field has %d, 0x%llx",
                info.has_fill, (unsigned long long)info.fill_bits, facts->has_fill,
                (unsigned long long)facts->fill_bits);
  return (floats_claim){info.absolute_bound, facts->has_fill, facts->fill_bits};
}

/* ---- fields in host memory ---- */

static uint64_t known_fill(szgpu_dtype dtype, uint32_t i) {
  static const uint64_t fills_f64[] = {0x4415AF1D78B58C40,
                                       0x479E000000000000,
                                       0xC6FED09BEAD87C03,
                                       0x476812F9CF7920E3,
                                       0x46293E5939A08CEA,
                                       0x4733426172C74D82,
                                       0x430C6BF526340000,
                                       0xC7EFFFFFE0000000,
                                       0x4415AF1D80000000,
                                       0xC6FED09BE0000000,
                                       0x476812F9C0000000,
                                       0x46293E5940000000,
                                       0x4733426180000000,
                                       0x430C6BF520000000,
                                       0x7FF8000000000000,
                                       0xFFF8000000000000,
                                       0};
  return dtype == SZGPU_F32 ? floats_known_fill_f32(i) : fills_f64[i];
}

static inline uint64_t bits_at(szgpu_dtype dtype, const void *field, uint64_t i) {
  return dtype == SZGPU_F32 ? ((const uint32_t *)field)[i] : ((const uint64_t *)field)[i];
}

static inline double value_of(szgpu_dtype dtype, uint64_t bits) {
  return dtype == SZGPU_F32 ? floats_value_f32((uint32_t)bits) : floats_value_f64(bits);
}

/* Which of the known fill values the field has, by bits. */
static inline uint32_t fills_of(szgpu_dtype dtype, const void *field, uint64_t count) {
  uint64_t const least_bits = dtype == SZGPU_F32 ? 0x58635FA9 : 0x430C6BF520000000; /* 1e15 */
  uint64_t const magnitude = dtype == SZGPU_F32 ? INT32_MAX : INT64_MAX;
  uint32_t seen = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = bits_at(dtype, field, i);
    if ((bits & magnitude) < least_bits) continue;
    for (uint32_t k = 0; known_fill(dtype, k); k++)
      if (known_fill(dtype, k) == bits) seen |= 1u << k;
  }
  return seen;
}

static inline floats_facts facts_of(const szgpu_params *params, szgpu_dtype dtype,
                                    const void *field, uint64_t count) {
  floats_facts facts = {false, 0, INFINITY, -INFINITY};
  if (params->mode == SZGPU_MODE_LOSSLESS) return facts;
  uint32_t const seen = params->has_fill ? 0 : fills_of(dtype, field, count);
  if (params->has_fill) {
    float const fill_f32 = (float)params->fill;
    uint32_t bits_f32;
    memcpy(&bits_f32, &fill_f32, sizeof bits_f32);
    memcpy(&facts.fill_bits, &params->fill, sizeof facts.fill_bits);
    if (dtype == SZGPU_F32) facts.fill_bits = bits_f32;
  } else if (seen) {
    facts.fill_bits = known_fill(dtype, (uint32_t)__builtin_ctz(seen));
  }
  facts.has_fill = params->has_fill || seen;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t const bits = bits_at(dtype, field, i);
    double const value = value_of(dtype, bits);
    if (!(fabs(value) < INFINITY) || (facts.has_fill && bits == facts.fill_bits)) continue;
    if (value < facts.least) facts.least = value;
    if (value > facts.greatest) facts.greatest = value;
  }
  return facts;
}

static floats_facts find_facts(const floats_worker *worker) {
  uint64_t const count = floats_value_count(&worker->shape);
  if (worker->shape.dtype == SZGPU_F32)
    return facts_of(&worker->params, SZGPU_F32, worker->field.bytes, count);
  return facts_of(&worker->params, SZGPU_F64, worker->field.bytes, count);
}

static uint64_t check_f32(const floats_worker *worker, const floats_claim *claim, uint64_t count) {
  const uint32_t *const field = worker->field.bytes, *const restored = worker->restored.bytes;
  uint64_t changed = 0;
  for (uint64_t i = 0; i < count; i++) {
    changed += field[i] != restored[i];
    if (!floats_is_kept_f32(claim, field[i], restored[i]))
      floats_fail_value(worker, claim, i, field[i], restored[i]);
  }
  return changed;
}

static uint64_t check_f64(const floats_worker *worker, const floats_claim *claim, uint64_t count) {
  const uint64_t *const field = worker->field.bytes, *const restored = worker->restored.bytes;
  uint64_t changed = 0;
  for (uint64_t i = 0; i < count; i++) {
    changed += field[i] != restored[i];
    if (!floats_is_kept_f64(claim, field[i], restored[i]))
      floats_fail_value(worker, claim, i, field[i], restored[i]);
  }
  return changed;
}

static void check_values(floats_worker *worker, const floats_claim *claim, size_t field_bytes) {
  uint64_t const count = floats_value_count(&worker->shape);
  szgpu_dtype const dtype = worker->shape.dtype;
  if (dtype == SZGPU_F32)
    worker->tally.changed_values += check_f32(worker, claim, count);
  else if (dtype == SZGPU_F64)
    worker->tally.changed_values += check_f64(worker, claim, count);
  else if (memcmp(worker->field.bytes, worker->restored.bytes, field_bytes) != 0)
    floats_fail(worker, "bits of a lossless archive changed");
}

void floats_round_trip(floats_worker *worker) {
  size_t const field_bytes =
      (size_t)floats_value_count(&worker->shape) * floats_value_bytes(worker->shape.dtype);
  size_t capacity, archive_bytes;
  floats_must(worker, szgpu_sizes(worker->ctx, &worker->params, &worker->shape, NULL, &capacity),
              "sizes");
  uint8_t *const archive = floats_room(worker, &worker->archive, capacity);
  floats_must(worker,
              szgpu_compress(worker->ctx, &worker->params, &worker->shape, worker->field.bytes,
                             archive, capacity, &archive_bytes),
              "compress");
  floats_facts const facts = find_facts(worker);
  floats_claim const claim = floats_examine(worker, &facts, archive, archive_bytes, archive_bytes);
  void *const restored = floats_room(worker, &worker->restored, field_bytes);
  memset(restored, 0xA5, field_bytes);
  floats_must(worker, szgpu_decompress(worker->ctx, archive, archive_bytes, restored, field_bytes),
              "decompress");
  check_values(worker, &claim, field_bytes);
}
