/* archive.h - what all three commands ask of an archive and say of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_ARCHIVE_H
#define SZGPU_APP_ARCHIVE_H

#include "json.h"
#include "report.h"

/* szgpu_inspect with struct_bytes set. */
szgpu_status inspect_archive(const void *archive, size_t archive_bytes, szgpu_info *info);
/* Also refuses an archive whose size is not what its header says. Returns an exit code. */
int inspect_whole_archive(const struct report *report, const char *name, const void *archive,
                          size_t archive_bytes, szgpu_info *info);

/* "bound 1e-3", or "lossless". */
struct words words_for_bound(const szgpu_info *info);
/* Bytes of the field over bytes of the archive. */
double archive_ratio(const szgpu_info *info);
/* The members that every object on an archive has. */
void json_info(struct json *json, const szgpu_info *info);
double gigabytes_per_second(uint64_t byte_count, double seconds);

#endif
