/* szgpu_series.h - a series: the fields of a simulation's steps, one archive after the other.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A series is a file that steps are appended to. Each step is an archive of szgpu.h with a record
 * before it; steps may differ in shape, type and bound. An append reads and changes nothing of what
 * is there, whatever it is: it makes the file longer. docs/format.md has every byte.
 *
 * What is safe. A step whose append has returned SZGPU_OK is on disk, and stays readable whatever
 * happens to later appends: if the program is killed, the disk is full or the power fails. What
 * such an append leaves is no step, does not count, and is named by szgpu_series_end
 * (SZGPU_UNFINISHED); the next append takes its place. Series can be joined: the bytes of one after
 * those of another are a series again.
 *
 *   szgpu_series_open_file, szgpu_series_append for each step, szgpu_series_close;
 *   szgpu_series_open_file, szgpu_series_count, szgpu_series_read, szgpu_series_close.
 *
 * Errors, threads and memory are as in szgpu.h. A series is like a ctx: one thread at a time may
 * use it. It keeps its buffers for the next call and takes 16 bytes for each step.
 */
#ifndef SZGPU_SERIES_H
#define SZGPU_SERIES_H

#include "szgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct szgpu_series szgpu_series;

/* Where a series is. Each callback returns 0, or anything else if it fails. */
typedef struct szgpu_store {
  /* As in szgpu_source and szgpu_sink. */
  int (*read)(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got_bytes);
  int (*write)(void *user, uint64_t offset, const void *bytes, size_t byte_count);
  /* Returns when all that was written is where it survives a loss of power. */
  int (*sync)(void *user);
  /* Makes the store end after byte_count bytes; it has more. */
  int (*cut)(void *user, uint64_t byte_count);
  void *user;
} szgpu_store;

/* Opens what a store holds, which has byte_count bytes now; 0 are a series without steps. The call
 * reads the records, up to 304 bytes for each step, and nothing else. With write, sync and cut the
 * series can be appended to; all three may be NULL. The store must outlive the series and change by
 * its calls only, except that another program may append.
 *
 * A step that is damaged or not finished is no error here: the steps before it are there, and
 * szgpu_series_end says what follows them. On failure *series is NULL.
 *
 * SZGPU_BAD_ARGUMENT: read is NULL, or some of write, sync and cut are.
 * SZGPU_NOT_A_SERIES: the first bytes are not those of a series.
 * SZGPU_NEWER_VERSION, SZGPU_BAD_CHECKSUM, SZGPU_BAD_DATA, SZGPU_TRUNCATED: there is no step before
 * the one that szgpu_series_end would name.
 * SZGPU_SOURCE_FAILED, SZGPU_OUT_OF_MEMORY. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_open(szgpu_series **series,
                                                          const szgpu_store *store,
                                                          uint64_t byte_count);

typedef enum szgpu_series_access {
  SZGPU_SERIES_READ = 0,
  SZGPU_SERIES_APPEND = 1 /* and read */
} szgpu_series_access;

/* Opens a file. To append, a file that is not there is made, and the file is locked (flock) until
 * the series is closed; file systems without locks are used without. If the status is
 * SZGPU_SOURCE_FAILED or SZGPU_SINK_FAILED, *error_number gets the errno that says why, else 0; it
 * may be NULL.
 *
 * Returns what szgpu_series_open returns. SZGPU_BAD_ARGUMENT also if the name is that of something
 * else than a file. SZGPU_LOCKED: another program, or another series of this one, has the lock. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_open_file(szgpu_series **series,
                                                               const char *path,
                                                               szgpu_series_access access,
                                                               int *error_number);

/* Closes the series. A file that it made and that got no step is removed. NULL is fine. */
SZGPU_API void szgpu_series_close(szgpu_series *series);

/* The steps that are finished: 0 to count - 1. 0 if series is NULL. */
SZGPU_API uint64_t szgpu_series_count(const szgpu_series *series);

/* The errno of the last failure of a file, for a call that returned SZGPU_SOURCE_FAILED or
 * SZGPU_SINK_FAILED; 0 if there was none. */
SZGPU_API int szgpu_series_errno(const szgpu_series *series);

enum { SZGPU_MOST_STEP_NAME_BYTES = 255 };

/* What a record says of its step. Start from SZGPU_STEP_DEFAULTS. */
typedef struct szgpu_step {
  size_t struct_bytes;                    /* the caller sets it to sizeof(szgpu_step) */
  uint64_t archive_offset, archive_bytes; /* in the store: the archive can be copied out */
  int has_time;
  double time;                               /* finite; 0 without */
  char name[SZGPU_MOST_STEP_NAME_BYTES + 1]; /* "": none. From a stranger's file any bytes but 0 */
} szgpu_step;
#define SZGPU_STEP_DEFAULTS \
  { sizeof(szgpu_step), 0, 0, 0, 0.0, "" }

