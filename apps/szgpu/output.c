/* output.c - writes a file that appears complete under its name or not at all.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* renameat2 */
#include "output.h"

#include "cleanup.h"
#include "links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  LARGEST_WRITE_BYTES = 1 << 30, /* Linux writes at most 2 GiB - 4 KiB per call */
  SUFFIX_CHARS = 6,
  LONGEST_KEPT_CHARS = 200, /* of a name: NAME_MAX is 255 */
  MOST_ATTEMPTS = 100
};

static int refuse_existing(const struct report *report, const char *name) {
  return report_failure(report, CODE_IO, name, "already exists; use -f to overwrite");
}

/* The files that this command has written: none of them is replaced by another of its outputs. */
static struct {
  struct place {
    dev_t device;
    ino_t number;
  } * places;
  size_t count, capacity;
} written_files;

static bool is_written(const struct stat *status) {
  for (size_t i = 0; i < written_files.count; i++) {
    const struct place *const place = &written_files.places[i];
    if (status->st_dev == place->device && status->st_ino == place->number) return true;
  }
  return false;
}

static int note_written(const struct report *report, const char *name, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return report_errno(report, name, "written", errno);
  if (written_files.count == written_files.capacity) {
    size_t const capacity = written_files.capacity ? 2 * written_files.capacity : 16;
    size_t const bytes = capacity * sizeof *written_files.places;
    struct place *const places = realloc(written_files.places, bytes);
    if (!places) return report_out_of_memory(report, name, "its place", bytes);
    written_files.places = places;
    written_files.capacity = capacity;
  }
  written_files.places[written_files.count++] = (struct place){status.st_dev, status.st_ino};
  return CODE_OK;
}

static int refuse_terminal(const struct report *report, const char *name) {
  return report_failure(report, CODE_USAGE, shown_output(name),
                        "is a terminal, and the data are binary; use -o FILE, or -f to write "
                        "them anyway");
}

/* Refuses an output that is being read. */
static int check_inputs(const struct report *report, const char *name, const struct stat *status,
                        const struct taken_file *taken, size_t taken_count) {
  for (size_t i = 0; i < taken_count; i++)
    if (S_ISREG(status->st_mode) && status->st_dev == taken[i].status->st_dev &&
        status->st_ino == taken[i].status->st_ino)
      return report_failure(report, CODE_IO, shown_output(name),
                            "is the same file as the input %s; name "
                            "another output with -o",
                            taken[i].name);
  return CODE_OK;
}

/* Refuses a name that is taken, or that leads nowhere that a file could get a name. Sets *is_direct
 * if it is a device or a pipe, which is written in place. path: where its links lead. */
static int check_name(const struct report *report, const char *name, const char *path,
                      bool is_forced, const struct taken_file *taken, size_t taken_count,
                      bool *is_direct) {
  struct stat status, end;
  *is_direct = false;
  bool const is_there = stat(name, &status) == 0;
  bool const has_end = lstat(path, &end) == 0;
  if (!is_there && has_end && S_ISLNK(end.st_mode)) /* in a circle, or too many */
    return report_errno(report, name, "written", ELOOP);
  if (!is_there) return CODE_OK; /* also the target of a link */
  int const code = check_inputs(report, name, &status, taken, taken_count);
  if (code != CODE_OK) return code;
  if (S_ISDIR(status.st_mode))
    return report_failure(report, CODE_IO, name, "is a folder; name a file with -o");
  if (is_written(&status))
    return report_failure(report, CODE_IO, name,
                          "was written for another input of this call, and is not replaced; "
                          "name one of the outputs with -o in a call of its own");
  *is_direct = !S_ISREG(status.st_mode);
  /* a disk needs -f too */
  if ((S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) && !is_forced)
    return refuse_existing(report, name);
  if (*is_direct || (has_end && end.st_dev == status.st_dev && end.st_ino == status.st_ino))
    return CODE_OK;
  return report_failure(report, CODE_IO, name,
                        "is an open file without a name of its own; name another output with -o");
}

