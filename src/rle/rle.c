/* rle.c - run-length coding of a mask, on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rle/rle.h"

#include <string.h>

#include "core/once.h"

enum { CONTINUED = 255, BLOCK = 64 };

/* XORs every symbol of the mask with the one `distance` before it, starting at the end because
 * earlier symbols must still be unchanged. In blocks, so that it vectorizes. */
static void difference(uint8_t *mask, uint32_t value_count, uint32_t distance) {
  for (uint32_t end = value_count; end > distance;) {
    uint32_t const count = end - distance < BLOCK ? end - distance : BLOCK;
    end -= count;
    uint8_t *const block = mask + end;
    const uint8_t *const before = block - distance;
    uint8_t changed[BLOCK];
    for (uint32_t i = 0; i < count; i++) changed[i] = block[i] ^ before[i];
    memcpy(block, changed, count);
  }
}

static void sum(uint8_t *mask, uint32_t value_count, uint32_t distance) {
  for (uint32_t first = distance; first < value_count; first += distance) {
    uint32_t const left = value_count - first, count = left < distance ? left : distance;
    const uint8_t *const restrict before = mask + first - distance;
    uint8_t *const restrict changed = mask + first;
    for (uint32_t i = 0; i < count; i++) changed[i] ^= before[i];
  }
}

size_t szg_mask_encode(uint8_t *mask, uint32_t value_count, uint32_t distance, uint8_t *bytes) {
  if (distance) difference(mask, value_count, distance);
  size_t byte_count = 0;
  uint8_t symbol = 0;
  for (uint32_t i = 0;;) {
    const uint8_t *const change = memchr(mask + i, !symbol, value_count - i);
    if (!change) return byte_count; /* the last run */
    uint32_t run = (uint32_t)(change - mask) - i;
    i += run;
    for (; run >= CONTINUED; run -= CONTINUED) bytes[byte_count++] = CONTINUED;
    bytes[byte_count++] = (uint8_t)run;
    symbol = !symbol;
  }
}

bool szg_mask_decode(const uint8_t *bytes, size_t byte_count, uint32_t value_count,
                     uint32_t distance, uint8_t *mask) {
  uint32_t filled = 0;
  uint8_t symbol = 0;
  for (size_t i = 0; i < byte_count; i++) {
    uint32_t const run = szg_load_u8_once(bytes + i);
    if (run > value_count - filled) return false;
    memset(mask + filled, symbol, run);
    filled += run;
    if (run != CONTINUED) symbol = !symbol;
  }
  memset(mask + filled, symbol, value_count - filled);
  if (distance) sum(mask, value_count, distance);
  return true;
}
