/* links.c - where a name leads: to an open descriptor, as /dev/stdout does, or to another name.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE /* realpath */
#include "links.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "values.h"

enum { MOST_LINKS = 40 }; /* as Linux has it */
_Static_assert(MOST_PATH_BYTES >= PATH_MAX, "realpath writes that many");

static bool is_same_file(const char *path, int descriptor) {
  struct stat one, other;
  return stat(path, &one) == 0 && fstat(descriptor, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* The descriptor that a path in a folder stands for. Another process's are ours if they are the
 * same file: a shell's standard output, which it has left to us. */
static int descriptor_of(const char *path, const char *folder, const char *name) {
  char own[MOST_PATH_BYTES];
  uint64_t number;
  const char *const process = folder + strlen("/proc/");
  if (strncmp(folder, "/proc/", strlen("/proc/")) != 0 || !realpath("/proc/self", own)) return -1;
  const char *rest = process + strspn(process, "0123456789");
  bool const is_own =
      (size_t)(rest - folder) == strlen(own) && strncmp(folder, own, strlen(own)) == 0;
  if (strncmp(rest, "/task/", 6) == 0) rest += 6 + strcspn(rest + 6, "/"); /* threads share them */
  bool const is_number = read_count(name, &number) && number <= INT_MAX;
  if (rest == process || strcmp(rest, "/fd") != 0 || !is_number) return -1;
  if (is_own) return (int)number;
  return is_same_file(path, STDOUT_FILENO) ? STDOUT_FILENO : -1;
}

/* Appends name to the folder in place, which ends in no slash unless it is the root. */
static bool join(char *folder, const char *name) {
  size_t const used = strlen(folder), name_chars = strlen(name);
  bool const has_slash = used > 0 && folder[used - 1] == '/';
  if (used + !has_slash + name_chars >= MOST_PATH_BYTES) return false;
  if (!has_slash) folder[used] = '/';
  memcpy(folder + used + !has_slash, name, name_chars + 1);
  return true;
}

/* Splits a path: the folder is what is before its last slash. Returns what is behind it. */
static const char *split(const char *path, char folder[MOST_PATH_BYTES]) {
  const char *const slash = strrchr(path, '/');
  size_t const folder_chars = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
  memcpy(folder, slash ? path : ".", slash ? folder_chars : 1);
  folder[slash ? folder_chars : 1] = '\0';
  return slash ? slash + 1 : path;
}

struct link_end follow_links(const char *name) {
  struct link_end end = {.descriptor = -1};
  char folder[MOST_PATH_BYTES], real[MOST_PATH_BYTES], target[MOST_PATH_BYTES];
  if (strlen(name) >= sizeof end.path) return end;
  strcpy(end.path, name);
  for (int links = 0; links < MOST_LINKS; links++) {
    const char *const last = split(end.path, folder);
    if (!realpath(folder, real)) break;
    end.descriptor = descriptor_of(end.path, real, last);
    if (end.descriptor >= 0) break;
    ssize_t const chars = readlink(end.path, target, sizeof target - 1);
    if (chars <= 0) break;
    target[chars] = '\0';
    if (target[0] == '/') real[0] = '\0';
    if (!join(real, target + (target[0] == '/'))) break;
    strcpy(end.path, real);
  }
  return end;
}

int descriptor_of_name(const char *name) { return follow_links(name).descriptor; }
