/* device.h - a GPU as the pipeline sees it: stream, memory, transfers, errors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A call puts its work in one stream, in order. Work that need not wait for all of that goes to a
 * stream beside it, between a fork and a join. Device memory is one arena, which grows only between
 * calls; data that the host reads or sends are in one pinned block.
 */
#ifndef SZG_DEVICE_H
#define SZG_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/memory.h"
#include "core/staging.h"
#include "core/status.h"

SZG_C_BEGIN

/* What kernels find wrong with an archive. The call zeroes it at its start and reads it at its end;
 * kernels set it and go on within their bounds. */
typedef struct szg_verdict {
  uint32_t bad_sections; /* one bit per kind: its checksum does not match */
  uint32_t bad_data;     /* not 0: the contents contradict themselves */
  uint32_t ticket;       /* for the blocks that verify checksums; 0 between kernels */
} szg_verdict;

enum {
  SZG_MOST_STAGE_TIMES = 64,
  SZG_LEAST_SHARED_BYTES = 65536 /* per block: the largest table of code lengths */
};

/* Streams beside that of a call. Their work is short, so they have priority: if there is room for a
 * block, theirs goes first. */
typedef enum szg_side { SZG_SIDE_CHECKS, SZG_SIDE_COPIES, SZG_SIDE_COUNT } szg_side;

typedef struct szg_side_stream {
  struct CUstream_st *stream;
  struct CUevent_st *fork, *join; /* recorded in the call's stream and in this one */
} szg_side_stream;

typedef struct szg_device {
  int index;
  struct CUstream_st *stream;
  bool owns_stream;
  szg_side_stream sides[SZG_SIDE_COUNT];
  szg_account *account;       /* of arena, pinned memory and staging; NULL: none */
  const szg_threads *threads; /* for large copies from and to ordinary memory; NULL: none */
  szg_staging staging;
  uint8_t *arena; /* device memory */
  uint64_t arena_bytes;
  uint8_t *pinned; /* host memory that the device can access */
  uint64_t pinned_bytes;
  uint32_t round_trips; /* of the last call: times it waited for results before going on */
  bool is_timed;        /* whether marks are taken, for benchmarks */
  int mark_count;
  const char *mark_names[SZG_MOST_STAGE_TIMES];
  struct CUevent_st *marks[SZG_MOST_STAGE_TIMES];
} szg_device;

/* Devices that the runtime finds; 0 if it fails, and nothing is left to say why. */
int szg_device_count(void);

/* Finds device `index` and makes it ready. stream: NULL for a stream of its own. Holds nothing on
 * failure. SZGPU_NO_DEVICE: there is none, the driver is too old, this build has no code for it, or
 * its blocks have less than SZG_LEAST_SHARED_BYTES (then the runtime reports no error). */
szgpu_status szg_device_open(int index, struct CUstream_st *stream, szg_device *device) SZG_CHECKED;
void szg_device_close(szg_device *device);

/* Makes the device current for this thread; *previous is for szg_device_leave. */
szgpu_status szg_device_enter(const szg_device *device, int *previous) SZG_CHECKED;
void szg_device_leave(int previous);

/* The CUDA runtime's reason for the last failure in this thread, "" if there is none. Clears the
 * error, even if it is not the library's. */
const char *szg_device_why(void);

/* Whether a pointer is to device memory, which kernels use directly, or to host memory.
 * SZGPU_BAD_ARGUMENT: it is to another device's memory. */
szgpu_status szg_device_reaches(const szg_device *device, const void *pointer,
                                bool *is_reached) SZG_CHECKED;

/* Whether host memory is pinned, so that copies do not block the host. */
bool szg_device_is_pinned(const void *pointer);
/* Pins host memory for all devices; false if the system refuses. Unpin it before it is freed. */
bool szg_device_pin(void *bytes, uint64_t byte_count);
void szg_device_unpin(void *bytes);

/* Device memory of at least `bytes`, kept for later calls. On SZGPU_OUT_OF_MEMORY *free_bytes says
 * how many bytes were free. SZGPU_MEMORY_LIMIT: it would be over the account's limit. */
szgpu_status szg_device_reserve(szg_device *device, uint64_t bytes,
                                uint64_t *free_bytes) SZG_CHECKED;
/* Pinned memory of at least `bytes`; forgets its contents when it grows. */
szgpu_status szg_device_reserve_pinned(szg_device *device, uint64_t bytes) SZG_CHECKED;
/* Frees both and what copies hold, of the current device. */
void szg_device_release_memory(szg_device *device);

/* Later work in the stream beside waits for all work that is in the call's stream now. */
szgpu_status szg_device_fork(szg_device *device, szg_side side) SZG_CHECKED;
/* Later work in the call's stream waits for all work that is in the stream beside now. */
szgpu_status szg_device_join(szg_device *device, szg_side side) SZG_CHECKED;
/* The stream beside, between a fork and a join. If marks are taken, this is the call's stream
 * itself, so that stages do not overlap. */
struct CUstream_st *szg_device_beside(const szg_device *device, szg_side side);

/* Copies in stream order; host memory may be pinned or not. If it is not, the call returns when it
 * may be changed or read. */
szgpu_status szg_device_copy(szg_device *device, void *to, const void *from,
                             uint64_t bytes) SZG_CHECKED;
/* The same in a stream beside. */
szgpu_status szg_device_copy_beside(szg_device *device, szg_side side, void *to, const void *from,
                                    uint64_t bytes) SZG_CHECKED;
/* Sets every byte to `value`. */
szgpu_status szg_device_set(szg_device *device, void *memory, uint8_t value,
                            uint64_t bytes) SZG_CHECKED;

/* Copies a few bytes to or from pinned memory by a kernel. It starts sooner than a copy would, and
 * so does what is launched behind it. Places are aligned to words. told: NULL, or a word
 * that it then sets (szg_device_await). */
szgpu_status szg_device_bring(szg_device *device, void *to, const void *from, uint64_t bytes,
                              uint32_t *told) SZG_CHECKED;
/* The same for two places, in one launch. */
typedef struct szg_brought {
  void *to;
  const void *from;
  uint64_t bytes;
} szg_brought;
szgpu_status szg_device_bring_both(szg_device *device, szg_brought first, szg_brought second,
                                   uint32_t *told) SZG_CHECKED;

/* Clears words in pinned memory by which kernels that are launched later tell the host that it can
 * read what they have written there (core/tell.cuh). No kernel in the stream may still set them. */
void szg_device_expect(uint32_t *told, uint32_t count);
/* Waits until all these words are set: a round trip that ends as soon as the results are there,
 * while the stream still works. If they are not set when the stream has done its work, something
 * else says why. */
szgpu_status szg_device_await(szg_device *device, const uint32_t *told, uint32_t count) SZG_CHECKED;

/* Waits for all work in the stream. is_round_trip: later work depends on the results; otherwise
 * this is the end of a call. */
szgpu_status szg_device_wait(szg_device *device, bool is_round_trip) SZG_CHECKED;
/* Waits for the streams beside it too, joined or not: the end of a call that failed. */
szgpu_status szg_device_wait_for_all(szg_device *device) SZG_CHECKED;

/* Notes that the work put in the stream since the last mark belongs to `name`. */
szgpu_status szg_device_mark(szg_device *device, const char *name) SZG_CHECKED;

SZG_C_END

#endif
