/* cleanup.h - removes temporary files, however the process ends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_CLEANUP_H
#define SZGPU_APP_CLEANUP_H

#include <stddef.h>
#include <sys/types.h>

/* From then on, a signal that ends the process removes the temporary files first. */
void cleanup_install(void);

/* Watches two files at a time and copies their paths. False if the path is too long. */
_Bool cleanup_watch_file(const char *path);
void cleanup_forget_file(const char *path);

/* Watches a process that writes such a file, which ends before the file is removed; 0: none. */
void cleanup_watch_child(pid_t child);

/* Names the file to report if its mapping can no longer be read (SIGBUS). At most two files are
 * mapped at a time. */
void cleanup_watch_mapping(const char *name, const void *bytes, size_t byte_count);
void cleanup_forget_mapping(const void *bytes);

#endif