/* Describes step `index`.
 *
 * SZGPU_BAD_ARGUMENT: there is no such step, or a pointer is NULL, or struct_bytes is too small.
 * SZGPU_SOURCE_FAILED. SZGPU_NOT_A_SERIES, SZGPU_UNFINISHED, SZGPU_TRUNCATED, SZGPU_BAD_CHECKSUM,
 * SZGPU_NEWER_VERSION, SZGPU_BAD_DATA: the store has changed since it was opened. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_step(szgpu_series *series, uint64_t index,
                                                          szgpu_step *step);

/* What follows the last step. SZGPU_OK: nothing. Otherwise step `count` is there in part or
 * damaged, and what follows it cannot be read either:
 * SZGPU_UNFINISHED: an append is at work, or was cut off. The next append takes its place.
 * SZGPU_TRUNCATED: the file ends within a finished step, as a copy does that was cut short.
 * SZGPU_BAD_CHECKSUM, SZGPU_BAD_DATA, SZGPU_NEWER_VERSION: its record is damaged or newer.
 * *step gets its name and time if its record is whole, and in archive_offset where it begins; it
 * may be NULL. SZGPU_BAD_ARGUMENT: series is NULL, or struct_bytes is too small. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_end(const szgpu_series *series,
                                                         szgpu_step *step);

/* Reads the header of a step's archive, as szgpu_inspect does; also refuses an archive that is not
 * as long as its record says (SZGPU_BAD_DATA). Returns what szgpu_series_step and szgpu_inspect
 * return. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_inspect(szgpu_series *series, uint64_t index,
                                                             szgpu_info *info);

/* Restores a step, as szgpu_decompress does; as a preview if level is above 0, and only a region of
 * either if that is not NULL, as szgpu_decompress_level and szgpu_decompress_region do, with their
 * sizes, reads and checks. A file is mapped, so that only what is needed is read. From callbacks
 * the archive is read into memory first.
 *
 * Returns what these calls and szgpu_series_inspect return. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_read(szgpu_series *series, szgpu_ctx *ctx,
                                                          uint64_t index, int level,
                                                          const szgpu_region *region, void *field,
                                                          size_t field_bytes);

/* Restores a step frame by frame into a sink, as szgpu_decompress_stream does. Returns what that
 * and szgpu_series_inspect return. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_read_stream(szgpu_series *series,
                                                                 szgpu_ctx *const *ctxs,
                                                                 int ctx_count, uint64_t index,
                                                                 const szgpu_sink *sink);

/* What may be said of a step. Both are optional, and so is the struct. */
typedef struct szgpu_label {
  const char *name; /* up to SZGPU_MOST_STEP_NAME_BYTES, UTF-8; NULL: none */
  int has_time;
  double time; /* finite */
} szgpu_label;

/* Compresses a field, as szgpu_compress does, and appends it. It is on disk when the call returns
 * SZGPU_OK; after any other status the series is as it was before, and can be appended to again,
 * unless the store fails further: then what is left is SZGPU_UNFINISHED.
 *
 * If szgpu_series_end says SZGPU_UNFINISHED, that part is cut off first. If it says anything else
 * but SZGPU_OK, or if whole steps follow the unfinished one, as after joining files, nothing is
 * done and that status is returned: szgpu_series_cut would lose them.
 *
 * Returns what szgpu_compress returns, and:
 * SZGPU_BAD_ARGUMENT: the series was opened to read, a name is too long, or a time not finite.
 * SZGPU_SOURCE_FAILED, SZGPU_SINK_FAILED: the store failed (szgpu_series_errno). */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append(szgpu_series *series, szgpu_ctx *ctx,
                                                            const szgpu_params *params,
                                                            const szgpu_shape *shape,
                                                            const void *field,
                                                            const szgpu_label *label);

/* The same for a field that need not fit in memory, by szgpu_compress_stream. The archive is
 * written where it stays. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append_stream(
    szgpu_series *series, szgpu_ctx *const *ctxs, int ctx_count, const szgpu_params *params,
    const szgpu_shape *shape, const szgpu_source *field, const szgpu_label *label);

/* Appends an archive that there is already, from memory or from a source. Its header is checked;
 * whether the rest can be restored is not. Returns what szgpu_inspect and szgpu_series_append
 * return; SZGPU_TRUNCATED, SZGPU_TRAILING_BYTES: archive_bytes are not those of the archive. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append_archive(szgpu_series *series,
                                                                    const void *archive,
                                                                    size_t archive_bytes,
                                                                    const szgpu_label *label);
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append_source(szgpu_series *series,
                                                                   const szgpu_source *archive,
                                                                   uint64_t archive_bytes,
                                                                   const szgpu_label *label);

/* Cuts off all that follows the last finished step, which szgpu_series_end names. It is lost.
 *
 * SZGPU_BAD_ARGUMENT: the series was opened to read. SZGPU_SINK_FAILED. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_cut(szgpu_series *series);

#ifdef __cplusplus
}
#endif

#endif
