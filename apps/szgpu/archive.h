/* archive.h - what all commands read from an archive and print about it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_ARCHIVE_H
#define SZGPU_APP_ARCHIVE_H

#include "input.h"
#include "json.h"
#include "report.h"

#include <stdbool.h>

/* szgpu_inspect, with struct_bytes set. */
szgpu_status inspect_archive(const void *archive, size_t archive_bytes, szgpu_info *info);
/* An input_wanted: the size that the header states. */
uint64_t archive_wanted_bytes(const struct input *input, const void *unused);
/* Also refuses an archive that is longer or shorter than its header says. Returns an exit code. */
int inspect_whole_archive(const struct report *report, const char *name, const void *archive,
                          size_t archive_bytes, szgpu_info *info);
/* Refuses an archive that context->decoder does not read. Returns an exit code. */
int archive_check_decoder(const struct report *report, const szgpu_options *context,
                          const char *name, const szgpu_info *info);

/* Whether what was compressed was an empty file: the archive has a value in its place. */
bool info_is_of_empty_file(const szgpu_info *info);
/* The bytes of the values that were compressed. */
uint64_t info_value_bytes(const szgpu_info *info);

/* "bound 1e-3", or "lossless". */
struct words words_for_bound(const szgpu_info *info);
/* "over ", if the range is greater than every number, and the greatest number is stated; or "". */
const char *words_before_range(const szgpu_info *info);
/* The field's bytes divided by the archive's. */
double archive_ratio(const szgpu_info *info);
/* The field's dims, with those of joined axes as one. */
szgpu_shape info_joined_shape(const szgpu_info *info);
/* The members of every JSON object about an archive. */
void json_info(struct json *json, const szgpu_info *info);
double gigabytes_per_second(uint64_t byte_count, double seconds);

#endif
