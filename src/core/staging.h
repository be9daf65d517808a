/* staging.h - copies between a GPU and ordinary host memory, by several threads.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A GPU copies pinned memory only. For other memory the driver has one thread copy it to pinned
 * memory first, or from there, which is several times slower than the link. Here several threads do
 * that, a piece each, while other pieces are on the link.
 */
#ifndef SZG_STAGING_H
#define SZG_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/memory.h"
#include "core/threads.h"

SZG_C_BEGIN

enum {
  SZG_STAGING_PIECE_BYTES = 1 << 21, /* 40 us on the link; a thread copies it in 200 */
  SZG_STAGING_MOST_WORKERS = 12,
  SZG_STAGING_PIECES = 2, /* of a worker: it copies one while the other is on the link */
  SZG_STAGING_LEAST_BYTES = 1 << 24
};

/* All 0: nothing is held. */
typedef struct szg_staging {
  int worker_count;
  uint64_t byte_count;
  uint8_t *bytes; /* pinned: the pieces of all workers */
  struct CUevent_st *is_free[SZG_STAGING_MOST_WORKERS * SZG_STAGING_PIECES];
} szg_staging;

/* Whether a copy is one between the device and ordinary memory that is large enough. */
bool szg_staging_suits(const szg_threads *threads, const void *to, const void *from,
                       uint64_t byte_count);

/* Takes pinned memory for these threads, kept for later copies. False if the account has a limit,
 * which is for memory that a call cannot do without, or if the system refuses. */
bool szg_staging_open(szg_staging *staging, szg_account *account, const szg_threads *threads);
/* Waits for the pieces that are on the link. */
void szg_staging_close(szg_staging *staging, szg_account *account);

/* Copies in stream order, of a device that is current. Ordinary memory may be changed or read as
 * soon as the call returns. */
szgpu_status szg_staging_copy(szg_staging *staging, const szg_threads *threads,
                              struct CUstream_st *stream, void *to, const void *from,
                              uint64_t byte_count) SZG_CHECKED;

SZG_C_END

#endif
