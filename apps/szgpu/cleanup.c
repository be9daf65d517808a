/* cleanup.c - removes temporary files, however the process ends.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "cleanup.h"

#include "report.h"
#include "text.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Static, because a signal handler gets no argument of ours. */
static struct {
  char path[PATH_MAX];
  volatile sig_atomic_t is_watched;
} files[2]; /* an output, and a file that it is made of */
enum { FILE_COUNT = sizeof files / sizeof *files };
static volatile pid_t watched_child; /* 0: none */
static struct mapping {
  const char *begin, *end; /* NULL: no mapping */
  char sentence[PATH_MAX + 128];
} mappings[2];
enum { MAPPING_COUNT = sizeof mappings / sizeof *mappings };

/* The child first, which might make its file once more. */
static void remove_watched(void) {
  pid_t const child = watched_child;
  if (child > 0 && kill(child, SIGKILL) == 0) waitpid(child, NULL, 0);
  for (int i = 0; i < FILE_COUNT; i++)
    if (files[i].is_watched) unlink(files[i].path);
}

static void end_by_signal(int signal_number) {
  remove_watched();
  raise(signal_number); /* SA_RESETHAND: now the default action, which the parent sees */
}

/* Several threads may lose the mapping at once: the first ends the process, the others wait. */
static void end_by_lost_mapping(int signal_number, siginfo_t *info, void *context) {
  static atomic_flag is_ending = ATOMIC_FLAG_INIT;
  const char *const address = info->si_addr;
  (void)context;
  while (atomic_flag_test_and_set(&is_ending)) pause();
  remove_watched();
  for (int i = 0; i < MAPPING_COUNT; i++) {
    if (!mappings[i].begin || address < mappings[i].begin || address >= mappings[i].end) continue;
    const char *const sentence = mappings[i].sentence;
    ssize_t const ignored = write(STDERR_FILENO, sentence, strlen(sentence));
    (void)ignored;
    _exit(CODE_IO);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number); /* not an input's */
}

void cleanup_install(void) {
  static int const endings[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
  struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    struct sigaction before;
    bool const is_ignored = /* as nohup does */
        sigaction(endings[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!is_ignored) sigaction(endings[i], &action, NULL);
  }
  action.sa_sigaction = end_by_lost_mapping;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, NULL);
  signal(SIGXFSZ, SIG_IGN); /* at the file size limit write() then fails with EFBIG */
}

_Bool cleanup_watch_file(const char *path) {
  size_t const path_bytes = strlen(path) + 1;
  int free_one = 0;
  while (free_one < FILE_COUNT && files[free_one].is_watched) free_one++;
  if (free_one == FILE_COUNT || path_bytes > sizeof files->path) return false;
  memcpy(files[free_one].path, path, path_bytes);
  files[free_one].is_watched = 1;
  return true;
}

void cleanup_forget_file(const char *path) {
  for (int i = 0; i < FILE_COUNT; i++)
    if (files[i].is_watched && strcmp(files[i].path, path) == 0) files[i].is_watched = 0;
}

void cleanup_watch_child(pid_t child) { watched_child = child; }

void cleanup_watch_mapping(const char *name, const void *bytes, size_t byte_count) {
  char shown[PATH_MAX];
  struct mapping *const mapping = mappings[0].begin ? &mappings[1] : &mappings[0];
  mapping->begin = NULL; /* while the sentence changes */
  copy_name(shown, sizeof shown, name);
  snprintf(mapping->sentence, sizeof mapping->sentence,
           "szgpu: %s: can no longer be read: it became shorter or its disk failed; run again when "
           "nothing writes to it\n",
           shown);
  mapping->end = (const char *)bytes + byte_count;
  mapping->begin = bytes;
}

void cleanup_forget_mapping(const void *bytes) {
  for (int i = 0; i < MAPPING_COUNT; i++)
    if (mappings[i].begin == bytes) mappings[i].begin = NULL;
}
