/* once.h - reads memory that may change meanwhile, each byte just once.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A compiler may load a value a second time instead of keeping it. In an archive that somebody
 * rewrites, the second load may give another value than the one that was checked.
 */
#ifndef SZG_ONCE_H
#define SZG_ONCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void szg_copy_once(void *to, const void *from, size_t byte_count) {
  memcpy(to, from, byte_count);
  __asm__ volatile("" : : "r"(to) : "memory"); /* what is read from `to` is not read from `from` */
}

static inline uint32_t szg_load_u8_once(const uint8_t *p) {
  uint32_t v = *p;
  __asm__("" : "+r"(v)); /* v may be anything now, so it is kept */
  return v;
}

static inline uint32_t szg_load_u32_once(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  __asm__("" : "+r"(v));
  return v;
}

#endif
