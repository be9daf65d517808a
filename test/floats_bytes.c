/* floats_bytes.c - all bit patterns of f16, bf16, fp8 and bytes, lossless, in many orders.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "floats.h"

/* How a type's patterns are put into a field; each order has all of them. What planes become,
 * coded, stored or constant, depends on it. */
typedef enum bytes_order {
  BYTES_RISING,
  BYTES_REVERSED, /* neighbours differ in the highest bit */
  BYTES_SHUFFLED,
  BYTES_RUNS,      /* of 257 values */
  BYTES_RARE,      /* one value in 64, between those near 1 */
  BYTES_LATE,      /* after eight times as many zeros */
  BYTES_LOW_FIRST, /* the low byte is constant over long runs */
  BYTES_ORDER_COUNT
} bytes_order;

static const szgpu_dtype dtypes[] = {SZGPU_F16, SZGPU_BF16, SZGPU_FP8, SZGPU_U8};
enum { DTYPE_COUNT = 4, SHAPE_COUNT = 4, REPEAT_COUNT = 6 };
static const uint16_t extents[SHAPE_COUNT][3] = {{1, 1, 1}, {1, 1, 255}, {1, 60, 33}, {7, 9, 31}};

static uint64_t count_cases(const floats_options *options) {
  (void)options;
  return (uint64_t)DTYPE_COUNT * BYTES_ORDER_COUNT * SHAPE_COUNT * REPEAT_COUNT * 2;
}

static uint32_t pattern_at(bytes_order order, uint32_t bits, uint64_t i, uint64_t count) {
  uint32_t const patterns = (uint32_t)1 << bits;
  uint32_t const low = (uint32_t)i & (patterns - 1);
  uint32_t const ordinary = (bits == 16 ? 0x3C00u : 0x38u) + (uint32_t)(floats_hash(i) % 29);
  switch (order) {
    case BYTES_REVERSED:
      return floats_reversed(low) >> (32 - bits);
    case BYTES_SHUFFLED:
      return low * 0x9E37u % patterns ^ (uint32_t)(i / patterns) % patterns;
    case BYTES_RUNS:
      return (uint32_t)(i / 257) & (patterns - 1);
    case BYTES_RARE:
      return i % 64 ? ordinary : (uint32_t)(i / 64) & (patterns - 1);
    case BYTES_LATE:
      return i < count - count / 9 ? 0 : low;
    case BYTES_LOW_FIRST:
      return bits == 16 ? (low >> 8 | low << 8) & 0xFFFF : low ^ 0x80;
    default:
      return low;
  }
}

/* Values for all patterns to occur. */
static uint64_t least_count(bytes_order order, uint32_t bits) {
  uint64_t const patterns = (uint64_t)1 << bits;
  return order == BYTES_RUNS   ? 257 * patterns
         : order == BYTES_RARE ? 64 * patterns
         : order == BYTES_LATE ? 9 * patterns + 9
                               : patterns;
}

static void set_pattern(uint32_t bits, void *field, uint64_t i, uint32_t pattern) {
  if (bits == 16)
    ((uint16_t *)field)[i] = (uint16_t)pattern;
  else
    ((uint8_t *)field)[i] = (uint8_t)pattern;
}

static void run_case(floats_worker *worker, floats_run_block *run_block, uint64_t number) {
  (void)run_block;
  szgpu_dtype const dtype = dtypes[number % DTYPE_COUNT];
  bytes_order const order = (bytes_order)(number / DTYPE_COUNT % BYTES_ORDER_COUNT);
  uint64_t const rest = number / DTYPE_COUNT / BYTES_ORDER_COUNT;
  uint64_t const shape = rest % SHAPE_COUNT, repeats = rest / SHAPE_COUNT % REPEAT_COUNT;
  uint32_t const bits = dtype == SZGPU_F16 || dtype == SZGPU_BF16 ? 16 : 8;
  worker->params = (szgpu_params)SZGPU_PARAMS_DEFAULTS;
  worker->params.mode = SZGPU_MODE_LOSSLESS;
  bool const is_linear = rest / SHAPE_COUNT / REPEAT_COUNT;
  worker->params.layout = is_linear ? SZGPU_LAYOUT_LINEAR : SZGPU_LAYOUT_TILE;
  uint64_t const inner = (uint64_t)extents[shape][1] * extents[shape][2];
  uint64_t const wanted = least_count(order, bits) << (bits == 8 ? 2 * repeats : 0);
  uint64_t const planes = extents[shape][0], plane = planes * inner;
  worker->shape = (szgpu_shape){.dtype = dtype, .ndim = 4};
  worker->shape.dims[0] = planes;
  worker->shape.dims[1] = (wanted + plane - 1) / plane + repeats;
  worker->shape.dims[2] = extents[shape][1];
  worker->shape.dims[3] = extents[shape][2];
  uint64_t const count = floats_value_count(&worker->shape);
  void *const field = floats_room(worker, &worker->field, count * (bits / 8));
  uint8_t seen[1 << 16] = {0};
  uint32_t seen_count = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint32_t const pattern = pattern_at(order, bits, i, count);
    set_pattern(bits, field, i, pattern);
    seen_count += !seen[pattern];
    seen[pattern] = 1;
  }
  if (seen_count != 1u << bits) floats_fail(worker, "the field has %u patterns", seen_count);
  floats_round_trip(worker);
}

const floats_sweep floats_sweep_bytes = {
    "bytes", 32, "all bit patterns of f16, bf16, fp8 and bytes, lossless", count_cases, run_case};
