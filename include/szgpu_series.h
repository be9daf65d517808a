/* szgpu_series.h - a series: the fields of a simulation's steps, one archive after the other.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A series is a file that steps are appended to. Each step is an archive of szgpu.h with a record
 * before it; steps may differ in shape, type and bound. An append neither reads nor changes what is
 * already in the file; it only makes the file longer. docs/format.md has every byte.
 *
 * What is safe. A step whose append has returned SZGPU_OK is on disk and stays readable whatever
 * happens to later appends, even if the program is killed, the disk is full or the power fails. An
 * interrupted append leaves an unfinished step, which does not count; szgpu_series_end reports it
 * (SZGPU_UNFINISHED), and the next append replaces it. Series can be joined: the concatenation of
 * two series is a series.
 *
 *   szgpu_series_open_file, szgpu_series_append for each step, szgpu_series_close;
 *   szgpu_series_open_file, szgpu_series_count, szgpu_series_read, szgpu_series_close.
 *
 * Errors, threads and memory are as in szgpu.h. After a call has failed, szgpu_last_error of the
 * ctx that it was given, or of the first of several, has a sentence about it. A series keeps its
 * buffers for the next call and takes 16 bytes for each step.
 *
 * Threads and processes. A series is like a ctx: one thread at a time may use it. A call during
 * another one, also from a callback, returns SZGPU_BAD_ARGUMENT and changes nothing; only
 * szgpu_series_count may be called at any time. Only the process that opened a series may use it:
 * in a process forked from it, all calls return SZGPU_OTHER_PROCESS, and the count is 0. A forked
 * process may close the series. Until it does or ends, it holds the lock of the file, too, but not
 * beyond the time at which the process that opened the series closes it.
 */
#ifndef SZGPU_SERIES_H
#define SZGPU_SERIES_H

#include "szgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct szgpu_series szgpu_series;

/* The storage of a series. Each callback returns 0 on success and anything else on failure. */
typedef struct szgpu_store {
  /* As in szgpu_source and szgpu_sink. */
  int (*read)(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got_bytes);
  int (*write)(void *user, uint64_t offset, const void *bytes, size_t byte_count);
  /* Returns when everything written so far survives a loss of power. */
  int (*sync)(void *user);
  /* Truncates the store to byte_count bytes, which are fewer than it has. */
  int (*cut)(void *user, uint64_t byte_count);
  void *user;
} szgpu_store;

/* Opens the series in a store that has byte_count bytes; 0 bytes are a series without steps. The
 * call reads the records, up to 304 bytes for each step, and nothing else. With write, sync and cut
 * the series can be appended to; all three may be NULL. The store must outlive the series, and only
 * the series may change it, except that another program may append.
 *
 * A damaged or unfinished step is not an error here: the steps before it are available, and
 * szgpu_series_end describes what follows them. On failure *series is NULL.
 *
 * SZGPU_BAD_ARGUMENT: read is NULL, or some but not all of write, sync and cut are.
 * SZGPU_NOT_A_SERIES: the first bytes are not those of a series.
 * SZGPU_NEWER_VERSION, SZGPU_BAD_CHECKSUM, SZGPU_BAD_DATA, SZGPU_TRUNCATED: the first step has this
 * fault.
 * SZGPU_SOURCE_FAILED, SZGPU_OUT_OF_MEMORY. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_open(szgpu_series **series,
                                                          const szgpu_store *store,
                                                          uint64_t byte_count);

typedef enum szgpu_series_access {
  SZGPU_SERIES_READ = 0,
  SZGPU_SERIES_APPEND = 1 /* and read */
} szgpu_series_access;

/* Opens a file. With SZGPU_SERIES_APPEND, a missing file is created, and the file is locked (flock)
 * until the series is closed; on a file system without locks it is not locked. If the status is
 * SZGPU_SOURCE_FAILED or SZGPU_SINK_FAILED, *error_number gets the errno that says why, else 0; it
 * may be NULL.
 *
 * Returns what szgpu_series_open returns. SZGPU_BAD_ARGUMENT also if the name is not that of a
 * file. SZGPU_LOCKED: another program, or another series of this one, has the lock.
 *
 * If the file has become shorter, the calls that read it return SZGPU_TRUNCATED. It must not become
 * shorter while they read it, since they map it (SIGBUS). */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_open_file(szgpu_series **series,
                                                               const char *path,
                                                               szgpu_series_access access,
                                                               int *error_number);

/* Closes the series. A file that it created and that got no step is removed. series may be NULL. If
 * a call is using the series, in another thread or around this one, the series is closed when that
 * call ends. */
SZGPU_API void szgpu_series_close(szgpu_series *series);

/* The number of finished steps, which are numbered from 0. 0 if series is NULL. */
SZGPU_API uint64_t szgpu_series_count(const szgpu_series *series);

/* The errno of the series' file, for a call that has just returned SZGPU_SOURCE_FAILED or
 * SZGPU_SINK_FAILED; 0 if something else failed, such as the source of an append. */
