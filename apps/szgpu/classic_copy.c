/* classic_copy.c - a copy of a file of classic netCDF as netCDF-4, by the program nccopy.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nccopy gets both files as open descriptors, so their names may have any characters.
 */
#define _GNU_SOURCE /* pipe2 */
#include "classic.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct said {
  char text[240]; /* the first line */
};

/* Reads to the end, so that the program need not wait. */
static struct said hear(int descriptor) {
  struct said said = {""};
  char rest[256];
  size_t used = 0;
  for (;;) {
    bool const has_room = used + 1 < sizeof said.text;
    ssize_t const read_bytes = has_room
                                   ? read(descriptor, said.text + used, sizeof said.text - 1 - used)
                                   : read(descriptor, rest, sizeof rest);
    if (read_bytes < 0 && errno == EINTR) continue;
    if (read_bytes <= 0) break;
    if (has_room) used += (size_t)read_bytes;
  }
  said.text[strcspn(said.text, "\n")] = '\0';
  return said;
}

/* 0 or an errno. A signal that ends this process ends the program, too, from the first moment. */
static int start(int from, int to, int messages, pid_t *child) {
  static char *const words[] = {"nccopy", "-k", "nc4", "--", "/dev/fd/0", "/dev/fd/3", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  int failed = posix_spawnattr_setsigmask(&attributes, &before);
  if (!failed) failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, messages, 2);
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, 2, 1);
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, from, 0);
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, to, 3); /* the last: see above */
  if (!failed) failed = posix_spawnp(child, words[0], &actions, &attributes, words, environ);
  if (!failed) cleanup_watch_child(*child);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return failed;
}

static int refuse(const struct report *report, const struct input *input, int failed) {
  if (failed == ENOENT)
    return report_failure(report, CODE_USAGE, input->name,
                          "is a netCDF file in the classic format, and the program nccopy, which "
                          "converts it, is not in PATH; install it (Debian: netcdf-bin)");
  return report_failure(report, CODE_RESOURCE, input->name,
                        "is a netCDF file in the classic format, and the program nccopy, which "
                        "converts it, cannot be started: %s; start it by hand: nccopy -k nc4",
                        strerror(failed));
}

static int judge(const struct report *report, const struct input *input, int status,
                 const struct said *said) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return CODE_OK;
  char how[64];
  if (WIFSIGNALED(status))
    snprintf(how, sizeof how, "it ended by signal %d", WTERMSIG(status));
  else
    snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
  return report_failure(
      report, CODE_IO, input->name,
      "cannot be converted to netCDF-4 (nccopy says: %s); see that the disk of the "
      "output has room for a copy, and check the file with ncdump",
      said->text[0] ? said->text : how);
}

int classic_convert(const struct report *report, const struct input *input,
                    const struct output *copy) {
  int ends[2], status = 0;
  pid_t child = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) return refuse(report, input, errno);
  int const failed = start(input->descriptor, copy->descriptor, ends[1], &child);
  close(ends[1]);
  struct said const said = failed ? (struct said){""} : hear(ends[0]);
  close(ends[0]);
  if (failed) return refuse(report, input, failed);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  cleanup_watch_child(0);
  return judge(report, input, status, &said);
}
