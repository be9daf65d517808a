/* cleanup.h - no temporary file outlives the process, however it ends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_CLEANUP_H
#define SZGPU_APP_CLEANUP_H

/* Signals that end the process remove the temporary file first. */
void cleanup_install(void);

/* path is copied; false: it is too long. One file at a time. */
_Bool cleanup_watch_file(const char *path);
void cleanup_forget_file(void);

/* Names the file to blame when a mapping can no longer be read (SIGBUS). */
void cleanup_watch_mapping(const char *name);

#endif