SZGPU_API int szgpu_series_errno(const szgpu_series *series);

/* The descriptor of the series' file, for mapping or reading it; the series closes it. -1: there is
 * none. */
SZGPU_API int szgpu_series_descriptor(const szgpu_series *series);

enum { SZGPU_MOST_STEP_NAME_BYTES = 255 };

/* The record of a step. Start from SZGPU_STEP_DEFAULTS. */
typedef struct szgpu_step {
  size_t struct_bytes;                    /* the caller sets it to sizeof(szgpu_step) */
  uint64_t archive_offset, archive_bytes; /* in the store: the archive can be copied out */
  int has_time;
  double time; /* finite; 0 without */
  /* "": none. In an untrusted file it may have any bytes except 0. */
  char name[SZGPU_MOST_STEP_NAME_BYTES + 1];
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

/* Describes what follows the last finished step. SZGPU_OK: nothing. Otherwise step `count` is
 * incomplete or damaged, and nothing after it can be read:
 * SZGPU_UNFINISHED: an append is running or was interrupted. The next append replaces the step.
 * SZGPU_TRUNCATED: the file ends within a finished step, for instance because a copy was cut short.
 * SZGPU_BAD_CHECKSUM, SZGPU_BAD_DATA, SZGPU_NEWER_VERSION: its record is damaged or newer. *step
 * gets the step's name and time if its record is intact, and in archive_offset the place where it
 * begins. step may be NULL. SZGPU_BAD_ARGUMENT: series is NULL, or struct_bytes is too small. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_end(const szgpu_series *series,
                                                         szgpu_step *step);

/* Reads the header of a step's archive, as szgpu_inspect does. It also refuses an archive whose
 * size differs from that in its record (SZGPU_BAD_DATA). Returns what szgpu_series_step and
 * szgpu_inspect return. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_inspect(szgpu_series *series, uint64_t index,
                                                             szgpu_info *info);

/* Restores a step, as szgpu_decompress does. If level is above 0, it restores a preview, and if
 * region is not NULL, only that region, as szgpu_decompress_level and szgpu_decompress_region do,
 * with the same sizes, reads and checks. A file is mapped, so only the parts that are needed are
 * read. With callbacks, the archive is read into memory first.
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

/* The label of a step. Name and time are optional, and so is the struct. */
typedef struct szgpu_label {
  const char *name; /* up to SZGPU_MOST_STEP_NAME_BYTES, UTF-8; NULL: none */
  int has_time;
  double time; /* finite */
} szgpu_label;

/* Compresses a field, as szgpu_compress does, and appends it. When the call returns SZGPU_OK, the
 * step is on disk. After any other status the series is as before and can be appended to again; if
 * the store fails further, an unfinished step may be left (SZGPU_UNFINISHED).
 *
 * If szgpu_series_end returns SZGPU_UNFINISHED, that step is cut off first. If it returns another
 * status than SZGPU_OK, or if finished steps follow the unfinished one, as they may after joining
 * files, the call does nothing and returns that status, because cutting would lose them
 * (szgpu_series_cut).
 *
 * Returns what szgpu_compress returns, and:
 * SZGPU_BAD_ARGUMENT: the series was opened for reading, a name is too long, or a time is not
 * finite.
 * SZGPU_SERIES_CHANGED: another program has written to the file, removed it or replaced it; the
 * call writes nothing to it. A file that was only moved is appended to.
 * SZGPU_SOURCE_FAILED, SZGPU_SINK_FAILED: the store failed (szgpu_series_errno). */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append(szgpu_series *series, szgpu_ctx *ctx,
                                                            const szgpu_params *params,
                                                            const szgpu_shape *shape,
                                                            const void *field,
                                                            const szgpu_label *label);

/* The same for a field that need not fit in memory, as szgpu_compress_stream does. The archive is
 * written directly to its place. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append_stream(
    szgpu_series *series, szgpu_ctx *const *ctxs, int ctx_count, const szgpu_params *params,
    const szgpu_shape *shape, const szgpu_source *field, const szgpu_label *label);

/* Appends an existing archive, from memory or from a source. The call checks its header, but not
 * whether the rest can be restored. Returns what szgpu_inspect and szgpu_series_append return;
 * SZGPU_TRUNCATED, SZGPU_TRAILING_BYTES: archive_bytes is not the size of the archive. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append_archive(szgpu_series *series,
                                                                    const void *archive,
                                                                    size_t archive_bytes,
                                                                    const szgpu_label *label);
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_append_source(szgpu_series *series,
                                                                   const szgpu_source *archive,
                                                                   uint64_t archive_bytes,
                                                                   const szgpu_label *label);

/* Cuts off everything that follows the last finished step, as szgpu_series_end describes it. It is
 * lost.
 *
 * SZGPU_BAD_ARGUMENT: the series was opened for reading. SZGPU_SERIES_CHANGED,
 * SZGPU_SINK_FAILED. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_series_cut(szgpu_series *series);

#ifdef __cplusplus
}
#endif

#endif
