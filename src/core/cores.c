/* cores.c - how many cores the process may use.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* sched_getaffinity */

#include "core/cores.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int szg_affine_cores(void) {
#ifdef __linux__
  enum { MOST_CORES = 1 << 16 }; /* the system refuses sets smaller than its own */
  union {
    cpu_set_t first;
    unsigned char all[MOST_CORES / 8];
  } cores;
  if (sched_getaffinity(0, sizeof cores, &cores.first) == 0)
    return CPU_COUNT_S(sizeof cores, &cores.first);
#endif
  long const online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 1 ? (int)online : 1;
}

/* ---- control groups ---- */

enum { PATH_CHARS = 4096, TEXT_CHARS = 256 };

/* Whether a short file could be read; text gets its beginning. */
static bool read_text(const char *path, char *text, size_t chars) {
  FILE *const file = fopen(path, "re");
  if (!file) return false;
  setvbuf(file, NULL, _IONBF, 0);
  size_t const got = fread(text, 1, chars - 1, file);
  text[got] = '\0';
  fclose(file);
  return got > 0;
}

static bool read_number(const char *folder, const char *name, double *number) {
  char path[PATH_CHARS], text[TEXT_CHARS], *end;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
  if (!read_text(path, text, sizeof text)) return false;
  *number = strtod(text, &end);
  return end != text;
}

static int cores_of_time(double time, double period) {
  if (!(time > 0 && period > 0 && time / period < INT_MAX)) return INT_MAX;
  double const cores = time / period;
  int const whole = (int)cores;
  return whole < cores ? whole + 1 : whole;
}

/* What one folder grants: version 2 has "time period" or "max period" in a file, version 1 has two
 * files, and a time of -1 for none. */
static int cores_of_folder(const char *folder) {
  char path[PATH_CHARS], text[TEXT_CHARS];
  double time, period;
  int const chars = snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (chars < (int)sizeof path && read_text(path, text, sizeof text))
    return sscanf(text, "%lf %lf", &time, &period) == 2 ? cores_of_time(time, period) : INT_MAX;
  bool const is_limited = read_number(folder, "cpu.cfs_quota_us", &time) &&
                          read_number(folder, "cpu.cfs_period_us", &period);
  return is_limited ? cores_of_time(time, period) : INT_MAX;
}

/* Of a group and those that it is in. below: where the group's controller is mounted. */
static int cores_of_path(const char *below, const char *group, size_t group_chars) {
  char folder[PATH_CHARS];
  int least = INT_MAX;
  size_t const below_chars = strlen(below);
  if (below_chars + group_chars + 1 > sizeof folder) return least;
  memcpy(folder, below, below_chars);
  memcpy(folder + below_chars, group, group_chars);
  for (size_t end = below_chars + group_chars; end >= below_chars; end--) {
    bool const is_folder =
        end == below_chars || folder[end] == '/' || end == below_chars + group_chars;
    if (!is_folder) continue;
    folder[end] = '\0';
    int const cores = cores_of_folder(folder);
    if (cores < least) least = cores;
  }
  return least;
}

/* Whether a list such as "cpu,cpuacct" has "cpu". */
static bool has_cpu(const char *list, size_t chars) {
  for (size_t i = 0; i + 3 <= chars; i++) {
    bool const begins = i == 0 || list[i - 1] == ',';
    bool const ends = i + 3 == chars || list[i + 3] == ',';
    if (begins && ends && memcmp(list + i, "cpu", 3) == 0) return true;
  }
  return false;
}

/* A line is "number:controllers:/group"; version 2 names no controllers. */
int szg_cores_of_group(const char *membership, const char *root) {
  int least = INT_MAX;
  for (const char *line = membership; *line;) {
    size_t const chars = strcspn(line, "\n");
    const char *const list = memchr(line, ':', chars);
    const char *const group =
        list ? memchr(list + 1, ':', chars - (size_t)(list + 1 - line)) : NULL;
    if (group) {
      size_t const list_chars = (size_t)(group - list) - 1;
      size_t const group_chars = chars - (size_t)(group + 1 - line);
      char below[PATH_CHARS];
      int const written = snprintf(below, sizeof below, "%s%s%.*s", root, list_chars ? "/" : "",
                                   (int)list_chars, list + 1);
      bool const counts = list_chars == 0 || has_cpu(list + 1, list_chars);
      int const cores = counts && written < (int)sizeof below
                            ? cores_of_path(below, group + 1, group_chars)
                            : INT_MAX;
      if (cores < least) least = cores;
    }
    line += chars + (line[chars] == '\n');
  }
  return least;
}

int szg_group_cores(void) {
  char membership[PATH_CHARS];
  bool const is_told = read_text("/proc/self/cgroup", membership, sizeof membership);
  return is_told ? szg_cores_of_group(membership, "/sys/fs/cgroup") : INT_MAX;
}
