/* input.c - a file's bytes, mapped if possible and otherwise read; never changed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "input.h"

#include "cleanup.h"
#include "dataset.h"
#include "memory.h"
#include "nameless.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_READ_BYTES = 1 << 16, LARGEST_READ_BYTES = 1 << 30 };

static int open_file(const struct report *report, struct input *input) {
  const char *name = input->name; /* kept, because input_close clears it */
  const char *file = input->file ? input->file : name;
  bool const is_stdin = strcmp(file, "-") == 0;
  input->descriptor = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
  if (input->descriptor < 0 || fstat(input->descriptor, &input->status) != 0) {
    int const error_number = errno;
    input_close(input);
    return report_errno(report, shown_input(name), "read", error_number);
  }
  if (S_ISDIR(input->status.st_mode)) {
    input_close(input);
    return report_failure(report, CODE_IO, shown_input(name), "is a folder; name the files in it");
  }
  return CODE_OK;
}

int input_open(const struct report *report, const char *name, struct input *input) {
  *input = (struct input)INPUT_NONE;
  input->name = name;
  return open_file(report, input);
}

int input_open_field(const struct report *report, const char *name, struct input *input) {
  size_t const file_chars = dataset_file_chars(name);
  if (file_chars == 0) return input_open(report, name, input);
  *input = (struct input)INPUT_NONE;
  input->name = name;
  input->dataset = name + file_chars + 1;
  input->file = strndup(name, file_chars);
  if (!input->file) return report_out_of_memory(report, name, "its name", file_chars);
  return open_file(report, input);
}

static bool map_file(struct input *input) {
  off_t const size = input->status.st_size;
  if (!S_ISREG(input->status.st_mode) || size <= 0 || (uintmax_t)size > PTRDIFF_MAX) return false;
  if (input->descriptor == STDIN_FILENO && lseek(STDIN_FILENO, 0, SEEK_CUR) != 0)
    return false; /* not at its start: read on from there */
  void *const bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, input->descriptor, 0);
  if (bytes == MAP_FAILED) return false;
  input->bytes = bytes;
  input->byte_count = (size_t)size;
  input->is_mapped = true;
  cleanup_watch_mapping(shown_input(input->name), bytes, input->byte_count);
  return true;
}

/* Notes how many bytes the buffer takes. */
static void hold(struct input *input, size_t byte_count) {
  memory_uncount(input->held_bytes);
  memory_count(byte_count);
  input->held_bytes = byte_count;
}

/* Makes room for more bytes, but for no more than most_bytes and one. */
static bool grow(struct input *input, uint64_t most_bytes, size_t *capacity) {
  uint64_t wanted = input->bytes ? (uint64_t)*capacity * 2 : *capacity;
  if (most_bytes < wanted) wanted = most_bytes + 1;
  if (wanted > PTRDIFF_MAX || !memory_allows(wanted)) return false;
  unsigned char *const larger = realloc((void *)(uintptr_t)input->bytes, (size_t)wanted);
  if (!larger) return false;
  input->bytes = larger;
  *capacity = (size_t)wanted;
  hold(input, (size_t)wanted);
  return true;
}

/* Reads until the input ends or has more bytes than are wanted, into a buffer that has `capacity`
 * bytes at first and grows by doubling. */