static void make_suffix(char *suffix) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  static uint64_t state;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  state += (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u + (uint64_t)getpid() * 0xbf58476d1ce4e5b9u;
  uint64_t bits = (state ^ state >> 31) * 0x94d049bb133111ebu;
  bits ^= bits >> 29;
  for (int i = 0; i < SUFFIX_CHARS; i++, bits /= sizeof letters - 1)
    suffix[i] = letters[bits % (sizeof letters - 1)];
}

/* Opens DIR/.NAME.SUFFIX, beside its target, so that a rename suffices. Watches the name before the
 * file exists, so that no signal finds it unwatched; mkstemp could not do that. */
static int open_temporary(const struct report *report, struct output *output) {
  const char *slash = strrchr(output->target, '/');
  int const folder_chars = slash ? (int)(slash + 1 - output->target) : 0;
  size_t const capacity = strlen(output->target) + SUFFIX_CHARS + 3;
  output->temporary = malloc(capacity);
  if (!output->temporary) return report_out_of_memory(report, output->name, "its name", capacity);
  int const head_chars =
      snprintf(output->temporary, capacity, "%.*s.%.*s.", folder_chars, output->target,
               (int)LONGEST_KEPT_CHARS, output->target + folder_chars);
  char *const suffix = output->temporary + head_chars;
  suffix[SUFFIX_CHARS] = '\0';
  for (int attempt = 0; output->descriptor < 0; attempt++) {
    make_suffix(suffix);
    if (!cleanup_watch_file(output->temporary))
      return report_errno(report, output->name, "written", ENAMETOOLONG);
    output->descriptor = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                              output->has_source ? S_IRUSR | S_IWUSR : 0666);
    int const error_number = errno;
    if (output->descriptor >= 0) break;
    cleanup_forget_file(output->temporary);
    if (error_number == EEXIST && attempt < MOST_ATTEMPTS) continue;
    free(output->temporary);
    output->temporary = NULL;
    return report_errno(report, output->name, "written", error_number);
  }
  return CODE_OK;
}

/* What is written in place; descriptor: opened, or -1 with errno. */
static int open_direct(struct output *output, int descriptor, const struct report *report,
                       const struct taken_file *taken, size_t taken_count) {
  struct stat status;
  output->descriptor = descriptor;
  if (descriptor < 0 || fstat(descriptor, &status) != 0)
    return report_errno(report, shown_output(output->name), "written", errno);
  int const code = check_inputs(report, output->name, &status, taken, taken_count);
  if (code != CODE_OK) return code;
  return isatty(descriptor) && !output->is_forced ? refuse_terminal(report, output->name) : CODE_OK;
}

int output_open(const struct report *report, const char *name, bool is_forced,
                const struct taken_file *taken, size_t taken_count, struct output *output) {
  *output = (struct output)OUTPUT_NONE;
  output->name = name;
  output->is_forced = is_forced;
  bool is_direct;
  if (strcmp(name, "-") == 0) return open_direct(output, STDOUT_FILENO, report, taken, taken_count);
  struct link_end const end = follow_links(name);
  if (!end.path[0]) return report_errno(report, name, "written", *name ? ENAMETOOLONG : ENOENT);
  if (end.descriptor >= 0)
    return open_direct(output, fcntl(end.descriptor, F_DUPFD_CLOEXEC, 0), report, taken,
                       taken_count);
  int const code = check_name(report, name, end.path, is_forced, taken, taken_count, &is_direct);
  if (code != CODE_OK) return code;
  if (is_direct)
    return open_direct(output, open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC), report, taken,
                       taken_count);
  output->has_source = taken_count > 0 && S_ISREG(taken[0].status->st_mode);
  if (output->has_source) output->source = *taken[0].status;
  output->target = strdup(end.path);
  if (!output->target) return report_out_of_memory(report, name, "its name", strlen(name));
  return open_temporary(report, output);
}

