/* series.h - what a szgpu_series holds, and what its calls share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SERIES_H
#define SZG_SERIES_H

#include <sys/types.h>

#include "core/memory.h"
#include "series/record.h"

/* A finished step, as the index has it. */
typedef struct szg_step_place {
  uint64_t archive_offset, archive_bytes;
} szg_step_place;

/* A file as a store. */
typedef struct szg_series_file {
  int descriptor;
  char *path;               /* to append: absolute, without links; else NULL */
  bool is_made;             /* by this series */
  uint64_t byte_count;      /* that it has, unless another program has written */
  _Atomic int error_number; /* of the last failure */
} szg_series_file;

/* Who has the series. */
typedef enum szg_series_turn {
  SZG_SERIES_FREE,
  SZG_SERIES_BUSY,   /* a call is at work */
  SZG_SERIES_CLOSING /* it is closed, by the end of that call if there is one */
} szg_series_turn;

struct szgpu_series {
  szgpu_series *self; /* for calls that change nothing else */
  pid_t process;      /* that opened it */
  _Atomic int turn;   /* szg_series_turn */
  szgpu_store store;
  szg_series_file file; /* if has_file; the store is then this file */
  bool has_file;
  szg_buffer places;       /* szg_step_place, one for each step; another thread may ask how many */
  szg_buffer bytes;        /* an archive that is read, or as much of one as is needed */
  szg_buffer archive;      /* one that is appended */
  uint64_t end_offset;     /* of the last step */
  szgpu_status end_status; /* what is there */
  szg_record end_record;
  szgpu_ctx *ctx;       /* that the running call was given; NULL: none */
  uint64_t called_step; /* that the call is about */
};

/* ---- what calls say ---- */

/* Takes the series for a call; ctx may be NULL. SZGPU_OTHER_PROCESS, and SZGPU_BAD_ARGUMENT if it
 * is NULL or another call has it: the call ends, and has not touched it. */
szgpu_status szg_series_take(szgpu_series *series, szgpu_ctx *ctx) SZG_CHECKED;
/* Gives it back, or closes it if it was closed meanwhile. Returns the status. */
szgpu_status szg_series_give_back(szgpu_series *series, szgpu_status status) SZG_CHECKED;
/* Begins a call about a step: takes the series, and forgets the sentence and the errno of earlier
 * ones. A ctx that another call has is refused untouched. */
szgpu_status szg_series_enter(szgpu_series *series, szgpu_ctx *ctx, uint64_t step) SZG_CHECKED;
/* Puts a sentence on why the call fails into its ctx, if it has one, and returns the status. */
szgpu_status szg_series_fail(szgpu_series *series, szgpu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4))) SZG_CHECKED;
/* Says that the store failed, whose status is SZGPU_SOURCE_FAILED or SZGPU_SINK_FAILED. */
szgpu_status szg_series_blame_store(szgpu_series *series, szgpu_status status) SZG_CHECKED;
/* Ends a call that has begun: one that fails without a sentence gets one. Gives the series back.
 * Returns the status. */
szgpu_status szg_series_leave(szgpu_series *series, szgpu_status status) SZG_CHECKED;

/* A series of a store, as szgpu_series_open makes it. */
szgpu_status szg_series_scan(szgpu_series *series, uint64_t byte_count) SZG_CHECKED;
/* Closes the file, if there is one, and frees the series. */
void szg_series_release(szgpu_series *series);

const szg_step_place *szg_series_place(const szgpu_series *series, uint64_t index);

/* Reads byte_count bytes; *got_bytes are fewer only where the store ends. */
szgpu_status szg_series_load(szgpu_series *series, uint64_t offset, void *bytes, size_t byte_count,
                             size_t *got_bytes) SZG_CHECKED;

/* szgpu_inspect on the archive at `offset`, of which up to archive_bytes are there. */
szgpu_status szg_series_inspect_at(szgpu_series *series, uint64_t offset, uint64_t archive_bytes,
                                   szgpu_info *info) SZG_CHECKED;

/* Sets what the public struct says by the record; archive_offset is the caller's. */
void szg_series_describe(const szg_record *record, szgpu_step *step);

/* ---- files ---- */

/* Opens the file and sets the store. To append, makes the file if it is not there, and locks it. */
szgpu_status szg_series_file_open(szgpu_series *series, const char *path,
                                  szgpu_series_access access) SZG_CHECKED;
/* is_owner: this process has opened it. */
void szg_series_file_close(szg_series_file *file, bool is_owner, bool has_steps);

/* What another program has done to a file that is open to append. */
typedef enum szg_file_change {
  SZG_FILE_AS_EVER,
  SZG_FILE_MOVED,    /* its name leads nowhere, but it has another */
  SZG_FILE_WRITTEN,  /* it has another size */
  SZG_FILE_REPLACED, /* its name leads to another file */
  SZG_FILE_REMOVED,
  SZG_FILE_FAILED /* that cannot be told; error_number says why */
} szg_file_change;
szg_file_change szg_series_file_change(szg_series_file *file);

/* Puts the file's name on disk. Whoever made it may have been stopped before that. */
szgpu_status szg_series_file_sync_name(szg_series_file *file) SZG_CHECKED;

/* Makes the file as long as it is to be, if it can. */
void szg_series_file_extend(szg_series_file *file, uint64_t byte_count);

/* A range of the file in memory; bytes is NULL if it cannot be mapped. */
typedef struct szg_file_pages {
  void *pages;
  size_t page_bytes;
  const uint8_t *bytes;
} szg_file_pages;
szg_file_pages szg_series_file_map(const szgpu_series *series, uint64_t offset,
                                   uint64_t byte_count);
void szg_series_file_unmap(const szg_file_pages *mapping);

#endif