static int read_all(const struct report *report, struct input *input, size_t capacity,
                    input_wanted wanted, const void *user) {
  uint64_t most_bytes = UINT64_MAX;
  while (input->byte_count <= most_bytes) {
    if ((!input->bytes || input->byte_count == capacity) && !grow(input, most_bytes, &capacity)) {
      int const code = report_out_of_memory(report, shown_input(input->name), "reading it",
                                            (uint64_t)capacity * 2);
      input_unload(input);
      return code;
    }
    size_t const room = capacity - input->byte_count;
    ssize_t const got =
        read(input->descriptor, (unsigned char *)(uintptr_t)input->bytes + input->byte_count,
             room < LARGEST_READ_BYTES ? room : LARGEST_READ_BYTES);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) {
      int const error_number = errno;
      input_unload(input);
      return report_errno(report, shown_input(input->name), "read", error_number);
    }
    input->byte_count += got > 0 ? (size_t)got : 0;
    if (got > 0 && most_bytes == UINT64_MAX) most_bytes = wanted(input, user);
  }
  input->is_cut = input->byte_count > most_bytes;
  void *const trimmed =
      realloc((void *)(uintptr_t)input->bytes, input->byte_count ? input->byte_count : 1);
  if (trimmed) {
    input->bytes = trimmed;
    hold(input, input->byte_count);
  }
  return CODE_OK;
}

/* A pipe, a device or a file of /proc is read. */
int input_load(const struct report *report, struct input *input, input_wanted wanted,
               const void *user) {
  size_t capacity = FIRST_READ_BYTES;
  if (S_ISREG(input->status.st_mode) && input->status.st_size > 0 &&
      (uintmax_t)input->status.st_size < PTRDIFF_MAX)
    capacity = (size_t)input->status.st_size + 1; /* so that the last read finds the end */
  int const code = map_file(input) ? CODE_OK : read_all(report, input, capacity, wanted, user);
  input->total_bytes = input->byte_count;
  return code;
}

int input_load_head(const struct report *report, struct input *input, input_wanted wanted,
                    const void *user) {
  bool const is_file = input_is_file(input); /* before reading moves on in standard input */
  int const code = read_all(report, input, FIRST_READ_BYTES, wanted, user);
  input->is_cut = false; /* what follows is still to be read */
  input->total_bytes = is_file ? (uint64_t)input->status.st_size : (uint64_t)input->byte_count;
  return code;
}

bool input_is_file(const struct input *input) {
  bool const is_whole = input->descriptor != STDIN_FILENO || lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
  return S_ISREG(input->status.st_mode) && input->status.st_size > 0 && is_whole;
}

static int copy_to(const struct report *report, struct input *input, int copy) {
  static unsigned char bytes[FIRST_READ_BYTES];
  for (;;) {
    ssize_t const got = read(input->descriptor, bytes, sizeof bytes);
    if (got == 0) return CODE_OK;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return report_errno(report, shown_input(input->name), "read", errno);
    for (ssize_t done = 0; done < got;) {
      ssize_t const written = write(copy, bytes + done, (size_t)(got - done));
      if (written < 0 && errno != EINTR)
        return report_errno_aside(report, shown_input(input->name), "copied to a temporary file",
                                  errno);
      done += written > 0 ? written : 0;
    }
  }
}

int input_spool(const struct report *report, struct input *input) {
  int const copy = nameless_file();
  if (copy < 0)
    return report_errno_aside(report, shown_input(input->name), "copied to a temporary file",
                              errno);
  int code = copy_to(report, input, copy);
  if (code == CODE_OK && (fstat(copy, &input->status) != 0 || lseek(copy, 0, SEEK_SET) != 0))
    code =
        report_errno_aside(report, shown_input(input->name), "copied to a temporary file", errno);
  if (code != CODE_OK) {
    close(copy);
    return code;
  }
  if (input->descriptor != STDIN_FILENO) close(input->descriptor);
  input->descriptor = copy;
  return CODE_OK;
}

void input_unload(struct input *input) {
  if (input->is_mapped) {
    cleanup_forget_mapping(input->bytes);
    munmap((void *)(uintptr_t)input->bytes, input->byte_count);
  } else {
    free((void *)(uintptr_t)input->bytes);
  }
  hold(input, 0);
  input->bytes = NULL;
  input->byte_count = 0;
  input->is_mapped = false;
}

void input_close(struct input *input) {
  input_unload(input);
  if (input->descriptor >= 0 && input->descriptor != STDIN_FILENO) close(input->descriptor);
  free(input->file);
  *input = (struct input)INPUT_NONE;
}