int output_open_beside(const struct report *report, const char *name, struct output *output) {
  *output = (struct output)OUTPUT_NONE;
  output->name = name;
  output->has_source = true; /* only its owner may read it; it gets no name and no other mode */
  output->target = strdup(name);
  if (!output->target) return report_out_of_memory(report, name, "its name", strlen(name));
  return open_temporary(report, output);
}

int output_write(const struct report *report, struct output *output, const void *bytes,
                 size_t byte_count) {
  const unsigned char *rest = bytes;
  while (byte_count > 0) {
    size_t const piece = byte_count < LARGEST_WRITE_BYTES ? byte_count : LARGEST_WRITE_BYTES;
    ssize_t const written = write(output->descriptor, rest, piece);
    if (written < 0 && errno != EINTR)
      return report_errno(report, shown_output(output->name), "written", errno);
    if (written > 0) {
      rest += written;
      byte_count -= (size_t)written;
    }
  }
  return CODE_OK;
}

bool output_is_file(const struct output *output) { return output->temporary != NULL; }

/* Gives the file the input's group, mode and owner, as far as the system permits: what it refuses
 * stays stricter. A group that is not the input's gets no more rights than all others have. The
 * owner comes last, because another's file cannot be changed. */
static void take_mode(const struct output *output) {
  const struct stat *source = &output->source;
  mode_t mode = source->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  if (fchown(output->descriptor, (uid_t)-1, source->st_gid) != 0)
    mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
  bool const has_mode = fchmod(output->descriptor, mode) == 0;
  bool const has_owner = has_mode && fchown(output->descriptor, source->st_uid, (gid_t)-1) == 0;
  (void)has_owner; /* only root may give files away */
}

/* Fails with EEXIST if the name is taken; EINVAL or ENOSYS: not possible here. */
static int rename_to_free_name(const char *from, const char *to) {
#ifdef RENAME_NOREPLACE
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
#else
  (void)from, (void)to;
  return ENOSYS;
#endif
}

/* Without -f the name must still be free: link() refuses a taken one. File systems without hard
 * links have a rename that does. Where there is neither, the name may be taken after the last look
 * at it. Each step leaves a whole file under the name or none. Returns 0 or an errno. */
static int take_name(const struct output *output) {
  struct stat status;
  if (!output->is_forced) {
    if (link(output->temporary, output->target) == 0) {
      unlink(output->temporary);
      return 0;
    }
    int const error_number =
        errno == EEXIST ? EEXIST : rename_to_free_name(output->temporary, output->target);
    if (error_number != EINVAL && error_number != ENOSYS) return error_number;
    if (lstat(output->target, &status) == 0) return EEXIST;
  }
  return rename(output->temporary, output->target) == 0 ? 0 : errno;
}

int output_commit(const struct report *report, struct output *output) {
  if (!output->temporary) {
    bool const is_stdout = output->descriptor == STDOUT_FILENO;
    int const closed = is_stdout ? 0 : close(output->descriptor);
    output->descriptor = -1;
    return closed == 0 ? CODE_OK : report_errno(report, output->name, "written", errno);
  }
  int const code = note_written(report, output->name, output->descriptor);
  if (code != CODE_OK) return code;
  if (output->has_source) take_mode(output);
  bool const is_synced = fsync(output->descriptor) == 0 || errno == EINVAL || errno == ENOSYS;
  int error_number = is_synced ? 0 : errno;
  if (close(output->descriptor) != 0 && error_number == 0) error_number = errno;
  output->descriptor = -1;
  if (error_number == 0) error_number = take_name(output);
  if (error_number == EEXIST) return refuse_existing(report, output->name);
  if (error_number != 0) return report_errno(report, output->name, "written", error_number);
  cleanup_forget_file(output->temporary);
  free(output->temporary);
  output->temporary = NULL;
  return CODE_OK;
}

void output_close(struct output *output) {
  if (output->descriptor >= 0 && output->descriptor != STDOUT_FILENO) close(output->descriptor);
  if (output->temporary) {
    unlink(output->temporary);
    cleanup_forget_file(output->temporary);
    free(output->temporary);
  }
  free(output->target);
  *output = (struct output)OUTPUT_NONE;
}
