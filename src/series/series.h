/* series.h - what a szgpu_series holds, and what its calls share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SERIES_H
#define SZG_SERIES_H

#include "core/memory.h"
#include "series/record.h"

/* A finished step, as the index has it. */
typedef struct szg_step_place {
  uint64_t archive_offset, archive_bytes;
} szg_step_place;

/* A file as a store. */
typedef struct szg_series_file {
  int descriptor;
  char *path_to_remove; /* of a file that was made, until it has a step; else NULL */
  int error_number;     /* of the last failure */
} szg_series_file;

struct szgpu_series {
  szgpu_store store;
  szg_series_file file; /* if has_file; the store is then this file */
  bool has_file;
  szg_buffer places;       /* szg_step_place, one for each step */
  szg_buffer bytes;        /* an archive that is read, or as much of one as is needed */
  szg_buffer archive;      /* one that is appended */
  uint64_t end_offset;     /* of the last step */
  szgpu_status end_status; /* what is there */
  szg_record end_record;
};

/* A series of a store, as szgpu_series_open makes it. */
szgpu_status szg_series_scan(szgpu_series *series, uint64_t byte_count) SZG_CHECKED;
/* Frees a series without closing its file. */
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

/* Opens, locks and, to append, makes the file, and sets the store. *byte_count gets its size. */
szgpu_status szg_series_file_open(szgpu_series *series, const char *path,
                                  szgpu_series_access access, uint64_t *byte_count) SZG_CHECKED;
void szg_series_file_close(szg_series_file *file, bool has_steps);

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
