/* nameless.c - temporary files that vanish with the command.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#include "nameless.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int nameless_file(void) {
  char name[4096];
  const char *given = getenv("TMPDIR");
  const char *folder = given && *given ? given : "/tmp";
#ifdef O_TMPFILE
  int const file = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0) return file; /* not every file system can */
#endif
  snprintf(name, sizeof name, "%s/szgpu.XXXXXX", folder);
  int const named = mkostemp(name, O_CLOEXEC);
  if (named >= 0) unlink(name);
  return named;
}
