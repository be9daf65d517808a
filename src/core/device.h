/* device.h - a GPU as the pipeline sees it: stream, memory, transfers, what went wrong.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A call's work is put in one stream, in order; what need not wait for all of that goes into a
 * stream beside it, between a fork and a join. Device memory is one arena, grown between calls
 * only; what the host reads or sends lies in one pinned block.
 */
#ifndef SZG_DEVICE_H
#define SZG_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"

SZG_C_BEGIN

/* What kernels find wrong with an archive. Zeroed at the start of a call, read at its end; kernels
 * set it and go on within their bounds. */
typedef struct szg_verdict {
  uint32_t bad_sections; /* a bit per kind: its checksum does not match */
  uint32_t bad_data;     /* not 0: the contents contradict themselves */
  uint32_t ticket;       /* of the blocks that verify checksums: 0 between kernels */
} szg_verdict;

enum {
  SZG_MOST_STAGE_TIMES = 64,
  SZG_LEAST_SHARED_BYTES = 65536 /* of a block: the largest table of code lengths */
};

/* Streams beside the one that a call's work is in. Their blocks go first where there is room for
 * either's: what is in them is short. */
typedef enum szg_side { SZG_SIDE_CHECKS, SZG_SIDE_COPIES, SZG_SIDE_COUNT } szg_side;

typedef struct szg_side_stream {
  struct CUstream_st *stream;
  struct CUevent_st *fork, *join; /* in the call's stream, in this one */
} szg_side_stream;

typedef struct szg_device {
  int index;
  struct CUstream_st *stream;
  bool owns_stream;
  szg_side_stream sides[SZG_SIDE_COUNT];
  uint8_t *arena; /* device memory */
  uint64_t arena_bytes;
  uint8_t *pinned; /* host memory that the device reaches */
  uint64_t pinned_bytes;
  uint32_t round_trips; /* of the last call: waits in its middle for what the device found */
  bool is_timed;        /* marks are taken, for benchmarks */
  int mark_count;
  const char *mark_names[SZG_MOST_STAGE_TIMES];
  struct CUevent_st *marks[SZG_MOST_STAGE_TIMES];
} szg_device;

/* Finds device `index` and makes it ready. stream: NULL for one of its own. On failure nothing is
 * held. SZGPU_NO_DEVICE: there is none, the driver is too old, this build has no code for it, or a
 * block there has less than SZG_LEAST_SHARED_BYTES (then the runtime has nothing to say). */
szgpu_status szg_device_open(int index, struct CUstream_st *stream, szg_device *device) SZG_CHECKED;
void szg_device_close(szg_device *device);

/* Makes the device current for this thread; *previous is for szg_device_leave. */
szgpu_status szg_device_enter(const szg_device *device, int *previous) SZG_CHECKED;
void szg_device_leave(int previous);

/* Why the last failing call of this thread failed, as the CUDA runtime says it; clears it, also
 * where it was somebody else's. "" if there is nothing to say. */
const char *szg_device_why(void);

/* Whether a pointer is to device memory, which kernels use as it is, or to the host's.
 * SZGPU_BAD_ARGUMENT: it is to the memory of another device. */
szgpu_status szg_device_reaches(const szg_device *device, const void *pointer,
                                bool *is_reached) SZG_CHECKED;

/* Whether copies from and to that host memory leave the host alone: it is pinned. */
bool szg_device_is_pinned(const void *pointer);

/* Device memory of at least `bytes`, kept for later calls. On SZGPU_OUT_OF_MEMORY *free_bytes says
 * how many there were. */
szgpu_status szg_device_reserve(szg_device *device, uint64_t bytes,
                                uint64_t *free_bytes) SZG_CHECKED;
/* Pinned memory of at least `bytes`; forgets its contents when it grows. */
szgpu_status szg_device_reserve_pinned(szg_device *device, uint64_t bytes) SZG_CHECKED;

/* What is put in the stream beside from here on waits for what is in the stream now. */
szgpu_status szg_device_fork(szg_device *device, szg_side side) SZG_CHECKED;
/* What is put in the stream from here on waits for what is in the stream beside now. */
szgpu_status szg_device_join(szg_device *device, szg_side side) SZG_CHECKED;
/* The stream beside, between a fork and a join. Where marks are taken it is the stream itself, so
 * that a stage's time is its own. */
struct CUstream_st *szg_device_beside(const szg_device *device, szg_side side);

/* Copies in stream order; host memory may be pinned or not. */
szgpu_status szg_device_copy(szg_device *device, void *to, const void *from,
                             uint64_t bytes) SZG_CHECKED;
/* The same in a stream beside. */
szgpu_status szg_device_copy_beside(szg_device *device, szg_side side, void *to, const void *from,
                                    uint64_t bytes) SZG_CHECKED;
/* Every byte becomes `value`. */
szgpu_status szg_device_set(szg_device *device, void *memory, uint8_t value,
                            uint64_t bytes) SZG_CHECKED;

/* Waits for all that was put in the stream. is_round_trip: work that follows depends on what comes
 * back; otherwise it is the end of a call. */
szgpu_status szg_device_wait(szg_device *device, bool is_round_trip) SZG_CHECKED;
/* Also for what was put in the streams beside it and not joined: the end of a call that failed. */
szgpu_status szg_device_wait_for_all(szg_device *device) SZG_CHECKED;

/* Notes that the work put in the stream since the mark before was `name`'s. */
szgpu_status szg_device_mark(szg_device *device, const char *name) SZG_CHECKED;

SZG_C_END

#endif
